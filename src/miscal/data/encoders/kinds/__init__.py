"""The kinds of columns that inputs are made of.

To add one, write a module with a class that meets :class:`~miscal.data.encoders.kinds.protocol.ColumnKind`, and list
the class in ``KINDS``: the first whose `reads` holds takes a column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from miscal.data.encoders.kinds.category import CategoryColumn, OrderedColumn
from miscal.data.encoders.kinds.date import DateColumn, read_dates
from miscal.data.encoders.kinds.number import NumberColumn, VectorColumn
from miscal.data.encoders.kinds.protocol import ColumnKind

if TYPE_CHECKING:
    import polars as pl

KINDS: tuple[type[ColumnKind], ...] = (NumberColumn, VectorColumn, DateColumn, OrderedColumn, CategoryColumn)


def kind_of(series: pl.Series) -> type[ColumnKind] | None:
    """Find the kind that reads a column; None where none does."""
    return next((kind for kind in KINDS if kind.reads(series)), None)


__all__ = [
    "KINDS",
    "CategoryColumn",
    "ColumnKind",
    "DateColumn",
    "NumberColumn",
    "OrderedColumn",
    "VectorColumn",
    "kind_of",
    "read_dates",
]
