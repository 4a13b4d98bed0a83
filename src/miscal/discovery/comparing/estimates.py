"""Differences between two runs, of all rows and of groups, with intervals: paired where the rows are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from scipy.special import ndtr, stdtr, stdtrit

from miscal.calibration.metrics.smooth import smece_of_residuals
from miscal.discovery.comparing.sides import Side, Sides
from miscal.discovery.summary import Measure

Floats = NDArray[np.float64]

DRAWS = 1000
"""Draws of rows for smECE and correlations: standard errors of them are within 2 %."""
TAIL, NORMAL = 0.975, 1.959964
"""Of 95 % intervals: the upper quantile, and that of the normal law."""

# streams of the bootstrap: of matched rows or of `a`, and of `b`
_ROWS, _OTHER = 35, 36


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

    @property
    def p_value(self) -> Floats:
        """Two-sided, against 0; 1 where it is undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            p = 2 * stdtr(np.maximum(self.freedom, 1e-9), -np.abs(self.value) / self.error)
        certain = (self.error == 0) & (self.value != 0)
        return np.where(certain, 0.0, np.where(np.isfinite(p) & (self.freedom > 0), p, 1.0))


def group_means(values: Floats, member: csc_array, unit: np.ndarray, *, spare: float = 1.0) -> Means:
    """Mean of the values of each group, rows of one unit counting as one.

    The variance is that of sums over units (Liang and Zeger, 1986). One row whose value is off by `spare` is added to
    it: rows that all agree do not prove that the next one would agree too.

    Parameters
    ----------
    values : array of shape (n,)
    member : sparse array of shape (n, m)
        1 where a row is in a group.
    unit : int array of shape (n,)
        Numbers from 0 without gaps.
    spare : float, default 1.0

    Returns
    -------
    Means

    Examples
    --------
    >>> one = csc_array(np.ones((4, 1)))
    >>> found = group_means(np.array([0.0, 1.0, 0.0, 1.0]), one, np.arange(4), spare=0.0)
    >>> found.value.tolist(), found.error.round(3).tolist()
    ([0.5], [0.289])
    """
    n = np.asarray(member.sum(0)).ravel()
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = (member.T @ values) / n
        total, squares, size = _by_unit(values, member, unit)
        # sum over units of (sum of values - mean * rows)^2
        spread = np.maximum(total - 2 * mean * squares + mean**2 * size, 0.0) + spare**2
        units = n**2 / size  # as many units of equal size would say as much
        variance = spread / n**2 * units / (units - 1)
    usable = np.isfinite(variance) & (units > 1 + 1e-9)
    error = np.where(usable, np.sqrt(np.where(usable, variance, 0.0)), np.nan)
    return Means(mean, error, np.where(usable, units - 1, 0.0))


def _by_unit(values: Floats, member: csc_array, unit: np.ndarray) -> tuple[Floats, Floats, Floats]:
    """Return sums over units of (sum of values)^2, of that sum times rows, and of rows^2; (m,) each."""
    if len(unit) == 0 or unit.max() + 1 == len(unit):  # every row is a unit
        return member.T @ values**2, member.T @ values, np.asarray(member.sum(0)).ravel()
    gather = csr_array((np.ones(len(unit)), (unit, np.arange(len(unit)))), shape=(unit.max() + 1, len(unit)))
    rows, sums = gather @ member, gather @ (member.multiply(values[:, None])).tocsc()
    return tuple(
        np.asarray(part.sum(0)).ravel() for part in (sums.multiply(sums), sums.multiply(rows), rows.multiply(rows))
    )


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


def negative(means: Means) -> Means:
    """Return the same means with their signs turned."""
    return Means(-means.value, means.error, means.freedom)


def everything(side: Side) -> csc_array:
    """Return the group of all rows."""
    return csc_array(np.ones((len(side), 1)))


def mean_difference(sides: Sides, a: Floats, b: Floats) -> Means:
    """Difference of the means of `a` and `b` over all rows compared, as the only entry."""
    if sides.paired:
        return group_means(a - b, everything(sides.a), sides.a.unit, spare=0.0)
    return minus(
        group_means(a, everything(sides.a), sides.a.unit, spare=0.0),
        group_means(b, everything(sides.b), sides.b.unit, spare=0.0),
    )


@dataclass(frozen=True)
class Drawn:
    """A number with its interval and p-value from draws of rows; None where it is undefined."""

    value: float | None
    interval: tuple[float, float] | None
    p_value: float | None


def smece_difference(sides: Sides, a: Measure, b: Measure, seed: int, draws: int = DRAWS) -> Drawn:
    """Difference of the smECE of both runs, its interval recovered from theirs (Zou and Donner, 2008).

    smECE is larger on average than the error it estimates, the more so the nearer a run is to being calibrated, so
    draws of the difference alone would be centred wrongly. The intervals of both runs allow for that; draws of rows
    only say how far the two smECE vary together.

    Parameters
    ----------
    sides : Sides
    a, b : Measure
        smECE of both runs, with intervals.
    seed : int
    draws : int, default 1000

    Returns
    -------
    Drawn
        Its p-value is that of a normal law with the interval's side towards 0.
    """
    value = a.value - b.value
    if sides.same_answers:
        return Drawn(0.0, (0.0, 0.0), 1.0)
    if a.interval is None or b.interval is None:
        return Drawn(value, None, None)
    found = np.array([(_smece(sides.a, w), _smece(sides.b, v)) for w, v in _draws(sides, seed, draws)])
    spread = found.std(0)
    together = float(np.corrcoef(found.T)[0, 1]) if sides.paired and spread.min() > 0 else 0.0
    if min(a.interval[0], b.interval[0]) <= 0:
        # what noise adds to a run that may be calibrated does not vary with the other run
        together = min(0.0, together)
    low = value - _recovered(a.value - a.interval[0], b.interval[1] - b.value, together)
    high = value + _recovered(a.interval[1] - a.value, b.value - b.interval[0], together)
    towards = value - low if value > 0 else high - value
    p_value = 2 * ndtr(-NORMAL * abs(value) / towards) if towards > 0 else float(value == 0)
    return Drawn(value, (low, high), float(p_value))


def _recovered(one: float, two: float, together: float) -> float:
    """Length of one side of the interval of a difference, from one side of each of two intervals."""
    return float(np.sqrt(max(one**2 + two**2 - 2 * together * one * two, 0.0)))


def _smece(side: Side, weight: Floats) -> float:
    drawn = weight > 0
    return smece_of_residuals(side.confidence[drawn], (weight * side.residual)[drawn] / weight.sum())


def correlation(a: Floats, b: Floats, sides: Sides, seed: int, draws: int = DRAWS) -> Drawn:
    """Pearson correlation of two values of the shared rows, with the central 95 % of draws of rows."""
    value = _weighted_correlation(a, b, np.ones(len(a)))
    if value is None:
        return Drawn(None, None, None)
    found = [_weighted_correlation(a, b, w) for w, _ in _draws(sides, seed, draws)]
    known = np.array([one for one in found if one is not None])
    low, high = np.quantile(known, [1 - TAIL, TAIL]).tolist()
    return Drawn(value, (min(low, value), max(high, value)), None)


def _weighted_correlation(a: Floats, b: Floats, weight: Floats) -> float | None:
    share = weight / weight.sum()
    a, b = a - share @ a, b - share @ b
    scale = np.sqrt((share @ a**2) * (share @ b**2))
    return float(np.clip(share @ (a * b) / scale, -1.0, 1.0)) if scale > 1e-12 else None


def _draws(sides: Sides, seed: int, draws: int) -> Any:
    """Weights of the rows of both sides in draws of units with replacement; the same for both where they are paired."""
    first, second = np.random.default_rng((seed, _ROWS)), np.random.default_rng((seed, _OTHER))
    for _ in range(draws):
        weight = _weights(sides.a.unit, first)
        yield weight, weight if sides.paired else _weights(sides.b.unit, second)


def _weights(unit: np.ndarray, rng: np.random.Generator) -> Floats:
    count = int(unit.max()) + 1
    return np.bincount(rng.integers(count, size=count), minlength=count)[unit].astype(np.float64)


def cohens_kappa(counts: np.ndarray) -> float | None:
    """Agreement beyond chance (Cohen, 1960); None where chance alone explains everything.

    Examples
    --------
    >>> cohens_kappa(np.array([[5, 0], [0, 5]]))
    1.0
    """
    share = counts / counts.sum()
    chance = float(share.sum(0) @ share.sum(1))
    return (float(np.trace(share)) - chance) / (1 - chance) if chance < 1 - 1e-12 else None
