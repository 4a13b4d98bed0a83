"""The limit of the total miscalibration, from how often outcomes agree with the sign of the field.

How far must the stated probabilities be wrong, on average, to explain that outcomes agree with s so often? The answer
is exact for every n, the worst case included, because the number of agreements is a sum of independent Bernoulli
variables whose probabilities are known under the hypothesis.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miscal.evidence.limits.protocol import NOTHING_CLAIMED, Bound, UnseenRows
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

Floats = NDArray[np.float64]


def agreement_bound(rows: UnseenRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
    """Bound E|delta| by the agreement of the outcomes with the sign of the field (see `Limit`); `rng` is not used.

    ``value`` is the test mean of r s, s the sign of the field; ``p_value`` is of H0: y ~ Bernoulli(f).
    """
    sign = np.sign(rows.delta)
    claimed = sign != 0
    if not claimed.any():
        return NOTHING_CLAIMED
    up, y, f = sign[claimed] > 0, rows.correct[claimed], rows.confidence[claimed]
    agreed = int(np.sum(np.where(up, y, 1 - y)))
    stated = np.where(up, f, 1 - f)
    return Bound(
        value=float((agreed - stated.sum()) / len(sign)),
        low=agreement_limit(stated, agreed, settings=settings) * float(claimed.mean()),
        p_value=count_p_value(stated, agreed, settings=settings),
    )


def count_p_value(probability: Floats, count: int, *, settings: EvidenceSettings = EVIDENCE_DEFAULTS) -> float:
    """P(W >= count) for W a sum of independent Bernoulli variables (the Poisson-binomial law).

    By Fourier inversion over a window of at least 8 standard deviations and 32 counts on both sides of the mean, so
    correct to about 1e-14.

    Parameters
    ----------
    probability : (n,) float64 in [0, 1]
    count : int
    settings : EvidenceSettings, optional
        Of which the accuracy of the inversion is used.

    Returns
    -------
    float in [0, 1]

    Examples
    --------
    >>> round(count_p_value(np.full(10, 0.5), 8), 6)  # 56 / 1024
    0.054687
    """
    mean, variance = float(probability.sum()), float(np.sum(probability * (1 - probability)))
    width = settings.count_deviations * np.sqrt(variance) + settings.count_margin
    low, high = max(0, int(mean - width)), min(len(probability), int(np.ceil(mean + width)))
    if count <= low:
        return 1.0
    if count > high:
        return 0.0
    size = (high - low + 1) | 1  # odd, so that no frequency is pi, where a factor may vanish
    frequency = 2 * np.pi * np.arange(size // 2 + 1) / size
    transform = np.zeros(len(frequency), dtype=np.complex128)
    # |transform| <= exp(-2 variance sin^2): most frequencies of a wide law add nothing and need not be computed
    felt = 2 * variance * np.sin(frequency / 2) ** 2 < settings.count_exponent
    for j in np.flatnonzero(felt):
        # log(1 - p + p e^-it) of each row, with all digits for small p; the last term moves the window to start at 0
        factors = np.log1p(probability * np.expm1(-1j * frequency[j]))
        transform[j] = np.exp(factors.sum() + 1j * frequency[j] * low)
    # P(W = low), P(W = low + 1), ...; what lies outside the window wraps round into it, and is below 1e-14
    mass = np.fft.irfft(transform, n=size)
    return float(np.clip(mass[count - low :].sum(), 0.0, 1.0))


def agreement_limit(probability: Floats, count: int, *, settings: EvidenceSettings = EVIDENCE_DEFAULTS) -> float:
    """Lower limit of the mean error of stated probabilities, from a count higher than they explain.

    If W = sum of B_i, B_i ~ Bernoulli(pi_i) independent, then the mean of |pi_i - probability_i| is at least this,
    at the confidence level of the settings. Among all pi of a given mean error the one with the smallest probabilities
    raised to a common height makes a high count most likely (it is majorised by all others: Gleser, Annals of
    Probability 1975, for counts at least 2 above the mean); the limit is the mean error at which even that has
    P(W >= count) = alpha = 1 - confidence level.

    Parameters
    ----------
    probability : (n,) float64 in [0, 1]
        P(B_i = 1) as stated.
    count : int
        Observed W.
    settings : EvidenceSettings, optional
        Of which the confidence level and the steps of the bisection are used.

    Returns
    -------
    float in [0, 1]
        0 if the count is not significantly high; above 0 if and only if ``count_p_value(...) < alpha``.

    Examples
    --------
    >>> round(agreement_limit(np.full(1000, 0.5), 600), 3)  # the lower Clopper-Pearson limit, less 0.5
    0.074
    >>> agreement_limit(np.full(1000, 0.5), 510)
    0.0
    """
    alpha = 1 - settings.confidence_level
    if count_p_value(probability, count, settings=settings) >= alpha:
        return 0.0
    low, high = float(probability.min()), 1.0
    for _ in range(settings.halvings):
        height = (low + high) / 2
        if count_p_value(np.maximum(probability, height), count, settings=settings) < alpha:
            low = height
        else:
            high = height
    return float(np.mean(np.maximum(probability, low) - probability))
