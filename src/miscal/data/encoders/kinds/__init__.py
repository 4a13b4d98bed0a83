"""The kinds of columns that inputs are made of.

To add one, write a module with a class that meets :class:`~miscal.data.encoders.kinds.protocol.ColumnKind`, and list
the class in ``KINDS``: the first whose `reads` holds takes a column.
"""

from miscal.data.encoders.kinds.category import CategoryColumn
from miscal.data.encoders.kinds.date import DateColumn, read_dates
from miscal.data.encoders.kinds.number import NumberColumn
from miscal.data.encoders.kinds.protocol import ColumnKind
from miscal.data.encoders.kinds.vector import VectorColumn

KINDS: tuple[type[ColumnKind], ...] = (NumberColumn, VectorColumn, DateColumn, CategoryColumn)

__all__ = ["KINDS", "CategoryColumn", "ColumnKind", "DateColumn", "NumberColumn", "VectorColumn", "read_dates"]
