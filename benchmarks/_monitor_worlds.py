"""Made-up rows whose correction is known to be right, and monitors of them: see `monitor.py`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import expit

from miscal.base.vocabulary import vocabulary
from miscal.data.triples import Triples
from miscal.evidence.betting import Restarts, clipped_logit
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings import cut
from miscal.runs.monitor.basis import reference_of
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.lines import FEATURE, FINDING, GAIN, LEVEL, REGIME, SLOPE, Along, Line
from miscal.runs.monitor.new_rows import NewLabelled
from miscal.runs.monitor.plan import ORDINARY, MonitorPlan, measured
from miscal.runs.monitor.questions import hidden_tolerance, questions_of, shares_of

RUN_ROWS, TENTH, HIDDEN_SIZE = 7_500, 1.2816, 0.6
NOT_OF_THE_RUN = ("tolerated", "map-off", "field-false")
"""Worlds whose rows differ from those of the run."""


def inputs_of(rng: np.random.Generator, n: int, world: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs, confidences and units of n rows."""
    shared = world in ("grouped", "not-named")
    X = rng.normal(size=(n // 5, 3)).repeat(5, 0) if shared else rng.normal(size=(n, 64 if world == "wide" else 3))
    values = np.array([0.5, 0.6, 0.75, 0.9, 0.99])
    f = rng.choice(values, n) if world == "five" else rng.uniform(0.2, 0.95, n)
    return X, f, np.arange(n) // 5 if world == "grouped" else np.arange(n)


def outcomes(rng: np.random.Generator, rate: np.ndarray, world: str) -> np.ndarray:
    """Outcomes; in groups, a row follows its group with a chance of sqrt(0.3), so that two rows correlate by 0.3."""
    n = len(rate)
    u = rng.random(n)
    if world in ("grouped", "not-named"):
        u = np.where(rng.random(n) < np.sqrt(0.3), rng.random(n // 5).repeat(5), u)
    return (u < rate).astype(float)


def rows_of(
    rng: np.random.Generator, n: int, world: str, *, all_by: float = 0.0, tenth_by: float = 0.0, move: float = 0.0
) -> tuple[NewLabelled, dict[str, np.ndarray]]:
    """New rows of a world, and the rows of each group."""
    X, f, unit = inputs_of(rng, n, world)
    X[:, 2] += move
    slope = {"steep": 4.0, "field-false": 1.5}.get(world, 1.0)
    visible = expit(slope * clipped_logit(f))
    field = HIDDEN_SIZE * np.sign(X[:, 0])
    corrected = expit(clipped_logit(visible) + field)
    inside = X[:, 1] > TENTH
    score = clipped_logit(corrected) + all_by + tenth_by * inside + (0.05 if world == "tolerated" else 0.0)
    if world == "map-off":
        score = 1.5 * score
    if world == "field-false":
        score = 3 * clipped_logit(f)
    y = outcomes(rng, expit(score), world)
    regime = cut(np.clip(corrected - f, -1, 1))
    group = unit.astype(str).astype(object) if world == "grouped" else None
    rows = NewLabelled(X.astype(np.float32), y, f, corrected, visible, regime, np.ones(n, bool), unit, group, {}, None)
    return rows, {"regime:over": regime == "over", "regime:under": regime == "under", "finding:0": inside}


def hand_lines(world: str, draw: int, shares: dict[str, float]) -> tuple[Line, ...]:
    """The lines of a run of 7,500 rows of a world, with what it measured."""
    rng = np.random.default_rng((draw, len(world), 3))
    known, members = rows_of(rng, RUN_ROWS, "calm" if world in NOT_OF_THE_RUN else world)
    z = np.column_stack([known.X, np.zeros(len(known))])
    lines = []
    names = [GAIN, LEVEL, SLOPE, *(f"{FEATURE}:{k}" for k in range(3)), *members]
    for key in names:
        kind, _, name = key.partition(":")
        about = (0.0, 1.0)
        if kind == SLOPE:
            along = clipped_logit(known.corrected)
            about = (float(along.mean()), float(along.std()))
        one = Line(key, kind, key, shares[kind], 0.0, 0.0, ORDINARY, Restarts.begin(Line.bets(kind)),
                   place=int(name) if kind in (FEATURE, FINDING) else None, about=about,
                   sign=name if kind == REGIME else None)  # fmt: skip
        before, error = measured(Along.of(one, known, z, members.get(key)))
        exact = world == "exact" and kind != GAIN
        lines.append(replace(one, **({"ordinary": 0.0} if exact else {"before": before, "error": error})))
    return tuple(lines)


def hand_shares() -> dict[str, float]:
    """Shares of the error of those lines."""
    kinds = (GAIN, LEVEL, SLOPE, FINDING, "inputs", "unsupported")
    return shares_of({**dict.fromkeys(kinds, 1), FEATURE: 3, REGIME: 2}, 0)


def begin(world: str, draw: int) -> Watch:
    """A monitor before its first look, with every question."""
    rng = np.random.default_rng((7, len(world)))
    X, f, unit = inputs_of(rng, RUN_ROWS, world)
    known = Triples.of(X, confidence=f, correct=np.zeros(len(f)), group=unit if world == "grouped" else None)
    given, shares = 0.0 if world == "exact" else None, hand_shares()
    plan = MonitorPlan(questions_of(given, 0.01, shares, vocabulary("answer")), hand_lines(world, draw, shares))
    return Watch.begin(SIGNIFICANCE, hidden_tolerance(given), plan, reference_of(known, None, X, f, 0))
