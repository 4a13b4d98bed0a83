"""What whole runs of `miscal discover` claim where nothing is hidden, every row evaluated.

    python benchmarks/whole_runs.py --draws 100 --jobs 2 [--n 300 1000] [--print]

A table of a category of eight values, one of three, two numbers with gaps and one without, all of them metadata; the
inputs are their one-hot and standardised columns. Outcomes follow the confidence alone:

    calibrated     y ~ Bernoulli(f), f uniform on [0.05, 0.95]
    visible        y ~ Bernoulli(f^2)
    not_monotone   y ~ Bernoulli(0.5 + 0.35 sin(9 f))
    saturated      f above 0.97 in 95 of 100 rows, y ~ Bernoulli(f)
    stated         f one of 0.1, 0.3, 0.5, 0.7, 0.9, y ~ Bernoulli(0.2 + 0.5 f)

Of each run are counted: any finding; a claim of hidden miscalibration; its p-value and that of the total (where
calibrated) below 0.05 and 0.01; a regime confirmed in its hidden part, and in its total where calibrated; an
alarm; a correction with a higher log loss than the confidences as given, beyond chance. Target: none in over 5 %
(p-values below 0.01: 1 %), beyond chance (binomial test at 1 %).
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.summary import Summary

FIELDS = ("world", "n", "draw")
LEVELS = {"p < 0.01": 0.01, "p total < 0.01": 0.01}
LEVEL, LEAST_P = 0.05, 0.01

WORLDS = {
    "calibrated": lambda f: f,
    "visible": lambda f: f**2,
    "not_monotone": lambda f: 0.5 + 0.35 * np.sin(9 * f),
    "saturated": lambda f: f,
    "stated": lambda f: 0.2 + 0.5 * f,
}


def drawn(world: str, n: int, rng: np.random.Generator) -> Triples:
    """Draw a table whose outcomes follow the confidence alone."""
    f = rng.uniform(0.05, 0.95, n)
    if world == "saturated":
        f = np.where(rng.random(n) < 0.95, rng.uniform(0.97, 0.9999, n), f)
    if world == "stated":
        f = rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n)
    kind, form = rng.integers(8, size=n), rng.choice(["short", "long", "other"], n)
    numbers = rng.normal(size=(n, 3))
    X = np.c_[np.eye(8)[kind], form[:, None] == np.array(["short", "long"]), numbers]
    gaps = np.where(rng.random((n, 2)) < 0.1, np.nan, numbers[:, :2])
    columns = {"kind": np.array([f"kind {k}" for k in kind]), "form": form, "age": gaps[:, 0], "size": gaps[:, 1],
               "year": numbers[:, 2].round(1)}  # fmt: skip
    y = rng.random(n) < WORLDS[world](f)
    return Triples.of(X, confidence=f, correct=y, metadata=columns)


def one_run(world: str, n: int, draw: int) -> dict:
    """Draw a table, run the whole of discover, and look at all that it claims."""
    limit_threads()
    rng = np.random.default_rng((draw, n, list(WORLDS).index(world), 71))
    rows, start = drawn(world, n, rng), time.perf_counter()
    summary = discover(rows, seed=draw, n_jobs=1, map_method="pca").summary
    seconds = time.perf_counter() - start
    false = claims(summary, calibrated=world in ("calibrated", "saturated"))
    return {"world": world, "n": n, "draw": draw, "seconds": seconds, **false}


def claims(summary: Summary, *, calibrated: bool) -> dict:
    """Return everything that is false in these worlds; None where it may be true."""
    proof, regimes = summary.certificate, (*summary.regimes, *summary.hidden_regimes)
    return {
        "finding": bool(summary.findings),
        "claim": proof.claims_hidden,
        "structure": summary.field.structure,
        "p < 0.05": proof.p_value < 0.05,
        "p < 0.01": proof.p_value < 0.01,
        "limit > 0": proof.lower_bound_hidden.interval[0] > 0,
        "p total < 0.05": proof.p_value_total < 0.05 if calibrated else None,
        "p total < 0.01": proof.p_value_total < 0.01 if calibrated else None,
        "regime hidden": any(one.confirmed.hidden for one in regimes),
        "regime total": any(one.confirmed.total for one in regimes) if calibrated else None,
        "gap": (summary.gap.p_value or 1.0) < 0.05 if calibrated else None,
        "alarm": bool(summary.alarms) if calibrated else None,
        "correction worse": _worse(summary),
    }


def _worse(summary: Summary) -> bool:
    """Whether the correction has a higher log loss than the confidences as given, beyond chance."""
    gain = summary.gains.get("raw")
    return gain is not None and gain.log_loss.interval is not None and gain.log_loss.interval[1] < 0


def shown(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each world and n; what is claimed too often."""
    names = [name for name in claims_of(records) if name != "structure"]
    rows, missed = [], []
    for world, n in sorted({(r["world"], r["n"]) for r in records}, key=lambda key: (key[1], key[0])):
        own = [r for r in records if (r["world"], r["n"]) == (world, n)]
        cells = []
        for name in names:
            known = [r[name] for r in own if r[name] is not None]
            cells.append(f"{100 * np.mean(known):.0f}" if known else "")
            level = LEVELS.get(name, LEVEL)
            if known and binomtest(sum(known), len(known), level, alternative="greater").pvalue < LEAST_P:
                missed.append(f"{name} in {world}, n = {n}")
        rows.append([world, n, len(own), *cells])
    title = "runs that claim what is not so, in per cent (every row is evaluated)"
    show(args, args.cache.stem, title, ["world", "n", "runs", *names], rows)
    return missed


def claims_of(records: list[dict]) -> list[str]:
    """Names of the claims, in order; what else is stored is no yes or no."""
    return [name for name in (records[0] if records else ()) if any(isinstance(r[name], bool) for r in records)]


def main() -> None:
    """Run, show, and compare with the target."""
    args = options(__doc__, "whole_runs", n=[300, 1_000], draws=100, worlds=list(WORLDS)).parse_args()
    keys = [(world, n, draw) for draw in range(args.draws) for n in args.n for world in args.worlds]
    missed = shown(args, results(args, FIELDS, keys, one_run).of(keys))
    sys.exit(not target(f"claimed more often than its level, beyond chance: {missed or 'nothing'}", not missed))


if __name__ == "__main__":
    main()
