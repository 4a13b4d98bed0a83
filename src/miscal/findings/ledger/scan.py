"""The scan: which named groups are right more or less often than rows of equal confidence, condensed by forward choice.

For a group g, with e = y - E[y | f] and strata of near-equal f,

    T_g = sum over g of (e - mean of e in the stratum)

has, under permutations within strata, mean 0 and covariances

    Cov(T_g, T_h) = sum over strata of S_s / (m_s - 1) * sum over the stratum of g~ h~,

where S_s is the sum of squares of centred e, m_s the number of rows, and g~ the centred indicator: a Mantel-Haenszel
test of outcome by group given confidence. Groups chosen before are projected out of both T and its variance, all
together, so that a later one is tested given those above it. A group is chosen only if it differs in the same direction
by itself: what is right more often than all rows of equal confidence, but less often given a group above, the rows that
it is compared with explain. The cut is Bonferroni's over all candidates at every step, weighted: clusters of
inputs get a tenth of the error, and values of columns most of the rest (Holm, 1979, on weights). A cluster waits as
long as a value of a column is beyond the cut: one that mixes several values may be stronger than each, but says less.
Where columns have values to describe it by and none do, it waits for all other candidates, and three such clusters are
named at most. A term of the texts waits for a value of a column that has nearly the same rows, or is much like it and
accounts for it. Of the intervals of one column no two are chosen that share rows.

A trend along a column is one candidate, tested by midranks in place of 0 and 1 (`trends`); it stands among values.

A small p-value is recomputed by the law of the number of right answers in the group given the number in each stratum of
near-equal confidence and equal membership of the groups chosen (`exact`): a normal law is too sure where nearly all
rows of a stratum are right. A candidate that this refuses is tried again once another group has been chosen.

Where rows hang together (:mod:`miscal.calibration.survey_design`), every candidate's standard scores are divided by the
root of its own design effect. Where row i counts for w_i, the sum is of w_i times the difference of e_i from the
weighted mean of its stratum, so that a factor w_i (g_i - weighted mean of g in the stratum) of e_i stands in place of
the centred indicator; the exact law stays that of the rows themselves, for it is of the same hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from miscal.base.document import Measure
from miscal.calibration.survey_design import average, deflated
from miscal.findings.conditions.other_kinds import Alike
from miscal.findings.ledger.blocks import (
    Candidates,
    Split,
    Strata,
    Table,
    crossed,
    cut_into_strata,
    exact_p_value,
    strata_within,
    value_cells,
)
from miscal.findings.ledger.clusters import describe
from miscal.findings.ledger.groups import CLUSTER, INTERVAL, TERM, THRESHOLDS, VALUE, error_shares
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.sizes import (
    UNDEFINED,
    GroupTest,
    Scanned,
    TestedGroup,
    holds_zero,
    residual_size,
    shrinkage,
    size,
    standard_score,
    sum_p_value,
    trend_size,
)

_NO_VARIANCE = 1e-9
_LOOKED_AT = 20
"""Groups of which an interval is computed to find the one that is off most."""
_WIDE = 50
"""Rows of a stratum that tells which share of the rows of a confidence a group is. Not tuned."""


def scan(table: Table, *, seed: int = 0, error: float = 1.0, settings: LedgerSettings = LEDGER_DEFAULTS) -> Scanned:
    """Choose groups one after the other, as long as one is beyond the cut; then list the values that are so alone.

    The groups are fixed before any outcome is seen; `error` is the share of the family-wise error that may be spent.

    Examples
    --------
    >>> from miscal.calibration.labelled_rows import LabelledRows
    >>> from miscal.findings.ledger.groups import named_groups
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.permutation(np.repeat(["law", "art", "sums"], 200))
    >>> y = (rng.random(600) < np.where(kind == "law", 0.3, 0.7)).astype(float)
    >>> half = np.full(600, 0.5)
    >>> groups = named_groups({"kind": kind})
    >>> found = scan(Table(LabelledRows(y, half, half), groups))
    >>> [groups.descriptions[one.group] for one in found.chosen]
    ['kind = law']
    """
    if len(table.groups) == 0:
        return Scanned()
    found = _Scan(table, seed, settings, error)
    found.choose()
    alone = tuple(found.alone())
    # the last first: what cells tell of all of them, they tell of some
    chosen = [found.by_itself(place) for place in reversed(range(len(found.found)))]
    return Scanned(tuple(reversed(chosen)), alone, found.more_by_rows(), found.most_off())


class _Scan(Candidates):
    def __init__(self, table: Table, seed: int, settings: LedgerSettings, error: float) -> None:
        super().__init__(table, seed, settings)
        self.usable = self.variance > _NO_VARIANCE
        self.chosen: list[int] = []
        self.found: list[TestedGroup] = []
        self.described: dict[int, bool] = {}
        self.overlapping = np.zeros(len(self.groups), bool)  # an interval chosen before
        self.covariance: list[np.ndarray] = []  # of each chosen candidate with all
        self.kinds = self.groups.kinds
        self.values, self.clusters = self.kinds == VALUE, self.kinds == CLUSTER
        self.share = error * error_shares(self.kinds, settings, table.pairs)

    def choose(self) -> None:
        """Find groups one after the other."""
        least = self.least_scores
        refused, alone = np.zeros(len(self.groups), bool), self.by_themselves
        while len(self.found) < self.settings.max_findings:
            z = self._given_chosen()
            z = np.where(refused | self.overlapping | (z * alone <= 0), 0.0, z)
            beyond = np.abs(z) - least
            if beyond.max() < 0:
                return
            strongest = self._strongest(np.where(beyond >= 0, np.abs(z), 0.0))
            if strongest is None:
                return
            best, aliases = self._named(strongest, z)
            one = self._tested(best, float(z[best]), self.chosen, aliases=aliases)
            if one.p_adjusted > self.settings.significance:
                # the normal law was too sure of it: the next strongest is tried, and this one again given that
                refused[best] = True
                continue
            score = standard_score(one.p_value, one.z)
            self.found.append(replace(one, shrinkage=shrinkage(abs(score), float(least[best]))))
            self.take(best)
            refused[:] = False

    def _tested(self, group: int, z: float, given: Sequence[int] = (), **known: Any) -> TestedGroup:
        """Test a candidate given some that were chosen, and adjust its p-value for all candidates."""
        p_value, share = self._p_value(group, z, given), float(self.share[group])
        level, adjusted = self.settings.significance * share, min(1.0, p_value / share)
        return TestedGroup(group=int(group), z=z, p_value=p_value, p_adjusted=adjusted, level=level, **known)

    def take(self, candidate: int) -> None:
        """Let a candidate be projected out of all others."""
        self.covariance.append(self._covariances(candidate))
        self.chosen.append(candidate)
        if self.kinds[candidate] == INTERVAL:
            axes = self.groups.axes
            self.overlapping |= (self._overlaps(candidate) > 0) & (axes == axes[candidate])

    def by_itself(self, place: int) -> TestedGroup:
        """Return what was found with its sizes: given those before, and by itself.

        Where that by itself may be 0, with what is above and shows it.
        """
        one, best = self.found[place], self.chosen[place]
        one = replace(one, conditional=self._size(best, standard_score(one.p_value, one.z), self.chosen[:place]))
        z = float(self.by_themselves[best])
        # what is chosen first is tested by itself
        score = standard_score(one.p_value if place == 0 else self._p_value(best, z), z)
        own = self._size(best, score)
        if place == 0 or not holds_zero(own):
            return replace(one, own=own)
        sign = float(np.sign(one.z))
        return replace(one, own=own, needs=max(range(place), key=lambda k: self._left(best, k, sign)[0]))

    def alone(self) -> list[TestedGroup]:
        """List values and bins of columns that were not chosen, but are beyond the cut by themselves."""
        z, given = self.by_themselves, self._given_chosen()
        asked = self.values.copy()
        asked[value_cells(self.groups)], asked[self.chosen] = True, False
        found = []
        for group in np.flatnonzero(asked & (np.abs(z) >= self.least_scores)):
            one = self._tested(group, float(z[group]))
            if one.p_adjusted > self.settings.significance:
                continue
            # the finding that alone leaves least of it in its direction
            sign = float(np.sign(self.total[group]))
            by = min(range(len(self.chosen)), key=lambda k: self._left(group, k, sign), default=None)
            conditional = UNDEFINED
            if self.table.joined:
                left = self._p_value(group, float(given[group]), self.chosen)
                conditional = self._size(group, standard_score(left, given[group]), self.chosen)
            own = self._size(group, standard_score(one.p_value, one.z))
            found.append(replace(one, conditional=conditional, own=own, by=by))
        return sorted(found, key=lambda one: -abs(one.z))

    def more_by_rows(self) -> int:
        """Count the candidates that are beyond the cut by themselves only where rows are counted, not units."""
        z = np.abs(self.by_themselves)
        return int(np.sum((z < self.least_scores) & (z * np.sqrt(self.effect) >= self.least_scores)))

    def most_off(self) -> TestedGroup | None:
        """Return the group whose outcomes differ most from its confidence, hidden or not, by the lower limit of that.

        It is one of those chosen, unless another is known to be off by more than all of them, and all rows, seem to be.
        """
        blocks = [(strata.rows, own.member) for strata, own in self.blocks]
        mass = np.concatenate([member.sums(rows.mass) for rows, member in blocks])
        off = np.concatenate([member.sums(rows.mass * (rows.correct - rows.confidence)) for rows, member in blocks])
        off = off / np.maximum(mass, np.finfo(float).tiny)
        able = ~self.clusters & (mass > 0)
        able[list(self.groups.trends)] = False
        # intervals are of the few that are the largest by a normal law
        spread = np.concatenate([member.sums(rows.mass**2 * rows.variance) for rows, member in blocks])
        near = np.abs(off) - self.least_scores * np.sqrt(self.effect * spread) / np.maximum(mass, _NO_VARIANCE)
        largest = np.argsort(np.where(able, near, -np.inf))[-_LOOKED_AT:]
        limits = {one: self._least_off(one) for one in [*self.chosen, *largest[able[largest]].tolist()]}
        rows = self.blocks[0][0].rows
        whole = average(rows.correct, rows.weight) - average(rows.confidence, rows.weight)
        seems = max(abs(one) for one in [whole, *off[self.chosen]])
        best = max(limits, key=limits.__getitem__, default=None)
        if best is None or limits[best] <= seems:
            best = max(self.chosen, key=limits.__getitem__, default=None)
        if best is None or limits[best] <= 0:
            return None
        return self._tested(best, float(self.by_themselves[best]))

    def _least_off(self, group: int) -> float:
        """How far the outcomes of a group are from its confidence at least, 0 where that is not known."""
        rows, inside = self.table.own(group)
        level = float(self.settings.significance * self.share[group])
        low, high = residual_size(rows.take(inside), level).interval or (0.0, 0.0)
        return max(low, -high, 0.0)

    def _left(self, group: int, k: int, sign: float) -> tuple[float, float]:
        """Score in one direction that one of those chosen leaves of a candidate, at least 0; and the variance."""
        across, chosen = self.covariance[k], self.chosen[k]
        slope = across[group] / across[chosen]
        total = self.total[group] - slope * self.total[chosen]
        variance = float(self.variance[group] - slope * across[group])
        if variance <= self._least_variance[group]:
            return 0.0, variance
        return max(0.0, float(sign * total / np.sqrt(variance))), variance

    def _strongest(self, strength: np.ndarray) -> int | None:
        """Strongest candidate whose turn it is, of those with a strength above 0; None if there is none."""
        able, mixed = strength > 0, sum(map(self._mixed, self.chosen))
        if (able & self.values).any():
            able &= ~self.clusters
        while able.any():
            strongest = int(np.argmax(np.where(able, strength, 0.0)))
            if (value := self._behind_term(strongest, able, strength)) is not None:
                return value
            if (trend := self._behind_interval(strongest, able, strength)) is not None:
                return trend
            waits = self._mixed(strongest) and ((able & ~self.clusters).any() or mixed >= self.settings.max_mixed)
            if not waits:
                return strongest
            able[strongest] = False
        return None

    def _behind_term(self, term: int, able: np.ndarray, strength: np.ndarray) -> int | None:
        """Strongest value that is much like a term and has nearly the same rows, or leaves the term within its cut."""
        if self.kinds[term] != TERM:
            return None
        across, variance = self._covariances(term), self.variance
        if self.chosen:
            chosen, solved = self._explained(self.chosen)
            across = across - solved.T @ chosen[:, term]
            variance = variance - np.einsum("km,km->m", chosen, solved)
        like = across / np.sqrt(np.maximum(variance * variance[term], _NO_VARIANCE))
        left = (strength[term] - like * strength) / np.sqrt(np.maximum(1 - like**2, _NO_VARIANCE))
        within = left < self.least_scores[term]
        named = self.values & able & (like >= self.settings.described_overlap)
        behind = np.flatnonzero(named & (within | (self._overlaps(term) >= self.settings.alias_overlap)))
        return int(behind[np.argmax(strength[behind])]) if len(behind) else None

    def _behind_interval(self, interval: int, able: np.ndarray, strength: np.ndarray) -> int | None:
        """Trend of a column of an interval, if it is nearly as strong: it tells of the whole column at once."""
        kind, condition = self.kinds[interval], self.groups.conditions[interval]
        if kind not in (INTERVAL, THRESHOLDS):
            return None
        axes = (condition.axis,) if kind == INTERVAL else condition.columns
        least = strength[interval] - self.settings.alias_distance
        trends = (place for place in self.groups.trends if self.groups.conditions[place].axis in axes)
        return next((place for place in trends if able[place] and strength[place] >= least), None)

    def _mixed(self, group: int) -> bool:
        """Whether a group is a cluster that names do not describe, though columns have names to give."""
        if not self.clusters[group] or not self.values.any():
            return False
        if group not in self.described:
            self.described[group] = isinstance(describe(self.groups.rows(group), self.groups), Alike)
        return not self.described[group]

    @cached_property
    def least_scores(self) -> np.ndarray:
        """Standard score from which a candidate is beyond its cut, (m,)."""
        return -ndtri(self.settings.significance * self.share / 2)

    @cached_property
    def by_themselves(self) -> np.ndarray:
        """Z of every candidate, 0 where it has no variance."""
        return np.where(self.usable, self.total / np.sqrt(np.where(self.usable, self.effect * self.variance, 1.0)), 0.0)

    def _size(self, candidate: int, z: float, given: Sequence[int] | None = None) -> Measure:
        """Size of a group given some that were chosen; None: beside all rows of equal confidence."""
        total, variance, others, solved = self.total[candidate], self.variance[candidate], list(given or ()), ()
        if others:
            across, solved = self._explained(others, candidate)
            total = total - self.total[others] @ solved
            variance = variance - across @ solved
        if variance <= self._least_variance[candidate]:
            return Measure(value=None)
        strata, (own, *splits) = self._rows([candidate, *others])
        rows = strata.rows
        left = self._without(own, splits, solved)
        variance, least = float(self.effect[candidate] * variance), float(self.least_scores[candidate])
        test = GroupTest(strata.factors(left), float(total), variance, z, least, strata.squared_factors(left))
        if own.lower is not None:
            return trend_size(rows, own.inside, own.lower, own.tested, test)
        if given is not None:
            return size(test, rows.expected, direction=strata.centred(left))
        # a group's gain is its others' loss, as E[h | f] = 0: a shift of log-odds alone gives the two unequal parts
        measured = test.factors / float(rows.mass @ left)
        wide = strata if rows.stratum is not None else self._cut_wide
        return size(test, rows.expected, direction=wide.centred(left), measured=measured)

    @cached_property
    def _cut_wide(self) -> Strata:
        """Strata in which a row of a group is no sizeable part of all rows of its confidence."""
        [(strata, _)] = self.blocks
        rows, width = strata.rows, max(_WIDE, len(strata.rows) // _WIDE)
        stratum = cut_into_strata(rows.confidence, width, np.random.default_rng(0), rows.part)
        return Strata.of(rows, stratum)

    @cached_property
    def _least_variance(self) -> np.ndarray:
        """Variance given the groups chosen up to which too little of a candidate is left."""
        return np.maximum(self.settings.variance_left * self.variance, _NO_VARIANCE)

    def _given_chosen(self) -> np.ndarray:
        """Z of every candidate given the groups chosen, 0 where too little of it is left."""
        total, variance = self.total, self.variance
        if self.chosen:
            across, solved = self._explained(self.chosen)
            total = total - solved.T @ self.total[self.chosen]
            variance = variance - np.einsum("km,km->m", across, solved)
        left = self.usable & (variance > self._least_variance)
        return np.where(left, total / np.sqrt(np.where(left, self.effect * variance, 1.0)), 0.0)

    def _explained(self, given: Sequence[int], of: int | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Covariances of the groups chosen first with candidates, and what each adds when they are projected out."""
        across = np.stack(self.covariance[: len(given)])
        return across[:, of], np.linalg.lstsq(across[:, given], across[:, of], rcond=1e-10)[0]

    def _named(self, strongest: int, z: np.ndarray) -> tuple[int, tuple[int, ...]]:
        """Return the best name for the strongest group, and other names of nearly the same rows."""
        overlap = self._overlaps(strongest)
        same = np.sign(z) == np.sign(z[strongest])
        alike = np.flatnonzero((overlap >= self.settings.alias_overlap) & same)
        near = alike[np.abs(z[alike]) >= abs(z[strongest]) - self.settings.alias_distance]
        best = min(near.tolist(), key=lambda g: (self.kinds[g], -abs(z[g])))
        # another stretch of the same column is no other name
        axes = self.groups.axes
        apart = np.array([axis is None or axis != axes[best] for axis in axes[alike]], bool)
        named = (g for g in alike[apart].tolist() if g != best and self.kinds[g] not in (CLUSTER, THRESHOLDS))
        others = sorted(named, key=lambda g: -abs(z[g]))
        return best, tuple(others[: self.settings.max_aliases])

    def _p_value(self, candidate: int, z: float, given: Sequence[int] = ()) -> float:
        """Two-sided p-value of a z given the candidates that were chosen first."""
        p_value, trend = float(2 * ndtr(-abs(z))), candidate in self.groups.trends
        large = not trend and self.variance[candidate] > self.settings.largest_exact_variance
        if p_value >= self.settings.exact_below or large:
            return p_value
        strata, (own, *others) = self._rows([candidate, *given])
        rows = strata.rows
        if trend:
            factors = strata.factors(self._without(own, others, self._explained(given, candidate)[1] if given else ()))
            exact = sum_p_value(factors, rows.correct, rows.expected, rows.count)
        elif rows.stratum is None:
            apart = [other.inside for other in others]
            cut = strata_within(rows.confidence, apart, self._width(rows), self.rng, rows.part)
            exact = exact_p_value(rows.correct, own.inside, cut, rows.expected, rows.count)
        else:
            cut = crossed(rows.stratum, [other.inside for other in others])
            exact = exact_p_value(rows.correct, own.inside, cut, count=rows.count)
        return max(p_value, deflated(exact, float(self.effect[candidate])))

    @staticmethod
    def _without(own: Split, others: Sequence[Split], solved: Sequence[float]) -> np.ndarray:
        """Return what each row adds to a test, less what the groups chosen before explain of it."""
        explained = [factor * one.tested for one, factor in zip(others, solved, strict=True)]
        return own.tested - np.sum(explained, axis=0) if explained else own.tested
