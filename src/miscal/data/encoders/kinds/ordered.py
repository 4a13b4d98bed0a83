"""Categories that have an order by their type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from miscal.data.encoders.kinds.category import BLANK, OTHER

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class OrderedColumn:
    """A column of ordered categories: their rank, by which rows lie near each other, and each of them as a level.

    Attributes
    ----------
    column : str
    categories : tuple of str
        In their order.
    fill : float
        Rank that stands for a blank, and for a category that `fit` did not see: the median.
    blank : bool

    Examples
    --------
    >>> import polars as pl
    >>> risks = pl.Series(["low", "high", None], dtype=pl.Enum(["low", "medium", "high"]))
    >>> risk = OrderedColumn.fit(risks, "risk")
    >>> risk.names, risk.numbers(risks).tolist(), risk.codes(risks).tolist()
    (('risk', 'risk is blank'), [[0.0, 0.0], [2.0, 0.0], [0.0, 1.0]], [[0], [2], [3]])
    """

    type: ClassVar[str] = "ordered"

    column: str
    categories: tuple[str, ...]
    fill: float = 0.0
    blank: bool = False

    @property
    def shown(self) -> str:
        """What it holds, for messages."""
        return "text"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        return (self.column, f"{self.column} {BLANK}") if self.blank else (self.column,)

    @property
    def levels(self) -> tuple[str, ...]:
        """Name of the column of :meth:`codes`."""
        return (f"level of {self.column}",)

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether the type of a column orders its categories."""
        import polars as pl

        return series.dtype == pl.Enum

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Take the order from the type, and learn the median."""
        ranks = series.drop_nulls().to_physical().to_numpy()
        fill = float(np.quantile(ranks, 0.5, method="inverted_cdf")) if len(ranks) else 0.0
        return cls(column, tuple(series.dtype.categories), fill, series.null_count() > 0)

    def _ranks(self, series: pl.Series) -> np.ndarray:
        """Rank of each row, -1 for a blank and for a category that `fit` did not see, int (n,)."""
        import polars as pl

        ranks = dict(zip(self.categories, range(len(self.categories)), strict=True))
        # new rows may come from a file whose format has no such type
        found = series.cast(pl.String).replace_strict(ranks, default=-1, return_dtype=pl.Int64)
        return found.fill_null(-1).to_numpy()

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return the ranks, and where blanks are."""
        ranks = self._ranks(series)
        filled = np.where(ranks < 0, self.fill, ranks.astype(np.float64))
        return np.stack([filled, *([series.is_null().to_numpy().astype(np.float64)] * self.blank)], 1)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the rank of each row; blanks have the last level."""
        blank = series.is_null().to_numpy() & self.blank
        return np.where(blank, len(self.categories), self._ranks(series))[:, None]

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Find categories that `fit` did not see, and blanks where there were none."""
        return self.codes(series)[:, 0] < 0

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the categories, None where blank, "(other)" where not seen by `fit`."""
        return np.array([*self.categories, None, OTHER], dtype=object)[codes[:, 0]]

    def state(self) -> dict[str, Any]:
        """Return the saved form."""
        return {"type": self.type, "categories": list(self.categories), "fill": self.fill, "blank": self.blank}

    @classmethod
    def from_state(cls, column: str, state: dict[str, Any]) -> Self:
        """Rebuild from the saved form."""
        categories = state["categories"]
        if not isinstance(categories, list) or not all(isinstance(one, str) for one in categories):
            raise ValueError(f"the categories of {column!r} must be texts")
        return cls(column, tuple(categories), float(state["fill"]), bool(state["blank"]))
