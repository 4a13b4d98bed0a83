"""Shifts of the log-probabilities of all classes by the likeliest class: who is taken for whom.

Where a model answers cat, the animal may be a dog more often than the probability of dog says, and where it answers owl
less often. No map of the probabilities alone says so: it gives every row of equal probabilities the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from miscal.estimators.simplex.regression import crossfit_regression
from miscal.estimators.simplex.way import ClassRows, CrossFittedShift, Floats, State

MOST_CONFUSED = 30
"""Classes up to which these shifts are tried: there is one for every two classes, and the cost grows with the cube."""


@dataclass(frozen=True, eq=False)
class ConfusionShift:
    """A shift of each class for every class that may be the likeliest.

    Attributes
    ----------
    coefficients : (K, K) float64
        Of each class in a column, where the class of the row is the likeliest.
    """

    kind: ClassVar[str] = "confusions"

    coefficients: Floats

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
        """Shift of each class, (n, K); the inputs are not looked at."""
        return self.coefficients[raw.argmax(axis=1)]

    def state(self) -> State:
        """Return the coefficients."""
        return {}, {"coefficients": self.coefficients}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        return cls(arrays["coefficients"])


def crossfit_confusions(rows: ClassRows) -> CrossFittedShift:
    """Fit the shifts out of fold and to all rows."""
    found = crossfit_regression(np.eye(rows.raw.shape[1])[rows.raw.argmax(axis=1)], rows)
    member = ConfusionShift(found.coefficients)
    return CrossFittedShift("confusions", member, found.shift, {"ridge": found.ridge})
