"""What all members of the portfolio share: the rows they learn from, and the two forms of a score.

A score that is still to be fitted is a function that cross-fits it on :class:`LearningRows`. What it leaves is a
*member*: it tells the logit shift of new rows, and can be saved. A new score is one module with both, and its two
lines in :mod:`miscal.estimators.auto.model`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.estimators.auto.inputs import ScoreInputs
from miscal.estimators.auto.readout import LocalReadout
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Query:
    """Rows as a score sees them, the same while it learns and afterwards.

    Attributes
    ----------
    inputs : ScoreInputs
    offset : ndarray of shape (n,)
        Log-odds of the global map: what every shift is added to.
    raw : ndarray of shape (n,)
        Log-odds of the confidence itself.
    first : ndarray of shape (n,), optional
        Shift of the first stack, of unit size, for scores that refine it.
    readout : LocalReadout, optional
        What the kernel readout tells of the rows.
    """

    inputs: ScoreInputs
    offset: Array
    raw: Array
    first: Array | None = None
    readout: LocalReadout | None = None

    def start(self, from_raw: bool) -> Array:
        """Log-odds that a score starts from: the confidence's, or the global map's."""
        return self.raw if from_raw else self.offset


@dataclass(frozen=True, eq=False)
class LearningRows:
    """What every score learns from.

    Attributes
    ----------
    at : Query
        The rows; `at.offset` holds out-of-fold log-odds of the global map.
    correct : ndarray of shape (n,), 0 or 1
    groups : ndarray of shape (n,), int
        Rows with the same number are in one fold.
    folds : ndarray of shape (n,), int
    landmarks : ndarray of shape (m,), int
        Row numbers that span the kernels.
    weight : ndarray of shape (n,) or None
        Numbers of rows.
    seed : int
    table : bool
        Whether the inputs that place rows are the columns of a table, not an embedding.
    centres : tuple of ndarray of shape (k, q), float32
        Of partitions of the rows into clusters, in the leading components.
    """

    at: Query
    correct: Array
    groups: NDArray[np.integer]
    folds: NDArray[np.integer]
    landmarks: NDArray[np.integer]
    weight: Array | None = None
    seed: int = 0
    table: bool = False
    centres: tuple[NDArray[np.float32], ...] = ()

    def __len__(self) -> int:
        return len(self.correct)

    @property
    def few_columns(self) -> bool:
        """Whether every direction of the inputs can be learned."""
        return self.at.inputs.x.shape[1] <= AUTO.few_columns

    @property
    def long_table(self) -> bool:
        """Whether the inputs are the columns of a table, some of which have levels, and the rows are not few."""
        return self.table and self.at.inputs.codes.shape[1] > 0 and not self.few_rows

    @property
    def few_rows(self) -> bool:
        """Whether the rows do not carry a second stage of scores."""
        return len(self) < AUTO.least_refined_rows

    def weight_of(self, rows: Any) -> Array | None:
        """Weights of some rows; None where all are 1."""
        return None if self.weight is None else self.weight[rows]


class Member:
    """A fitted score: a dataclass, whose fields are what is saved of it."""

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Return the logit shift of rows over ``at.offset``, (n,); positive raises the confidence."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """A score with its out-of-fold shifts.

    Attributes
    ----------
    member : Member
        Fitted on all rows.
    shift : ndarray of shape (n,)
        Logit shift of each row it learned from, over the offset, told without the row's fold.
    settings : dict
        What was chosen, for the table of candidates.
    """

    member: Member
    shift: NDArray[np.float64]
    settings: dict[str, Any]


Fit = Callable[[LearningRows], CrossFitted]
"""Fits a score out of fold, and on all rows."""
