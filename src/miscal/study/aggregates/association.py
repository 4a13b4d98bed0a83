"""Correlations of two columns, with their number of rows and, where rows are independent, an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import correlation


@dataclass(frozen=True)
class Association:
    """A correlation.

    Attributes
    ----------
    value : float or None
        In [-1, 1]; None below 3 rows, or where a side is constant.
    low, high : float or None
        Ends of its 95 % interval, for rows that are independent; None below 4 rows, and where `value` is.
    n : int
        Rows.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def text(self) -> str:
        """The correlation with its interval, for readers; an en dash where it is undefined.

        Examples
        --------
        >>> Association(0.5, -0.25, 0.85, 9).text, Association(None, None, None, 2).text
        ('0.50 [−0.25, 0.85]', '–')
        """
        if self.value is None:
            return "\u2013"
        ends = "" if self.low is None or self.high is None else f" [{self.low:.2f}, {self.high:.2f}]"
        return f"{self.value:.2f}{ends}".replace("-", "\u2212")


def pearson(a: np.ndarray, b: np.ndarray) -> Association:
    """Pearson correlation, with Fisher's interval.

    Parameters
    ----------
    a, b : float arrays of shape (n,)
        Finite.

    Examples
    --------
    >>> found = pearson(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 2.0, 4.0, 5.0]))
    >>> round(found.value, 3), found.n
    (0.99, 4)
    """
    return _associated(a, b, lambda r: 1.0)


def spearman(a: np.ndarray, b: np.ndarray) -> Association:
    """Spearman's rank correlation, with Fisher's interval widened for ranks (Bonett & Wright, Psychometrika 65, 2000).

    Parameters
    ----------
    a, b : float arrays of shape (n,)
        Finite; equal values share their mean rank.

    Examples
    --------
    >>> found = spearman(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 5.0, 3.0]))
    >>> round(found.value, 3), found.n
    (0.8, 4)
    """
    return _associated(stats.rankdata(a), stats.rankdata(b), lambda r: 1.0 + r * r / 2)


def _associated(a: np.ndarray, b: np.ndarray, variance: Callable[[float], float]) -> Association:
    n = len(a)
    value = None if n < 3 else correlation(a, b)
    if value is None or n < 4:
        return Association(value, None, None, n)
    if abs(value) == 1.0:
        # atanh is infinite there
        return Association(value, value, value, n)
    half = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2)) * math.sqrt(variance(value) / (n - 3))
    return Association(value, math.tanh(math.atanh(value) - half), math.tanh(math.atanh(value) + half), n)
