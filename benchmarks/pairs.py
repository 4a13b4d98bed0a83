"""Is a pair of values among ten columns named, alone, and corrected, by each way in; and what does it cost?

    python benchmarks/pairs.py [--worlds 5x100000 10x100000] [--ways scan quick discover] [--draws 1]

Ten columns of so many levels each, of equal shares; the probability is calibrated but for the rows of one pair of
levels, of which the event is 12 points more likely. `scan` must name it in every world, `discover` and `--quick` in
those of 100,000 rows; nothing else may be named, and the corrected mean of the pair must lie within 3 points of the
truth. Seconds are of the processor, of the whole call.
"""

import sys
import time

import numpy as np
import polars as pl
from scipy.special import expit

import miscal
from _script import limit_threads, options, results, show, target

WORLDS = ("5x100000", "10x100000", "10x1000000", "8x100000", "10x400000")
WAYS = ("scan", "quick", "discover")
OFF, NEAR, LEAST = 0.12, 0.03, 100_000


def table(levels: int, n: int, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Draw a table, and mark the rows of the pair."""
    rng = np.random.default_rng((seed, 62, levels, n))
    codes = rng.integers(0, levels, (10, n))
    risk, inside = expit(-1.5 + 0.5 * rng.normal(size=n)), (codes[2] == 1) & (codes[7] == 2)
    late = rng.random(n) < risk + OFF * inside
    names = np.array([f"v{k}" for k in range(levels)])
    columns = {f"c{j}": names[one] for j, one in enumerate(codes)}
    return pl.DataFrame({"risk": risk, "late": late.astype(int), **columns}), inside


def one_call(world: str, way: str, seed: int) -> dict:
    """Look at one table one way."""
    limit_threads()
    levels, n = map(int, world.split("x"))
    frame, inside = table(levels, n, seed)
    start, clock = time.process_time(), time.perf_counter()
    if way == "scan":
        ledger = miscal.scan(frame.lazy(), probability="risk", event="late", group="none").summary
    else:
        ledger = miscal.discover(frame, probability="risk", event="late", group="none", quick=way == "quick").summary
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    named = [one.description for one in ledger.findings]
    pair = [one for one in ledger.findings if set(one.columns) == {"c2", "c7"}]
    truth = (frame["risk"].to_numpy()[inside] + OFF).mean()
    off = abs(pair[0].corrected - truth) if pair else 1.0
    alone = bool(pair) and len(named) == 1
    known = {"named": named, "alone": alone, "off": float(off), "seconds": seconds, "clock": clock}
    return {"world": world, "way": way, "seed": seed, **known}


def main() -> None:
    parser = options(__doc__, "pairs", draws=1)
    parser.add_argument("--worlds", nargs="+", default=list(WORLDS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    args = parser.parse_args()
    asked = [(w, way) for w in args.worlds for way in args.ways if way == "scan" or int(w.split("x")[1]) <= LEAST]
    keys = [(*one, seed) for one in asked for seed in range(args.draws)]
    store = results(args, ("world", "way", "seed"), keys, one_call)
    shown, met = [], []
    for world, way in asked:
        own = [store[world, way, seed] for seed in range(args.draws)]
        alone, near = sum(one["alone"] for one in own), sum(one["off"] <= NEAR for one in own)
        met.append(alone == near == len(own))
        off, seconds, clock = (np.mean([one[name] for one in own]) for name in ("off", "seconds", "clock"))
        shown.append([world, way, len(own), alone, near, f"{off:.3f}", f"{seconds:.1f}", f"{clock:.1f}"])
    head = ["levels x rows", "way", "draws", "named alone", "within .03", "off by", "processor s", "clock s"]
    show(args, "pairs", "a pair of values 12 points off, among ten columns", head, shown)
    sys.exit(not target("named alone, and corrected within 3 points, everywhere", all(met)))


if __name__ == "__main__":
    main()
