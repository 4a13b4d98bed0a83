"""Shifts by the levels of columns: effects of all levels that differ a little, and of the few groups that stand out.

All levels: the logit shift of a row is the sum of one effect for each of its columns, b_j ~ N(0, tau_j^2) for the
levels of column j. Each tau_j is the one under which the column's levels together are most likely (empirical Bayes), so
that a level of few rows borrows from the others, and a column that says nothing has effects of 0. The effects are found
by backfitting (Hastie & Tibshirani, 1986) with a Newton step for each column in turn.

Few groups: most effects of a term (the levels of a column, those of two columns together, or the slopes of the
confidence by level) are 0, and some are large: they are 0 but for a share of them, which is N(0, tau^2). Share and tau
are those under which the effects of the term together are most likely (spike and slab, Mitchell & Beauchamp, 1988); a
term that gains too little log-likelihood by them has no effects. A group of few rows, or one that hardly stands out, is
therefore drawn to 0, and one that does keeps most of what its rows say. Effects are found by backfitting, too; the
pairs of columns are those that gain most once single columns have had their say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from miscal.estimators.auto.member import CrossFitted, Fit, LearningRows, Member, Query
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.shifts import LEVEL, RIDGE, fit_shifts

Array = NDArray[np.floating]
Codes = NDArray[np.integer]


def level_sums(codes: Codes, values: Array, size: int) -> NDArray[np.float64]:
    """Sum values by level, (size,); rows of no known level, -1, are left out.

    Examples
    --------
    >>> level_sums(np.array([0, 2, -1, 2]), np.array([1.0, 2.0, 4.0, 8.0]), 3).tolist()
    [1.0, 0.0, 10.0]
    """
    return np.bincount(codes + 1, values, size + 1)[1:]


def of_levels(effects: Array, codes: Codes) -> NDArray[np.float64]:
    """Look up the effect of each row's level, (n,); 0 for rows of no level that was learned from.

    Examples
    --------
    >>> of_levels(np.array([0.5, -0.5]), np.array([1, -1, 0])).tolist()
    [-0.5, 0.0, 0.5]
    """
    return np.append(effects, 0.0)[np.where(codes < len(effects), codes, -1)]


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


Effects = dict[Term, NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class LevelMember(Member):
    """Shifts and slopes of groups of rows, which have levels in common.

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


def level_spread(effects: Array, information: Array) -> float:
    """Estimate the standard deviation tau of effects that are seen as N(b, 1 / information), by maximum likelihood.

    Examples
    --------
    >>> level_spread(np.array([0.1, -0.1]), np.array([4.0, 4.0]))
    0.0
    >>> level_spread(np.array([1.0, -1.0, 1.0]), np.full(3, 400.0))
    1.0
    """
    seen = information > 0
    variance = 1 / information[seen] + np.square(AUTO.level_spreads)[:, None]
    fit = np.log(variance) + np.square(effects[seen]) / variance
    return AUTO.level_spreads[int(fit.sum(1).argmin())]


def fit_effects(
    codes: Codes, sizes: Sequence[int], correct: Array, start: Array, weight: Array | None = None
) -> list[NDArray[np.float64]]:
    """Fit the effects of all levels of all columns.

    Takes codes (n, c): level of each row in each column, or -1; sizes: number of levels of each column; correct (n,);
    start (n,): log-odds that the effects are added to; weight (n,). Returns list of ndarray of shape (size,),
    float64: Logit shift of each level.

    Examples
    --------
    >>> codes, correct = np.repeat([[0], [1]], 200, axis=0), np.tile([0.0, 1, 1, 1], 100)
    >>> effects, = fit_effects(codes, [2], np.where(codes[:, 0] == 0, correct, 1 - correct), np.zeros(400))
    >>> effects.round(1).tolist()
    [1.1, -1.1]
    """
    count = np.ones(len(correct)) if weight is None else weight
    effects, log_odds = [np.zeros(size) for size in sizes], start.astype(np.float64)
    for _ in range(AUTO.level_sweeps):
        for j, size in enumerate(sizes):
            p, level, old = expit(log_odds), codes[:, j], effects[j]
            score = level_sums(level, count * (correct - p), size)
            information = level_sums(level, count * p * (1 - p), size)
            alone = old + score / np.maximum(information, 1e-9)
            tau = level_spread(np.clip(alone, -AUTO.shift_reach, AUTO.shift_reach), information)
            effects[j] = (information * old + score) / (information + tau**-2) if tau else np.zeros(size)
            log_odds = log_odds + of_levels(effects[j] - old, level)
    return effects


def crossfit_levels(rows: LearningRows) -> CrossFitted:
    """Fit out of fold, and on all rows."""
    codes, sizes, start = rows.at.inputs.codes, rows.at.inputs.level_counts, rows.at.offset
    shift = np.zeros(len(rows))
    for fold in np.unique(rows.folds):
        inside = rows.folds == fold
        some = np.flatnonzero(~inside)
        effects = fit_effects(codes[some], sizes, rows.correct[some], start[some], rows.weight_of(some))
        shift[inside] = sum(of_levels(one, codes[inside, j]) for j, one in enumerate(effects))
    every = fit_effects(codes, sizes, rows.correct, start, rows.weight)
    member = LevelMember(tuple(sizes), {Term((j,)): one for j, one in enumerate(every)})
    return CrossFitted(member, shift, {"columns": len(sizes)})


@dataclass(frozen=True, eq=False)
class LevelStatistics:
    """What the residuals of each level say, by fold, so that any folds can be left out of it.

    Attributes
    ----------
    score, information : tuple of ndarray of shape (folds, size), float64
        Sums of y - p and of p (1 - p) over the rows of a fold and a level, for each column.
    """

    score: tuple[NDArray[np.float64], ...]
    information: tuple[NDArray[np.float64], ...]

    @classmethod
    def of(cls, rows: LearningRows, fold: NDArray[np.integer], start: Array) -> Self:
        """Sum over the rows learned from; `fold` numbers their folds from 0, `start` is log-odds, (n,)."""
        inputs, p = rows.at.inputs, expit(start)
        count = np.ones(len(rows)) if rows.weight is None else rows.weight
        n_folds = int(fold.max()) + 1

        def by_fold(values: Array, codes: Codes, size: int) -> NDArray[np.float64]:
            parts = [level_sums(codes[fold == k], values[fold == k], size) for k in range(n_folds)]
            return np.stack(parts)

        columns = list(zip(inputs.codes.T, inputs.level_counts, strict=True))
        return cls(
            tuple(by_fold(count * (rows.correct - p), codes, size) for codes, size in columns),
            tuple(by_fold(count * p * (1 - p), codes, size) for codes, size in columns),
        )

    def without(self, *folds: int) -> list[NDArray[np.float64]]:
        """Shrunken shift of each level of each column, (size,) each, from all folds but these."""
        kept = [k for k in range(len(self.score[0])) if k not in folds]
        parts = zip(self.score, self.information, strict=True)
        return [score[kept].sum(0) / (information[kept].sum(0) + AUTO.level_ridge) for score, information in parts]


def level_columns(statistics: Sequence[Array], codes: Codes) -> NDArray[np.float32]:
    """Replace levels by their shrunken shifts, (n, c)."""
    return np.stack([of_levels(one, codes[:, j]) for j, one in enumerate(statistics)], 1).astype(np.float32)


GROUPS, PAIRS = "shift and slope of groups that stand out", "shift of pairs beyond chance"


def shrunk(effects: Array, information: Array) -> tuple[NDArray[np.float64], float]:
    """Shrink effects that are seen as N(b, 1 / information) by the prior under which they are most likely.

    Returns their posterior means, (k,), 0 where nothing is seen; and the log-likelihood of the effects under that
    prior, N(0, spread^2) for a share of them, less that of no effects, in nats.

    Examples
    --------
    >>> means, gain = shrunk(np.r_[np.zeros(19), 1.0], np.full(20, 100.0))
    >>> [round(float(one), 2) for one in (means[-1], abs(means[0]))], gain > 10
    ([0.99, 0.0], True)
    """
    spreads, found, best = np.array(AUTO.sparse_spreads), np.zeros(len(effects)), 0.0
    b, variance, slabs, spike = _log_densities(effects, information, spreads)
    for share in AUTO.sparse_shares:
        mixed = np.logaddexp(np.log(share) + slabs, np.log1p(-share) + spike) if share < 1 else slabs
        gains = (mixed - spike).sum(1)
        place = int(gains.argmax())
        if gains[place] > best:
            best, wide = float(gains[place]), spreads[place] ** 2
            odds = np.log(share) + slabs[place] - np.log1p(-share) - spike if share < 1 else np.inf
            found[information > 0] = expit(odds) * b * wide / (variance + wide)
    return found, best


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
            new, gain = self._seen(term, group, size, old)
            if gain <= term.least_gain:
                new = np.zeros(size)
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
                group = term.groups(self._rows.codes, self._rows.sizes)
                gains.append((self._seen(term, group, size, np.zeros(size))[1], term))
        strongest = sorted(gains, key=lambda one: (-one[0], one[1].columns))[: AUTO.most_pairs]
        return [term for gain, term in strongest if gain > term.least_gain]

    def _seen(self, term: Term, group: Codes, size: int, old: Array) -> tuple[NDArray[np.float64], float]:
        """Effects as a Newton step sees them, shrunken, (size,); and the log-likelihood that they gain."""
        score, information = self._score, self._information
        if term.slope:
            score, information = score * self._rows.level, information * self._rows.level**2
        score, information = level_sums(group, score, size), level_sums(group, information, size)
        if len(term.columns) > 1:
            information = np.where(level_sums(group, self._rows.count, size) >= AUTO.least_pair_rows, information, 0.0)
        alone = np.clip(old + score / np.maximum(information, 1e-9), -AUTO.shift_reach, AUTO.shift_reach)
        return shrunk(alone, information)


def crossfit_sparse_effects(rows: LearningRows) -> CrossFitted:
    """Fit out of fold, where groups that stand out are looked for in every fold anew, and on all rows."""
    learned, shift = LevelledRows.of(rows), np.zeros(len(rows))
    for fold in np.unique(rows.folds):
        inside = np.flatnonzero(rows.folds == fold)
        effects = fit_sparse_effects(learned.take(np.flatnonzero(rows.folds != fold)))
        shift[inside] = told_effects(effects, learned.codes[inside], learned.sizes, learned.level[inside])
    member = LevelMember(tuple(learned.sizes), fit_sparse_effects(learned))
    return CrossFitted(member, shift, {"terms": len(member.effects)})


def settle_pairs(rows: LearningRows, member: LevelMember, shift: Array) -> LevelMember:
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
    return LevelMember(member.sizes, settled)


def scores(rows: LearningRows) -> dict[str, Fit]:
    """Shifts of all levels, where a column has any; and shifts and slopes of groups that stand out.

    In a long table the former add nothing to the latter and the trees of columns: without them its log loss left out is
    the same (`benchmarks/notes/answered.md`, flights and census).
    """
    if not rows.at.inputs.codes.shape[1]:
        return {}
    every: dict[str, Fit] = {} if rows.long_table else {"shift by level of columns": crossfit_levels}
    return {**every, GROUPS: crossfit_sparse_effects}
