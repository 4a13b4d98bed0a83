"""The fitted default estimator: what it keeps, and what it says of new rows.

The portfolio of scores is ordered here, once: which there are, and how their shifts are put together.

    first scores --weights--> first stack --> refined kernels --+
                                   |                            +--weights--> shift
                                   +------------ local shift ---+

While the scores are fitted their shifts are out of fold; afterwards they are told for new rows. Both go through
:func:`weighted`. A new score is one module, with its line in ``FIRST``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from miscal.base.folders import State, fields_of
from miscal.calibration.calibrators import Calibrator, logit
from miscal.estimators.auto import clusters, few_columns, kernels, levels, trees
from miscal.estimators.auto.geometry import LOCAL, worth_adding
from miscal.estimators.auto.inputs import Places, Scaler, ScoreInputs, Support
from miscal.estimators.auto.member import CrossFitted, Fit, LearningRows, Member, Query
from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.auto.stack import StructureEvidence
from miscal.estimators.registry import Correction, FieldEstimate

Array = NDArray[np.floating]

FIRST: tuple[Callable[[LearningRows], dict[str, Fit]], ...] = (
    kernels.first_scores,
    trees.scores,
    clusters.scores,
    levels.scores,
)
"""Tell which scores of the first stack serve some rows, by name, in the order of the table of candidates."""

EARNING = frozenset({few_columns.NAME})
"""Scores that have no weight in the first stack but what they earn: most inputs have nothing for them to find."""

FIRST_STACK = "first stack"
"""Name of the first stack among the parts of the last one."""


def crossfit_first(rows: LearningRows) -> dict[str, CrossFitted]:
    """Cross-fit the scores of the first stack that serve some rows, by name; last those that must earn it."""
    fitted = {name: fit(rows) for scores in FIRST for name, fit in scores(rows).items()}
    if few_columns.serve(rows):
        # with many rows it is a fifth of the work, and one fold is enough to see that it would be in vain
        worth = partial(worth_adding, rows, columns(shifts_of(fitted))) if len(rows) >= AUTO.least_tried_rows else None
        fitted[few_columns.NAME] = few_columns.crossfit_few_columns(rows, worth)
    return fitted


def shifts_of(fitted: Mapping[str, CrossFitted]) -> dict[str, Array]:
    """Out-of-fold shifts by name."""
    return {name: score.shift for name, score in fitted.items()}


def columns(shifts: Mapping[str, Array]) -> NDArray[np.float64]:
    """Shifts side by side, (n, k)."""
    return np.stack(list(shifts.values()), 1)


def first_prior(names: Iterable[str]) -> NDArray[np.float64]:
    """Weights that those of the first stack are drawn to: alike, but for scores that must earn theirs.

    Examples
    --------
    >>> first_prior(["kernel", "boosted trees", few_columns.NAME]).tolist()
    [0.5, 0.5, 0.0]
    """
    given = np.array([name not in EARNING for name in names], np.float64)
    return given / max(given.sum(), 1.0)


def weighted(shifts: Mapping[str, Array], weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Sum shifts by their named weights, (n,).

    Examples
    --------
    >>> weighted({"a": np.ones(2), "b": np.array([0.0, 2.0])}, {"a": 0.5, "b": 0.25}).tolist()
    [0.5, 1.0]
    """
    return columns(shifts) @ np.array([weights[name] for name in shifts])


@dataclass(frozen=True, eq=False)
class Portfolio:
    """Fitted scores with their weights.

    Attributes
    ----------
    first : dict of str to Member
        The scores of the first stack.
    first_weights : dict of str to float
        Where one of them alone is returned it has 1, the others 0.
    first_scale : float
        Standard deviation of the first stack's out-of-fold shift.
    later : dict of str to Member
        What stands beside the first stack in the last one: refined kernels, the local shift.
    weights : dict of str to float
        Of the first stack and of each of ``later``.
    """

    first: dict[str, Member]
    first_weights: dict[str, float]
    first_scale: float
    later: dict[str, Member]
    weights: dict[str, float]

    def first_shifts(self, at: Query) -> dict[str, NDArray[np.float64]]:
        """Logit shift of rows by each score of the first stack, (n,) each."""
        return {name: member.shift(at) for name, member in self.first.items()}

    def weighs(self, name: str) -> bool:
        """Whether a part of the last stack is there, with a weight other than 0."""
        return self.weights.get(name, 0.0) != 0

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence.

        A score of weight 0 is not computed. The first stack is, wherever a refined kernel stands on it.
        """
        later = {name: member for name, member in self.later.items() if self.weighs(name)}
        total = np.zeros(len(at.offset))
        if self.weighs(FIRST_STACK) or any(name != LOCAL for name in later):
            shifts = {name: member.shift(at) for name, member in self.first.items() if self.first_weights[name] != 0}
            first = weighted(shifts, self.first_weights) if shifts else total
            total = total + self.weights[FIRST_STACK] * first
            at = replace(at, first=first / self.first_scale)
        return total + sum(self.weights[name] * member.shift(at) for name, member in later.items())


# rows whose distances to 300 landmarks stay in a cache of 1 MB, and which a product still runs through at full speed
_BLOCK_ROWS = 512


def blocks(n: int) -> list[slice]:
    """Cut n rows into blocks; no rows are one block.

    Examples
    --------
    >>> blocks(600)
    [slice(0, 512, None), slice(512, 1024, None)]
    """
    return [slice(i, i + _BLOCK_ROWS) for i in range(0, max(n, 1), _BLOCK_ROWS)]


def _overflowing() -> np.errstate:
    """Let numbers of rows that lie beyond all bounds overflow in silence: such rows are not supported."""
    return np.errstate(over="ignore", invalid="ignore")


def beside_components(score: Array, inputs: ScoreInputs) -> NDArray[np.float32]:
    """Put a score, of unit size, before the leading components of a wide input, (n, 1 + q)."""
    leading = inputs.components[:, : AUTO.leading_components]
    return np.concatenate([score[:, None].astype(np.float32), leading], 1)


@dataclass(frozen=True, eq=False)
class AutoModel:
    """The fitted default estimator.

    Attributes
    ----------
    global_map : Calibrator
    scaler : Scaler
    wide : kernels.KernelMember or None
        The score of x alone that places rows in the learned geometry, before a wide input's leading components; None
        where the inputs are few.
    wide_scale : float
        Standard deviation of that score, out of fold.
    local : LocalShift
    portfolio : Portfolio or None
        Where no local structure is claimed it corrects nothing, but tests may ask it; None in a saved model then.
    support : Support
        Where there are rows learned from.
    candidates : tuple of dict
        Rows of a table: of each its `name`, its out-of-fold `log_loss` in nats and Brier score (`proxy`: the paper's
        criterion; tabled, not used), its `weight` in the final stack where it has one, whether it is `chosen`, and its
        settings.
    evidence : StructureEvidence
        For local structure, out of fold.
    """

    global_map: Calibrator
    scaler: Scaler
    wide: kernels.KernelMember | None
    wide_scale: float
    local: LocalShift
    portfolio: Portfolio | None
    support: Support
    candidates: tuple[dict[str, Any], ...]
    evidence: StructureEvidence

    @property
    def structure(self) -> bool:
        """Whether local structure is claimed."""
        return self.evidence.structure

    def inputs(self, X: Array, confidence: Array | None = None) -> ScoreInputs:
        """Scale rows; the geometry needs no confidence."""
        return self.scaler(X, np.full(len(X), 0.5) if confidence is None else confidence)

    def place(self, inputs: ScoreInputs) -> NDArray[np.float32]:
        """Place rows where the geometry is learned, (n, p): a function of X alone."""
        if self.wide is None:
            return inputs.x
        # the score sees x alone and starts at the offset: any offset gives the same shift
        none = np.zeros(len(inputs.x))
        return beside_components(self.wide.shift(Query(inputs, none, none)) / self.wide_scale, inputs)

    def placed(self, X: Array) -> NDArray[np.float32]:
        """Give the inputs of the learned geometry for rows of X, (n, p)."""
        return np.concatenate([self.place(self.inputs(X[part])) for part in blocks(len(X))])

    def base(self, confidence: Array) -> NDArray[np.float64]:
        """Confidences by the global map alone, (n,), in [0, 1]."""
        return np.clip(self.global_map.apply(confidence), 0.0, 1.0)

    @property
    def local_weighs(self) -> bool:
        """Whether the local shift has a weight in the stack."""
        return self.structure and self.portfolio is not None and self.portfolio.weighs(LOCAL)

    def supported(self, inputs: ScoreInputs) -> NDArray[np.bool_]:
        """Tell rows near enough to rows learned from, (n,)."""
        return self.support.holds(inputs.x, inputs.distances, self._spanning)

    @cached_property
    def _spanning(self) -> Places | None:
        """The rows that the first kernels stand on: all of them on the same."""
        members = () if self.portfolio is None else self.portfolio.first.values()
        return next((member.places for member in members if isinstance(member, kernels.KernelMember)), None)

    def correct(self, X: Array, confidence: Array) -> Correction:
        """Correct confidences, computing nothing that has no weight in the answer."""
        with _overflowing():
            parts = [self._corrected(X[part], confidence[part]) for part in blocks(len(X))]
        corrected, supported, mass = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Correction(corrected - confidence, corrected, supported, mass if self.local_weighs else None)

    def _corrected(self, X: Array, confidence: Array) -> tuple[Array, NDArray[np.bool_], Array]:
        inputs, base = self.inputs(X, confidence), self.base(confidence)
        at, mass = Query(inputs, logit(base), logit(confidence)), np.zeros(0)
        if self.local_weighs:
            # its error is no part of the answer
            readout = self.local.read(self.place(inputs), errors=False)
            at, mass = replace(at, readout=readout), readout.mass
        supported = self.supported(inputs)
        return self.answer(at, base, supported), supported, mass

    def estimate(self, X: Array, confidence: Array) -> FieldEstimate:
        """Everything that is known of rows, parts without weight included."""
        with _overflowing():
            parts = [self._estimated(X[part], confidence[part]) for part in blocks(len(X))]
        return FieldEstimate(
            **{field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(parts[0])}
        )

    def query(self, X: Array, confidence: Array) -> tuple[Query, NDArray[np.float32]]:
        """Everything the scores see of rows, and the inputs of the learned geometry."""
        inputs = self.inputs(X, confidence)
        place = self.place(inputs)
        return Query(inputs, logit(self.base(confidence)), logit(confidence), readout=self.local.read(place)), place

    def _estimated(self, X: Array, confidence: Array) -> FieldEstimate:
        (at, place), base = self.query(X, confidence), self.base(confidence)
        supported = self.supported(at.inputs)
        shifted = self.shifted(at, base, supported)
        corrected = shifted if self.structure else base
        return FieldEstimate(
            delta=corrected - confidence,
            mass=at.readout.mass,
            supported=supported,
            visible=base - confidence,
            hidden=corrected - base,
            corrected=corrected,
            coordinates=self.local.coordinates(place).astype(np.float64),
            # delta method: the derivative of sigmoid is p (1 - p)
            standard_error=corrected * (1 - corrected) * at.readout.shift_error,
            ungated=shifted - base,
        )

    def far_values(self, X: Array) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """Count by column, (d,) each, values far from those learned from, and new values where all were one."""
        scaler, far, changed = self.scaler, 0, 0
        constant = scaler.inverse_sd == 0
        for part in blocks(len(X)):
            apart = X[part, : len(scaler.mean)] - scaler.mean
            far = far + (np.abs(apart) * scaler.inverse_sd > AUTO.far_value).sum(0)
            # a value that differs by rounding is the same
            changed = changed + (constant & (np.abs(apart) > 1e-4 * np.abs(scaler.mean))).sum(0)
        return far, changed

    def answer(self, at: Query, base: Array, supported: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Corrected confidences in [0, 1]: those of the global map, `base`, where no local structure is claimed."""
        return self.shifted(at, base, supported) if self.structure else base

    def shifted(self, at: Query, base: Array, supported: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Confidences by the portfolio, claimed or not; those of the global map where the local support is missing."""
        if self.portfolio is None:
            return base
        return np.where(supported, expit(at.offset + self.portfolio.shift(at)), base)

    def state(self) -> State:
        """Take it apart; a saved model corrects, and tests nothing."""
        return fields_of(self if self.structure else replace(self, portfolio=None))
