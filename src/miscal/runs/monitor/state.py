"""What a monitor keeps between looks: sums, and digests by which it knows rows and groups that come again.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model. Checksums protect it against
damage, not against somebody who renews them: what does not fit together is refused before anything is computed from it.

A row counts once. It is what its ``id`` says, where the first look had such a column. Without one nothing tells rows
apart, and only a look that begins with all rows of an earlier one is refused.

What is asked of these: whether the correction is worse than none, whether outcomes are as it says, and whether it may
still decide alone what the run promised.

The second is asked of all rows, of the rows of each finding and of those on either side of each threshold; the third of
what the first promise of the run decides, of all rows and of those of each finding. A question has one mean, the
interval of it that holds at all looks together, and a zone that counts as right. What is asked does not hold where the
interval is clear of the zone, it holds where the interval lies within, and else it is not known.

The interval begins anew with every look, at less and less error, so that a change after a long calm is seen too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from miscal.base.arrays import value_list
from miscal.base.document import Part, Share
from miscal.base.errors import CorruptFile, InputError, MismatchError, argument
from miscal.base.files import digest
from miscal.base.folders import CONFIG, load_state, save_state
from miscal.base.number_wording import percent, threshold_text
from miscal.base.vocabulary import vocabulary
from miscal.calibration.calibrators import logit
from miscal.calibration.metrics.scores import log_losses
from miscal.discovery.run import RunContent
from miscal.discovery.saved_model import model_folder
from miscal.evidence.settings import SIGNIFICANCE
from miscal.evidence.simultaneous import SUMS, running_interval, unit_sums
from miscal.findings.conditions.condition import Frame
from miscal.findings.decisions import BELOW, decisions_of, error_key
from miscal.findings.residuals import EPSILON
from miscal.report.brief import alone_at
from miscal.runs.monitor import document
from miscal.runs.monitor.new_rows import ID, NewLabelled

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
    lower end of the gain and of a promise, whose upper end is the accepted error; and ``factor`` of every standard
    error. ``place`` is that of a finding among those of the run. Of a threshold, ``above`` says whether it is about the
    rows at or above it; of a promise, ``decision`` what these rows are decided as. ``broken`` are the first and last
    look of the rows that showed that it does not hold, from 1.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    key: str
    kind: document.QuestionKind
    about: str
    error: Annotated[float, Field(gt=0, lt=1)]
    allowed: tuple[_Shift | None, _Shift]
    factor: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    place: document.Count | None = None
    threshold: Share | None = None
    above: bool = True
    decision: str | None = None
    broken: tuple[document.Some, document.Some] | None = None
    history: np.ndarray = Field(default_factory=lambda: np.zeros((0, len(COLUMNS))), exclude=True)

    def sums(self, rows: NewLabelled, inside: Mask | None = None) -> Floats:
        """Sum over the rows that it is about; `inside` says which ones they are of a finding."""
        q, along = rows.corrected, np.ones(len(rows))
        at = np.ones(len(rows), bool) if inside is None else inside
        if self.kind == document.PROMISE:
            side = self.decision or ""
            at = at & (decisions_of(q, rows.supported, {side: self.threshold}) == side)
            # what is wrong changes with the outcome by as much as the outcome
            increment = rows.correct if side in BELOW else 1 - rows.correct
        elif self.kind == document.GAIN:
            # as it changes with the outcome, so that the variance is known where the corrected confidences are right
            along = logit(q) - logit(rows.confidence)
            increment = log_losses(rows.correct, q) - log_losses(rows.correct, rows.confidence)
        else:
            increment = rows.correct - q
        if self.kind == document.THRESHOLD:
            at = (q >= self.threshold) == self.above
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
    def state(self) -> document.State:
        """Whether it holds, by all looks so far."""
        if self.broken is not None:
            return document.BROKEN
        _, mean, radius = self.course(1, len(self.history))
        low, high = self.allowed
        within = mean[-1] + radius[-1] <= high and (low is None or mean[-1] - radius[-1] >= low)
        return document.HOLDS if within else document.UNKNOWN


def questions_of(
    run: RunContent, new: Frame, *, tolerance: float | None, factor: float, left: list[str]
) -> tuple[Question, ...]:
    """Decide what is asked, and what counts as right, before the first new outcome.

    Findings whose rows `new` lacks are left out, and `left` gets what cannot be asked, and why. `tolerance` is the
    distance from the corrected confidences that counts as right: by default 2 points or so.
    """
    width = tolerance if tolerance is not None else TOLERANCE * float(run.summary.settings.get("epsilon") or EPSILON)
    asked = [*_asked(run, new, left, width, factor)]
    rest = SIGNIFICANCE * (1 - LEVEL_SHARE) / (len(asked) - 1)
    return tuple(one if one.kind == document.LEVEL else one.model_copy(update={"error": rest}) for one in asked)


def _asked(run: RunContent, new: Frame, left: list[str], width: float, factor: float) -> Iterator[Question]:
    """List the questions, each with the error of that of all rows, as if it had no others beside it."""
    words = vocabulary(run.summary.kind)

    def question(kind: document.QuestionKind, about: str, of: str = "", most: float = 0.0, **more: Any) -> Question:
        allowed = (None, most) if kind in (document.GAIN, document.PROMISE) else (-width, width)
        known = {"key": f"{kind}{of}", "kind": kind, "about": about, "allowed": allowed, "factor": factor}
        return Question(**known, error=SIGNIFICANCE * LEVEL_SHARE, **more)

    yield question(document.LEVEL, "all rows")
    yield question(document.GAIN, f"corrected {words.probabilities} against raw ones, log loss")
    promises = [one for one in alone_at(run.summary) if one.threshold is not None]

    def promised(about: str, of: str = "", place: int | None = None) -> Iterator[Question]:
        for one in promises:
            key = f":{error_key(one.max_error)}:{one.decision}{of}"
            what = {"threshold": one.threshold, "decision": one.decision, "place": place}
            yield question(
                document.PROMISE,
                f"{about}{one.decision} at {percent(one.max_error)} errors",
                key,
                one.max_error,
                **what,
            )

    yield from promised("decided alone, ")
    for place, one in enumerate(run.summary.findings):
        if lacking := one.condition.lacks(new):
            left.append(f"finding {one.description!r}: {lacking}")
            continue
        yield question(document.FINDING, one.description, f":{place}", place=place)
        yield from promised(f"{one.description}: decided alone, ", f":{place}", place)
    for one in run.summary.decisions:
        for above in (True, False):
            side = f"{'at or above' if above else 'below'} {threshold_text(one.threshold)}"
            of = f":{one.threshold:g}:{'above' if above else 'below'}"
            about = f"corrected {words.probability} {side}"
            yield question(document.THRESHOLD, about, of, threshold=one.threshold, above=above)


Keys = NDArray[np.uint64]


def keys_of(contents: Iterable[object]) -> Keys:
    """Return digests of rows of numbers, or of ids or names as text, in their order."""
    given = (one if isinstance(one, bytes) else str(one).encode("utf-8", "replace") for one in contents)
    digests = [hashlib.blake2b(content, digest_size=8).digest() for content in given]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def groups_of(rows: NewLabelled) -> Keys:
    """Return digests of the names of the rows' groups; those of no group have none."""
    return keys_of(name for name in ([] if rows.group is None else rows.group) if name is not None)


def sums_of(rows: NewLabelled) -> Keys:
    """Return sums of digests of the first row, the first two and so on, (n,): equal for the same rows in any order."""
    values = np.column_stack([rows.X, rows.confidence, rows.correct]).astype("<f8")
    # adding 0 makes -0.0 and 0.0 one; sums wrap around
    return np.cumsum(keys_of(row.tobytes() for row in values + 0.0), dtype=np.uint64)


def refuse_counted(state: MonitorState, rows: NewLabelled, folder: Path) -> None:
    """Refuse ids of the run or of an earlier look; without ids, a look that begins with an earlier one."""
    if rows.id is not None:
        again = np.isin(keys_of(rows.id), state.seen)
        if again.any():
            raise InputError(
                f"{int(again.sum()):,} of {len(rows):,} rows have an id of the run or of rows that were counted before "
                f"by {folder} ({value_list(rows.id[again])}). The run has learned from its rows, and others count "
                f"once: give only the rows that came after, for example with {argument('where')}. If that column only "
                f"numbers the rows of each file, rename it and begin a new monitor with {argument('out')}; nothing was "
                "changed"
            )
        return
    sums = sums_of(rows)
    for look, total in zip(state.looks, state.sums, strict=True):
        if look.rows <= len(rows) and int(sums[look.rows - 1]) == total:
            when = f"look {look.look}{f' ({look.at})' if look.at else ''}"
            raise InputError(
                f"the first {look.rows:,} rows were counted before, as {when} of {folder}, and a row counts once, so "
                f"nothing was changed. Give only the rows that came later, for example with {argument('where')}; a "
                f"column {ID!r} would tell rows apart, in a new monitor ({argument('out')})"
            )


FORM = "miscal-monitor"
LAYOUT = 8
"""Version of what the state of a monitor holds; raised whenever it asks or keeps something else."""
FOLDER = "state"
_REMEDY = f"put the old file back, or begin a new monitor with {argument('out')}"


class MonitorState(Part):
    """A monitor between two looks.

    ``model`` are digests of the model and the summary that it watches, and ``group`` is "none" where rows count one
    by one although the run counts units. ``left_out`` says what cannot be asked, and why. ``by_id`` says whether
    rows are recognised by their ids. ``sums`` are those of the digests of each look's rows; ``seen`` are the
    digests of ids of the run and of all looks, and ``groups`` those of all groups, both in rising order.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    layout: Literal[8] = LAYOUT
    model: tuple[str, ...]
    group: str | None
    tolerance: Share | None
    questions: tuple[Question, ...]
    looks: tuple[document.LookNumbers, ...] = ()
    left_out: tuple[str, ...]
    by_id: bool
    sums: tuple[int, ...] = ()
    seen: np.ndarray = Field(default_factory=lambda: np.zeros(0, np.uint64), exclude=True)
    groups: np.ndarray = Field(default_factory=lambda: np.zeros(0, np.uint64), exclude=True)


def fingerprint(run: Path) -> tuple[str, ...]:
    """Digests of what a monitor watches: the summary, and configs of the model, which hold checksums of all else."""
    configs = sorted(model_folder(run).rglob("config.json"))
    return tuple(digest(path) for path in [*configs, run / "summary.json"])


def save(state: MonitorState, folder: Path) -> None:
    """Write a state into the folder of a monitor that nobody reads yet."""
    history = np.stack([one.history for one in state.questions])
    tensors = {"seen": state.seen, "groups": state.groups, "history": history}
    save_state(folder / FOLDER, FORM, state.model_dump(mode="json"), tensors)


def load(folder: Path) -> MonitorState:
    """Read the state of a monitor; one that is damaged, not ours, or of another version is refused."""
    if not (folder / FOLDER / CONFIG).is_file():
        raise CorruptFile(f"{folder / FOLDER / CONFIG} is missing: {_REMEDY}")
    content, tensors = load_state(folder / FOLDER, FORM, remedy=_REMEDY)
    if content.get("layout") != LAYOUT:
        raise MismatchError(
            f"{folder} is a monitor that another version of miscal began, which kept something else: begin a new one "
            f"with {argument('out', takes='DIR')}, and give it the new rows from the first look on"
        )
    try:
        asked = zip(content["questions"], tensors["history"], strict=True)
        questions = [{**one, "history": history} for one, history in asked]
        state = MonitorState(**{**content, "questions": questions}, seen=tensors["seen"], groups=tensors["groups"])
        _check(state)
    except (KeyError, TypeError, ValueError) as error:
        # of a list of what is wrong, the first
        reason = " ".join(str(error).split("\n")[:3])
        raise CorruptFile(f"{folder / FOLDER} is not the state of a monitor ({reason}): {_REMEDY}") from None
    return state


def _check(state: MonitorState) -> None:
    """Refuse what does not fit together."""
    keys, looks = [one.key for one in state.questions], len(state.looks)
    _require(looks > 0 and [one.look for one in state.looks] == list(range(1, looks + 1)), "the looks")
    _require(len(state.sums) == looks, "the digests of looks")
    _require(len(set(keys)) == len(keys), "a question is there twice")
    _require({document.GAIN, document.LEVEL} <= set(keys), "a question is missing")
    _require(all(_fits(one, looks) for one in state.questions), "a question does not fit")
    for known in (state.seen, state.groups):
        _require(known.dtype == np.uint64 and known.ndim == 1, "digests of ids or groups")
        _require(bool((known[1:] > known[:-1]).all()), "digests that are out of order")


def _fits(one: Question, looks: int) -> bool:
    """Whether the parts of a question fit together, and the number of looks."""
    low, high = one.allowed
    since, shown = one.broken or (1, 1)
    if one.history.shape != (looks, len(COLUMNS)) or one.history.dtype != np.float64:
        return False
    if not np.isfinite(one.history).all():
        return False
    of = dict(zip(COLUMNS, one.history.T, strict=True))
    rows, units = of["rows"], of["units"]
    return (
        one.kind == one.key.partition(":")[0]
        and (low is None) == (one.kind in (document.GAIN, document.PROMISE))
        and (low is None or low <= high)
        and since <= shown <= looks
        and (
            one.place is not None if one.kind == document.FINDING else one.place is None or one.kind == document.PROMISE
        )
        and (one.threshold is not None) == (one.kind in (document.THRESHOLD, document.PROMISE))
        and (one.decision is not None) == (one.kind == document.PROMISE)
        and bool((units <= rows).all() and np.abs(one.history).max() <= document.MOST)
        and all((values >= 0).all() for name, values in of.items() if name not in ("total", "cross"))
        and all((of[name] <= rows * (1 + 1e-9)).all() for name in MEANS)
    )


def _require(true: bool, otherwise: str) -> None:
    if not true:
        raise ValueError(otherwise)


def refuse_other(state: MonitorState, model: tuple[str, ...], tolerance: float | None, group: str | None) -> None:
    """Refuse to go on with a monitor of another model or with other settings."""
    if state.model != model:
        raise MismatchError(
            "the model or the summary of the run is not the one that this monitor began with: begin a new monitor with "
            f"{argument('out')}, or put the old run back"
        )
    kept, own = f"leave it out, or begin a new monitor with {argument('out')}", state.tolerance
    if tolerance is not None and tolerance != own:
        began = "its default" if own is None else f"{own:g}"
        raise MismatchError(f"this monitor began with a tolerance of {began}, and keeps it; got {tolerance:g}: {kept}")
    if group is not None and group != state.group:
        began = "without groups" if state.group is None else f"with groups of {state.group!r}"
        raise MismatchError(f"this monitor began {began}, and keeps it so; got {group!r}: {kept}")


def refuse_unfit(state: MonitorState, n_findings: int) -> None:
    """Refuse a state that asks for findings that the run has not."""
    if max((one.place for one in state.questions if one.place is not None), default=-1) >= n_findings:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")
