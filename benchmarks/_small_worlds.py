"""Worlds of `small.py`: errors of a known size, and what is asked of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import expit

from _judge import Judge
from _layers import learned_in_turn, proof_of
from _shapes import SHAPES, make, null_table
from _shares import FOUND
from _validity_counts import Told
from _worlds import rare_regime
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.evidence.blocks import needed
from miscal.evidence.conditional import given_count, permutation_p_value, strata
from miscal.evidence.kernel_score import SmoothedResiduals, smoothed_residuals
from miscal.evidence.power import clusters, detectable_places, halves, planted
from miscal.evidence.settings import FIELD_WEIGHT, SIGNIFICANCE
from miscal.findings.conditions.condition import Condition, Frame
from miscal.findings.ledger.blocks import Table
from miscal.findings.ledger.groups import Groups, named_groups
from miscal.findings.ledger.scan import scan
from miscal.scoring.demo import path as demo_path

Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

# --- the tests behind the claim, where something of known size is hidden in a place ---------------------------------


def regime(n: int, d: int, share: float, shift: float, sign: int, rng: np.random.Generator) -> Drawn:
    """Draw inputs, confidences, outcomes and the true field of a place whose log-odds are shifted."""
    world = rare_regime(n, d, share=share, shift=sign * shift, random_state=rng)
    return world.X, world.confidence, world.correct.astype(float), world.delta


def moved(n: int, apart: float, shift: float, sign: int, rng: np.random.Generator) -> Drawn:
    """Draw sixteen columns in which a tenth of the rows lies a little apart in each, and is off."""
    there, log_odds = rng.random(n) < 0.1, 0.5 + rng.standard_normal(n)
    X = rng.standard_normal((n, 16)) + apart * there[:, None]
    f, rate = expit(log_odds), expit(log_odds + sign * shift * there)
    return X, f, (rng.random(n) < rate).astype(float), rate - f


def mixed(n: int, shift: float, sign: int, rng: np.random.Generator) -> Drawn:
    """Draw seven columns, two of them categories, and three effects."""
    kind, form, numbers = rng.integers(0, 6, n), rng.integers(0, 3, n), rng.normal(size=(n, 5))
    log_odds = 0.5 + rng.standard_normal(n)
    effects = (kind == 0) * 1.0 - (numbers[:, 0] > 1.3) + ((form == 1) & (numbers[:, 1] > 0.5))
    f, rate = expit(log_odds), expit(log_odds + sign * shift * effects)
    X = np.column_stack([np.eye(6)[kind], np.eye(3)[form], numbers])
    return X, f, (rng.random(n) < rate).astype(float), rate - f


HIDING = {
    "16, 10 %, 1": partial(regime, 1_000, 16, 0.1, 1.0),
    "16, 20 %, 1": partial(regime, 1_000, 16, 0.2, 1.0),
    "16, 20 %, 0.5": partial(regime, 1_000, 16, 0.2, 0.5),
    "384, 10 %, 1": partial(regime, 1_000, 384, 0.1, 1.0),
    "7 mixed, three effects": partial(mixed, 1_000, 1.0),
    "3,000 rows: 384, 2 %, 2": partial(regime, 3_000, 384, 0.02, 2.0),
    "3,000 rows: 384, 5 %, 1": partial(regime, 3_000, 384, 0.05, 1.0),
    "3,000 rows: 384, 20 %, 0.5": partial(regime, 3_000, 384, 0.2, 0.5),
    "nothing": partial(regime, 1_000, 16, 0.1, 0.0),
    "16 moved by 0.9, 10 %, 1": partial(moved, 1_000, 0.9, 1.0),
}
"""Columns, share of the rows and shift in log-odds, up in odd draws and down in even ones."""
SEEN_IN = {"16, 10 %, 1": 0.85, "16, 20 %, 0.5": 0.4, "384, 10 %, 1": 0.85, "3,000 rows: 384, 2 %, 2": 0.8,
           "3,000 rows: 384, 5 %, 1": 0.8, "3,000 rows: 384, 20 %, 0.5": 0.8}  # fmt: skip
"""Share of the draws in which it is to be claimed, at least."""


def sharpness(world: str, _: int, draw: int) -> Told:
    """Ask an oracle that knows the region, the test of the true field, that of the learned one, the score, and both."""
    rng = np.random.default_rng((draw, list(HIDING).index(world), 128))
    X, f, y, truth = HIDING[world](1 if draw % 2 else -1, rng)
    rows = Triples.of(X, confidence=f, correct=y)
    expected, stratum = expected_outcome(rows, draw), strata(rows.confidence)
    score = smoothed_residuals(rows.X, LabelledRows(rows.correct, f, expected), draw).p_value
    e, region = given_count(rows.correct, expected, stratum), np.sign(truth)
    fold, raw, gated = learned_in_turn(rows, draw)
    claim = proof_of(rows, fold, raw, expected, score, draw)
    p_values = {
        "oracle": permutation_p_value(e, region, stratum, rng=np.random.default_rng(draw)),
        "true field": proof_of(rows, fold, truth, expected, None, draw).p_field,
        "gated": proof_of(rows, fold, gated, expected, None, draw).p_field,
        "field": claim.p_field, "score": score, "claim": claim.p_value,
    }  # fmt: skip
    told = Told(misses={f"{name}{FOUND}": p < SIGNIFICANCE for name, p in p_values.items() if p is not None})
    told.misses |= {f"limit > 0{FOUND}": claim.hidden.low > 0}
    told.misses["limit above the truth"] = claim.hidden.low > float(np.abs(truth[fold > 0]).mean()) + 1e-9
    if world == "nothing":
        told.misses["claim where nothing is"] = claim.p_value < SIGNIFICANCE
    return told


# --- the size that a verdict says it would find ---------------------------------------------------------------------

LEVEL, POWER = needed(1 - FIELD_WEIGHT, SIGNIFICANCE), 0.8
PLACES, STEPS = {"halves": halves, "cluster": clusters}, 6
"""Places that nobody knows; steps of the search for the size before rates are cut at 0 and 1."""


def noise(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs without structure."""
    return rng.normal(size=(1_000, d)), rng.uniform(0.1, 0.9, 1_000)


def demo(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A thousand rows of the packaged data."""
    rows = read_triples(demo_path(), features="x_*", text="text")
    some = rng.choice(len(rows), 1_000, replace=False)
    return rows.X[some].astype(float), rows.confidence[some]


INPUTS = {
    "16 columns": partial(noise, 16),
    "384 columns": partial(noise, 384),
    "16, a place apart": lambda rng: regime(1_000, 16, 0.1, 0.0, 1, rng)[:2],
    "7 mixed": lambda rng: mixed(1_000, 0.0, 1, rng)[:2],
    "real inputs": demo,
}
STATED = tuple(f"{world}, {place}" for world in INPUTS for place in PLACES)


def stated(named: str, _n: int, draw: int) -> Told:
    """Ask what would be found in a world, plant that in a new place of its kind, and see whether it is claimed."""
    world, _, place = named.rpartition(", ")
    rng = np.random.default_rng((draw, list(INPUTS).index(world), 133))
    X, f = INPUTS[world](rng)
    smoothed, _ = smoothed_of(X, f, (rng.random(len(f)) < f).astype(float), draw)
    said = next(one for one in detectable_places(smoothed, LEVEL, random_state=draw) if one.place == place)
    if said.size is None:
        return Told()
    rate = f + off_by(said.size, place, smoothed, f, rng)
    y = (rng.random(len(f)) < rate).astype(float)
    smoothed, expected = smoothed_of(X, f, y, draw)
    rows = Triples.of(X, confidence=f, correct=y)
    fold, raw, _ = learned_in_turn(rows, draw)
    proof = proof_of(rows, fold, raw, expected, smoothed.p_value, draw)
    found = {"score": smoothed.p_value < LEVEL, "field": (proof.p_field or 1.0) < SIGNIFICANCE,
             "claim": proof.p_value < SIGNIFICANCE}  # fmt: skip
    size = said.average if place == "halves" else said.size
    return Told(misses={f"{name}{FOUND}": seen for name, seen in found.items()}, means={"stated": size or 0.0})


def smoothed_of(X: np.ndarray, f: np.ndarray, y: np.ndarray, seed: int) -> tuple[SmoothedResiduals, np.ndarray]:
    """What a run tests by the kernel score, and E[y | f] as a run learns it."""
    rows = Triples.of(X, confidence=f, correct=y)
    expected = expected_outcome(rows, seed)
    smoothed = smoothed_residuals(rows.X, LabelledRows(rows.correct, f, expected), seed)
    assert smoothed is not None
    return smoothed, expected


def off_by(size: float, place: str, smoothed: SmoothedResiduals, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An error of this size on average in a new place, where the true rate is the confidence; no rate leaves [0, 1]."""
    signs = PLACES[place](smoothed, rng)[:1]
    known, nominal = replace(smoothed, expected=f[smoothed.row]), size
    for _ in range(STEPS):
        off = planted(known, signs, nominal)
        nominal = min(1.0, nominal * size / float(np.abs(off[signs != 0]).mean()))
    inside = np.zeros(len(f))
    inside[smoothed.row] = off[0]
    return inside


# --- one planted group of each shape, and none ----------------------------------------------------------------------

LEAST_Z = 5.0
NULLS = {"nothing, one of 4,000 levels": (3_000, 0), "nothing, 200 columns": (1_000, 188)}
"""Rows, and columns beyond the twelve."""
SHAPED = (*(f"{shape}, strength {strength:g}" for strength in (1.0, 0.6) for shape in SHAPES), *NULLS)


def findings_of(groups: Groups, f: np.ndarray, y: np.ndarray, seed: int) -> list[Condition]:
    """Conditions that the scan of the ledger chooses, of rows that all are evaluated."""
    expected = expected_outcome(Triples(np.arange(len(y), dtype=np.float32)[:, None], f, y), seed)
    found = scan(Table(LabelledRows(y, f, expected), groups), seed=seed)
    return [groups.conditions[one.group] for one in found.chosen]


def shapes(world: str, _n: int, draw: int) -> Told:
    """Whether the list says what a planted group is, and what else it says; whether it says anything where none is."""
    if world in NULLS:
        groups, f = null_table(*NULLS[world], draw // 20)
        y = (np.random.default_rng((draw // 20, draw % 20, 183)).random(len(f)) < f).astype(float)
        return Told(misses={"any finding": bool(findings_of(groups, f, y, draw % 20))})
    shape, _, strength = world.partition(", strength ")
    planted = make(shape, float(strength), draw)
    z = abs(float(Judge(planted.correct, planted.confidence, draw).z(planted.group)))
    found = findings_of(named_groups(planted.columns), planted.confidence, planted.correct, draw)
    frame = Frame(len(planted.correct), planted.columns)
    rows = [condition.rows(frame) for condition in found]
    exact = any(planted.told(one, inside) for one, inside in zip(found, rows, strict=True))
    own = sum(planted.is_of(condition, inside) for condition, inside in zip(found, rows, strict=True))
    told = Told(misses={f"exact{FOUND}": exact}, means={"z": z, "others": len(found) - own, "again": max(0, own - 1)})
    if z >= LEAST_Z:
        told.misses[f"exact, z of 5{FOUND}"] = exact
    return told
