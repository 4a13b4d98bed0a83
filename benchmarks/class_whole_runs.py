"""What whole runs of several classes claim where nothing is hidden.

    python benchmarks/class_whole_runs.py [--classes 3] [--rows 500] [--draws 50] [--jobs 2]

The worlds are those of `class_nulls.py`: the label is drawn by the probabilities. Each table goes through the whole of
`miscal discover`. Of each run are counted: a finding of the top label; a finding of a class; either of them; a claim of
hidden miscalibration; corrected probabilities with a higher log loss than those given, beyond chance. None may be so in
more than 5 % of all runs together, beyond chance (binomial test at 1 %).
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from class_nulls import LEVEL, MISSED_P, WORLDS, rows_of
from miscal.data.triples import Triples
from miscal.discovery.discover import discover

FIELDS = ("world", "classes", "rows", "draw")
ROUNDING = 1e-6
"""Log loss below which two corrections are one: probabilities below 1e-8 are taken as that, which moves 1e-10 nats."""
CLAIMS = ("finding, top label", "finding, a class", "any finding", "claim of hidden", "correction worse")


def with_inputs(triples: Triples) -> Triples:
    """Make the columns the inputs too: categories one-hot, and numbers."""
    columns = triples.metadata
    hot = [columns[name][:, None] == np.unique(columns[name]) for name in ("region", "plan")]
    numbers = [np.log(columns["income"])[:, None], columns["age"][:, None] / 20]
    return replace(triples, X=np.hstack([*hot, *numbers]).astype(np.float32))


def one_run(world: str, n_classes: int, n: int, draw: int) -> dict:
    """Draw a table, and look at all that the run claims."""
    limit_threads()
    start = time.perf_counter()
    rows = with_inputs(rows_of(world, n_classes, n, draw))
    summary = discover(rows, seed=draw, n_jobs=1, map_method="pca").summary
    top, of_class = bool(summary.findings), bool(summary.classes.findings)
    interval = summary.classes.saved.interval
    worse = interval is not None and interval[1] < -ROUNDING
    told = (top, of_class, top or of_class, summary.certificate.claims_hidden, worse)
    return {
        "world": world, "classes": n_classes, "rows": n, "draw": draw, "told": [bool(one) for one in told],
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def shown(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each world and one for all; what is claimed too often."""
    lines, missed = [], []
    for world in (*WORLDS, "all"):
        told = np.array([one["told"] for one in records if world in (one["world"], "all")])
        if len(told):
            lines.append([world, len(told), *told.sum(axis=0).tolist()])
    for name, count in zip(CLAIMS, lines[-1][2:], strict=True):
        if binomtest(count, lines[-1][1], LEVEL, alternative="greater").pvalue < MISSED_P:
            missed.append(f"{name}: {count} of {lines[-1][1]}")
    title = "whole runs of several classes where nothing is hidden: runs that claim something"
    show(args, "class_whole_runs", title, ["world", "runs", *CLAIMS], lines)
    return missed


def main() -> int:
    """Run, show, and compare with the target."""
    args = options(__doc__, "class_whole_runs", classes=3, rows=500, draws=50).parse_args()
    keys = [(WORLDS[draw % len(WORLDS)], args.classes, args.rows, draw) for draw in range(args.draws)]
    missed = shown(args, results(args, FIELDS, keys, one_run).of(keys))
    return 0 if target(f"claimed more often than in 5 % of the runs: {missed or 'nothing'}", not missed) else 1


if __name__ == "__main__":
    sys.exit(main())
