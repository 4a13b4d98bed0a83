"""Shifts by the levels of columns: an additive model of random effects, for categories of any number of levels.

The logit shift of a row is the sum of one effect for each of its columns, b_j ~ N(0, tau_j^2) for the levels of column
j. Each tau_j is the one under which the column's levels together are most likely (empirical Bayes), so that a level of
few rows borrows from the others, and a column that says nothing has effects of 0. The effects are found by backfitting
(Hastie & Tibshirani, 1986) with a Newton step for each column in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.estimators.auto.member import CrossFitted, Fit, LearningRows, Member, Query
from miscal.estimators.auto.settings import AUTO

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


@dataclass(frozen=True, eq=False)
class LevelMember(Member):
    """The effects of the levels of each column.

    Attributes
    ----------
    effects : tuple of ndarray of shape (size,), float64
        Logit shifts; positive raises the confidence.
    """

    effects: tuple[NDArray[np.float64], ...]

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        parts = zip(self.effects, at.inputs.codes.T, strict=True)
        return sum((of_levels(effects, codes) for effects, codes in parts), np.zeros(len(at.offset)))


def crossfit_levels(rows: LearningRows) -> CrossFitted:
    """Fit out of fold, and on all rows."""
    codes, sizes, start = rows.at.inputs.codes, rows.at.inputs.level_counts, rows.at.offset
    shift = np.zeros(len(rows))
    for fold in np.unique(rows.folds):
        inside = rows.folds == fold
        some = np.flatnonzero(~inside)
        effects = fit_effects(codes[some], sizes, rows.correct[some], start[some], rows.weight_of(some))
        shift[inside] = sum(of_levels(one, codes[inside, j]) for j, one in enumerate(effects))
    member = LevelMember(tuple(fit_effects(codes, sizes, rows.correct, start, rows.weight)))
    return CrossFitted(member, shift, {"columns": len(sizes)})


def scores(rows: LearningRows) -> dict[str, Fit]:
    """Shifts of levels, where a column has any.

    In a long table they add nothing to the groups that stand out and the trees of columns: without them its log loss
    left out is the same (`benchmarks/notes/answered.md`, flights and census).
    """
    serve = rows.at.inputs.codes.shape[1] and not rows.long_table
    return {"shift by level of columns": crossfit_levels} if serve else {}


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
