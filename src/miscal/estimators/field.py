"""The miscalibration field as a scikit-learn estimator: one class, one estimator behind it by name."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _check_feature_names  # pyrefly: ignore[missing-module-attribute]

from miscal.base.arrays import without_column
from miscal.base.checks import (
    check_confidence,
    check_correct,
    check_features,
    check_lengths,
    check_seed,
    check_weight,
    drawn_seed,
)
from miscal.base.errors import InputError
from miscal.base.files import whole_folder
from miscal.base.folders import CONFIG, TENSORS, load, save_state, state_of
from miscal.base.process import global_random_kept, n_workers
from miscal.calibration.metrics.scores import log_loss
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples, check_group, check_split
from miscal.estimators import registry
from miscal.estimators.input_profile import learn_profile, look, refusal, warning


def _confidence_is_passed_on(field: Any) -> bool:
    if field.confidence_column is None and not get_config()["enable_metadata_routing"]:
        raise AttributeError(
            "MiscalibrationField.score needs the confidence of each row, which scikit-learn passes on only after "
            "sklearn.set_config(enable_metadata_routing=True): call that first, then for example "
            "GridSearchCV(field, grid).fit(X, y, confidence=f). Or let confidence_column name the column of X that "
            "holds it"
        )
    return True


class MiscalibrationField(TransformerMixin, BaseEstimator):
    """Estimate the signed miscalibration field delta(x) = E[Y - f | X = x].

    Parameters
    ----------
    method : {"auto", "paper"}, default "auto"
        "auto": a cross-fitted portfolio of logit shifts, chosen by log loss, which returns the global map where no
        local structure is found. "paper": kernel smoothing of residuals in a learned representation, to the letter
        of arXiv 2605.13484.
    random_state : int or numpy.random.Generator, default 0
        The same seed gives the same field on the same machine.
    n_jobs : int, optional
        Processes; by default as many as the processors this process may use.
    options : mapping of str to object, optional
        Settings of the method. "paper" takes the arguments of
        :class:`~miscal.estimators.paper.field.PaperField`, for instance ``{"neighbours": 50}`` to average over the 50
        nearest bank rows alone; "auto" has none.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where "paper" trains: "auto" is the GPU where there is one, else the CPU. "auto" the method has no use for a
        GPU, and computes on the CPU whatever is asked.
    epsilon : float in [0, 1), default 0.05
        Half-width of the band of delta that :meth:`regimes` calls "good".
    confidence_column : str or int, optional
        The column of X that holds the confidence, by its name or place: it is no input then, and no method takes a
        confidence beside X. `cross_val_predict` needs that, and searches then need no metadata routing.

    Attributes
    ----------
    selection_ : list of dict
        The candidates, with `log_loss` (auto), `proxy` and `chosen`.
    global_map_ : Calibrator
        What a reliability diagram can show: the visible part is its prediction minus f.
    structure_ : bool
        Whether local structure is claimed; always True for "paper", which has no such test.
    settings_ : dict
        What was chosen, as JSON values.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the columns of X, where it was a frame. A frame with other names, or in another order, is refused
        from then on.
    inputs_ : InputProfile or None
        What the inputs looked like, so that those of another model are noticed.
    device_ : str
        "cpu" or "cuda": where the field was learned.
    seed_ : int
        `random_state`, or what was drawn from it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
    >>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = MiscalibrationField().fit(X, y, confidence=f)
    >>> np.sign(field.predict([[-1.0, 0.0], [1.0, 0.0]], confidence=[0.5, 0.5]))
    array([-1.,  1.])
    """

    # scikit-learn's searches pass the confidence on without being told to, once metadata routing is enabled
    __metadata_request__fit: ClassVar = {"confidence": True}
    __metadata_request__predict: ClassVar = {"confidence": True}
    __metadata_request__score: ClassVar = {"confidence": True}

    def __init__(
        self,
        method: str = "auto",
        *,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
        options: Mapping[str, Any] | None = None,
        device: str = "auto",
        epsilon: float = 0.05,
        confidence_column: str | int | None = None,
    ) -> None:
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options
        self.device = device
        self.epsilon = epsilon
        self.confidence_column = confidence_column

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        confidence: Any = None,
        sample_weight: Any = None,
        groups: Any = None,
        split: Any = None,
    ) -> Self:
        """Learn the field.

        Parameters
        ----------
        X : array-like of shape (n, d), finite
            Inputs or their embeddings. Numbers in double precision that single precision would merge, such as seconds
            since 1970, are centred and scaled by "auto" before they are narrowed; "paper" takes inputs as they are,
            and refuses such columns.
        y : array-like of shape (n,), 0 or 1
            Outcomes.
        confidence : array-like of shape (n,), in [0, 1]
            The model's confidence f; left out where `confidence_column` names it.
        sample_weight : array-like of shape (n,), optional
            Numbers of rows, not negative: 2 is a row that came twice, 0 leaves it out. Their sum is taken for the
            number of rows that were seen, so weights that are no counts (1 / probability of being drawn) need a
            mean of 1.
        groups : array-like of shape (n,), optional
            Rows with the same value stay on one side of every internal split. By default rows with equal inputs do,
            except when "paper" draws its validation rows, one by one.
        split : array-like of shape (n,), optional
            'train' or 'val' per row. "paper" chooses on the 'val' rows (by default one in nine, drawn by the seed);
            "auto" cross-fits every choice over all rows given.

        Returns
        -------
        MiscalibrationField
            self.

        Raises
        ------
        InputError
            For input that cannot be used; the message says what, where and how to fix it.
        """
        if y is None:
            raise InputError("MiscalibrationField requires y to be passed, but the target y is None")
        if not 0.0 <= self.epsilon < 1.0:
            raise InputError(f"epsilon must be in [0, 1); got {self.epsilon!r}")
        inputs, confidence = self._apart(X, confidence, known=False)
        if confidence is None:
            raise TypeError("fit needs the confidence of each row: give confidence=, or a confidence_column of X")
        self.fit_triples(_checked_rows(inputs, y, confidence, sample_weight, groups, split))
        self.n_features_in_ += self.confidence_column is not None
        self._check_names(X, reset=True)
        return self

    @global_random_kept()
    def fit_triples(self, rows: Triples) -> Self:
        """Learn the field from rows that are checked already.

        Parameters
        ----------
        rows : Triples
            Their split may hold 'train' and 'val', as in :meth:`fit`.

        Raises
        ------
        InputError
            If a setting is out of range, or the rows are too few to learn from.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> rows = Triples.of(rng.normal(size=(60, 2)), confidence=rng.random(60), correct=np.arange(60) % 2)
        >>> MiscalibrationField().fit_triples(rows).n_features_in_
        2
        """
        seed = checked_seed(self.random_state)
        return self.adopt_fit(self.unfitted(seed).fit(rows), rows, seed)

    def unfitted(self, seed: int) -> registry.Estimator:
        """Make the estimator that the settings name, with a seed of its own."""
        # called for its check: a wrong n_jobs is refused even by a method that does not use it
        n_workers(self.n_jobs, 1)
        return registry.make_estimator(
            self.method, random_state=seed, n_jobs=self.n_jobs, options=self.options, device=self.device
        )

    def adopt_fit(self, fitted: registry.Estimator, rows: Triples, seed: int) -> Self:
        """Take an estimator, seeded with `seed`, for this field's own; note what the rows of its fit look like."""
        rows, _ = in_canonical_order(rows)
        moments = rows.layout.moments if registry.estimator_class(self.method).sees_columns else ()
        unseen = tuple(place for place in moments if place < rows.layout.places)
        inputs = learn_profile(rows.places, weight=rows.weight, groups=rows.group, seed=seed, unseen=unseen)
        self.seed_ = seed
        return self.adopt(registry.SavedEstimator(self.method, fitted, rows.X.shape[1], inputs))

    def adopt(self, saved: registry.SavedEstimator) -> Self:
        """Take a fitted estimator for this field's own.

        Parameters
        ----------
        saved : SavedEstimator

        Returns
        -------
        MiscalibrationField
            self.
        """
        fitted = self.fitted_ = saved.fitted
        self.n_features_in_, self.inputs_ = saved.n_features, saved.inputs
        # names of an earlier fit are no longer true
        self.__dict__.pop("feature_names_in_", None)
        if saved.feature_names is not None:
            self.feature_names_in_ = np.array(saved.feature_names, dtype=object)
        self.selection_ = fitted.selection_
        self.global_map_ = fitted.global_map_
        self.structure_ = fitted.structure_
        self.device_ = getattr(fitted, "device_", "cpu")
        settings = {"method": self.method, "global_map": fitted.global_map_.name, "structure": fitted.structure_}
        self.settings_ = settings | fitted.settings_
        return self

    def _repr_html_(self) -> str:
        return registry.shown_field(self).html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _fitted(self) -> registry.Estimator:
        if not hasattr(self, "fitted_"):
            raise NotFittedError("this MiscalibrationField is not fitted yet: call fit first")
        return self.fitted_

    def _apart(self, X: Any, confidence: Any = None, *, known: bool = True) -> tuple[Any, Any]:
        """Return inputs and confidence, which may be a column of X; of a fitted field, X must have its columns."""
        if known:
            self._check_names(X)
        if self.confidence_column is None:
            return X, confidence
        if confidence is not None:
            raise InputError("the confidence is given twice, as an argument and by confidence_column: leave one out")
        return without_column(X, self.confidence_column)

    def _inputs(self, X: Any) -> np.ndarray:
        X = check_features(X, narrow=False)
        width = self.n_features_in_ - (self.confidence_column is not None)
        if X.shape[1] != width:
            raise InputError(f"X has {X.shape[1]} columns; the field was fitted to {width}")
        return X

    def _check_names(self, X: Any, *, reset: bool = False) -> None:
        try:
            _check_feature_names(self, X, reset=reset)
        except (TypeError, ValueError) as error:
            # scikit-learn's own words, on one line
            raise InputError("X: " + " ".join(str(error).split())) from None

    def _likely_inputs(self, X: Any) -> np.ndarray:
        """Check inputs of corrections, which those of another model would make worse than none."""
        X, named = self._inputs(X), hasattr(self, "feature_names_in_")
        likeness = None if self.inputs_ is None else look(self.inputs_, X)
        if likeness is not None and likeness.impossible is not None:
            raise InputError(refusal(likeness, "X", columns=named))
        if likeness is not None and likeness.unlike:
            warnings.warn(warning(likeness, columns=named), UserWarning, stacklevel=3)
        return X

    def estimate(self, X: Any, confidence: Any = None) -> registry.FieldEstimate:
        """Everything the field says of rows: delta, mass, support, visible and hidden part, correction.

        Parameters
        ----------
        X, confidence
            As for :meth:`fit`.

        Returns
        -------
        FieldEstimate
        """
        fitted = self._fitted()
        X, confidence = self._apart(X, confidence)
        check_lengths(X=X, confidence=confidence)
        return fitted.estimate(self._inputs(X), check_confidence(confidence))

    def predict(self, X: Any, confidence: Any = None) -> NDArray[np.float64]:
        """Estimate delta; negative where over-confident, positive where under-confident.

        Parameters
        ----------
        X : as in `fit`
        confidence : array-like of shape (n,), in [0, 1]
            Needed by "auto"; "paper" can do without (a row far from the bank is then the mean residual's).

        Returns
        -------
        ndarray of shape (n,), float64
            In [-f, 1 - f] for "auto", within the residuals' extremes for "paper".
        """
        fitted = self._fitted()
        X, confidence = self._apart(X, confidence)
        if confidence is not None:
            check_lengths(X=X, confidence=confidence)
            confidence = check_confidence(confidence)
        return fitted.delta(self._likely_inputs(X), confidence)

    def regimes(self, X: Any, confidence: Any = None) -> np.ndarray:
        """Regime of each row: "over" where delta < -epsilon, "under" where delta > epsilon, else "good"; or None."""
        found = self.correct(X, confidence)
        return registry.regimes_of(found.delta, self.epsilon, found.local)

    def calibrate(self, X: Any, confidence: Any = None) -> NDArray[np.float64]:
        """Locally corrected confidences in [0, 1], float64 (n,)."""
        return self.correct(X, confidence).corrected

    def correct(self, X: Any, confidence: Any = None) -> registry.Correction:
        """Correct confidences, and say how: delta, support and mass, without what has no weight in the answer.

        Parameters
        ----------
        X, confidence
            As for :meth:`fit`.

        Returns
        -------
        Correction
            What :meth:`estimate` says, within 1e-4, at a fraction of its cost.
        """
        fitted = self._fitted()
        X, confidence = self._apart(X, confidence)
        check_lengths(X=X, confidence=confidence)
        return fitted.correct(self._likely_inputs(X), check_confidence(confidence, copy=False))

    @available_if(_confidence_is_passed_on)
    def score(self, X: Any, y: Any, *, confidence: Any = None, sample_weight: Any = None) -> float:
        """Mean log likelihood of the corrected confidences: what scikit-learn's searches maximise.

        Only there while ``sklearn.set_config(enable_metadata_routing=True)``, or where `confidence_column` names the
        confidence: else a search could not pass it on, and would go on with scores of NaN.

        Parameters
        ----------
        X, y, confidence, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        float
            At most 0, in nats; higher is better: minus :func:`miscal.metrics.log_loss`.

        Raises
        ------
        AttributeError
            If metadata routing is not enabled.
        InputError
            For input that cannot be used.

        Examples
        --------
        >>> import sklearn
        >>> from sklearn.model_selection import cross_val_score
        >>> rng = np.random.default_rng(0)
        >>> X, f = rng.normal(size=(200, 2)), np.full(200, 0.5)
        >>> y = (rng.random(200) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     scores = cross_val_score(MiscalibrationField(n_jobs=1), X, y, cv=2, params={"confidence": f})
        >>> bool((scores > -0.6).all())
        True
        """
        check_lengths(X=X, y=y, confidence=confidence, sample_weight=sample_weight)
        return -log_loss(check_correct(y, name="y"), self.calibrate(X, confidence), sample_weight=sample_weight)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """phi(X): rows in the learned geometry, float64 (n, k)."""
        return self._fitted().transform(self._inputs(self._apart(X)[0]))

    def mass(self, X: Any) -> NDArray[np.float64]:
        """Sum of kernel weights: how many neighbours an estimate rests on, float64 (n,)."""
        return self._fitted().mass(self._inputs(self._apart(X)[0]))

    def neighbours(self, X: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Rows given to `fit` that weigh most at each row: numbers (q, n) and kernel weights (q, n)."""
        return self._fitted().neighbours(self._inputs(self._apart(X)[0]), n)

    def save(self, folder: str | Path) -> None:
        """Write the field as JSON and safetensors into a folder; no pickle.

        Parameters
        ----------
        folder : str or Path
            Made if it is not there. A saved field in it is replaced as a whole: whatever happens meanwhile, the folder
            holds the old field or the new one.

        Raises
        ------
        InputError
            If the folder holds anything else than a saved field.
        LockedError
            If another process is writing it.
        """
        with whole_folder(
            folder, holds=(CONFIG, TENSORS), writer="MiscalibrationField.save", overwrite=True
        ) as partial:
            save_state(partial, registry.FORM, *state_of(self.to_saved()))

    def to_saved(self) -> registry.SavedEstimator:
        """Return what is saved of the field, and what :meth:`adopt` takes."""
        fitted, apart = self._fitted(), self.confidence_column is not None
        names = [name for name in getattr(self, "feature_names_in_", ()) if name != self.confidence_column]
        return registry.SavedEstimator(
            self.method, fitted, self.n_features_in_ - apart, self.inputs_, tuple(names) or None
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a saved field back.

        Parameters
        ----------
        folder : str or Path

        Returns
        -------
        MiscalibrationField

        Raises
        ------
        FileError, CorruptFile, TrustError, MismatchError
            If the folder holds no field, a damaged one, foreign files, or something else.
        """
        saved = load(folder, registry.FORM, registry.SavedEstimator)
        return cls(saved.method).adopt(saved)


def checked_seed(random_state: Any) -> int:
    """Draw the seed of a fit, or refuse what could not be repeated.

    Examples
    --------
    >>> checked_seed(3)
    3
    """
    if isinstance(random_state, np.random.Generator):
        return drawn_seed(random_state)
    return check_seed(random_state, name="random_state")


def _checked_rows(X: Any, y: Any, confidence: Any, sample_weight: Any, groups: Any, split: Any) -> Triples:
    """Check what came in under scikit-learn's names, so that messages use them."""
    n = check_lengths(X=X, y=y, confidence=confidence, sample_weight=sample_weight, groups=groups, split=split)
    return Triples(
        X=check_features(X),
        confidence=check_confidence(confidence),
        correct=check_correct(y, name="y"),
        weight=None if sample_weight is None else check_weight(sample_weight, n),
        group=None if groups is None else check_group(groups, name="groups"),
        split=None if split is None else check_split(split),
    )
