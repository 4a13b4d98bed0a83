"""What a limit of the certificate returns, and what both limits invert: how rare a sum of outcomes is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from miscal.evidence.conditional import ranked
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings
from miscal.evidence.sums import bernoulli_sums, near_normal

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


def largest_rejected(rejects: Callable[[float], bool], halvings: int, *, low: float = 0.0, high: float = 1.0) -> float:
    """Bisect for the size at which a test stops to reject.

    Takes rejects: whether a size is rejected; halvings: steps: the answer is within (high - low) / 2 ** halvings.
    Returns float: The largest size found that is rejected, or `low`.

    Examples
    --------
    >>> round(largest_rejected(lambda size: size < 0.3, 20), 5)
    0.3
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (middle, high) if rejects(middle) else (low, middle)
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
    seed = int(rng.integers(1 << 62))
    stated = weight**2 * centre * (1 - centre)

    def tail(p: Floats) -> float:
        variance = weight**2 * p * (1 - p)
        # rows whose sum is near to normal need not be drawn; E|y - p|^3 = p (1 - p) (p^2 + (1 - p)^2)
        normal = near_normal(variance, np.abs(weight) * variance * (p**2 + (1 - p) ** 2), settings)
        spread = float(np.sqrt(max(variance[normal].sum(), stated[normal].sum()) + missing))
        above = observed - float(weight @ (p - centre))
        if normal.all() and spread > 0:
            return float(ndtr((rounding - above) / spread))
        again = np.random.default_rng(seed)
        sums = bernoulli_sums(weight[~normal], p[~normal], n_draws, again, settings)
        return ranked(sums + spread * again.standard_normal(n_draws), above, rounding, tie)

    return tail
