"""Is the null of an audit rejected as often as it says where rows come in groups?

    python benchmarks/audit_groups.py [--rows 300 1000] [--draws 200] [--correlations 0 0.3 0.6] [--jobs 2]

Rows are those of dependent_rows.py: calibrated, with nothing hidden, in groups of 2, 5, 20 or 1 to 20. E[y | f] and the
correlation within groups are learned from each set of rows, and outcomes are drawn 39 times, as in `miscal audit`. A
cheap field takes the place of refits: the mean residual of each of ten kinds of groups; under the null "visible", what
is left of the residuals once their means over ten bins of confidence are taken away. Its spread is the statistic. Each
set is judged twice: with the groups named, and taken as independent rows.

Columns: mean estimate of the correlation, and per cent of sets with p <= 0.05, which is 5 nominally. Missed where, with
the groups named, a binomial test at 1e-4 says that a share is above 5 %.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from itertools import product

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from dependent_rows import DESIGNS, DRAWS_A_PART, FIELDS, LEAST_P, LEVEL, SIZES, draw
from miscal.data.triples import Triples
from miscal.evidence.null import null_audit
from miscal.runs.audit.refits import Refitting, outcomes_under

NULLS = ("visible", "calibrated")
NULL_DRAWS = 39  # p-values of at most 0.05 are 2 ranks of 40, which is 0.05 exactly
BINS = 10


def spread(residual: np.ndarray, kind: np.ndarray) -> float:
    """Spread over rows of the mean residual of their kind."""
    return float((np.bincount(kind, residual) / np.maximum(np.bincount(kind), 1))[kind].std())


def p_value(null: str, rows: Refitting, kind: np.ndarray) -> float:
    """Of the spread of the cheap field."""
    f = rows.triples.confidence
    bins = np.minimum((f * BINS).astype(int), BINS - 1)
    filled = np.maximum(np.bincount(bins), 1)

    def statistics(correct: np.ndarray) -> dict[str, float]:
        left = correct - f
        if null == "visible":
            left = left - (np.bincount(bins, left) / filled)[bins]
        return {"spread": spread(left, kind)}

    resample = outcomes_under(null, rows)
    found = null_audit(statistics, resample, rows.triples.correct, n_draws=NULL_DRAWS, random_state=rows.seed)
    return found["spread"].p_value


def one_part(design: str, n: int, size: str, rho: float, part: int) -> dict:
    """Count rejections over some sets of rows."""
    limit_threads()
    start = time.perf_counter()
    counts, correlations = {f"{null}, {named}": 0 for null in NULLS for named in ("named", "not named")}, []
    for at in range(DRAWS_A_PART):
        seed = part * DRAWS_A_PART + at
        rng = np.random.default_rng((seed, 92, n, DESIGNS.index(design), SIZES.index(size), round(100 * rho)))
        drawn = draw(design, n, size, rho, rng)
        triples = Triples.of(drawn["field"][:, None], confidence=drawn["f"], correct=drawn["y"], group=drawn["group"])
        named, alone = Refitting(triples, seed=seed), Refitting(replace(triples, group=None), seed=seed)
        correlations.append(named.design.correlation if named.design is not None else 0.0)
        for null in NULLS:
            for name, rows in (("named", named), ("not named", alone)):
                counts[f"{null}, {name}"] += int(p_value(null, rows, drawn["kinds"][-1]) <= LEVEL)
    key = dict(zip(FIELDS, (design, n, size, rho, part), strict=True))
    found = {**counts, "estimate": float(np.mean(correlations)), "seconds": time.perf_counter() - start}
    return {**key, "draws": DRAWS_A_PART, **found}


def show_cells(args: argparse.Namespace, records: list[dict]) -> list[str]:
    """Show a row for each cell, and one for all; the shares that miss."""
    columns = [f"{null}, {named}" for null in NULLS for named in ("named", "not named")]
    shown, missed, shares = [], [], []
    for cell in dict.fromkeys(tuple(r[k] for k in FIELDS[:4]) for r in records):
        mine = [r for r in records if tuple(r[k] for k in FIELDS[:4]) == cell]
        draws, wrong = sum(r["draws"] for r in mine), {name: sum(r[name] for r in mine) for name in columns}
        shares.append([100 * wrong[name] / draws for name in columns])
        estimate = np.mean([r["estimate"] for r in mine])
        shown.append([*map(str, cell), draws, f"{estimate:.2f}", *(f"{share:.1f}" for share in shares[-1])])
        missed += [
            f"{name} ({', '.join(map(str, cell))}): {wrong[name] / draws:.3f}"
            for name in columns
            if name.endswith(", named") and binomtest(wrong[name], draws, LEVEL, alternative="greater").pvalue < LEAST_P
        ]
    title = "nulls that are rejected, per cent of sets of rows"
    show(args, "audit_groups", title, [*FIELDS[:4], "sets", "estimate", *columns], shown)
    over_all = [
        ["mean", *(f"{x:.1f}" for x in np.mean(shares, 0))],
        ["worst", *(f"{x:.1f}" for x in np.max(shares, 0))],
    ]
    show(args, "audit_groups-worst", f"the same over {len(shares)} cells", ["cells", *columns], over_all)
    return missed


def main() -> None:
    parser = options(__doc__, "audit_groups", rows=[300, 1_000], draws=200, correlations=[0.0, 0.3, 0.6])
    args = parser.parse_args()
    parts = range(-(-args.draws // DRAWS_A_PART))
    keys = list(product(DESIGNS, args.rows, SIZES, args.correlations, parts))
    store = results(args, FIELDS, keys, one_part)
    missed = show_cells(args, [store[key] for key in keys])
    sys.exit(not target(f"nulls that are rejected in more than 5 % of sets: {missed or 'none'}", not missed))


if __name__ == "__main__":
    main()
