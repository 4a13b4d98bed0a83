"""How large pairs are, how long their cells take on one core or with a GPU, and how long the rest of a study takes.

Seconds are these formulas; they say whether a plan takes minutes, hours or weeks, no more.

- ``score``: 2 x parameters x tokens, the arithmetic of one reading, at the operations a second that a :class:`Machine`
  reads with. The tokens of a row are those of the paper's benchmarks, and `FILE_TOKENS` for other files.
- ``discover`` with "paper": `GRID_SIZE` settings x `EPOCHS` epochs over the training rows. A row costs 6 operations for
  each weight of phi, and 6 x batch x outputs for the kernel of its batch, at the operations a second that a machine
  trains with. It is a bound from above, because settings stop when they can no longer win.
- ``discover`` with "auto": the table of seconds in :mod:`miscal.discovery.progress`, which was measured.
- ``measure``: as long as the measures of a discovery, from the same table; with `raw` twice that.
- ``together``: as ``measure``, of one of its pairs.
- ``interpret``: as long as the map of a discovery, from the same table.
- ``audit``: as many fits as it draws and compares.
- ``duel`` and ``transfer``: a second.

Other cells than ``score`` and those that fit the paper's method take a core, whatever GPU there is. Fetching and
loading weights is left out.

`CORE_RATE` is what one core of a server of 2023 reaches in products of matrices in float32 with miscal's own smoothing,
1e11 operations a second; with it the grid takes 7 hours at 70,000 rows and 4,096 columns. A GPU is taken to reach
`REACHED` of what its data sheet gives without sparsity: an A100 SXM 312e12 operations a second in bfloat16 and
19.5e12 in float32, an H100 SXM 989e12 and 67e12.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from miscal.base.errors import InputError
from miscal.discovery.progress import expected_seconds
from miscal.study import paper48
from miscal.study.cells import StudyCell, name_of
from miscal.study.folder import StudyFolder
from miscal.study.plan import StudyPair

CORE_RATE = 1e11
"""Operations a second of one core."""

REACHED = 0.4
"""Share of the operations in a GPU's data sheet that are taken to be reached."""


@dataclass(frozen=True)
class Machine:
    """What computes: operations a second where a language model reads, and where the paper's phi trains."""

    name: str
    reading: float
    training: float


CPU = Machine("one CPU core", CORE_RATE, CORE_RATE)
A100 = Machine("an A100", REACHED * 312e12, REACHED * 19.5e12)
H100 = Machine("an H100", REACHED * 989e12, REACHED * 67e12)
MACHINES = (CPU, A100, H100)
"""Those that hours are given for."""

GRID_SIZE, EPOCHS = 24, 100
"""Settings and epochs of the grid of method paper, where the options do not say otherwise."""

FILE_TOKENS = 150
"""Tokens of a question in a file of the user's."""

PHI_WIDTH, PHI_OUTPUTS, PHI_BATCH = 512, 128, 1024
"""Hidden width, outputs and batch of phi for language models."""

TRAIN_SHARE = 0.8
"""Share of the rows that phi is trained on."""

BYTES_PER_NUMBER = {"float32": 4, "float16": 2}
"""Of a number of an embedding."""


@dataclass(frozen=True)
class PairSize:
    """Rows, columns and tokens a row of a pair; None where nothing is known of them yet."""

    n: int | None
    d: int | None
    tokens: int | None = None


def size_of(pair: StudyPair, folder: StudyFolder) -> PairSize:
    """Return the size of a pair: as it was read, as its files say, or as is known of the paper's."""
    name = name_of("read", pair.pair)
    tokens = paper48.PROMPT_TOKENS.get(pair.score.task, FILE_TOKENS) if pair.score else None
    if folder.is_done(name):
        facts = folder.load(name)["facts"]
        return PairSize(facts["n"], facts["d"], tokens)
    if pair.score:
        n, d = paper48.DATASET_ROWS.get(pair.score.task), paper48.STATE_WIDTHS.get(pair.score.model)
        n = _rows_of_file(pair.score.task) if n is None else n
        return PairSize(n if n is None or pair.score.limit is None else min(n, pair.score.limit), d, tokens)
    return _size_of_files(pair)


def _rows_of_file(task: str) -> int | None:
    from miscal.data.readers.registry import open_table

    try:
        table = open_table(task)
        return len(table.load(list(table.columns[:1])))
    except InputError:
        # another benchmark of the hub, or a file that is missed when it is scored
        return None


def _size_of_files(pair: StudyPair) -> PairSize:
    from miscal.data.readers.matrix import matrix_shape
    from miscal.data.readers.registry import open_table
    from miscal.data.readers.where import columns_of, kept

    try:
        table = open_table(pair.data, encoding=pair.encoding, csv_escape=pair.csv_escape)
        needed = columns_of(pair.where, table.columns) if pair.where else table.columns[:1]
        rows = table.load(list(needed))
        n = int(kept(pair.where, rows)[0].sum()) if pair.where else len(rows)
        embeddings = pair.embeddings or table.embeddings
        return PairSize(n, None if embeddings is None else int(matrix_shape(embeddings)[1]))
    except InputError:
        # what is wrong with a pair is said when it is read
        return PairSize(None, None)


# --- seconds of a cell ------------------------------------------------------------------------------------------


def _score(cell: StudyCell, pair: StudyPair, size: PairSize, machine: Machine) -> float | None:
    if None in (size.n, size.tokens, pair.billions):
        return None
    return 2e9 * pair.billions * size.tokens * size.n / machine.reading


def paper_seconds(n: int, d: int, *, grid: int = GRID_SIZE, epochs: int = EPOCHS, machine: Machine = CPU) -> float:
    """Bound the seconds of the grid of method paper from above.

    Examples
    --------
    >>> round(paper_seconds(87_500, 4_096) / 3600, 1)
    7.2
    """
    weights = d * PHI_WIDTH + PHI_WIDTH * PHI_WIDTH + PHI_WIDTH * PHI_OUTPUTS
    return grid * epochs * TRAIN_SHARE * n * 6 * (weights + PHI_BATCH * PHI_OUTPUTS) / machine.training


def _fit(cell: StudyCell, pair: StudyPair, size: PairSize, machine: Machine) -> float | None:
    if size.n is None:
        return None
    # where x is not a file its width is not known before it is made
    d = size.d or 384
    if cell.method != "paper":
        return sum(expected_seconds(size.n, d).values())
    options = pair.options
    grid = len(options.get("sigmas", range(6))) * len(options.get("lambdas", range(4)))
    return paper_seconds(size.n, d, grid=grid, epochs=options.get("max_epochs", EPOCHS), machine=machine)


def _measure(cell: StudyCell, pair: StudyPair, size: PairSize, machine: Machine) -> float | None:
    if size.n is None:
        return None
    return expected_seconds(size.n, size.d or 384)["measures"] * (2 if pair.raw and cell.method == "paper" else 1)


def _audit(cell: StudyCell, pair: StudyPair, size: PairSize, machine: Machine) -> float | None:
    one = _fit(cell, pair, size, machine)
    return None if one is None else one * (cell.settings["draws"] + cell.settings["seeds"])


def _second(cell: StudyCell, pair: StudyPair, size: PairSize, machine: Machine) -> float:
    return 1.0


_SECONDS: dict[str, Callable[[StudyCell, StudyPair, PairSize, Machine], float | None]] = {
    "score": _score,
    "read": _second,
    "split": _second,
    "discover": _fit,
    "measure": _measure,
    "interpret": lambda cell, pair, size, machine: (
        None if size.n is None else expected_seconds(size.n, size.d or 384)["map"]
    ),
    "audit": _audit,
    "duel": _second,
    "transfer": _second,
    "together": _measure,
}


def seconds_of(cell: StudyCell, pair: StudyPair, size: PairSize, machine: Machine = CPU) -> float | None:
    """Estimate the seconds of a cell; None where the size of its pair is not known.

    Examples
    --------
    >>> pair = StudyPair(pair="a.m", dataset="a", model="m", data="a.csv")
    >>> seconds_of(StudyCell("discover", ("a.m",), "auto"), pair, PairSize(None, None)) is None
    True
    """
    return _SECONDS[cell.kind](cell, pair, size, machine)


def seconds_left(
    cells: Sequence[StudyCell],
    expected: Mapping[str, float | None],
    took: Mapping[str, float],
    failed: Collection[str],
    jobs: int,
) -> float | None:
    """Estimate the seconds until all cells are done.

    Parameters
    ----------
    cells : sequence of StudyCell
        All of the study.
    expected : mapping of str to float or None
        Seconds of each cell by its name, as expected before it is computed; only how they compare matters.
    took : mapping of str to float
        Seconds that the finished cells took.
    failed : collection of str
        Names of cells that are not tried again.
    jobs : int
        Cells computed at a time.

    Returns
    -------
    float or None
        A cell takes as much longer than expected as those of its kind and method did, or all cells where there are none
        yet. None while a cell's expectation is not known, or nothing is done.

    Examples
    --------
    >>> cells = [StudyCell("measure", (name,), "auto") for name in "abc"]
    >>> expected = {"measure@a@auto": 1.0, "measure@b@auto": 2.0, "measure@c@auto": 2.0}
    >>> seconds_left(cells, expected, {"measure@a@auto": 3.0}, [], 2), seconds_left(cells, expected, {}, [], 2)
    (6.0, None)
    """
    coming = [cell for cell in cells if cell.name not in took and cell.name not in failed]
    seen = [cell for cell in cells if cell.name in took and expected.get(cell.name)]
    if any(expected.get(cell.name) is None for cell in coming) or not seen:
        return 0.0 if not coming else None

    def slower(some: Sequence[StudyCell]) -> float:
        return sum(took[cell.name] for cell in some) / sum(expected[cell.name] for cell in some)

    total = 0.0
    for cell in coming:
        alike = [one for one in seen if (one.kind, one.method) == (cell.kind, cell.method)]
        total += expected[cell.name] * slower(alike or seen)
    return total / jobs
