"""Lists of numbers, all of one length: an embedding that stands in the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from miscal.base.arrays import value_list
from miscal.base.errors import InputError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class VectorColumn:
    """A column of lists of numbers, side by side; it has no levels, and no blanks.

    Attributes
    ----------
    column : str
    width : int

    Examples
    --------
    >>> import polars as pl
    >>> VectorColumn.fit(pl.Series([[1.0, 2.0]]), "v").names
    ('v[0]', 'v[1]')
    """

    type: ClassVar[str] = "list"

    column: str
    width: int

    @property
    def shown(self) -> str:
        """What it holds, for messages."""
        return f"lists of {self.width} numbers"

    @property
    def blank(self) -> bool:
        """No list may be blank."""
        return False

    @property
    def levels(self) -> tuple[str, ...]:
        """Lists have no levels."""
        return ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return tuple(f"{self.column}[{j}]" for j in range(self.width))

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds lists."""
        import polars as pl

        return series.dtype in (pl.List, pl.Array)

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the width."""
        import polars as pl

        widths = series.cast(pl.List(series.dtype.inner)).list.len().drop_nulls().unique().sort().to_list()
        if not series.dtype.inner.is_numeric() or len(widths) != 1 or widths[0] == 0:
            raise InputError(
                f"column {column!r} must hold lists of numbers, all of one length; got {series.dtype} "
                f"with lengths {value_list(widths)}"
            )
        return cls(column, int(widths[0]))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the numbers side by side."""
        return np.array(series.to_list(), dtype=np.float64).reshape(len(series), self.width)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return nothing: lists have no levels."""
        return np.zeros((len(series), 0), dtype=np.int64)

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Any list of numbers can be told."""
        return np.zeros(len(series), dtype=bool)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Raise: lists name nothing."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """Return the saved form."""
        return {"type": self.type, "width": self.width}

    @classmethod
    def from_state(cls, column: str, state: dict[str, Any]) -> Self:
        """Rebuild from the saved form."""
        if not isinstance(state["width"], int):
            raise ValueError(f"the width of {column!r} must be a whole number")
        return cls(column, state["width"])
