"""The tables of a study, their columns, and how they are written and read.

Figures, pages and verdicts are made from nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.errors import CorruptFile, FileError
from miscal.base.files import write_whole
from miscal.base.frames import read_parquet
from miscal.data.writing import defused
from miscal.findings.residuals import holm
from miscal.study.folder import StudyFolder
from miscal.study.plan import METHODS, StudyCell

Tables = Mapping[str, pl.DataFrame]
"""Tables of a study by name, with the columns of :data:`miscal.study.tables.TABLES`; each may be empty."""

LEARNED, RAW = "learned", "raw"

SOUGHT = 0.05
"""Hidden error of a tenth of the rows that the table ``pairs`` says how many rows would show."""

REGIONS = ("all", "over", "under", "good")
"""Regions that corrections are scored on, in the order of pages and figures: all rows, and the regimes of delta."""

_TYPES: Mapping[str, type[pl.DataType]] = {
    "text": pl.String,
    "whole": pl.Int64,
    "number": pl.Float64,
    "truth": pl.Boolean,
}


TABLES: dict[str, dict[str, type[pl.DataType]]] = {}
"""The columns of every table, in their order, with their types, as the page ``tables.md`` has them."""

MEANINGS: dict[str, dict[str, str]] = {}
"""What the columns of every table mean, by the same page."""


def _read_page() -> None:
    for line in Path(__file__).with_name("tables.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            types, meanings = TABLES.setdefault(line[4:-1], {}), MEANINGS.setdefault(line[4:-1], {})
        elif line.startswith("| `"):
            names, kind, meaning = line[2:-2].split(" | ", 2)
            columns = re.findall(r"\w+", names)
            types |= dict.fromkeys(columns, _TYPES[kind])
            meanings |= dict.fromkeys(columns, meaning.replace("\\|", "|"))


_read_page()


def read_tables(out: str | Path) -> dict[str, pl.DataFrame]:
    """Read every table of a study from its folder; one that is not there yet is empty.

    Raises
    ------
    FileError
        If the folder has no tables at all.
    CorruptFile
        If a table cannot be read or lacks a column.
    """
    folder = Path(out) / "tables"
    if not folder.is_dir():
        raise FileError(f"{out}: no tables of a study are there; give the folder that `miscal study` wrote")
    return {name: _read(folder / f"{name}.parquet", name) for name in TABLES}


def _read(path: Path, name: str) -> pl.DataFrame:
    if not path.exists():
        return pl.DataFrame(schema=TABLES[name])
    try:
        return read_parquet(path).select(pl.col(column).cast(kind) for column, kind in TABLES[name].items())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise CorruptFile(f"{path}: {str(error).splitlines()[0]}; run `miscal study` again to write it anew") from None


def write_tables(folder: StudyFolder, cells: Sequence[StudyCell], failures: Sequence[Mapping[str, Any]]) -> None:
    """Write every table as parquet and csv: what the cells of the plan left, and the rows of ``failures``.

    Rows come in the order of the plan's cells, and within a cell as it made them: the same cells give the same bytes,
    whichever was finished first.
    """
    rows: dict[str, list[Mapping[str, Any]]] = {name: [] for name in TABLES}
    rows["failures"] = list(failures)
    for cell in cells:
        if folder.is_done(cell.name):
            for name, some in folder.load(cell.name)["rows"].items():
                rows[name].extend(some)
    place = folder.path / "tables"
    place.mkdir(exist_ok=True)
    for name, some in rows.items():
        table = frame(name, some)
        if name == "groups":
            table = adjust(table)
        write_whole(place / f"{name}.parquet", table.write_parquet)
        write_whole(place / f"{name}.csv", defused(table).write_csv)


def adjust(groups: pl.DataFrame) -> pl.DataFrame:
    """Fill in ``p_adjusted``: Holm (1979) over all cells of one method that have a p-value, whatever their data set.

    >>> table = pl.DataFrame({"method": ["auto"] * 3, "p_value": [0.01, 0.04, None], "p_adjusted": [None] * 3})
    >>> adjust(table)["p_adjusted"].to_list()
    [0.02, 0.04, None]
    """
    values = np.full(groups.height, np.nan)
    p_value, method = groups["p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy(), groups["method"].to_numpy()
    for one in dict.fromkeys(method):
        tested = (method == one) & ~np.isnan(p_value)
        values[tested] = holm(p_value[tested])
    return groups.with_columns(pl.Series("p_adjusted", values, pl.Float64).fill_nan(None))


def frame(name: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table with the columns and types of :data:`miscal.study.tables.TABLES`.

    >>> frame("failures", []).columns
    ['pair', 'dataset', 'model', 'step', 'message']
    """
    return pl.DataFrame(rows, schema=TABLES[name], orient="row")


def attributes(source: object, *names: str) -> dict[str, Any]:
    """Fill columns with the attributes of their names."""
    return {name: getattr(source, name) for name in names}


def with_ends(
    name: str, value: float | None, interval: tuple[float, float] | None, ends: str | None = None
) -> dict[str, float | None]:
    """Fill the column of a number and those of the ends of its interval, null where there is none.

    >>> with_ends("gain", 0.5, (0.25, 0.75)), with_ends("gain", 0.5, None, ends="")
    ({'gain': 0.5, 'gain_low': 0.25, 'gain_high': 0.75}, {'gain': 0.5, 'low': None, 'high': None})
    """
    start, (low, high) = f"{name}_" if ends is None else ends, interval or (None, None)
    return {name: value, f"{start}low": low, f"{start}high": high}


def methods_of(table: pl.DataFrame) -> list[str]:
    """Return the methods that a table holds, the paper's first.

    >>> methods_of(pl.DataFrame({"method": ["auto", "paper", "auto"]}))
    ['paper', 'auto']
    """
    held = set(table["method"].to_list())
    return [method for method in METHODS if method in held]


def of_method(table: pl.DataFrame, method: str, geometry: str | None = None) -> pl.DataFrame:
    """Return the rows of one method, and of one geometry where one is named.

    >>> table = pl.DataFrame({"method": ["paper", "auto"], "geometry": ["raw", "learned"]})
    >>> of_method(table, "paper").height, of_method(table, "paper", "learned").height
    (1, 0)
    """
    return table.filter(method=method) if geometry is None else table.filter(method=method, geometry=geometry)
