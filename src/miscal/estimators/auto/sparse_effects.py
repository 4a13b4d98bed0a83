"""Shifts and slopes of the few groups of a table that stand out: levels, pairs of levels, and levels' own slopes.

Where :mod:`miscal.estimators.auto.levels` lets all levels of a column differ a little, here most of them do not differ
at all, and some by much: the effects of a term (the levels of a column, those of two columns together, or the slopes of
the confidence by level) are 0 but for a share of them, which is N(0, tau^2). Share and tau are those under which the
effects of the term together are most likely (empirical Bayes; spike and slab, Mitchell & Beauchamp, 1988); a term that
gains too little log-likelihood by them has no effects. A group of few rows, or one that hardly stands out, is
therefore drawn to 0, and one that does keeps most of what its rows say. Effects are found by backfitting, a Newton step
for each term in turn; the pairs of columns are those that gain most once single columns have had their say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from miscal.estimators.auto.levels import level_sums, of_levels
from miscal.estimators.auto.member import CrossFitted, Fit, LearningRows, Member, Query
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.shifts import LEVEL, RIDGE, fit_shifts

Array = NDArray[np.floating]
Codes = NDArray[np.integer]

GROUPS, PAIRS = "shift and slope of groups that stand out", "shift of pairs beyond chance"


@dataclass(frozen=True)
class Term:
    """Groups of rows that have an effect each: rows of the same level in every one of some columns.

    Attributes
    ----------
    columns : tuple of int
        One or two columns; none for all rows together.
    slope : bool
        Whether the effect multiplies the standardised log-odds of the confidence, or is a shift.
    """

    columns: tuple[int, ...]
    slope: bool = False

    def groups(self, codes: Codes, sizes: Sequence[int]) -> NDArray[np.int64]:
        """Return the number of each row's group, (n,); -1 where a level is not one of those learned from.

        Examples
        --------
        >>> Term((0, 1)).groups(np.array([[0, 1], [1, 2], [1, 0], [-1, 0]]), [2, 2]).tolist()
        [1, -1, 2, -1]
        """
        group, known = np.zeros(len(codes), np.int64), np.full(len(codes), True)
        for j in self.columns:
            known &= (codes[:, j] >= 0) & (codes[:, j] < sizes[j])
            group = group * sizes[j] + codes[:, j]
        return np.where(known, group, -1)

    def size(self, sizes: Sequence[int]) -> int:
        """Count the groups."""
        return int(np.prod([sizes[j] for j in self.columns], dtype=np.int64))

    @property
    def least_gain(self) -> float:
        """Log-likelihood that its effects must gain, in nats."""
        if self.slope:
            return AUTO.least_slope_gain
        return AUTO.least_pair_gain if len(self.columns) > 1 else AUTO.least_level_gain


@dataclass(frozen=True)
class SparsePrior:
    """A share of effects differs from 0, by N(0, spread^2).

    Attributes
    ----------
    spread : float
        In log-odds.
    share : float
        In (0, 1].
    gain : float
        Log-likelihood of the effects less that of no effects, in nats.
    """

    spread: float
    share: float
    gain: float

    def shrink(self, effects: Array, information: Array) -> NDArray[np.float64]:
        """Posterior means of effects that are seen as N(b, 1 / information), (k,); 0 where nothing is seen."""
        if not self.spread:
            return np.zeros(len(effects))
        b, variance, slab, spike = _log_densities(effects, information, np.array([self.spread]))
        odds = np.log(self.share) + slab[0] - np.log1p(-self.share) - spike if self.share < 1 else np.inf
        found = np.zeros(len(effects))
        found[information > 0] = expit(odds) * b * self.spread**2 / (variance + self.spread**2)
        return found


def sparse_prior(effects: Array, information: Array) -> SparsePrior:
    """Find the prior under which effects that are seen as N(b, 1 / information) are most likely.

    Examples
    --------
    >>> prior = sparse_prior(np.r_[np.zeros(19), 1.0], np.full(20, 100.0))
    >>> prior.share, prior.shrink(np.array([0.1, 1.0]), np.full(2, 100.0)).round(2).tolist()
    (0.05, [0.0, 0.99])
    """
    spreads = np.array(AUTO.sparse_spreads)
    *_, slab, spike = _log_densities(effects, information, spreads)
    best = SparsePrior(0.0, 1.0, 0.0)
    for share in AUTO.sparse_shares:
        mixed = np.logaddexp(np.log(share) + slab, np.log1p(-share) + spike) if share < 1 else slab
        gains = (mixed - spike).sum(1)
        place = int(gains.argmax())
        if gains[place] > best.gain:
            best = SparsePrior(float(spreads[place]), share, float(gains[place]))
    return best


def _log_densities(effects: Array, information: Array, spreads: Array) -> tuple[Array, Array, Array, Array]:
    """Effects that are seen and their variances, (k,); log-densities with each spread, (s, k), and with none, (k,)."""
    seen = information > 0
    b, variance = effects[seen], 1 / information[seen]
    wide = variance + np.square(spreads)[:, None]
    return b, variance, -(np.log(wide) + b**2 / wide) / 2, -(np.log(variance) + b**2 / variance) / 2


@dataclass(frozen=True, eq=False)
class LevelledRows:
    """Rows that effects are learned from.

    Attributes
    ----------
    codes : ndarray of shape (n, c), int
    sizes : sequence of c int
        Number of levels of each column.
    level : ndarray of shape (n,)
        Standardised log-odds of the confidence.
    correct : ndarray of shape (n,), 0 or 1
    start : ndarray of shape (n,)
        Log-odds that the effects are added to.
    count : ndarray of shape (n,)
        Numbers of rows.
    """

    codes: Codes
    sizes: Sequence[int]
    level: Array
    correct: Array
    start: Array
    count: Array

    @classmethod
    def of(cls, rows: LearningRows) -> Self:
        """Take what effects are learned from."""
        inputs, count = rows.at.inputs, np.ones(len(rows)) if rows.weight is None else rows.weight
        level = inputs.level.astype(np.float64)
        return cls(inputs.codes, inputs.level_counts, level, rows.correct, rows.at.offset, count)

    def take(self, some: NDArray[np.integer]) -> Self:
        """Keep some rows."""
        parts = ("codes", "level", "correct", "start", "count")
        return replace(self, **{name: getattr(self, name)[some] for name in parts})


Effects = dict[Term, NDArray[np.float64]]


def fit_sparse_effects(rows: LevelledRows) -> Effects:
    """Fit the effects of all terms; those without any are left out.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> codes, level = rng.integers(0, 4, (4000, 2)), rng.normal(size=4000)
    >>> off = (codes[:, 0] == 1) & (codes[:, 1] == 2)
    >>> correct = (rng.random(4000) < expit(level - 1.5 * off)).astype(float)
    >>> found = fit_sparse_effects(LevelledRows(codes, [4, 4], level, correct, level, np.ones(4000)))
    >>> effects = found[Term((0, 1))]
    >>> int(effects.argmin()), bool(effects.min() < -1)
    (6, True)
    """
    columns = range(len(rows.sizes))
    terms = [Term((j,)) for j in columns] + [Term((), slope=True)] + [Term((j,), slope=True) for j in columns]
    fit = _Backfitting(rows)
    for _ in range(AUTO.sparse_sweeps // 2):
        fit.sweep(terms)
    terms += fit.pairs()
    for _ in range(AUTO.sparse_sweeps - AUTO.sparse_sweeps // 2):
        fit.sweep(terms)
    return {term: effects for term, effects in fit.effects.items() if effects.any()}


class _Backfitting:
    def __init__(self, rows: LevelledRows) -> None:
        # groups are made of whole columns, which lie together in memory
        self._rows = replace(rows, codes=np.asfortranarray(rows.codes))
        self.effects: Effects = {}
        self._move_to(rows.start.astype(np.float64))

    def _move_to(self, log_odds: NDArray[np.float64]) -> None:
        p = expit(log_odds)
        self._log_odds = log_odds
        self._score, self._information = self._rows.count * (self._rows.correct - p), self._rows.count * p * (1 - p)

    def sweep(self, terms: Sequence[Term]) -> None:
        """Take a step for each term in turn."""
        for term in terms:
            group, size = term.groups(self._rows.codes, self._rows.sizes), term.size(self._rows.sizes)
            old = self.effects.get(term, np.zeros(size))
            alone, information, prior = self._seen(term, group, size, old)
            new = prior.shrink(alone, information) if prior.gain > term.least_gain else np.zeros(size)
            if (new != old).any():
                added = of_levels(new - old, group) * (self._rows.level if term.slope else 1.0)
                self._move_to(self._log_odds + added)
            self.effects[term] = new

    def pairs(self) -> list[Term]:
        """Pairs of columns, the first 25 with levels, that gain most beyond the effects so far."""
        paired = [c for c, size in enumerate(self._rows.sizes) if size > 1][: AUTO.most_paired_columns]
        gains: list[tuple[float, Term]] = []
        for columns in combinations(paired, 2):
            term = Term(columns)
            if (size := term.size(self._rows.sizes)) <= AUTO.most_pair_groups:
                *_, prior = self._seen(term, term.groups(self._rows.codes, self._rows.sizes), size, np.zeros(size))
                gains.append((prior.gain, term))
        strongest = sorted(gains, key=lambda one: (-one[0], one[1].columns))[: AUTO.most_pairs]
        return [term for gain, term in strongest if gain > term.least_gain]

    def _seen(self, term: Term, group: Codes, size: int, old: Array) -> tuple[Array, Array, SparsePrior]:
        """Effects as a Newton step sees them, and their information, (size,) each; and the prior that these teach."""
        score, information = self._score, self._information
        if term.slope:
            score, information = score * self._rows.level, information * self._rows.level**2
        score, information = level_sums(group, score, size), level_sums(group, information, size)
        if len(term.columns) > 1:
            information = np.where(level_sums(group, self._rows.count, size) >= AUTO.least_pair_rows, information, 0.0)
        alone = np.clip(old + score / np.maximum(information, 1e-9), -AUTO.shift_reach, AUTO.shift_reach)
        return alone, information, sparse_prior(alone, information)


@dataclass(frozen=True, eq=False)
class SparseMember(Member):
    """Shifts and slopes of the groups that stand out.

    Attributes
    ----------
    sizes : tuple of int
        Number of levels of each column.
    effects : dict of Term to ndarray of shape (groups,), float64
        Log-odds; positive raises the confidence, or steepens it.
    """

    sizes: tuple[int, ...]
    effects: Effects

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        return told_effects(self.effects, at.inputs.codes, self.sizes, at.inputs.level)


def told_effects(effects: Effects, codes: Codes, sizes: Sequence[int], level: Array) -> NDArray[np.float64]:
    """Sum the effects of rows, (n,); a row of no known group has none."""
    total = np.zeros(len(codes))
    for term, one in effects.items():
        total += of_levels(one, term.groups(codes, sizes)) * (level if term.slope else 1.0)
    return total


def crossfit_sparse_effects(rows: LearningRows) -> CrossFitted:
    """Fit out of fold, where groups that stand out are looked for in every fold anew, and on all rows."""
    learned, shift = LevelledRows.of(rows), np.zeros(len(rows))
    for fold in np.unique(rows.folds):
        inside = np.flatnonzero(rows.folds == fold)
        effects = fit_sparse_effects(learned.take(np.flatnonzero(rows.folds != fold)))
        shift[inside] = told_effects(effects, learned.codes[inside], learned.sizes, learned.level[inside])
    member = SparseMember(tuple(learned.sizes), fit_sparse_effects(learned))
    return CrossFitted(member, shift, {"terms": len(member.effects)})


def settle_pairs(rows: LearningRows, member: SparseMember, shift: Array) -> SparseMember:
    """Fit anew, beside the shift of a stack, those pairs of levels that stand out beyond chance among all pairs.

    A stack has one weight for all effects: it is little known where these are of few rows, and small where folds missed
    them. Pairs stand out by a standard error that counts units.
    """
    learned, unit = LevelledRows.of(rows), np.unique(rows.groups, return_inverse=True)[1]
    log_odds = learned.start + told_effects(member.effects, learned.codes, learned.sizes, learned.level)
    information = learned.count * expit(log_odds) * expit(-log_odds)
    # two sides of every pair of levels of two columns
    bound = -ndtri(LEVEL / max(1, sum(member.sizes) ** 2 - sum(size**2 for size in member.sizes)))
    found, inside, ridge = [], [], []
    for term in (term for term in member.effects if len(term.columns) > 1):
        group, effects = term.groups(learned.codes, learned.sizes), member.effects[term]
        known = level_sums(group, information, len(effects))
        for place in np.flatnonzero(np.abs(effects) * np.sqrt(known) > bound):
            these = group == place
            residual = learned.count * (learned.correct - expit(log_odds - effects[place])) * these
            spread = (np.bincount(unit, residual) ** 2).sum()
            if abs(residual.sum()) > bound * np.sqrt(spread):
                found.append((term, place))
                inside.append(these.astype(np.float64))
                # information is of so many times fewer units
                ridge.append(RIDGE * max(1.0, spread / known[place]))
    settled: Effects = {term: np.zeros(len(member.effects[term])) for term, _ in found}
    if found:
        start = learned.start + shift
        sizes, _ = fit_shifts(np.array(inside), learned.correct, start, learned.count, np.array(ridge), unit)
        for (term, place), size in zip(found, sizes, strict=True):
            settled[term][place] = size
    return SparseMember(member.sizes, settled)


def scores(rows: LearningRows) -> dict[str, Fit]:
    """Shifts and slopes of groups that stand out, where a column has levels."""
    return {GROUPS: crossfit_sparse_effects} if rows.at.inputs.codes.shape[1] else {}
