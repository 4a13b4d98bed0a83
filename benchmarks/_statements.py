"""Numbers that a run of one half of a table states, held against the other half, for `tables.py`.

A number is false where it and the mean of the other half differ by more than 1.96 times the root of both variances. The
error of what has an interval is the distance of its end on that side over 1.96: one that allows for the choice of a
group counts as wide as it is stated. Of what has none it is that of the other half, by the number of rows; of means of
corrected risks, which are learned from outcomes, that of the outcomes. Numbers are taken before they are rounded.
Groups need 20 rows, 10 units and five outcomes of either kind in the other half.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import miscal
from _ledger import found_in
from miscal.base.document import Measure
from miscal.calibration.metrics.scores import log_losses, mean_interval
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.conditions.condition import frame_of_rows

QUANTILE, LEAST_ROWS, LEAST_UNITS, LEAST_OUTCOMES = 1.96, 20, 10, 5
KNOWN = {"probability": "risk", "event": "event"}
LEARNED = ("group: corrected", "threshold: corrected promised")
Stated = tuple[str, Any, int, np.ndarray, np.ndarray]


def stated(run: miscal.Run, other: pl.DataFrame, unit: np.ndarray, seed: int) -> Iterator[Stated]:
    """Yield what a run says: its kind, the number, of how many rows, and what it is of in which rows of the others."""
    rows, summary = read_triples(other, seed=seed, group="none", **KNOWN), run.summary
    y, f, c = rows.correct, rows.confidence, run.correct(other, on_invalid="null")["corrected"].to_numpy()
    number = np.arange(len(y), dtype=np.float32)[:, None]
    hidden, left = (y - expected_outcome(Triples(number, p, y, group=unit), seed) for p in (f, c))
    for one in summary.findings:
        if meant := found_in(one, rows):
            yield "group: predicted", one.confidence, one.n, f, meant.rows
            yield "group: happened", one.happened, one.n, y, meant.rows
            yield "group: hidden", one.hidden, one.n, hidden, meant.rows
            yield "group: corrected", one.corrected, one.n, c, meant.rows
            yield "group: left by the correction", one.after, one.n, left, meant.rows
    frame = frame_of_rows(rows.metadata, rows.X, rows.encoder, text=rows.text)
    for one in run.content.values or ():
        if one.condition.lacks(frame) is None:
            inside = one.condition.rows(frame)
            yield "value: predicted", one.confidence, one.n, f, inside
            yield "value: less predicted", one.residual, one.n, y - f, inside
            yield "value: hidden", one.hidden, one.n, hidden, inside
            yield "value: left by the correction", one.after, one.n, left, inside
    every, n, whole = np.ones(len(y), bool), summary.n, summary.global_
    raw, corrected = log_losses(y, f), log_losses(y, c)
    yield "all rows: predicted", whole.confidence, n, f, every
    yield "all rows: happened", whole.accuracy, n, y, every
    yield "all rows: Brier score", whole.brier, n, (y - f) ** 2, every
    yield "all rows: log loss", whole.log_loss, n, raw, every
    yield "all rows: corrected log loss", summary.correction["miscal"].all.log_loss, n, corrected, every
    yield "all rows: saved log loss", summary.gains["raw"].log_loss, n, raw - corrected, every
    for one in summary.decisions:
        for when, p, side in (("", f, one.before), ("corrected ", c, one.after)):
            if side.n:
                yield f"threshold: {when}promised", side.promised, side.n, p, p >= one.threshold
                yield f"threshold: {when}observed", side.observed, side.n, y, p >= one.threshold


def false(said: Stated, y: np.ndarray, unit: np.ndarray) -> bool | None:
    """Whether the other half contradicts a number; None where it has too little to tell."""
    kind, number, n, seen, inside = said
    rows, outcomes, units = int(inside.sum()), int(y[inside].sum()), len(np.unique(unit[inside]))
    if rows < LEAST_ROWS or units < LEAST_UNITS or min(outcomes, rows - outcomes) < LEAST_OUTCOMES:
        return None
    value, ends = (number.value, number.interval) if isinstance(number, Measure) else (number, None)
    other = mean_interval(seen[inside], groups=unit[inside])
    if ends is not None:
        error = abs(ends[int(other.value > value)] - value) / QUANTILE
    else:
        learned = mean_interval(y[inside], groups=unit[inside]) if kind in LEARNED else other
        error = learned.standard_error * np.sqrt(rows / n)
    return bool(abs(other.value - value) > QUANTILE * max(np.hypot(error, other.standard_error), 1e-9))


def judged(run: miscal.Run, other: pl.DataFrame, unit: np.ndarray, seed: int, many: int) -> tuple[dict, list[bool]]:
    """Which statements are false, by kind; and which of `many` drawn at random, kind after kind."""
    y = other["event"].cast(pl.Float64).to_numpy()
    told: dict[str, list[bool]] = {}
    for one in stated(run, other, unit, seed):
        if (wrong := false(one, y, unit)) is not None:
            told.setdefault(one[0], []).append(wrong)
    rng = np.random.default_rng((seed, 642))
    mixed = [rng.permutation(told[kind]) for kind in rng.permutation(list(told)).tolist()]
    turns = [wrong[turn] for turn in range(max(map(len, mixed))) for wrong in mixed if turn < len(wrong)]
    return told, turns[:many]
