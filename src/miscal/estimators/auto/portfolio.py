"""The ordered portfolio of the default estimator, once: which scores there are, and how their shifts are put together.

    first scores --weights--> first stack --> refined kernels --+
                                   |                            +--weights--> shift
                                   +------------ local shift ---+

While the scores are fitted their shifts are out of fold; afterwards they are told for new rows. Both go through
:func:`weighted`. A new score is one module, with its line in ``FIRST``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from miscal.estimators.auto import clusters, few_columns, kernels, levels, sparse_effects, trees
from miscal.estimators.auto.geometry import LOCAL, worth_adding
from miscal.estimators.auto.member import CrossFitted, Fit, LearningRows, Member, Query
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]

FIRST: tuple[Callable[[LearningRows], dict[str, Fit]], ...] = (
    kernels.first_scores,
    trees.scores,
    clusters.scores,
    levels.scores,
    sparse_effects.scores,
)
"""Tell which scores of the first stack serve some rows, by name, in the order of the table of candidates."""

EARNING = frozenset({few_columns.NAME})
"""Scores that have no weight in the first stack but what they earn: most inputs have nothing for them to find."""

FIRST_STACK = "first stack"
"""Name of the first stack among the parts of the last one."""


def crossfit_first(rows: LearningRows) -> dict[str, CrossFitted]:
    """Cross-fit the scores of the first stack that serve some rows, by name; last those that must earn it."""
    fitted = {name: fit(rows) for scores in FIRST for name, fit in scores(rows).items()}
    if few_columns.serve(rows):
        # with many rows it is a fifth of the work, and one fold is enough to see that it would be in vain
        worth = partial(worth_adding, rows, columns(shifts_of(fitted))) if len(rows) >= AUTO.least_tried_rows else None
        fitted[few_columns.NAME] = few_columns.crossfit_few_columns(rows, worth)
    return fitted


def shifts_of(fitted: Mapping[str, CrossFitted]) -> dict[str, Array]:
    """Out-of-fold shifts by name."""
    return {name: score.shift for name, score in fitted.items()}


def columns(shifts: Mapping[str, Array]) -> NDArray[np.float64]:
    """Shifts side by side, (n, k)."""
    return np.stack(list(shifts.values()), 1)


def first_prior(names: Iterable[str]) -> NDArray[np.float64]:
    """Weights that those of the first stack are drawn to: alike, but for scores that must earn theirs.

    Examples
    --------
    >>> first_prior(["kernel", "boosted trees", few_columns.NAME]).tolist()
    [0.5, 0.5, 0.0]
    """
    given = np.array([name not in EARNING for name in names], np.float64)
    return given / max(given.sum(), 1.0)


def weighted(shifts: Mapping[str, Array], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Sum shifts by their named weights, (n,).

    Examples
    --------
    >>> weighted({"a": np.ones(2), "b": np.array([0.0, 2.0])}, {"a": 0.5, "b": 0.25}).tolist()
    [0.5, 1.0]
    """
    return columns(shifts) @ np.array([weights[name] for name in shifts])


@dataclass(frozen=True, eq=False)
class Portfolio:
    """Fitted scores with their weights.

    Attributes
    ----------
    first : dict of str to Member
        The scores of the first stack.
    first_weights : dict of str to float
        Where one of them alone is returned it has 1, the others 0.
    first_scale : float
        Standard deviation of the first stack's out-of-fold shift.
    later : dict of str to Member
        What stands beside the first stack in the last one: refined kernels, the local shift.
    weights : dict of str to float
        Of the first stack and of each of ``later``.
    """

    first: dict[str, Member]
    first_weights: dict[str, float]
    first_scale: float
    later: dict[str, Member]
    weights: dict[str, float]

    def first_shifts(self, at: Query) -> dict[str, NDArray[np.float64]]:
        """Logit shift of rows by each score of the first stack, (n,) each."""
        return {name: member.shift(at) for name, member in self.first.items()}

    def weighs(self, name: str) -> bool:
        """Whether a part of the last stack is there, with a weight other than 0."""
        return self.weights.get(name, 0.0) != 0

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence.

        A score of weight 0 is not computed. The first stack is, wherever a refined kernel stands on it.
        """
        later = {name: member for name, member in self.later.items() if self.weighs(name)}
        total = np.zeros(len(at.offset))
        if self.weighs(FIRST_STACK) or any(name != LOCAL for name in later):
            shifts = {name: member.shift(at) for name, member in self.first.items() if self.first_weights[name] != 0}
            first = weighted(shifts, self.first_weights) if shifts else total
            total = total + self.weights[FIRST_STACK] * first
            at = replace(at, first=first / self.first_scale)
        return total + sum(self.weights[name] * member.shift(at) for name, member in later.items())
