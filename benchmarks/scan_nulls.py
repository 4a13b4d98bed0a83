"""Does a scan find anything where nothing is hidden?

    python benchmarks/scan_nulls.py [--tables 1000] [--rows 5000] [--jobs 2]

Tables of two columns of texts, two of numbers, a date and a truth value; the confidence depends on some of them, and
the outcome on the confidence alone:

    rows      P(y = 1) = sigmoid(0.6 logit f - 0.4), as any diagram shows
    groups    as rows, and outcomes of one day hang together; the region and one number are those of the day
    weights   as rows, and each row has a weight between 0.2 and 5, which depends on the plan

A table is false if anything is found; that must be so in at most 5 %: missed where a binomial test at 1 % rejects that.
"""

import sys
import time

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import binomtest

from _script import limit_threads, options, results, show, target
from miscal import scan

WORLDS, PARTS, LEVEL, MISSED_P = ("rows", "groups", "weights"), 50, 0.05, 0.01


def table(world: str, n: int, seed: int) -> pl.DataFrame:
    """Draw a table in which nothing is hidden."""
    rng = np.random.default_rng((seed, 511, WORLDS.index(world)))
    days = 120
    day, region_of, load_of = rng.integers(0, days, n), rng.integers(0, 4, days), rng.normal(size=days)
    whole = world == "groups"
    plan, age = rng.integers(0, 12, n), rng.integers(18, 91, n)
    region, load = (region_of[day], load_of[day]) if whole else (rng.integers(0, 4, n), rng.normal(size=n))
    f = expit(rng.normal(size=n) + 0.3 * (plan - 5) / 3 + 0.5 * load)
    odds = 0.6 * logit(f) - 0.4 + (rng.normal(0, 0.5, days)[day] if whole else 0.0)
    return pl.DataFrame(
        {
            "f": f, "y": (rng.random(n) < expit(odds)).astype(int),
            "plan": plan.astype(str), "region": region.astype(str), "age": age, "load": load,
            "at": np.datetime64("2024-01-01") + day.astype("timedelta64[D]"), "member": rng.random(n) < 0.3,
            "w": np.exp(rng.normal(0, 0.5, n)).clip(0.2, 5) * (1 + plan % 3),
        }
    )  # fmt: skip


def false_ones(world: str, rows: int, part: int, tables: int) -> dict:
    """Count tables in which something is found."""
    limit_threads()
    start = time.perf_counter()
    asked = {"groups": {"group": "at:day"}, "weights": {"weight": "w", "group": "none"}}.get(world, {"group": "none"})
    found = 0
    for k in range(tables):
        frame = table(world, rows, part * tables + k)
        frame = frame if world == "weights" else frame.drop("w")
        found += bool(scan(frame.lazy(), probability="f", event="y", **asked).summary.findings)
    told = {"world": world, "rows": rows, "part": part, "tables": tables, "found": found}
    return told | {"seconds": time.perf_counter() - start}


def main() -> None:
    parser = options(__doc__, "scan_nulls", tables=1000, rows=5000)
    args = parser.parse_args()
    each = max(1, args.tables // PARTS)
    keys = [(world, args.rows, part, each) for world in WORLDS for part in range(PARTS)]
    store = results(args, ("world", "rows", "part", "tables"), keys, false_ones)
    shown, met = [], []
    for world in WORLDS:
        own = [store[key] for key in keys if key[0] == world]
        found, many = sum(one["found"] for one in own), each * PARTS
        p = binomtest(found, many, LEVEL, alternative="greater").pvalue
        met.append(p >= MISSED_P)
        shown.append([world, args.rows, many, found, f"{found / many:.3f}", f"{p:.2g}"])
    head = ["world", "rows", "tables", "with a finding", "share", "p that it is more than 5 %"]
    show(args, "scan_nulls", "findings where nothing is hidden", head, shown)
    sys.exit(not target("at most 5 % in each world, by a binomial test at 1 %", all(met)))


if __name__ == "__main__":
    main()
