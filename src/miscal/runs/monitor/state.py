"""What a monitor keeps between looks, as the next call finds it: sums, capitals, and of new rows only digests.

It lies in the folder ``state`` of the monitor, checked by sha256 like a saved model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import CorruptFile, InputError, MismatchError
from miscal.base.files import digest
from miscal.base.state_folder import CONFIG, load_state, save_state, under, with_prefix
from miscal.discovery.saved_model import model_folder
from miscal.evidence.betting import Capital
from miscal.runs.monitor.basis import Basis
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.learned import Learned
from miscal.runs.monitor.questions import Question
from miscal.runs.monitor.rows import NewLabelled
from miscal.runs.monitor.state_schema import Kept, KeptQuestion, Look, check_arrays

FORM = "miscal-monitor"
FOLDER = "state"
_REMEDY = "put the old file back, or begin a new monitor with --out"

LEAST_REPEATED = 0.5
"""Share of rows equal to earlier ones above which a look warns. Not tuned."""


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
    seen : (m,) uint64
        Digests of the groups that came before, in rising order.
    rows_seen : (m,) uint64
        Digests of the rows that came before, in rising order.
    """

    model: tuple[str, ...]
    group: str | None
    tolerance: float | None
    watch: Watch
    looks: tuple[Look, ...]
    left_out: tuple[str, ...]
    seen: NDArray[np.uint64]
    rows_seen: NDArray[np.uint64]


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


# --- recognising rows ---------------------------------------------------------------------------------------------


def row_keys(rows: NewLabelled) -> NDArray[np.uint64]:
    """Digest of each row: inputs, confidence, outcome and group; (n,), the same in any file."""
    numbers = np.column_stack([rows.confidence, rows.correct])
    names = [""] * len(rows) if rows.group is None else rows.group
    parts = zip(np.ascontiguousarray(rows.X), numbers, names, strict=True)
    return _keys(x.tobytes() + two.tobytes() + str(name).encode("utf-8", "replace") for x, two, name in parts)


def group_keys(rows: NewLabelled) -> NDArray[np.uint64]:
    """Digest of the group of each row, (n,); empty where there are no groups."""
    return _keys(str(name).encode("utf-8", "replace") for name in ([] if rows.group is None else rows.group))


def _keys(contents: Any) -> NDArray[np.uint64]:
    digests = [hashlib.blake2b(content, digest_size=8).digest() for content in contents]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def order_digest(keys: NDArray[np.uint64]) -> str:
    """Digest of rows in their order."""
    return hashlib.sha256(keys.astype("<u8").tobytes()).hexdigest()


def refuse_seen(looks: Collection[Look], keys: NDArray[np.uint64], folder: Path) -> None:
    """Refuse rows that a look has counted.

    Parameters
    ----------
    looks : collection of Look
    keys : (n,) uint64
        Of the new rows, in order.
    folder : Path
        The monitor.

    Raises
    ------
    InputError
        If they are the rows of a look, or begin with them.
    """
    content = order_digest(np.sort(keys))
    for number, look in enumerate(looks, start=1):
        when = f"look {number}{f' ({look.at})' if look.at else ''}"
        if content == look.content:
            raise InputError(
                f"these {look.rows:,} rows were counted before, as {when} of {folder}, and count once: give the rows "
                "that came after; nothing was changed"
            )
        if len(keys) > look.rows and order_digest(keys[: look.rows]) == look.ordered:
            raise InputError(
                f"the first {look.rows:,} rows were counted before, as {when} of {folder}, and count once: give only "
                "the rows that came after, for example with --where; nothing was changed"
            )


def repeated(keys: NDArray[np.uint64], seen: NDArray[np.uint64]) -> int:
    """Count keys that are among those seen.

    Examples
    --------
    >>> repeated(np.array([1, 5, 5], np.uint64), np.array([2, 5], np.uint64))
    2
    """
    return int(np.isin(keys, seen).sum())


def joined(seen: NDArray[np.uint64], keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Add keys to those seen."""
    return np.union1d(seen, keys).astype(np.uint64)


# --- on disk ------------------------------------------------------------------------------------------------------


def save(state: MonitorState, folder: Path) -> None:
    """Write a state into the folder of a monitor that nobody reads yet."""
    watch, basis = state.watch, state.watch.basis
    content = {
        "model": list(state.model),
        "group": state.group,
        "given_tolerance": state.tolerance,
        "alpha": watch.alpha,
        "tolerance": watch.tolerance,
        "questions": [_written(one) for one in watch.questions],
        "sums": {key: asdict(one) for key, one in watch.sums.items()},
        "looks": [asdict(one) for one in state.looks],
        "left_out": list(state.left_out),
    }
    tensors = {
        **with_prefix("basis", {one.name: getattr(basis, one.name) for one in fields(basis)}),
        **with_prefix("gram", {key: one.gram for key, one in watch.learned.items()}),
        **with_prefix("moment", {key: one.moment for key, one in watch.learned.items()}),
        "reference": watch.reference,
        "seen": state.seen,
        "rows_seen": state.rows_seen,
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
    try:
        kept, seen = Kept.model_validate(content), (tensors["seen"], tensors["rows_seen"])
        gram, moment = under("gram", tensors), under("moment", tensors)
        learned = {key: Learned(gram[key], moment[key]) for key in gram}
        basis, reference = Basis(**under("basis", tensors)), tensors["reference"]
        check_arrays(basis, learned, reference, seen)
    except (KeyError, TypeError, ValueError) as error:
        # of a list of what is wrong, the first
        told = " ".join(str(error).split("\n")[:3])
        raise CorruptFile(f"{folder / FOLDER} is not the state of a monitor ({told}): {_REMEDY}") from None
    questions = tuple(_read(one) for one in kept.questions)
    watch = Watch(kept.alpha, kept.tolerance, questions, basis, reference, learned, kept.sums)
    return MonitorState(kept.model, kept.group, kept.given_tolerance, watch, kept.looks, kept.left_out, *seen)


def _written(one: Question) -> dict[str, Any]:
    known = {field.name: getattr(one, field.name) for field in fields(one) if field.name not in ("capital", "course")}
    capital = one.capital
    held = {"log_active": capital.log_active.tolist(), "steps": capital.steps, "log_peak": capital.log_peak}
    return {**known, "course": list(one.course), "capital": held}


def _read(one: KeptQuestion) -> Question:
    known = {name: getattr(one, name) for name in KeptQuestion.model_fields if name != "capital"}
    held = one.capital
    return Question(**known, capital=Capital(np.array(held.log_active), held.steps, held.log_peak))


def refuse_other(state: MonitorState, model: tuple[str, ...], tolerance: float | None, group: str | None) -> None:
    """Refuse to go on with a monitor of another model or with other settings.

    Raises
    ------
    MismatchError
    """
    if state.model != model:
        raise MismatchError(
            "the model or the summary of the run is not the one that this monitor began with: begin a new monitor with "
            "--out, or put the old run back"
        )
    if tolerance is not None and tolerance != state.tolerance:
        began = "its default" if state.tolerance is None else f"{state.tolerance:g}"
        raise MismatchError(
            f"this monitor began with a tolerance of {began}, and keeps it; got {tolerance:g}: leave --tolerance out, "
            "or begin a new monitor with --out"
        )
    if group is not None and group != state.group:
        began = "without groups" if state.group is None else f"with groups of {state.group!r}"
        raise MismatchError(
            f"this monitor began {began}, and keeps it so; got {group!r}: leave --group out, or begin a new monitor "
            "with --out"
        )


def refuse_unfit(state: MonitorState, n_findings: int, n_features: int) -> None:
    """Refuse a state that asks for findings or inputs that the run has not.

    Raises
    ------
    CorruptFile
    """
    places = [one.place for one in state.watch.questions if one.place is not None]
    if max(places, default=-1) >= n_findings or state.watch.basis.mean.size != n_features:
        raise CorruptFile(f"the state of the monitor asks for what the run has not: {_REMEDY}")


def extended(state: MonitorState, watch: Watch, look: Look, keys: tuple[NDArray, NDArray]) -> MonitorState:
    """Add a look to a state; `keys` are those of its groups and rows."""
    groups, rows = keys
    seen, rows_seen = joined(state.seen, groups), joined(state.rows_seen, rows)
    return replace(state, watch=watch, looks=(*state.looks, look), seen=seen, rows_seen=rows_seen)
