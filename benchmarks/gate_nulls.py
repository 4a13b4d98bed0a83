"""How often does the gate of `miscal compare --fail-if-worse` stop a candidate?

    python benchmarks/gate_nulls.py [--pairs 200] [--rows 2000] [--jobs 2]

Two versions of a model whose probabilities both miss the same thing, the region "south", by 0.8 in log-odds:

    sets      each has predicted rows of its own
    matched   both have predicted the same events
    worse     as sets, and the second also misses the region "west", by 1 in log-odds
    higher    as matched, but nothing is missed, and the second is 6 points too high everywhere

Runs are made by `quick`. In `sets` and `matched` nothing differs but noise, and at most one candidate in ten may be
stopped: missed where a binomial test at 1 % rejects that. `worse` and `higher` say how many are stopped that should be.
"""

import sys
import time

import numpy as np
import polars as pl
from scipy.special import expit
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal import compare, discover

WORLDS, NULLS, PARTS, LEVEL, MISSED_P = ("sets", "matched", "worse", "higher"), ("sets", "matched"), 20, 0.1, 0.01


def versions(world: str, n: int, seed: int) -> list[pl.DataFrame]:
    """Draw the predictions of both versions."""
    rng = np.random.default_rng((seed, 522, WORLDS.index(world)))
    drawn = []
    for version in range(2):
        if not (drawn and world in ("matched", "higher")):
            region, age = rng.choice(["north", "south", "east", "west"], n), rng.integers(18, 90, n)
            plan, base = rng.integers(0, 6, n).astype(str), rng.normal(-0.8, 1, n)
            missed = 0.8 * (region == "south") * (world != "higher") + (world == "worse") * version * (region == "west")
            y = (rng.random(n) < expit(base + missed)).astype(int)
        columns = {
            "id": np.arange(n) + (0 if world in ("matched", "higher") else version * n),
            "region": region,
            "plan": plan,
        }
        f = expit(base + rng.normal(0, 0.2, n)) + 0.06 * version * (world == "higher")
        drawn.append(pl.DataFrame({**columns, "age": age, "f": np.minimum(f, 1.0), "y": y}))
    return drawn


def stopped(world: str, rows: int, part: int, pairs: int) -> dict:
    """Count the candidates that are stopped, by all rows and by a group."""
    limit_threads()
    start, whole, group = time.perf_counter(), 0, 0
    for k in range(pairs):
        both = versions(world, rows, part * pairs + k)
        asked = {"probability": "f", "event": "y", "metadata": ["region", "plan", "age"]}
        runs = [discover(one, **asked, group="none", quick=True, progress=False) for one in both]
        where = compare(*runs, names=["accepted", "candidate"]).worse
        whole, group = whole + ("all rows" in where), group + any(one != "all rows" for one in where)
    told = {"whole": whole, "group": group}
    return dict(world=world, rows=rows, part=part, pairs=pairs, **told, seconds=time.perf_counter() - start)


def main() -> None:
    parser = options(__doc__, "gate_nulls", pairs=200, rows=2000)
    args = parser.parse_args()
    each = max(1, args.pairs // PARTS)
    keys = [(world, args.rows, part, each) for world in WORLDS for part in range(PARTS)]
    store = results(args, ("world", "rows", "part", "pairs"), keys, stopped)
    shown, met = [], []
    for world in WORLDS:
        own, many = [store[key] for key in keys if key[0] == world], each * PARTS
        whole, group = (sum(one[name] for one in own) for name in ("whole", "group"))
        if world in NULLS:
            met.append(binomtest(min(many, whole + group), many, LEVEL, alternative="greater").pvalue >= MISSED_P)
        shown.append([world, args.rows, many, whole, group])
    head = ["world", "rows", "pairs", "stopped by all rows", "stopped by a group"]
    show(args, "gate_nulls", "candidates that the gate stops", head, shown)
    sys.exit(not target("where nothing differs, at most one in ten, by a binomial test at 1 %", all(met)))


if __name__ == "__main__":
    main()
