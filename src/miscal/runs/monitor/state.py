"""What a monitor keeps between looks, as the next call finds it: sums, and of new rows only digests.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model. Checksums protect it against
damage, not against somebody who renews them: what does not fit together is refused before anything is computed from it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field

from miscal.base.document import Part, Share
from miscal.base.errors import CorruptFile, MismatchError, argument
from miscal.base.files import digest
from miscal.base.state_folder import CONFIG, load_state, save_state, under, with_prefix
from miscal.discovery.saved_model import model_folder
from miscal.runs.monitor.document import FINDING, GAIN, LEVEL, MOST, THRESHOLD, Count, LookNumbers
from miscal.runs.monitor.identity import RowKeys
from miscal.runs.monitor.questions import COLUMNS, MEANS, Question

FORM = "miscal-monitor"
LAYOUT = 4
"""Version of what the state of a monitor holds; raised whenever it asks or keeps something else."""
FOLDER = "state"
_REMEDY = f"put the old file back, or begin a new monitor with {argument('out')}"


class MonitorState(Part):
    """A monitor between two looks.

    ``model`` are digests of the model and the summary that it watches, and ``group`` is "none" where rows count one by
    one although the run counts units. ``left_out`` says what cannot be asked, and why; ``known`` counts the rows of the
    run by which it was decided what counts as right. ``by_id`` says whether rows are recognised by their ids, else by
    their values; ``digests`` are those of each look as a whole, ``seen`` those of all its rows, and ``grid`` is what
    rows are alike by.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    layout: Literal[4] = LAYOUT
    model: tuple[str, ...]
    group: str | None
    tolerance: Share | None
    questions: tuple[Question, ...]
    looks: tuple[LookNumbers, ...] = ()
    left_out: tuple[str, ...]
    known: Count
    by_id: bool
    digests: tuple[tuple[str, str], ...] = ()
    grid: np.ndarray = Field(exclude=True)
    seen: RowKeys = Field(default_factory=RowKeys.none, exclude=True)


def fingerprint(run: Path) -> tuple[str, ...]:
    """Digests of what a monitor watches: the summary, and configs of the model, which hold checksums of all else."""
    configs = sorted(model_folder(run).rglob("config.json"))
    return tuple(digest(path) for path in [*configs, run / "summary.json"])


def save(state: MonitorState, folder: Path) -> None:
    """Write a state into the folder of a monitor that nobody reads yet."""
    history = np.stack([one.history for one in state.questions])
    tensors = {"grid": state.grid, "history": history, **with_prefix("seen", vars(state.seen))}
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
        seen = RowKeys(**under("seen", tensors))
        state = MonitorState(**{**content, "questions": questions}, grid=tensors["grid"], seen=seen)
        _check(state)
    except (KeyError, TypeError, ValueError) as error:
        # of a list of what is wrong, the first
        reason = " ".join(str(error).split("\n")[:3])
        raise CorruptFile(f"{folder / FOLDER} is not the state of a monitor ({reason}): {_REMEDY}") from None
    return state


def _check(state: MonitorState) -> None:
    """Refuse what does not fit together."""
    keys, looks, grid = [one.key for one in state.questions], len(state.looks), state.grid
    _require(looks > 0 and [one.look for one in state.looks] == list(range(1, looks + 1)), "the looks")
    _require(len(state.digests) == looks, "the digests of looks")
    _require(len(set(keys)) == len(keys), "a question is there twice")
    _require({GAIN, LEVEL} <= set(keys), "a question is missing")
    _require(all(_fits(one, looks) for one in state.questions), "a question does not fit")
    _require(_finite(grid, (2, *grid.shape[1:2])) and bool((grid[1] > 0).all()), "the scale of the inputs")
    for seen in vars(state.seen).values():
        _require(seen.dtype == np.uint64 and seen.ndim == 1, "digests of rows")
        _require(bool((seen[1:] >= seen[:-1]).all()), "digests of rows that are out of order")


def _fits(one: Question, looks: int) -> bool:
    """Whether the parts of a question fit together, and the number of looks."""
    low, high = one.allowed
    since, shown = one.broken or (1, 1)
    if not _finite(one.history, (looks, len(COLUMNS))):
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


def _finite(array: np.ndarray, shape: tuple[int, ...]) -> bool:
    return array.shape == shape and array.dtype == np.float64 and bool(np.isfinite(array).all())


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


def refuse_unfit(state: MonitorState, n_findings: int, n_features: int) -> None:
    """Refuse a state that asks for findings or inputs that the run has not."""
    places = [one.place for one in state.questions if one.place is not None]
    if max(places, default=-1) >= n_findings or state.grid.shape[1] != n_features:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")
