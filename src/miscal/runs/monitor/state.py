"""What a monitor keeps between looks, as the next call finds it: sums, capitals, and of new rows only digests.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from miscal.base.errors import CorruptFile, MismatchError, argument
from miscal.base.files import digest
from miscal.base.state_folder import CONFIG, load_state, save_state, under, with_prefix
from miscal.discovery.saved_model import model_folder
from miscal.evidence.betting import Capital, Restarts
from miscal.runs.monitor.basis import Basis
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.direction_sums import DirectionSums
from miscal.runs.monitor.identity import RowKeys
from miscal.runs.monitor.lines import FINDING, RISE, Line
from miscal.runs.monitor.questions import MonitorQuestion
from miscal.runs.monitor.state_schema import Kept, KeptLine, KeptQuestion, Look, check_arrays, checked_history

FORM = "miscal-monitor"
LAYOUT = 2
"""Version of what the state of a monitor holds; raised whenever it asks something else."""
FOLDER = "state"
_REMEDY = f"put the old file back, or begin a new monitor with {argument('out')}"


@dataclass(frozen=True, eq=False)
class MonitorState:
    """A monitor between two looks.

    Attributes
    ----------
    model : tuple of str
        Digests of the model and the summary that it watches.
    group : str or None
        Column of groups.
    tolerance : float or None
        As the user gave it.
    watch : Watch
    looks : tuple of Look
    left_out : tuple of str
        Sentences: what cannot be watched, and why.
    by_id : bool
        Whether rows are recognised by their ids; else by their values.
    seen : RowKeys
        Digests of the groups and rows that came before, in rising order.
    """

    model: tuple[str, ...]
    group: str | None
    tolerance: float | None
    watch: Watch
    looks: tuple[Look, ...]
    left_out: tuple[str, ...]
    by_id: bool
    seen: RowKeys


def fingerprint(run: Path) -> tuple[str, ...]:
    """Digests of what a monitor watches: the configs of the model, which hold the checksums of all else, and summary.

    Parameters
    ----------
    run : Path
        The run folder.

    Returns
    -------
    tuple of str
    """
    configs = sorted(model_folder(run).rglob("config.json"))
    return tuple(digest(path) for path in [*configs, run / "summary.json"])


# --- on disk ------------------------------------------------------------------------------------------------------


def save(state: MonitorState, folder: Path) -> None:
    """Write a state into the folder of a monitor that nobody reads yet."""
    watch, basis = state.watch, state.watch.basis
    content = {
        "layout": LAYOUT,
        "model": list(state.model),
        "group": state.group,
        "given_tolerance": state.tolerance,
        "alpha": watch.alpha,
        "tolerance": watch.tolerance,
        "questions": [_written(one) for one in watch.questions],
        "lines": [_line_written(one) for one in watch.lines],
        "together": watch.together,
        "course": list(watch.course),
        "crossed": watch.crossed,
        "looks": [asdict(one) for one in state.looks],
        "left_out": list(state.left_out),
        "by_id": state.by_id,
    }
    tensors = {
        **with_prefix("basis", {one.name: getattr(basis, one.name) for one in fields(basis)}),
        **with_prefix("gram", {key: one.gram for key, one in watch.learned.items()}),
        **with_prefix("moment", {key: one.moment for key, one in watch.learned.items()}),
        "reference": watch.reference,
        "history": np.stack([one.history for one in watch.lines]),
        **with_prefix("seen", vars(state.seen)),
    }
    save_state(folder / FOLDER, FORM, content, tensors)


def load(folder: Path) -> MonitorState:
    """Read the state of a monitor.

    Raises
    ------
    CorruptFile, TrustError, MismatchError
        If it is damaged, not ours, or of another version.
    """
    if not (folder / FOLDER / CONFIG).is_file():
        raise CorruptFile(f"{folder / FOLDER / CONFIG} is missing: {_REMEDY}")
    content, tensors = load_state(folder / FOLDER, FORM, remedy=_REMEDY)
    if content.get("layout") != LAYOUT:
        raise MismatchError(
            f"{folder} is a monitor that another version of miscal began, which asked other questions: begin a new one "
            f"with {argument('out', takes='DIR')}, and give it the new rows from the first look on"
        )
    try:
        kept, seen = Kept.model_validate(content), RowKeys(**under("seen", tensors))
        gram, moment = under("gram", tensors), under("moment", tensors)
        learned = {key: DirectionSums(gram[key], moment[key]) for key in gram}
        basis, reference = Basis(**under("basis", tensors)), tensors["reference"]
        check_arrays(kept, basis, learned, reference, vars(seen).values())
        history = checked_history(tensors["history"], len(kept.lines), len(kept.looks))
    except (KeyError, TypeError, ValueError) as error:
        # of a list of what is wrong, the first
        reason = " ".join(str(error).split("\n")[:3])
        raise CorruptFile(f"{folder / FOLDER} is not the state of a monitor ({reason}): {_REMEDY}") from None
    questions = tuple(_read(one) for one in kept.questions)
    lines = tuple(_line_read(one, own) for one, own in zip(kept.lines, history, strict=True))
    watch = Watch(
        kept.alpha,
        kept.tolerance,
        questions,
        lines,
        kept.together,
        basis,
        reference,
        learned,
        kept.course,
        kept.crossed,
    )
    left_out, by_id = kept.left_out, kept.by_id
    return MonitorState(kept.model, kept.group, kept.given_tolerance, watch, kept.looks, left_out, by_id, seen)


def _written(one: MonitorQuestion) -> dict[str, Any]:
    known = {field.name: getattr(one, field.name) for field in fields(one) if field.name not in ("capital", "course")}
    capital = one.capital
    held = {"log_active": capital.log_active.tolist(), "steps": capital.steps, "log_peak": capital.log_peak}
    return {**known, "course": list(one.course), "capital": held}


def _read(one: KeptQuestion) -> MonitorQuestion:
    known = {name: getattr(one, name) for name in KeptQuestion.model_fields if name != "capital"}
    held = one.capital
    return MonitorQuestion(**known, capital=Capital(np.array(held.log_active), held.steps, held.log_peak))


def _line_written(one: Line) -> dict[str, Any]:
    known = {
        name: getattr(one, name)
        for name in KeptLine.model_fields
        if name not in ("log_active", "condition", "about", "course")
    }
    condition = None if one.condition is None else one.condition.to_dict()
    return {**known, "about": list(one.about), "course": list(one.course), "condition": condition,
            "log_active": one.capital.log_active.tolist()}  # fmt: skip


def _line_read(one: KeptLine, history: np.ndarray) -> Line:
    known = {name: getattr(one, name) for name in KeptLine.model_fields if name != "log_active"}
    capital = Restarts(np.array(one.log_active), len(one.course))
    return Line(**known, capital=capital, history=history)


def refuse_other(state: MonitorState, model: tuple[str, ...], tolerance: float | None, group: str | None) -> None:
    """Refuse to go on with a monitor of another model or with other settings.

    Raises
    ------
    MismatchError
    """
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
    """Refuse a state that asks for findings or inputs that the run has not.

    Raises
    ------
    CorruptFile
    """
    places = [one.place for one in state.watch.lines if one.kind in (FINDING, RISE) and one.place is not None]
    if max(places, default=-1) >= n_findings or state.watch.basis.mean.size != n_features:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")


def extended(state: MonitorState, watch: Watch, look: Look, keys: RowKeys) -> MonitorState:
    """Add a look to a state; `keys` are those of its rows."""
    return replace(state, watch=watch, looks=(*state.looks, look), seen=state.seen.joined(keys))
