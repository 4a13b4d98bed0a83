"""How long the rest of a study takes, by what its finished cells took beside what was expected of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from miscal.study.cells import Cell


def seconds_left(
    cells: Sequence[Cell],
    expected: Mapping[str, float | None],
    took: Mapping[str, float],
    failed: Collection[str],
    jobs: int,
) -> float | None:
    """Estimate the seconds until all cells are done.

    Parameters
    ----------
    cells : sequence of Cell
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
    >>> cells = [Cell("measure", (name,), "auto") for name in "abc"]
    >>> expected = {"measure@a@auto": 1.0, "measure@b@auto": 2.0, "measure@c@auto": 2.0}
    >>> seconds_left(cells, expected, {"measure@a@auto": 3.0}, [], 2), seconds_left(cells, expected, {}, [], 2)
    (6.0, None)
    """
    coming = [cell for cell in cells if cell.name not in took and cell.name not in failed]
    seen = [cell for cell in cells if cell.name in took and expected.get(cell.name)]
    if any(expected.get(cell.name) is None for cell in coming) or not seen:
        return 0.0 if not coming else None

    def slower(some: Sequence[Cell]) -> float:
        return sum(took[cell.name] for cell in some) / sum(expected[cell.name] for cell in some)

    total = 0.0
    for cell in coming:
        alike = [one for one in seen if (one.kind, one.method) == (cell.kind, cell.method)]
        total += expected[cell.name] * slower(alike or seen)
    return total / jobs
