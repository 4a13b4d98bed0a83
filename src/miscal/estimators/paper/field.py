"""The estimator of arXiv 2605.13484, kept as published so that its tables can be reproduced.

phi and (sigma, lambda) come from :mod:`miscal.estimators.paper.grid`; the field is the kernel average of the residuals
of a bank of training rows (equation 2, :mod:`miscal.estimators.paper.readout`); the correction is the range-aware map
(equation 6). Added to it, without touching any of that: the visible part by a global map of f, standard errors, and a
flag for rows so far from the bank that a kernel average means little. X is used as it is; the paper does not speak of
standardising. What we would rather do is an option: `min_mass` and `stop_hopeless`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import torch

from miscal.base.errors import InputError
from miscal.base.folders import built_of_fields
from miscal.base.folds import named_units
from miscal.base.precision import LARGEST_SINGLE, merged_columns
from miscal.base.process import one_thread
from miscal.calibration.global_map import held_out_global_map
from miscal.data.splits import in_canonical_order
from miscal.data.triples import Triples
from miscal.estimators.kernel import nearest
from miscal.estimators.paper.grid import LAMBDAS, SIGMAS, check_grid, search
from miscal.estimators.paper.phi import MAX_EPOCHS, PATIENCE, Representation, TrainingData, device_of
from miscal.estimators.paper.readout import Readout, choose_alpha, range_aware
from miscal.estimators.registry import Estimator, FieldEstimate

BANK_SIZE = 20_000
"""Most training rows in the bank, a uniform sample."""

MIN_TRAIN, MIN_VAL = 20, 2
"""Fewest rows to train on, the mass a row should have, and to choose by."""


class PaperField(Estimator):
    """The miscalibration field by the paper's method.

    Parameters
    ----------
    sigmas, lambdas : sequences of float
        The grid, by default the paper's.
    max_epochs, patience : int, default 100 and 20
    bank_size : int, default 20,000
        Most rows in the bank.
    neighbours : int, optional
        Average over that many nearest bank rows alone, the paper's optional top-k; by default over the whole bank.
        Training and the choice of (sigma, lambda) are without it.
    min_mass : float, default 0.0
        A row whose sum of kernel weights is smaller gets the value of the global map and belongs to no regime. With
        0, as in the paper, every row keeps its kernel average; 1 is our advice. Rows of a mass below 1 are not
        `supported` in either case.
    stop_hopeless : bool, default False
        Stop settings that cannot catch up, which saves time (see :mod:`miscal.estimators.paper.grid`). The paper
        trains all until their patience ends.
    random_state : int or Generator, default 0
        Draws validation rows (if `fit` is given no split), bank, starting weights, batches and dropout.
    n_jobs : int, optional
        Processes, by default as many as cores are allowed to this process. Changes no number.
    device : {"auto", "cpu", "cuda"}, default "auto"
        Where phi is trained: "auto" is the GPU where there is one, else the CPU. Batches and dropout are the same on
        both, the arithmetic differs by rounding. On a GPU the settings of the grid are trained one after the other.

    Attributes
    ----------
    selection_ : list of dict
        One row per setting: sigma, lambda, proxy, epoch, n_epochs, stopped, chosen.
    sigma_, penalty_, epoch_, alpha_
        Chosen bandwidth, lambda, epoch (from 1) and scale of the correction.
    settings_ : dict
        sigma, lambda, epoch and alpha.
    readout : Readout
        How residuals are averaged: `neighbours` and `min_mass`.
    device_ : str
        "cpu" or "cuda": where phi is trained, and rows are placed by it.
    proxies_ : tuple of float
        Validation proxy after each epoch of the chosen setting.
    structure_ : bool
        True: the method has no test of structure and always claims some.
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
    >>> rows = Triples.of(X, confidence=f, correct=y)
    >>> field = PaperField(sigmas=[0.3], lambdas=[0.01], max_epochs=3, n_jobs=1).fit(rows)
    >>> field.estimate(np.array([[-2.0, 0.0], [2.0, 0.0]], "float32"), np.array([0.5, 0.5])).delta.round(1)
    array([-0.4,  0.3])
    """

    folds_keep_choices: ClassVar[bool] = True
    chooses_on_validation: ClassVar[bool] = True
    sees_columns: ClassVar[bool] = False
    # torch draws from one stream for all threads: none of several fits runs in one (`most_rows_in_threads` is 0)
    structure_: ClassVar[bool] = True
    proxies_: tuple[float, ...] = ()
    sigma_: float
    penalty_: float
    epoch_: int
    alpha_: float
    readout: Readout
    phi_: Representation
    bank_rows_: np.ndarray
    bank_coordinates_: np.ndarray
    bank_residual_: np.ndarray
    bank_weight_: np.ndarray

    def __init__(
        self,
        *,
        sigmas: Sequence[float] = SIGMAS,
        lambdas: Sequence[float] = LAMBDAS,
        max_epochs: int = MAX_EPOCHS,
        patience: int = PATIENCE,
        bank_size: int = BANK_SIZE,
        neighbours: int | None = None,
        min_mass: float = 0.0,
        stop_hopeless: bool = False,
        random_state: int | np.random.Generator = 0,
        n_jobs: int | None = None,
        device: str = "auto",
    ) -> None:
        check_grid(sigmas, lambdas)
        for name, value in {"max_epochs": max_epochs, "patience": patience, "bank_size": bank_size}.items():
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise InputError(f"{name} must be a whole number of at least 1; got {value!r}")
        if not isinstance(stop_hopeless, bool):
            raise InputError(f"stop_hopeless must be true or false; got {stop_hopeless!r}")
        self.sigmas, self.lambdas = sigmas, lambdas
        self.max_epochs, self.patience, self.bank_size = max_epochs, patience, bank_size
        self.readout = Readout(neighbours, min_mass)
        super().__init__(random_state=random_state, n_jobs=n_jobs)
        self.stop_hopeless = stop_hopeless
        # here, so that a missing GPU is told before any work is done
        self.device_ = device_of(device).type

    def fit(self, rows: Triples) -> PaperField:
        """Learn phi, its bank, the global map and the scale of the correction.

        Takes rows: X is used as it is, in single precision: columns of very different scale are the caller's to scale.
        Returns: PaperField: self.
        """
        rows = rows if rows.weight is None else rows.take(rows.weight > 0)
        rows, _ = in_canonical_order(replace(rows, X=_single(rows.places), layout=None))
        X, f, y = rows.X, rows.confidence, rows.correct
        weight = np.ones(len(rows)) if rows.weight is None else rows.weight
        rng = np.random.default_rng(self.random_state)
        train, val = _train_and_val(rows, weight, rng)
        data, seed = draw_training(rows, weight, train, val, self.bank_size, rng)
        self._keep_choice(data, seed=seed)
        self.bank_rows_ = rows.row[train[data.bank]]
        self.bank_residual_, self.bank_weight_ = data.residual[data.bank], data.weight[data.bank]
        self.bank_coordinates_ = self._embed(data.X[data.bank])
        self.global_map_ = held_out_global_map(y, f, weight, train, val)
        delta = self._local(X[val], f[val])[0]
        self.alpha_ = choose_alpha(y[val], f[val], delta, weight[val])
        return self

    @property
    def settings_(self) -> dict[str, Any]:
        """What was chosen, as JSON values."""
        return {"sigma": self.sigma_, "lambda": self.penalty_, "epoch": self.epoch_, "alpha": self.alpha_}

    def for_folds(self) -> PaperField:
        """Return the estimator of a fold: with the chosen sigma, lambda and number of epochs once there are any."""
        same = {
            "bank_size": self.bank_size,
            "neighbours": self.readout.neighbours,
            "min_mass": self.readout.min_mass,
            "random_state": self.random_state,
            "device": self.device_,
        }
        if not hasattr(self, "sigma_"):
            grid = {"sigmas": self.sigmas, "lambdas": self.lambdas, "max_epochs": self.max_epochs}
            more = {"patience": self.patience, "stop_hopeless": self.stop_hopeless}
            return PaperField(**grid, **more, **same, n_jobs=1)
        chosen = {"sigmas": [self.sigma_], "lambdas": [self.penalty_], "max_epochs": self.epoch_}
        return PaperField(**chosen, **same, n_jobs=1)

    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> FieldEstimate:
        """Estimate the field.

        Takes X (n, d); confidence (n,). Returns: FieldEstimate: `delta` is the kernel average of the bank's
        residuals, and `corrected` the range-aware map of it.
        """
        f = confidence
        delta, mass, visible, coordinates = self._local(X, f)
        local = self.readout.local(mass)
        return FieldEstimate(
            delta=delta,
            mass=mass,
            supported=self.readout.supported(mass),
            visible=visible,
            hidden=delta - visible,
            corrected=np.where(local, range_aware(f, delta, self.alpha_), f + visible),
            coordinates=coordinates.astype(np.float64),
            standard_error=self._standard_error(coordinates, delta, mass),
            local=local,
        )

    def delta(self, X: np.ndarray, confidence: np.ndarray | None) -> np.ndarray:
        """Estimate delta alone, float64 (n,); without confidences by equation 2, far off the mean residual."""
        if confidence is not None:
            return self.estimate(X, confidence).delta
        return self._average(self._embed(X))[0].astype(np.float64)

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return phi(X): unit rows, float64 (n, k)."""
        return self._embed(X).astype(np.float64)

    def mass(self, X: np.ndarray) -> np.ndarray:
        """Return the sum of kernel weights at each row, float64 (n,)."""
        return self._average(self._embed(X))[1].astype(np.float64)

    def neighbours(self, X: np.ndarray, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Find the rows that an estimate rests on most.

        Takes X (q, d); n: neighbours per row. Returns row : int64 array of shape (q, n): Numbers of the rows given to
        `fit`, nearest first; weight : float64 array of shape (q, n): Their kernel weights, in [0, 1].
        """
        index, distance = nearest(self._embed(X), self.bank_coordinates_, n)
        return self.bank_rows_[index], np.exp(-np.square(distance.astype(np.float64) / self.sigma_))

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> PaperField:
        """Put a fitted field together again."""
        field = built_of_fields(cls, content, arrays)
        # corrections are read where no GPU may be, and should be the same there
        field.device_ = "cpu"
        return field

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
            device=self.device_,
        )
        chosen = found.candidates[found.chosen]
        self.selection_ = [candidate.as_dict() for candidate in found.candidates]
        self.sigma_, self.penalty_, self.epoch_ = chosen.sigma, chosen.penalty, chosen.epoch
        self.proxies_ = tuple(found.trainings[found.chosen].proxies)
        self.phi_ = found.trainings[found.chosen].best()

    def _local(self, X: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return delta, mass, the visible part and phi(X)."""
        coordinates = self._embed(X)
        average, mass = self._average(coordinates)
        visible = self.global_map_.apply(f) - f
        return np.where(self.readout.local(mass), average, visible), mass.astype(np.float64), visible, coordinates

    def _average(self, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._smooth(coordinates, self.bank_residual_, self.sigma_)

    def _smooth(self, coordinates: np.ndarray, values: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
        return self.readout.average(coordinates, self.bank_coordinates_, values, self.bank_weight_, sigma)

    def _standard_error(self, coordinates: np.ndarray, delta: np.ndarray, mass: np.ndarray) -> np.ndarray:
        """sqrt(sum w K^2 (r - delta)^2) / sum w K; K^2 is the kernel of bandwidth sigma / sqrt 2."""
        r = self.bank_residual_
        moments, squares = self._smooth(coordinates, np.stack([r, np.square(r)], 1), self.sigma_ / np.sqrt(2))
        first, second = moments.astype(np.float64).T
        # averages times their mass are sums: sum w K^2 (r - delta)^2, expanded; rounding can leave it below 0
        spread = np.maximum(second - 2 * delta * first + np.square(delta), 0.0)
        # a mass of 0 says nothing
        return np.divide(np.sqrt(spread * squares), mass, out=np.full(len(mass), np.inf), where=mass > 0)

    def _embed(self, X: np.ndarray) -> np.ndarray:
        with one_thread():
            # beside the places of mixed inputs there are columns that the paper does not speak of
            X = X[:, : self.phi_.sizes[0]]
            # torch warns of memory that must not be written to
            # farther off, the network would leave the range of its numbers; no row learned from is
            near = X if not len(X) or np.abs(X).max() <= LARGEST_SINGLE else np.clip(X, -LARGEST_SINGLE, LARGEST_SINGLE)
            rows = torch.from_numpy(np.require(near, np.float32, requirements="W"))
            return self.phi_.on(self.device_).embed(rows).cpu().numpy()


def _single(X: np.ndarray) -> np.ndarray:
    """Narrow inputs, which the paper's network takes as they are, and refuse what would be merged."""
    if X.dtype == np.float32:
        return X
    merged = merged_columns(X)
    beyond = np.flatnonzero(np.abs(X).max(0) > LARGEST_SINGLE)
    bad = np.union1d(merged, beyond)
    if len(bad):
        low, high = X[:, bad[0]].min(), X[:, bad[0]].max()
        raise InputError(
            f"method 'paper' takes inputs as they are, in single precision, which has 7 digits and cannot hold "
            f"the values of {len(bad)} of {X.shape[1]} columns (first column {bad[0]}, counted from 0: from {low:.10g} "
            f"to {high:.10g}); subtract the column's mean and divide by its standard deviation, leave the column out, "
            "or take method 'auto', which centres by itself"
        )
    return X.astype(np.float32)


def _train_and_val(rows: Triples, weight: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return row numbers to train on and to choose by; rows of weight 0 are absent."""
    if rows.split is None:
        unit = named_units(len(rows), rows.group)
        n_units = int(unit.max()) + 1
        # 10 of the 90 % that are train or validation rows in the paper's 80/10/10
        is_val = np.isin(unit, rng.permutation(n_units)[: max(1, n_units // 9)])
    else:
        if (rows.split == "test").any():
            raise InputError(
                "split must hold only 'train' and 'val' here; it holds 'test': leave those rows out of a fit"
            )
        is_val = rows.split == "val"
    train, val = np.flatnonzero(~is_val & (weight > 0)), np.flatnonzero(is_val & (weight > 0))
    if len(train) < MIN_TRAIN or len(val) < MIN_VAL:
        raise InputError(
            f"too few rows: {len(train)} to train on and {len(val)} to choose by; "
            f"at least {MIN_TRAIN} and {MIN_VAL} of positive weight are needed"
        )
    return train, val


def draw_training(
    rows: Triples, weight: np.ndarray, train: np.ndarray, val: np.ndarray, bank_size: int, rng: np.random.Generator
) -> tuple[TrainingData, int]:
    """Draw the bank from the training rows, then the seed of the search.

    Takes weight (n,): row weights; train, val: row numbers; bank_size: at most this many rows. Returns data :
    TrainingData; seed : int.
    """
    residual, weight = rows.residual.astype(np.float32), weight.astype(np.float32)
    bank = np.sort(rng.permutation(len(train))[:bank_size])
    data = TrainingData(rows.X[train], residual[train], weight[train], rows.X[val], residual[val], weight[val], bank)
    return data, int(rng.integers(2**31))
