"""Slopes: whether the confidence separates right from wrong in a group less, or more, than among other rows.

The confidence enters as its midrank c among all rows, so that no transformation of it changes anything. The slope of a
group g is tested by the sum over its rows of (c_i - c_g) e_i, with e as in the scan (`scan`) and c_g the mean of c that
makes this sum uncorrelated with the sum of e_i, by which the group itself is tested: a candidate as any other, whose
column holds c_i - c_g in place of 1.

A group whose odds of being right are lower by one factor at all confidences has no slope. To first order the choice of
c_g sees to that, as in a score test of an interaction in logistic regression. The rest is taken off the sum: what a
shift of the log-odds that explains the group's own sum adds to that of its slope. Whether two lines are parallel
depends on the scale, though: equal factors of the odds are unequal differences. So a slope is reported only if it
has one direction on both scales, and is beyond 5 % by itself on that of differences, too (interactions that a change of
scale removes: Loftus, Memory & Cognition 6, 1978).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import rankdata

from miscal.base.document import Measure, Part
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import average
from miscal.findings.ledger.exact import Strata
from miscal.findings.ledger.groups import Groups
from miscal.findings.ledger.membership import Numbers
from miscal.findings.ledger.sizes import RAREST, GroupTest, hidden_size, size
from miscal.findings.residuals import proportion_interval

SHIFT, SLOPE = "shift", "slope"
"""Effects: a group is right more or less often than rows of equal confidence, or its confidence says more or less."""

_FARTHEST_LEVEL = 6.0
"""Shift in log-odds that a group's own level is sought up to: beyond it, hardly an outcome is left to differ."""
_MOST_BINS = 6
"""Bins of a small reliability curve: each third of the group's rows in two."""


class ConfidenceBin(Part):
    """Rows of a group whose confidences are neighbours.

    `confidence, expected`: means over its rows: of the confidence, and of E[y | f]. `accuracy`: share of its rows that
    are right, with the 95 % interval of this one bin.
    """

    n: int
    confidence: float
    expected: float
    accuracy: Measure


@dataclass(frozen=True, eq=False)
class SlopeColumns:
    """Slopes of some groups as columns of the scan.

    `groups`, int (s,): their places among the groups. `columns`: s columns: c - c_g where a row is in the group.
    `levels`: how often their rows are right if they have no slope. `recentred`, float64 (s,): how much less c_g is
    where differences of the chance count in place of factors of the odds. `centres`, float64 (s,): c_g.
    """

    groups: np.ndarray
    columns: Numbers
    levels: tuple[GroupLevel, ...]
    recentred: np.ndarray
    centres: np.ndarray

    def among(self, rows: LabelledRows, groups: Groups) -> Numbers:
        """Return the same columns of the same groups, of rows that were cut into other cells."""
        score = score_of(rows.level, rows.counts)
        inside = [groups.member.stored(place)[0] for place in self.groups.tolist()]
        return Numbers.of(len(rows), [(one, score[one] - c) for one, c in zip(inside, self.centres, strict=True)])


@dataclass(frozen=True, eq=False)
class GroupLevel:
    """How often the rows of a group are right if their log-odds differ from those of other rows by one shift.

    `rows`, int (k,): the rows of the group, in rising order. `own, others`, float64 (k,): chances of being right: of
    each row, and of other rows of its confidence. `part`, float64 (k,): factor of the difference in the sum of the
    group: how much the row counts, times the share of other rows.
    """

    rows: np.ndarray
    own: np.ndarray
    others: np.ndarray
    part: np.ndarray

    def adds(self, factors: np.ndarray) -> float:
        """Return what the level of the group adds to a sum in which its rows have these factors, (k,)."""
        return float(factors @ (self.own - self.others))


def score_of(confidence: np.ndarray, count: np.ndarray | None = None) -> np.ndarray:
    """Return the midrank of each confidence, in (0, 1); (n,). `count`: how many rows each stands for.

    Examples
    --------
    >>> score_of(np.array([0.9, 0.5, 0.9, 0.99])).tolist()
    [0.5, 0.125, 0.5, 0.875]
    >>> score_of(np.array([0.5, 0.9, 0.99]), np.array([1.0, 2.0, 1.0])).tolist()
    [0.125, 0.5, 0.875]
    """
    if count is None:
        return (rankdata(confidence) - 0.5) / len(confidence)
    place = np.unique(confidence, return_inverse=True)[1]
    rows = np.bincount(place, count)
    return ((np.cumsum(rows) - rows / 2) / rows.sum())[place]


def level_of(rows: LabelledRows, inside: np.ndarray, strata: Strata, total: float) -> GroupLevel:
    """Find the shift of a group's log-odds that explains the sum of its residuals.

    `inside`, int (k,): the rows of the group. `total`: the sum of the group (:meth:`.exact.Strata.sums`).
    """
    at = strata.stratum[inside]
    # of each stratum's weight, what the rows of the group have
    share = (np.bincount(at, strata.mass[inside], minlength=strata.many) / strata.total)[at]
    odds = logit(np.clip(rows.expected[inside], RAREST, 1 - RAREST))
    part = strata.mass[inside] * (1 - share)

    def chances(shift: float) -> tuple[np.ndarray, np.ndarray]:
        # E[y | f] is of all rows of a confidence: the group lies on one side of it, the others on the other
        return expit(odds + (1 - share) * shift), expit(odds - share * shift)

    def left(shift: float) -> float:
        own, others = chances(shift)
        return float(part @ (own - others)) - total

    ends = left(-_FARTHEST_LEVEL), left(_FARTHEST_LEVEL)
    if ends[0] < 0 < ends[1]:
        shift = float(brentq(left, -_FARTHEST_LEVEL, _FARTHEST_LEVEL, xtol=1e-4))
    else:
        shift = -_FARTHEST_LEVEL if ends[0] >= 0 else _FARTHEST_LEVEL
    return GroupLevel(inside, *chances(shift), part)


def slope_columns(
    rows: LabelledRows, groups: Groups, places: Sequence[int], strata: Strata, totals: np.ndarray
) -> SlopeColumns:
    """Return the slopes of some groups as columns of the scan.

    `places`: groups whose slopes are candidates. `totals`, float64 (m,): sums of all groups.
    """
    score, n = score_of(rows.level, rows.count), len(rows)
    columns, levels, recentred, centres = [], [], np.zeros(len(places)), np.zeros(len(places))
    for at, place in enumerate(places):
        inside = groups.member.stored(place)[0]
        own = level_of(rows, inside, strata, float(totals[place]))
        centre, plain = (_mean(score[inside], by) for by in (_own_part(inside, strata), own.part))
        columns.append((inside, score[inside] - centre))
        levels.append(own)
        recentred[at], centres[at] = centre - plain, centre
    return SlopeColumns(np.array(places, int), Numbers.of(n, columns), tuple(levels), recentred, centres)


def _mean(values: np.ndarray, weight: np.ndarray) -> float:
    return float(values @ weight / weight.sum()) if weight.sum() > 0 else float(values.mean())


def _own_part(inside: np.ndarray, strata: Strata) -> np.ndarray:
    """Part of each row of a group in the covariance of the group's sum with that of any column of its rows, (k,)."""
    at = strata.stratum[inside]
    mass, squared = strata.mass[inside], strata.squared[inside]
    own, squares = (np.bincount(at, some, minlength=strata.many) for some in (mass, squared))
    # the same for rows outside, which add up to what is left of each stratum
    mean = (squares - own / strata.total * strata.squares) / strata.total
    return strata.scatter[inside] * (squared * (1 - (own / strata.total)[at]) - mass * mean[at])


def slope_size(rows: LabelledRows, level: GroupLevel, test: GroupTest, lifts: np.ndarray) -> Measure:
    """Return how much more its accuracy rises from the lower to the upper third of a group's confidences.

    `level`: of the group. `test`: that its slope is tested by; what the group's level adds is off its total. `lifts`,
    float64 (k,): the column of the slope, of the rows of the group. The result is in [-2, 2]: the rise in the group
    less that of rows of equal confidence, were they as often right as the group. Its interval holds those values that
    the test does not reject. Undefined where the group has one confidence.
    """
    parts = thirds(rows.level[level.rows], None if rows.count is None else rows.count[level.rows])
    if parts is None:
        return Measure(value=None)
    mass = rows.mass[level.rows]
    lower, upper = (mass * part / max(float(mass @ part), np.finfo(float).tiny) for part in parts)
    expected, direction, measured = rows.expected.copy(), np.zeros(len(rows)), np.zeros(len(rows))
    expected[level.rows], direction[level.rows], measured[level.rows] = level.own, lifts, upper - lower
    return size(test, expected, direction=direction, measured=measured)


def thirds(confidence: np.ndarray, count: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray] | None:
    """Mark the lower and the upper third of some confidences, as nearly as equal ones allow, which stay together.

    `count`, (n,): how many rows each stands for. Returns bool (n,): apart, and neither of them empty; None where all
    confidences are equal.

    Examples
    --------
    >>> [part.tolist() for part in thirds(np.array([0.1, 0.2, 0.3]))]
    [[True, False, False], [False, False, True]]
    >>> [part.tolist() for part in thirds(np.array([0.5, 0.9, 0.9, 0.9]))]
    [[True, False, False, False], [False, True, True, True]]
    """
    if len(confidence) == 0 or np.ptp(confidence) == 0:
        return None
    low, high = np.quantile(confidence, [1 / 3, 2 / 3], method="inverted_cdf", weights=count)
    pairs = product((confidence <= low, confidence < low), (confidence >= high, confidence > high))
    able = [pair for pair in pairs if pair[0].any() and pair[1].any() and not (pair[0] & pair[1]).any()]
    # ties are decided by their order, not by rounding
    return min(able, key=lambda pair: round(sum(abs(average(part, count) - 1 / 3) for part in pair), 9))


def bins_of(own: LabelledRows, level: float) -> tuple[tuple[ConfidenceBin, ConfidenceBin], tuple[ConfidenceBin, ...]]:
    """Tell how often a group is right where its confidence is in its lower and in its upper third, and along a curve.

    `own`: the rows of a group, not all of one confidence. `level`: how often each interval may miss.
    """
    lower, upper = thirds(own.level, own.count) or (slice(None), slice(None))
    at = _places(own.level, own.count)
    curve = tuple(_bin(own.take(at == place), level) for place in np.unique(at))
    return (_bin(own.take(lower), level), _bin(own.take(upper), level)), curve


def _places(confidence: np.ndarray, count: np.ndarray | None) -> np.ndarray:
    """Bin of each row: of about as many rows each as equal confidences allow; a small one is joined to that below."""
    shares = np.arange(1, _MOST_BINS) / _MOST_BINS
    edges = np.unique(np.quantile(confidence, shares, method="inverted_cdf", weights=count))
    at = np.searchsorted(edges, confidence)
    for place in range(len(edges), 0, -1):
        if average(at == place, count) < 1 / (2 * _MOST_BINS):
            at[at == place] = place - 1
    return at


def _bin(own: LabelledRows, level: float) -> ConfidenceBin:
    accuracy, sure, rate = (average(values, own.weight) for values in (own.correct, own.confidence, own.expected))
    effect = effect_of_mean(own, np.ones(len(own), dtype=bool))
    interval = proportion_interval(accuracy, own.n / effect, level)
    return ConfidenceBin(n=own.n, confidence=sure, expected=rate, accuracy=Measure(value=accuracy, interval=interval))


def slope_left(corrected: LabelledRows | None, inside: np.ndarray, confidence: np.ndarray, level: float) -> Measure:
    """Return what a correction leaves of a slope: the hidden residual of the upper third less that of the lower.

    `corrected`: all rows after a correction. `inside`, bool (n,): the rows of the group. `confidence`, float64 (n,): as
    it was before the correction: its thirds are compared. `level`: how often the interval may miss. Returns as of
    :func:`left_between`; undefined where all confidences are equal, or without a correction.
    """
    parts = thirds(confidence[inside])
    if corrected is None or parts is None:
        return Measure(value=None)
    return left_between(corrected.take(inside), *parts, level)


def left_between(corrected: LabelledRows, lower: np.ndarray, upper: np.ndarray, level: float) -> Measure:
    """Return the hidden residual that a correction leaves of some rows, less that of others.

    `corrected`: rows after a correction. `lower, upper`, bool (n,): which of them are compared, apart and neither
    empty: `upper` less `lower`. `level`: how often the interval may miss. The result is in [-2, 2], with the interval
    of two independent means (the square-and-add method of Zou and Donner, 2008).

    Examples
    --------
    >>> half, first = np.full(200, 0.5), np.arange(200) < 100
    >>> rows = LabelledRows(np.repeat([1.0, 0.0, 1.0, 0.0], [60, 40, 40, 60]), half, half)
    >>> round(left_between(rows, first, ~first, 0.05).value, 2)
    -0.2
    """
    below, above = (hidden_size(corrected.take(part), level) for part in (lower, upper))
    value = (above.value or 0.0) - (below.value or 0.0)
    (low_end, low_top), (high_end, high_top) = (_reach(one) for one in (below, above))
    return Measure(value=value, interval=(value - np.hypot(high_end, low_top), value + np.hypot(high_top, low_end)))


def _reach(size: Measure) -> tuple[float, float]:
    """How far the interval of a size reaches down and up from it."""
    low, high = size.interval or (None, None)
    value = size.value or 0.0
    return value - (value if low is None else low), (value if high is None else high) - value
