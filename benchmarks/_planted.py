"""Tables and texts in which a model is wrong about three groups, beyond what its confidence can show.

The confidence is a logistic score with noise that depends on the columns; outcomes follow it but for a shift of the
log-odds in each planted group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
from scipy.special import expit

from _ledger import Meaning
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples

TABLE, HOLES, TEXT = "table", "table with missing values and dates", "texts"
ROWS = {TABLE: 10_000, HOLES: 10_000, TEXT: 5_000}
SHIFTS = (-1.2, 1.0, 0.8)
CUT = 0.05
"""Share of the rows by which an end of an interval may be off."""

_SHARES = (
    (0.5, 0.3, 0.2),
    (0.4, 0.3, 0.2, 0.1),
    (0.3, 0.25, 0.2, 0.15, 0.1),
    (0.25, 0.2, 0.2, 0.15, 0.1, 0.05, 0.05),
    (0.3, 0.3, 0.2, 0.1, 0.05, 0.05),
    (0.05,) * 20,
)
_NAMES = ("region", "channel", "product", "device", "plan", "branch")
_NUMBERS = ("income", "tenure", "balance", "age")
_SIZES = (0.15, 0.12, 0.1, 0.1, 0.08, 0.08, 0.06, 0.06, 0.05, 0.05, 0.05, 0.04, 0.03, 0.03)
_MISSING = 0.05


@dataclass(frozen=True, eq=False)
class Planted:
    """Rows with three planted groups.

    Attributes
    ----------
    rows : Triples
    columns : dict of str to array of shape (n,)
        What a table's method may name; terms in texts for TEXT.
    groups : list of Meaning
        The planted ones; a topic has no columns, because none names it.
    """

    rows: Triples
    columns: dict[str, np.ndarray]
    groups: list[Meaning]

    def exact(self, found: Meaning, planted: Meaning) -> bool:
        """Whether a description is the planted one: its columns and values, ends within 5 % of the rows."""
        if not planted.columns or found.columns != planted.columns:
            return False
        if (found.rows == planted.rows).all():
            return True
        [name, *more] = planted.columns
        values = self.columns[name]
        if more or values.dtype.kind not in "fM" or not found.rows.any():
            return False
        rank = _ranks(values)
        ends = [(np.nanmin(rank[one.rows]), np.nanmax(rank[one.rows])) for one in (found, planted)]
        return bool(np.abs(np.subtract(*ends)).max() <= CUT)  # NaN, where rows are missing, is no match


def make(kind: str, strength: float, draw: int, rows: int | None = None) -> Planted:
    """Draw rows, and outcomes with the shifts times `strength`."""
    rng = np.random.default_rng((draw, 81, list(ROWS).index(kind)))
    n = rows or ROWS[kind]
    return _texts(n, strength, rng) if kind == TEXT else _table(n, strength, rng, draw, holes=kind == HOLES)


def _table(n: int, strength: float, rng: np.random.Generator, draw: int, *, holes: bool) -> Planted:
    codes = [rng.choice(len(p), n, p=p) for p in _SHARES]
    named = zip(_NAMES, codes, strict=True)
    columns = {name: np.array([f"{name[0]}{c}" for c in code], object) for name, code in named} | {
        "income": rng.lognormal(3.4, 0.5, n), "tenure": rng.exponential(4.0, n), "balance": rng.normal(0.0, 2.0, n),
        "age": rng.integers(18, 91, n).astype(float),
    }  # fmt: skip
    effects = [rng.normal(0.0, 0.4, len(p))[code] for p, code in zip(_SHARES, codes, strict=True)]
    effects += [rng.normal(0.0, 0.4) * _ranks(columns[name]) for name in _NUMBERS]
    if holes:
        days = np.sort(rng.integers(0, 1_000, n))[rng.permutation(n)]
        columns["opened"] = np.datetime64("2021-01-01", "s") + days.astype("timedelta64[D]")
        for name in ("product", "tenure", "balance"):
            gone = rng.random(n) < _MISSING
            columns[name] = np.where(gone, np.nan if columns[name].dtype.kind == "f" else None, columns[name])
    groups = _groups(columns, rng, draw, holes)
    return _assembled(columns, groups, 0.7 + np.sum(effects, 0), strength, rng)


def _groups(columns: dict[str, np.ndarray], rng: np.random.Generator, draw: int, holes: bool) -> list[Meaning]:
    """Two values together (6 % of the rows), one value or what is missing (5 %), an interval (10 %)."""
    cells = [(name, v) for name in _NAMES for v in sorted({v for v in columns[name] if v is not None})]
    share = {cell: float(np.mean(columns[cell[0]] == cell[1])) for cell in cells}
    pairs = [(a, b) for a in cells for b in cells if a[0] < b[0] and 0.05 <= share[a] * share[b] <= 0.07]
    (one, this), (two, that) = pairs[rng.integers(len(pairs))]
    both = Meaning(frozenset([one, two]), (columns[one] == this) & (columns[two] == that))
    values = [c for c in cells if 0.04 <= share[c] <= 0.06 and c[0] not in both.columns]
    name, value = values[rng.integers(len(values))]
    single = Meaning(frozenset([name]), columns[name] == value)
    number = str(rng.choice(_NUMBERS))
    if holes and draw % 2:
        # what is missing is a group of its own; intervals are of dates
        single = Meaning(frozenset(["tenure"]), np.isnan(columns["tenure"]))
        number = "opened"
    rank, low = _ranks(columns[number]), rng.uniform(0.0, 0.9)
    return [both, single, Meaning(frozenset([number]), (rank >= low) & (rank < low + 0.1))]


def _ranks(values: np.ndarray) -> np.ndarray:
    """Share of the known values that are lower, in [0, 1); equal values share it; NaN where missing."""
    values = values.astype("datetime64[s]").astype(float) if values.dtype.kind == "M" else values
    known = ~np.isnan(values)
    rank = np.full(len(values), np.nan)
    rank[known] = np.searchsorted(np.sort(values[known]), values[known]) / known.sum()
    return rank


def _assembled(
    columns: dict[str, np.ndarray], groups: list[Meaning], score: np.ndarray, strength: float, rng: np.random.Generator
) -> Planted:
    f, y = _outcomes(score, groups, strength, rng)
    frame = pl.DataFrame({"confidence": f, "correct": y} | {name: _series(v) for name, v in columns.items()})
    features = [name for name in _NUMBERS if not np.isnan(columns[name]).any()]
    metadata = [name for name in columns if name not in features]
    return Planted(read_triples(frame, features=features, names_only=metadata), columns, groups)


def _series(values: np.ndarray) -> Any:
    if values.dtype.kind == "M":
        return pl.Series([date(1970, 1, 1) + timedelta(seconds=int(s)) for s in values.astype(np.int64)])
    return pl.Series(values.tolist(), strict=False) if values.dtype.kind == "O" else pl.Series(values, nan_to_null=True)


def _outcomes(
    score: np.ndarray, groups: Sequence[Meaning], strength: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    logit = score + rng.normal(0.0, 0.7, len(score))
    shift = strength * np.sum([a * one.rows for a, one in zip(SHIFTS, groups, strict=True)], 0)
    return expit(logit), (rng.random(len(logit)) < expit(logit + shift)).astype(float)


def _texts(n: int, strength: float, rng: np.random.Generator) -> Planted:
    """Texts of fourteen topics of 3 to 15 % of the rows; two in five words are the topic's own."""
    words = _vocabulary(2_000 + 40 * len(_SIZES), rng)
    common, own = words[:2_000], words[2_000:].reshape(len(_SIZES), 40)
    topic = rng.choice(len(_SIZES), n, p=_SIZES)
    common_p, own_p = (1 / np.arange(8, size + 8) for size in (2_000, 40))
    texts = []
    for one in topic:
        length, theirs = rng.integers(15, 35), own[one if rng.random() > 0.03 else rng.integers(len(_SIZES))]
        kept = rng.random(length) < 0.4
        plain = rng.choice(common, length, p=common_p / common_p.sum())
        texts.append(" ".join(np.where(kept, rng.choice(theirs, length, p=own_p / own_p.sum()), plain)))
    chosen = rng.permutation([rng.choice(part) for part in ((0, 1, 2, 3), (4, 5, 6, 7), (8, 9, 10, 11))])
    groups = [Meaning(frozenset(), topic == one) for one in chosen]
    score = 0.7 + rng.normal(0.0, 0.6, len(_SIZES))[topic]
    f, y = _outcomes(score, groups, strength, rng)
    rows = read_triples({"confidence": f, "correct": y, "text": texts}, text="text", embed_model="tfidf")
    return Planted(rows, {}, groups)


def _vocabulary(size: int, rng: np.random.Generator) -> np.ndarray:
    """Words of two to four syllables, all different."""
    starts, vowels, ends = [*"bcdfghlmnprstv", "st", "tr", "pl", "gr"], [*"aeiou", "ai", "ea"], [*"nrslt"]
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = [str(rng.choice(starts)) + str(rng.choice(vowels)) for _ in range(rng.integers(2, 5))]
        words["".join(syllables) + str(rng.choice(ends))] = None
    return np.array(list(words))
