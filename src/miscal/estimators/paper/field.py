"""The paper's estimator, to the letter (arXiv 2605.13484), so that its tables can be reproduced.

phi and (sigma, lambda) come from :mod:`miscal.estimators.paper.grid`; the field is the kernel average of the residuals
of a bank of training rows (equation 2); the correction is the range-aware map (equation 6). Added to it, without
touching any of that: the visible part by a global map of f, standard errors, and a flag for rows so far from the
bank that a kernel average means nothing. X is used as it is; the paper does not speak of standardising.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from miscal.base.checks import check_confidence, check_correct, check_features, check_lengths, check_weight
from miscal.base.errors import InputError
from miscal.base.threads import one_thread
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.global_map import held_out_global_map
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.kernel import nearest, smooth
from miscal.estimators.paper.grid import LAMBDAS, SIGMAS, search
from miscal.estimators.paper.phi import MAX_EPOCHS, PATIENCE, Representation, TrainingData

BANK_SIZE = 20_000
"""Most training rows in the bank, a uniform sample."""

MIN_MASS = 1.0
"""Smallest mass of a supported estimate: the weight of one row at the query itself."""

MIN_TRAIN, MIN_VAL = 20, 2
"""Fewest rows to train on, the mass a row should have, and to choose by."""

ALPHAS = np.geomspace(0.01, 100.0, 161)
"""Scales tried for the range-aware map."""


def range_aware(confidence: np.ndarray, delta: np.ndarray, alpha: float) -> np.ndarray:
    """Correct confidences by the paper's range-aware map (equation 6).

    f + D with D = -f tanh(alpha |delta|) where delta < 0 and (1 - f) tanh(alpha |delta|) elsewhere.

    Parameters
    ----------
    confidence : array of shape (n,), in [0, 1]
    delta : array of shape (n,)
        The field, negative where over-confident.
    alpha : float
        Scale, not negative; 0 changes nothing.

    Returns
    -------
    array of shape (n,)
        In [0, 1], lower than the confidence where delta < 0 and higher where delta > 0.

    Examples
    --------
    >>> range_aware(np.array([0.9, 0.9]), np.array([-0.2, 0.2]), alpha=2.0).round(3)
    array([0.558, 0.938])
    """
    pull = np.tanh(alpha * np.abs(delta))
    room = np.where(delta < 0, -confidence, 1.0 - confidence)
    return np.clip(confidence + room * pull, 0.0, 1.0)


def choose_alpha(
    confidence: np.ndarray, correct: np.ndarray, delta: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Return the scale of :func:`range_aware`, of those in ``ALPHAS``, with the smallest Brier score.

    Parameters
    ----------
    confidence, correct, delta : arrays of shape (n,)
        Of validation rows; correct is 0 or 1, delta negative where over-confident.
    weight : array of shape (n,), optional

    Returns
    -------
    float
        The smaller of equally good ones.

    Examples
    --------
    >>> f, y = np.full(100, 0.5), np.repeat([1.0, 0.0], [75, 25])
    >>> alpha = choose_alpha(f, y, delta=np.full(100, 0.25))
    >>> range_aware(f, np.full(100, 0.25), alpha)[0].round(2)
    np.float64(0.75)
    """
    briers = [
        np.average(np.square(correct - range_aware(confidence, delta, alpha)), weights=weight) for alpha in ALPHAS
    ]
    return float(ALPHAS[int(np.argmin(briers))])


class PaperField:
    """The miscalibration field by the paper's method.

    Parameters
    ----------
    sigmas, lambdas : sequences of float
        The grid, by default the paper's.
    max_epochs, patience : int, default 100 and 20
    bank_size : int, default 20,000
        Most rows in the bank.
    stop_hopeless : bool, default True
        Stop settings that cannot catch up (see :mod:`miscal.estimators.paper.grid`).
    random_state : int or Generator, default 0
        Draws validation rows (if `fit` is given no split), bank, starting weights, batches and dropout.
    n_jobs : int, optional
        Processes, by default as many as cores are allowed to this process. Changes no number.

    Attributes
    ----------
    selection_ : list of dict
        One row per setting: sigma, lambda, proxy, epoch, n_epochs, stopped, chosen.
    sigma_, penalty_, epoch_, alpha_
        Chosen bandwidth, lambda, epoch (from 1) and scale of the correction.
    global_map_ : Calibrator
        What a reliability diagram can show: the visible part is its prediction minus f.
    phi_ : Representation
    bank_rows_ : int64 array of shape (b,)
        The rows given to `fit` that form the bank.
    bank_coordinates_, bank_residual_, bank_weight_ : float32 arrays of shape (b, k), (b,), (b,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(400, 2)), np.full(400, 0.5)
    >>> y = (rng.random(400) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = PaperField(sigmas=[0.3], lambdas=[0.01], max_epochs=3, n_jobs=1).fit(X, y, confidence=f)
    >>> field.estimate([[-2.0, 0.0], [2.0, 0.0]], [0.5, 0.5]).delta.round(1)
    array([-0.4,  0.4])
    """

    def __init__(
        self,
        *,
        sigmas: Sequence[float] = SIGMAS,
        lambdas: Sequence[float] = LAMBDAS,
        max_epochs: int = MAX_EPOCHS,
        patience: int = PATIENCE,
        bank_size: int = BANK_SIZE,
        stop_hopeless: bool = True,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.sigmas, self.lambdas = sigmas, lambdas
        self.max_epochs, self.patience, self.bank_size = max_epochs, patience, bank_size
        self.stop_hopeless, self.random_state, self.n_jobs = stop_hopeless, random_state, n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        confidence: Any,
        sample_weight: Any = None,
        groups: Any = None,
        split: Any = None,
    ) -> PaperField:
        """Learn phi, its bank, the global map and the scale of the correction.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Finite. Used as it is: columns of very different scale are the caller's to mend.
        y : array-like of shape (n,), 0 or 1
        confidence : array-like of shape (n,), in [0, 1]
        sample_weight : array-like of shape (n,), optional
        groups : array-like of shape (n,), optional
            Rows that stay together when validation rows are drawn.
        split : array-like of shape (n,), optional
            'train' or 'val' per row. Without it, one row (or group) in nine is drawn for validation, as in the
            paper's 80/10/10.

        Returns
        -------
        PaperField
            self.

        Raises
        ------
        InputError
            For input that cannot be used, or fewer than 20 training or 2 validation rows.
        """
        n = check_lengths(X=X, y=y, confidence=confidence, sample_weight=sample_weight, groups=groups, split=split)
        X, f, y = check_features(X), check_confidence(confidence), check_correct(y, name="y")
        weight = check_weight(sample_weight, n)
        rng = np.random.default_rng(self.random_state)
        train, val = _train_and_val(n, split, groups, weight, rng)
        residual = (y - f).astype(np.float32)
        data, seed = draw_training(X, residual, weight.astype(np.float32), train, val, self.bank_size, rng)
        self._keep_choice(data, seed=seed)
        self.bank_rows_ = train[data.bank]
        self.bank_residual_, self.bank_weight_ = data.residual[data.bank], data.weight[data.bank]
        self.bank_coordinates_ = self._embed(data.X[data.bank])
        self.global_map_ = held_out_global_map(y, f, weight, train, val)
        delta = self._local(X[val], f[val])[0]
        self.alpha_ = choose_alpha(f[val], y[val], delta, weight[val])
        return self

    def estimate(self, X: Any, confidence: Any) -> FieldEstimate:
        """Estimate the field.

        Parameters
        ----------
        X : array-like of shape (n, d)
        confidence : array-like of shape (n,), in [0, 1]

        Returns
        -------
        FieldEstimate
            `delta` is the kernel average of the bank's residuals where the mass is at least ``MIN_MASS``, else
            the global map's; `corrected` the range-aware map, there the global map. Not clipped: f + delta may
            leave [0, 1], as in the paper.

        Raises
        ------
        InputError
            For input that cannot be used.
        """
        check_lengths(X=X, confidence=confidence)
        f = check_confidence(confidence)
        delta, mass, visible, coordinates = self._local(self._checked(X), f)
        supported = mass >= MIN_MASS
        return FieldEstimate(
            delta=delta,
            mass=mass,
            supported=supported,
            visible=visible,
            hidden=delta - visible,
            corrected=np.where(supported, range_aware(f, delta, self.alpha_), f + visible),
            coordinates=coordinates.astype(np.float64),
            standard_error=self._standard_error(coordinates, delta, mass),
        )

    def kernel_average(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return equation 2 alone, for rows whose confidence is not known: average and mass, float64 (n,)."""
        average, mass = self._average(self._embed(self._checked(X)))
        return average.astype(np.float64), mass.astype(np.float64)

    def transform(self, X: Any) -> np.ndarray:
        """Return phi(X): unit rows, float64 (n, k)."""
        return self._embed(self._checked(X)).astype(np.float64)

    def mass(self, X: Any) -> np.ndarray:
        """Return the sum of kernel weights at each row, float64 (n,)."""
        return self.kernel_average(X)[1]

    def neighbours(self, X: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Find the rows that an estimate rests on most.

        Parameters
        ----------
        X : array-like of shape (q, d)
        n : int, default 10
            Neighbours per row; no more than the bank has.

        Returns
        -------
        row : int64 array of shape (q, n)
            Numbers of the rows given to `fit`, nearest first.
        weight : float64 array of shape (q, n)
            Their kernel weights, in [0, 1].
        """
        index, distance = nearest(self._embed(self._checked(X)), self.bank_coordinates_, n)
        return self.bank_rows_[index], np.exp(-np.square(distance.astype(np.float64) / self.sigma_))

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything learned: JSON values, and arrays."""
        content = {
            "sizes": list(self.phi_.sizes),
            "sigma": self.sigma_,
            "lambda": self.penalty_,
            "epoch": self.epoch_,
            "alpha": self.alpha_,
            "selection": self.selection_,
            "global_map": self.global_map_.name,
        }
        arrays = {f"phi.{name}": value.numpy() for name, value in self.phi_.state_dict().items()}
        arrays |= {f"global_map.{name}": np.asarray(value) for name, value in self.global_map_.state().items()}
        return content, arrays | {name: getattr(self, f"{name}_") for name in _BANK}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PaperField:
        """Rebuild a fitted field from what :meth:`state` returned."""
        self = cls()
        self.phi_ = Representation(tuple(content["sizes"]))
        self.phi_.load_state_dict(
            {name: torch.tensor(value) for name, value in _under("phi.", arrays).items()}, strict=True
        )
        self.sigma_, self.penalty_ = float(content["sigma"]), float(content["lambda"])
        self.epoch_, self.alpha_ = int(content["epoch"]), float(content["alpha"])
        self.selection_ = list(content["selection"])
        self.global_map_ = CALIBRATORS[content["global_map"]].from_state(_under("global_map.", arrays))
        for name in _BANK:
            setattr(self, f"{name}_", np.array(arrays[name]))
        return self

    def _keep_choice(self, data: TrainingData, seed: int) -> None:
        found = search(
            data,
            sigmas=self.sigmas,
            penalties=self.lambdas,
            seed=seed,
            n_jobs=self.n_jobs,
            max_epochs=self.max_epochs,
            patience=self.patience,
            stop_hopeless=self.stop_hopeless,
        )
        chosen = found.candidates[found.chosen]
        self.selection_ = [candidate.as_dict() for candidate in found.candidates]
        self.sigma_, self.penalty_, self.epoch_ = chosen.sigma, chosen.penalty, chosen.epoch
        self.phi_ = found.trainings[found.chosen].best()

    def _local(self, X: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return delta, mass, the visible part and phi(X)."""
        coordinates = self._embed(X)
        average, mass = self._average(coordinates)
        visible = self.global_map_.predict(f) - f
        return np.where(mass >= MIN_MASS, average, visible), mass.astype(np.float64), visible, coordinates

    def _average(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return smooth(coordinates, self.bank_coordinates_, self.bank_residual_, self.sigma_, weight=self.bank_weight_)

    def _standard_error(self, coordinates: np.ndarray, delta: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """sqrt(sum w K^2 (r - delta)^2) / sum w K; K^2 is the kernel of bandwidth sigma / sqrt 2."""
        r = self.bank_residual_
        moments, squares = smooth(
            coordinates,
            self.bank_coordinates_,
            np.stack([r, np.square(r)], 1),
            self.sigma_ / np.sqrt(2),
            weight=self.bank_weight_,
        )
        first, second = moments.astype(np.float64).T
        spread = np.maximum(second - 2 * delta * first + np.square(delta), 0.0)
        return np.sqrt(spread * squares) / mass

    def _embed(self, X: np.ndarray) -> np.ndarray:
        with one_thread():
            return self.phi_.embed(torch.from_numpy(np.require(X, requirements="W"))).numpy()

    def _checked(self, X: Any) -> np.ndarray:
        X = check_features(X)
        if X.shape[1] != self.phi_.sizes[0]:
            raise InputError(f"X has {X.shape[1]} columns; the field was fitted to {self.phi_.sizes[0]}")
        return X


_BANK = ("bank_rows", "bank_coordinates", "bank_residual", "bank_weight")


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _train_and_val(
    n: int, split: Any, groups: Any, weight: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers to train on and to choose by; rows of weight 0 are absent."""
    if split is None:
        unit = np.arange(n) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        n_units = int(unit.max()) + 1
        is_val = np.isin(unit, rng.permutation(n_units)[: max(1, n_units // 9)])
    else:
        names = np.asarray(split)
        if not np.isin(names, ["train", "val"]).all():
            raise InputError(f"split must hold only 'train' and 'val'; it holds {sorted(set(names.tolist()))[:5]}")
        is_val = names == "val"
    train, val = np.flatnonzero(~is_val & (weight > 0)), np.flatnonzero(is_val & (weight > 0))
    if len(train) < MIN_TRAIN or len(val) < MIN_VAL:
        raise InputError(
            f"too few rows: {len(train)} to train on and {len(val)} to choose by; "
            f"at least {MIN_TRAIN} and {MIN_VAL} of positive weight are needed"
        )
    return train, val


def draw_training(
    X: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray,
    train: np.ndarray,
    val: np.ndarray,
    bank_size: int,
    rng: np.random.Generator,
) -> tuple[TrainingData, int]:
    """Draw the bank from the training rows, then the seed of the search.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    residual, weight : ndarray of shape (n,), float32
        y - f, and row weights.
    train, val : ndarray of int
        Row numbers.
    bank_size : int
        At most this many rows.
    rng : numpy.random.Generator

    Returns
    -------
    data : TrainingData
    seed : int
    """
    bank = np.sort(rng.permutation(len(train))[:bank_size])
    data = TrainingData(X[train], residual[train], weight[train], X[val], residual[val], weight[val], bank)
    return data, int(rng.integers(2**31))
