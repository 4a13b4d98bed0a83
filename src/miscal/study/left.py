"""How long the rest of a study takes, by what its finished cells took."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from miscal.study.cells import Cell


def seconds_left(cells: Sequence[Cell], took: Mapping[str, float], failed: Collection[str], jobs: int) -> float | None:
    """Estimate the seconds until all cells are done.

    Parameters
    ----------
    cells : sequence of Cell
        All of the study.
    took : mapping of str to float
        Seconds of the finished cells by their names.
    failed : collection of str
        Names of cells that are not tried again.
    jobs : int
        Cells computed at a time.

    Returns
    -------
    float or None
        None while a kind of cell, under a method, that is still to come has not been seen.

    Examples
    --------
    >>> cells = [Cell("measure", (name,), "auto") for name in "abc"]
    >>> seconds_left(cells, {"measure@a@auto": 3.0}, [], 2), seconds_left(cells, {}, [], 2)
    (3.0, None)
    """
    seen: dict[tuple[str, str | None], list[float]] = {}
    for cell in cells:
        if cell.name in took:
            seen.setdefault((cell.kind, cell.method), []).append(took[cell.name])
    total = 0.0
    for cell in cells:
        if cell.name in took or cell.name in failed:
            continue
        known = seen.get((cell.kind, cell.method))
        if known is None:
            return None
        total += sum(known) / len(known)
    return total / jobs
