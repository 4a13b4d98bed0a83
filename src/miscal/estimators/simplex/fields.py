"""Shifts by a miscalibration field for each class: the class as an event of its own, then all put together again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.state_folder import under, with_prefix
from miscal.base.vocabulary import EVENT
from miscal.calibration.calibrators import logit
from miscal.calibration.simplex_maps import LEAST_PROBABILITY
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.registry import Estimator, estimator_class
from miscal.estimators.simplex.way import ClassRows, CrossFittedShift, Floats, State

MOST_FIELDS = 20
"""Classes that get a field of their own, the most frequent ones: each costs a fit for every fold."""

_LEAST_OF_CLASS = 30
"""Rows that a class needs, and the others together, in what its field is learned from."""

BY_ODDS, BY_PROBABILITY = "fields, shifts of log-odds", "fields, corrected probabilities"


@dataclass(frozen=True, eq=False)
class FieldsShift:
    """A field for each of some classes.

    Attributes
    ----------
    fields : dict of int to Estimator
        The fitted estimator behind each field, by the place of the class.
    method : {"auto", "paper"}
        Of all fields.
    by_odds : bool
        Whether a class's log-probability is shifted by what its field adds to its log-odds, or becomes the logarithm of
        its corrected probability.
    """

    kind: ClassVar[str] = "fields"

    fields: dict[int, Estimator]
    method: str
    by_odds: bool

    def at(self, X: NDArray, base: Floats, raw: Floats) -> Floats:
        """Shift of each class, (n, K)."""
        return _shifts(self.fields, X, base)[0 if self.by_odds else 1]

    def state(self) -> State:
        """Return what the fields hold, each named below the place of its class."""
        content: dict[str, Any] = {"method": self.method, "by_odds": self.by_odds, "fields": {}}
        arrays: dict[str, np.ndarray] = {}
        for place, field in self.fields.items():
            content["fields"][str(place)], held = field.state()
            arrays |= with_prefix(str(place), held)
        return content, arrays

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        one = estimator_class(content["method"])
        fields = {int(place): one.from_state(held, under(place, arrays)) for place, held in content["fields"].items()}
        return cls(fields, content["method"], bool(content["by_odds"]))


def crossfit_fields(rows: ClassRows, method: str = "auto") -> list[CrossFittedShift]:
    """Fit a field for each class, out of fold and to all rows, and put them together in both ways."""
    classes = _chosen(rows)
    out = np.zeros((2, *rows.base.shape))
    for k in np.unique(rows.folds):
        inside = rows.folds == k
        out[:, inside] = _shifts(_fields(rows, classes, ~inside, method), rows.X[inside], rows.base[inside])
    final = _fields(rows, classes, np.ones(len(rows), dtype=bool), method)
    names = (BY_ODDS, BY_PROBABILITY)
    settings = {"classes": [int(c) for c in final]}
    return [
        CrossFittedShift(name, FieldsShift(final, method, name == BY_ODDS), shift, settings)
        for name, shift in zip(names, out, strict=True)
    ]


def _chosen(rows: ClassRows) -> list[int]:
    sizes = np.bincount(rows.code, minlength=rows.base.shape[1])
    return np.argsort(-sizes, kind="stable")[:MOST_FIELDS].tolist()


def _fields(rows: ClassRows, classes: list[int], inside: NDArray[np.bool_], method: str) -> dict[int, Estimator]:
    fields = {}
    for one in classes:
        happened = (rows.code[inside] == one).astype(np.float64)
        if min(happened.sum(), len(happened) - happened.sum()) < _LEAST_OF_CLASS:
            continue
        triples = Triples(
            rows.X[inside], np.exp(rows.base[inside, one]), happened, weight=rows.weight[inside],
            group=None if rows.groups is None else rows.groups[inside], layout=rows.layout, kind=EVENT,
        )  # fmt: skip
        fields[one] = MiscalibrationField(method, random_state=rows.seed, n_jobs=1).fit_triples(triples).fitted_
    return fields


def _shifts(fields: Mapping[int, Estimator], X: NDArray, base: Floats) -> Floats:
    """Shifts by log-odds and by probabilities, (2, n, K); 0 of classes without a field."""
    found = np.zeros((2, *base.shape))
    for one, field in fields.items():
        given = np.exp(base[:, one])
        corrected = field.correct(X, given).corrected
        found[0, :, one] = logit(corrected) - logit(given)
        found[1, :, one] = np.log(np.maximum(corrected, LEAST_PROBABILITY)) - base[:, one]
    return found
