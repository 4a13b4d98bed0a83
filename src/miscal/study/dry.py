"""What a study would do: cells that are done and left, sizes on disk, and hours by :mod:`miscal.study.expected`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from miscal.study.cells import KINDS, Cell, cells_of, dataset_of
from miscal.study.expected import BYTES, Size, seconds_of, size_of
from miscal.study.folder import PLAN, StudyFolder
from miscal.study.plan import Plan
from miscal.study.reading import read_plan
from miscal.study.run import is_done


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
    23
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
    scored = [(sizes[pair.pair], BYTES[pair.score.embeddings_dtype]) for pair in asked.pairs if pair.score]
    known = all(size.n and size.d for size, _ in scored)
    gigabytes = sum(bytes_ * size.n * size.d for size, bytes_ in scored) / 1e9 if known else None
    unknown = tuple(pair for pair, size in sizes.items() if not (size.n and size.d))
    found = Survey(shares, len(asked.pairs), gigabytes, unknown, ())
    return Survey(shares, len(asked.pairs), gigabytes, unknown, tuple(_lines(found)))


def _share(kind: str, cells: Sequence[Cell], done: set[str], plan: Plan, sizes: Mapping[str, Size]) -> Share:
    left = [cell for cell in cells if cell.name not in done]
    pairs = [dataset_of(plan, cell)[0] for cell in left]
    seconds = [seconds_of(cell, pair, sizes[pair.pair]) for cell, pair in zip(left, pairs, strict=True)]
    hours = None if None in seconds else sum(seconds) / 3600
    return Share(kind, len(cells), len(cells) - len(left), hours)


# --- words --------------------------------------------------------------------------------------------------------


def _lines(found: Survey) -> list[str]:
    lines = [f"{found.n_pairs} pairs, {sum(one.n for one in found.shares)} cells"]
    lines += [f"{one.kind:<12}{one.n:>5} cells, {one.n_done:>5} done   {_hours(one.hours)}" for one in found.shares]
    if found.gigabytes:
        lines.append(f"embeddings that scoring leaves: about {found.gigabytes:.0f} GB")
    if found.unknown:
        some = ", ".join(found.unknown[:5]) + (", ..." if len(found.unknown) > 5 else "")
        lines.append(f"sizes that are not known before scoring or reading: {some}")
    lines.append("hours are those of one CPU core, by the formulas in miscal.study.expected; a GPU reads far faster")
    return lines


def _hours(hours: float | None) -> str:
    if hours is None:
        return "time unknown"
    return f"about {hours:,.0f} h" if hours >= 10 else f"about {hours:.1f} h"
