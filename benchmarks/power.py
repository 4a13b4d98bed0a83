"""What `miscal discover` would see of a planted regime, by rows, share and strength; and where nothing is planted.

    python benchmarks/power.py --draws 10 --jobs 2 --cache FILE [--n 1000 3000] [--print]

A world is calibrated but for one place of an embedding with 384 columns (miscal.synthetic.worlds.rare_regime), which
holds a share of the rows and whose log-odds are shifted by -a in even draws and +a in odd ones. The place lies sqrt(d)
standard deviations of the noise away from the other rows, well apart: one that is harder to tell apart needs more of
them. With a = 0, the size, there is the same place and nothing wrong with it.

Each draw is split 80/10/10 by random permutation; auto is fitted to train and validation rows, and all else is read on
test rows, as in `miscal discover`. Of a draw are asked

    claimed      does the estimator claim local structure?
    found        does the regime of the right sign, |hidden field| > 0.05, hold at least half of the planted rows, which
                 are at least twice as frequent in it as in all rows?
    named right  are most of the planted rows that are in a regime in the one of the right sign? (of the draws with any)
    certified    is hidden miscalibration confirmed: claimed, p < 0.05 and a lower limit above 0?

Target: at no n are the draws of a = 0 certified in over 5 %, beyond chance (binomial test at 1 %). An n without
such draws counts as missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from _cache import Cache, compute, limit_threads
from _findings import claim_of, recovery
from miscal.estimators.field import MiscalibrationField
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings import EPSILON, cut
from miscal.synthetic.worlds import random_split, rare_regime

FIELDS = ("d", "n", "share", "strength", "draw")
POWER, LEAST_P = 0.8, 0.01


def one_draw(d: int, n: int, share: float, strength: float, draw: int) -> dict:
    """Draw a world, fit auto, certify on test rows."""
    limit_threads()
    sign = 1 if draw % 2 else -1
    rng = np.random.default_rng((draw, d, n, round(1e6 * share), round(1e6 * strength)))
    world = rare_regime(n, d, share=share, shift=sign * strength, random_state=rng)
    split = random_split(n, random_state=draw)
    known, test = split != "test", split == "test"
    start = time.perf_counter()
    field = MiscalibrationField(random_state=draw, n_jobs=1)
    field.fit(world.X[known], world.correct[known], confidence=world.confidence[known], split=split[known])
    found = field.estimate(world.X[test], world.confidence[test])
    claim = claim_of(field, found, world.correct, world.confidence, test, seed=draw)
    planted, truth = world.regime[test] == 1, world.delta[test]
    return {
        "d": d, "n": n, "share": share, "strength": strength, "draw": draw, "seconds": time.perf_counter() - start,
        "claimed": claim.structure, "certified": claim.confirmed,
        "p_hidden": claim.certificate.hidden.p_value, "low_hidden": claim.certificate.hidden.low,
        "planted": int(planted.sum()),
        **(judged(cut(found.hidden, EPSILON, found.supported), planted, sign) if strength else {}),
        "size": float(np.abs(world.delta[world.regime == 1]).mean()) if (world.regime == 1).any() else None,
        "r": recovery(found.delta, truth),
    }  # fmt: skip


def judged(regime: np.ndarray, planted: np.ndarray, sign: int) -> dict:
    """Whether the regimes of test rows hold the planted rows, and by the right sign (None where they hold none)."""
    right, wrong = ("under", "over") if sign > 0 else ("over", "under")
    inside = regime == right
    found = planted.any() and inside[planted].mean() >= 0.5 and planted[inside].mean() >= 2 * planted.mean()
    n_right, n_wrong = int(inside[planted].sum()), int((regime[planted] == wrong).sum())
    return {"found": bool(found), "named_right": n_right > n_wrong if n_right + n_wrong else None}


def cells(args: argparse.Namespace) -> list[tuple]:
    """Keys of all draws: a first draw of every cell, then a second, so that a run stopped half-way is balanced."""
    kinds = [(n, share, a) for n in args.n for share in args.shares for a in (0.0, *args.strengths)]
    return [(args.d, n, share, a, draw) for draw in range(args.draws) for n, share, a in kinds]


class Draws:
    """The cached draws of one width."""

    def __init__(self, cache: Cache, keys: list[tuple]) -> None:
        self.rows = [cache.records[key] for key in keys if key in cache.records]

    def of(self, n: int, strength: float, share: float | None = None) -> list[dict]:
        """Draws of a cell; of all shares together by default."""
        return [r for r in self.rows if (r["n"], r["strength"]) == (n, strength) and share in (None, r["share"])]


def mean(rows: list[dict], key: str) -> float:
    """Mean over the draws where it is defined, else NaN."""
    values = [row[key] for row in rows if row.get(key) is not None]
    return float(np.mean(values)) if values else float("nan")


def print_cells(draws: Draws, args: argparse.Namespace) -> None:
    print(f"\na regime of a share of the rows, its log-odds shifted by a, {args.d} columns; shares of draws\n")
    print("| n | share | a | mean abs. delta in it | planted test rows | draws | claimed | found | named right "
          "| certified | r with truth |\n" + "|---:" * 11 + "|")  # fmt: skip
    for n in args.n:
        for share in args.shares:
            for a in args.strengths:
                rows = draws.of(n, a, share)
                if rows:
                    print(f"| {n:,} | {share:g} | {a:g} | {mean(rows, 'size'):.3f} | {mean(rows, 'planted'):.0f} "
                          f"| {len(rows)} | " + " | ".join(_cell(rows)) + " |")  # fmt: skip


def _cell(rows: list[dict]) -> list[str]:
    signed = [row["named_right"] for row in rows if row["named_right"] is not None]
    named = f"{sum(signed)} of {len(signed)}"
    claimed, found, certified = (f"{mean(rows, key):.2f}" for key in ("claimed", "found", "certified"))
    return [claimed, found, named, certified, f"{mean(rows, 'r'):.2f}"]


def print_size(draws: Draws, args: argparse.Namespace) -> list[int]:
    """Print a row for each n, all shares together; the n at which more is certified than allowed, or nothing known."""
    missed = []
    print("\nnothing planted (a = 0), all shares together\n\n| n | draws | claimed | certified |\n" + "|---:" * 4 + "|")
    for n in args.n:
        rows = draws.of(n, 0.0)
        certified = sum(row["certified"] for row in rows)
        if not rows or binomtest(certified, len(rows), SIGNIFICANCE, alternative="greater").pvalue < LEAST_P:
            missed.append(n)
        if rows:
            print(f"| {n:,} | {len(rows)} | {mean(rows, 'claimed'):.2f} | {mean(rows, 'certified'):.2f} |")
    if known := [row for row in draws.rows if row["strength"] == 0]:
        certified = sum(row["certified"] for row in known)
        limit = binomtest(certified, len(known), alternative="less").proportion_ci(0.95).high
        print(
            f"\ncertified in {certified} of {len(known)} draws of all n: at most {100 * limit:.1f} %, 95 % upper limit"
        )
    return missed


def smallest_share(draws: Draws, n: int, strength: float, shares: list[float]) -> float | None:
    """Smallest share that is certified in 80 % of the draws, as is every larger one tried."""
    smallest = None
    for share in sorted(shares, reverse=True):
        # NaN, where nothing is cached, is not enough
        if not mean(draws.of(n, strength, share), "certified") >= POWER:
            break
        smallest = share
    return smallest


def print_plan(draws: Draws, args: argparse.Namespace) -> None:
    print(f"\nwith n rows you can see regimes of at least this share: certified in {100 * POWER:g} % of the draws,")
    print("as is every larger share tried; in brackets the mean absolute delta there\n")
    sizes = [mean([row for row in draws.rows if row["strength"] == a], "size") for a in args.strengths]
    heads = [f"a = {a:g} ({size:.2f})" for a, size in zip(args.strengths, sizes, strict=True)]
    print("| n | " + " | ".join(heads) + " |\n" + "|---:" * (len(heads) + 1) + "|")
    for n in args.n:
        found = [smallest_share(draws, n, a, args.shares) for a in args.strengths]
        print(f"| {n:,} | " + " | ".join("-" if s is None else f"{100 * s:g} %" for s in found) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, nargs="+", default=[1_000, 3_000, 10_000], help="rows, split 80/10/10")
    parser.add_argument("--d", type=int, default=384, help="columns of the embedding")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.02, 0.05, 0.1, 0.2])
    parser.add_argument("--strengths", type=float, nargs="+", default=[0.5, 1.0, 2.0], help="besides 0")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--cache", type=Path, default=Path("bench_cache/power.jsonl"))
    parser.add_argument("--refresh", action="store_true", help="compute again what is cached")
    parser.add_argument("--print", action="store_true", help="print what is cached, compute nothing")
    args = parser.parse_args()
    cache, keys = Cache(args.cache, FIELDS), cells(args)
    if not args.print:
        compute(cache, keys, one_draw, args.jobs, args.refresh)
    draws = Draws(cache, keys)
    print_cells(draws, args)
    missed = print_size(draws, args)
    print_plan(draws, args)
    over = f"over {100 * SIGNIFICANCE:g} % of the draws of a = 0"
    print(f"\nn at which {over} are certified, beyond chance: {missed or 'none'}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
