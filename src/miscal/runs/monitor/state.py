"""What a monitor keeps between looks: sums, and digests by which it knows rows and groups that come again.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model. Checksums protect it against
damage, not against somebody who renews them: what does not fit together is refused before anything is computed from it.

A row counts once. It is what its ``id`` says, where the first look had such a column. Without one nothing tells rows
apart, and only a look that begins with all rows of an earlier one is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from miscal.base.arrays import value_list
from miscal.base.document import Part, Share
from miscal.base.errors import CorruptFile, InputError, MismatchError, argument
from miscal.base.files import digest
from miscal.base.folders import CONFIG, load_state, save_state
from miscal.discovery.saved_model import model_folder
from miscal.runs.monitor.document import FINDING, GAIN, LEVEL, MOST, THRESHOLD, LookNumbers
from miscal.runs.monitor.new_rows import ID, NewLabelled
from miscal.runs.monitor.questions import COLUMNS, MEANS, Question

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
LAYOUT = 7
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

    layout: Literal[7] = LAYOUT
    model: tuple[str, ...]
    group: str | None
    tolerance: Share | None
    questions: tuple[Question, ...]
    looks: tuple[LookNumbers, ...] = ()
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
    _require({GAIN, LEVEL} <= set(keys), "a question is missing")
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
        and (low is None) == (one.kind == GAIN)
        and (low is None or low <= high)
        and since <= shown <= looks
        and (one.place is not None) == (one.kind == FINDING)
        and (one.threshold is not None) == (one.kind == THRESHOLD)
        and bool((units <= rows).all() and np.abs(one.history).max() <= MOST)
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
    if tolerance is not None and tolerance != state.tolerance:
        began = "its default" if state.tolerance is None else f"{state.tolerance:g}"
        raise MismatchError(
            f"this monitor began with a tolerance of {began}, and keeps it; got {tolerance:g}: leave it out, "
            f"or begin a new monitor with {argument('out')}"
        )
    if group is not None and group != state.group:
        began = "without groups" if state.group is None else f"with groups of {state.group!r}"
        raise MismatchError(
            f"this monitor began {began}, and keeps it so; got {group!r}: leave it out, or begin a new monitor "
            f"with {argument('out')}"
        )


def refuse_unfit(state: MonitorState, n_findings: int) -> None:
    """Refuse a state that asks for findings that the run has not."""
    if max((one.place for one in state.questions if one.place is not None), default=-1) >= n_findings:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")
