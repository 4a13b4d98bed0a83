"""Differences between two runs, of all rows and of groups, with intervals: paired where the rows are the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr, stdtrit

from miscal.base.document import Measure, MeasureAgainstNull, interval, number
from miscal.base.folds import assign_folds, row_groups
from miscal.calibration.labelled_rows import take_rows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.survey_design import correlation
from miscal.evidence.conditional import outcome_given_confidence
from miscal.findings.ledger.membership import CodedColumns, Columns
from miscal.runs.compare.compared_rows import Side, Sides

Floats = NDArray[np.float64]

DRAWS = 1000
"""Draws of rows for the interval of a correlation. More cost time in proportion; its standard error is within 2 %."""
TAIL = 0.975
"""The upper quantile of a 95 % interval."""
POWER = float(ndtri(0.8))
"""Standard errors beyond what is significant, of a difference that is told in four of five cases."""
FOLDS, DEALS = 5, 4
"""Folds of the regressions of outcomes on confidence, and how often the rows are dealt into them. More deals cost time
in proportion and make the numbers depend less on the deal; one deal covered less at 300 rows (92 % of draws where
nothing differs). Chosen by simulation, on worlds of which some are those of the slow test."""

# streams of the draws of rows, and of the deals into folds
_ROWS, _DEALS = 35, 36


@dataclass(frozen=True, eq=False)
class Means:
    """Means with standard errors and degrees of freedom, arrays of shape (m,); NaN where there are too few rows."""

    value: Floats
    error: Floats
    freedom: Floats

    def interval(self, k: int) -> tuple[float, float] | None:
        """Student's interval of mean k at 95 %; None where it is undefined."""
        if not np.isfinite(self.error[k]) or not self.freedom[k] > 0:
            return None
        half = float(stdtrit(self.freedom[k], TAIL) * self.error[k])
        return float(self.value[k]) - half, float(self.value[k]) + half

    def measure(self, k: int) -> Measure:
        """Mean k with its interval."""
        return Measure(value=number(self.value[k]), interval=interval(*(self.interval(k) or (None, None))))

    def tested(self, k: int) -> MeasureAgainstNull:
        """Mean k with its interval and p-value."""
        return MeasureAgainstNull(**dict(self.measure(k)), p_value=float(self.p_value[k]))

    @property
    def p_value(self) -> Floats:
        """Two-sided, against 0; 1 where it is undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            p = 2 * stdtr(np.maximum(self.freedom, 1e-9), -np.abs(self.value) / self.error)
        certain = (self.error == 0) & (self.value != 0)
        return np.where(certain, 0.0, np.where(np.isfinite(p) & (self.freedom > 0), p, 1.0))


def group_means(
    values: Floats, member: Columns, unit: np.ndarray, *, spare: float = 1.0, weight: Floats | None = None
) -> Means:
    """Mean of the values (n,) of each group of `member`, rows of one `unit` (n,) counting as one.

    The variance is that of sums over units (Liang and Zeger, 1986). One row whose value is off by `spare` is added to
    it: rows that all agree do not prove that the next one would agree too. `weight` (n,) says how much each row counts.

    >>> found = group_means(np.array([0.0, 1.0, 0.0, 1.0]), everything(4), np.arange(4), spare=0.0)
    >>> found.value.tolist(), found.error.round(3).tolist()
    ([0.5], [0.289])
    """
    mass = np.ones(len(values)) if weight is None else weight
    rows, n = member.sums(np.ones(len(values))), member.sums(mass)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = member.sums(mass * values) / n
        total, squares, size = _by_unit(mass * values, mass, member, unit)
        # sum over units of (sum of values - mean * rows)^2
        spread = np.maximum(total - 2 * mean * squares + mean**2 * size, 0.0) + (spare * n / rows) ** 2
        units = n**2 / size  # as many units of equal size would say as much
        variance = spread / n**2 * units / (units - 1)
    usable = np.isfinite(variance) & (units > 1 + 1e-9)
    error = np.where(usable, np.sqrt(np.where(usable, variance, 0.0)), np.nan)
    return Means(mean, error, np.where(usable, units - 1, 0.0))


def _by_unit(values: Floats, mass: Floats, member: Columns, unit: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """Return sums over units of (sum of values)^2, of that sum times their mass, and of mass^2; (m,) each."""
    if len(unit) == 0 or unit.max() + 1 == len(unit):  # every row is a unit
        return member.sums(values**2), member.sums(values * mass), member.sums(mass**2)
    each = np.ones(int(unit.max()) + 1)
    pairs = (values, values), (values, mass), (mass, mass)
    total, squares, size = (member.products(unit, *both, each) for both in pairs)
    return total, squares, size


def minus(a: Means, b: Means) -> Means:
    """Difference of means of independent samples (Welch, 1947).

    Examples
    --------
    >>> same = Means(np.array([0.5]), np.array([0.3]), np.array([10.0]))
    >>> found = minus(same, same)
    >>> found.value.tolist(), found.freedom.round().tolist()
    ([0.0], [20.0])
    """
    squares = a.error**2, b.error**2
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (squares[0] + squares[1]) ** 2 / (squares[0] ** 2 / a.freedom + squares[1] ** 2 / b.freedom)
    return Means(a.value - b.value, np.sqrt(squares[0] + squares[1]), np.where(np.isfinite(freedom), freedom, 0.0))


def everything(n: int) -> CodedColumns:
    """Return the group of all of n rows."""
    return CodedColumns.of(n, [np.arange(n)])


def mean_difference(sides: Sides, a: Floats, b: Floats, *, spare: float = 0.0) -> Means:
    """Difference of the means of `a` and `b` over all rows compared, as the only entry; `spare` as in `group_means`."""
    if sides.paired:
        # where nothing differs, there is nothing to allow for
        spare = 0.0 if np.array_equal(a, b) else spare
        return group_means(a - b, everything(len(sides.a)), sides.a.unit, spare=spare, weight=sides.a.weight)
    return minus(mean_of(sides.a, a, spare=spare), mean_of(sides.b, b, spare=spare))


def nearer_mean(sides: Sides, spare: float) -> tuple[float, float | None]:
    """Test whether the mean residual of one side is nearer to 0, and say how much farther would be told.

    It is where the difference of the means and their sum are known not to be 0: the p-value is the larger one,
    two-sided of the difference, one-sided of the sum, which matters once the sign of the difference is known. Of means
    of one size, either is taken for the nearer one in one case of twenty at most, whatever their signs. The second
    number is told in four of five cases if the nearer mean is 0; None where it is undefined.
    """
    a, b = sides.a.residual, sides.b.residual
    apart, total = (mean_difference(sides, a, sign * b, spare=spare) for sign in (1, -1))
    p_value = max(float(apart.p_value[0]), float(total.p_value[0]) / 2)
    step = max(float((ndtri(TAIL) + POWER) * apart.error[0]), float((ndtri(2 * TAIL - 1) + POWER) * total.error[0]))
    return p_value, number(step)


def mean_of(side: Side, values: Floats, *, spare: float = 0.0) -> Means:
    """Mean of values over the rows of one side, as the only entry; `spare` as in `group_means`."""
    return group_means(values, everything(len(side)), side.unit, spare=spare, weight=side.weight)


def clustered_mean(values: Floats, unit: np.ndarray) -> Means:
    """Mean of the values (n,) of rows, as the only entry, rows of one unit counting as one.

    >>> values, pairs = np.repeat([0.0, 1.0, 2.0], 2), np.repeat([0, 1, 2], 2)
    >>> [clustered_mean(values, unit).error.round(3).tolist() for unit in (np.arange(6), pairs)]
    [[0.365], [0.577]]
    """
    return group_means(values, everything(len(values)), np.asarray(unit), spare=0.0)


def recalibration_saving(side: Side, seed: int) -> Floats:
    """Brier score that recalibration by the confidence alone would save, row by row: the calibration error.

    Its mean estimates E[(E[y | f] - f)^2], the reliability term of the Brier score (Murphy, 1973). With g = mu - f for
    an estimate mu of E[y | f], the efficient estimate is the mean of g^2 + 2 g (y - mu) = (y - f)^2 - (y - mu)^2, which
    falls short by the squared error of mu. Here two estimates learned from different rows, neither from the row's own
    fold, take the place of mu: g1 g2 + g1 (y - mu2) + g2 (y - mu1) falls short by the product of their errors only,
    which is 0 on average but for what they share (Newey and Robins, 2018, call this double cross-fitting). So it is not
    larger for being noisy, as sums of absolute values are, and differences between runs have Student's interval.

    Rows of one unit, or with equal inputs, are never on both sides of a fit. Returned are (n,) means over the deals,
    negative where recalibration would harm the row; NaN where the rows are fewer than 30, or make up fewer than five
    units.
    """
    equal = equal_units(side)
    if len(side) < MIN_SLICE_ROWS or len(np.unique(equal)) < FOLDS:
        return np.full(len(side), np.nan)
    rng = np.random.default_rng((seed, _DEALS))
    saved = np.zeros(len(side))
    for _ in range(DEALS):
        fold = assign_folds(equal, FOLDS, rng)
        for k in np.unique(fold):
            inside, others = fold == k, [j for j in np.unique(fold) if j != k]
            saved[inside] += _saved(side, inside, np.isin(fold, others[::2]), np.isin(fold, others[1::2]))
    return saved / DEALS


def equal_units(side: Side) -> np.ndarray:
    """Give rows of one unit, or with equal inputs where each row is a unit, one number; (n,) of int."""
    if side.rows.group is not None or len(np.unique(side.unit)) < len(side):
        return side.unit
    inputs = row_groups(side.rows.X[side.at])
    # inputs of so few different values are no copies of each other
    return inputs if len(np.unique(inputs)) >= FOLDS else side.unit


def _saved(side: Side, inside: np.ndarray, first: np.ndarray, second: np.ndarray) -> Floats:
    """Return the savings of the rows `inside`, E[y | f] learned from `first` and from `second`; masks of shape (n,)."""
    correct, confidence = side.correct, side.confidence
    y, f = correct[inside], confidence[inside]
    unit = None if side.unit.max() + 1 == len(side) else side.unit

    def learned(rows: np.ndarray) -> Floats:
        group, weight = take_rows(unit, rows), take_rows(side.weight, rows)
        return outcome_given_confidence(correct[rows], confidence[rows], f, group=group, weight=weight)

    one, two = learned(first), learned(second)
    return (one - f) * (two - f) + (one - f) * (y - two) + (two - f) * (y - one)


def correlation_with_interval(
    a: Floats, b: Floats, unit: np.ndarray, seed: int, weight: Floats | None = None
) -> Measure:
    """Pearson correlation of two values (n,) of the same rows, with the central 95 % of draws of units of rows.

    It is null where a or b is constant.

    >>> correlation_with_interval(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), np.arange(3), seed=0).value
    1.0
    >>> correlation_with_interval(np.zeros(3), np.arange(3.0), np.arange(3), seed=0)
    Measure(value=None, interval=None)
    """
    every = np.ones(len(a)) if weight is None else weight
    value = correlation(a, b, every)
    if value is None:
        return Measure(value=None)
    rng, count = np.random.default_rng((seed, _ROWS)), int(unit.max()) + 1
    times_drawn = (np.bincount(rng.integers(count, size=count), minlength=count)[unit] for _ in range(DRAWS))
    found = [correlation(a, b, every * times.astype(np.float64)) for times in times_drawn]
    known = np.array([one for one in found if one is not None])
    low, high = np.quantile(known, [1 - TAIL, TAIL]).tolist()
    return Measure(value=value, interval=(min(low, value), max(high, value)))
