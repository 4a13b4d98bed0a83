"""Intervals of findings, rates and corrected means, for `nothing.py`: how often the truth lies outside.

A table has a half (two values), a region (five), a kind (twenty), a load and two more numbers, none of which has to do
with the confidence. The log-odds of the outcome are those of the confidence, stretched and moved as a diagram shows,
and a shift of a known law that columns tell, so that the rate of every row and E[y | f] are known:

    halves       one of two halves off by 0.7 upwards, the other downwards; `mixed`: 0.5, and log-odds 0.6 logit f - 0.2
    small group  1.2 down in one kind of twenty; `pair`: in one half of one region
    trend        from -0.8 to 0.8 along the load
    rare         halves, where 5 % of the outcomes are 1
    units        halves; 20 rows to a unit, which has one half, region and load, and whose outcomes correlate by 0.1
    weights      halves; weights of a log-normal law, three times as large in one region

Numbers of findings, and of three values chosen beforehand, are held against the rows of the draw; rates of these
values, and the mean of what is corrected, with the width of the interval of the rate, against the world.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import polars as pl
from scipy.special import expit

from _shares import UNTOLD, Question
from _validity_counts import Told, outside
from miscal import discover, scan
from miscal.calibration.labelled_rows import LabelledRows, take_rows
from miscal.calibration.survey_design import average
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.conditions.column_kinds import Value
from miscal.findings.conditions.condition import Condition, Frame
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find

Columns = dict[str, np.ndarray]
UNIT_ROWS, SHARED, POPULATION = 20, 0.1, 200_000
FIXED = tuple(Value(column, value, "text") for column, value in (("half", "0"), ("region", "0"), ("kind", "0")))
ASKED = {"units": {"group": "unit"}, "weights": {"group": "none", "weight": "weight"}}


@dataclass(frozen=True)
class World:
    """A shift and its law, whatever the confidence: values and shares; `odds`: mean and spread, slope and move."""

    shift: Callable[[Columns], np.ndarray]
    law: Sequence[tuple[float, float]]
    odds: tuple[float, ...] = (0.3, 1.2, 1.0, 0.0)


def halves(size: float, *odds: float) -> World:
    """One half off upwards, the other downwards."""
    law = ((size, 0.5), (-size, 0.5))
    return World(lambda columns: size * np.where(columns["half"] == "0", 1, -1), law, odds or World.odds)


WORLDS = {
    "halves": halves(0.7),
    "small group": World(lambda columns: -1.2 * (columns["kind"] == "0"), ((-1.2, 0.05), (0.0, 0.95))),
    "trend": World(lambda columns: 1.6 * columns["load"] - 0.8, [(0.008 * k - 0.796, 0.005) for k in range(200)]),
    "pair": World(
        lambda columns: -1.2 * ((columns["half"] == "0") & (columns["region"] == "0")), ((-1.2, 0.1), (0.0, 0.9))
    ),
    "mixed": halves(0.5, 0.3, 1.2, 0.6, -0.2),
    "rare": halves(0.7, -3.3, 0.8, 1.0, 0.0),
    "units": halves(0.7),
    "weights": halves(0.7),
}


@dataclass(frozen=True, eq=False)
class Rows:
    """A draw: what is known of each row, and its truth: its rate, and what of it is hidden."""

    columns: Columns
    confidence: np.ndarray
    correct: np.ndarray
    rate: np.ndarray
    hidden: np.ndarray
    group: np.ndarray | None
    weight: np.ndarray | None

    def mean(self, values: np.ndarray, condition: Condition) -> float:
        """Mean over the rows of a group."""
        inside = condition.rows(Frame(len(values), self.columns))
        return average(values[inside], take_rows(self.weight, inside))

    def frame(self) -> pl.DataFrame:
        """Return the table as a user has it."""
        known = {**self.columns, "unit": self.group, "weight": self.weight, "f": self.confidence, "y": self.correct}
        return pl.DataFrame({name: values.tolist() for name, values in known.items() if values is not None})


def drawn(name: str, n: int, seed: int) -> Rows:
    """Rows of a world."""
    rng, world = np.random.default_rng((seed, n, list(WORLDS).index(name), 641)), WORLDS[name]
    unit = np.arange(n) // (UNIT_ROWS if name == "units" else 1)
    many = int(unit.max()) + 1
    columns = {column: rng.integers(0, k, size).astype(str).astype(object)[at]
               for column, k, size, at in (("half", 2, many, unit), ("region", 5, many, unit),
                                           ("kind", 20, n, np.arange(n)))}  # fmt: skip
    columns |= {"load": rng.random(many)[unit], "age": rng.integers(18, 91, n) * 1.0, "pay": rng.lognormal(3, 0.5, n)}
    mean, spread, slope, moved = world.odds
    odds = mean + spread * (rng.normal(size=many)[unit] + rng.normal(size=n)) / np.sqrt(2)
    told, own = slope * odds + moved, rng.random(n)
    if name == "units":
        own = np.where(rng.random(n) < np.sqrt(SHARED), rng.random(many)[unit], own)
    rate = expit(told + world.shift(columns))
    visible = np.sum([share * expit(told + shift) for shift, share in world.law], axis=0)
    weight = rng.lognormal(0.0, 0.5, n) * np.where(columns["region"] == "0", 3, 1) if name == "weights" else None
    group = unit if name == "units" else None
    return Rows(columns, expit(odds), (own < rate).astype(float), rate, rate - visible, group, weight)


@lru_cache(maxsize=8)
def rates(name: str) -> dict[Condition | None, float]:
    """Rates of a world, from so many rows that they are its own: of the values chosen beforehand, and of all rows."""
    rows = drawn(name, POPULATION, 0)
    return {None: average(rows.rate, rows.weight)} | {one: rows.mean(rows.rate, one) for one in FIXED}


def by_ledger(rows: Rows, name: str, seed: int, told: Told) -> Sequence:
    """The findings that the ledger names; of values fixed beforehand, what their table says is told."""
    f, y, known = rows.confidence, rows.correct, {"group": rows.group, "weight": rows.weight}
    expected = expected_outcome(Triples(np.arange(len(y), dtype=np.float32)[:, None], f, y, **known), seed)
    labelled = LabelledRows.of(y, f, expected, row=np.arange(len(y)), **known)
    ledger = find(labelled, named_groups(rows.columns), seed=seed)
    for one in (one for one in ledger.values if one.condition in FIXED):
        ends = [one.confidence + end for end in one.residual.interval or ()]
        count(told, "rate of a value", ends, rows.mean(rows.rate, one.condition))
        count(told, "rate of a value, of the world", ends, rates(name)[one.condition])
        count(told, "hidden part of a value", one.hidden.interval, rows.mean(rows.hidden, one.condition))
    return ledger.findings


def by_run(rows: Rows, name: str, seed: int, told: Told) -> Sequence:
    """Findings of a whole run; the mean of what it corrects is told."""
    asked = {"group": "none", "probability": "f", "event": "y", "quick": True, "progress": False} | ASKED.get(name, {})
    run = discover(rows.frame(), seed=seed, n_jobs=1, **asked)
    accuracy, mean = run.summary.global_.accuracy, average(run.content.table["corrected"].to_numpy(), rows.weight)
    moved = [mean + end - accuracy.value for end in accuracy.interval or ()]
    told.interval("corrected mean, of the world", moved, rates(name)[None])
    told.interval("corrected mean and the rate seen", accuracy.interval, mean)
    return run.summary.findings


def by_scan(rows: Rows, name: str, _seed: int, _told: Told) -> Sequence:
    """Findings of a scan."""
    asked = {"group": "none", "probability": "f", "event": "y"} | ASKED.get(name, {})
    return scan(rows.frame().lazy(), **asked).summary.findings


WAYS = {"ledger": by_ledger, "run": by_run, "scan": by_scan}


def covered(way: str, name: str, n: int, draw: int) -> Told:
    """Hold what is said of a draw against its truth."""
    rows, told = drawn(name, n, draw + 1), Told()
    findings = WAYS[way](rows, name, draw, told)
    for one in findings:
        count(told, "hidden", one.hidden.interval, rows.mean(rows.hidden, one.condition))
        count(told, f"rate of a finding{UNTOLD}", one.happened.interval, rows.mean(rows.rate, one.condition))
    if findings:
        told.misses["hidden, all of a list"] = told.counts["hidden"][1] > 0
    return told


def count(told: Told, name: str, ends: Sequence[float], truth: float) -> None:
    """Count an interval, and whether it misses the truth."""
    made, wrong = told.counts.get(name, (0, 0))
    told.counts[name] = made + 1, wrong + outside(ends, truth)


QUESTIONS = {
    f"coverage, {way}": Question(partial(covered, way), tuple(WORLDS), (3_000,), 250, together=10) for way in WAYS
}
