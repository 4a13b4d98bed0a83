"""How rare a sum of outcomes is, as a function of their probabilities: what the limits invert."""

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
    seen = _Seen(
        weight=weight,
        centre=centre,
        observed=float(weight @ (correct - centre)),
        rounding=1e-9 * float(np.abs(weight).sum()),
        tie=tie,
        missing=missing,
    )
    return (_drawn_tail if drawn else _tail)(seen, rng, settings)


@dataclass(frozen=True, eq=False)
class _Seen:
    """A sum, as observed, and what its law must allow for."""

    weight: Floats
    centre: Floats
    observed: float
    # sums equal to the observed one must count as such, whatever the order of the additions
    rounding: float
    tie: float
    # variance of the outcomes beyond what `centre` gives them
    missing: float


def _drawn_tail(seen: _Seen, rng: np.random.Generator, settings: EvidenceSettings) -> Tail:
    """Every row is drawn, once for all probabilities."""
    weight, n_draws = seen.weight, settings.n_draws
    uniform = rng.random((n_draws, len(weight)), dtype=np.float32)  # float32: up to 40 MB instead of 80
    more = np.sqrt(seen.missing) * rng.standard_normal(n_draws)

    def tail(p: Floats) -> float:
        sums = (uniform < p.astype(np.float32)) @ weight - weight @ seen.centre + more
        return ranked(sums, seen.observed, seen.rounding, seen.tie)

    return tail


def _tail(seen: _Seen, rng: np.random.Generator, settings: EvidenceSettings) -> Tail:
    """Rows whose sum is near to normal are taken as normal, and need not be drawn."""
    weight, centre, n_draws = seen.weight, seen.centre, settings.n_draws
    # one seed for every shift: common random numbers, as far as draws of rare outcomes can share them
    seed = int(rng.integers(1 << 62))
    stated = weight**2 * centre * (1 - centre)

    def tail(p: Floats) -> float:
        variance = weight**2 * p * (1 - p)
        # E|y - p|^3 = p (1 - p) (p^2 + (1 - p)^2)
        normal = near_normal(variance, np.abs(weight) * variance * (p**2 + (1 - p) ** 2), settings)
        spread = float(np.sqrt(max(variance[normal].sum(), stated[normal].sum()) + seen.missing))
        above = seen.observed - float(weight @ (p - centre))
        if normal.all() and spread > 0:
            return float(ndtr((seen.rounding - above) / spread))
        again = np.random.default_rng(seed)
        drawn = bernoulli_sums(weight[~normal], p[~normal], n_draws, again, settings)
        sums = drawn + spread * again.standard_normal(n_draws)
        return ranked(sums, above, seen.rounding, seen.tie)

    return tail
