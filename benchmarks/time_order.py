"""Is anything claimed under evidence "time" where nothing is hidden?

    python benchmarks/time_order.py [--rows 500] [--draws 100] [--jobs 2]

Outcomes depend on the confidence alone, m(f) of log-odds 0.6 logit f + c, and the inputs are three numbers and a kind
of eight values that say nothing. Rows come in the order of time, and each is judged by fits on earlier blocks. Worlds:

    visible     c is -0.3 at all times
    shifting    c rises from -1.2 to 1.2, so that E[y | f] of earlier rows is never that of the rows judged

Columns: per cent of draws with p <= 0.05 of the certificate, of its test of the field and of its kernel score, and with
any finding. Missed where a binomial test at 1e-4 says that one of them is above 5 %.
"""

from __future__ import annotations

import sys
import time
from itertools import product

import numpy as np
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal.data.triples import Triples
from miscal.discovery.estimating import fit_rows, prepare
from miscal.discovery.findings import write_ledger
from miscal.discovery.summarise import claim_of

FIELDS = ("world", "rows", "draw")
WORLDS = ("visible", "shifting")
KINDS = "abcdefgh"
STATEMENTS = ("certificate", "field", "kernel score", "any finding")
LEVEL, LEAST_P = 0.05, 1e-4


def one_draw(world: str, rows: int, draw: int) -> dict:
    """Draw rows in which nothing is hidden, judge them in the order of time, and tell what is claimed."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, 7))
    # the order of draws is that of the first run of this script
    X, f, when = rng.normal(size=(rows, 3)), rng.uniform(0.1, 0.9, rows), np.arange(rows)
    shift = -0.3 if world == "visible" else np.linspace(-1.2, 1.2, rows)
    rate = 1 / (1 + np.exp(-(0.6 * np.log(f / (1 - f)) + shift)))
    kind = rng.choice(list(KINDS), rows)
    inputs = np.c_[X, np.eye(len(KINDS))[[KINDS.index(one) for one in kind]]]
    correct = (rng.random(rows) < rate).astype(int)
    named = {"kind": kind, "x": X[:, 0].round(1)}
    triples, *_ = prepare(Triples.of(inputs, confidence=f, correct=correct, time=when, metadata=named), "time", draw)
    fitted = fit_rows(triples, evidence="time", seed=draw, n_jobs=1)
    proof = claim_of(fitted, seed=draw)
    found = bool(write_ledger(fitted, own_split=False, seed=draw).findings)
    p_values = (proof.p_value, proof.p_field, proof.p_structure)
    told = dict(zip(STATEMENTS, [*(p is not None and p <= LEVEL for p in p_values), found], strict=True))
    return {"world": world, "rows": rows, "draw": draw, **told, "seconds": time.perf_counter() - start}


def main() -> None:
    """Run, show, and compare with the target."""
    args = options(__doc__, "time_order", rows=500, draws=100).parse_args()
    keys = list(product(WORLDS, [args.rows], range(args.draws)))
    store = results(args, FIELDS, keys, one_draw)
    shown, missed = [], []
    for world in WORLDS:
        mine = [store[key] for key in keys if key[0] == world]
        counts = {name: sum(bool(one[name]) for one in mine) for name in STATEMENTS}
        shown.append([world, str(args.rows), len(mine), *(f"{100 * one / len(mine):.0f}" for one in counts.values())])
        missed += [
            f"{name} ({world}): {count} of {len(mine)}"
            for name, count in counts.items()
            if binomtest(count, len(mine), LEVEL, alternative="greater").pvalue < LEAST_P
        ]
    title = "per cent of draws in which something is claimed where nothing is hidden"
    show(args, "time_order", title, ["world", "rows", "draws", *STATEMENTS], shown)
    sys.exit(not target(f"claimed in more than 5 % of draws: {'; '.join(missed) or 'nothing'}", not missed))


if __name__ == "__main__":
    main()
