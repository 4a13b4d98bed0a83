"""Say what a study would do and cost, without doing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miscal.base.number_wording import decimal, duration, percent
from miscal.scoring.registry import BASE_MODELS
from miscal.study.cells import KINDS, OF_DATASETS, StudyCell, cells_of, pairs_of_cell
from miscal.study.expected_time import (
    BYTES_PER_NUMBER,
    CORE_RATE,
    MACHINES,
    REACHED,
    Machine,
    PairSize,
    seconds_of,
    size_of,
)
from miscal.study.folder import PLAN, StudyFolder
from miscal.study.plan import StudyPair, StudyPlan
from miscal.study.plan_file import read_plan
from miscal.study.run import is_done


@dataclass(frozen=True)
class CellsOfKind:
    """Cells of one kind: how many, how many are done, and the hours that the others take on one core."""

    kind: str
    n: int
    n_done: int
    hours: float | None


@dataclass(frozen=True)
class PlannedCell:
    """A cell before it is computed.

    Attributes
    ----------
    cell : StudyCell
        With its settings.
    done : bool
    model, dataset : str
        Of its pair, the model by its id on the hub where it is asked and has one; of a cell of a data set,
        "all models", and of a transfer, both joined.
    size : PairSize
        Rows and columns of its pair; of several pairs, those of the first.
    gigabytes : float or None
        Of hidden states that it leaves, in 10^9 bytes; 0 for a cell that asks no model, None where it is not known.
    seconds : dict of str to float or None
        By the name of a machine (:data:`miscal.study.expected_time.MACHINES`).
    """

    cell: StudyCell
    done: bool
    model: str
    dataset: str
    size: PairSize
    gigabytes: float | None
    seconds: Mapping[str, float | None]


@dataclass(frozen=True)
class Survey:
    """What a study would do.

    Attributes
    ----------
    shares : tuple of CellsOfKind
        By kind, in the order of the work.
    cells : tuple of PlannedCell
        All cells, those that are done included.
    n_pairs : int
    gigabytes : float or None
        Of embeddings that scoring will leave, in 10^9 bytes; None where a pair's size is not known.
    weights : float or None
        Of the weights in bfloat16 of all models that are asked, in 10^9 bytes; None where a model's size is not known.
    unknown : tuple of str
        Pairs whose size is not known before they are scored.
    """

    shares: tuple[CellsOfKind, ...]
    cells: tuple[PlannedCell, ...]
    n_pairs: int
    gigabytes: float | None
    weights: float | None
    unknown: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """All that in words."""
        return tuple(_lines(self))


def survey(
    plan: str | Path | Mapping[str, Any] | StudyPlan, out: str | Path, *, sets: Mapping[str, str] | None = None
) -> Survey:
    """Say what a study would do, without doing any of it.

    Parameters
    ----------
    plan, out, sets
        As for :func:`miscal.study.study`; the folder need not exist.

    Returns
    -------
    Survey

    Raises
    ------
    InputError
        If the plan has a key or value that is not allowed.

    Examples
    --------
    >>> found = survey("paper48", "no-such-folder")
    >>> {share.kind: share.n for share in found.shares if share.kind != "transfer"}
    {'score': 48, 'read': 48, 'split': 4, 'discover': 48, 'measure': 48, 'interpret': 1, 'audit': 6, 'together': 4}
    >>> round(found.gigabytes)
    23
    """
    asked, folder = read_plan(plan, sets=sets), StudyFolder(Path(out))
    cells = cells_of(asked)
    started = (folder.path / PLAN).exists()
    done = {cell.name for cell in cells if started and is_done(folder, asked, cell)}
    sizes = {pair.pair: size_of(pair, folder) for pair in asked.pairs}
    shares = tuple(
        _cells_of_kind(kind, some, done, asked, sizes)
        for kind in KINDS
        if (some := [cell for cell in cells if cell.kind == kind])
    )
    coming = tuple(_planned_cell(asked, cell, sizes, cell.name in done) for cell in cells)
    gigabytes = [one.gigabytes for one in coming if one.cell.kind == "score"]
    models = {pair.score.model: pair.billions for pair in asked.pairs if pair.score}
    return Survey(
        shares,
        coming,
        len(asked.pairs),
        None if None in gigabytes else sum(gigabytes),
        None if None in models.values() else 2 * sum(models.values()),
        tuple(pair for pair, size in sizes.items() if not (size.n and size.d)),
    )


def _planned_cell(plan: StudyPlan, cell: StudyCell, sizes: Mapping[str, PairSize], done: bool) -> PlannedCell:
    pairs = pairs_of_cell(plan, cell)
    size = sizes[pairs[0].pair]
    known = "all models" if cell.kind in OF_DATASETS else " + ".join(dict.fromkeys(map(_model, pairs)))
    seconds = {machine.name: seconds_of(cell, pairs[0], size, machine) for machine in MACHINES}
    gigabytes = 0.0
    if cell.kind == "score":
        width = BYTES_PER_NUMBER[pairs[0].score.embeddings_dtype]
        gigabytes = width * size.n * size.d / 1e9 if size.n and size.d else None
    dataset = " + ".join(dict.fromkeys(pair.dataset for pair in pairs))
    return PlannedCell(cell, done, known, dataset, size, gigabytes, seconds)


def _model(pair: StudyPair) -> str:
    asked = pair.score.model if pair.score else pair.model
    return BASE_MODELS[asked].hub_id if pair.score and asked in BASE_MODELS else asked


def _cells_of_kind(
    kind: str, cells: Sequence[StudyCell], done: set[str], plan: StudyPlan, sizes: Mapping[str, PairSize]
) -> CellsOfKind:
    left = [cell for cell in cells if cell.name not in done]
    pairs = [pairs_of_cell(plan, cell)[0] for cell in left]
    seconds = [seconds_of(cell, pair, sizes[pair.pair]) for cell, pair in zip(left, pairs, strict=True)]
    hours = None if None in seconds else sum(seconds) / 3600
    return CellsOfKind(kind, len(cells), len(cells) - len(left), hours)


# --- words --------------------------------------------------------------------------------------------------------


def _lines(found: Survey) -> list[str]:
    lines = [f"{found.n_pairs} pairs, {sum(one.n for one in found.shares)} cells"]
    for one in found.shares:
        time = _about(None if one.hours is None else 3600 * one.hours)
        lines.append(f"{one.kind:<12}{one.n:>5} cells, {one.n_done:>5} done   {time}")
    lines += ["", *_table(found.cells), ""]
    lines += [f"all that is left, on {machine.name}: {_left(found.cells, machine)}" for machine in MACHINES]
    if found.gigabytes:
        lines.append(f"embeddings that scoring leaves: about {decimal(found.gigabytes, 0)} GB")
    if found.weights:
        lines.append(f"weights that scoring fetches, in bfloat16: about {decimal(found.weights, 0)} GB")
    if found.unknown:
        some = ", ".join(found.unknown[:5]) + (", ..." if len(found.unknown) > 5 else "")
        lines.append(f"sizes that are not known before scoring or reading: {some}")
    return lines + _formulas()


def _formulas() -> list[str]:
    _, *gpus = MACHINES
    rates = ", ".join(f"{one.name} {one.reading:.3g} and {one.training:.3g}" for one in gpus)
    return [
        "times are operations over a rate, by the formulas in miscal.study.expected_time, without fetching and "
        "loading: scoring takes 2 x parameters x tokens x rows; a fit of method paper takes settings x epochs x "
        "training rows x 6 x (weights of phi + batch x outputs), a bound from above",
        f"rates, in operations a second where a model is asked and where phi trains: one CPU core {CORE_RATE:.3g}; "
        f"{rates}, which is {percent(REACHED)} of the data sheets; all other cells take one core",
    ]


def _table(cells: Sequence[PlannedCell]) -> list[str]:
    """Write a row for each cell, in columns as wide as their longest entry."""
    heads = ["cell", "model", "set", "rows x columns", "leaves", *(f"on {machine.name}" for machine in MACHINES)]
    rows = [[*heads, "settings"], *map(_row, cells)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(heads))]
    return ["  ".join([*(f"{row[at]:<{width}}" for at, width in enumerate(widths)), row[-1]]) for row in rows]


def _row(one: PlannedCell) -> list[str]:
    size = f"{_number(one.size.n)} x {_number(one.size.d)}"
    leaves = "unknown" if one.gigabytes is None else f"{decimal(one.gigabytes, 1)} GB" if one.gigabytes else "-"
    seconds = [one.seconds[machine.name] for machine in MACHINES]
    times = ["done" if one.done else "unknown" if time is None else duration(time) for time in seconds]
    cell = " ".join(part for part in (one.cell.kind, one.cell.method) if part)
    return [cell, one.model, one.dataset, size, leaves, *times, _settings(one.cell.settings)]


def _settings(settings: Mapping[str, Any]) -> str:
    """Name the settings that say something; what asks a model or a set has its own columns."""
    saying_nothing = ("", "None", "False", "[]", "{}")
    named = {name: value for name, value in settings.items() if name not in ("model", "task")}
    return ", ".join(f"{name} {_value(value)}" for name, value in named.items() if str(value) not in saying_nothing)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_value(part)}" for name, part in value.items()) + ")"
    return "/".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _left(cells: Sequence[PlannedCell], machine: Machine) -> str:
    seconds = [one.seconds[machine.name] for one in cells if not one.done]
    return _about(None if None in seconds else sum(seconds))


def _about(seconds: float | None) -> str:
    return "time unknown" if seconds is None else f"about {duration(seconds)}"
