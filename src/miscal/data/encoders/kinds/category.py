"""Categories, of any number of levels, ordered or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from miscal.base.arrays import as_text

if TYPE_CHECKING:
    import polars as pl

MOST_ONE_HOT = 50
"""Up to so many categories each is a column of numbers of its own; more are known by their codes alone."""
FEW_CATEGORIES = 50
"""Text with more distinct values than this must repeat them to be categories."""
LEAST_REPEATED, LEAST_OF_TEXTS = 0.5, 0.05
"""Largest share of the known values that may then be distinct; of texts, and of what identifies, each has twenty rows:
several models, or times, are asked the same question."""
SENTENCE = 3
"""Words that values have in the middle which are taken for texts, and not for names of rows."""
BLANK = "is blank"
OTHER = "(other)"
"""What stands for a category that `fit` did not see."""


def hardly_repeats(known: pl.Series, *, named: bool = False) -> bool:
    """Tell whether text without blanks holds sentences, or names rows: so many of its values are distinct.

    `named`: whether the name of the column says that it identifies.

    Examples
    --------
    >>> import polars as pl
    >>> codes = pl.Series([f"a{k}" for k in range(60)] * 2)
    >>> hardly_repeats(codes), hardly_repeats(codes, named=True), hardly_repeats("where is " + codes)
    (False, True, True)
    """
    distinct = known.n_unique()
    if distinct <= FEW_CATEGORIES or distinct <= LEAST_OF_TEXTS * len(known):
        return False
    return named or distinct > LEAST_REPEATED * len(known) or is_text(known)


def is_text(known: pl.Series) -> bool:
    """Tell whether values are sentences, not words or codes."""
    words = known.cast(str).str.count_matches(r"\S+").median()
    return words is not None and words >= SENTENCE  # type: ignore[operator]


@dataclass(frozen=True)
class CategoryColumn:
    """A column of categories: each a 0 or 1 where they are few; its levels are the categories, the blanks last.

    Attributes
    ----------
    column : str
    categories : tuple of str
        Sorted.
    blank : bool
    usual : str or None
        The most frequent category, whose place a blank has where `fit` saw none, so that it lies among the rows learned
        from; None where every row was blank.

    Examples
    --------
    >>> import polars as pl
    >>> kinds = pl.Series(["b", "a", None])
    >>> kind = CategoryColumn.fit(kinds, "kind")
    >>> kind.names, kind.numbers(kinds).tolist()
    (('kind=a', 'kind=b', 'kind is blank'), [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    >>> kind.codes(pl.Series(["a", None, "c"])).tolist()
    [[0], [2], [-1]]
    """

    type: ClassVar[str] = "category"
    shown = "text"

    column: str
    categories: tuple[str, ...]
    blank: bool = False
    usual: str | None = None

    def __post_init__(self) -> None:
        if self.usual is not None and self.usual not in self.categories:
            raise ValueError(f"the usual category of {self.column!r} is none of its categories")

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of :meth:`numbers`."""
        if len(self.categories) > MOST_ONE_HOT:
            return ()
        return tuple(f"{self.column}={one}" for one in self.categories) + (f"{self.column} {BLANK}",) * self.blank

    @property
    def levels(self) -> tuple[str, ...]:
        """Name of the column of :meth:`codes`."""
        return (f"level of {self.column}",)

    @classmethod
    def reads(cls, series: pl.Series) -> bool:
        """Tell whether a column holds text, or categories by their type."""
        import polars as pl

        return series.dtype in (pl.String, pl.Categorical, pl.Enum)

    @classmethod
    def fit(cls, series: pl.Series, column: str) -> Self:
        """Learn the categories."""
        texts = series.cast(str).drop_nulls()
        usual = texts.mode().sort().to_list()[0] if len(texts) else None
        return cls(column, tuple(sorted(texts.unique().to_list())), len(texts) < len(series), usual=usual)

    def numbers(self, series: pl.Series) -> np.ndarray:
        """Return 1 in the column of a row's category, 0 elsewhere."""
        if not self.names:
            return np.zeros((len(series), 0), np.float32)
        series = as_text(series)
        filled = series if self.blank or self.usual is None else series.fill_null(self.usual)
        return (self._places(filled)[:, None] == np.arange(len(self.names))).astype(np.float32)

    def codes(self, series: pl.Series) -> np.ndarray:
        """Return the place of each row's category; blanks have the last."""
        return self._places(series)[:, None]

    def _places(self, series: pl.Series) -> np.ndarray:
        import polars as pl

        places = dict(zip(self.categories, range(len(self.categories)), strict=True))
        known = as_text(series).replace_strict(places, default=-1, return_dtype=pl.Int64).to_numpy()
        blank = series.is_null().to_numpy()
        return np.where(blank, len(self.categories) if self.blank else -1, known)

    def unknown(self, series: pl.Series) -> np.ndarray:
        """Find categories that `fit` did not see, and blanks where there were none."""
        return self._places(series) < 0

    def values(self, numbers: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the categories, None where blank, "(other)" where not seen by `fit`."""
        return np.array([*self.categories, None, OTHER], dtype=object)[np.maximum(codes[:, 0], -1)]


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
    shown = "text"

    column: str
    categories: tuple[str, ...]
    fill: float = 0.0
    blank: bool = False

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
