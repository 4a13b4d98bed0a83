"""What a study would do: cells that are done and left, sizes on disk, and about how many hours.

Hours are sums of these formulas; they say whether a plan takes minutes, hours or weeks, no more.

- ``score``: 2 x parameters x tokens, the arithmetic of one reading, at `CORE` operations a second. The tokens of a
  row are those of the paper's benchmarks, and `TOKENS` for other files.
- ``discover`` with "paper": `GRID` settings x `EPOCHS` epochs over the training rows. A row costs 6 operations for each
  weight of phi, and 6 x batch x outputs for the kernel of its batch, at `CORE` operations a second. It is a bound from
  above, because settings stop when they can no longer win.
- ``discover`` with "auto": the table of seconds in :mod:`miscal.discovery.progress`, which was measured.
- ``measure``: as long as the measures of a discovery, from the same table; with `raw` twice that.
- ``interpret``: as long as the map of a discovery, from the same table.
- ``audit``: as many fits as it draws and compares.
- ``transfer``: a second.

`CORE` is what one core of a server of 2023 reaches in products of matrices in float32 with miscal's own smoothing,
1e11 operations a second; with it the paper's grid takes 7 hours at 70,000 rows and 4,096 columns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError
from miscal.discovery.progress import expected_seconds
from miscal.study import paper48
from miscal.study.cells import KINDS, Cell, cells_of, dataset_of, name_of
from miscal.study.folder import PLAN, StudyFolder
from miscal.study.plan import Pair, Plan
from miscal.study.reading import read_plan
from miscal.study.run import is_done

CORE = 1e11
"""Operations a second of one core."""

GRID, EPOCHS = 24, 100
"""Settings and epochs of the paper's grid, where the options do not say otherwise."""

TOKENS = 150
"""Tokens of a question in a file of the user's."""

WIDTH, OUTPUTS, BATCH = 512, 128, 1024
"""Hidden width, outputs and batch of phi for language models."""

TRAIN = 0.8
"""Share of the rows that phi is trained on."""

FLOAT = 4
"""Bytes of a number of an embedding."""


@dataclass(frozen=True)
class Size:
    """Rows, columns and tokens a row of a pair; None where nothing is known of them yet."""

    n: int | None
    d: int | None
    tokens: int | None = None


@dataclass(frozen=True)
class Share:
    """Cells of one kind: how many, how many are done, and the hours that the others take on one core."""

    kind: str
    n: int
    n_done: int
    hours: float | None


@dataclass(frozen=True)
class Survey:
    """What a study would do.

    Attributes
    ----------
    shares : tuple of Share
        By kind, in the order of the work.
    n_pairs : int
    gigabytes : float or None
        Of embeddings that scoring will leave, in 10^9 bytes; None where a pair's size is not known.
    unknown : tuple of str
        Pairs whose size is not known before they are scored.
    lines : tuple of str
        All that in words.
    """

    shares: tuple[Share, ...]
    n_pairs: int
    gigabytes: float | None
    unknown: tuple[str, ...]
    lines: tuple[str, ...]


def survey(
    plan: str | Path | Mapping[str, Any] | Plan, out: str | Path, *, sets: Mapping[str, str] | None = None
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
    {'score': 48, 'read': 48, 'split': 4, 'discover': 48, 'measure': 48, 'interpret': 1, 'audit': 6}
    >>> round(found.gigabytes)
    46
    """
    asked, folder = read_plan(plan, sets=sets), StudyFolder(Path(out))
    cells = cells_of(asked)
    started = (folder.path / PLAN).exists()
    done = {cell.name for cell in cells if started and is_done(folder, asked, cell)}
    sizes = {pair.pair: size_of(pair, folder) for pair in asked.pairs}
    shares = tuple(
        _share(kind, some, done, asked, sizes)
        for kind in KINDS
        if (some := [cell for cell in cells if cell.kind == kind])
    )
    scored = [sizes[pair.pair] for pair in asked.pairs if pair.score]
    known = all(size.n and size.d for size in scored)
    gigabytes = sum(FLOAT * size.n * size.d for size in scored) / 1e9 if known else None
    unknown = tuple(pair for pair, size in sizes.items() if not (size.n and size.d))
    found = Survey(shares, len(asked.pairs), gigabytes, unknown, ())
    return Survey(shares, len(asked.pairs), gigabytes, unknown, tuple(_lines(found)))


def size_of(pair: Pair, folder: StudyFolder) -> Size:
    """Return the size of a pair: as it was read, as its files say, or as is known of the paper's."""
    name = name_of("read", pair.pair)
    tokens = paper48.TOKENS.get(pair.score.task, TOKENS) if pair.score else None
    if folder.is_done(name):
        facts = folder.load(name)["facts"]
        return Size(facts["n"], facts["d"], tokens)
    if pair.score:
        n, d = paper48.ROWS.get(pair.score.task), paper48.WIDTHS.get(pair.score.model)
        n = _rows_of_file(pair.score.task) if n is None else n
        return Size(n if n is None or pair.score.limit is None else min(n, pair.score.limit), d, tokens)
    return _size_of_files(pair)


def _rows_of_file(task: str) -> int | None:
    from miscal.data.readers.registry import open_table

    try:
        table = open_table(task)
        return len(table.load(list(table.columns[:1])))
    except InputError:
        # another benchmark of the hub, or a file that is missed when it is scored
        return None


def _size_of_files(pair: Pair) -> Size:
    from miscal.data.readers.matrix import matrix_shape
    from miscal.data.readers.registry import open_table
    from miscal.data.readers.where import columns_of, kept

    try:
        table = open_table(pair.data, encoding=pair.encoding)
        needed = columns_of(pair.where, table.columns) if pair.where else table.columns[:1]
        rows = table.load(list(needed))
        n = int(kept(pair.where, rows)[0].sum()) if pair.where else len(rows)
        embeddings = pair.embeddings or table.embeddings
        return Size(n, None if embeddings is None else int(matrix_shape(embeddings)[1]))
    except InputError:
        # what is wrong with a pair is said when it is read
        return Size(None, None)


def _share(kind: str, cells: Sequence[Cell], done: set[str], plan: Plan, sizes: Mapping[str, Size]) -> Share:
    left = [cell for cell in cells if cell.name not in done]
    seconds = [_SECONDS[kind](cell, dataset_of(plan, cell)[0], sizes[dataset_of(plan, cell)[0].pair]) for cell in left]
    hours = None if any(one is None for one in seconds) else sum(seconds) / 3600
    return Share(kind, len(cells), len(cells) - len(left), hours)


# --- seconds of a cell on one core ----------------------------------------------------------------------------------


def _score(cell: Cell, pair: Pair, size: Size) -> float | None:
    if None in (size.n, size.tokens, pair.billions):
        return None
    return 2e9 * pair.billions * size.tokens * size.n / CORE


def paper_seconds(n: int, d: int, *, grid: int = GRID, epochs: int = EPOCHS) -> float:
    """Bound the seconds of the paper's grid on one core from above.

    Examples
    --------
    >>> round(paper_seconds(87_500, 4_096) / 3600, 1)
    7.2
    """
    weights = d * WIDTH + WIDTH * WIDTH + WIDTH * OUTPUTS
    return grid * epochs * TRAIN * n * 6 * (weights + BATCH * OUTPUTS) / CORE


def _fit(cell: Cell, pair: Pair, size: Size) -> float | None:
    if size.n is None:
        return None
    # where x is not a file its width is not known before it is made
    d = size.d or 384
    if cell.method != "paper":
        return sum(expected_seconds(size.n, d).values())
    options = pair.options
    grid = len(options.get("sigmas", range(6))) * len(options.get("lambdas", range(4)))
    return paper_seconds(size.n, d, grid=grid, epochs=options.get("max_epochs", EPOCHS))


def _measure(cell: Cell, pair: Pair, size: Size) -> float | None:
    if size.n is None:
        return None
    return expected_seconds(size.n, size.d or 384)["measures"] * (2 if pair.raw and cell.method == "paper" else 1)


def _interpret(cell: Cell, pair: Pair, size: Size) -> float | None:
    return None if size.n is None else expected_seconds(size.n, size.d or 384)["map"]


def _audit(cell: Cell, pair: Pair, size: Size) -> float | None:
    one = _fit(cell, pair, size)
    return None if one is None else one * (cell.settings["draws"] + cell.settings["seeds"])


def _second(cell: Cell, pair: Pair, size: Size) -> float:
    return 1.0


_SECONDS: dict[str, Callable[[Cell, Pair, Size], float | None]] = {
    "score": _score,
    "read": _second,
    "split": _second,
    "discover": _fit,
    "measure": _measure,
    "interpret": _interpret,
    "audit": _audit,
    "transfer": _second,
}


# --- words --------------------------------------------------------------------------------------------------------


def _lines(found: Survey) -> list[str]:
    lines = [f"{found.n_pairs} pairs, {sum(one.n for one in found.shares)} cells"]
    lines += [f"{one.kind:<12}{one.n:>5} cells, {one.n_done:>5} done   {_hours(one.hours)}" for one in found.shares]
    if found.gigabytes:
        lines.append(f"embeddings that scoring leaves: about {found.gigabytes:.0f} GB in float32")
    if found.unknown:
        some = ", ".join(found.unknown[:5]) + (", ..." if len(found.unknown) > 5 else "")
        lines.append(f"sizes that are not known before scoring or reading: {some}")
    lines.append("hours are those of one CPU core, by the formulas in miscal.study.dry; a GPU reads far faster")
    return lines


def _hours(hours: float | None) -> str:
    if hours is None:
        return "time unknown"
    return f"about {hours:,.0f} h" if hours >= 10 else f"about {hours:.1f} h"
