"""Which band of good calibration does a run choose, and what would other rules call well calibrated?

    python benchmarks/default_band.py --data DIR [--rows 4000] [--csv benchmarks/notes]

The real sets of risks, as they are and thinned: a share of the rows with the event is left out, and the odds of the
risks are lowered alike, so that the model is as far off as before but the event is rarer. A field is learned from each,
and its rows are cut by

- `fixed`: 5 points, the paper's number, whatever the rate;
- `rule`: 5 points, or half of the mean predicted risk or of what it leaves to 1, where that is less (the default);
- `quarter`: the same with a quarter;
- `row by row`: half of the row's own predicted risk, or of what it leaves to 1, and no more than 5 points.

For each: the share of rows that it calls well calibrated, and the events observed in the others for each expected,
where the field says that they are fewer, and where it says that they are more. Outcomes have no part in any rule.

Target: no rule but the fixed one calls more than 95 % of the rows of a set well calibrated whose hidden miscalibration
is claimed.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit, logit

from _script import limit_threads, options, results, show, target
from miscal.data.readers import read_triples
from miscal.discovery.discover import discover
from miscal.estimators.estimate import regimes_of
from miscal.findings import EPSILON, default_epsilon

FIELDS = ("set", "rate", "rows", "seed")
FILES = {
    "flights": ("flights_dev.parquet", "predicted_delay_risk", "delayed", ("time_hour", "tailnum", "flight")),
    "census": ("census_dev_2015.parquet", "predicted_probability", "employed", ()),
}
"""File, risk, event, and columns of so many values that few rows cannot tell them apart."""
RATES = (1.0, 0.02, 0.005)
"""Event rates that the sets are thinned to; 1 leaves them as they are."""
RULES = ("fixed", "rule", "quarter", "row by row")
MOST_GOOD = 0.95


def one_set(name: str, rate: float, rows: int, seed: int, *, folder: Path) -> dict:
    """Learn a field from a set, and cut its rows by every rule."""
    limit_threads()
    start = time.perf_counter()
    file, risk, event, left = FILES[name]
    table = thinned(pl.read_parquet(folder / file), risk, event, rate, rows, seed).drop(
        "id", "year", *left, strict=False
    )
    found = discover(read_triples(table, probability=risk, event=event), seed=seed)
    delta, f, y = (found.table[part].to_numpy() for part in ("delta", "confidence", "correct"))
    cuts = {}
    for rule in RULES:
        band = band_of(rule, f)
        # a band of its own for each row is cut as one is that is the same for all
        regime = regimes_of(delta / band / 2, 0.5)
        cuts[rule] = {
            "band": float(np.mean(band)), "good": float(np.mean(regime == "good")),
            **{side: _ratio(y, f, regime == side) for side in ("over", "under")},
        }  # fmt: skip
    return {
        "set": name, "rate": rate, "rows": rows, "seed": seed, "risk": float(f.mean()), "happened": float(y.mean()),
        "chosen": found.summary.settings["epsilon"], "claimed": found.summary.certificate.claims_hidden, "cuts": cuts,
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def thinned(table: pl.DataFrame, risk: str, event: str, rate: float, rows: int, seed: int) -> pl.DataFrame:
    """Draw rows of which the event happens in no more than a share, and lower the odds of the risks alike."""
    rng = np.random.default_rng(seed)
    y = table[event].cast(pl.Float64).to_numpy()
    kept = min(1.0, rate / (1 - rate) * (1 - y.mean()) / y.mean()) if rate < 1 else 1.0
    inside = np.flatnonzero((y == 0) | (rng.random(len(y)) < kept))
    some = table[np.sort(rng.permutation(inside)[:rows])]
    odds = logit(some[risk].to_numpy().clip(1e-9, 1 - 1e-9)) + np.log(kept)
    return some.with_columns(pl.Series(risk, expit(odds)))


def band_of(rule: str, f: np.ndarray) -> np.ndarray:
    """Return the half-width of the band of each row."""
    if rule == "fixed":
        return np.full(len(f), EPSILON)
    if rule == "rule":
        return np.full(len(f), default_epsilon("event", float(f.mean())))
    if rule == "quarter":
        return np.full(len(f), min(EPSILON, 0.25 * min(f.mean(), 1 - f.mean())))
    return np.minimum(EPSILON, 0.5 * np.minimum(f, 1 - f))


def _ratio(y: np.ndarray, f: np.ndarray, inside: np.ndarray) -> float | None:
    return float(y[inside].mean() / f[inside].mean()) if inside.any() else None


def main() -> None:
    """Measure, show, and compare with the target."""
    parser = options(__doc__, "default_band", data="folder of real sets", rows=4_000, seeds=[0], rates=list(RATES))
    args = parser.parse_args()
    if args.data is None:
        parser.error("name the folder of the sets: --data DIR")
    keys = [(name, rate, args.rows, seed) for name in FILES for rate in args.rates for seed in args.seeds]
    store = results(args, FIELDS, keys, partial(one_set, folder=args.data))
    found = [store.records[key] for key in keys if key in store.records]
    show_bands(args, found)
    passed_over = [
        f"{one['set']} at {100 * one['happened']:.2g} % by {rule}" for one in found for rule in RULES[1:]
        if one["claimed"] and one["cuts"][rule]["good"] > MOST_GOOD
    ]  # fmt: skip
    what = ", ".join(passed_over) or "none"
    sys.exit(not target(f"nearly all rows well calibrated though something is claimed: {what}", not passed_over))


def show_bands(args: argparse.Namespace, records: list[dict]) -> None:
    """Show the band that was chosen, and what each rule calls well calibrated."""
    rows = [
        [one["set"], f"{100 * one['risk']:.2g}", f"{100 * one['happened']:.2g}", "yes" if one["claimed"] else "no",
         f"{100 * one['chosen']:.2g}", *(_cell(one["cuts"][rule]) for rule in RULES)]
        for one in records
    ]  # fmt: skip
    head = [
        "set", "mean risk, %", "event rate, %", "hidden claimed", "band chosen, points",
        *(f"{rule}: good, % (over, under)" for rule in RULES),
    ]  # fmt: skip
    show(args, "default_band", "rows called well calibrated, and observed over expected in the others", head, rows)


def _cell(one: dict) -> str:
    sides = ", ".join("none" if one[side] is None else f"{one[side]:.2f}" for side in ("over", "under"))
    return f"{100 * one['good']:.0f} ({sides})"


if __name__ == "__main__":
    main()
