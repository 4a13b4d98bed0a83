"""The interface that every kind of column meets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

if TYPE_CHECKING:
    import polars as pl


class ColumnKind(Protocol):
    """A column of a table as numbers, fitted to the rows learned from.

    `type` names the class in a saved model, `shown` names what it holds in messages. Blanks are values like others
    where the rows learned from have any.

    Attributes
    ----------
    column : str
    blank : bool
        Whether any of the rows learned from is blank.
    names : tuple of str
        Names of the columns of :meth:`numbers`.
    levels : tuple of str
        Names of the columns of :meth:`codes`; none where the column has no levels.
    """

    type: ClassVar[str]
    shown: ClassVar[str]

    column: str
    blank: bool
    names: tuple[str, ...]
    levels: tuple[str, ...]

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

    def state(self) -> dict[str, Any]:
        """Return the saved form, with `type`."""
        ...

    @classmethod
    def from_state(cls, column: str, state: dict[str, Any]) -> Self:
        """Rebuild from the saved form; raises ValueError, KeyError or TypeError for what `state` never returns."""
        ...
