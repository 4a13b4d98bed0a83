"""Does the correction mend what is found? Findings and correction from one half of the rows, judged on the other.

    python benchmarks/mending.py --data DIR [--seeds 0] [--rows 12000] [--sets mmlu/]

Each set (those of `_column_sets.py`, its columns seen by field and findings alike) is cut into two random halves,
equal inputs on one side; both halves take each role. The ledger of one half is written and the correction learned
there. On the other half each finding is judged twice by its condition, with the statistic of `_judge.py`: against rows
of equal confidence, and against rows of equal corrected confidence. Of the findings with |z| of 3 and more before,
those are mended of which less than a third of the size is left after, or |z| is below 1.5; where nothing at all is
left, |z| is beyond 1.5 in 13 of 100 by chance. Target: 90 % are mended. Clusters of inputs are left
out: their words do not say which other rows belong to them.

Two numbers say what can be reached, taking the size before as the true one: how many a correction would mend on average
that knew the true sizes, so that only the chance of the judging half is left, and how many one would that takes the
mean of each group in its own half, of as many rows, so that the chance of both halves is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import norm

from _column_sets import read_set, set_names
from _judge import Judge
from _ledger import found_in, ledger_of
from _script import limit_threads, options, results, show, target
from miscal.base.folds import assign_folds
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField

FIELDS = ("set", "seed", "rows", "half")
LEAST_Z, MOST_Z, MOST_LEFT, LEAST_SHARE = 3.0, 1.5, 1 / 3, 0.9


def one_half(name: str, seed: int, rows: int, half: int, *, folder: Path) -> dict:
    """Find and learn on one half, and judge on the other."""
    limit_threads()
    start = time.perf_counter()
    columns, everything = read_set(folder, name)
    table = everything or columns
    if len(table) > rows:
        table = table.take(np.sort(np.random.default_rng(seed).permutation(len(table))[:rows]))
    learns = assign_folds(table.units, 2, np.random.default_rng((seed, 85))) == half
    one, two = (replace(table.take(part), split=None) for part in (learns, ~learns))
    corrected = MiscalibrationField(n_jobs=1).fit_triples(one).fitted_.correct(two.X, two.confidence).corrected
    found = _judged(one, two, corrected, seed)
    return {"set": name, "seed": seed, "rows": rows, "half": half, "found": found,
            "seconds": time.perf_counter() - start}  # fmt: skip


def _judged(one: Triples, two: Triples, corrected: np.ndarray, seed: int) -> list[dict]:
    """Findings of the first rows as the second show them, before and after the correction."""
    before, after = (Judge(two.correct, p, seed) for p in (two.confidence, corrected))
    found = []
    for finding in ledger_of(one, seed).findings:
        meant = found_in(finding, two)
        if meant is None or not meant.rows.any():
            continue
        numbers = {
            f"{name}_{when}": getattr(judge, name)(meant.rows)
            for when, judge in (("before", before), ("after", after)) for name in ("z", "size")
        }  # fmt: skip
        found.append({"description": finding.description, "n": int(meant.rows.sum()), **numbers})
    return found


def mended(found: dict) -> bool:
    """Whether less than a third of a finding is left, or no more than chance explains easily."""
    return abs(found["z_after"]) < MOST_Z or abs(found["size_after"]) < MOST_LEFT * abs(found["size_before"])


def within_reach(z_before: np.ndarray, halves: int) -> float:
    """How many are mended on average if what is left is the chance of so many halves alone."""
    enough = np.maximum(MOST_Z, MOST_LEFT * np.abs(z_before))
    return float(np.sum(2 * norm.cdf(enough / np.sqrt(halves)) - 1))


def main() -> int:
    """Measure, and show the tables."""
    args = options(__doc__, "mending", data="folder of real sets", rows=12_000, seeds=[0], sets=[""]).parse_args()
    if args.data is None:
        print("name the folder of the sets: --data DIR", file=sys.stderr)
        return 2
    names = set_names(args.data, args.sets)
    keys = [(name, seed, args.rows, half) for name in names for seed in args.seeds for half in (0, 1)]
    store = results(args, FIELDS, keys, partial(one_half, folder=args.data))
    return 0 if _shown(args, names, [store.records[key] for key in keys if key in store.records]) else 1


def _row(name: str, one: dict) -> list:
    before, after = ([f"{one[f'size_{when}']:+.3f}", f"{one[f'z_{when}']:+.1f}"] for when in ("before", "after"))
    return [name, one["description"], one["n"], *before, *after]


def _shown(args: argparse.Namespace, names: Sequence[str], records: Sequence[dict]) -> bool:
    shown, left = [], []
    total = mended_total = 0
    judged: list[float] = []
    for name in [name for name in names if any(record["set"] == name for record in records)]:
        found = [one for record in records if record["set"] == name for one in record["found"]]
        strong = [one for one in found if abs(one["z_before"]) >= LEAST_Z]
        good = [one for one in strong if mended(one)]
        ratio = np.median([abs(one["size_after"] / one["size_before"]) for one in strong]) if strong else np.nan
        share = f"{len(good) / len(strong):.2f}" if strong else ""
        shown.append([name, len(found), len(strong), len(good), share, "" if np.isnan(ratio) else f"{ratio:.2f}"])
        left += [_row(name, one) for one in strong if not mended(one)]
        total, mended_total = total + len(found), mended_total + len(good)
        judged += [one["z_before"] for one in strong]
    share = mended_total / len(judged) if judged else 0.0
    shown.append(["all", total, len(judged), mended_total, f"{share:.2f}", ""])
    head = ["set", "findings", "|z| of 3 and more", "mended", "share", "left of their size, median"]
    show(args, "mending", "findings of one half, judged on the other before and after the correction", head, shown)
    head = ["set", "finding", "rows", "size before", "z before", "size after", "z after"]
    show(args, "mending-left", "findings that are not mended", head, left)
    known, learned = (within_reach(np.array(judged), halves) for halves in (1, 2))
    head = ["judged", "mended", "if the true sizes were known", "by the mean of the group in its own half"]
    show(
        args,
        "mending-reach",
        "what can be reached",
        head,
        [[len(judged), mended_total, f"{known:.0f}", f"{learned:.0f}"]],
    )
    return target(
        f"{mended_total} of {len(judged)} findings are mended, at least {LEAST_SHARE:.2f}", share >= LEAST_SHARE
    )


if __name__ == "__main__":
    raise SystemExit(main())
