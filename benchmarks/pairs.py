"""Is a pair of values among ten columns named, alone, and corrected, by each way in; and what does it cost?

    python benchmarks/pairs.py [--worlds scan "quick, 5x100000"] [--draws 1]

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
from _shares import FOUND, Question, ask
from _validity_counts import Told

SIZES = ("5x100000", "10x100000", "10x1000000", "8x100000", "10x400000")
OFF, NEAR, LEAST = 0.12, 0.03, "x100000"
WORLDS = tuple(f"{way}, {size}" for way in ("scan", "quick", "discover") for size in SIZES
               if way == "scan" or size.endswith(LEAST))  # fmt: skip


def table(levels: int, n: int, seed: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Draw a table, and mark the rows of the pair."""
    rng = np.random.default_rng((seed, 62, levels, n))
    codes = rng.integers(0, levels, (10, n))
    risk, inside = expit(-1.5 + 0.5 * rng.normal(size=n)), (codes[2] == 1) & (codes[7] == 2)
    late = rng.random(n) < risk + OFF * inside
    names = np.array([f"v{k}" for k in range(levels)])
    columns = {f"c{j}": names[one] for j, one in enumerate(codes)}
    return pl.DataFrame({"risk": risk, "late": late.astype(int), **columns}), inside


def named(world: str, _: int, seed: int) -> Told:
    """Look at one table one way."""
    way, size = world.split(", ")
    levels, n = map(int, size.split("x"))
    frame, inside = table(levels, n, seed)
    start, clock = time.process_time(), time.perf_counter()
    if way == "scan":
        ledger = miscal.scan(frame.lazy(), probability="risk", event="late", group="none").summary
    else:
        ledger = miscal.discover(frame, probability="risk", event="late", group="none", quick=way == "quick").summary
    seconds, clock = time.process_time() - start, time.perf_counter() - clock
    pair = [one for one in ledger.findings if set(one.columns) == {"c2", "c7"}]
    truth = (frame["risk"].to_numpy()[inside] + OFF).mean()
    off = abs(pair[0].corrected - truth) if pair else 1.0
    seen = {"named alone": bool(pair) and len(ledger.findings) == 1, "within .03": off <= NEAR}
    return Told(misses={f"{name}{FOUND}": was for name, was in seen.items()},
                means={"off by": off, "processor s": seconds, "clock s": clock})  # fmt: skip


QUESTIONS = {
    "pairs": Question(
        named, WORLDS, (0,), 1, least={f"{name}{FOUND}": {"": 1.0} for name in ("named alone", "within .03")}
    )
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "pairs", QUESTIONS))
