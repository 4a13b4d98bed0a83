"""The scan: which named groups are right more or less often than rows of equal confidence, condensed by forward choice.

For a group g, with e = y - E[y | f] and strata of near-equal f,

    T_g = sum over g of (e - mean of e in the stratum)

has, under permutations within strata, mean 0 and covariances

    Cov(T_g, T_h) = sum over strata of S_s / (m_s - 1) * sum over the stratum of g~ h~,

where S_s is the sum of squares of centred e, m_s the number of rows, and g~ the centred indicator: a Mantel-Haenszel
test of outcome by group given confidence. Groups chosen before are projected out of both T and its variance, all
together, so that a later one is tested given those above it. The cut is Bonferroni's over all candidates at every step,
weighted: values of columns get most of the error, intervals, pairs and terms the rest (Holm, 1979, on weights).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import hypergeom

from miscal.evidence.conditional import centred
from miscal.findings.ledger.groups import VALUE, NamedGroups
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

_NO_VARIANCE = 1e-9


@dataclass(frozen=True)
class ChosenGroup:
    """A group that the scan chose.

    Attributes
    ----------
    group : int
        Its place among the candidates.
    z : float
        Standardised sum of centred residuals given the groups chosen before; negative where less often right.
    p_value : float
        Two-sided, given the groups chosen before it.
    p_adjusted : float
        Adjusted for all candidates: below 0.05 for every group chosen.
    aliases : tuple of int
        Other candidates of nearly the same rows.
    """

    group: int
    z: float
    p_value: float
    p_adjusted: float
    aliases: tuple[int, ...]


def cut_into_strata(confidence: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Cut rows into strata of `rows` rows of neighbouring confidence; equal ones are put in random order.

    Examples
    --------
    >>> cut_into_strata(np.array([0.9, 0.1, 0.2, 0.8]), 2, np.random.default_rng(0)).tolist()
    [1, 0, 0, 1]
    """
    order = np.lexsort((rng.random(len(confidence)), confidence))
    stratum = np.empty(len(confidence), np.int64)
    stratum[order] = np.minimum(np.arange(len(order)) // rows, max(0, len(order) // rows - 1))
    return stratum


def scan(
    correct: np.ndarray,
    expected: np.ndarray,
    confidence: np.ndarray,
    groups: NamedGroups,
    *,
    seed: int = 0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> list[ChosenGroup]:
    """Choose groups one after the other, as long as one is beyond the cut.

    Parameters
    ----------
    correct : array of shape (n,), 0 or 1
    expected : array of shape (n,), in [0, 1]
        E[y | f], learned from other rows.
    confidence : array of shape (n,), in [0, 1]
    groups : NamedGroups
        Fixed before any outcome was seen.
    seed : int, default 0
        Of the order of rows of equal confidence.
    settings : LedgerSettings, optional

    Returns
    -------
    list of ChosenGroup
        In the order of choice. With nothing hidden the list is empty in at least 95 % of tables.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = (rng.random(600) < np.where(kind == "law", 0.3, 0.7)).astype(float)
    >>> half = np.full(600, 0.5)
    >>> groups = named_groups({"kind": kind})
    >>> [groups.descriptions[one.group] for one in scan(y, half, half, groups)]
    ['kind = law']
    """
    if len(groups) == 0:
        return []
    return list(_Scan(correct, expected, confidence, groups, seed, settings).choose())


def error_shares(kinds: np.ndarray, settings: LedgerSettings = LEDGER_DEFAULTS) -> np.ndarray:
    """Share of the family-wise error that each candidate gets, (m,); they sum to 1.

    Examples
    --------
    >>> term = VALUE + 3
    >>> error_shares(np.array([VALUE, VALUE, term])).round(2).tolist()
    [0.4, 0.4, 0.2]
    >>> error_shares(np.array([term, term])).tolist()
    [0.5, 0.5]
    """
    values = kinds == VALUE
    if values.all() or not values.any():
        return np.full(len(kinds), 1 / len(kinds))
    share = settings.value_share
    return np.where(values, share / values.sum(), (1 - share) / (~values).sum())


class _Scan:
    def __init__(self, correct, expected, confidence, groups, seed, settings) -> None:
        self.correct, self.confidence, self.groups, self.settings = correct, confidence, groups, settings
        self.rng = np.random.default_rng((seed, 31))
        self.stratum = cut_into_strata(confidence, settings.stratum_width(len(correct)), self.rng)
        self.size = np.bincount(self.stratum)
        residual = correct - expected
        self.residual = centred(residual, self.stratum)
        squares = np.bincount(self.stratum, self.residual**2)
        self.weight = (squares / np.maximum(self.size - 1, 1))[self.stratum]
        self.total = groups.member.T @ self.residual
        self.variance = self._variances()
        self.counts = np.asarray(groups.member.sum(0)).ravel()
        self.usable = self.variance > _NO_VARIANCE
        self.chosen: list[int] = []
        self.covariance: list[np.ndarray] = []  # of each chosen group with all candidates

    def _variances(self) -> np.ndarray:
        """Compute sum_s w_s (n_gs - n_gs^2 / m_s): indicators are 0 or 1, so their sums of squares are counts."""
        member = self.groups.member
        by_stratum = np.unique(self.stratum, return_index=True)[1]
        per_stratum = self.weight[by_stratum]
        first = member.T @ self.weight
        second = np.empty(member.shape[1])
        for group in range(member.shape[1]):
            inside = member.indices[member.indptr[group] : member.indptr[group + 1]]
            counts = np.bincount(self.stratum[inside], minlength=len(self.size))
            second[group] = np.sum(per_stratum * counts**2 / self.size)
        return np.maximum(first - second, 0.0)

    def choose(self) -> Iterator[ChosenGroup]:
        share = error_shares(self.groups.kinds, self.settings)
        least = -ndtri(self.settings.significance * share / 2)
        while len(self.chosen) < self.settings.max_findings:
            z = self._given_chosen()
            beyond = np.abs(z) - least
            if beyond.max() < 0:
                return
            strongest = int(np.argmax(np.where(beyond >= 0, np.abs(z), 0.0)))
            best, aliases = self._named(strongest, z)
            p_value = self._p_value(best, float(z[best]))
            adjusted = min(1.0, float(p_value / share[best]))
            if adjusted > self.settings.significance:
                # the normal law was too sure of it: it is out, and the next strongest is tried
                self.usable[best] = False
                continue
            yield ChosenGroup(best, float(z[best]), p_value, adjusted, aliases)
            self._take(best)

    def _given_chosen(self) -> np.ndarray:
        """Z of every candidate given the groups chosen, 0 where too little of it is left."""
        total, variance = self.total, self.variance
        if self.chosen:
            across = np.stack(self.covariance)  # (k, m)
            inner = across[:, self.chosen]
            solved = np.linalg.lstsq(inner, across, rcond=1e-10)[0]
            total = total - solved.T @ self.total[self.chosen]
            variance = variance - np.einsum("km,km->m", across, solved)
        left = self.usable & (variance > np.maximum(self.settings.variance_left * self.variance, _NO_VARIANCE))
        return np.where(left, total / np.sqrt(np.where(left, variance, 1.0)), 0.0)

    def _named(self, strongest: int, z: np.ndarray) -> tuple[int, tuple[int, ...]]:
        """Return the best name for the strongest group, and other names of nearly the same rows."""
        rows = self.groups.rows(strongest)
        shared = self.groups.member.T @ rows.astype(np.float64)
        overlap = shared / (self.counts + rows.sum() - shared)
        alike = np.flatnonzero((overlap >= self.settings.alias_overlap) & (np.sign(z) == np.sign(z[strongest])))
        near = alike[np.abs(z[alike]) >= abs(z[strongest]) - self.settings.alias_distance]
        best = min(near.tolist(), key=lambda g: (self.groups.kinds[g], -abs(z[g])))
        others = sorted((g for g in alike.tolist() if g != best), key=lambda g: -abs(z[g]))
        return best, tuple(others[: self.settings.max_aliases])

    def _take(self, group: int) -> None:
        indicator = self.groups.rows(group).astype(np.float64)
        weighed = self.weight * centred(indicator, self.stratum)
        self.covariance.append(self.groups.member.T @ weighed)
        self.chosen.append(group)

    def _p_value(self, group: int, z: float) -> float:
        p_value = float(2 * ndtr(-abs(z)))
        large = self.variance[group] > self.settings.largest_exact_variance
        if p_value >= self.settings.exact_below or large:
            return p_value
        pattern = np.zeros(len(self.correct), np.int64)
        for place, other in enumerate(self.chosen[-60:]):
            pattern += self.groups.rows(other).astype(np.int64) << place
        return max(p_value, exact_p_value(self.correct, self.groups.rows(group), self._exact_strata(pattern)))

    def _exact_strata(self, pattern: np.ndarray) -> np.ndarray:
        """Strata of few rows of near-equal confidence and equal membership of the groups chosen before."""
        number = np.unique(pattern, return_inverse=True)[1]
        strata = np.empty(len(pattern), np.int64)
        start = 0
        for k in range(number.max() + 1):
            inside = number == k
            own = cut_into_strata(self.confidence[inside], self.settings.exact_stratum_rows, self.rng)
            strata[inside] = own + start
            start += own.max() + 1
        return strata


def exact_p_value(correct: np.ndarray, inside: np.ndarray, stratum: np.ndarray) -> float:
    """Exact test of outcome against group within strata, given the margins of each: twice the smaller tail.

    The number of right answers in the group is, in each stratum, hypergeometric; their sum's law is the convolution.

    Parameters
    ----------
    correct : array of shape (n,), 0 or 1
    inside : bool array of shape (n,)
    stratum : int array of shape (n,)

    Returns
    -------
    float
        In (0, 1]; 1 where no stratum holds both outcomes and both sides of the group.

    Examples
    --------
    >>> y, inside = np.array([1.0, 1, 0, 0]), np.array([True, True, False, False])
    >>> round(exact_p_value(y, inside, np.zeros(4, int)), 3)
    0.333
    """
    rows = np.bincount(stratum)
    right, members = np.bincount(stratum, correct), np.bincount(stratum, inside)
    telling = (right > 0) & (right < rows) & (members > 0) & (members < rows)
    law, observed = np.ones(1), 0
    both = np.bincount(stratum, correct * inside)
    for m, k, g, seen in zip(rows[telling], right[telling], members[telling], both[telling], strict=True):
        low, probabilities = _hypergeometric(int(m), int(k), int(g))
        law = np.convolve(law, probabilities)
        observed += int(seen) - low
    return float(min(1.0, 2 * min(law[: observed + 1].sum(), law[observed:].sum())))


@lru_cache(maxsize=4096)
def _hypergeometric(rows: int, right: int, members: int) -> tuple[int, np.ndarray]:
    """Return the least number of right answers among the members of a stratum, and the law from there on."""
    low, high = max(0, members + right - rows), min(members, right)
    return low, hypergeom.pmf(np.arange(low, high + 1), rows, right, members)
