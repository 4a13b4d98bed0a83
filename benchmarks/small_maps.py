"""Which global map to take: the log loss of each rule's choice on other rows, and whether its mean is the rate.

    python benchmarks/small_maps.py --data DIR --draws 60 [--jobs 2]

No inputs are needed, but confidences and outcomes alone. Of each set so many rows are drawn, the maps are cross-fitted
on them in five folds as in a fit, a rule chooses, and its choice, fitted to all of these rows, is judged on the other
rows of the set. Outcomes are the real ones, or drawn from the confidences ("calibrated"), where nothing can be gained.

"now" is what miscal does; the others are its rule with another proof of a shift and of Platt's map, in standard errors,
and "temperature" is a temperature in their place, at two standard errors.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import expit

from _data import read_set, set_names
from _script import limit_threads, options, results, show, target
from miscal.calibration.calibrators import CALIBRATORS, logit
from miscal.calibration.global_map import GLOBAL_MAPS, crossfit_global_map, paired_gain, proof_of, simplest
from miscal.calibration.metrics.scores import log_losses

FIELDS = ("set", "outcomes", "rows")
OUTCOMES = ("real", "calibrated")
NOW, TEMPERATURE = "now", "temperature"
PROOFS = (0.5, 0.75, 1.0, 2.0)
RULES = (NOW, *(f"{k:g} s.e." for k in PROOFS), TEMPERATURE)
LEAST_REST = 0.3
"""Share of a set that must be left to judge on."""
LEAST_ROWS = 100
"""Rows from which the log loss may not be worse than that of raw confidences."""
MOST_LOST = 0.0015
"""Log loss that counts as no loss: where nothing can be gained, any choice by the data loses some."""
MEANS_HELD = 0.9
"""Share of means that hold the rate: less than 95 %, since the interval is of the rows learned from alone."""
UNIT = 1e-4


def chosen_by(rule: str, y: np.ndarray, f: np.ndarray) -> str:
    """Return the name of the map that a rule takes."""
    folds = np.arange(len(y)) % 5
    chosen, odds = crossfit_global_map(y, f, folds)
    proof = proof_of(len(y))
    if rule == NOW:
        return chosen.name
    if rule == TEMPERATURE:
        other = np.zeros(len(y))
        for k in range(5):
            inside = folds == k
            other[inside] = CALIBRATORS[rule]().learn(y[~inside], f[~inside]).apply(f[inside])
        odds = {"identity": odds["identity"], rule: logit(other), "isotonic": odds["isotonic"]}
    else:
        proof |= dict.fromkeys(("shift", "platt"), float(rule.split()[0]))
    return simplest({name: log_losses(y, expit(z)) for name, z in odds.items()}, None, proof, odds)


def one_cell(folder: Path | None, draws: int, name: str, outcomes: str, rows: int) -> dict:
    """Mean gain over the raw confidences of every rule's choice, and how often its mean holds the rate."""
    limit_threads()
    start, data = time.perf_counter(), read_set(folder, name)
    f, rate = data.confidence, data.correct if outcomes == "real" else data.confidence
    gains: dict[str, list[float]] = {rule: [] for rule in RULES}
    held: dict[str, list[bool]] = {rule: [] for rule in RULES}
    for draw in range(draws):
        rng = np.random.default_rng((draw, rows, OUTCOMES.index(outcomes)))
        y = (rng.random(len(f)) < rate).astype(float)
        known = np.zeros(len(f), bool)
        known[rng.choice(len(f), rows, replace=False)] = True
        at, right = f[~known], rate[~known]
        fitted = {map_: CALIBRATORS[map_]().learn(y[known], f[known]).apply(at) for map_ in (*GLOBAL_MAPS, TEMPERATURE)}
        loss = {
            map_: np.mean(right * -np.log(_clip(p)) - (1 - right) * np.log(_clip(1 - p))) for map_, p in fitted.items()
        }
        reach = 1.96 * np.sqrt(right.mean() * (1 - right.mean()) / rows)
        for rule in RULES:
            map_ = chosen_by(rule, y[known], f[known])
            gains[rule].append(loss["identity"] - loss[map_])
            held[rule].append(abs(fitted[map_].mean() - right.mean()) <= reach)
    return {
        "set": name, "outcomes": outcomes, "rows": rows, "seconds": time.perf_counter() - start,
        "gain": {rule: float(np.mean(values)) for rule, values in gains.items()},
        "held": {rule: float(np.mean(values)) for rule, values in held.items()},
        "error": paired_gain(np.array(gains[NOW]), np.zeros(draws))[1],
    }  # fmt: skip


def _clip(p: np.ndarray) -> np.ndarray:
    return np.clip(p, UNIT, 1 - UNIT)


def mean_of(cells: list[dict], number: str, rule: str) -> float:
    """Mean over sets."""
    return float(np.mean([one[number][rule] for one in cells]))


def missed_targets(kind: str, n: int, cells: list[dict]) -> list[str]:
    """Never worse than raw confidences, and the mean of what is corrected is the rate."""
    missed = []
    if n >= LEAST_ROWS and mean_of(cells, "gain", NOW) < -MOST_LOST:
        missed.append(f"{n} {kind} rows: worse than raw on average")
    if n >= LEAST_ROWS and mean_of(cells, "held", NOW) < MEANS_HELD:
        missed.append(f"{n} {kind} rows: the mean is off")
    # three standard errors of the draws: some two hundred sets and sizes are looked at
    lost = [one["set"] for one in cells if n >= LEAST_ROWS and one["gain"][NOW] < -MOST_LOST - 3 * one["error"]]
    return missed + [f"{n} {kind} rows of {name}: worse than raw" for name in lost]


def main() -> None:
    """Subsample, choose, judge, and compare with the targets."""
    parser = options(__doc__, "small_maps", data="folder of real sets; default: the demo data", draws=60,
                     rows=[100, 200, 300, 500, 1_000, 2_000])  # fmt: skip
    args = parser.parse_args()
    names = set_names(args.data)
    most = {name: (1 - LEAST_REST) * len(read_set(args.data, name).correct) for name in names}
    keys = [(name, kind, n) for name in names for kind in OUTCOMES for n in args.rows if n <= most[name]]
    store = results(args, FIELDS, keys, partial(one_cell, args.data, args.draws))
    groups = {
        (kind, n): cells
        for kind in OUTCOMES
        for n in args.rows
        if (cells := store.of([key for key in keys if key[1:] == (kind, n)]))
    }
    for name, number, title, written in (
        ("small_maps", "gain", "log loss saved over raw confidences, in 1e-4", lambda x: f"{x / UNIT:+.1f}"),
        ("small_maps-means", "held", "means that are the rate, within its interval", lambda x: f"{x:.3f}"),
    ):
        rows = [
            [*key, len(cells), *(written(mean_of(cells, number, rule)) for rule in RULES)]
            for key, cells in groups.items()
        ]
        show(args, name, title, ["outcomes", "rows", "sets", *RULES], rows)
    missed = [line for key, cells in groups.items() for line in missed_targets(*key, cells)]
    sys.exit(not target(f"cells that miss a target: {'; '.join(missed) or 'none'}", not missed))


if __name__ == "__main__":
    main()
