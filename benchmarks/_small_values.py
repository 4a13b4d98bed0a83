"""Worlds of `small.py` in which one group of a table is wrong: does the ledger name what a plain scan would see?

Tables of six columns of categories and four of numbers (`_planted.py`); the log-odds of a group are shifted up in even
draws and down in odd ones.

    value   one value, of 8 to 12 % of the rows
    half    the upper half of a number
    pair    two values together, of 5 to 7 % of the rows
    tenth   an interval of a number that holds a tenth of the rows, placed at random
    none    nothing: how often anything is named

For every 10 draws of outcomes there is a new table. `plain` is what a careful user would do by hand: every value of at
least 20 rows and the upper half of every number, by the sum of its residuals y - E[y | f] over its standard deviation,
at 5 % over their number (Bonferroni). It has no pairs and no intervals: of these it says how often they would be beyond
the same cut if somebody had named them. The ledger names a group if one of its findings has a Jaccard index of 0.8 with
it and the right sign (of a half 0.3, or of the other half and the other sign: a trend or an interval tells it, too).
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit, ndtri

from _planted import TABLE, make
from _shares import FOUND
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find

KINDS = ("value", "half", "pair", "tenth", "none")
LEAST_ROWS, LEVEL, SHIFT = 20, 0.05, 1.1
ALIKE, HALF = 0.8, 0.3
SIZES = {"value": (0.08, 0.12), "pair": (0.05, 0.07)}


def values_of(columns: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Rows of each value of the columns of categories that has rows enough."""
    found = [values == v for values in columns.values() if values.dtype == object for v in sorted(set(values))]
    return [one for one in found if LEAST_ROWS <= one.sum() <= len(one) - LEAST_ROWS]


def halves_of(columns: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Rows of the upper half of each number."""
    return [values > np.median(values) for values in columns.values() if values.dtype != object]


def planted_group(kind: str, columns: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Rows of a group of a kind."""
    values, numbers = values_of(columns), [one for one in columns.values() if one.dtype != object]
    if kind == "half":
        return halves_of(columns)[rng.integers(len(numbers))]
    if kind == "tenth":
        order = np.argsort(np.argsort(numbers[rng.integers(len(numbers))], kind="stable"))
        low = rng.uniform(0, 0.9) * len(order)
        return (order >= low) & (order < low + 0.1 * len(order))
    many = [a & b for i, a in enumerate(values) for b in values[:i]] if kind == "pair" else values
    low, high = SIZES[kind]
    able = [one for one in many if low <= one.mean() <= high]
    return able[rng.integers(len(able))]


def values(kind: str, rows: int, table: int, draws: int) -> dict:
    """Plant a group in a table and draw its outcomes several times; how often each way sees it."""
    rng = np.random.default_rng((table, 87, rows, KINDS.index(kind)))
    drawn = make(TABLE, 0.0, table, rows)
    columns, f = drawn.columns, drawn.rows.confidence
    group = planted_group(kind, columns, rng) if kind != "none" else np.zeros(rows, bool)
    groups, singles = named_groups(columns), [*values_of(columns), *halves_of(columns)]
    cut, seen, named, anything = -ndtri(LEVEL / len(singles) / 2), 0, 0, 0
    for draw in range(draws):
        rng = np.random.default_rng((table, draw, 88, rows, KINDS.index(kind)))
        sign = 1 if draw % 2 == 0 else -1
        y = (rng.random(rows) < expit(logit(f) + sign * SHIFT * group)).astype(float)
        expected = expected_outcome(Triples(np.arange(rows, dtype=np.float32)[:, None], f, y), draw)
        z = [plain_score(one, y, expected) for one in (group, *singles)]
        seen += (abs(z[0]) if kind != "none" else max(map(abs, z[1:]))) >= cut
        ledger = find(LabelledRows(y, f, expected, hidden=np.zeros(rows), row=np.arange(rows)), groups, seed=draw)
        found = zip(ledger.findings, ledger.members, strict=True)
        named += any(tells(inside, one.sign, group, sign, kind) for one, inside in found)
        anything += len(ledger.findings) > 0
    if kind == "none":
        return {"any finding where nothing is": (draws, anything)}
    return {f"ledger{FOUND}": (draws, named), f"plain scan{FOUND}": (draws, int(seen))}


def tells(inside: np.ndarray, said: str, group: np.ndarray, sign: int, kind: str) -> bool:
    """Whether a finding tells of a planted group; of a half, the other half in the other direction does, too."""
    right, wrong = ("under", "over") if sign > 0 else ("over", "under")
    if kind == "half":
        return any(said == way and jaccard(inside, half) >= HALF for way, half in ((right, group), (wrong, ~group)))
    return said == right and jaccard(inside, group) >= ALIKE


def plain_score(group: np.ndarray, y: np.ndarray, expected: np.ndarray) -> float:
    """Sum of the residuals of a group over its standard deviation."""
    variance = float(np.sum((expected * (1 - expected))[group]))
    return float((y - expected)[group].sum() / np.sqrt(variance)) if variance > 0 else 0.0


def jaccard(one: np.ndarray, two: np.ndarray) -> float:
    """Shared rows over all rows of both."""
    return float((one & two).sum() / max(1, (one | two).sum()))
