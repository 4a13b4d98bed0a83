"""The scan: which named groups are right more or less often than rows of equal confidence, condensed by forward choice.

For a group g, with e = y - E[y | f] and strata of near-equal f,

    T_g = sum over g of (e - mean of e in the stratum)

has, under permutations within strata, mean 0 and covariances

    Cov(T_g, T_h) = sum over strata of S_s / (m_s - 1) * sum over the stratum of g~ h~,

where S_s is the sum of squares of centred e, m_s the number of rows, and g~ the centred indicator: a Mantel-Haenszel
test of outcome by group given confidence. Groups chosen before are projected out of both T and its variance, all
together, so that a later one is tested given those above it. A group is chosen only if it differs in the same direction
by itself: what is right more often than all rows of equal confidence, but less often given a group above, is told by
the rows that it is compared with. The cut is Bonferroni's over all candidates at every step, weighted: clusters of
inputs get a tenth of the error, combinations of columns beyond pairs a tenth of the rest, and values of columns most of
what is then left (Holm, 1979, on weights). A cluster waits as long as a value of a column is beyond the cut: one that
mixes several values may be stronger than each, but says less. Where columns have values to describe it by and none do,
it waits for all other candidates, and three such clusters are told at most. A term of the texts waits for a value of a
column that has nearly the same rows, or is much like it and accounts for it. Of the intervals of one column no two are
chosen that share rows.

A small p-value is recomputed by the law of the number of right answers in the group given the number in each stratum of
near-equal confidence and equal membership of the groups chosen (`exact`): a normal law is too sure where nearly all
rows of a stratum are right. A candidate that this refuses is tried again once another group has been chosen.

Where rows hang together (:mod:`miscal.calibration.survey_design`), every candidate's standard scores are divided by the
root of its own design effect. Where row i counts for w_i, the sum is of w_i times the difference of e_i from the
weighted mean of its stratum, so that a factor w_i (g_i - weighted mean of g in the stratum) of e_i stands in place of
the centred indicator; the exact law stays that of the rows themselves, for it is of the same hypothesis.

On request the cut is that of Benjamini and Hochberg (1995) with the same weights (Genovese, Roeder and Wasserman,
2006): with R candidates rejected at the first step, each has R times Bonferroni's share. The expected share of false
ones among these R is then at most the level where the statistics are independent or positively dependent, and close to
it for two-sided normal statistics of any correlation (Reiner-Benaim, 2007). The findings are chosen among them, or
among what becomes as clear given those.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import deflated
from miscal.evidence.conditional import centred
from miscal.findings.conditions import Alike
from miscal.findings.ledger.describe import describe
from miscal.findings.ledger.exact import cut_into_strata, exact_p_value, strata_within
from miscal.findings.ledger.groups import CLUSTER, COMBINED, INTERVAL, TERM, VALUE, Groups
from miscal.findings.ledger.settings import FDR, LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import GroupTest, Tested, size, standard_score

_NO_VARIANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class TestedGroup(Tested):
    """A candidate that is beyond the cut: two-sided, given the groups chosen before it, or by itself.

    Attributes
    ----------
    group : int
        Its place among the candidates.
    aliases : tuple of int
        Other candidates of nearly the same rows.
    by : int or None
        Of one that was not chosen: place, among the groups chosen, of the one that alone accounts for most of it. None
        for one that was chosen, and where none was.
    """

    group: int
    aliases: tuple[int, ...] = ()
    by: int | None = None


def scan(
    rows: LabelledRows,
    groups: Groups,
    *,
    seed: int = 0,
    error: float = 1.0,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> tuple[tuple[TestedGroup, ...], tuple[TestedGroup, ...]]:
    """Choose groups one after the other, as long as one is beyond the cut; then list the values that are so alone.

    Parameters
    ----------
    rows : LabelledRows
    groups : Groups
        Fixed before any outcome was seen.
    seed : int, default 0
        Of the order of rows of equal confidence.
    error : float, default 1.0
        Share of the family-wise error that the scan may spend, in (0, 1].
    settings : LedgerSettings, optional

    Returns
    -------
    chosen : tuple of TestedGroup
        In the order of choice. With nothing hidden there are none in at least 95 % of tables.
    alone : tuple of TestedGroup
        Values and bins of columns that are beyond the cut by themselves and were not chosen, the strongest first, with
        `p_given` and `by`. With nothing hidden there are none unless a group was chosen: the two are tested at the
        same cut.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import named_groups
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = (rng.random(600) < np.where(kind == "law", 0.3, 0.7)).astype(float)
    >>> half = np.full(600, 0.5)
    >>> groups = named_groups({"kind": kind})
    >>> chosen, alone = scan(LabelledRows(y, half, half), groups)
    >>> [groups.descriptions[one.group] for one in chosen]
    ['kind = law']
    """
    if len(groups) == 0:
        return (), ()
    table = _Scan(rows, groups, seed, settings, error)
    chosen = tuple(table.choose())
    return chosen, tuple(table.alone())


def error_shares(kinds: np.ndarray, settings: LedgerSettings = LEDGER_DEFAULTS) -> np.ndarray:
    """Share of the family-wise error that each candidate gets, (m,); they sum to 1.

    Examples
    --------
    >>> from miscal.findings.ledger.groups import TERM
    >>> error_shares(np.array([VALUE, VALUE, TERM])).round(2).tolist()
    [0.4, 0.4, 0.2]
    >>> error_shares(np.array([VALUE, TERM, CLUSTER, CLUSTER])).round(2).tolist()
    [0.72, 0.18, 0.05, 0.05]
    >>> error_shares(np.array([TERM, TERM])).tolist()
    [0.5, 0.5]
    """
    clusters, values, combined = kinds == CLUSTER, kinds == VALUE, np.isin(kinds, COMBINED)
    others = ~clusters & ~values & ~combined
    share, left = np.zeros(len(kinds)), 1.0
    # each gets its share of what is left, or all of it where there is nothing else
    parts = [
        (clusters, settings.cluster_share_of_error),
        (combined, settings.combined_share_of_error),
        (values, settings.value_share),
        (others, 1.0),
    ]
    for place, (some, of_left) in enumerate(parts):
        if some.any():
            alone = not any(other.any() for other, _ in parts[place + 1 :])
            share[some] = left * (1.0 if alone else of_left) / some.sum()
            left -= float(share[some].sum())
    return share


class _Scan:
    def __init__(
        self, rows: LabelledRows, groups: Groups, seed: int, settings: LedgerSettings, error: float = 1.0
    ) -> None:
        self.rows, self.groups, self.settings = rows, groups, settings
        self.rng = np.random.default_rng((seed, 31))
        self.width = settings.stratum_width(len(rows))
        self.width *= 1 if rows.design is None else rows.design.rows_per_unit(rows.confidence)
        self.stratum = cut_into_strata(rows.confidence, self.width, self.rng)
        self.size = np.bincount(self.stratum)
        self.mass = rows.mass
        self.residual = centred(rows.residual, self.stratum)
        squares = np.bincount(self.stratum, self.residual**2)
        self.weight = (squares / np.maximum(self.size - 1, 1))[self.stratum]
        self.total = groups.member.T @ (self.mass * centred(rows.residual, self.stratum, self.mass))
        self.variance = self._variances()
        self.effect = np.ones(len(groups))
        if rows.design is not None:
            factors = self.mass * rows.residual, self.mass**2 * rows.variance
            self.effect = rows.design.design_effects(groups.member, *factors)
        self.counts = np.asarray(groups.member.sum(0)).ravel()
        self.usable = self.variance > _NO_VARIANCE
        self.chosen: list[int] = []
        self.described: dict[int, bool] = {}
        self.overlapping = np.zeros(len(groups), bool)  # an interval chosen before
        self.covariance: list[np.ndarray] = []  # of each chosen group with all candidates
        self.values, self.clusters = groups.kinds == VALUE, groups.kinds == CLUSTER
        self.share = error * error_shares(groups.kinds, settings)

    def _variances(self) -> np.ndarray:
        """Compute the sum over strata of S_s / (m_s - 1) times that of squared factors of e.

        With u the weight of the group's rows in a stratum, q the sum of its squares, and U and Q those of all rows, the
        squared factors add up to q - 2 q u / U + Q (u / U)^2; where all count alike, to n - n^2 / m.
        """
        member, stratum, many = self.groups.member, self.stratum, len(self.size)
        per_stratum = self.weight[np.unique(stratum, return_index=True)[1]]
        squared = self.mass**2
        total = np.maximum(np.bincount(stratum, self.mass), np.finfo(float).tiny)
        every = np.bincount(stratum, squared)
        first = member.T @ (self.weight * squared)
        second = np.empty(member.shape[1])
        for group in range(member.shape[1]):
            inside = member.indices[member.indptr[group] : member.indptr[group + 1]]
            at = stratum[inside]
            part = np.bincount(at, self.mass[inside], minlength=many) / total
            squares = np.bincount(at, squared[inside], minlength=many)
            second[group] = np.sum(per_stratum * (2 * squares * part - every * part**2))
        return np.maximum(first - second, 0.0)

    def choose(self) -> Iterator[TestedGroup]:
        share = self.cut_shares
        least = -ndtri(self.settings.significance * share / 2)
        refused, alone = np.zeros(len(self.groups), bool), self.by_themselves
        while len(self.chosen) < self.settings.max_findings:
            z = self._given_chosen()
            z = np.where(refused | self.overlapping | (z * alone < 0), 0.0, z)
            beyond = np.abs(z) - least
            if beyond.max() < 0:
                return
            strongest = self._strongest(np.where(beyond >= 0, np.abs(z), 0.0))
            if strongest is None:
                return
            best, aliases = self._named(strongest, z)
            p_value = self._p_value(best, float(z[best]))
            adjusted = min(1.0, float(p_value / share[best]))
            if adjusted > self.settings.significance:
                # the normal law was too sure of it: the next strongest is tried, and this one again given that
                refused[best] = True
                continue
            yield TestedGroup(
                group=best,
                aliases=aliases,
                z=float(z[best]),
                p_value=p_value,
                p_adjusted=adjusted,
                level=float(self.settings.significance * self.share[best]),
                beyond=self._size(best, standard_score(p_value, z[best])),
            )
            self._take(best)
            refused[:] = False

    def alone(self) -> list[TestedGroup]:
        """List values and bins of columns that were not chosen, but are beyond the cut by themselves."""
        z, given = self.by_themselves, self._given_chosen()
        share, significance = self.cut_shares, self.settings.significance
        told = self.values.copy()
        told[self._cells()], told[self.chosen] = True, False
        found = []
        for group in np.flatnonzero(told & (np.abs(z) >= -ndtri(significance * share / 2))):
            p_value = self._p_value(group, float(z[group]), given=())
            adjusted = min(1.0, float(p_value / share[group]))
            if adjusted <= significance:
                left = self._p_value(group, float(given[group]))
                value = TestedGroup(
                    group=int(group),
                    z=float(z[group]),
                    p_value=p_value,
                    p_adjusted=adjusted,
                    level=float(significance * self.share[group]),
                    beyond=self._size(group, standard_score(left, given[group])),
                    # what is left in the other direction is nothing that the findings leave to explain
                    p_given=left if given[group] * z[group] > 0 else 1.0,
                    by=self._accounting(group),
                )
                found.append(value)
        return sorted(found, key=lambda one: -abs(one.z))

    def _cells(self) -> list[int]:
        """Candidates that are a value or a bin of a column."""
        places = (self.groups.places.get(cell) for part in self.groups.columns for cell in part.cells)
        return [place for place in places if place is not None]

    def _accounting(self, group: int) -> int | None:
        """Place of the chosen group that alone leaves least of a group in its direction; None where none is chosen."""

        def left(place: int) -> tuple[float, float]:
            across, chosen = self.covariance[place], self.chosen[place]
            slope = across[group] / across[chosen]
            total = self.total[group] - slope * self.total[chosen]
            variance = float(self.variance[group] - slope * across[group])
            if variance <= self._least_variance[group]:
                return 0.0, variance
            return max(0.0, float(np.sign(self.total[group]) * total / np.sqrt(variance))), variance

        return min(range(len(self.chosen)), key=left, default=None)

    def _strongest(self, strength: np.ndarray) -> int | None:
        """Strongest candidate whose turn it is, of those with a strength above 0; None if there is none."""
        able, mixed = strength > 0, sum(map(self._mixed, self.chosen))
        if (able & self.values).any():
            able &= ~self.clusters
        while able.any():
            strongest = int(np.argmax(np.where(able, strength, 0.0)))
            if (value := self._behind_term(strongest, able, strength)) is not None:
                return value
            waits = self._mixed(strongest) and ((able & ~self.clusters).any() or mixed >= self.settings.max_mixed)
            if not waits:
                return strongest
            able[strongest] = False
        return None

    def _behind_term(self, term: int, able: np.ndarray, strength: np.ndarray) -> int | None:
        """Strongest value that is much like a term and has nearly the same rows, or leaves the term within its cut."""
        if self.groups.kinds[term] != TERM:
            return None
        across, variance = self._covariances(term), self.variance
        if self.chosen:
            chosen, solved = np.stack(self.covariance), self._explained
            across = across - solved.T @ chosen[:, term]
            variance = variance - np.einsum("km,km->m", chosen, solved)
        like = across / np.sqrt(np.maximum(variance * variance[term], _NO_VARIANCE))
        left = (strength[term] - like * strength) / np.sqrt(np.maximum(1 - like**2, _NO_VARIANCE))
        within = left < -ndtri(self.settings.significance * self.cut_shares[term] / 2)
        named = self.values & able & (like >= self.settings.described_overlap)
        behind = np.flatnonzero(named & (within | (self._overlaps(term) >= self.settings.alias_overlap)))
        return int(behind[np.argmax(strength[behind])]) if len(behind) else None

    def _mixed(self, group: int) -> bool:
        """Whether a group is a cluster that names do not describe, though columns have names to give."""
        if not self.clusters[group] or not self.values.any():
            return False
        if group not in self.described:
            self.described[group] = isinstance(describe(self.groups.rows(group), self.groups, self.settings), Alike)
        return not self.described[group]

    @cached_property
    def cut_shares(self) -> np.ndarray:
        """Share of the error that a candidate is cut at: its own, or with FDR that of all candidates rejected."""
        return self.share * self._rejected()

    def _rejected(self) -> int:
        """Candidates rejected at the first step by the rule of Benjamini and Hochberg; 1 for Bonferroni's."""
        if self.settings.adjustment != FDR:
            return 1
        p_values, z = np.ones(len(self.total)), self.by_themselves
        for group in np.flatnonzero(self.usable):
            p_values[group] = self._p_value(group, z[group], given=())
        weighted = np.sort(p_values / self.share)
        below = np.flatnonzero(weighted <= self.settings.significance * np.arange(1, len(weighted) + 1))
        return int(below[-1]) + 1 if len(below) else 1

    @cached_property
    def by_themselves(self) -> np.ndarray:
        """Z of every candidate, 0 where it has no variance."""
        return np.where(self.usable, self.total / np.sqrt(np.where(self.usable, self.effect * self.variance, 1.0)), 0.0)

    def _size(self, group: int, z: float) -> Measure:
        """How much more often a group is right, given the groups chosen."""
        inside = self.groups.rows(group)
        left, variance = inside.astype(np.float64), self.effect[group] * self.variance[group]
        if self.chosen:
            across = np.stack(self.covariance)
            solved = np.linalg.lstsq(across[:, self.chosen], across[:, group], rcond=1e-10)[0]
            left -= self.groups.member[:, self.chosen] @ solved
            variance -= self.effect[group] * float(across[:, group] @ solved)
        if variance <= self.effect[group] * self._least_variance[group]:
            return Measure(value=None)
        factors = self._factors(left)
        total = float(factors @ self.rows.residual)
        least = float(-ndtri(self.settings.significance * self.cut_shares[group] / 2))
        test = GroupTest(factors, total, float(variance), z, least)
        return size(test, inside, self.rows.expected)

    @cached_property
    def _least_variance(self) -> np.ndarray:
        """Variance given the groups chosen up to which too little of a candidate is left."""
        return np.maximum(self.settings.variance_left * self.variance, _NO_VARIANCE)

    def _factors(self, inside: np.ndarray) -> np.ndarray:
        return self.mass * centred(inside, self.stratum, self.mass)

    def _given_chosen(self) -> np.ndarray:
        """Z of every candidate given the groups chosen, 0 where too little of it is left."""
        total, variance = self.total, self.variance
        if self.chosen:
            across, solved = np.stack(self.covariance), self._explained
            total = total - solved.T @ self.total[self.chosen]
            variance = variance - np.einsum("km,km->m", across, solved)
        left = self.usable & (variance > self._least_variance)
        return np.where(left, total / np.sqrt(np.where(left, self.effect * variance, 1.0)), 0.0)

    @property
    def _explained(self) -> np.ndarray:
        """What each group chosen adds to every candidate when they are projected out, (k, m)."""
        across = np.stack(self.covariance)
        return np.linalg.lstsq(across[:, self.chosen], across, rcond=1e-10)[0]

    def _overlaps(self, group: int) -> np.ndarray:
        """Jaccard index of the rows of a group and those of every candidate, (m,)."""
        shared = self.groups.member.T @ self.groups.rows(group).astype(np.float64)
        return shared / (self.counts + self.counts[group] - shared)

    def _named(self, strongest: int, z: np.ndarray) -> tuple[int, tuple[int, ...]]:
        """Return the best name for the strongest group, and other names of nearly the same rows."""
        overlap = self._overlaps(strongest)
        alike = np.flatnonzero((overlap >= self.settings.alias_overlap) & (np.sign(z) == np.sign(z[strongest])))
        near = alike[np.abs(z[alike]) >= abs(z[strongest]) - self.settings.alias_distance]
        best = min(near.tolist(), key=lambda g: (self.groups.kinds[g], -abs(z[g])))
        named = (g for g in alike.tolist() if g != best and self.groups.kinds[g] != CLUSTER)
        others = sorted(named, key=lambda g: -abs(z[g]))
        return best, tuple(others[: self.settings.max_aliases])

    def _take(self, group: int) -> None:
        self.covariance.append(self._covariances(group))
        self.chosen.append(group)
        if self.groups.kinds[group] == INTERVAL:
            axes = self.groups.axes
            self.overlapping |= (self._overlaps(group) > 0) & (axes == axes[group])

    def _covariances(self, group: int) -> np.ndarray:
        """Covariance of a group with every candidate, (m,)."""
        factor = self.weight * self._factors(self.groups.rows(group).astype(np.float64))
        return self.groups.member.T @ (self.mass * centred(factor, self.stratum, self.mass))

    def _p_value(self, group: int, z: float, given: Sequence[int] | None = None) -> float:
        """Two-sided p-value of a z given some groups, by default those chosen so far."""
        p_value = float(2 * ndtr(-abs(z)))
        large = self.variance[group] > self.settings.largest_exact_variance
        if p_value >= self.settings.exact_below or large:
            return p_value
        chosen = [self.groups.rows(other) for other in (self.chosen if given is None else given)]
        strata = strata_within(self.rows.confidence, chosen, self.width, self.rng)
        exact = exact_p_value(self.rows.correct, self.groups.rows(group), strata, self.rows.expected)
        return max(p_value, deflated(exact, float(self.effect[group])))
