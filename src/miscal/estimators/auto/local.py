"""The local shift as a member of the portfolio: cross-fitted, and joined to the stack where it earns its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from miscal.estimators.auto.geometry import PlacedRows, fit_local
from miscal.estimators.auto.member import CrossFitted, LearningRows, Query, State
from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.auto.settings import AUTO
from miscal.estimators.auto.stack import gain_in_log_loss, stack_weights

Array = NDArray[np.floating]

LOCAL = "local shift"

# stream of the geometry that is fitted on all rows; folds use 0, 1, ...
_FINAL = 99


@dataclass(frozen=True)
class LocalMember:
    """The kernel readout over the offset. The geometry itself is kept by the model, in the stack or not.

    Attributes
    ----------
    from_raw : bool
        Whether it starts from the log-odds of the confidence itself, not from those of the global map.
    """

    kind: ClassVar[str] = "local"

    from_raw: bool = False

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,), read at ``at.readout``; positive raises the confidence."""
        return at.readout.shift + (at.raw - at.offset if self.from_raw else 0)

    def state(self) -> State:
        """Where it starts."""
        return {"from_raw": self.from_raw}, {}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        return cls(**content)


def crossfit_local(rows: LearningRows, place: Array, parts: Array) -> tuple[CrossFitted | None, LocalShift]:
    """Cross-fit the local shift beside the other parts of the stack, and learn its geometry from all rows.

    The first fold chooses where it starts; with many columns it also leaves the local shift out of the stack where that
    adds nothing to the other parts.

    Takes place (n, p): inputs of the geometry; parts (n, k): out-of-fold shifts of the other parts. Returns None
    beside the geometry where the local shift stays out of the stack.
    """
    # judged on one fold alone, because every trial is a whole fit
    first = rows.folds == 0
    # it may start from the global map, and of few columns from the raw confidence, where that differs
    starts = [False, True] if rows.few_columns and not np.array_equal(rows.at.raw, rows.at.offset) else [False]
    trials = {raw: _held_out(rows, place, 0, raw) for raw in starts}
    losses = {
        raw: negative_log_likelihood(rows.correct[first], rows.at.offset[first] + trial)
        for raw, trial in trials.items()
    }
    from_raw = min(trials, key=lambda raw: np.average(losses[raw], weights=rows.weight_of(first)))
    geometry = _fit(rows, place, from_raw, np.full(len(rows), True), _FINAL, AUTO.final_steps)
    if not (rows.few_columns or worth_adding(rows, parts, first, trials[from_raw])):
        return None, geometry
    shift = np.zeros(len(rows))
    shift[first] = trials[from_raw]
    # the first fold's shift is its trial, which is at hand
    for k in np.unique(rows.folds)[1:]:
        shift[rows.folds == k] = _held_out(rows, place, int(k), from_raw)
    return CrossFitted(LocalMember(from_raw), shift, {"ridge": geometry.ridge}), geometry


def _fit(
    rows: LearningRows, place: Array, from_raw: bool, kept: NDArray[np.bool_], stream: int, steps: tuple[int, int]
) -> LocalShift:
    base, many = rows.at.start(from_raw), int(not rows.few_columns)
    placed = PlacedRows.of(place[kept], rows.correct[kept], base[kept], rows.weight_of(kept), rows.groups[kept])
    rng = np.random.default_rng((rows.seed, stream))
    return fit_local(placed, rng=rng, steps=steps[many], compared=AUTO.compared_rows[many])


def _held_out(rows: LearningRows, place: Array, k: int, from_raw: bool) -> NDArray[np.float64]:
    """Shift of the rows of fold k over the offset, learned from the other folds."""
    inside = rows.folds == k
    geometry = _fit(rows, place, from_raw, ~inside, k, AUTO.fold_steps)
    start = rows.at.start(from_raw)[inside] - rows.at.offset[inside]
    return start + geometry.read(place[inside], errors=False).shift


def worth_adding(rows: LearningRows, parts: Array, first: NDArray[np.bool_], trial: Array) -> bool:
    """Whether a fifth of a trial on the first fold improves the other parts' stack there by a standard error."""
    offset, y, share = rows.at.offset, rows.correct, AUTO.trial_share
    others = parts[first] @ stack_weights(parts[~first], y[~first], offset[~first], rows.weight_of(~first))
    base = offset[first]
    joined = base + (1 - share) * others + share * trial
    gain, error = gain_in_log_loss(y[first], base + others, joined, rows.weight_of(first))
    return gain >= error
