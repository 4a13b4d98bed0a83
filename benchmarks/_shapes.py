"""Tables of mixed columns in which a model is wrong about one group of a given shape, beyond what its confidence shows.

12 columns: categories of 3 to 7 levels and one of 4,000, numbers (one with blanks at random, one whose blanks depend on
another number), ages in whole years, and the moment of each row over two years.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import expit

from miscal.findings.conditions.column_kinds import Cycle, Trend, part_of
from miscal.findings.conditions.condition import Condition
from miscal.findings.ledger.groups import Groups, named_groups

ROWS = 10_000
BLANK, DATES, LEVEL, ONE_PER_CENT, THREE, CYCLE, SLANTED, TREND = (
    "informative blanks", "dates", "one of 4,000 levels", "1 % group", "three values", "hours", "slanted", "trend",
)  # fmt: skip
SHIFTS = {ONE_PER_CENT: 1.6, LEVEL: 1.3, THREE: 1.2, TREND: 0.6}
"""Shift of the log-odds at strength 1; 0.7 where none is named."""
_SHARES = {
    "region": (0.5, 0.3, 0.2), "channel": (0.4, 0.3, 0.2, 0.1), "product": (0.3, 0.25, 0.2, 0.15, 0.1),
    "device": (0.25, 0.2, 0.2, 0.15, 0.1, 0.05, 0.05), "plan": (0.45, 0.3, 0.15, 0.1),
}  # fmt: skip
_LEVELS = 4_000
_END = 0.05
"""Share of the rows by which an end of an interval may be off."""
_HOURS = 1
"""Hours by which an end of a stretch of the day may be off."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A table with one planted group; float arrays of shape (n,) but for the columns.

    Attributes
    ----------
    shape : str
    columns : dict of str to array of shape (n,)
    confidence, correct : arrays
    group : float64 array
        How much of the shift each row gets: 1 in the group and 0 elsewhere; along a trend its rank, from -1/2 to 1/2.
    names : frozenset of str
        The columns that define it.
    """

    shape: str
    columns: dict[str, np.ndarray]
    confidence: np.ndarray
    correct: np.ndarray
    group: np.ndarray
    names: frozenset[str]

    def told(self, condition: Condition, rows: np.ndarray) -> bool:
        """Whether a finding is the planted group, described exactly; where no candidate is it, whether it is of it."""
        if self.shape in (THREE, SLANTED):
            return self.is_of(condition, rows)
        if frozenset(condition.columns) != self.names:
            return False
        if self.shape == CYCLE:
            return self._same_hours(condition)
        if self.shape == TREND:
            return isinstance(condition, Trend)
        inside = self.group != 0
        if self.shape != DATES:
            return bool((rows == inside).all())
        rank = np.argsort(np.argsort(self.columns["opened"])) / len(rows)
        ends = [(rank[one].min(), rank[one].max()) for one in (rows, inside)]
        return bool(np.abs(np.subtract(*ends)).max() <= _END)

    def is_of(self, condition: Condition, rows: np.ndarray) -> bool:
        """Whether a finding is of the planted group, exactly or not: of a trend by column, else by half of the rows."""
        if self.shape == TREND:
            return not self.names.isdisjoint(condition.columns)
        both = int((rows & (self.group != 0)).sum())
        return 2 * both >= min(int(rows.sum()), int((rows | (self.group != 0)).sum()))

    def _same_hours(self, condition: Condition) -> bool:
        if not isinstance(condition, Cycle) or condition.part != "hour":
            return False
        hours = np.unique(part_of(_seconds(self.columns["opened"][self.group > 0]), "hour")).tolist()
        first = next(hour for hour in hours if (hour - 1) % 24 not in hours)
        last = next(hour for hour in hours if (hour + 1) % 24 not in hours)
        off = [min((a - b) % 24, (b - a) % 24) for a, b in ((first, condition.first), (last, condition.last))]
        return max(off) <= _HOURS


def _seconds(dates: np.ndarray) -> np.ndarray:
    return dates.astype("datetime64[s]").astype(np.int64).astype(np.float64)


def table(n: int, rng: np.random.Generator, more: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Draw the columns, `more` numbers and categories among them, and the score that confidences come from."""
    columns, score = {}, rng.normal(0.0, 0.7, n)
    for name, shares in _SHARES.items():
        code = rng.choice(len(shares), n, p=shares)
        columns[name] = np.array([f"{name[0]}{c}" for c in code], object)
        score += rng.normal(0.0, 0.4, len(shares))[code]
    often = 1.0 / np.arange(8, _LEVELS + 8)
    shop = rng.choice(_LEVELS, n, p=often / often.sum())
    columns["shop"] = np.array([f"shop {s}" for s in shop], object)
    score += rng.normal(0.0, 0.3, _LEVELS)[shop]
    columns["income"], columns["balance"] = rng.lognormal(3.4, 0.5, n), rng.normal(0.0, 2.0, n)
    columns["age"] = rng.integers(18, 91, n).astype(float)
    columns["tenure"] = np.where(rng.random(n) < 0.1, np.nan, rng.exponential(4.0, n))
    columns["debt"] = np.where(rng.random(n) < 0.16 * expit(columns["balance"]), np.nan, rng.gamma(2.0, 3.0, n))
    columns["opened"] = np.datetime64("2021-01-01", "s") + rng.integers(0, 730 * 86_400, n).astype("timedelta64[s]")
    score += rng.normal(0.0, 0.3) * columns["balance"] + rng.normal(0.0, 0.02) * (columns["age"] - 54)
    for place in range(more):
        wide = place % 2
        columns[f"more {place}"] = (
            rng.normal(size=n) if wide else np.array([f"m{c}" for c in rng.integers(0, 5, n)], object)
        )
    return columns, 0.7 + score


@lru_cache(maxsize=2)
def null_table(n: int, more: int, draw: int) -> tuple[Groups, np.ndarray]:
    """Draw the named groups of a table, and confidences that hold at every row."""
    columns, score = table(n, np.random.default_rng((draw, 182, n)), more)
    return named_groups(columns), expit(score)


def make(shape: str, strength: float, draw: int, n: int = ROWS) -> Planted:
    """Draw a table and plant a group of a shape."""
    rng = np.random.default_rng((draw, 181, sorted(_MAKERS).index(shape)))
    columns, score = table(n, rng)
    group, names = _MAKERS[shape](columns, rng)
    f = expit(score)
    shift = strength * SHIFTS.get(shape, 0.7) * rng.choice([-1.0, 1.0])
    y = (rng.random(n) < expit(score + shift * group)).astype(float)
    return Planted(shape, columns, f, y, group.astype(float), names)


def _blank(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    return np.isnan(columns["debt"]), frozenset(["debt"])


def _dates(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    """A tenth of the two years."""
    first = rng.uniform(0.0, 0.9)
    rank = np.argsort(np.argsort(columns["opened"])) / len(columns["opened"])
    return (rank >= first) & (rank < first + 0.1), frozenset(["opened"])


def _level(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    return columns["shop"] == f"shop {rng.integers(0, 5)}", frozenset(["shop"])


def _one_per_cent(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    """Two values together of about 1 % of the rows."""
    return _cell(columns, rng, 2, 0.009, 0.013)


def _three(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    """Three values together of 1.5 to 3 % of the rows."""
    return _cell(columns, rng, 3, 0.015, 0.03)


def _cell(
    columns: dict, rng: np.random.Generator, many: int, low: float, high: float
) -> tuple[np.ndarray, frozenset[str]]:
    while True:
        names = rng.choice(list(_SHARES), many, replace=False).tolist()
        rows = np.logical_and.reduce([columns[name] == rng.choice(np.unique(columns[name])) for name in names])
        if low <= rows.mean() <= high:
            return rows, frozenset(names)


def _cycle(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    """Seven hours that begin at 19 to 23 o'clock, and so pass midnight."""
    first = rng.integers(19, 24)
    return (part_of(_seconds(columns["opened"]), "hour") - first) % 24 < 7, frozenset(["opened"])


def _slanted(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    """A fifth of the rows beyond a line at 20 to 70 degrees in the plane of two standardised numbers."""
    one, two = rng.choice(["income", "balance", "age"], 2, replace=False).tolist()
    angle, sign = np.deg2rad(rng.uniform(20, 70)), rng.choice([-1.0, 1.0])
    a, b = ((columns[name] - columns[name].mean()) / columns[name].std() for name in (one, two))
    total = np.cos(angle) * a + sign * np.sin(angle) * b
    return total >= np.quantile(total, 0.8), frozenset([one, two])


def _trend(columns: dict, rng: np.random.Generator) -> tuple[np.ndarray, frozenset[str]]:
    name = str(rng.choice(["income", "balance", "age"]))
    return np.argsort(np.argsort(columns[name])) / len(columns[name]) - 0.5, frozenset([name])


_MAKERS = {
    BLANK: _blank, DATES: _dates, LEVEL: _level, ONE_PER_CENT: _one_per_cent, THREE: _three, CYCLE: _cycle,
    SLANTED: _slanted, TREND: _trend,
}  # fmt: skip
SHAPES = tuple(_MAKERS)
