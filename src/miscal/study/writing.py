"""Tables of a study, gathered from its finished cells; they alone make figures and pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from miscal.base.files import write_whole
from miscal.data.writing import defused
from miscal.study.cells import Cell
from miscal.study.folder import StudyFolder
from miscal.study.tables import TABLES, schema


def write_tables(folder: StudyFolder, cells: Sequence[Cell], failures: Sequence[Mapping[str, Any]]) -> None:
    """Write every table as parquet and csv.

    Rows come in the order of the plan's cells, and within a cell as it made them: the same cells give the same bytes,
    whichever was finished first.

    Parameters
    ----------
    folder : StudyFolder
    cells : sequence of Cell
        Of the plan.
    failures : sequence of mapping
        Rows of the table ``failures``.
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
        write_whole(place / f"{name}.parquet", table.write_parquet)
        write_whole(place / f"{name}.csv", defused(table).write_csv)


def frame(name: str, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """Return rows as a table with the columns and types of `TABLES`.

    Examples
    --------
    >>> frame("failures", []).columns
    ['pair', 'dataset', 'model', 'step', 'message']
    """
    return pl.DataFrame(rows, schema=schema(name), orient="row")
