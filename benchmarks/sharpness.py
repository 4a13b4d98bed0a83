"""How often are the tests behind the claim of hidden miscalibration right, where something of known size is hidden?

    python benchmarks/sharpness.py --draws 200 [--jobs 2] [--worlds "16, 10 %, 1"] [--fits 50] [--print]

The worlds have 1,000 or 3,000 rows that are calibrated but for a place of 16 or 384 columns with 10 % (20 %, ...) of
the rows (_worlds.rare_regime), whose log-odds are shifted up in odd draws and down in even ones; or
seven columns with three effects of one in log-odds (a value of a category, an end of a number, and both of two others).
"nothing" is the first world without its shift.

Layers, not whole runs: E[y | f], the fits on earlier folds alone, and the tests. A test counts where its p-value is
below 0.05. Asked are

    oracle       shuffling the true region within strata of the confidence, over all rows
    true field   the test of the field, in blocks as in a run, with the true field in place of the learned one
    gated        the test of the learned field where the estimator claims structure, 1 elsewhere: what miscal did before
    field        the test of the field as it was learned, p_field
    score        the kernel score, p_structure
    claim        both together, p_value
    limit        the lower limit of the size is above 0

The fits are dear: they are made in the first --fits draws of a world, and the columns that need them are of these.

The first --again draws of each world are also judged with four other seeds, which deal other folds and shuffles. A
second table has the median distance between the p-values of two seeds, over draws and pairs of seeds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
from scipy.special import expit

from _layers import learned_in_turn, proof_of
from _script import limit_threads, mean, options, results, show, target
from _worlds import rare_regime
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.evidence.conditional import given_count, permutation_p_value, strata
from miscal.evidence.kernel_score import smoothed_residuals
from miscal.evidence.settings import SIGNIFICANCE

FIELDS = ("world", "draw", "seed")
SEEDS = 5
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def regime(n: int, d: int, share: float, shift: float, sign: int, rng: np.random.Generator) -> Drawn:
    """Draw inputs, confidences, outcomes and the true field of a place whose log-odds are shifted."""
    world = rare_regime(n, d, share=share, shift=sign * shift, random_state=rng)
    return world.X, world.confidence, world.correct.astype(float), world.delta


def mixed(n: int, shift: float, sign: int, rng: np.random.Generator) -> Drawn:
    """Draw seven columns, two of them categories, and three effects."""
    kind, form, numbers = rng.integers(0, 6, n), rng.integers(0, 3, n), rng.normal(size=(n, 5))
    log_odds = 0.5 + rng.standard_normal(n)
    effects = (kind == 0) * 1.0 - (numbers[:, 0] > 1.3) + ((form == 1) & (numbers[:, 1] > 0.5))
    f, rate = expit(log_odds), expit(log_odds + sign * shift * effects)
    X = np.column_stack([np.eye(6)[kind], np.eye(3)[form], numbers])
    return X, f, (rng.random(n) < rate).astype(float), rate - f


WORLDS = {
    "16, 10 %, 1": partial(regime, 1_000, 16, 0.1, 1.0),
    "16, 20 %, 1": partial(regime, 1_000, 16, 0.2, 1.0),
    "16, 20 %, 0.5": partial(regime, 1_000, 16, 0.2, 0.5),
    "384, 10 %, 1": partial(regime, 1_000, 384, 0.1, 1.0),
    "7 mixed, three effects": partial(mixed, 1_000, 1.0),
    "3,000 rows: 384, 2 %, 2": partial(regime, 3_000, 384, 0.02, 2.0),
    "3,000 rows: 384, 5 %, 1": partial(regime, 3_000, 384, 0.05, 1.0),
    "3,000 rows: 384, 20 %, 0.5": partial(regime, 3_000, 384, 0.2, 0.5),
    "nothing": partial(regime, 1_000, 16, 0.1, 0.0),
}
TARGETS = {"16, 10 %, 1": 0.85, "16, 20 %, 0.5": 0.4, "384, 10 %, 1": 0.85, "3,000 rows: 384, 2 %, 2": 0.8,
           "3,000 rows: 384, 5 %, 1": 0.8, "3,000 rows: 384, 20 %, 0.5": 0.8}  # fmt: skip


def one_draw(fits: int, world: str, draw: int, seed: int) -> dict:
    """Draw a world, and ask the tests, with one of several seeds."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, list(WORLDS).index(world), 128))
    X, f, y, truth = WORLDS[world](1 if draw % 2 else -1, rng)
    rows = Triples.of(X, confidence=f, correct=y)
    state = draw + 10_000 * seed
    expected = expected_outcome(rows, state)
    score = smoothed_residuals(rows.X, rows.correct, f, expected, random_state=state).p_value
    found = dict(zip(FIELDS, (world, draw, seed), strict=True))
    found |= {"score": score, "oracle": _oracle(rows, expected, truth, state)}
    if draw < fits:
        found |= _fitted(rows, expected, truth, score, state)
    return {**found, "seconds": time.perf_counter() - start}


def _oracle(rows: Triples, expected: np.ndarray, truth: np.ndarray, seed: int) -> float:
    stratum = strata(rows.confidence)
    e, region = given_count(rows.correct, expected, stratum), np.sign(truth)
    return permutation_p_value(e, region, stratum, rng=np.random.default_rng(seed))


def _fitted(rows: Triples, expected: np.ndarray, truth: np.ndarray, score: float | None, seed: int) -> dict:
    """P-values of fields, learned by auto from earlier folds as in a run, and of the claim."""
    fold, raw, gated = learned_in_turn(rows, seed)
    claim = proof_of(rows, fold, raw, expected, score, seed)
    tested = fold > 0
    return {"field": claim.p_field, "claim": claim.p_value, "limit": 0.0 if claim.hidden.low > 0 else 1.0,
            "low": claim.hidden.low, "size": float(np.abs(truth[tested]).mean()),
            "gated": proof_of(rows, fold, gated, expected, None, seed).p_field,
            "true field": proof_of(rows, fold, truth, expected, None, seed).p_field}  # fmt: skip


COLUMNS = ("oracle", "true field", "gated", "field", "score", "claim", "limit")


def share(draws: Sequence[dict], column: str) -> float:
    """Share of the draws with a p-value below 5 %, of those that have one."""
    return mean([{"seen": one[column] < SIGNIFICANCE} for one in draws if one.get(column) is not None], "seen")


def show_seeds(args: argparse.Namespace, records: Sequence[dict]) -> None:
    """Show how far apart the p-values of two seeds are."""
    rows = []
    for world in args.worlds:
        draws = [[one for one in records if (one["world"], one["draw"]) == (world, k)] for k in range(args.again)]
        apart = {
            name: [
                abs(a[name] - b[name]) for draw in draws for a, b in combinations(draw, 2) if name in a and name in b
            ]
            for name in ("field", "score", "claim")
        }
        if any(apart.values()):
            told = [f"{np.median(values):.3f}" if values else "" for values in apart.values()]
            rows.append([world, len(draws), *told])
    head = ["columns, share, shift", "draws", "field", "score", "claim"]
    show(args, "sharpness-seeds", "median distance between the p-values of two seeds", head, rows)


def main() -> None:
    """Draw, show, and compare with the targets."""
    parser = options(__doc__, "sharpness", worlds=list(WORLDS), draws=200, fits=50, again=0)
    args: argparse.Namespace = parser.parse_args()
    keys = [(world, draw, 0) for draw in range(args.draws) for world in args.worlds]
    more = [(world, draw, seed) for draw in range(args.again) for seed in range(1, SEEDS) for world in args.worlds]
    store = results(args, FIELDS, [*keys, *more], partial(one_draw, args.fits))
    rows, missed = [], []
    for world in args.worlds:
        draws = store.of([key for key in keys if key[0] == world])
        fitted = [one for one in draws if "claim" in one]
        if draws:
            over = sum(one["low"] > one["size"] + 1e-9 for one in fitted)
            seen = [f"{share(draws, column):.2f}" for column in COLUMNS]
            rows.append([world, len(draws), len(fitted), *seen, over])
        if world in TARGETS and not share(fitted, "claim") >= TARGETS[world]:
            missed.append(f"{world}: {share(fitted, 'claim'):.2f} of {TARGETS[world]:g}")
    head = ["columns, share, shift", "draws", "with fits", *COLUMNS, "limit above the truth"]
    show(args, "sharpness", "share of draws with a p-value below 5 %, and with a limit above 0", head, rows)
    if args.again:
        show_seeds(args, store.of([*keys, *more]))
    sys.exit(not target(f"claims below their targets: {'; '.join(missed) or 'none'}", not missed))


if __name__ == "__main__":
    main()
