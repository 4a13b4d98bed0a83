"""A classifier whose probabilities are corrected locally, as a meta-estimator of scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable  # pyrefly: ignore[missing-module-attribute]
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from miscal.base.checks import check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.base.folds import assign_folds, named_units
from miscal.base.vocabulary import ANSWER, EVENT
from miscal.calibration.global_map import class_log_losses, crossfit_global_map, log_probabilities, paired_gain
from miscal.calibration.labelled_rows import take_rows
from miscal.data.readers.column_readings import READ_COLUMNS, InputReading, order_of
from miscal.data.splits import MIN_FIT_ROWS
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.simplex.correction import fit_simplex
from miscal.runs.fitted_classifier import (
    ClassCorrection,
    corrected_by,
    fitted_to,
    probabilities_of,
    read_correction,
    rows_of,
    with_decision,
    write_correction,
)

if TYPE_CHECKING:
    from miscal.runs.run import Run

_STREAM = 29
_FOLDS = 5
"""Folds in which the global map is chosen where the classifier was fitted before."""

_CONFIRMING, _MANY_ROWS = 2, 10_000
"""Folds that confirm a local correction of the classifier's own probabilities: fewer where each has rows enough."""

_CONFIRMED = 1.0
"""Paired standard errors that it must gain there, beyond the two that it has gained in cross-fitting. Not tuned."""

PREFIT = "prefit"
"""In the place of `cv`: the classifier is fitted already."""


class LocalCalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Correct the probabilities of a classifier where inputs of one kind are over- or under-confident.

    The classifier is fitted in folds, and what is learned of its errors is learned from probabilities of rows that it
    has not seen. Of two classes the correction is a :class:`miscal.MiscalibrationField`; of more, a local shift of the
    log-probability of each class, normalised again (:mod:`miscal.estimators.simplex.correction`). Where no local
    structure is proven out of fold, the correction is a global map of the probabilities alone, or nothing.

    Parameters
    ----------
    estimator : classifier, optional
        With `predict_proba`. It is cloned and fitted, unless it is a :class:`sklearn.frozen.FrozenEstimator`, or `cv`
        is "prefit": then the rows given to `fit` should be others than those it was fitted on. By default a
        :class:`sklearn.ensemble.HistGradientBoostingClassifier`, which takes blanks, and categories of pandas and
        polars.
    method : {"auto", "paper", "global"}, default "auto"
        Of two classes "auto" and "paper" learn a field of that method. Of more, "auto" shifts log-probabilities of
        classes, and there is no "paper". "global" corrects by a map of the probabilities alone.
    cv : int, cross-validation generator, iterable or "prefit", default 5
        Folds in which the classifier is fitted. A number means stratified folds, or folds of whole groups where
        `groups` are given.
    ensemble : bool, default True
        Whether the fits of the folds predict: each is corrected, and the mean is taken. Else one more fit, to all rows,
        predicts. A classifier that was fitted before is one fit in any case.
    epsilon : float in [0, 1), optional
        Half-width of the band that counts as well calibrated in `discovery_`; by default as for
        :func:`miscal.discover`. The correction does not depend on it.
    random_state : int or numpy.random.RandomState, default 0
        Of the correction. The classifier keeps its own.
    n_jobs : int, optional
        Processes for the correction; by default 1.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
    estimators_ : list of classifiers
        Those that predict.
    correction_ : MiscalibrationField, SimplexCorrection, Calibrator or None
        Of two classes the field of the second one, or a global map where there were too few rows for a field, or
        method is "global"; of more, the correction with the loss of everything that was tried; None of one class.
    local_ : bool
        Whether probabilities are corrected locally: only where that was confirmed. A field may claim a structure
        (``correction_.structure_``) that was not.
    input_reading_ : InputReading or None
        What each column of X was read as, and which were left out.
    discovery_ : Run
        What :func:`miscal.discover` finds of the probabilities out of fold: the second class as an event, or the most
        probable class as an answer. Its advice on the correction is that of `local_`. Found when it is asked for the
        first time, and kept; until then the classifier keeps the rows for it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X was a frame.

    Notes
    -----
    What the correction gains is confirmed by doing everything again without two folds (one from 10,000 rows on), which
    are then judged: with five folds the classifier is fitted up to 14 times, and the correction up to three times.

    With fewer than 100 rows no field is learned: the correction is the global map, and a warning says so. `groups` may
    be given to `fit` as they are; with metadata routing, ask for them by ``set_fit_request(groups=True)``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 2))
    >>> y = np.where(rng.random(600) < np.where(X[:, 0] * X[:, 1] > 0, 0.9, 0.1), "yes", "no")
    >>> fitted = LocalCalibratedClassifier(LogisticRegression(), cv=2).fit(X, y)
    >>> fitted.local_, fitted.predict([[1.0, 1.0], [1.0, -1.0]]).tolist()
    (True, ['yes', 'no'])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        method: str = "auto",
        cv: Any = 5,
        ensemble: bool = True,
        epsilon: float | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.epsilon = epsilon
        self.random_state = random_state
        self.n_jobs = n_jobs

    # --- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any) -> Self:
        """Fit the classifier, and learn where its probabilities are off.

        Parameters
        ----------
        X : array-like of shape (n, d), frame, sparse matrix, or n texts
            What the classifier takes. The correction reads it as `miscal discover --features auto` reads a table:
            numbers, dates and categories, each with blanks; columns that say nothing of a row's kind are left out.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            Numbers of rows, for the classifier (if it takes weights) and the correction.
        groups : array-like of shape (n,), optional
            Rows with the same value stay together in every fold.
        **fit_params
            Further arguments of the classifier's `fit`.

        Returns
        -------
        LocalCalibratedClassifier
            self.

        Raises
        ------
        ValueError
            For input that the classifier cannot use, or classes that are no classes.
        InputError
            For settings out of range.
        """
        self._check_settings()
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        check_lengths(X=X, y=y, sample_weight=sample_weight, groups=groups)
        checked: Any = indexable(X)
        X, y = checked[0], column_or_1d(y, warn=True)
        check_classification_targets(y)
        self.classes_, code = np.unique(np.asarray(y), return_inverse=True)
        if self.method == "paper" and len(self.classes_) > 2:
            raise InputError(
                f'method="paper" is for two classes, and y has {len(self.classes_)}: use "auto" or "global"'
            )
        weight = None if sample_weight is None else check_weight(sample_weight, len(code))
        # nothing depends on the order that rows come in, but for folds of the user's own
        order = (
            order_of(X, code, weight, groups) if isinstance(self.cv, (str, int, np.integer)) else np.arange(len(code))
        )
        X, y, code = _safe_indexing(X, order), y[order], code[order]
        weight, groups = take_rows(weight, order), None if groups is None else np.asarray(groups)[order]
        fit_params = {name: rows_of(values, order, len(order)) for name, values in fit_params.items()}
        asked = self._routed(weight, groups, fit_params)
        refit = partial(fitted_to, self._classifier(), X, y, asked.estimator.fit)
        estimators, p, folds = self._fitted_in_folds(X, y, code, groups, asked, refit)
        self._adopt(estimators)
        kept = np.ones(len(code), dtype=bool) if weight is None else weight > 0
        rows, inputs = np.flatnonzero(kept), take_rows(self._read_inputs(X, int(kept.sum())), kept)
        known = code[kept], p[kept], folds[kept]
        chosen = {name: take_rows(values, kept) for name, values in (("weight", weight), ("groups", groups))}
        self.__dict__.pop("discovery_", None)
        self.correction_, self.local_ = self._learned(inputs, *known, **chosen)
        self._rows = None
        if inputs is not None:
            # `discovery_` has rows in the order given
            found = self._triples(inputs, *known[:2], **chosen).take(np.argsort(order[kept]))
            self._rows = replace(found, row=np.arange(len(rows)))
        if self.local_ and not self._fitted_before:

            def refitted(learned: NDArray, told: NDArray) -> NDArray:
                return probabilities_of(refit(rows[learned]), _safe_indexing(X, rows[told]), self.classes_)

            self.local_ = self._confirmed(inputs, *known, refitted, **chosen)
        return self

    def _check_settings(self) -> None:
        if self.method not in ("auto", "paper", "global"):
            raise InputError(f"method must be one of auto, paper, global; got {self.method!r}")
        if isinstance(self.cv, str) and self.cv != PREFIT:
            raise InputError(f'cv must be a number of folds, a cross-validation generator or "prefit"; got {self.cv!r}')

    def _routed(self, sample_weight: Any, groups: Any, fit_params: dict[str, Any]) -> Any:
        """Return the arguments of the classifier's `fit` and of the folds' `split`."""
        from sklearn import get_config
        from sklearn.utils import Bunch

        estimator = self._classifier()
        if get_config()["enable_metadata_routing"]:
            given = {"sample_weight": sample_weight, **({"groups": groups} if self._splits else {})} | fit_params
            return process_routing(self, "fit", **{name: one for name, one in given.items() if one is not None})
        takes_weights = "sample_weight" in signature(estimator.fit).parameters if hasattr(estimator, "fit") else False
        if sample_weight is not None and not takes_weights and not self._fitted_before:
            warnings.warn(
                f"{type(estimator).__name__} takes no sample_weight: the weights count in the correction alone",
                UserWarning,
                stacklevel=3,
            )
        weights = {"sample_weight": sample_weight} if sample_weight is not None and takes_weights else {}
        split = {} if groups is None else {"groups": groups}
        return Bunch(estimator=Bunch(fit=fit_params | weights), splitter=Bunch(split=split))

    @property
    def _fitted_before(self) -> bool:
        from sklearn.frozen import FrozenEstimator

        return isinstance(self.cv, str) or isinstance(self.estimator, FrozenEstimator)

    @property
    def _splits(self) -> bool:
        """Whether the folds are the user's own, so that they may ask for groups."""
        return hasattr(self.cv, "split")

    def _classifier(self) -> Any:
        if self.estimator is not None:
            return self.estimator
        from sklearn.ensemble import HistGradientBoostingClassifier

        return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)

    def _fitted_in_folds(
        self, X: Any, y: Any, code: NDArray, groups: Any, asked: Any, refit: Callable[[NDArray], Any]
    ) -> tuple[list[Any], NDArray, NDArray]:
        """Return the fits that predict, probabilities (n, K) by fits that have not seen the row, and folds."""
        if self._fitted_before:
            folds = assign_folds(named_units(len(code), groups), _FOLDS, np.random.default_rng(_STREAM))
            return [self._classifier()], probabilities_of(self._classifier(), X, self.classes_), folds
        fits: list[Any] = []
        folds = np.zeros(len(code), dtype=np.int64)
        if not self.ensemble or len(self.classes_) == 1:
            fits = [clone(self._classifier()).fit(X, y, **asked.estimator.fit)]
        if len(self.classes_) == 1:
            return fits, np.ones((len(code), 1)), folds
        p = np.full((len(code), len(self.classes_)), np.nan)
        split = asked.splitter.split if self._splits else {} if groups is None else {"groups": groups}
        for number, (train, test) in enumerate(self._folds(code, groups).split(X, y, **split)):
            fitted = refit(train)
            p[test], folds[test] = probabilities_of(fitted, _safe_indexing(X, test), self.classes_), number
            fits += [fitted] if self.ensemble else []
        if np.isnan(p).any():
            raise InputError("cv must put every row into a test fold once: the correction is learned from these rows")
        return fits, p, folds

    def _folds(self, code: NDArray, groups: Any) -> Any:
        if not isinstance(self.cv, (int, np.integer)) or isinstance(self.cv, bool):
            return check_cv(self.cv, code, classifier=True)
        if groups is not None:
            return GroupKFold(min(self.cv, len(np.unique(np.asarray(groups)))))
        # a class of fewer rows than folds would be missing from some: two folds at least
        return StratifiedKFold(max(2, min(self.cv, int(np.bincount(code).min()))))

    def _read_inputs(self, X: Any, n: int) -> NDArray | None:
        """Return X as numbers; None where no local correction is learned."""
        self.input_reading_ = None
        if self.method == "global" or len(self.classes_) == 1:
            return None
        if n < MIN_FIT_ROWS:
            warnings.warn(
                f"fit was given {n} rows, and a local correction needs at least {MIN_FIT_ROWS}: the probabilities are "
                "corrected by a global map alone",
                UserWarning,
                stacklevel=3,
            )
            return None
        self.input_reading_ = InputReading(self._seed()).fit(X)
        return self.input_reading_.transform(X)

    def _learned(
        self, inputs: NDArray | None, code: NDArray, p: NDArray, folds: NDArray, **chosen: NDArray | None
    ) -> tuple[ClassCorrection, bool]:
        """Fit the correction; return it, and whether it claims that something local is to be corrected."""
        if len(self.classes_) > 2:
            layout = None if self.input_reading_ is None else self.input_reading_.encoder.layout
            method = "global" if inputs is None else self.method
            found = fit_simplex(inputs, code, p, folds=folds, layout=layout, method=method, seed=self._seed(), **chosen)
            return found, found.structure
        if inputs is not None:
            field = MiscalibrationField(self.method, random_state=self._seed(), n_jobs=self.n_jobs or 1)
            field.fit_triples(self._triples(inputs, code, p, **chosen))
            return field, bool(field.structure_)
        if len(self.classes_) == 1:
            return None, False
        return crossfit_global_map(code.astype(np.float64), p[:, 1], folds, chosen["weight"])[0], False

    def _confirmed(
        self, inputs: NDArray, code: NDArray, p: NDArray, folds: NDArray,
        refitted: Callable[[NDArray, NDArray], NDArray], **chosen: NDArray | None,
    ) -> bool:  # fmt: skip
        """Do all of it again without one fold, or two, and return whether the local correction helps there.

        Probabilities out of fold are not all that they seem: in each fold, the classifier has seen the outcomes of all
        other folds, so that where a fold has more outcomes of one kind its probabilities are lower. A correction can
        learn to read the outcomes from that, and cross-fitting does not notice, because it is so in every fold.
        """
        names = np.unique(folds)
        told = names[: _CONFIRMING if len(code) < _MANY_ROWS else 1]
        before, after = (np.full(len(code), np.nan) for _ in range(2))
        for fold in told:
            rest, judged = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            some = {name: take_rows(values, rest) for name, values in chosen.items()}
            parts = folds[rest]
            if len(names) == 2:
                units, stream = named_units(len(rest), some["groups"]), np.random.default_rng((self._seed(), _STREAM))
                parts = assign_folds(units, 2, stream)
            again = np.zeros((len(rest), p.shape[1]))
            for part in np.unique(parts):
                again[parts == part] = refitted(rest[parts != part], rest[parts == part])
            correction, _ = self._learned(inputs[rest], code[rest], again, parts, **some)
            for losses, local in ((before, False), (after, True)):
                q = corrected_by(correction, inputs[judged], p[judged], local=local)
                losses[judged] = class_log_losses(code[judged], log_probabilities(q))
        seen = np.isin(folds, told)
        gain, error = paired_gain(before[seen], after[seen], take_rows(chosen["weight"], seen))
        return bool(gain > _CONFIRMED * error)

    def _triples(
        self, inputs: NDArray, code: NDArray, p: NDArray, *, weight: NDArray | None, groups: NDArray | None
    ) -> Triples:
        """Return the rows that the field is learned from, and that `discovery_` is of."""
        reading: Any = self.input_reading_
        two = len(self.classes_) == 2
        top = p.argmax(axis=1)
        confidence = p[:, 1] if two else p.max(axis=1)
        outcome = code if two else top == code
        return Triples(
            inputs, np.clip(confidence, 0.0, 1.0), outcome.astype(np.float64), weight=weight,
            group=groups, layout=reading.encoder.layout, encoder=reading.encoder, kind=EVENT if two else ANSWER,
            source={READ_COLUMNS: [one.to_dict() for one in reading.readings]} if reading.readings else {},
        )  # fmt: skip

    def _seed(self) -> int:
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(2**31 - 1))
        return 0 if self.random_state is None else int(self.random_state)

    # --- predicting ---------------------------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return corrected probabilities.

        Parameters
        ----------
        X : as in `fit`

        Returns
        -------
        ndarray of shape (n, K)
            In [0, 1]; rows sum to 1. Columns are in the order of `classes_`.
        """
        self._check_fitted()
        inputs = self.input_reading_.transform(X) if self.local_ else None
        corrected = [
            corrected_by(self.correction_, inputs, probabilities_of(one, X, self.classes_), local=self.local_)
            for one in self.estimators_
        ]
        return np.mean(corrected, axis=0)

    def predict(self, X: Any) -> NDArray:
        """Return the most probable class of each row, shape (n,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    @cached_property
    def discovery_(self) -> Run:
        """What :func:`miscal.discover` finds of the probabilities out of fold."""
        self._check_fitted()
        if self._rows is None:
            raise AttributeError(
                "there is no discovery_: fit was given too few rows or one class, method is 'global', or the "
                "correction was loaded, without the rows"
            )
        from miscal.runs.discover import discover

        settings = {"seed": self._seed(), "epsilon": self.epsilon, "n_jobs": self.n_jobs or 1}
        return with_decision(discover(self._rows, progress=False, **settings), self.local_)

    def _check_fitted(self) -> None:
        if not hasattr(self, "estimators_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet: call fit first")

    def save(self, folder: str | Path) -> None:
        """Write the correction into a folder, as JSON and safetensors; keep `estimators_` by means of their own.

        Parameters
        ----------
        folder : str or Path
            Made if it is not there. A saved correction in it is replaced as a whole.

        Raises
        ------
        InputError
            If the folder holds anything else, or classes are not text, numbers or truth values.
        """
        self._check_fitted()
        write_correction(self, folder)

    @classmethod
    def load(cls, folder: str | Path, *, estimators: Sequence[Any]) -> Self:
        """Read a saved correction back, for the fitted classifiers.

        Parameters
        ----------
        folder : str or Path
        estimators : sequence of classifiers
            The `estimators_` of the classifier that was saved, in their order.

        Returns
        -------
        LocalCalibratedClassifier
            With `cv` "prefit". Its probabilities are those of the one saved, to the last bit; it has no `discovery_`.

        Raises
        ------
        InputError
            If the number of classifiers, or their classes, are not those that were saved.
        FileError, CorruptFile, TrustError, MismatchError
            If the folder holds no correction, a damaged one, foreign files, or something else.
        """
        return read_correction(cls, folder, estimators)

    def _adopt(self, estimators: Sequence[Any]) -> Self:
        """Take fitted classifiers for those that are corrected, and what they say of their inputs."""
        self.estimators_ = list(estimators)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if found := [getattr(one, name) for one in estimators if hasattr(one, name)]:
                setattr(self, name, found[0])
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which arguments go to the classifier, to the folds, and to this estimator itself."""
        router = MetadataRouter(owner=self).add_self_request(self)
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        splitter = None if isinstance(self.cv, str) else self.cv
        router = router.add(estimator=self._classifier(), method_mapping=to_fit)
        return router.add(splitter=splitter, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = get_tags(self._classifier()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = own.sparse, own.allow_nan
        return tags
