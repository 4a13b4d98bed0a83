"""The default estimator behind the same interface as the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_features, check_lengths, check_weight, drawn_seed
from miscal.base.errors import InputError
from miscal.base.folds import row_groups
from miscal.calibration.calibrators import CALIBRATORS
from miscal.estimators.auto.clusters import ClusterScore, Partition
from miscal.estimators.auto.estimator import fit_auto
from miscal.estimators.auto.evidence import Evidence
from miscal.estimators.auto.inputs import Scaler
from miscal.estimators.auto.kernels import KernelScore, KernelSpec
from miscal.estimators.auto.local import LocalShift
from miscal.estimators.auto.model import AutoModel, Candidate, Scores
from miscal.estimators.auto.support import Support
from miscal.estimators.auto.trees import TreeScore
from miscal.estimators.estimate import FieldEstimate

MIN_ROWS = 20
"""Fewest rows of positive weight to learn from: some fewer than a run asks for, whose folds leave rows out."""


class AutoField:
    """Portfolio of logit shifts with a local readout; see :mod:`miscal.estimators.auto.estimator`.

    Parameters
    ----------
    random_state : int or numpy.random.Generator, default 0

    Attributes
    ----------
    model_ : AutoModel
    selection_ : list of dict
        Candidates with out-of-fold `log_loss`, `proxy`, stack `weight`, `chosen`.
    global_map_ : Calibrator
    structure_ : bool
        Whether local structure is claimed, by the out-of-fold evidence of the stack against the global map.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 2)), np.full(600, 0.5)
    >>> y = (rng.random(600) < np.where(X[:, 0] > 0, 0.9, 0.1)).astype(int)
    >>> field = AutoField().fit(X, y, confidence=f)
    >>> np.sign(field.estimate([[-1.0, 0.0], [1.0, 0.0]], [0.5, 0.5]).delta)
    array([-1.,  1.])
    """

    def __init__(self, *, random_state: int | np.random.Generator = 0) -> None:
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, *, confidence: Any, sample_weight: Any = None, groups: Any = None, split: Any = None
    ) -> AutoField:
        """Fit on all rows given; `split` is not needed, every choice is cross-fitted.

        Parameters
        ----------
        X : array-like of shape (n, d), finite
        y : array-like of shape (n,), 0 or 1
        confidence : array-like of shape (n,), in [0, 1]
        sample_weight : array-like of shape (n,), optional
        groups : array-like of shape (n,), optional
            Rows that stay in one fold; by default rows with equal inputs.
        split : ignored

        Returns
        -------
        AutoField
            self.

        Raises
        ------
        InputError
            For input that cannot be used, or fewer than 20 rows.
        """
        n = check_lengths(X=X, y=y, confidence=confidence, sample_weight=sample_weight, groups=groups)
        X, f, y = check_features(X), check_confidence(confidence), check_correct(y, name="y")
        weight = None if sample_weight is None else check_weight(sample_weight, n)
        number = row_groups(X, groups)
        if weight is not None:
            kept = weight > 0
            X, f, y, weight, number = X[kept], f[kept], y[kept], weight[kept], number[kept]
        self.rows_ = np.arange(n) if weight is None else np.flatnonzero(kept)
        if len(y) < MIN_ROWS:
            raise InputError(f"too few rows: {len(y)} of positive weight came; at least {MIN_ROWS} are needed")
        self._keep(fit_auto(X, y, f, groups=number, weight=weight, seed=drawn_seed(self.random_state)))
        return self

    def _keep(self, model: AutoModel) -> None:
        self.model_ = model
        self.global_map_ = model.global_map
        self.structure_ = model.structure
        self.selection_ = [{**c.__dict__, **c.settings} for c in model.candidates]
        for row in self.selection_:
            del row["settings"]

    def estimate(self, X: Any, confidence: Any) -> FieldEstimate:
        """Estimate the field.

        Parameters
        ----------
        X : array-like of shape (n, d)
        confidence : array-like of shape (n,), in [0, 1]

        Returns
        -------
        FieldEstimate
            `corrected` = confidence + `delta`, in [0, 1]. Where no structure is claimed or a row is not supported,
            `delta` is the global map's and `hidden` is 0. `standard_error` is that of the local readout.
        """
        check_lengths(X=X, confidence=confidence)
        X, f = self._checked(X), check_confidence(confidence)
        inputs = self.model_.inputs(X, f)
        place = self.model_.place(inputs)
        local = self.model_.local.read(place)
        supported = self.model_.supported(inputs)
        base = np.clip(self.global_map_.predict(f), 0.0, 1.0)
        corrected = self.model_.corrected(inputs, f, local, supported)
        return FieldEstimate(
            delta=corrected - f,
            mass=local.mass,
            supported=supported,
            visible=base - f,
            hidden=corrected - base,
            corrected=corrected,
            coordinates=self.model_.local.coordinates(place).astype(np.float64),
            standard_error=corrected * (1 - corrected) * local.shift_error,
        )

    def transform(self, X: Any) -> np.ndarray:
        """Place rows in the learned geometry, float64 (n, k); inputs miscalibrated alike lie close."""
        return self.model_.local.coordinates(self._place(X)).astype(np.float64)

    def mass(self, X: Any) -> np.ndarray:
        """Sum of kernel weights at each row, float64 (n,)."""
        return self.model_.local.read(self._place(X)).mass

    def neighbours(self, X: Any, n: int = 10) -> tuple[np.ndarray, np.ndarray]:
        """Training rows that weigh most at each row: row numbers (q, n) and kernel weights (q, n)."""
        rows, weights = self.model_.local.nearest(self._place(X), n)
        return self.rows_[rows], weights

    def _place(self, X: Any) -> np.ndarray:
        return self.model_.place(self.model_.inputs(self._checked(X)))

    def _checked(self, X: Any) -> np.ndarray:
        X = check_features(X)
        wanted = len(self.model_.scaler.mean)
        if X.shape[1] != wanted:
            raise InputError(f"X has {X.shape[1]} columns; the field was fitted to {wanted}")
        return X

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return everything learned: JSON values, and arrays."""
        m = self.model_
        content: dict[str, Any] = {
            "global_map": m.global_map.name,
            "place_scale": m.place_scale,
            "reach": m.support.reach,
            "evidence": m.evidence.__dict__,
            "ridge": m.local.ridge,
            "candidates": [c.__dict__ for c in m.candidates],
        }
        arrays = {"rows": self.rows_, "landmarks": m.support.landmarks}
        arrays |= _prefixed("global_map", m.global_map.state()) | _prefixed("scaler", m.scaler.state())
        local = {k: v for k, v in m.local.__dict__.items() if k != "ridge"}
        arrays |= _prefixed("local", local)
        if m.place_score is not None:
            content["place"] = _kernel_state("place", m.place_score, arrays)
        if m.scores is not None:
            content["scores"] = _scores_state(m.scores, arrays)
        return content, arrays

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> AutoField:
        """Rebuild a fitted field from what :meth:`state` returned."""
        self = cls()
        self.rows_ = np.asarray(arrays["rows"])
        self._keep(
            AutoModel(
                global_map=CALIBRATORS[content["global_map"]].from_state(_under("global_map", arrays)),
                scaler=Scaler.from_state(_under("scaler", arrays)),
                place_score=_kernel_from("place", content["place"], arrays) if "place" in content else None,
                place_scale=content["place_scale"],
                local=LocalShift(**_under("local", arrays), ridge=content["ridge"]),
                scores=_scores_from(content["scores"], arrays) if "scores" in content else None,
                support=Support(arrays["landmarks"], content["reach"]),
                candidates=tuple(Candidate(**c) for c in content["candidates"]),
                evidence=Evidence(**content["evidence"]),
            )
        )
        return self


def _prefixed(prefix: str, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {f"{prefix}.{name}": np.asarray(value) for name, value in arrays.items()}


def _under(prefix: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def _kernel_state(name: str, score: KernelScore, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    parts = {"landmarks": score.landmarks, "coefficients": score.coefficients, "linear": score.linear}
    arrays |= _prefixed(name, parts)
    return score.spec.__dict__


def _kernel_from(name: str, spec: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> KernelScore:
    return KernelScore(KernelSpec(**spec), **_under(name, arrays))


def _partition_state(name: str, partition: Partition, arrays: dict[str, np.ndarray]) -> bool:
    arrays |= _prefixed(name, {"centres": partition.centres, "shifts": partition.shifts})
    return partition.from_raw


def _scores_state(scores: Scores, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    weights = {"first_weights": scores.first_weights, "final_weights": scores.final_weights}
    arrays |= _prefixed("scores", weights)
    if scores.trees is not None:
        arrays["trees"] = np.frombuffer(scores.trees.text.encode(), np.uint8)
    return {
        "kernels": [_kernel_state(f"kernel{i}", k, arrays) for i, k in enumerate(scores.kernels)],
        "refined": [_kernel_state(f"refined{i}", k, arrays) for i, k in enumerate(scores.refined)],
        "shift_scale": scores.shift_scale,
        "local_in_stack": scores.local_in_stack,
        "local_from_raw": scores.local_from_raw,
        "clusters": [_partition_state(f"clusters{i}", p, arrays) for i, p in enumerate(scores.clusters.partitions)],
    }


def _scores_from(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Scores:
    return Scores(
        kernels=tuple(_kernel_from(f"kernel{i}", k, arrays) for i, k in enumerate(content["kernels"])),
        trees=TreeScore(arrays["trees"].tobytes().decode()) if "trees" in arrays else None,
        clusters=ClusterScore(
            tuple(Partition(**_under(f"clusters{i}", arrays), from_raw=r) for i, r in enumerate(content["clusters"]))
        ),
        refined=tuple(_kernel_from(f"refined{i}", k, arrays) for i, k in enumerate(content["refined"])),
        **_under("scores", arrays),
        **{name: content[name] for name in ("shift_scale", "local_in_stack", "local_from_raw")},
    )
