"""The fitted default estimator: what it keeps, and what it says of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.calibration.calibrators import logit
from miscal.estimators.auto.clusters import ClusterScore
from miscal.estimators.auto.evidence import Evidence
from miscal.estimators.auto.inputs import Inputs, Scaler
from miscal.estimators.auto.kernels import KernelScore
from miscal.estimators.auto.local import LocalReadout, LocalShift
from miscal.estimators.auto.support import Support
from miscal.estimators.auto.trees import TreeScore, tree_columns

Array = NDArray[np.floating]

TREES, CLUSTERS, LOCAL = "boosted trees", "shift by cluster", "local shift"
# components that join the score in the refined kernels and in the geometry
_LEADING = 10


@dataclass(frozen=True)
class Candidate:
    """One row of the table of candidates.

    Attributes
    ----------
    name : str
    log_loss : float
        Out-of-fold log loss of the confidences it would give, in nats.
    proxy : float
        Out-of-fold Brier score of the same (the paper's criterion; tabled, not used).
    weight : float or None
        Weight in the final stack, where it has one.
    chosen : bool
    settings : dict
    """

    name: str
    log_loss: float
    proxy: float
    weight: float | None
    chosen: bool
    settings: dict


@dataclass(frozen=True)
class Scores:
    """All fitted scores: what turns (inputs, offset) into a stacked logit shift.

    Attributes
    ----------
    kernels : tuple of KernelScore
    trees : TreeScore or None
    clusters : ClusterScore
    first_weights : ndarray
        Stack of kernels, trees and clusters. Where one of them alone is returned it has 1, the others 0.
    shift_scale : float
        Standard deviation of the first stack's out-of-fold shift.
    refined : tuple of KernelScore
    final_weights : ndarray
        Stack of (first stack, refined..., local shift).
    local_in_stack : bool
    local_from_raw : bool
        Whether the local shift starts from the confidence itself.
    """

    kernels: tuple[KernelScore, ...]
    trees: TreeScore | None
    clusters: ClusterScore
    first_weights: NDArray[np.float64]
    shift_scale: float
    refined: tuple[KernelScore, ...]
    final_weights: NDArray[np.float64]
    local_in_stack: bool
    local_from_raw: bool

    def members(self, inputs: Inputs, offset: Array, raw: Array) -> dict[str, NDArray[np.float64]]:
        """Logit shifts over `offset`, (n,), of the first scores by name. `raw`: log-odds of confidences."""
        found = {}
        for k in self.kernels:
            start = raw if k.spec.from_raw else offset
            found[k.spec.name] = start - offset + k.shift(k.spec.columns(inputs), start)
        if self.trees is not None:
            found[TREES] = self.trees.shift(tree_columns(inputs))
        return found | {CLUSTERS: self.clusters.shift(inputs.components, offset, raw)}

    def local(self, local: LocalReadout, offset: Array, raw: Array) -> NDArray[np.float64]:
        """Local shift over `offset`, (n,), wherever it starts."""
        return local.shift + (raw - offset if self.local_from_raw else 0)

    def shift(self, inputs: Inputs, offset: Array, raw: Array, local: LocalReadout) -> NDArray[np.float64]:
        """Stacked logit shift over `offset`, (n,); positive raises the confidence. `raw`: log-odds of confidences."""
        first = np.stack(list(self.members(inputs, offset, raw).values()), 1) @ self.first_weights
        parts = [first]
        if self.refined:
            columns = refined_columns(inputs, first / self.shift_scale)
            parts += [k.shift(c, offset) for k, c in zip(self.refined, columns, strict=True)]
        if self.local_in_stack:
            parts.append(self.local(local, offset, raw))
        return np.stack(parts, 1) @ self.final_weights


@dataclass(frozen=True)
class AutoModel:
    """The fitted default estimator.

    Attributes
    ----------
    global_map : calibrator
    scaler : Scaler
    place_score : KernelScore or None
        The score of x alone that is the first coordinate of a wide input's place.
    place_scale : float
        Standard deviation of that score, out of fold.
    local : LocalShift
    scores : Scores or None
        None where no local structure is claimed.
    support : Support
        Where there are rows learned from.
    candidates : tuple of Candidate
    evidence : Evidence
        For local structure, out of fold.
    """

    global_map: object
    scaler: Scaler
    place_score: KernelScore | None
    place_scale: float
    local: LocalShift
    scores: Scores | None
    support: Support
    candidates: tuple[Candidate, ...]
    evidence: Evidence

    @property
    def structure(self) -> bool:
        """Whether local structure is claimed."""
        return self.scores is not None

    def inputs(self, X: Array, confidence: Array | None = None) -> Inputs:
        """Scale rows; the geometry needs no confidence."""
        return self.scaler(X, np.full(len(X), 0.5) if confidence is None else confidence)

    def place(self, inputs: Inputs) -> NDArray[np.float32]:
        """Give the inputs of the learned geometry: a function of X alone, (n, p)."""
        if self.place_score is None:
            return inputs.x
        score = self.place_score.shift(self.place_score.spec.columns(inputs), np.zeros(len(inputs.x)))
        return beside_components(score / self.place_scale, inputs)

    def supported(self, inputs: Inputs) -> NDArray[np.bool_]:
        """Tell rows with a training row near by, (n,). What a single score does not know it leaves at 0 by itself."""
        return self.support.holds(inputs.x)

    def corrected(
        self, inputs: Inputs, confidence: Array, local: LocalReadout, supported: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Corrected confidences in [0, 1]; the global map's where the local support is missing."""
        base = self.global_map.predict(confidence)
        if self.scores is None:
            return base
        offset = logit(base)
        shift = self.scores.shift(inputs, offset, logit(confidence), local)
        return np.where(supported, expit(offset + shift), base)


def beside_components(score: Array, inputs: Inputs) -> NDArray[np.float32]:
    """Put a score of unit size before the leading components, (n, 1 + q)."""
    return np.concatenate([score[:, None].astype(np.float32), inputs.components[:, :_LEADING]], 1)


def refined_columns(inputs: Inputs, first: Array) -> list[NDArray[np.float32]]:
    """Stack what the refined kernels see: score, components, and a view of the confidence last."""
    score = first[:, None].astype(np.float32)
    return [
        np.concatenate([score, np.float32(0.3) * inputs.components[:, :_LEADING], inputs.level[:, None]], 1),
        np.concatenate([score, np.float32(0.5) * inputs.components[:, :_LEADING], inputs.rank[:, None]], 1),
    ]
