"""Lower confidence limits and exact tests for weighted counts of independent outcomes.

Two limits. :func:`agreement_limit` is for known probabilities: how far must they be wrong, on average, to explain
that outcomes agree with s so often? The answer is exact, the worst case included. :func:`shift_limit` is for
estimated probabilities and weights of any size, and inverts a simulated test, which above 5,000 rows is normal as far
as that is near enough.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from miscal.evidence.sums import bernoulli_sums, near_normal

Floats = NDArray[np.float64]

SIMULATED_ROWS = 5_000  # above this, rows are only drawn where their sum is not near to normal
_HALVINGS = 20
_HALVINGS_SIMULATED = 12


def count_p_value(probability: Floats, count: int) -> float:
    """P(W >= count) for W a sum of independent Bernoulli variables (the Poisson-binomial law).

    By Fourier inversion over a window of at least 8 standard deviations and 32 on both sides of the mean, so good to
    about 1e-14.

    Parameters
    ----------
    probability : (n,) float64 in [0, 1]
    count : int

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> round(count_p_value(np.full(10, 0.5), 8), 6)  # 56 / 1024
    0.054687
    """
    mean, variance = float(probability.sum()), float(np.sum(probability * (1 - probability)))
    width = 8 * np.sqrt(variance) + 32
    low, high = max(0, int(mean - width)), min(len(probability), int(np.ceil(mean + width)))
    if count <= low:
        return 1.0
    if count > high:
        return 0.0
    size = (high - low + 1) | 1  # odd, so that no frequency is pi, where a factor may vanish
    frequency = 2 * np.pi * np.arange(size // 2 + 1) / size
    transform = np.zeros(len(frequency), dtype=np.complex128)
    felt = 2 * variance * np.sin(frequency / 2) ** 2 < 42  # |transform| <= exp(-that)
    for j in np.flatnonzero(felt):
        factors = np.log1p(probability * np.expm1(-1j * frequency[j]))
        transform[j] = np.exp(factors.sum() + 1j * frequency[j] * low)
    mass = np.fft.irfft(transform, n=size)
    return float(np.clip(mass[count - low :].sum(), 0.0, 1.0))


def agreement_limit(probability: Floats, count: int, *, level: float = 0.95) -> float:
    """Lower limit of the mean error of stated probabilities, from a count that came out high.

    If W = sum of B_i, B_i ~ Bernoulli(pi_i) independent, then the mean of |pi_i - probability_i| is at least this,
    with confidence `level`. Among all pi of a given mean error the one with the smallest probabilities raised to a
    common height makes a high count most likely (it is majorised by all others: Gleser, Annals of Probability 1975,
    for counts at least 2 above the mean); the limit is the mean error at which even that has P(W >= count) = 1 - level.

    Parameters
    ----------
    probability : (n,) float64 in [0, 1]
        P(B_i = 1) as stated.
    count : int
        Observed W.
    level : float in (0, 1), default 0.95

    Returns
    -------
    float in [0, 1]
        0 if the count is not significantly high; above 0 if and only if ``count_p_value(...) < 1 - level``.

    Examples
    --------
    >>> round(agreement_limit(np.full(1000, 0.5), 600), 3)  # the lower Clopper-Pearson limit, less 0.5
    0.074
    >>> agreement_limit(np.full(1000, 0.5), 510)
    0.0
    """
    if count_p_value(probability, count) >= 1 - level:
        return 0.0
    low, high = float(probability.min()), 1.0
    for _ in range(_HALVINGS):
        height = (low + high) / 2
        if count_p_value(np.maximum(probability, height), count) < 1 - level:
            low = height
        else:
            high = height
    return float(np.mean(np.maximum(probability, low) - probability))


def shift_limit(
    weight: Floats, centre: Floats, correct: Floats, *, level: float, n_draws: int, rng: np.random.Generator
) -> float:
    """Lower limit of the mean of weight * (p - centre), where y ~ Bernoulli(p).

    The smallest shift of the probabilities from `centre` in the direction of the weights under which a sum as large as
    the observed one is no longer rare, by simulation. Above 5,000 rows only those are drawn whose sum is not near
    enough to normal (:func:`~miscal.evidence.sums.near_normal`); the sum of the others is taken as normal, its variance
    that under the shift or that under `centre`, the larger (where p is spread around `centre`, that under `centre` is).

    Parameters
    ----------
    weight : (n,) float64
        Fixed before the outcomes.
    centre : (n,) float64 in [0, 1]
        Probabilities that the shifts are counted from.
    correct : (n,) float64, 0 or 1
    level : float in (0, 1)
    n_draws : int
    rng : numpy.random.Generator

    Returns
    -------
    float >= 0
        0 if the sum is not significantly large.

    Examples
    --------
    >>> y, sign, half = np.r_[np.ones(60), np.zeros(40)], np.ones(100), np.full(100, 0.5)
    >>> low = shift_limit(sign, half, y, level=0.95, n_draws=1999, rng=np.random.default_rng(0))
    >>> bool(0.0 < low < 0.04)
    True
    """
    observed = float(weight @ (correct - centre))
    direction = np.sign(weight)
    bar = observed - 1e-9 * float(np.abs(weight).sum())
    simulated = len(weight) <= SIMULATED_ROWS
    tail = _simulated_tail(weight, centre, bar, n_draws, rng) if simulated else _tail(weight, centre, bar, n_draws, rng)

    def shifted(size: float) -> Floats:
        return np.clip(centre + size * direction, 0.0, 1.0)

    if tail(shifted(0.0)) > 1 - level:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS_SIMULATED if simulated else _HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(shifted(middle)) <= 1 - level else (low, middle)
    return float(np.mean(weight * (shifted(low) - centre)))


def _simulated_tail(
    weight: Floats, centre: Floats, bar: float, n_draws: int, rng: np.random.Generator
) -> Callable[[Floats], float]:
    """P(sum weight * (y - centre) >= bar) as a function of the probabilities of y; every row is drawn, once for all."""
    uniform = rng.random((n_draws, len(weight)), dtype=np.float32)

    def tail(p: Floats) -> float:
        sums = (uniform < p.astype(np.float32)) @ weight - weight @ centre
        return (1 + int(np.sum(sums >= bar))) / (1 + n_draws)

    return tail


def _tail(
    weight: Floats, centre: Floats, bar: float, n_draws: int, rng: np.random.Generator
) -> Callable[[Floats], float]:
    """As `_simulated_tail`, but rows whose sum is near to normal are taken as normal, and need not be drawn."""
    seed = int(rng.integers(1 << 62))
    stated = weight**2 * centre * (1 - centre)

    def tail(p: Floats) -> float:
        variance = weight**2 * p * (1 - p)
        normal = near_normal(variance, np.abs(weight) * variance * (p**2 + (1 - p) ** 2))
        spread = float(np.sqrt(max(variance[normal].sum(), stated[normal].sum())))
        above = bar - float(weight @ (p - centre))
        if normal.all() and spread > 0:
            return float(ndtr(-above / spread))
        again = np.random.default_rng(seed)
        sums = bernoulli_sums(weight[~normal], p[~normal], n_draws, again) + spread * again.standard_normal(n_draws)
        return (1 + int(np.sum(sums >= above))) / (1 + n_draws)

    return tail
