"""What an estimator says of each row, and what a fitted field shows of itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from miscal.base.shown import Shown


@dataclass(frozen=True, eq=False)
class FieldEstimate:
    """The miscalibration field at n rows; float64 arrays of shape (n,) unless said otherwise.

    Attributes
    ----------
    delta : in [-1, 1]
        Estimate of E[Y - f | X]; negative where over-confident, positive where under-confident.
    mass : not negative
        Sum of kernel weights: how many neighbours the estimate rests on.
    supported : bool
        Whether enough of the rows learned from lie nearby to trust a local estimate.
    visible : in [-1, 1]
        The part a reliability diagram can show, E[Y | f] - f, by the global map.
    hidden : array
        The rest, delta - visible.
    corrected : in [0, 1]
        Locally corrected confidences.
    coordinates : shape (n, k)
        Rows in the learned geometry, where those miscalibrated alike lie close.
    standard_error : not negative
        Of delta, given the representation, from the spread of the neighbours.
    local : bool
        Whether `delta` is a local estimate; elsewhere it is the global map's, and the row belongs to no regime. By
        default, wherever the row is supported; a method may keep local estimates elsewhere, too.
    ungated : in [-1, 1]
        The hidden part as it was learned, whether or not the estimator takes it for more than noise: tests decide by
        outcomes that it has not seen. By default `hidden`.

    Examples
    --------
    >>> two = np.array([-0.2, 0.1])
    >>> few = {"mass": np.array([30.0, 0.5]), "supported": np.array([True, False]), "standard_error": np.full(2, 0.05)}
    >>> at = {"visible": np.zeros(2), "hidden": two, "corrected": 0.6 + two, "coordinates": np.zeros((2, 1))}
    >>> estimate = FieldEstimate(delta=two, **few, **at)
    >>> estimate.take(estimate.supported).delta
    array([-0.2])
    """

    delta: np.ndarray
    mass: np.ndarray
    supported: np.ndarray
    visible: np.ndarray
    hidden: np.ndarray
    corrected: np.ndarray
    coordinates: np.ndarray
    standard_error: np.ndarray
    local: np.ndarray = None  # pyrefly: ignore[bad-assignment]
    ungated: np.ndarray = None  # pyrefly: ignore[bad-assignment]

    def __post_init__(self) -> None:
        _default_local(self)
        if self.ungated is None:
            object.__setattr__(self, "ungated", self.hidden)

    def take(self, index: np.ndarray) -> FieldEstimate:
        """Return the estimates of some rows, by number or by a boolean mask."""
        return FieldEstimate(**{item.name: getattr(self, item.name)[index] for item in fields(self)})


@dataclass(frozen=True, eq=False)
class Correction:
    """Corrected confidences of n rows, with no more than they need; float64 arrays of shape (n,) unless said otherwise.

    Attributes
    ----------
    delta : in [-1, 1]
        Estimate of E[Y - f | X]; negative where over-confident, positive where under-confident.
    corrected : in [0, 1]
    supported : bool
        Whether enough of the rows learned from lie nearby to trust a local estimate.
    mass : not negative, or None
        Sum of kernel weights; None where the kernel has no weight in the answer, so that it was not computed.
    local : bool
        Whether `corrected` is a local estimate; elsewhere it is the global map's. By default, wherever the row is
        supported.
    """

    delta: np.ndarray
    corrected: np.ndarray
    supported: np.ndarray
    mass: np.ndarray | None
    local: np.ndarray = None  # pyrefly: ignore[bad-assignment]

    def __post_init__(self) -> None:
        _default_local(self)


@dataclass(frozen=True, eq=False)
class Unlike:
    """How new rows differ from those learned from.

    Attributes
    ----------
    far : int array of shape (d,)
        New rows whose value is more than 10 standard deviations from the mean.
    changed : int array of shape (d,)
        New rows with another value than the only one that was learned from.
    """

    far: np.ndarray
    changed: np.ndarray


def regimes_of(delta: np.ndarray, epsilon: float, local: np.ndarray | None = None) -> np.ndarray:
    """Name the regime of each row: "over" below -epsilon, "under" above epsilon, else "good"; None where not local.

    Examples
    --------
    >>> regimes_of(np.array([-0.2, 0.05, 0.3]), 0.05, np.array([True, True, False])).tolist()
    ['over', 'good', None]
    """
    regime = np.full(len(delta), "good", dtype=object)
    regime[delta < -epsilon] = "over"
    regime[delta > epsilon] = "under"
    if local is not None:
        regime[~local] = None
    return regime


def _default_local(estimate: FieldEstimate | Correction) -> None:
    if estimate.local is None:
        object.__setattr__(estimate, "local", estimate.supported)


_MAPS = {
    "identity": "none: confidences are taken as they are",
    "shift": "a shift of the log-odds",
    "temperature": "temperature scaling",
    "platt": "Platt scaling",
    "isotonic": "isotonic regression",
}


def shown_field(field: Any) -> Shown:
    """Return the parameters of a `MiscalibrationField` and, where it is fitted, what it learned.

    Examples
    --------
    >>> from miscal.estimators.field import MiscalibrationField
    >>> print(shown_field(MiscalibrationField()).text())
    MiscalibrationField()
    <BLANKLINE>
    Not fitted yet: fit(X, y, confidence=f) learns where confidences are too high and too low.
    """
    title = " ".join(repr(field).split())
    if not hasattr(field, "fitted_"):
        todo = "Not fitted yet: fit(X, y, confidence=f) learns where confidences are too high and too low."
        return Shown(title, sentences=(todo,))
    local = "Confidences are corrected by where an input lies, as well as by themselves."
    none = "No local structure was found beyond noise, so only the global map corrects confidences."
    return Shown(
        title,
        sentences=(local if field.structure_ else none,),
        facts=(*_facts(field),),
    )


def _facts(field: Any) -> list[tuple[str, str]]:
    names = getattr(field, "feature_names_in_", ())
    named = f": {', '.join(map(str, names))}" if len(names) else ""
    return [
        ("inputs", f"{field.n_features_in_:,} columns{named}"),
        ("global map", _MAPS.get(field.global_map_.name, field.global_map_.name)),
        ("candidates", f"{len(field.selection_):,} compared, see selection_"),
    ]
