"""What figures and pages are made from: the tables of a study, whether or not all of them are there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import CorruptFile, FileError
from miscal.base.tables import read_parquet
from miscal.study.numbers.choosing import METHODS
from miscal.study.tables import TABLES, schema


def read_tables(out: str | Path) -> dict[str, pl.DataFrame]:
    """Read the tables of a study; one that is not there yet is empty.

    Parameters
    ----------
    out : str or Path
        Folder of the study.

    Returns
    -------
    dict of str to polars.DataFrame
        Every table of :data:`miscal.study.tables.TABLES`.

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
        return pl.DataFrame(schema=schema(name))
    try:
        return read_parquet(path).select(pl.col(column).cast(kind) for column, kind in schema(name).items())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise CorruptFile(f"{path}: {str(error).splitlines()[0]}; run `miscal study` again to write it anew") from None


def n_planned(out: Path, tables: Mapping[str, pl.DataFrame]) -> int:
    """Count the pairs of the plan; without a plan in the folder, those that are finished or failed."""
    known = set(tables["pairs"]["pair"]) | set(tables["failures"]["pair"].drop_nulls())
    return max(len(_plan(out).get("pairs", [])), len(known))


def n_planned_by_method(out: Path) -> dict[str, int]:
    """Count the pairs of the plan under each method; empty without a plan in the folder.

    Parameters
    ----------
    out : Path
        Folder of the study.
    """
    pairs = _plan(out).get("pairs", [])
    return {name: sum(pair["method"] in (name, "both") for pair in pairs) for name in METHODS} if pairs else {}


def planned_split(out: Path) -> str | None:
    """Return the kind of split of the plan, "permutation" or "grouped"; None without a plan in the folder.

    Parameters
    ----------
    out : Path
        Folder of the study.
    """
    return _plan(out).get("split")


def _plan(out: Path) -> dict[str, Any]:
    """Read the plan as it was checked; empty where there is none, as beside tables that were copied."""
    try:
        plan = json.loads((out / "plan.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return plan if isinstance(plan, dict) else {}
