"""What a monitor asks: whether the correction is worse than none, and whether outcomes are as it says.

The second is asked of all rows, of the rows of each finding and of those on either side of each threshold. A question
has one mean, the interval of it that holds at all looks together, and a zone that counts as right. The correction does
not hold where the interval is clear of the zone, it holds where the interval lies within, and else it is not known.

The interval begins anew with every look, at less and less error, so that a change after a long calm is seen too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from miscal.base.document import Part, Share
from miscal.base.number_wording import threshold_text
from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics.scores import log_losses
from miscal.discovery.run import RunContent
from miscal.evidence.anytime import SUMS, clipped_logit, running_interval, unit_sums
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings import EPSILON
from miscal.findings.conditions import Frame
from miscal.runs.monitor.document import (
    BROKEN,
    FINDING,
    GAIN,
    HOLDS,
    LEVEL,
    THRESHOLD,
    UNKNOWN,
    Count,
    QuestionKind,
    Some,
    State,
)
from miscal.runs.monitor.new_rows import NewLabelled

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_Shift = Annotated[float, Field(ge=-100, le=100)]

MEANS = ("observed", "raw", "corrected")
COLUMNS = (*SUMS, *MEANS)
"""What is kept of a question at each look: sums by units, and sums over rows of outcomes and confidences."""

LEVEL_SHARE = 0.96
"""Share of the error that is kept for all rows; all else shares the rest: a tenth as much error makes an interval about
a fifth wider."""
FROM_FIRST = 0.98
"""Share of the error of a question for all looks together; the rest is for those from a later look on."""
TOLERANCE = 0.4
"""Distance from the corrected confidences that counts as right, in parts of the run's band: 2 points of 5."""


class Question(Part):
    """One question, and what the looks so far brought: `history` is (looks, 13), with the `COLUMNS` of each look.

    ``error`` is how often it may wrongly be said not to hold, ever; ``allowed`` the zone that counts as right, without
    lower end of the gain; and ``factor`` of every standard error. ``place`` is that of a finding among those of the
    run. Of a threshold, ``above`` says whether it is about the rows at or above it. ``broken`` are the first
    and last look of the rows that showed that it does not hold, from 1.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    key: str
    kind: QuestionKind
    about: str
    error: Annotated[float, Field(gt=0, lt=1)]
    allowed: tuple[_Shift | None, _Shift]
    factor: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    place: Count | None = None
    threshold: Share | None = None
    above: bool = True
    broken: tuple[Some, Some] | None = None
    history: np.ndarray = Field(default_factory=lambda: np.zeros((0, len(COLUMNS))), exclude=True)

    def sums(self, rows: NewLabelled, inside: Mask | None = None) -> Floats:
        """Sum over the rows that it is about; `inside` says which ones they are of a finding."""
        q, along = rows.corrected, np.ones(len(rows))
        if self.kind == GAIN:
            # as it changes with the outcome, so that the variance is known where the corrected confidences are right
            along = clipped_logit(q) - clipped_logit(rows.confidence)
            increment = log_losses(rows.correct, q) - log_losses(rows.correct, rows.confidence)
        else:
            increment = rows.correct - q
        if self.threshold is not None:
            inside = (q >= self.threshold) == self.above
        at = np.ones(len(rows), bool) if inside is None else inside
        means = [float(values[at].sum()) for values in (rows.correct, rows.confidence, q)]
        return np.r_[unit_sums(increment[at], along[at], q[at], rows.unit[at]), means]

    def after(self, rows: NewLabelled, inside: Mask | None) -> Question:
        """Look at new rows."""
        history = np.vstack([self.history, self.sums(rows, inside)])
        return self.model_copy(update={"history": history, "broken": self.broken or self._shown_broken(history)})

    def _shown_broken(self, history: Floats) -> tuple[int, int] | None:
        starts = np.flatnonzero(history[:, 0] > 0)
        if len(starts) == 0:
            return None
        since = np.cumsum(history[::-1], axis=0)[::-1][starts]
        error, cut = self._errors(np.arange(1, len(starts) + 1)), len(SUMS)
        mean, radius = running_interval(since[:, :cut], history[starts, :cut], error, self.factor)
        low, high = self.allowed
        off = (mean - radius > high) | (mean + radius < (-np.inf if low is None else low))
        return (int(starts[np.argmax(off)]) + 1, len(history)) if off.any() else None

    def course(self, first: int, last: int) -> tuple[Floats, Floats, Floats]:
        """Return sums, mean and radius of the rows of looks `first` to each look up to `last`, from 1."""
        sums = np.cumsum(self.history[first - 1 : last], axis=0)
        # before the first rows nothing is known; they are what the interval is tuned to
        tuned = self.history[np.argmax(self.history[first - 1 :, 0] > 0) + first - 1, : len(SUMS)]
        # of the start among the looks with rows; before the first of these, it is the first
        nth = np.array(max((self.history[:first, 0] > 0).sum(), 1))
        first_sums = np.broadcast_to(tuned, (len(sums), len(SUMS)))
        mean, radius = running_interval(sums[:, : len(SUMS)], first_sums, self._errors(nth), self.factor)
        return sums, mean, radius

    def _errors(self, nth: NDArray[np.integer]) -> Floats:
        """Return the error for the rows since the nth look, from 1; together they are that of the question."""
        later = (1 - FROM_FIRST) / np.maximum(nth * (nth - 1), 1)
        return self.error * np.where(nth == 1, FROM_FIRST, later)

    @property
    def state(self) -> State:
        """Whether it holds, by all looks so far."""
        if self.broken is not None:
            return BROKEN
        _, mean, radius = self.course(1, len(self.history))
        low, high = self.allowed
        within = mean[-1] + radius[-1] <= high and (low is None or mean[-1] - radius[-1] >= low)
        return HOLDS if within else UNKNOWN


def questions_of(
    run: RunContent, new: Frame, *, tolerance: float | None, factor: float, left: list[str]
) -> tuple[Question, ...]:
    """Decide what is asked, and what counts as right, before the first new outcome.

    Findings whose rows `new` lacks are left out, and `left` gets what cannot be asked, and why. `tolerance` is the
    distance from the corrected confidences that counts as right: by default 2 points or so.
    """
    asked = [*_asked(run, new, left)]
    rest = SIGNIFICANCE * (1 - LEVEL_SHARE) / (len(asked) - 1)
    width = tolerance if tolerance is not None else TOLERANCE * float(run.summary.settings.get("epsilon") or EPSILON)
    return tuple(
        one.model_copy(
            update={
                "error": SIGNIFICANCE * LEVEL_SHARE if one.kind == LEVEL else rest,
                "allowed": (None, 0.0) if one.kind == GAIN else (-width, width),
                "factor": factor,
            }
        )
        for one in asked
    )


def _asked(run: RunContent, new: Frame, left: list[str]) -> Iterator[Question]:
    """List the questions."""
    words = vocabulary(run.summary.kind)

    def question(kind: QuestionKind, about: str, of: str = "", **more: Any) -> Question:
        # what counts as right is decided once all are known
        return Question(key=f"{kind}{of}", kind=kind, about=about, error=SIGNIFICANCE, allowed=(0.0, 0.0), **more)

    yield question(LEVEL, "all rows")
    yield question(GAIN, f"corrected {words.probabilities} against raw ones, log loss")
    for place, one in enumerate(run.summary.findings):
        if lacking := one.condition.lacks(new):
            left.append(f"finding {one.description!r}: {lacking}")
            continue
        yield question(FINDING, one.description, f":{place}", place=place)
    for one in run.summary.decisions:
        for above in (True, False):
            side = f"{'at or above' if above else 'below'} {threshold_text(one.threshold)}"
            of = f":{one.threshold:g}:{'above' if above else 'below'}"
            about = f"corrected {words.probability} {side}"
            yield question(THRESHOLD, about, of, threshold=one.threshold, above=above)
