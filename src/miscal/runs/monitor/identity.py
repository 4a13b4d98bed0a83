"""Which rows are the same. A row counts once. A monitor keeps digests of its earlier rows, not the rows themselves.

A row is what its ``id`` says, where the first look had such a column. Otherwise it is its values: inputs, confidence,
outcome and group, to the last bit, whatever its place, file or format. Rows of a table may be equal in all of these and
yet be different rows, so equal rows within a look all count. Between looks, equal rows are refused, unless the looks
themselves hold equal rows: then as many may come again as chance brings. The chance that a new row equals an old one is
estimated by the share of the old rows that equal another old one (Good, 1953, Biometrika 40).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import value_list
from miscal.base.errors import InputError, argument
from miscal.findings.residuals import proportion_interval
from miscal.runs.monitor.new_rows import ID, NewLabelled
from miscal.runs.monitor.state_schema import Grid, Look

Keys = NDArray[np.uint64]

LEAST_CHANCE = 1e-6
"""More equal rows than come by chance so rarely are refused, or warned of. A convention."""
_ERROR = 0.002
"""How often the interval of the share of equal rows may miss, two-sided; its upper end is used. A convention."""
_NEAR_COLUMNS = 8
_NEAR_STEP = 0.01
"""Rows are alike if their inputs fall into the same steps of so many standard deviations. Files of six decimals move a
value over the border of such a step once in hundreds of times. Not tuned."""
_NEAR_CONFIDENCE = 1e-4
_LEAST_ALIKE = 0.1
"""Share of rows alike to earlier ones above which a look warns. A convention."""


@dataclass(frozen=True, eq=False)
class RowKeys:
    """Digests of rows.

    Attributes
    ----------
    groups : (m,) uint64
        Of the groups.
    rows : (n,) uint64
        Of the ids, or of the values.
    alike : (n,) uint64
        Of the values but for rounding.
    """

    groups: Keys
    rows: Keys
    alike: Keys

    @staticmethod
    def none() -> RowKeys:
        """Return the digests of no rows."""
        return RowKeys(*(np.zeros(0, np.uint64) for _ in range(3)))

    @staticmethod
    def of(rows: NewLabelled, grid: Grid) -> RowKeys:
        """Take the digests of the rows of a look, in their order."""
        groups = _keys(str(name) for name in ([] if rows.group is None else rows.group) if name is not None)
        return RowKeys(groups, _row_keys(rows), _alike_keys(rows, grid))

    def joined(self, new: RowKeys) -> RowKeys:
        """Add the digests of a look. All are sorted; a group is kept once, and a row as often as it came."""
        groups = np.union1d(self.groups, new.groups).astype(np.uint64)
        rows, alike = (np.sort(np.r_[a, b]) for a, b in ((self.rows, new.rows), (self.alike, new.alike)))
        return RowKeys(groups, rows, alike)


def _row_keys(rows: NewLabelled) -> Keys:
    if rows.id is not None:
        return _keys(str(name) for name in rows.id)
    # double precision holds single precision exactly, and adding 0 makes -0.0 and 0.0 one
    numbers = np.column_stack([rows.X, rows.confidence, rows.correct]).astype(np.float64) + 0.0
    return _keys_of(numbers.astype("<f8"), rows)


def _alike_keys(rows: NewLabelled, grid: Grid) -> Keys:
    # of many columns some of the widest: the more are looked at, the more often one of them lies at a border
    columns = np.argsort(-grid.scale, kind="stable")[:_NEAR_COLUMNS]
    steps = (rows.X[:, columns] - grid.mean[columns]) / (grid.scale[columns] * _NEAR_STEP)
    near = np.column_stack([steps, rows.confidence / _NEAR_CONFIDENCE, rows.correct])
    return _keys_of(np.round(near).astype("<f8") + 0.0, rows)


def _keys_of(numbers: NDArray[np.float64], rows: NewLabelled) -> Keys:
    names: Sequence[object] = [""] * len(rows) if rows.group is None else list(rows.group)
    return _keys(row.tobytes() + str(name).encode("utf-8", "replace") for row, name in zip(numbers, names, strict=True))


def _keys(contents: Iterable[bytes | str]) -> Keys:
    given = (one if isinstance(one, bytes) else one.encode("utf-8", "replace") for one in contents)
    digests = [hashlib.blake2b(content, digest_size=8).digest() for content in given]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def order_digest(keys: Keys) -> str:
    """Digest of rows in their order."""
    return hashlib.sha256(keys.astype("<u8").tobytes()).hexdigest()


def repeated(keys: Keys, seen: Keys) -> int:
    """Count keys that are among those seen.

    Examples
    --------
    >>> repeated(np.array([1, 5, 5], np.uint64), np.array([2, 5], np.uint64))
    2
    """
    return int(np.isin(keys, seen).sum())


def more_than_chance(keys: Keys, seen: Keys) -> bool:
    """Whether more keys are among those seen than chance brings, where new rows are drawn as the old ones were.

    Parameters
    ----------
    keys : (n,) uint64
        Of new rows.
    seen : (m,) uint64
        Of earlier rows; a row that came twice is in it twice.

    Returns
    -------
    bool
        Where no two earlier rows are equal, whether any new one equals one of them.

    Examples
    --------
    >>> few, many = np.arange(100, dtype=np.uint64), np.arange(100, dtype=np.uint64) % np.uint64(5)
    >>> more_than_chance(few[:1], few), more_than_chance(many, many)
    (True, False)
    """
    found, share = repeated(keys, seen), _share_paired(seen)
    if not found or not share:
        return found > 0
    return _chance(found, len(keys), share, len(seen)) < LEAST_CHANCE


def many_alike(keys: Keys, seen: Keys) -> int:
    """Count keys among those seen where they are a tenth of all and more than chance brings; else 0."""
    found = repeated(keys, seen)
    if found < max(1.0, _LEAST_ALIKE * len(keys)):
        return 0
    return found if _chance(found, len(keys), _share_paired(seen), len(seen)) < LEAST_CHANCE else 0


def _share_paired(seen: Keys) -> float:
    """Share of earlier rows that equal another earlier one."""
    times = np.unique(seen, return_counts=True)[1]
    return (len(seen) - int((times == 1).sum())) / max(1, len(seen))


def _chance(found: int, n: int, share: float, before: int) -> float:
    """Chance of so many equal rows among `n`, where this share of the rows before was equal to another, at most."""
    from scipy.stats import binom

    _, rate = proportion_interval(share, before, _ERROR)
    return float(binom.sf(found - 1, n, rate))


# --- refusals -----------------------------------------------------------------------------------------------------


def refuse_counted(looks: Sequence[Look], before: RowKeys, new: RowKeys, folder: Path, rows: NewLabelled) -> None:
    """Refuse rows that an earlier look has counted.

    Parameters
    ----------
    looks : sequence of Look
    before, new : RowKeys
        Of all earlier looks; of the new rows, in order.
    folder : Path
        The monitor.
    rows : NewLabelled
        The new rows.

    Raises
    ------
    InputError
        If they are the rows of a look, begin with them, repeat ids, or equal more earlier rows than chance explains.
    """
    content = order_digest(np.sort(new.rows))
    for number, look in enumerate(looks, start=1):
        when = f"look {number}{f' ({look.at})' if look.at else ''}"
        if content == look.content:
            raise InputError(
                f"these {look.rows:,} rows were counted before, as {when} of {folder}, and a row counts once, "
                "so nothing was changed. Give the rows that came later"
            )
        if len(new.rows) > look.rows and order_digest(new.rows[: look.rows]) == look.ordered:
            raise InputError(
                f"the first {look.rows:,} rows were counted before, as {when} of {folder}, and a row counts once, so "
                f"nothing was changed. Give only the rows that came later, for example with {argument('where')}"
            )
    again = np.isin(new.rows, before.rows)
    if rows.id is not None and again.any():
        raise InputError(
            f"{int(again.sum()):,} of {len(rows):,} rows have an {ID!r} that was counted before by {folder} "
            f"({value_list(rows.id[again])}), and count once: give only the rows that came after, for example with "
            f"{argument('where')}. If the column {ID!r} only numbers the rows of each file, rename it and begin a new "
            "monitor with "
            f"{argument('out')}; nothing was changed"
        )
    if rows.id is None and more_than_chance(new.rows, before.rows):
        raise InputError(
            f"{int(again.sum()):,} of {len(rows):,} rows were counted before by {folder}: their inputs, "
            f"{rows.words.probability} and outcome are those of earlier rows, and a row counts once. Give only the "
            f"rows that came after, for example with {argument('where')}. If they are other rows that happen to be "
            "equal, a column "
            f"{ID!r} tells rows apart, in a new monitor ({argument('out')}); nothing was changed"
        )
