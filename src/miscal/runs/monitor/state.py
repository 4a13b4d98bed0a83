"""What a monitor keeps between looks, as the next call finds it: sums, and of new rows only digests.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from miscal.base.errors import CorruptFile, MismatchError, argument
from miscal.base.files import digest
from miscal.base.state_folder import CONFIG, load_state, save_state, under, with_prefix
from miscal.discovery.saved_model import model_folder
from miscal.runs.monitor.identity import RowKeys
from miscal.runs.monitor.questions import Question
from miscal.runs.monitor.state_schema import Grid, Kept, KeptQuestion, Look, check_arrays

FORM = "miscal-monitor"
LAYOUT = 3
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
        Column of groups; "none" where rows count one by one although the run counts units.
    tolerance : float or None
        As the user gave it.
    questions : tuple of Question
    looks : tuple of Look
    left_out : tuple of str
        Sentences: what cannot be asked, and why.
    known : int
        Rows of the run by which it is told what counts as right.
    by_id : bool
        Whether rows are recognised by their ids; else by their values.
    grid : Grid
    seen : RowKeys
        Digests of the groups and rows that came before, in rising order.
    """

    model: tuple[str, ...]
    group: str | None
    tolerance: float | None
    questions: tuple[Question, ...]
    looks: tuple[Look, ...]
    left_out: tuple[str, ...]
    known: int
    by_id: bool
    grid: Grid
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
    content = {
        "layout": LAYOUT,
        "model": list(state.model),
        "group": state.group,
        "tolerance": state.tolerance,
        "questions": [{name: getattr(one, name) for name in KeptQuestion.model_fields} for one in state.questions],
        "looks": [asdict(one) for one in state.looks],
        "left_out": list(state.left_out),
        "known": state.known,
        "by_id": state.by_id,
    }
    tensors = {
        **with_prefix("grid", vars(state.grid)),
        "history": np.stack([one.history for one in state.questions]),
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
        kept, seen, grid = (
            Kept.model_validate(content),
            RowKeys(**under("seen", tensors)),
            Grid(**under("grid", tensors)),
        )
        check_arrays(kept, grid, tensors["history"], vars(seen).values())
    except (KeyError, TypeError, ValueError) as error:
        # of a list of what is wrong, the first
        reason = " ".join(str(error).split("\n")[:3])
        raise CorruptFile(f"{folder / FOLDER} is not the state of a monitor ({reason}): {_REMEDY}") from None
    questions = tuple(
        Question(**{name: getattr(one, name) for name in KeptQuestion.model_fields}, history=own)
        for one, own in zip(kept.questions, tensors["history"], strict=True)
    )
    return MonitorState(
        kept.model, kept.group, kept.tolerance, questions, kept.looks, kept.left_out, kept.known, kept.by_id, grid, seen
    )


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
    places = [one.place for one in state.questions if one.place is not None]
    if max(places, default=-1) >= n_findings or state.grid.mean.size != n_features:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")
