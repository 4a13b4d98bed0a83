"""How much more often a group is right: its mean hidden residual, and the size that its test as a finding is about.

The scan tests a group by a weighted sum of residuals, T = sum_i a_i (y_i - E[y | f_i]). The factors a are
the group's indicator less its mean among rows of near-equal confidence, less what the findings above explain of it. The
size, theta, is the mean difference in the chance of being right between the rows of the group and other rows of equal
confidence that belong to the same findings above. Its interval holds exactly those values that the same test, at the
group's own share of the error, does not reject, so that interval and p-value never contradict each other.

A group that was chosen because it looked large looks larger than it is. The value is therefore the mean of the plain
estimate and of the maximum of the likelihood given that the group passed the cut (Zhong and Prentice, 2008), of which
the first is too large and the second too small.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, log_ndtr, logit, ndtri

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import average
from miscal.evidence.sums import bernoulli_tail
from miscal.findings.residuals import proportion_interval

CORRECTED, REDUCED, WORSE, NOT_KNOWN = ("corrected", "reduced", "made worse", "not known")
"""What can become of a finding."""
UNDEFINED = Measure(value=None)
RAREST = 1e-3
"""A chance that other rows found to be 0 or 1 is not known to be."""
_STAYING = 0.02
"""Rows that move by less than this part of the farthest stay: they are many, and change next to nothing."""
_FARTHEST = 15.0
"""Shift in log-odds by which every chance is 0 or 1 for all practical purposes."""


@dataclass(frozen=True, kw_only=True)
class TestedGroup:
    """A candidate that is beyond the cut: two-sided, given the groups chosen before it, or by itself.

    `group`: its place among the groups. `aliases`: others of nearly the same rows.
    `by`: of one that was not chosen: place, among those chosen, of the one that alone accounts for most of it.
    `z`: standard score; negative where less often right.
    `p_value, p_adjusted`: of its test; and adjusted for all candidates.
    `level`: its share of the family-wise error: the level of the interval of `hidden`.
    `conditional`: how much more often its rows are right than other rows of equal confidence in the same groups above
        it.
    `own`: its size by itself, with the interval that inverts its test by itself: of the mean hidden residual of its
        rows, or of the ends of a trend.
    `needs`: where the interval of `own` holds 0: place, among the findings, of the one above it that shows it most.
    `shrinkage`: what part of a size is left once the choice is allowed for (:func:`shrinkage`); 1 for what was not
        chosen.
    """

    group: int
    aliases: tuple[int, ...] = ()
    by: int | None = None
    z: float
    p_value: float
    p_adjusted: float
    level: float
    conditional: Measure = UNDEFINED
    own: Measure = UNDEFINED
    needs: int | None = None
    shrinkage: float = 1.0


@dataclass(frozen=True)
class Scanned:
    """What a scan found.

    `chosen` are in the order of choice. `alone` are values and bins of columns that are beyond the cut by themselves
    and were not chosen, the strongest first, with `by`. `by_rows` is how many more candidates are beyond
    the cut by themselves where units are not counted, but rows. `most_off` is as of :class:`.document.Ledger`.
    """

    chosen: tuple[TestedGroup, ...] = ()
    alone: tuple[TestedGroup, ...] = ()
    by_rows: int = 0
    most_off: TestedGroup | None = None


@dataclass(frozen=True, eq=False)
class GroupTest:
    """What a group was tested by.

    `factors`, float64 (n,): a: what a residual adds to the sum T. `total`: T. `variance`: of T where nothing is hidden.
    `z`: standard score that agrees with the p-value: negative where less often right. `least`: absolute z from which
    the group is beyond the cut. `squares`: of cells, the sums of the squared factors of their rows.
    """

    factors: np.ndarray
    total: float
    variance: float
    z: float
    least: float
    squares: np.ndarray | None = None


def standard_score(p_value: float, sign: float) -> float:
    """Return the standard score that has a two-sided p-value.

    Examples
    --------
    >>> round(standard_score(0.05, -1), 2), round(standard_score(0.0, -1), 1)
    (-1.96, -37.5)
    """
    # a p-value of 0 is one too small for a double
    p_value = max(p_value, float(np.finfo(np.float64).tiny))
    return float(np.copysign(ndtri(1 - p_value / 2) if p_value > 1e-9 else -ndtri(p_value / 2), sign))


def size(
    test: GroupTest, expected: np.ndarray, *, direction: np.ndarray, measured: np.ndarray | None = None
) -> Measure:
    """Return the size that a test is about, corrected for choice, and the interval that inverts the test.

    The test is inverted over shifts of the log-odds, so that no end lies beyond what chances between 0 and 1 allow, and
    the variance is that of the shifted outcomes. Where the direction is that of the factors, the rows of a group move
    one way and the rows that they are compared with the other, so that about as many outcomes are 1 as before.

    `expected`, float64 (n,): E[y | f], learned from other rows. `direction`, float64 (n,): how far the log-odds of each
    row are shifted, 0 where they stay. `measured`, float64 (n,): factors by which changes of the chances add up to the
    size; by default those of the test, divided by what a difference of 1 between the group and the rows it is compared
    with adds to its sum. The result is in [-1, 1]; negative where less often right. Undefined where the rows of the
    group have no others to be compared with. The interval allows for the choice among all candidates.

    Examples
    --------
    Of one half 85 % are right, of the other 15 %.

    >>> factors = np.repeat([0.5, -0.5], 100)
    >>> residual = np.where(np.arange(200) % 100 < 85, 0.5, -0.5) * np.sign(factors)
    >>> test = GroupTest(factors, float(factors @ residual), 200 / 16, z=9.9, least=3.0)
    >>> found = size(test, np.full(200, 0.5), direction=factors)
    >>> [round(number, 2) for number in (found.value, *found.interval)]
    [0.7, 0.52, 0.82]
    """
    far = float(np.abs(direction).max(initial=0.0))
    moved = np.abs(direction) > _STAYING * far
    chance = np.clip(expected, RAREST, 1 - RAREST)
    odds, within = logit(chance[moved]), chance[moved]
    along, factors = direction[moved], test.factors[moved]
    reach = float(factors @ along)
    if reach <= 0 or test.variance <= 0:
        return Measure(value=None)
    farthest, gained = _FARTHEST / far, factors / reach if measured is None else measured[moved]
    squares = test.factors**2 if test.squares is None else test.squares
    still = float(np.sum((squares * chance * (1 - chance))[~moved]))
    squares = squares[moved]
    before = still + float(np.sum(squares * within * (1 - within)))
    plain = test.total / np.sqrt(test.variance)
    # an exact p-value above the normal one stretches the scale of the test
    stretch = min(1.0, test.z / plain) if plain * test.z > 0 else 1.0

    def shifted(shift: float) -> tuple[float, float]:
        rate = expit(odds + shift * along)
        mean = float(factors @ (rate - within))
        variance = test.variance * (still + float(np.sum(squares * rate * (1 - rate)))) / before
        return float(gained @ (rate - within)), stretch * (test.total - mean) / np.sqrt(
            max(variance, np.finfo(float).tiny)
        )

    # Wald's estimate and interval are near, and save most of the search
    gain = max(float(factors @ (within * (1 - within) * along)), np.finfo(float).tiny)
    near, spread = test.total / gain, 2 * (test.least + 1) * np.sqrt(test.variance) / gain
    crossing = lambda least, low, high: _crossing(  # noqa: E731
        lambda shift: shifted(shift)[1] + least, (low, high), (near - spread, near + spread)
    )
    best = crossing(0.0, -farthest, farthest)
    ends = crossing(-test.least, -farthest, best), crossing(test.least, best, farthest)
    low, high = (shifted(end)[0] for end in ends)
    value = shifted(best)[0] * shrinkage(abs(test.z), test.least)
    return Measure(value=float(np.clip(value, low, high)), interval=(low, high))


def holds_zero(size: Measure) -> bool:
    """Whether a size may be 0, by its interval; one that is undefined may be anything.

    Examples
    --------
    >>> holds_zero(Measure(value=0.1, interval=(-0.1, 0.3))), holds_zero(Measure(value=0.1, interval=(0.05, 0.15)))
    (True, False)
    """
    low, high = size.interval or (None, None)
    return low is None or high is None or low <= 0 <= high


def shrinkage(z: float, least: float) -> float:
    """Return what part of a size is left once its choice is allowed for.

    `z`: absolute standard score of a group. `least`: absolute score from which groups were chosen. The result is in
    (1/2, 1]: 1 far beyond the cut, and for a group that was not beyond it.

    Examples
    --------
    >>> [round(shrinkage(z, 3.5), 2) for z in (3.6, 4.5, 6.0, 9.0)]
    [0.57, 0.94, 1.0, 1.0]
    """
    if z <= least:
        return 1.0

    def slope(mean: float) -> float:
        # of the likelihood of z among scores beyond the cut on either side
        passed = np.logaddexp(log_ndtr(mean - least), log_ndtr(-mean - least))
        densities = np.exp(np.array([-((least - mean) ** 2), -((least + mean) ** 2)]) / 2 - passed)
        return float(z - mean - (densities[0] - densities[1]) / np.sqrt(2 * np.pi))

    return (1 + _crossing(slope, (0.0, z)) / z) / 2


def allowing_for_choice(left: Measure, part: float, sign: float) -> Measure:
    """Return what is left of a finding, its value made smaller by the part that its size before was.

    What made a group look extreme by chance is in its outcomes after the correction, too. Where the correction went
    too far, nothing is taken off.

    `left`: in [-1, 1], and its interval, which stays and keeps holding the value. `part`: in (0, 1]: :func:`shrinkage`.
    `sign`: of the finding: negative where less often right.

    Examples
    --------
    >>> allowing_for_choice(Measure(value=0.16, interval=(0.06, 0.26)), 0.5, 1.0).value
    0.08
    >>> allowing_for_choice(Measure(value=0.16, interval=(0.1, 0.22)), 0.5, 1.0).value
    0.1
    >>> allowing_for_choice(Measure(value=-0.16, interval=(-0.2, -0.1)), 0.5, 1.0).value
    -0.16
    """
    if left.value is None or left.interval is None or left.value * sign <= 0:
        return left
    low, high = left.interval
    return Measure(value=float(np.clip(part * left.value, low, high)), interval=left.interval)


def fate_of(before: Measure, after: Measure, n: int) -> tuple[str | None, int | None]:
    """Say what the correction makes of a finding and, where that is not known, of how many rows it would be.

    `before`: size of the finding before the correction. `after`: what the correction leaves of it. `n`: rows of the
    group. Returns `fate`: ``"corrected"`` where the interval of what is left lies within half of the size, in either
    direction; ``"reduced"`` where it lies within the whole size; ``"made worse"`` where it lies beyond it; ``"not
    known"`` elsewhere, and None where a size is undefined; `rows_needed`: where it is not known: rows of the group of
    which an interval around the same middle, narrower as the root of the rows, would lie within the size or beyond it.
    None where no number of rows tells.

    Examples
    --------
    >>> before = Measure(value=-0.2, interval=(-0.3, -0.1))
    >>> ends = (-0.09, 0.05), (-0.15, 0.05), (-0.4, -0.22), (-0.24, -0.08), (-0.3, -0.1)
    >>> [fate_of(before, Measure(value=-0.1, interval=one), 100) for one in ends]
    [('corrected', None), ('reduced', None), ('made worse', None), ('not known', 400), ('not known', None)]
    >>> fate_of(before, Measure(value=None), 100)
    (None, None)
    """
    if before.value is None or after.interval is None or None in after.interval:
        return None, None
    low, high = after.interval
    size, middle, width = abs(before.value), abs(low + high) / 2, (high - low) / 2
    if middle + width <= size / 2:
        return CORRECTED, None
    if middle + width < size:
        return REDUCED, None
    if middle - width > size:
        return WORSE, None
    needed = (width / abs(size - middle)) ** 2 * n if abs(size - middle) > 1e-6 * width else math.inf
    return NOT_KNOWN, math.ceil(round(needed, 6)) if math.isfinite(needed) else None


def hidden_size(own: LabelledRows, level: float) -> Measure:
    """Mean hidden residual of the rows of a group, and its interval (:func:`hidden_interval`).

    `own`: the rows of the group alone, at least one. `level`: how often the interval may miss, two-sided, in (0, 1).
    Returns mean of y - E[y | f]; negative where less often right than rows of equal confidence.

    Examples
    --------
    >>> half = np.full(100, 0.5)
    >>> left = hidden_size(LabelledRows(np.repeat([1.0, 0.0], [30, 70]), half, half), 0.05)
    >>> [round(number, 3) for number in (left.value, *left.interval)]
    [-0.2, -0.288, -0.1]
    """
    return _mean_size(own, own.expected, level)


def _mean_size(own: LabelledRows, compared: np.ndarray, level: float) -> Measure:
    """Mean of y less what it is compared with, and its interval."""
    effect = effect_of_mean(own)
    value = average(own.correct, own.weight) - average(compared, own.weight)
    return Measure(value=value, interval=hidden_interval(own.correct, compared, level, effect, own.weight, own.n))


def residual_size(own: LabelledRows, level: float) -> Measure:
    """Accuracy less confidence of the rows of a group, with the interval of :func:`hidden_size`.

    `own`: the rows of the group alone, at least one. `level`: how often the interval may miss, two-sided, in (0, 1).
    Returns mean of y - f, in [-1, 1]; negative where over-confident.

    Examples
    --------
    >>> half = np.full(100, 0.5)
    >>> found = residual_size(LabelledRows(np.repeat([1.0, 0.0], [30, 70]), half, half), 0.05)
    >>> [round(number, 3) for number in (found.value, *found.interval)]
    [-0.2, -0.288, -0.1]
    """
    return _mean_size(own, own.confidence, level)


def left_by(corrected: LabelledRows | None, inside: np.ndarray, level: float) -> Measure:
    """Mean hidden residual that a correction leaves of the rows `inside` (:func:`hidden_size`); undefined without one.

    Examples
    --------
    >>> left_by(None, np.array([True]), 0.05).value is None
    True
    """
    return Measure(value=None) if corrected is None else hidden_size(corrected.take(inside), level)


def hidden_interval(
    correct: np.ndarray,
    expected: np.ndarray,
    level: float,
    effect: float = 1.0,
    weight: np.ndarray | None = None,
    n: int | None = None,
) -> tuple[float, float]:
    """Interval of the mean hidden residual of a group that was chosen among many.

    With `level` the group's own share of the family-wise error, the intervals of *all* candidates hold together in 95 %
    of tables, and so do those of the groups chosen, however they were chosen (Bonferroni). It is the interval of
    Clopper and Pearson (1934) for the accuracy, less the accuracy expected, which it takes as known. It holds for few
    rows and rates near 0 or 1, and is wider than need be where rates differ much within the group (Hoeffding, 1956).

    `correct`, (n,): of the rows of the group. `expected`, (n,): E[y | f], learned from other rows. `level`: Two-sided,
    in (0, 1): 0.05 for a group fixed beforehand. `effect`: design effect, where rows hang together or count unequally:
    they count for so many times fewer. `weight`, (n,): how much each counts; all alike by default. `n`: how many rows
    they are, where each is a cell. Returns low and high, between -mean(expected) and 1 - mean(expected).

    Examples
    --------
    >>> y, expected = np.repeat([1.0, 0.0], [30, 70]), np.full(100, 0.5)
    >>> [tuple(round(end, 3) for end in hidden_interval(y, expected, level)) for level in (0.05, 0.0005)]
    [(-0.288, -0.1), (-0.343, -0.024)]
    """
    accuracy, rate = average(correct, weight), average(expected, weight)
    low, high = proportion_interval(accuracy, (n or len(correct)) / effect, level)
    return low - rate, high - rate


def _crossing(
    falling: Callable[[float], float], ends: tuple[float, float], near: tuple[float, float] | None = None
) -> float:
    """Where a falling function crosses 0, looked for first near a guess; or the end that is closest."""
    low, high = ends
    if near is not None:
        start, stop = max(low, near[0]), min(high, near[1])
        if start < stop and falling(start) > 0 > falling(stop):
            return float(brentq(falling, start, stop, xtol=1e-6))
    if falling(low) <= 0:
        return low
    if falling(high) >= 0:
        return high
    return float(brentq(falling, low, high, xtol=1e-6))


def trend_size(rows: LabelledRows, upper: np.ndarray, lower: np.ndarray, score: np.ndarray, test: GroupTest) -> Measure:
    """Return how much more often rows at the upper end of a trend are right than rows of its lower end.

    `upper, lower`, bool (n,): its ends. `score`, float64 (n,): of each row. `test`: that it is tested by. The result is
    in [-1, 1]: what a shift of the log-odds along the scores makes of the two ends, beyond rows of equal confidence.
    Its interval holds those values that the test does not reject.
    """
    above, below = (rows.mass * end / max(float(rows.mass @ end), 1.0) for end in (upper, lower))
    return size(test, rows.expected, direction=score, measured=above - below)


def sum_p_value(
    factors: np.ndarray, correct: np.ndarray, expected: np.ndarray, count: np.ndarray | None = None
) -> float:
    """Two-sided p-value of a weighted sum of residuals, by the saddlepoint.

    A normal law is too sure of far tails where outcomes are nearly all alike.

    `factors`, float64 (n,). `correct`, (n,). `expected`, float64 (n,): chances of independent outcomes. `count`, (n,):
    how many rows share each factor.

    Examples
    --------
    >>> y = np.repeat([1.0, 0.0], 50)
    >>> round(sum_p_value(np.linspace(-1, 1, 100), np.tile([0.0, 1.0], 50), np.full(100, 0.5)), 1)
    0.9
    >>> sum_p_value(np.linspace(-1, 1, 100), y, np.full(100, 0.5)) < 1e-12
    True
    """
    chance = np.clip(expected, RAREST, 1 - RAREST)
    total = float(factors @ (correct - chance))
    each = factors if count is None else factors / count
    return min(1.0, 2 * bernoulli_tail(np.sign(total) * each, chance, abs(total), count=count))
