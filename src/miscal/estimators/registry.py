"""What an estimator says of each row, the protocol of estimators, and their list.

Each is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from inspect import signature
from typing import Any, ClassVar, Self

import numpy as np

from miscal.base.errors import InputError
from miscal.base.folders import built, built_of_fields, under
from miscal.base.process import need
from miscal.base.shown import Shown
from miscal.calibration.calibrators import Calibrator
from miscal.data.triples import Triples
from miscal.estimators.input_profile import InputProfile


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


ESTIMATORS = {
    "auto": "miscal.estimators.auto.estimator:AutoField",
    "paper": "miscal.estimators.paper.field:PaperField",
    "shifts": "miscal.estimators.shifts:ShiftField",
}
"""Name of a method: the module and the class, an :class:`miscal.estimators.registry.Estimator`."""

EXTRA_OF = {"paper": ("paper", "torch")}
"""Method: the extra that brings what it computes with, and the package it needs of it."""

DEVICES = ("auto", "cpu", "cuda")
"""Where a method may compute: "auto" is the GPU where there is one and the method has a use for it, else the CPU."""

_COMMON = ("random_state", "n_jobs", "device")


def estimator_class(method: str) -> type[Estimator]:
    """Look an estimator up by name.

    Takes method: one of ``ESTIMATORS``.

    Examples
    --------
    >>> estimator_class("auto").__name__
    'AutoField'
    """
    if method not in ESTIMATORS:
        raise InputError(f"method must be one of {', '.join(ESTIMATORS)}; got {method!r}")
    if method in EXTRA_OF:
        extra, package = EXTRA_OF[method]
        need(extra, f'method="{method}"', package)
    module, name = ESTIMATORS[method].split(":")
    return getattr(import_module(module), name)


def check_device(name: str) -> None:
    """Refuse what names no device.

    Examples
    --------
    >>> check_device("gpu")
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: device must be one of auto, cpu, cuda; got 'gpu'
    """
    if name not in DEVICES:
        raise InputError(f"device must be one of {', '.join(DEVICES)}; got {name!r}")


def uses_device(method: str) -> bool:
    """Tell whether a method has a use for a GPU.

    Examples
    --------
    >>> uses_device("auto")
    False
    """
    return "device" in signature(estimator_class(method)).parameters


def make_estimator(
    method: str,
    *,
    random_state: Any = 0,
    n_jobs: int | None = None,
    options: Mapping[str, Any] | None = None,
    device: str = "auto",
) -> Estimator:
    """Make an unfitted estimator.

    Takes method: one of ``ESTIMATORS``; options: settings of the method by name, for instance ``{"neighbours": 50}``
    for "paper"; device: where it computes.

    Examples
    --------
    >>> make_estimator("auto", options={"neighbours": 50})
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: method="auto" has no option 'neighbours'; it has no options
    """
    check_device(device)
    kind, options = estimator_class(method), dict(options or {})
    allowed = [name for name in signature(kind).parameters if name not in _COMMON]
    for name in options:
        if name not in allowed:
            known = f"its options are {', '.join(allowed)}" if allowed else "it has no options"
            raise InputError(f'method="{method}" has no option {name!r}; {known}')
    where = {"device": device} if uses_device(method) else {}
    return kind(random_state=random_state, n_jobs=n_jobs, **where, **options)


class Estimator:
    """An estimator of delta(x) = E[Y - f | X = x].

    A new one is a module with a class derived from this, and its line in :mod:`miscal.estimators.registry`. What it
    learns it annotates, to be saved (:mod:`miscal.base.folders`). Arguments of its constructor beyond ``random_state``,
    ``n_jobs`` and ``device`` (of those that can compute on a GPU) are the options that
    :class:`~miscal.MiscalibrationField` passes on.

    Attributes
    ----------
    folds_keep_choices : bool
        Whether honest values by K-fold keep what was chosen on all rows (then the fit on all rows comes first), or
        make every choice again in each fold.
    chooses_on_validation : bool
        Whether it learns from 'train' rows and chooses on 'val' rows, so that what it is compared with should learn
        from 'train' rows alone; else it uses both alike.
    sees_columns : bool
        Whether it sees the columns that stand beside an embedding, and the levels of categories.
    learns_places : bool
        Whether it learns where in the inputs the error lies, so that its regimes have parts; else it names them itself.
    most_rows_in_threads : int
        Up to so many rows several fits run in threads of this process, since other processes would take longer to
        start than they save; 0 where fits cannot run side by side in one process.
    selection_ : list of dict
        The candidates it chose from, as rows of a table.
    global_map_ : Calibrator
        What a reliability diagram can show: the visible part is its prediction minus f.
    structure_ : bool
        Whether it claims local structure.
    settings_ : dict
        What was chosen, as JSON values.
    device_ : str, optional
        Of an estimator that can compute on a GPU: "cpu" or "cuda", where it does.
    proxies_ : tuple of float, optional
        Of an estimator trained in epochs: the validation Brier score of f + delta after each epoch of the chosen
        setting. ``settings_["epoch"]`` is then the one that was kept, from 1.
    """

    folds_keep_choices: ClassVar[bool] = False
    chooses_on_validation: ClassVar[bool] = False
    sees_columns: ClassVar[bool] = True
    learns_places: ClassVar[bool] = True
    most_rows_in_threads: ClassVar[int] = 0
    selection_: list[dict[str, Any]]
    global_map_: Calibrator
    structure_: bool
    settings_: dict[str, Any]

    def __init__(self, *, random_state: int | np.random.Generator = 0, n_jobs: int | None = None) -> None:
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(self, rows: Triples) -> Self:
        """Learn the field from rows, of which those of weight 0 count for nothing."""
        raise NotImplementedError

    def share_inputs(self, rows: Triples) -> Self:
        """Return an estimator that has learned of the rows what parts of them may share: nothing of any outcome."""
        return self

    def for_folds(self) -> Self:
        """Return an unfitted estimator for the rows outside a fold, with what folds keep: by default nothing."""
        return type(self)(random_state=self.random_state)

    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> FieldEstimate:
        """Say everything the field says of rows."""
        raise NotImplementedError

    def correct(self, X: np.ndarray, confidence: np.ndarray) -> Correction:
        """Correct confidences of many rows, computing no more than that needs."""
        found = self.estimate(X, confidence)
        return Correction(found.delta, found.corrected, found.supported, found.mass, found.local)

    def delta(self, X: np.ndarray, confidence: np.ndarray | None) -> np.ndarray:
        """Estimate delta alone, float64 (n,), in [-f, 1 - f]; raises InputError where the confidence is missing."""
        if confidence is None:
            raise InputError(
                "confidence is missing: the field of this method depends on it. Pass confidence=, one number per row"
            )
        return self.correct(X, confidence).delta

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Place rows in the learned geometry, float64 (n, k)."""
        raise NotImplementedError

    def mass(self, X: np.ndarray) -> np.ndarray:
        """Sum the kernel weights at each row, float64 (n,)."""
        raise NotImplementedError

    def neighbours(self, X: np.ndarray, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Find the rows given to `fit` that weigh most: numbers (q, n) and kernel weights (q, n)."""
        raise NotImplementedError


FORM = "miscal-field"


@dataclass(frozen=True, eq=False)
class SavedEstimator:
    """A fitted estimator with what its public form needs.

    Attributes
    ----------
    method : str
    fitted : Estimator
    n_features : int
        Columns of X.
    inputs : InputProfile or None
        What they looked like; None where they were too few.
    feature_names : tuple of str or None
        Names of the columns of X, where they had any.
    """

    method: str
    fitted: Estimator
    n_features: int
    inputs: InputProfile | None = None
    feature_names: tuple[str, ...] | None = None

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Put it together again: the method says of which class the estimator is."""
        fitted = built(estimator_class(content["method"]), content["fitted"], under("fitted", arrays))
        return built_of_fields(cls, content, arrays, fitted=fitted)
