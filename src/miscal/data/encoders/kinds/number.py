"""Numbers, truth values, and lists of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from miscal.base.arrays import value_list
from miscal.base.errors import InputError

if TYPE_CHECKING:
    import polars as pl

FEW_VALUES = 20
"""Up to so many distinct numbers each is a level of its own."""
BINS = 10
"""More distinct numbers are cut into so many levels of about equal counts."""


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: itself, and whether it is blank; its levels are few values, or tenths of the rows.

    Attributes
    ----------
    column : str
    fill : float
        What stands for a blank: the median.
    blank : bool
    edges : tuple of float
        Least value of every level but the first; empty where levels would say no more than the number.

    Examples
    --------
    >>> import polars as pl
    >>> ages = pl.Series([20.0, None, 30.0, 40.0])
    >>> age = NumberColumn.fit(ages, "age")
    >>> age.names, age.numbers(ages).tolist()
    (('age', 'age is blank'), [[20.0, 0.0], [30.0, 1.0], [30.0, 0.0], [40.0, 0.0]])
    >>> age.codes(ages).tolist()
    [[0], [3], [1], [2]]
    """

    type: ClassVar[str] = "number"
    shown = "numbers"

    column: str
    fill: float = 0.0
    blank: bool = False
    edges: tuple[float, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return (self.column, f"{self.column} is blank") if self.blank else (self.column,)

    @property
    def levels(self) -> tuple[str, ...]:
        """Name of the column of :meth:`codes`."""
        return (f"level of {self.column}",) if self.edges else ()

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds numbers or truth values."""
        import polars as pl

        return series.dtype.is_numeric() or series.dtype == pl.Boolean

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the median and the levels."""
        values = as_numbers(series)
        known = values[~np.isnan(values)]
        fill = float(np.median(known)) if len(known) else 0.0
        return cls(column, fill, len(known) < len(values), level_edges(known))

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the numbers, blanks filled in, and where these are."""
        values = as_numbers(series)
        blank = np.isnan(values)
        filled = np.where(blank, self.fill, values)
        return np.stack([filled, blank], 1) if self.blank else filled[:, None]

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the level of each row; blanks have the last."""
        if not self.edges:
            return np.zeros((len(series), 0), dtype=np.int64)
        return binned(as_numbers(series), self.edges, self.blank)[:, None]

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Any number is known; a blank where there were none cannot."""
        return np.isnan(as_numbers(series)) & (not self.blank)

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the numbers, NaN where blank."""
        return np.where(numbers[:, 1] == 1, np.nan, numbers[:, 0]) if self.blank else numbers[:, 0]

    def state(self) -> dict[str, Any]:
        """Return the saved form."""
        return {"type": self.type, "fill": self.fill, "blank": self.blank, "edges": list(self.edges)}

    @classmethod
    def from_state(cls, column: str, state: dict[str, Any]) -> Self:
        """Rebuild from the saved form; models of earlier versions know neither blanks nor levels."""
        edges = tuple(float(edge) for edge in state.get("edges", ()))
        return cls(column, float(state.get("fill", 0.0)), bool(state.get("blank", False)), edges)


def as_numbers(series: pl.Series) -> np.ndarray:
    """Read numbers and truth values as float64, NaN where blank."""
    import polars as pl

    numbers = series.cast(pl.Float64)
    return (numbers.fill_null(np.nan) if numbers.null_count() else numbers).to_numpy()


def binned(values: np.ndarray, edges: tuple[float, ...], blank: bool) -> np.ndarray:
    """Find the level of each value, int (n,); blanks, NaN, have the last one, or -1 where there is none."""
    level = np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), len(edges) + 1 if blank else -1, level)


def level_edges(known: np.ndarray) -> tuple[float, ...]:
    """Cut numbers into levels: few values one by one, more into tenths of the rows; return all but the least edge."""
    distinct = np.unique(known)
    if len(distinct) <= 2:
        return ()
    if len(distinct) <= FEW_VALUES:
        return tuple(distinct[1:].tolist())
    inner = np.unique(np.quantile(known, np.arange(1, BINS) / BINS, method="inverted_cdf"))
    return tuple(inner[inner > distinct[0]].tolist())


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
    blank = False
    levels = ()

    column: str
    width: int

    @property
    def shown(self) -> str:
        """What it holds, for messages."""
        return f"lists of {self.width} numbers"

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
        """Any list of numbers is known."""
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
