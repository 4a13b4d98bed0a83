"""Say what a study would do and how large it is, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from miscal.base.errors import InputError
from miscal.base.number_wording import decimal
from miscal.scoring.registry import BASE_MODELS
from miscal.study import paper48
from miscal.study.cells import KINDS, OF_DATASETS, StudyCell, cells_of, name_of, pairs_of_cell
from miscal.study.folder import PLAN, StudyFolder
from miscal.study.plan import StudyPair, StudyPlan
from miscal.study.plan_file import read_plan
from miscal.study.run import is_done

_BYTES_PER_NUMBER = {"float32": 4, "float16": 2}
"""Of a number of an embedding."""

_GRID_SIZE, _EPOCHS = 24, 100
"""Settings and epochs of the grid of method paper, where the options do not say otherwise."""

_FILE_TOKENS = 150
"""Tokens of a question in a file of the user's."""

_PHI_WIDTH, _PHI_OUTPUTS, _PHI_BATCH = 512, 128, 1024
"""Hidden width, outputs and batch of phi for language models."""

_TRAIN_SHARE = 0.8
"""Share of the rows that phi is trained on."""


class CellsOfKind(NamedTuple):
    """Cells of one kind: how many, and how many are done."""

    kind: str
    n: int
    n_done: int


class PairSize(NamedTuple):
    """Rows and columns of a pair; None where nothing is known of them yet."""

    n: int | None
    d: int | None


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
    operations : float or None
        Arithmetic operations of a cell that asks a model or fits the paper's method; None where they are not known.
    """

    cell: StudyCell
    done: bool
    model: str
    dataset: str
    size: PairSize
    gigabytes: float | None
    operations: float | None


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
    def lines(self) -> list[str]:
        """All that in words."""
        lines = [f"{self.n_pairs} pairs, {len(self.cells)} cells"]
        lines += [f"{one.kind:<12}{one.n:>5} cells, {one.n_done:>5} done" for one in self.shares]
        rows = [["cell", "model", "set", "rows x columns", "leaves", "operations", "settings"], *map(_row, self.cells)]
        # columns are as wide as their longest entry
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
        table = ["  ".join([*(f"{row[at]:<{width}}" for at, width in enumerate(widths)), row[-1]]) for row in rows]
        lines += ["", *table, ""]
        if self.gigabytes:
            lines.append(f"embeddings that scoring leaves: about {decimal(self.gigabytes, 0)} GB")
        if self.weights:
            lines.append(f"weights that scoring fetches, in bfloat16: about {decimal(self.weights, 0)} GB")
        if self.unknown:
            some = ", ".join(self.unknown[:5]) + (", ..." if len(self.unknown) > 5 else "")
            lines.append(f"sizes that are not known before scoring or reading: {some}")
        return [*lines, _OPERATIONS]


_OPERATIONS = (
    "operations: asking a model takes 2 x parameters x tokens x rows; a fit of method paper takes settings x epochs x "
    "training rows x 6 x (weights of phi + batch x outputs), a bound from above"
)


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
    started = (folder.path / PLAN).exists()
    sizes = {pair.pair: _size_of(pair, folder) for pair in asked.pairs}
    cells = tuple(
        _planned_cell(asked, cell, sizes, started and is_done(folder, asked, cell)) for cell in cells_of(asked)
    )
    by_kind = {kind: [one.done for one in cells if one.cell.kind == kind] for kind in KINDS}
    gigabytes = [one.gigabytes for one in cells]
    models = {pair.score.model: pair.billions for pair in asked.pairs if pair.score}
    return Survey(
        tuple(CellsOfKind(kind, len(done), sum(done)) for kind, done in by_kind.items() if done),
        cells,
        len(asked.pairs),
        None if None in gigabytes else sum(gigabytes),
        None if None in models.values() else 2 * sum(models.values()),
        tuple(pair for pair, size in sizes.items() if not (size.n and size.d)),
    )


def _planned_cell(plan: StudyPlan, cell: StudyCell, sizes: Mapping[str, PairSize], done: bool) -> PlannedCell:
    pairs = pairs_of_cell(plan, cell)
    pair, size = pairs[0], sizes[pairs[0].pair]
    known = "all models" if cell.kind in OF_DATASETS else " + ".join(dict.fromkeys(map(_model, pairs)))
    gigabytes = 0.0
    if cell.kind == "score":
        width = _BYTES_PER_NUMBER[pair.score.embeddings_dtype]
        gigabytes = width * size.n * size.d / 1e9 if size.n and size.d else None
    dataset = " + ".join(dict.fromkeys(pair.dataset for pair in pairs))
    return PlannedCell(cell, done, known, dataset, size, gigabytes, _operations(cell, pair, size))


def _model(pair: StudyPair) -> str:
    asked = pair.score.model if pair.score else pair.model
    return BASE_MODELS[asked].hub_id if pair.score and asked in BASE_MODELS else asked


def _operations(cell: StudyCell, pair: StudyPair, size: PairSize) -> float | None:
    """Count the operations of a cell that asks a model, or fits the paper's method, for which settings may stop."""
    if size.n is None:
        return None
    if cell.kind == "score":
        tokens = paper48.PROMPT_TOKENS.get(pair.score.task, _FILE_TOKENS)
        return None if pair.billions is None else 2e9 * pair.billions * tokens * size.n
    if cell.method != "paper" or cell.kind not in ("discover", "audit"):
        return None
    # where x is not a file its width is not known before it is made
    weights = (size.d or 384) * _PHI_WIDTH + _PHI_WIDTH * _PHI_WIDTH + _PHI_WIDTH * _PHI_OUTPUTS
    grid = len(pair.options.get("sigmas", range(6))) * len(pair.options.get("lambdas", range(4)))
    epochs = pair.options.get("max_epochs", _EPOCHS)
    fits = cell.settings["draws"] + cell.settings["seeds"] if cell.kind == "audit" else 1
    return fits * grid * epochs * _TRAIN_SHARE * size.n * 6 * (weights + _PHI_BATCH * _PHI_OUTPUTS)


# --- sizes --------------------------------------------------------------------------------------------------------


def _size_of(pair: StudyPair, folder: StudyFolder) -> PairSize:
    """Return the size of a pair: as it was read, as its files say, or as is known of the paper's."""
    name = name_of("read", pair.pair)
    if folder.is_done(name):
        facts = folder.load(name)["facts"]
        return PairSize(facts["n"], facts["d"])
    if pair.score is None:
        return _size_of_file(
            pair.data, pair.where, pair.embeddings, encoding=pair.encoding
        )  # fmt: skip
    n = paper48.DATASET_ROWS.get(pair.score.task) or _size_of_file(pair.score.task).n
    limited = n if n is None or pair.score.limit is None else min(n, pair.score.limit)
    return PairSize(limited, paper48.STATE_WIDTHS.get(pair.score.model))


def _size_of_file(source: str, where: str | None = None, embeddings: str | None = None, **options: Any) -> PairSize:
    from miscal.data.readers.matrix import matrix_shape
    from miscal.data.readers.pieces import open_table
    from miscal.data.readers.where import columns_of, kept

    try:
        table = open_table(source, **options)
        rows = table.load(list(columns_of(where, table.columns) if where else table.columns[:1]))
        n = int(kept(where, rows)[0].sum()) if where else len(rows)
        x = embeddings or table.embeddings
        return PairSize(n, None if x is None else int(matrix_shape(x)[1]))
    except InputError:
        # a benchmark of the hub, or what is wrong with a pair, which is said when it is read
        return PairSize(None, None)


# --- words --------------------------------------------------------------------------------------------------------


def _row(one: PlannedCell) -> list[str]:
    size = " x ".join("?" if number is None else f"{number:,}" for number in one.size)
    leaves = "unknown" if one.gigabytes is None else f"{decimal(one.gigabytes, 1)} GB" if one.gigabytes else "-"
    operations = "done" if one.done else "-" if one.operations is None else f"{one.operations:.2g}"
    cell = " ".join(part for part in (one.cell.kind, one.cell.method) if part)
    return [cell, one.model, one.dataset, size, leaves, operations, _settings(one.cell.settings)]


def _settings(settings: Mapping[str, Any]) -> str:
    """Name the settings that say something; what asks a model or a set has its own columns."""
    saying_nothing = ("", "None", "False", "[]", "{}")
    named = {name: value for name, value in settings.items() if name not in ("model", "task")}
    return ", ".join(f"{name} {_value(value)}" for name, value in named.items() if str(value) not in saying_nothing)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_value(part)}" for name, part in value.items()) + ")"
    return "/".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
