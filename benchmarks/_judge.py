"""The statistic that the ledger is judged by, written apart from it: outcome by group, given confidence.

e = y - E[y | f], with E[y | f] learned from other folds; e and the group's indicator are centred within strata of
neighbouring confidence, and the variance of their product is that of permutations within strata: a test of Mantel and
Haenszel (1959) on residuals. Given other groups, both are projected on what those leave. Small p-values are recomputed
exactly, by convolving hypergeometric laws over strata of 8, because a saturated confidence has no normal law.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr
from scipy.stats import hypergeom

from miscal.base.folds import assign_folds
from miscal.evidence.conditional import outcome_given_confidence

FOLDS, FEW_ROWS, WIDE, NARROW, EXACT, EXACT_BELOW = 5, 3_000, 32, 8, 8, 1e-3


class Judge:
    """Tests of groups of the same rows.

    Parameters
    ----------
    correct, confidence : arrays of shape (n,)
    seed : int, default 0
        Of the folds of E[y | f], and of the order of rows of equal confidence.
    """

    def __init__(self, correct: np.ndarray, confidence: np.ndarray, seed: int = 0) -> None:
        rng = np.random.default_rng((seed, 90))
        self.correct, self.n = correct, len(correct)
        folds = assign_folds(np.arange(self.n), FOLDS, rng)
        expected = np.empty(self.n)
        for k in range(FOLDS):
            out = folds == k
            expected[out] = outcome_given_confidence(correct[~out], confidence[~out], confidence[out])
        self.order = np.lexsort((rng.random(self.n), confidence))
        self.stratum = self._cut(NARROW if self.n < FEW_ROWS else WIDE)
        self.left = self._centre(correct - expected)
        size = np.bincount(self.stratum)
        self.weight = (np.bincount(self.stratum, self.left**2) / np.maximum(size - 1, 1))[self.stratum]
        self.expected = expected

    def _cut(self, width: int) -> np.ndarray:
        stratum = np.empty(self.n, np.int64)
        stratum[self.order] = np.minimum(np.arange(self.n) // width, max(0, self.n // width - 1))
        return stratum

    def _centre(self, values: np.ndarray) -> np.ndarray:
        size = np.bincount(self.stratum)
        return values - (np.bincount(self.stratum, values) / size)[self.stratum]

    def total(self, group: np.ndarray, given: Sequence[np.ndarray] = ()) -> tuple[float, float]:
        """Sum over the group of what is left of the outcome, and its variance, given other groups."""
        centred = np.stack([self._centre(one.astype(float)) for one in (group, *given)])
        totals, gram = centred @ self.left, (centred * self.weight) @ centred.T
        across, inner = gram[0, 1:], gram[1:, 1:]
        solved = np.linalg.lstsq(inner, across, rcond=1e-10)[0] if len(given) else np.empty(0)
        return float(totals[0] - solved @ totals[1:]), float(gram[0, 0] - solved @ across)

    def z(self, group: np.ndarray, given: Sequence[np.ndarray] = ()) -> float:
        """Standardised sum; negative where less often right than rows of equal confidence, 0 where nothing is left."""
        total, variance = self.total(group, given)
        return total / np.sqrt(variance) if variance > 1e-9 else 0.0

    def size(self, group: np.ndarray) -> float:
        """Outcome of the group less that of other rows of equal confidence, in [-1, 1]; 0 where nothing is left."""
        within = float(np.sum(self._centre(group.astype(float)) ** 2))
        return self.total(group)[0] / within if within > 1e-9 else 0.0

    def p_value(self, group: np.ndarray, given: Sequence[np.ndarray] = ()) -> float:
        """Two-sided; exact where it is small and nothing is given."""
        p = float(2 * ndtr(-abs(self.z(group, given))))
        return self._exact(group) if p < EXACT_BELOW and not given else p

    def _exact(self, group: np.ndarray) -> float:
        stratum = self._cut(EXACT)
        size, members = np.bincount(stratum), np.bincount(stratum, group)
        right, both = np.bincount(stratum, self.correct), np.bincount(stratum, self.correct * group)
        law = np.ones(1)
        for m, k, g in zip(size, right, members, strict=True):
            law = np.convolve(law, hypergeom.pmf(np.arange(int(g) + 1), int(m), int(k), int(g)))
        seen = round(both.sum())
        return float(min(1.0, 2 * min(law[: seen + 1].sum(), law[seen:].sum())))


def holm(p_values: np.ndarray, level: float = 0.05) -> np.ndarray:
    """Which hypotheses Holm (1979) rejects, bool (m,)."""
    order = np.argsort(p_values)
    passed = p_values[order] <= level / np.arange(len(order), 0, -1)
    rejected = np.zeros(len(order), bool)
    rejected[order[: len(order) if passed.all() else int(np.argmin(passed))]] = True
    return rejected
