"""The tables of the named columns, as ``columns.parquet`` and back: a row for each value."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pydantic

from miscal.base.document import Measure
from miscal.base.errors import CorruptFile, command
from miscal.base.json_values import interval, plain
from miscal.base.vocabulary import ANSWER, Kind
from miscal.findings.ledger import ColumnValue

if TYPE_CHECKING:
    import polars as pl

SIZES = ("residual", "hidden", "after", "conditional", "slope")
"""What has an interval, in columns of its own: ``hidden``, ``hidden_low``, ``hidden_high``."""
_SLOPE = ("slope", "slope_low", "slope_high", "slope_mark", "slope_finding")
"""What runs of before there were slopes do not have."""

Tables = Mapping[str, tuple[ColumnValue, ...]]
"""The values of each column, by its name."""


@dataclass(frozen=True)
class ColumnTable:
    """The table of one column.

    `evidence`: which rows it is of: ``"all"`` rows, or the ``"test"`` rows alone. `n`: their number. `values`: in the
    order in which they are shown. `epsilon`: Half-width of the band of the run that counts as well calibrated.
    """

    column: str
    evidence: str
    n: int
    values: tuple[ColumnValue, ...]
    kind: Kind = ANSWER
    epsilon: float | None = None

    def to_json(self) -> str:
        """Return the table as JSON text, every number with an interval as ``{value, interval}``."""
        about = {"column": self.column, "kind": self.kind, "evidence": self.evidence, "n": self.n}
        values = [{"column": one.column, "value": one.value, **one.model_dump(mode="json")} for one in self.values]
        return json.dumps(plain(about | {"values": values}), indent=1, allow_nan=False) + "\n"


def columns_table(values: Iterable[ColumnValue]) -> "pl.DataFrame":
    """Write the values of columns down, a row each.

    Returns the content of ``columns.parquet``; no rows where no column is named.
    """
    import polars as pl

    return pl.DataFrame([_row(one) for one in values], schema=schema(), orient="row")


def schema() -> "dict[str, Any]":
    """Return the columns of ``columns.parquet`` and their types."""
    import polars as pl

    ends = lambda *names: [f"{name}{end}" for name in names for end in ("", "_low", "_high")]  # noqa: E731
    return {
        "column": pl.String,
        "value": pl.String,
        "n": pl.Int64,
        **dict.fromkeys(("share", "accuracy", "confidence", *ends(*SIZES[:3])), pl.Float64),
        "mark": pl.String,
        "finding": pl.Int64,
        **dict.fromkeys(ends(*SIZES[3:]), pl.Float64),
        "slope_mark": pl.String,
        "slope_finding": pl.Int64,
        "condition": pl.String,
    }


def tables_of(frame: "pl.DataFrame", *, name: str = "columns.parquet") -> Tables:
    """Read the tables of columns back; messages call the file `name`.

    Examples
    --------
    >>> dict(tables_of(columns_table(())))
    {}
    """
    missing = [column for column in schema() if column not in frame.columns and column not in _SLOPE]
    if missing:
        raise CorruptFile(f"{name}: column {', '.join(missing)} is missing; run {command('discover')} again")
    try:
        values = [_value(row) for row in frame.to_dicts()]
    except (ValueError, TypeError, pydantic.ValidationError) as error:
        raise CorruptFile(
            f"{name} holds no tables of columns ({str(error)[:200]}); run {command('discover')} again"
        ) from None
    return {column: tuple(some) for column, some in groupby(values, key=lambda one: one.column)}


def _row(one: ColumnValue) -> dict[str, Any]:
    stored = one.model_dump(mode="json")
    row = stored | {"value": one.value, "condition": json.dumps(stored["condition"])}
    for name in SIZES:
        low, high = stored[name]["interval"] or (None, None)
        row |= {name: stored[name]["value"], f"{name}_low": low, f"{name}_high": high}
    return {name: plain(row[name]) for name in schema()}


def _value(row: Mapping[str, Any]) -> ColumnValue:
    sizes = {
        name: Measure(value=row[name], interval=interval(row[f"{name}_low"], row[f"{name}_high"]))
        for name in SIZES
        if name in row
    }
    told = ("mark", "finding", "slope_mark", "slope_finding")
    stored = {name: row.get(name) for name in ("column", "n", "share", "accuracy", "confidence", *told)}
    stored = {name: value for name, value in stored.items() if value is not None or name not in _SLOPE}
    return ColumnValue.model_validate({**stored, **sizes, "condition": json.loads(row["condition"])})
