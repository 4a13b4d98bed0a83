"""The tables of the named columns, as ``columns.parquet`` and back: a row for each value."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pydantic

from miscal.base.errors import CorruptFile
from miscal.discovery.json_values import plain
from miscal.findings.conditions import read_condition
from miscal.findings.ledger import ColumnValue
from miscal.findings.ledger.sizes import Size

if TYPE_CHECKING:
    import polars as pl

SIZES = ("residual", "hidden", "after", "beyond")
"""What has an interval, in columns of its own: ``hidden``, ``hidden_low``, ``hidden_high``."""

Tables = Mapping[str, tuple[ColumnValue, ...]]
"""The values of each column, by its name."""


@dataclass(frozen=True)
class ColumnTable:
    """The table of one column.

    Attributes
    ----------
    column : str
    evidence : str
        Which rows it is of: ``"all"`` rows, or the ``"test"`` rows alone.
    n : int
        Their number.
    values : tuple of ColumnValue
        In the order in which they are shown.
    """

    column: str
    evidence: str
    n: int
    values: tuple[ColumnValue, ...]

    def to_json(self) -> str:
        """Return the table as JSON text, every number with an interval as ``{value, interval}``."""
        about = {"column": self.column, "evidence": self.evidence, "n": self.n}
        return json.dumps(plain(about | {"values": [*map(_document, self.values)]}), indent=1, allow_nan=False) + "\n"


def columns_table(values: Iterable[ColumnValue]) -> "pl.DataFrame":
    """Write the values of columns down, a row each.

    Returns
    -------
    polars.DataFrame
        The content of ``columns.parquet``; no rows where no column is named.
    """
    import polars as pl

    return pl.DataFrame([_row(one) for one in values], schema=schema(), orient="row")


def schema() -> "dict[str, Any]":
    """Return the columns of ``columns.parquet`` and their types."""
    import polars as pl

    sizes = [f"{name}{end}" for name in SIZES for end in ("", "_low", "_high")]
    return {
        "column": pl.String,
        "value": pl.String,
        "n": pl.Int64,
        **dict.fromkeys(("share", "accuracy", "confidence", *sizes[:-3]), pl.Float64),
        "mark": pl.String,
        "finding": pl.Int64,
        **dict.fromkeys(sizes[-3:], pl.Float64),
        "condition": pl.String,
    }


def tables_of(frame: "pl.DataFrame", *, name: str = "columns.parquet") -> Tables:
    """Read the tables of columns back; messages call the file `name`.

    Raises
    ------
    CorruptFile
        If it lacks a column, or holds what is no condition.

    Examples
    --------
    >>> dict(tables_of(columns_table(())))
    {}
    """
    missing = [column for column in schema() if column not in frame.columns]
    if missing:
        raise CorruptFile(f"{name}: column {', '.join(missing)} is missing; run `miscal discover` again")
    try:
        values = [_value(row) for row in frame.to_dicts()]
    except (ValueError, TypeError, pydantic.ValidationError) as error:
        raise CorruptFile(
            f"{name} holds no tables of columns ({str(error)[:200]}); run `miscal discover` again"
        ) from None
    return {column: tuple(some) for column, some in groupby(values, key=lambda one: one.column)}


def _numbers(one: ColumnValue) -> dict[str, Any]:
    names = ("n", "share", "accuracy", "confidence", "mark", "finding")
    return {"column": one.column, "value": one.value, **{name: getattr(one, name) for name in names}}


def _row(one: ColumnValue) -> dict[str, Any]:
    row = _numbers(one) | {"condition": json.dumps(plain(one.condition.to_dict()))}
    for name in SIZES:
        size = getattr(one, name)
        row |= {f"{name}{end}": None if size is None else getattr(size, part) for end, part in _ENDS}
    return {name: plain(row[name]) for name in schema()}


_ENDS = (("", "value"), ("_low", "low"), ("_high", "high"))


def _document(one: ColumnValue) -> dict[str, Any]:
    sizes = {name: getattr(one, name) for name in SIZES}
    measured = {
        name: {"value": None, "interval": None}
        if size is None
        else {"value": size.value, "interval": [size.low, size.high]}
        for name, size in sizes.items()
    }
    return {**_numbers(one), **measured, "condition": one.condition.to_dict()}


def _value(row: Mapping[str, Any]) -> ColumnValue:
    sizes = {name: None if row[name] is None else Size(*(row[f"{name}{end}"] for end, _ in _ENDS)) for name in SIZES}
    plainly = {name: row[name] for name in ("column", "n", "share", "accuracy", "confidence", "mark", "finding")}
    return ColumnValue(condition=read_condition(json.loads(row["condition"])), **plainly, **sizes)
