"""Trends: whether rows are right more or less often, the higher a number is.

The rows of a trend are tested by their midranks in the column in place of 0 and 1: one candidate of a column, however
many intervals a trend would fill. It is reported by the upper third of the rows, against the lower third.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, logit
from scipy.stats import rankdata

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions import Trend
from miscal.findings.conditions.frame import written
from miscal.findings.ledger.bins import bins_of
from miscal.findings.ledger.sizes import GroupTest, size

_LEAST_VALUES = 5
"""Distinct values from which a number has a trend: fewer are taken one by one."""
_RAREST = 1e-3
_FARTHEST = 200.0


class TrendRows(NamedTuple):
    """A trend: its condition, the rows at its upper and at its lower end (bool (n,)), and the score of each row.

    Scores are midranks among the known values, from -1/2 to 1/2; 0 where there is none.
    """

    condition: Trend
    upper: np.ndarray
    lower: np.ndarray
    score: np.ndarray


def trend_of(column: str, numbers: np.ndarray, date: bool) -> TrendRows | None:
    """Return the trend along a column; None where its values are too few.

    `numbers`, float64 (n,): NaN where missing; seconds since 1970 for dates.

    Examples
    --------
    >>> found = trend_of("age", np.arange(20.0, 80.0), date=False)
    >>> found.condition.words, int(found.upper.sum()), found.score[[0, -1]].round(2).tolist()
    ('higher age, at least 60 against at most 39', 20, [-0.49, 0.49])
    """
    known = np.isfinite(numbers)
    if len(np.unique(numbers[known])) < _LEAST_VALUES:
        return None
    thirds = bins_of(column, numbers, 3, date)
    if thirds.count < 2:
        return None
    lower, upper = (written(float(end), True) if date else float(end) for end in (thirds.inner[0], thirds.inner[-1]))
    score = np.zeros(len(numbers))
    score[known] = (rankdata(numbers[known]) - 0.5) / known.sum() - 0.5
    condition = Trend(column, upper, lower, thirds.whole)
    return TrendRows(condition, thirds.codes == thirds.count - 1, thirds.codes == 0, score)


def trend_size(rows: LabelledRows, trend: TrendRows, test: GroupTest) -> Measure:
    """Return how much more often rows at the upper end of a trend are right than rows of its lower end.

    `test`: that it is tested by. The result is in [-1, 1]: what a shift of the log-odds along the scores makes of the
    two ends, beyond rows of equal confidence. Its interval holds those values that the test does not reject.
    """
    upper, lower = (rows.mass * end / max(float(rows.mass @ end), 1.0) for end in (trend.upper, trend.lower))
    return size(test, rows.expected, direction=trend.score, measured=upper - lower)


def sum_p_value(factors: np.ndarray, correct: np.ndarray, expected: np.ndarray) -> float:
    """Two-sided p-value of a weighted sum of residuals, by the saddlepoint of Lugannani and Rice (1980).

    A normal law is too sure of far tails where outcomes are nearly all alike.

    `factors`, float64 (n,). `correct`, (n,). `expected`, float64 (n,): chances of independent outcomes.

    Examples
    --------
    >>> y = np.repeat([1.0, 0.0], 50)
    >>> round(sum_p_value(np.linspace(-1, 1, 100), np.tile([0.0, 1.0], 50), np.full(100, 0.5)), 1)
    0.9
    >>> sum_p_value(np.linspace(-1, 1, 100), y, np.full(100, 0.5)) < 1e-12
    True
    """
    chance = np.clip(expected, _RAREST, 1 - _RAREST)
    odds, total = logit(chance), float(factors @ (correct - chance))
    spread = float(np.sqrt(np.sum(factors**2 * chance * (1 - chance))))
    if abs(total) < 1e-3 * spread:
        return 1.0

    def left(tilt: float) -> float:
        return float(factors @ (expit(odds + tilt * factors / spread) - chance)) - total

    if left(-_FARTHEST) >= 0 or left(_FARTHEST) <= 0:
        # the sum is at the end of what it can be: the normal law of a wider sum is no smaller
        return float(2 * np.exp(log_ndtr(-abs(total) / spread)))
    tilt = brentq(left, -_FARTHEST, _FARTHEST, xtol=1e-9) / spread
    tilted = expit(odds + tilt * factors)
    generating = float(np.sum(np.log1p(chance * np.expm1(tilt * factors)))) - tilt * float(factors @ chance)
    w = np.sign(tilt) * np.sqrt(max(2 * (tilt * total - generating), 0.0))
    u = tilt * np.sqrt(float(np.sum(factors**2 * tilted * (1 - tilted))))
    # the mean of w and u in the exponent, which never leaves [0, 1] (Barndorff-Nielsen, 1986)
    star = w + np.log(u / w) / w if abs(w) > 1e-3 else w
    return float(np.clip(2 * np.exp(log_ndtr(-abs(star))), np.finfo(float).tiny, 1.0))
