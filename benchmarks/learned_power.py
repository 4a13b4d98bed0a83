"""Are errors of the size that a run says it would find, in a place that nobody knows, claimed as often as it says?

    python benchmarks/learned_power.py --draws 40 --fits 8 [--worlds "16 columns"] [--print]

Worlds of 1,000 rows in which nothing is hidden: 16 or 384 columns of noise, 16 columns with a place that lies apart,
seven mixed columns, and the packaged real data (inputs and confidences; outcomes are drawn). Of each draw the sizes are
asked that the verdict states: halves of the inputs that are off in opposite directions, and one cluster of them. Then
an error of this size is planted in a new place of this kind, outcomes are drawn anew, and E[y | f] and the field are
learned from them as in a run. A draw whose rows allow no such size is left out. The fits are dear: they are made in the
first --fits draws.

    stated     the average hidden miscalibration (halves), or the size within the cluster
    score      share of the draws in which the kernel score has p < 0.0376, of which the power is stated: 0.80
    field      share in which the test of the learned field has p < 0.05
    claim      share in which p_value is below 0.05

Target: neither the share of the score nor that of the claim is anywhere below 0.80 beyond chance (binomial test at 1 %
over their number).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.stats import binomtest

from _layers import learned_in_turn, proof_of
from _script import limit_threads, mean, options, results, show, target
from miscal.data.readers import read_triples
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.evidence.blocks import needed
from miscal.evidence.kernel_score import SmoothedResiduals, smoothed_residuals
from miscal.evidence.power import clusters, detectable_places, halves, planted
from miscal.evidence.settings import EVIDENCE_DEFAULTS, SIGNIFICANCE
from miscal.scoring.demo import path as demo_path
from sharpness import mixed, regime

FIELDS = ("world", "place", "draw")
LEVEL, POWER, LEAST_P = needed(1 - EVIDENCE_DEFAULTS.field_weight, SIGNIFICANCE), 0.8, 0.01
LEVELS = {"score": LEVEL, "field": SIGNIFICANCE, "claim": SIGNIFICANCE}
PLACES = {"halves": halves, "cluster": clusters}
STEPS = 6
"""Of the search for the size before rates are cut at 0 and 1."""


def noise(d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Inputs without structure."""
    return rng.normal(size=(1_000, d)), rng.uniform(0.1, 0.9, 1_000)


def demo(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A thousand rows of the packaged data."""
    rows = read_triples(demo_path(), features="x_*", text="text")
    some = rng.choice(len(rows), 1_000, replace=False)
    return rows.X[some].astype(float), rows.confidence[some]


WORLDS = {
    "16 columns": partial(noise, 16),
    "384 columns": partial(noise, 384),
    "16, a place apart": lambda rng: regime(1_000, 16, 0.1, 0.0, 1, rng)[:2],
    "7 mixed": lambda rng: mixed(1_000, 0.0, 1, rng)[:2],
    "real inputs": demo,
}


def one_draw(fits: int, world: str, place: str, draw: int) -> dict:
    """Draw a world, ask what would be found in it, plant that, and see whether it is claimed."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, list(WORLDS).index(world), 133))
    X, f = WORLDS[world](rng)
    smoothed, _ = smoothed_of(X, f, (rng.random(len(f)) < f).astype(float), draw)
    stated = next(one for one in detectable_places(smoothed, LEVEL, random_state=draw) if one.place == place)
    found = dict(zip(FIELDS, (world, place, draw), strict=True))
    found["stated"] = stated.average if place == "halves" else stated.size
    if stated.size is not None:
        rate = f + off_by(stated.size, place, smoothed, f, rng)
        y = (rng.random(len(f)) < rate).astype(float)
        smoothed, expected = smoothed_of(X, f, y, draw)
        found["score"] = smoothed.p_value
        if draw < fits:
            rows = Triples.of(X, confidence=f, correct=y)
            fold, raw, _ = learned_in_turn(rows, draw)
            proof = proof_of(rows, fold, raw, expected, smoothed.p_value, draw)
            found |= {"field": proof.p_field, "claim": proof.p_value}
    return {**found, "seconds": time.perf_counter() - start}


def smoothed_of(X: np.ndarray, f: np.ndarray, y: np.ndarray, seed: int) -> tuple[SmoothedResiduals, np.ndarray]:
    """What a run tests by the kernel score, and E[y | f] as a run learns it."""
    rows = Triples.of(X, confidence=f, correct=y)
    expected = expected_outcome(rows, seed)
    smoothed = smoothed_residuals(rows.X, rows.correct, f, expected, random_state=seed)
    assert smoothed is not None
    return smoothed, expected


def off_by(size: float, place: str, smoothed: SmoothedResiduals, f: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An error of this size on average in a new place, where the true rate is the confidence; no rate leaves [0, 1]."""
    signs = PLACES[place](smoothed, EVIDENCE_DEFAULTS, rng)[:1]
    known, nominal = replace(smoothed, expected=f[smoothed.row]), size
    for _ in range(STEPS):
        off = planted(known, signs, nominal)
        nominal = min(1.0, nominal * size / float(np.abs(off[signs != 0]).mean()))
    inside = np.zeros(len(f))
    inside[smoothed.row] = off[0]
    return inside


def main() -> None:
    """Draw, show, and compare with the target."""
    args: argparse.Namespace = options(__doc__, "learned_power", worlds=list(WORLDS), draws=40, fits=8).parse_args()
    cells = [(world, place) for world in args.worlds for place in PLACES]
    keys = [(*cell, draw) for draw in range(args.draws) for cell in cells]
    store = results(args, FIELDS, keys, partial(one_draw, args.fits))
    rows, missed = [], []
    for cell in cells:
        draws = store.of([key for key in keys if key[:2] == cell])
        asked = [one for one in draws if "score" in one]
        shown = []
        for name, level in LEVELS.items():
            seen = [one[name] < level for one in asked if name in one]
            shown.append(f"{np.mean(seen):.2f} of {len(seen)}" if seen else "")
            chance = binomtest(sum(seen), len(seen), POWER, alternative="less").pvalue if seen else 1.0
            if name != "field" and chance < LEAST_P / (2 * len(cells)):
                missed.append(f"{name} of {', '.join(cell)}: {shown[-1]}")
        if draws:
            rows.append([*cell, len(draws), len(asked), f"{mean(asked, 'stated'):.3f}", *shown])
    head = ["inputs", "place", "draws", "with a size", "stated", *LEVELS]
    show(args, "learned_power", "share of draws in which an error of the stated size is seen", head, rows)
    sys.exit(not target(f"seen less often than stated, beyond chance: {'; '.join(missed) or 'nowhere'}", not missed))


if __name__ == "__main__":
    main()
