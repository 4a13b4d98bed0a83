"""Beside x, f and y: probabilities of several classes; a judge's scale, and the rows that nobody has judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from miscal.base.errors import InputError

LEAST_CLASSES = 3
"""Of two classes, the probability of one says everything: it is an event."""


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """What a classifier says of each row, and the class that the row has.

    Attributes
    ----------
    names : tuple of K str
        The classes, at least three.
    probability : (n, K) float64
        In [0, 1]; rows sum to 1.
    code : (n,) int64
        Place of the class that each row has.
    predicted_column : str, default "predicted"
        What the class predicted is called among the columns that name what is found.
    columns : tuple of K str
        Columns of the table that held the probabilities, in the order of `names`; empty where a matrix did.
    log : bool
        Whether they were written as natural logarithms.

    Examples
    --------
    >>> rows = ClassProbabilities(("cat", "dog", "owl"), np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2]]), np.array([1, 1]))
    >>> rows.predicted.tolist(), rows.take([1]).code.tolist()
    ([1, 0], [1])
    """

    names: tuple[str, ...]
    probability: NDArray[np.float64]
    code: NDArray[np.int64]
    predicted_column: str = "predicted"
    columns: tuple[str, ...] = ()
    log: bool = False

    def __len__(self) -> int:
        return len(self.code)

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Place of the class with the largest probability, (n,); of equal ones the first."""
        return self.probability.argmax(axis=1)

    def take(self, index: NDArray) -> ClassProbabilities:
        """Return the rows `index` (numbers or a mask), in that order."""
        return replace(self, probability=self.probability[index], code=self.code[index])


MOST_LEVELS = 12
"""A scale of more scores than this is mapped by two numbers, because a rate for each score would follow chance."""

_KNOTS = 65
"""Scores at which such a map is kept; between them it is linear, less than 0.001 from the curve."""

_PRIOR = 1.0
"""Answers at the mean rate that are added to each score, so that no score of few answers stands for never or always."""

_RIDGE = 1e-3
"""Keeps the two numbers finite where a scale separates the verdicts."""


@dataclass(frozen=True)
class JudgeScale:
    """How often people approve at each score of a judge: a map that never falls.

    Attributes
    ----------
    scores : tuple of k float
        In rising order. Between two of them the map is linear, and beyond the ends constant.
    approval : tuple of k float
        In (0, 1), not falling.
    words : tuple of str
        What the scores are written as, where they are no numbers: of failing first.

    Examples
    --------
    >>> scale = JudgeScale((1.0, 3.0, 5.0), (0.1, 0.4, 0.9))
    >>> scale.probability(np.array([1, 2, 7])).tolist()
    [0.1, 0.25, 0.9]
    """

    scores: tuple[float, ...]
    approval: tuple[float, ...]
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values = np.array([self.scores, self.approval], dtype=np.float64)
        rising = len(self.scores) > 0 and (np.diff(values[0]) > 0).all() and (np.diff(values[1]) >= 0).all()
        if not rising or not np.isfinite(values).all() or not ((values[1] >= 0) & (values[1] <= 1)).all():
            raise ValueError("the scores of a judge and their approval must rise, and approval lie from 0 to 1")

    @classmethod
    def fit(
        cls,
        score: NDArray[np.float64],
        approved: NDArray[np.float64],
        weight: NDArray[np.float64] | None = None,
        words: tuple[str, ...] = (),
    ) -> Self:
        """Learn the map from answers that people have judged.

        One map for all rows: maps of folds would give equal scores another probability in each fold, which the row's
        own verdict had pushed the other way, and every test of equal scores would find that.

        `approved` (n,): 0 or 1; `words`: as the attribute.

        Examples
        --------
        >>> scale = JudgeScale.fit(np.repeat([1.0, 2.0], 50), np.repeat([0.0, 1.0, 1.0], [40, 10, 50]))
        >>> [round(rate, 2) for rate in scale.approval]
        [0.21, 0.99]
        """
        weight = np.ones(len(score)) if weight is None else weight / weight.max()
        # sums of another order are rounded otherwise
        order = np.lexsort((weight, approved, score))
        score, approved, weight = score[order], approved[order], weight[order] / weight[order].mean()
        levels, place = np.unique(score, return_inverse=True)
        if len(levels) > MOST_LEVELS:
            knots = np.unique(np.quantile(score, np.linspace(0, 1, _KNOTS)))
            rates = _logistic(score, approved, weight, knots)
        else:
            knots, counts = levels, np.bincount(place, weight)
            mean = np.average(approved, weights=weight)
            rates = (np.bincount(place, weight * approved) + _PRIOR * mean) / (counts + _PRIOR)
            rates = isotonic_regression(rates, weights=counts + _PRIOR).x
        return cls(tuple(knots.tolist()), tuple(float(rate) for rate in rates), words)

    def probability(self, score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often people approve at each score, (n,) in [0, 1]; NaN where the score is."""
        found = np.interp(score, self.scores, self.approval)
        return np.where(np.isnan(score), np.nan, found)

    @property
    def informative(self) -> bool:
        """Whether people approve more often at a higher score anywhere."""
        return self.approval[-1] > self.approval[0]


def _logistic(
    score: NDArray[np.float64], approved: NDArray[np.float64], weight: NDArray[np.float64], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Logistic regression on the score alone, which does not fall."""
    from sklearn.linear_model import LogisticRegression

    if len(np.unique(approved)) < 2:
        raise InputError("human: people gave one verdict alone; give answers of both")
    centre, spread = score.mean(), score.std()
    fitted = LogisticRegression(C=1 / _RIDGE).fit((score - centre)[:, None] / spread, approved, sample_weight=weight)
    if fitted.coef_[0, 0] <= 0:
        return np.full(len(at), np.average(approved, weights=weight))
    return fitted.predict_proba((at - centre)[:, None] / spread)[:, 1]


@dataclass(frozen=True, eq=False)
class JudgeReading:
    """What belongs to rows that people have judged, beside score and verdict.

    Attributes
    ----------
    scale : JudgeScale or None
        How the judge's scores became probabilities; None where they are probabilities as they stand.
    unjudged : Triples
        The other rows, whose outcomes are NaN.
    labelling : (n,) float64 or None
        Probability by which each row was chosen for people to judge; None where all were chosen alike.
    """

    scale: JudgeScale | None
    unjudged: Any
    labelling: NDArray[np.float64] | None = None

    def take(self, index: NDArray) -> JudgeReading:
        """Return the rows `index` (numbers or a mask), in that order; the rows that people have not judged stay."""
        return replace(self, labelling=None if self.labelling is None else self.labelling[index])
