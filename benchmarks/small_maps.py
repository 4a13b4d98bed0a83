"""Which global map to take with few rows: the log loss of each rule's choice on rows that it has not seen.

    python benchmarks/small_maps.py --data DIR --draws 60 [--jobs 2]

No inputs are needed, but confidences and outcomes alone. Of each set so many rows are drawn, the maps are cross-fitted
on them in five folds as in a fit, a rule chooses, and its choice, fitted to all of these rows, is judged on the other
rows of the set. Outcomes are the real ones, or drawn from the confidences ("calibrated"), where nothing can be gained.

The rules for a temperature in place of the confidence as it is: a gain of 0, 0.5, 1, 1.5 or 2 paired standard errors.
Likelihood ratios and a slope that a prior draws to 1 ("shrunken") were compared once. Isotonic regression is chosen
beside it as in miscal. "now" is what miscal does, and "many" its rule of many rows at every size: two standard errors
for every map.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy.special import expit

from _data import read_set, set_names
from _script import limit_threads, options, results, show, target
from miscal.calibration.calibrators import CALIBRATORS
from miscal.calibration.global_map import GLOBAL_MAPS, crossfit_global_map, paired_gain, proof_of, simplest
from miscal.calibration.metrics import log_losses

FIELDS = ("set", "outcomes", "rows")
OUTCOMES = ("real", "calibrated")
STANDARD_ERRORS = (0.0, 0.5, 1.0, 1.5, 2.0)
MANY, NOW = "many", "now"
RULES = (MANY, NOW, *(f"{k:g} s.e." for k in STANDARD_ERRORS))
LEAST_REST = 0.3
"""Share of a set that must be left to judge on."""
LEAST_ROWS, SAME_FROM = 100, 1_000
"""Rows from which the log loss may not be worse than that of raw confidences, and from which nothing may change."""
MOST_LOST = 0.0015
"""Log loss that counts as no loss: where nothing can be gained, any choice by the data loses some."""
UNIT = 1e-4


def choices(y: np.ndarray, f: np.ndarray) -> dict[str, str]:
    """Name of the map that each rule takes, of maps cross-fitted as a fit does."""
    found = crossfit_global_map(y, f, np.arange(len(y)) % 5)
    losses = {name: log_losses(y, expit(odds)) for name, odds in found.log_odds.items()}
    proof = proof_of(len(y))
    needed = {MANY: {}, NOW: proof} | {f"{k:g} s.e.": proof | {"temperature": k} for k in STANDARD_ERRORS}
    return {rule: simplest(losses, standard_errors=one, log_odds=found.log_odds) for rule, one in needed.items()}


def one_cell(folder: Path | None, draws: int, name: str, outcomes: str, rows: int) -> dict:
    """Mean gain over the raw confidences of every rule's choice, and how often miscal leaves them as they are."""
    limit_threads()
    start, data = time.perf_counter(), read_set(folder, name)
    gains: dict[str, list[float]] = {rule: [] for rule in RULES}
    kept = 0
    for draw in range(draws):
        rng = np.random.default_rng((draw, rows, OUTCOMES.index(outcomes)))
        f, rate = data.confidence, data.correct if outcomes == "real" else data.confidence
        y = (rng.random(len(f)) < rate).astype(float)
        known = np.zeros(len(f), bool)
        known[rng.choice(len(f), rows, replace=False)] = True
        chosen = choices(y[known], f[known])
        after = _losses_after(y[known], f[known], f[~known], rate[~known])
        for rule in RULES:
            gains[rule].append(after["identity"] - after[chosen[rule]])
        kept += chosen[NOW] == "identity"
    return {
        "set": name, "outcomes": outcomes, "rows": rows, "seconds": time.perf_counter() - start, "kept": kept / draws,
        "gain": {rule: float(np.mean(values)) for rule, values in gains.items()},
        "error": paired_gain(np.array(gains[NOW]), np.zeros(draws))[1],
    }  # fmt: skip


def _losses_after(y: np.ndarray, f: np.ndarray, at: np.ndarray, rate: np.ndarray) -> dict[str, float]:
    """Mean log loss of rows at confidences `at`, right at `rate`, under every map fitted to y and f."""
    corrected = {name: CALIBRATORS[name]().learn(y, f).apply(at) for name in GLOBAL_MAPS}
    right, wrong = np.ones_like(at), np.zeros_like(at)
    return {
        name: float(np.mean(rate * log_losses(right, p) + (1 - rate) * log_losses(wrong, p)))
        for name, p in corrected.items()
    }


def mean_gain(cells: list[dict], rule: str, over: str | None = None) -> float:
    """Mean over sets of what a rule's choice gains over the raw confidences, or over another rule's choice."""
    return float(np.mean([one["gain"][rule] - (one["gain"][over] if over else 0.0) for one in cells]))


def rules_row(kind: str, n: int, cells: list[dict]) -> list:
    """Row of the table of rules."""
    over = [f"{mean_gain(cells, rule, MANY) / UNIT:+.1f}" for rule in RULES[1:]]
    kept = float(np.mean([one["kept"] for one in cells]))
    return [kind, n, len(cells), f"{kept:.2f}", f"{mean_gain(cells, MANY) / UNIT:.1f}", *over]


def worst_row(kind: str, n: int, cells: list[dict]) -> list:
    """Row of the table of the worst sets."""
    least = min(cells, key=lambda one: one["gain"][NOW])
    before = min(one["gain"][MANY] for one in cells)
    return [kind, n, least["set"], *(f"{x / UNIT:.1f}" for x in (least["gain"][NOW], least["error"], before))]


def missed_targets(kind: str, n: int, cells: list[dict]) -> list[str]:
    """Never worse than the rule of many rows on real sets, the same from 1,000 rows, never clearly worse than raw."""
    gain, missed = mean_gain(cells, NOW, MANY), []
    if gain < 0 and (kind == "real" or n >= SAME_FROM):
        missed.append(f"{n} {kind} rows: worse than the rule of many rows")
    if n >= SAME_FROM and gain != 0:
        missed.append(f"{n} {kind} rows: not the rule of many rows")
    if n >= LEAST_ROWS and mean_gain(cells, NOW) < -MOST_LOST:
        missed.append(f"{n} {kind} rows: worse than raw on average")
    # three standard errors of the draws: some two hundred sets and sizes are looked at
    lost = [one["set"] for one in cells if n >= LEAST_ROWS and one["gain"][NOW] < -MOST_LOST - 3 * one["error"]]
    return missed + [f"{n} {kind} rows of {name}: worse than raw" for name in lost]


def main() -> None:
    """Subsample, choose, judge, and compare with the targets."""
    parser = options(__doc__, "small_maps", data="folder of real sets; default: the demo data", draws=60,
                     rows=[50, 100, 200, 300, 500, 1_000, 2_000])  # fmt: skip
    args: argparse.Namespace = parser.parse_args()
    names = set_names(args.data)
    most = {name: (1 - LEAST_REST) * len(read_set(args.data, name).correct) for name in names}
    keys = [(name, kind, n) for name in names for kind in OUTCOMES for n in args.rows if n <= most[name]]
    store = results(args, FIELDS, keys, partial(one_cell, args.data, args.draws))
    groups = {
        (kind, n): store.of([key for key in keys if key[1:] == (kind, n)]) for kind in OUTCOMES for n in args.rows
    }
    groups = {key: cells for key, cells in groups.items() if cells}
    head = ["outcomes", "rows", "sets", "left as it is", "many, over raw", *RULES[1:]]
    title = "log loss saved, in 1e-4: the rule of many rows over raw, and each rule over that one"
    show(args, "small_maps", title, head, [rules_row(*key, cells) for key, cells in groups.items()])
    head = ["outcomes", "rows", "worst set", "now, over raw", "its error", "many, on its worst set"]
    title = "log loss saved on the worst set, in 1e-4"
    show(args, "small_maps-worst", title, head, [worst_row(*key, cells) for key, cells in groups.items()])
    missed = [line for key, cells in groups.items() for line in missed_targets(*key, cells)]
    sys.exit(not target(f"cells that miss a target: {'; '.join(missed) or 'none'}", not missed))


if __name__ == "__main__":
    main()
