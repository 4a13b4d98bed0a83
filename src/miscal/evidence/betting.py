"""Bet against a hypothesis with a capital that may be looked at at any time.

Capital starts at 1 and is multiplied by a factor for each row, of expectation at most 1 where the hypothesis holds,
given the past. So it is a supermartingale, and the probability that it ever reaches 1 / alpha is at most alpha (Ville,
1939), however often it is looked at (Shafer, 2021; Ramdas, Grünwald, Vovk and Shafer, 2023).

The hypothesis is that the log-odds of an outcome lie within a tolerance of those of its confidence. A bet names other
log-odds, and its factor is the likelihood ratio of what it names and of the nearest log-odds that the hypothesis
allows. It is the largest in expectation at that bound (the ratio is monotone in the outcome), where it is 1.

Several bets share the capital, and half of it is invested little by little, so that a change that comes late finds
capital that has not been lost to the calm before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, logit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RAREST = 1e-4
"""Confidences nearer than this to 0 or 1 are taken as this near: one outcome may not win or lose everything."""

INVESTED = 0.5
"""Share of the capital that is bet from the start; the rest is kept for changes that come later. Not tuned."""

HORIZON = 1_000.0
"""Steps after which half of the reserve has been invested (a change that comes early against one that comes late).
Not tuned."""

STAKES = (0.125, 0.25, 0.5, 0.9)
"""Shares of the capital that bets on a mean put at risk in a row. Not tuned."""

INTERVAL_AT = 6.0
"""Variance at which intervals over time are about the narrowest: some 200 outcomes of variance below 1/4. Not tuned."""


def clipped_logit(confidence: Floats) -> Floats:
    """Log-odds of confidences, those of 0 and 1 kept finite.

    Parameters
    ----------
    confidence : (n,) float64 in [0, 1]

    Returns
    -------
    (n,) float64 in [-9.21, 9.21]

    Examples
    --------
    >>> clipped_logit(np.array([0.5, 1.0])).round(2).tolist()
    [0.0, 9.21]
    """
    return logit(np.clip(confidence, RAREST, 1 - RAREST))


def shift_log_factors(correct: Floats, confidence: Floats, shifts: Floats, tolerance: float = 0.0) -> Floats:
    """Logarithms of the factors of bets that the log-odds of the outcomes are shifted from those of the confidences.

    Parameters
    ----------
    correct : (n,) float64, 0 or 1
    confidence : (n,) float64 in [0, 1]
    shifts : (n, k) or (k,) float64
        What each of k bets adds to the log-odds; positive: right more often than stated. Fixed before the outcome.
    tolerance : float >= 0, default 0
        Shifts up to this size belong to the hypothesis. A bet on no more than it has the factor 1.

    Returns
    -------
    (n, k) float64
        Their exponentials have expectations of at most 1 wherever the log-odds lie within the tolerance.

    Examples
    --------
    >>> p, rates = np.array([0.6, 0.6]), np.array([0.6, 0.4])
    >>> float(rates @ np.exp(shift_log_factors(np.array([1.0, 0.0]), p, np.array([1.0])))[:, 0])
    1.0
    """
    score = clipped_logit(confidence)[:, None]
    shifts = np.broadcast_to(np.asarray(shifts, dtype=np.float64), (len(score), np.shape(shifts)[-1]))
    allowed = np.clip(shifts, -tolerance, tolerance)
    # at a confidence of 1 no outcome is likelier than stated: the bound of the logit must not be bet against
    open_side = np.where(shifts > 0, confidence[:, None] < 1 - RAREST, confidence[:, None] > RAREST)
    sign = np.where(correct == 1, 1.0, -1.0)[:, None]
    ratio = log_expit(sign * (score + shifts)) - log_expit(sign * (score + allowed))
    return np.where(open_side & (np.abs(shifts) > tolerance), ratio, 0.0)


def rate_log_factors(hit: NDArray[np.bool_], rate: float, odds: Floats) -> Floats:
    """Logarithms of the factors of bets that something happens more often than at a rate.

    Parameters
    ----------
    hit : (n,) bool
        Whether it happened.
    rate : float in (0, 1)
        The largest rate that the hypothesis allows.
    odds : (k,) float64 > 1
        What each bet multiplies the odds by.

    Returns
    -------
    (n, k) float64
        Their exponentials have an expectation of at most 1 at any rate up to `rate`.

    Examples
    --------
    >>> np.exp(rate_log_factors(np.array([True, False]), 0.2, np.array([4.0]))).round(3).tolist()
    [[2.5], [0.625]]
    """
    bet = odds * rate / (1 - rate + odds * rate)
    return np.where(hit[:, None], np.log(bet / rate), np.log((1 - bet) / (1 - rate)))


def of_units(log_factors: Floats, unit: Ints) -> Floats:
    """Join the factors of rows that depend on each other to one factor: their mean.

    The mean of factors has an expectation of at most 1 however the rows depend on each other; their product has not.

    Parameters
    ----------
    log_factors : (n, k) float64
    unit : (n,) int64
        0 .. m - 1, each of which occurs.

    Examples
    --------
    >>> np.exp(of_units(np.log(np.array([[2.0], [1.0], [0.5]])), np.array([0, 1, 0]))).tolist()
    [[1.25], [1.0]]
    """
    order = np.argsort(unit, kind="stable")
    starts = np.searchsorted(unit[order], np.arange(unit.max() + 1)) if len(unit) else np.zeros(0, dtype=np.int64)
    if len(starts) == len(unit):
        return log_factors[order]
    sums = np.logaddexp.reduceat(log_factors[order], starts, axis=0)
    return sums - np.log(np.bincount(unit))[:, None]


@dataclass(frozen=True, eq=False)
class Capital:
    """The capital of bets on one question; logarithms throughout.

    Attributes
    ----------
    log_active : (k,) float64
        What each bet holds.
    steps : float >= 0
        Steps so far: rows, or groups of rows that count as one.
    log_peak : float >= 0
        The most that it ever was.
    """

    log_active: Floats
    steps: float = 0.0
    log_peak: float = 0.0

    @staticmethod
    def begin(bets: int) -> Capital:
        """Divide a capital of 1 among so many bets and the reserve.

        Examples
        --------
        >>> abs(Capital.begin(3).log_value) < 1e-12
        True
        """
        return Capital(np.full(bets, np.log(INVESTED / bets)))

    @property
    def log_value(self) -> float:
        """Logarithm of the whole capital, the reserve included."""
        return float(np.logaddexp.reduce(np.r_[self.log_active, _log_reserve(self.steps)]))

    def after(self, log_factors: Floats, steps: Floats | None = None) -> tuple[Capital, Floats]:
        """Bet on what came next.

        Parameters
        ----------
        log_factors : (m, k) float64
            Logarithms of the factors, in turn.
        steps : (m,) float64 > 0, optional
            How many steps each is; one by default.

        Returns
        -------
        Capital
        (m,) float64
            Logarithm of the capital after each.

        Examples
        --------
        >>> capital, course = Capital.begin(1).after(np.log(np.array([[2.0], [2.0]])))
        >>> bool(2.4 < np.exp(course[-1]) < 2.6), capital.steps
        (True, 2.0)
        """
        if len(log_factors) == 0:
            return self, np.zeros(0)
        ends = self.steps + np.cumsum(np.ones(len(log_factors)) if steps is None else steps)
        starts = np.r_[self.steps, ends[:-1]]
        bets = len(self.log_active)
        # what leaves the reserve at each step, divided among the bets, before the factor of the step
        added = np.log((1 - INVESTED) * HORIZON / bets) + np.log(ends - starts)
        added -= np.log(HORIZON + starts) + np.log(HORIZON + ends)
        won = np.cumsum(log_factors, axis=0)
        before = np.vstack([np.zeros(bets), won[:-1]])
        terms = np.vstack([self.log_active, added[:, None] - before])
        held = won + np.logaddexp.accumulate(terms, axis=0)[1:]
        course = np.logaddexp.reduce(np.column_stack([held, _log_reserve(ends)]), axis=1)
        peak = max(self.log_peak, float(course.max()))
        return Capital(held[-1], float(ends[-1]), peak), course


def _log_reserve(steps: float | Floats) -> Floats:
    return np.log((1 - INVESTED) * HORIZON) - np.log(HORIZON + np.asarray(steps))


def mean_log_factors(excess: Floats, bound: float) -> Floats:
    """Logarithms of the factors of bets that the mean of bounded values is above 0.

    The factor of a stake s is 1 + s x / bound. Its expectation is at most 1 wherever that of x is at most 0, whatever
    the distribution of x is (Waudby-Smith and Ramdas, 2024).

    Parameters
    ----------
    excess : (n,) float64, at least -bound
        Values less what the hypothesis allows for their mean.
    bound : float > 0

    Returns
    -------
    (n, 4) float64
        One column for each stake.

    Examples
    --------
    >>> np.exp(mean_log_factors(np.array([1.0, -1.0]), 1.0)).round(3).tolist()
    [[1.125, 1.25, 1.5, 1.9], [0.875, 0.75, 0.5, 0.1]]
    """
    return np.log1p(np.array(STAKES) * np.maximum(excess[:, None] / bound, -1.0))


@dataclass(frozen=True, eq=False)
class Restarts:
    """The capital of bets that begin anew at every look; logarithms throughout.

    Before look t, of a capital of 1 the share 1 / log2(t + 1) - 1 / log2(t + 2) leaves the reserve and is bet from that
    look on. These shares sum to 1 over all looks, so that the whole is a supermartingale for ever, and a change at look
    t costs about a factor of t (a mixture over start times: Shin, Ramdas and Rinaldo, 2024, e-detectors).

    Attributes
    ----------
    log_active : (..., k) float64
        What each bet holds, of one or several capitals; minus infinity before the first look.
    looks : int >= 0
    """

    log_active: Floats
    looks: int = 0

    @staticmethod
    def begin(bets: int) -> Restarts:
        """Keep a capital of 1 in reserve for so many bets.

        Examples
        --------
        >>> float(Restarts.begin(3).log_value)
        0.0
        """
        return Restarts(np.full(bets, -np.inf))

    @property
    def log_value(self) -> Floats:
        """Logarithm of each whole capital, the reserve included."""
        return np.logaddexp(np.logaddexp.reduce(self.log_active, axis=-1), np.log(_waiting(self.looks)))

    def after(self, log_factors: Floats) -> Restarts:
        """Bet on a look.

        Parameters
        ----------
        log_factors : (..., k) float64
            Logarithms of the factors of the whole look.

        Returns
        -------
        Restarts

        Examples
        --------
        >>> round(float(np.exp(Restarts.begin(1).after(np.log([2.0])).log_value)), 3)
        1.369
        """
        added = np.log((_waiting(self.looks) - _waiting(self.looks + 1)) / self.log_active.shape[-1])
        return Restarts(np.logaddexp(self.log_active, added) + log_factors, self.looks + 1)


_TILTS = tuple(sign * k / 8 for sign in (-1, 1) for k in range(1, 9))
"""Between these, the bound changes by less than 2 parts in 10,000."""


def variance_proxy(confidence: Floats) -> Floats:
    """Bound of the variance of an outcome, with which shifts of its log-odds up to 1 are bet on as if it were normal.

    It is the least w with log E exp(t (y - p)) <= t^2 w / 2 at every t from -1 to 1, up to a thousandth: the largest on
    a grid, enlarged by more than any t between its points needs, and never above 1/4, which is enough for all t
    (Hoeffding, 1963).

    Parameters
    ----------
    confidence : (n,) float64 in [0, 1]

    Returns
    -------
    (n,) float64
        At least p (1 - p), and at most 1/4.

    Examples
    --------
    >>> variance_proxy(np.array([0.5, 0.9])).round(3).tolist()
    [0.25, 0.117]
    """
    least = confidence * (1 - confidence)
    for t in _TILTS:
        least = np.maximum(least, 2 * (np.log1p(confidence * np.expm1(t)) - t * confidence) / t**2)
    return np.minimum(1.001 * least, 0.25)


def log_evidence(moment: Floats, information: Floats, mean: Floats | float, precision: Floats | float) -> Floats:
    """Logarithm of the likelihood of sums, averaged over what the shift may be; relative to that of no shift.

    The likelihood of a shift d is exp(d moment - d^2 information / 2), and d is normal.

    Parameters
    ----------
    moment, information : float64
        Sum of what is shifted, and its variance.
    mean, precision : float64
        Of the shift.

    Returns
    -------
    float64

    Examples
    --------
    >>> round(float(log_evidence(np.float64(10.0), np.float64(25.0), 0.4, 1e9)), 3)  # the shift is known to be 0.4
    2.0
    """
    whole = precision + information
    # (precision mean + moment)^2 / whole - precision mean^2, without the difference of two large numbers
    square = (moment**2 + 2 * precision * mean * moment - precision * mean**2 * information) / whole
    return (square - np.log1p(information / precision)) / 2


def _waiting(looks: int) -> float:
    return float(1 / np.log2(looks + 2))


def log_of_several(log_values: Floats) -> float:
    """Logarithm of a capital that is bet on several streams at once, of which no row belongs to two.

    Of each stream, half is kept and half is bet; the product over the streams is the mean over all sets of streams of
    the product of their capitals, so that it grows when many streams grow a little.

    Parameters
    ----------
    log_values : (m,) float64
        Logarithms of the capitals. Each must be a supermartingale given all earlier rows of all streams.

    Returns
    -------
    float

    Examples
    --------
    >>> round(float(np.exp(log_of_several(np.log([3.0, 3.0, 3.0])))), 3)
    8.0
    """
    return float(np.sum(np.logaddexp(log_values, 0.0) - np.log(2)))


def running_interval(total: float, n: float, level: float = 0.95) -> tuple[float, float] | None:
    """Interval of a mean that holds at all times together.

    For values that, given the past, lie in an interval of width 1: then the sum less its conditional means is
    sub-Gaussian with variance n / 4, and the mixture bound of Robbins (1970) holds for all n at once (Howard, Ramdas,
    McAuliffe and Sekhon, 2021). It covers the average of the conditional means so far, which may change over time.

    Parameters
    ----------
    total : float
        Sum of the values.
    n : float >= 0
        How many there were.
    level : float in (0, 1), default 0.95
        Probability that it covers at every n.

    Returns
    -------
    (float, float) or None
        None where there are no values.

    Examples
    --------
    >>> low, high = running_interval(20.0, 100)
    >>> round(low, 3), round(high, 3)
    (0.046, 0.354)
    """
    if n == 0:
        return None
    variance = n / 4 + INTERVAL_AT
    radius = np.sqrt(variance * (np.log(variance / INTERVAL_AT) - 2 * np.log(1 - level))) / n
    return float(total / n - radius), float(total / n + radius)
