"""What a limit of the certificate returns, and what both limits invert: how rare a sum of outcomes is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from miscal.evidence.conditional import ranked
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings
from miscal.evidence.sums import bernoulli_sums, bernoulli_tail, has_steps, near_normal

Floats = NDArray[np.float64]
Tail = Callable[[Floats], float]


@dataclass(frozen=True)
class Bound:
    """A lower bound of a mean absolute miscalibration.

    Attributes
    ----------
    value : float in [-1, 1]
        Its estimate; may be negative where there is nothing to find.
    low : float in [0, 1]
        One-sided lower confidence limit: the number to quote. 0 where nothing is shown.
    p_value : float in [0, 1]
        One-sided, of the hypothesis named in :func:`miscal.evidence.certificates.certificate`.
    """

    value: float
    low: float
    p_value: float


NOTHING_CLAIMED = Bound(0.0, 0.0, 1.0)
"""The bound where the field claims nothing: there is nothing to test."""


_FARTHEST_SCORE = 8.0
"""Standard score of p-values near 0 or 1 in the search for a limit."""


def largest_rejected(
    p_value: Callable[[float], float], alpha: float, halvings: int, *, low: float = 0.0, high: float = 1.0
) -> float:
    """Find the size at which a test stops to reject, by false position on the scores of p-values (Illinois).

    Scores are nearly straight in the size, so that a few tests are enough; a bisection needs one for each halving.

    Takes p_value: of a size, rising with it; alpha: a size is rejected if its p-value is at most this, as that of `low`
    is taken to be; halvings: the answer is within (high - low) / 2 ** halvings. Returns float: The largest size found
    that is rejected, or `low`.

    Examples
    --------
    >>> round(largest_rejected(lambda size: size / 6, 0.05, 20), 5)
    0.3
    """
    least, reach = (high - low) / 2**halvings, float(ndtri(alpha))

    def score(size: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.clip(ndtri(p_value(size)), -_FARTHEST_SCORE, _FARTHEST_SCORE)) - reach

    below, beyond = score(low), score(high)
    if beyond <= 0:
        return high
    moved, slow = 0, False
    while (width := high - low) > least:
        # an end that stays counts half of its score, and after a step that gained little comes a halving
        share = 0.5 if slow else below / (below - beyond)
        size = min(max(low + share * width, low + least / 2), high - least / 2)
        now = score(size)
        if now <= 0:
            low, below, beyond = size, now, beyond / 2 if moved < 0 else beyond
        else:
            high, beyond, below = size, now, below / 2 if moved > 0 else below
        moved, slow = -1 if now <= 0 else 1, high - low > width / 2 and not slow
    return low


def tail_of(
    correct: Floats,
    weight: Floats,
    centre: Floats,
    rng: np.random.Generator,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    *,
    drawn: bool,
    tie: float = 1.0,
    missing: float = 0.0,
) -> Tail:
    """P(sum weight * (y - centre) >= observed) as a function of the probabilities of y.

    Takes correct (n,): y as observed; weight (n,): fixed before the outcomes; centre (n,): probabilities under the
    hypothesis; drawn: whether every row is drawn; tie: how much a draw that equals the observed sum counts as larger;
    missing: variance of the sum beyond that of independent outcomes of these probabilities: it is added, as a normal
    variable. Returns callable: From probabilities of shape (n,) to a number in [0, 1].

    Examples
    --------
    >>> y, half, one = np.r_[np.ones(60), np.zeros(40)], np.full(100, 0.5), np.ones(100)
    >>> tail = tail_of(y, one, half, np.random.default_rng(0), EVIDENCE_DEFAULTS, drawn=True)
    >>> bool(tail(half) < 0.05), bool(tail(np.full(100, 0.6)) > 0.4)
    (True, True)
    """
    observed, n_draws = float(weight @ (correct - centre)), settings.n_draws
    # sums equal to the observed one must count as such, whatever the order of the additions
    rounding = 1e-9 * float(np.abs(weight).sum())
    if drawn:
        # every row is drawn, once for all probabilities; float32: up to 40 MB instead of 80
        uniform = rng.random((n_draws, len(weight)), dtype=np.float32)
        more = np.sqrt(missing) * rng.standard_normal(n_draws)

        def drawn_tail(p: Floats) -> float:
            sums = (uniform < p.astype(np.float32)) @ weight - weight @ centre + more
            return ranked(sums, observed, rounding, tie)

        return drawn_tail
    # one seed for every shift: common random numbers, as far as draws of rare outcomes can share them
    seed, stated = int(rng.integers(1 << 62)), weight**2 * centre * (1 - centre)
    steps = has_steps(weight, centre, missing, settings)

    def tail(p: Floats) -> float:
        variance = weight**2 * p * (1 - p)
        # rows whose sum is near to normal need not be drawn; E|y - p|^3 = p (1 - p) (p^2 + (1 - p)^2)
        normal = near_normal(variance, np.abs(weight) * variance * (p**2 + (1 - p) ** 2), settings)
        spread = float(np.sqrt(max(variance[normal].sum(), stated[normal].sum()) + missing))
        above = observed - float(weight @ (p - centre))
        if normal.all() and spread > 0:
            return float(ndtr((rounding - above) / spread))
        if not steps:
            more = spread**2 - variance[normal].sum()
            return bernoulli_tail(weight, p, above, max(0.0, float(more)))
        again = np.random.default_rng(seed)
        sums = bernoulli_sums(weight[~normal], p[~normal], n_draws, again, settings)
        return ranked(sums + spread * again.standard_normal(n_draws), above, rounding, tie)

    return tail
