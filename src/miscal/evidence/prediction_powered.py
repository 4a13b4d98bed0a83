"""The pass rate that people would give, from many judged rows and few labelled ones.

The mean of the labelled rows' verdicts is unbiased, and says little where they are few. The mean prediction of all rows
says much, and may be biased. Prediction-powered inference (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic, Science
382, 2023) corrects the first by the second:

    rate = mean of verdicts (labelled) + t * (mean prediction of all rows - mean prediction of the labelled rows).

The bracket has mean 0 whatever the predictions are worth, so that the estimate is right whatever they are worth.
The factor t is tuned by least squares (PPI++: Angelopoulos, Duchi and Zrnic, arXiv 2311.01453, 2023; regression
estimators of survey sampling: Cochran, "Sampling Techniques", 1977, chapter 7), and is 0 where predictions do not help.
Labelled rows count by the inverse of the probability with which they were labelled (Hájek's form of Horvitz and
Thompson's estimator; with the predictions, of the augmented one of Robins, Rotnitzky and Zhao, 1994).

**Interval.** Where t is 0 it is that of the labelled rows alone (:func:`~miscal.evidence.judged_rows.share_interval`),
by their effective number n. Otherwise n is divided by what is left of the variance,

    e = sum over clusters of (a - t b)^2 / (1 - h)^2, over the same sum of a^2,

a a cluster's part in the first mean less its expectation, b its part in minus the bracket, h its leverage: each cluster
is judged by a factor that it did not help to tune. Where the residuals say that predictions do not help (e >= 1), t is
set to 0. So the interval has the width that so many more labels would have given it, and is never that of fewer.
Normal intervals fail where a verdict is rare or the judge is nearly always right, since few rows, or none, show the
variance. This one does not rest on a variance there: e is drawn to 1 as if z^2 = 3.84 more rows of the rarer verdict
had been seen, at which predictions do not help (as many as Agresti and Coull add, The American Statistician 52, 1998).

The rate is that of rows like these, not only of these: where all rows are labelled the interval has still a width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_lengths
from miscal.evidence.judged_rows import (
    Floats,
    JudgedRows,
    Mask,
    PassRate,
    effective_labels,
    with_interval,
    without_interval,
)

_LEAST_LEFT = 0.05
"""Least 1 - h: a cluster that alone decides the factor is not divided by 0. Reached by no cluster of ten alike."""

_UNHELPED = 3.84
"""Rows of the rarer verdict that are added, as if predictions did not help there: the squared normal quantile."""


_ROUNDING = 1e-9
"""Predictions that differ by no more are taken to be alike."""


_SPREAD_OVER = 50
"""Parts of equal size that a variance which no cluster shows is cut into: one alone would count as one cluster."""
_ALIKE = np.ones((_SPREAD_OVER, 1))


@dataclass(frozen=True)
class RateDifference:
    """One pass rate less another.

    Attributes
    ----------
    estimate : float in [-1, 1], or None
        None where one of the two has no labelled row.
    low, high : float in [-1, 1], or None
        Interval at 95 %; None where one of the two rates has none.
    first, second : PassRate
        The two rates.
    """

    estimate: float | None
    low: float | None
    high: float | None
    first: PassRate
    second: PassRate


@dataclass(frozen=True, eq=False)
class _Tuned:
    """An estimate, what each cluster adds to its error (c,), and what is left of the labelled rows' variance."""

    estimate: float
    influence: Floats
    left: float


def pass_rate(rows: JudgedRows) -> PassRate:
    """Estimate the share of rows that people would approve of.

    Takes rows: some of them labelled. Returns: PassRate: With an interval at 95 % where 20 rows or more are labelled.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0, 1, 4000)
    >>> verdict = (rng.random(4000) < p).astype(float)
    >>> verdict[200:] = np.nan
    >>> rows = JudgedRows.of(p, verdict)
    >>> found = pass_rate(rows)
    >>> f"{found.estimate:.2f} from {found.low:.2f} to {found.high:.2f}, by {found.n_labelled} labels"
    '0.50 from 0.45 to 0.55, by 200 labels'
    """
    if not rows.labelled.any():
        return without_interval(None, rows, "labels")
    tuned = _tuned(rows)
    if (lacking := rows.lacking) is not None:
        return without_interval(tuned.estimate, rows, lacking)
    return with_interval(tuned.estimate, _labels(rows) / tuned.left, rows)


def pass_rates(rows: JudgedRows, groups: Any) -> dict[Any, PassRate]:
    """Estimate the pass rate of every group, each with a factor of its own.

    Takes groups (n,): group of each row. Returns dict: From the value of the group, sorted, to its pass rate.

    Examples
    --------
    >>> rows = JudgedRows.of([0.9, 0.2] * 40, [1, 0] * 40)
    >>> {name: round(found.estimate, 1) for name, found in pass_rates(rows, ["a", "b"] * 40).items()}
    {'a': 1.0, 'b': 0.0}
    """
    check_lengths(rows=rows, groups=groups)
    values, number = np.unique(np.asarray(groups), return_inverse=True)
    return {value: pass_rate(rows.take(number == at)) for at, value in enumerate(values.tolist())}


def judge_rate(rows: JudgedRows, score: Any) -> PassRate:
    """Take the mean of the judge's scores for the pass rate; no verdict of people has a part in it.

    Takes score (n,): what the judge says: pass or fail, or a probability. Returns: PassRate: Its interval is that of
    the mean score of rows like these.

    Examples
    --------
    >>> rows = JudgedRows.of([0.5] * 100, [0, None] * 50)
    >>> judge_rate(rows, [1.0] * 75 + [0.0] * 25).estimate
    0.75
    """
    check_lengths(rows=rows, score=score)
    score = check_confidence(score, name="score")
    share = rows.weight / rows.weight.sum()
    mean = float(np.clip(share @ score, 0.0, 1.0))
    return with_interval(mean, effective_labels(score, share, rows.cluster), rows)


def rate_difference(rows: JudgedRows, first: Mask, second: Mask) -> RateDifference:
    """Estimate by how much the pass rate of some rows is above that of others.

    Clusters that have rows in both make the two estimates correlate; that is counted (answers of two models to the same
    questions are compared question by question). The interval is put together from the two by the square-and-add
    method, which keeps their asymmetry where verdicts are rare (Zou and Donner, Statistics in Medicine 27, 2008).

    Takes first, second (n,) bool: the rows compared. Returns: RateDifference: Positive where people approve of the
    first more often.

    Examples
    --------
    >>> question, model = np.arange(400) // 2, np.arange(400) % 2
    >>> good = (question % 5 < 3 + model) * 1.0
    >>> rows = JudgedRows.of(np.full(400, 0.5), good, cluster=question)
    >>> found = rate_difference(rows, model == 1, model == 0)
    >>> [round(value, 2) for value in (found.estimate, found.low, found.high)]
    [0.2, 0.14, 0.26]
    """
    both = rows.take(first), rows.take(second)
    one, other = (pass_rate(part) for part in both)
    if one.estimate is None or other.estimate is None:
        return RateDifference(None, None, None, one, other)
    difference = one.estimate - other.estimate
    if one.lacking or other.lacking:
        return RateDifference(difference, None, None, one, other)
    n_clusters = int(rows.cluster.max()) + 1
    a, b = (_tuned(part, n_clusters).influence for part in both)
    spread = float(np.sqrt((a @ a) * (b @ b)))
    together = float(np.clip(a @ b / spread, -1.0, 1.0)) if spread > 0 else 0.0
    below, above = (
        float(np.sqrt(max(x * x + y * y - 2 * together * x * y, 0.0)))
        for x, y in (
            (one.estimate - one.low, other.high - other.estimate),
            (one.high - one.estimate, other.estimate - other.low),
        )
    )
    return RateDifference(difference, max(difference - below, -1.0), min(difference + above, 1.0), one, other)


def _labels(rows: JudgedRows) -> float:
    """Independent labels that say as much as those of these rows."""
    some = rows.take(rows.labelled)
    return effective_labels(some.human, some.inverse / some.inverse.sum(), some.cluster)


def _tuned(rows: JudgedRows, n_clusters: int | None = None) -> _Tuned:
    """Correct the mean of the verdicts by the predictions, as far as they help."""
    labelled, size = rows.labelled, n_clusters or int(rows.cluster.max()) + 1
    share = np.where(labelled, rows.inverse, 0.0)
    share /= share.sum()
    mass = rows.weight / rows.weight.sum()
    verdict = np.where(labelled, rows.human, 0.0)
    mean, seen, whole = share @ verdict, share @ rows.predicted, mass @ rows.predicted

    def by_cluster(parts: Floats) -> Floats:
        return np.bincount(rows.cluster, parts, minlength=size)

    alone = by_cluster(share * (verdict - mean))
    bracket = by_cluster(share * (rows.predicted - seen) - mass * (rows.predicted - whole))
    squares, variance = bracket @ bracket, alone @ alone
    factor = alone @ bracket / squares if np.ptp(rows.predicted) > _ROUNDING and squares > 0 else 0.0
    left = 1.0
    if factor > 0 and variance > 0:
        own = by_cluster(share)
        outside = np.maximum(1 - own - bracket**2 / squares, _LEAST_LEFT)
        kept = np.maximum(1 - own, _LEAST_LEFT)
        left = float(np.sum(((alone - factor * bracket) / outside) ** 2) / np.sum((alone / kept) ** 2))
    if factor <= 0 or left >= 1:
        # what was learned without a row leans away from its verdict: a negative factor would be an artefact
        return _Tuned(float(np.clip(mean, 0.0, 1.0)), alone, 1.0)
    rarer = _labels(rows) * min(mean, 1 - mean)
    left = (rarer * left + _UNHELPED) / (rarer + _UNHELPED)
    return _Tuned(float(np.clip(mean - factor * (seen - whole), 0.0, 1.0)), alone - factor * bracket, left)
