"""The kinds of columns that inputs are made of.

To add one, write a module with a class that meets :class:`~miscal.data.encoders.kinds.ColumnKind`, and list
the class in ``KINDS``: the first whose `reads` holds takes a column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol, Self

import numpy as np

from miscal.data.encoders.kinds.category import CategoryColumn, OrderedColumn
from miscal.data.encoders.kinds.number import DateColumn, NumberColumn, VectorColumn

if TYPE_CHECKING:
    import polars as pl


class ColumnKind(Protocol):
    """A column of a table as numbers, fitted to the rows learned from.

    Blanks are values like others where the rows learned from have any.
    """

    type: ClassVar[str]

    @property
    def shown(self) -> str:
        """What the column holds, for messages."""
        ...

    @property
    def column(self) -> str:
        """Its name."""
        ...

    @property
    def blank(self) -> bool:
        """Whether any of the rows learned from is blank."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        ...

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`codes`; none where the column has no levels."""
        ...

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column is of this kind."""
        ...

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn what the column of this name holds."""
        ...

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return what places a row near or far from others, float64 (n, width), finite."""
        ...

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the levels of each row, int (n, len(levels)): -1 for one that `fit` did not see."""
        ...

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Find rows whose value `fit` did not see and numbers do not tell, bool (n,)."""
        ...

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the column again from what :meth:`numbers` and :meth:`codes` made of it, (n,)."""
        ...


KINDS: tuple[type[ColumnKind], ...] = (NumberColumn, VectorColumn, DateColumn, OrderedColumn, CategoryColumn)


def kind_of(series: pl.Series) -> type[ColumnKind] | None:
    """Find the kind that reads a column; None where none does."""
    return next((kind for kind in KINDS if kind.reads(series)), None)
