"""Groups that several columns make together: three values at once, two thresholds at once, and sides of slanted lines.

All are fixed before any outcome is seen, and all are many: they have a share of the error of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

import numpy as np

from miscal.findings.conditions import Condition
from miscal.findings.conditions.kinds.both import Both
from miscal.findings.conditions.kinds.slanted import Slanted
from miscal.findings.ledger.bins import bins_of, round_quantile
from miscal.findings.ledger.settings import LedgerSettings

_SLOPES = (0.25, 0.5, 1.0, 2.0, 4.0)
"""How steep lines are in units of the two columns' spread: 14 to 76 degrees, at most 19 degrees apart."""
_ROUND_FACTORS = np.array([1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0])
_QUARTERS = 4


def triples(codes: Sequence[np.ndarray], cells: Sequence[int], least: int, most: int) -> list[tuple[int, tuple]]:
    """List the cells of three columns that share enough rows, the largest first.

    Parameters
    ----------
    codes : sequence of int arrays of shape (n,)
        The cell of each row in each column, 0, 1, ...
    cells : sequence of int
        How many cells each column has.
    least : int
        Fewest rows.
    most : int
        Triples at most.

    Returns
    -------
    list of (int, tuple of (int, int))
        Rows, and the place of the column and its cell, three times.

    Examples
    --------
    >>> triples([np.zeros(9, int), np.arange(9) // 5, np.zeros(9, int)], [1, 2, 1], 5, 10)
    [(5, ((0, 0), (1, 0), (2, 0)))]
    """
    found: list[tuple[int, tuple]] = []
    for three in combinations(range(len(codes)), 3):
        a, b, c = (codes[place].astype(np.int64) for place in three)
        shape = [cells[place] for place in three]
        counts = np.bincount((a * shape[1] + b) * shape[2] + c, minlength=int(np.prod(shape)))
        for at in np.flatnonzero(counts >= least):
            where = np.unravel_index(int(at), shape)
            found.append((int(counts[at]), tuple(zip(three, map(int, where), strict=True))))
    # in the order of columns and cells where sizes are equal
    return sorted(found, key=lambda one: -one[0])[:most]


def two_thresholds(
    columns: Mapping[str, np.ndarray], settings: LedgerSettings
) -> Iterator[tuple[Condition, np.ndarray]]:
    """Yield the rows beyond a quarter of one number and a quarter of another, for every two columns.

    Parameters
    ----------
    columns : mapping of str to float64 array of shape (n,)
        Numbers of many values, NaN where missing.
    settings : LedgerSettings
    """
    sides = {name: list(_sides(name, values)) for name, values in _chosen(columns, settings).items()}
    for one, two in combinations(sides, 2):
        for (left, inside), (right, within) in product(sides[one], sides[two]):
            yield Both((left, right)), inside & within


def _sides(name: str, values: np.ndarray) -> Iterator[tuple[Condition, np.ndarray]]:
    bins = bins_of(name, values, _QUARTERS, date=False)
    for end in range(1, bins.count):
        yield bins.condition(0, end - 1), (bins.codes >= 0) & (bins.codes < end)
        yield bins.condition(end, bins.count - 1), bins.codes >= end


def slanted(columns: Mapping[str, np.ndarray], settings: LedgerSettings) -> Iterator[tuple[Condition, np.ndarray]]:
    """Yield the rows on either side of slanted lines in the plane of every two columns of numbers.

    Parameters
    ----------
    columns : mapping of str to float64 array of shape (n,)
        Numbers of many values, NaN where missing.
    settings : LedgerSettings
    """
    chosen = _chosen(columns, settings)
    for one, two in combinations(chosen, 2):
        spreads = [_spread(chosen[name]) for name in (one, two)]
        if min(spreads) <= 0:
            continue
        for slope, sign in product(_SLOPES, (1.0, -1.0)):
            factors = _factors(slope * spreads[0] / spreads[1], sign)
            yield from _ends(one, two, factors, chosen[one], chosen[two], settings.slanted_shares)


def _chosen(columns: Mapping[str, np.ndarray], settings: LedgerSettings) -> dict[str, np.ndarray]:
    """Take the columns named first: pairs of all would be too many, and of many rows they would take much memory."""
    n, many = len(next(iter(columns.values()), ())), settings.combined_numbers
    while many > 2 and n * many * (many - 1) / 2 > settings.combined_rows:
        many -= 1
    return dict(list(columns.items())[:many])


def _spread(values: np.ndarray) -> float:
    """Half the range of the middle two thirds, which a few extreme values do not change."""
    low, high = np.quantile(values[np.isfinite(values)], [1 / 6, 5 / 6])
    return float(high - low) / 2


def _factors(ratio: float, sign: float) -> tuple[float, float]:
    """Round factors of two columns, the smaller of which is 1, of which the second is about `ratio` of the first."""
    return (1.0, sign * _rounded(ratio)) if ratio >= 1 else (_rounded(1 / ratio), sign)


def _rounded(value: float) -> float:
    scale = 10.0 ** np.floor(np.log10(value))
    nearest = _ROUND_FACTORS[np.argmin(np.abs(np.log(_ROUND_FACTORS * scale / value)))]
    return float(f"{nearest * scale:.6g}")


def _ends(
    one: str, two: str, factors: tuple[float, float], first: np.ndarray, second: np.ndarray, shares: Sequence[float]
) -> Iterator[tuple[Condition, np.ndarray]]:
    total = Slanted(one, factors[0], two, factors[1], "below", 0.0).of(first, second)
    known = np.isfinite(total)
    order = np.sort(total[known])
    for share in shares:
        # beyond the middle the two sides are one question
        for side in ("below", "at least")[: 1 if share == 0.5 else 2]:
            bound = round_quantile(order, share if side == "below" else 1 - share)
            condition = Slanted(one, factors[0], two, factors[1], side, bound)
            inside = total < condition.bound if side == "below" else total >= condition.bound
            yield condition, known & inside
