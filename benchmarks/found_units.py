"""Is nothing claimed of rows that hang together, although nobody says that they do?

    python benchmarks/found_units.py [--draws 40] [--jobs 2]

Tables whose probabilities are right for a new unit (a new customer, day, question), while the outcomes of the rows of a
unit share a normal number in log-odds: whatever is claimed is claimed falsely. Nothing is named. Worlds:

    independent           five numbers, every row by itself
    equal x 2, 5, 20      so many rows of equal inputs and of other probabilities (standard deviation 0.8)
    copies .0001 to .01   five rows of inputs that differ by so many standard deviations (0.8)
    days, days in turn    60 days of a date among the inputs (0.5); in turn: each day's number is 0.7 of the last one's
    prompts               five prompts of each question, whose embedding of 32 columns is the same (0.8)
    accounts              three of five numbers are those of one of 50 accounts (0.6); with and without its number
    crossed               a user of 100 and an item of 80, both (0.5): one of them is counted, no target

Asked are the claim of hidden miscalibration, its lower limit above 0, and any finding; in `units, by rows` the same
where each row is counted (--group none), which no run does by itself.

`spans`: a column of 913 dates, whose rows are by themselves or share a number of each day (0.6), and no span or one of
a tenth, a quarter or half of the days, in which risks are off by so much that a test which knows the span, counts days
and has the cut of one interval of the ledger has power .95. Asked is whether the ledger names dates.
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from functools import partial

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import norm

from _shares import FOUND, UNTOLD, Question, ask
from _validity_counts import Told
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.readers.read import read_triples
from miscal.discovery.discover import write_ledger
from miscal.discovery.estimating import expected_outcome, fit_rows, prepare
from miscal.discovery.summarise import claim_of
from miscal.discovery.units import with_units
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import with_features
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find

WORLDS = (
    "independent", "equal x 2", "equal x 5", "equal x 20", "copies .0001", "copies .001", "copies .01", "days",
    "days in turn", "prompts", "accounts", "accounts with number", "crossed",
)  # fmt: skip
SPANS = {f"{kind}, {share:.0%} of the dates off": (share, spread) for kind, spread in (("rows", 0.0), ("days", 0.6))
         for share in (0.0, 0.1, 0.25, 0.5)}  # fmt: skip
DAYS, CUT = 913, 3e-6
"""Days of 30 months; one-sided error of one of 800 intervals, which have a ninth of 5 % together."""
# of a normal number; enough that the mean over it is exact to four digits
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def shared_number(rng: np.random.Generator, unit: np.ndarray, spread: float) -> np.ndarray:
    """Normal number of each row's unit."""
    return spread * rng.normal(size=int(unit.max()) + 1)[unit]


def inputs_of(world: str, n: int, rng: np.random.Generator) -> tuple[dict, np.ndarray, float]:
    """Columns of a table, what the rows share in log-odds, and its standard deviation."""
    every, numbers = np.arange(n), {}
    kind, _, value = world.partition(" ")
    if kind in ("equal", "copies"):
        many = int(value.removeprefix("x ")) if kind == "equal" else 5
        unit = every // many
        X = rng.normal(size=(n // many + 1, 5))[unit] + (0 if kind == "equal" else float(value)) * rng.normal(
            size=(n, 5)
        )
        return {f"x{k}": X[:, k] for k in range(5)}, shared_number(rng, unit, 0.8), 0.8
    if kind == "days":
        unit = rng.integers(0, 60, n)
        number = rng.normal(size=60)
        if value:
            for k in range(1, 60):
                number[k] = 0.7 * number[k - 1] + np.sqrt(1 - 0.7**2) * number[k]
        numbers["day"] = [date(2024, 1, 1) + timedelta(int(one)) for one in unit]
        shared, spread = 0.5 * number[unit], 0.5
    elif kind == "accounts":
        unit = rng.integers(0, 50, n)
        numbers = {f"own{k}": rng.normal(size=50)[unit] for k in range(3)}
        numbers |= {"account": unit} if value else {}
        shared, spread = shared_number(rng, unit, 0.6), 0.6
    elif kind == "crossed":
        numbers = {"user": rng.integers(0, 100, n), "item": rng.integers(0, 80, n)}
        shared = sum(shared_number(rng, unit, 0.5) for unit in numbers.values())
        spread = 0.5 * np.sqrt(2)
    else:
        shared, spread = np.zeros(n), 0.0
    return numbers | {f"x{k}": rng.normal(size=n) for k in range(3)}, shared, spread


def units(group: str, world: str, rows: int, draw: int) -> Told:
    """Draw a table, count by what is found or by rows, and see what is claimed."""
    rng = np.random.default_rng((draw, rows, WORLDS.index(world), 302))
    embeddings = None
    if world == "prompts":
        unit = np.arange(rows) // 5
        embeddings = rng.normal(size=(rows // 5 + 1, 32))[unit]
        table, shared, spread = {}, shared_number(rng, unit, 0.8), 0.8
    else:
        table, shared, spread = inputs_of(world, rows, rng)
    given = logit(rng.uniform(0.15, 0.85, rows))
    # right for a new unit: the mean over what its rows share
    f = expit(given[:, None] + spread * _NODES) @ (_WEIGHTS / _WEIGHTS.sum())
    table |= {"confidence": f, "correct": (rng.random(rows) < expit(given + shared)).astype(int)}
    read = read_triples(pl.DataFrame(table), embeddings=embeddings, group=group, seed=draw)
    triples, *_ = prepare(read, "all", draw)
    found = fit_rows(triples, MiscalibrationField(random_state=draw, n_jobs=1))
    claim = claim_of(found, seed=draw)
    end = UNTOLD if group == "none" or world == "crossed" else ""
    return Told(misses={
        f"claim{end}": claim.p_value < SIGNIFICANCE, f"limit{end}": claim.lower_bound_hidden.interval[0] > 0,
        f"finding{end}": bool(write_ledger(found, own_split=False, seed=draw).findings),
    }, means={"units are counted": float(triples.group is not None)})  # fmt: skip


def spans(world: str, n: int, draw: int) -> Told:
    """Draw a table with a span of dates, or without one, and see what is named and what is counted."""
    share, spread = SPANS[world]
    rng = np.random.default_rng((draw, int(100 * share), int(10 * spread), 303))
    day, first = rng.integers(0, DAYS, n), int(rng.uniform(0, 1 - share) * DAYS)
    inside = (day >= first) & (day < first + share * DAYS)
    given = logit(rng.uniform(0.15, 0.85, n))
    of_days = expit(given[:, None] + spread * _NODES)
    f = of_days @ (_WEIGHTS / _WEIGHTS.sum())
    together = np.mean((of_days - f[:, None]) ** 2 @ (_WEIGHTS / _WEIGHTS.sum()))
    variance = 0.0
    for size in (np.bincount(day[part]) for part in (inside, ~inside) if inside.any()):
        variance += np.mean(f * (1 - f)) / size.sum() + together * (size @ size - size.sum()) / size.sum() ** 2
    off = (norm.isf(CUT) + norm.isf(0.05)) * variance**0.5 * rng.choice([-1, 1])
    rate = np.clip(expit(given + shared_number(rng, day, spread)) + off * inside, 0, 1)
    table = {
        "opened": np.datetime64("2021-01-01") + day,
        "confidence": f,
        "correct": (rng.random(n) < rate).astype(int),
    }
    table |= {"kind": rng.choice(list("abcdefgh"), n), "area": rng.choice(list("nesw"), n), "size": rng.normal(size=n)}
    triples = with_units(read_triples(pl.DataFrame(table), group="auto", seed=draw), draw)
    rows = LabelledRows.of(
        triples.correct, triples.confidence, expected_outcome(triples, draw), hidden=np.zeros(n), row=triples.row,
        group=triples.group, factor=triples.counted_by.factor,
    )  # fmt: skip
    groups = named_groups(with_features(triples.metadata, triples.X, triples.encoder))
    named = any("opened" in one.columns for one in find(rows, groups, seed=draw).findings)
    by = (triples.counted_by.column or "").rpartition(":")[2] or "row"
    counted = {f"counted by {one}": float(by == one) for one in ("row", "day", "week", "month")}
    return Told(misses={f"span{FOUND}" if share else "no span": named}, means={"points off": 100 * abs(off), **counted})


QUESTIONS = {
    "units": Question(partial(units, "auto"), WORLDS, (1_000,), 40),
    "units, by rows": Question(partial(units, "none"), WORLDS, (1_000,), 10),
    "spans": Question(spans, list(SPANS), (6_000,), 100, least={f"span{FOUND}": {"rows": 0.8, "days": 0.8}}),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "found_units", QUESTIONS))
