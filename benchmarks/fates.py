"""Is "corrected" said of what is not? Planted groups, found and corrected by a known part.

    python benchmarks/fates.py [--rows 1000 4000 16000] [--draws 100]

Rows of twelve kinds; outcomes are drawn by odds that a confidence understates in one kind and overstates in another, by
a factor of its own in each draw. The ledger finds them, and corrections leave none, a half, all or one and a half of
what is hidden in every row, so that the truth is known. Counted is what the ledger says of the findings that are these
kinds: corrected, reduced, made worse or not known. Target: corrected is said of at most 5 % of those of which a half is
left, reduced or corrected of at most 5 % of those of which all is left, and made worse of no more of these. How often
corrected is said where nothing is left is the power, and has no target.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.ledger import find, named_groups
from miscal.findings.ledger.sizes import CORRECTED, NOT_KNOWN, REDUCED, WORSE

FIELDS = ("rows", "draw")
FATES = (CORRECTED, REDUCED, WORSE, NOT_KNOWN)
LEFT = (0.0, 0.5, 1.0, 1.5)
MOST, MISSED_P, TOGETHER = 0.05, 0.01, 20


def fates(n: int, draw: int) -> list[tuple[float, str, int]]:
    """What is left of each planted kind that is found, what is said of it, and the rows that it would take."""
    rng = np.random.default_rng((draw, n, 91))
    kind, f = rng.choice(12, n), expit(rng.normal(0.5, 1.2, n))
    shift = rng.uniform(0.3, 2.0)
    rate = expit(logit(f) + shift * ((kind == 1).astype(float) - (kind == 0)))
    y = (rng.random(n) < rate).astype(float)
    # E[y | f] is known here: what is left of the error is then known, too
    order = np.argsort(f)
    expected = np.empty(n)
    expected[order] = np.convolve(np.pad(rate[order], 50, "edge"), np.full(101, 1 / 101), "valid")
    rows = LabelledRows(y, f, expected, row=np.arange(n))
    groups = named_groups({"kind": np.char.add("k", kind.astype(str)).astype(object)})
    told = []
    for left in LEFT:
        chance = np.clip(rate - left * (rate - expected), 0.0, 1.0)
        corrected = replace(rows, confidence=chance, expected=chance)
        found = find(rows, groups, corrected=corrected, seed=draw).findings
        told += [
            (left, one.fate, one.units_needed.rows if one.units_needed else 0)
            for one in found
            if one.description in ("kind = k0", "kind = k1")
        ]
    return told


def some_draws(n: int, first: int) -> dict:
    """Draw `TOGETHER` tables."""
    limit_threads()
    start = time.perf_counter()
    told = [one for draw in range(first, first + TOGETHER) for one in fates(n, draw)]
    counts = [[sum(left == at and fate == one for at, fate, _ in told) for one in FATES] for left in LEFT]
    needed = [[rows for at, _, rows in told if at == left and rows] for left in LEFT]
    return {"rows": n, "draw": first, "counts": counts, "needed": needed, "seconds": time.perf_counter() - start}


def main() -> int:
    """Draw, show the table, and compare it with the target."""
    parser = options(__doc__, "fates", rows=[1_000, 4_000, 16_000], draws=100)
    args = parser.parse_args()
    keys = [(n, first) for n in args.rows for first in range(0, args.draws, TOGETHER)]
    store = results(args, FIELDS, keys, some_draws)
    return 0 if _shown(args, [store[key] for key in keys]) else 1


def _shown(args: argparse.Namespace, records: list[dict]) -> bool:
    shown, wrong = [], {left: np.zeros(2, int) for left in LEFT}
    for n in args.rows:
        own = [record for record in records if record["rows"] == n]
        for place, left in enumerate(LEFT):
            counts = np.sum([record["counts"][place] for record in own], axis=0)
            needed = [rows for record in own for rows in record["needed"][place]]
            many = max(1, int(counts.sum()))
            shares = [f"{count / many:.3f}" for count in counts]
            shown.append([n, left, int(counts.sum()), *shares, f"{np.median(needed):.0f}" if needed else ""])
            said = dict(zip(FATES, counts, strict=True))
            false = (
                said[CORRECTED] if left == 0.5 else said[CORRECTED] + said[REDUCED] + said[WORSE] if left == 1 else 0
            )
            wrong[left] += (false, int(counts.sum()))
    head = ["rows", "left", "findings", *FATES, "rows that it would take, median"]
    show(args, "fates", "what is said of findings of which so much is left", head, shown)
    missed = [left for left, (false, many) in wrong.items() if binomtest(int(false), max(1, int(many)), MOST,
              alternative="greater").pvalue < MISSED_P]  # fmt: skip
    told = "; ".join(f"{100 * wrong[left][0] / wrong[left][1]:.1f} % where {left:g} is left" for left in (0.5, 1.0))
    return target(f"said falsely of at most 5 %: {told}", not missed)


if __name__ == "__main__":
    sys.exit(main())
