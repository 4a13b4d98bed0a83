"""What `miscal discover` would see of a planted regime, by rows, share and strength; and where nothing is planted.

    python benchmarks/power.py --draws 10 --jobs 2 [--n 1000 3000] [--evidence all] [--print]

A world is calibrated but for one place of an embedding with 384 columns (_worlds.rare_regime), which
holds a share of the rows and whose log-odds are shifted by -a in even draws and +a in odd ones. The place lies sqrt(d)
standard deviations of the noise away from the other rows, well apart: one that is harder to tell apart needs more of
them. With a = 0, the size, there is the same place and nothing wrong with it.

auto is fitted and put to the test as in `miscal discover`: with --evidence all every row is evaluated, by fits that
have not seen its outcome; with --evidence test, a random tenth of the rows does. Of a draw are asked

    claimed      does the estimator claim local structure?
    found        does the regime of the right sign, |hidden field| > 0.05, hold at least half of the planted rows, which
                 are at least twice as frequent in it as in all rows?
    named right  are most of the planted rows that are in a regime in the one of the right sign? (of the draws with any)
    certified    is hidden miscalibration claimed: is the p-value of both tests below 0.05?
    limit        is the lower limit of its average size above 0?

Target: at no n are the draws of a = 0 certified in over 5 %, beyond chance (binomial test at 1 %). An n without
such draws counts as missed.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.stats import binomtest

from _findings import recovery
from _script import limit_threads, mean, options, results, show, target
from _worlds import rare_regime
from miscal.data.triples import Triples
from miscal.discovery.estimating import fit_rows, prepare
from miscal.discovery.fitted_rows import Evidence
from miscal.discovery.summarise import claim_of
from miscal.estimators.estimate import regimes_of
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings import EPSILON

FIELDS = ("evidence", "d", "n", "share", "strength", "draw")
POWER, LEAST_P = 0.8, 0.01


def one_draw(evidence: Evidence, d: int, n: int, share: float, strength: float, draw: int) -> dict:
    """Draw a world, fit auto, certify."""
    limit_threads()
    sign = 1 if draw % 2 else -1
    rng = np.random.default_rng((draw, d, n, round(1e6 * share), round(1e6 * strength)))
    world = rare_regime(n, d, share=share, shift=sign * strength, random_state=rng)
    start = time.perf_counter()
    drawn = Triples.of(world.X, confidence=world.confidence, correct=world.correct)
    rows = fit_rows(prepare(drawn, evidence, draw)[0], seed=draw, n_jobs=1)
    claim, test = claim_of(rows, seed=draw), rows.evaluated
    hidden, delta, supported = (getattr(rows.estimate, name)[test] for name in ("hidden", "delta", "supported"))
    planted, truth = world.regime[test] == 1, world.delta[test]
    return {
        "evidence": evidence,
        "d": d, "n": n, "share": share, "strength": strength, "draw": draw, "seconds": time.perf_counter() - start,
        "claimed": bool(rows.model.structure_), "certified": claim.claims_hidden,
        "p_hidden": claim.p_value, "p_field": claim.p_field,
        "p_structure": claim.p_structure, "limit": claim.hidden.low > 0,
        "planted": int(planted.sum()),
        **(judged(regimes_of(hidden, EPSILON, supported), planted, sign) if strength else {}),
        "size": float(np.abs(world.delta[world.regime == 1]).mean()) if (world.regime == 1).any() else None,
        "r": recovery(delta, truth),
    }  # fmt: skip


def judged(regime: np.ndarray, planted: np.ndarray, sign: int) -> dict:
    """Whether the regimes hold the planted evaluation rows, and by the right sign (None where they hold none)."""
    right, wrong = ("under", "over") if sign > 0 else ("over", "under")
    inside = regime == right
    found = planted.any() and inside[planted].mean() >= 0.5 and planted[inside].mean() >= 2 * planted.mean()
    n_right, n_wrong = int(inside[planted].sum()), int((regime[planted] == wrong).sum())
    return {"found": bool(found), "named_right": n_right > n_wrong if n_right + n_wrong else None}


def keys_of(args: argparse.Namespace) -> list[tuple]:
    """Keys of all draws: a first draw of every cell, then a second, so that a run stopped half-way is balanced."""
    kinds = [(n, share, a) for n in args.n for share in args.shares for a in (0.0, *args.strengths)]
    return [(args.evidence, args.d, n, share, a, draw) for draw in range(args.draws) for n, share, a in kinds]


def of(draws: list[dict], n: int, strength: float, share: float | None = None) -> list[dict]:
    """Draws of a cell; of all shares together by default."""
    return [r for r in draws if (r["n"], r["strength"]) == (n, strength) and share in (None, r["share"])]


def show_cells(args: argparse.Namespace, draws: list[dict]) -> None:
    rows = []
    for n, share, a in [(n, share, a) for n in args.n for share in args.shares for a in args.strengths]:
        own = of(draws, n, a, share)
        if own:
            signed = [row["named_right"] for row in own if row["named_right"] is not None]
            size = [f"{mean(own, 'size'):.3f}", f"{mean(own, 'planted'):.0f}", len(own)]
            seen = [f"{mean(own, 'claimed'):.2f}", f"{mean(own, 'found'):.2f}", f"{sum(signed)} of {len(signed)}"]
            rows.append(
                [
                    n,
                    f"{share:g}",
                    f"{a:g}",
                    *size,
                    *seen,
                    *(f"{mean(own, name):.2f}" for name in ("certified", "limit", "r")),
                ]
            )
    head = ["n", "share", "a", "mean abs. delta in it", "planted evaluation rows", "draws", "claimed", "found",
            "named right",
            "certified", "limit", "r with truth"]  # fmt: skip
    title = f"a regime of a share of the rows, its log-odds shifted by a, {args.d} columns; shares of draws"
    show(args, args.cache.stem, title, head, rows)


def show_size(args: argparse.Namespace, draws: list[dict]) -> list[int]:
    """Show a row for each n, all shares together; the n at which more is certified than allowed, or nothing known."""
    missed, rows = [], []
    for n in args.n:
        own = of(draws, n, 0.0)
        certified = sum(row["certified"] for row in own)
        if not own or binomtest(certified, len(own), SIGNIFICANCE, alternative="greater").pvalue < LEAST_P:
            missed.append(n)
        if own:
            rows.append([n, len(own), f"{mean(own, 'claimed'):.2f}", f"{mean(own, 'certified'):.2f}"])
    title = "nothing planted (a = 0), all shares together"
    show(args, f"{args.cache.stem}-nothing-planted", title, ["n", "draws", "claimed", "certified"], rows)
    if known := [row for row in draws if row["strength"] == 0]:
        certified = sum(row["certified"] for row in known)
        limit = 100 * binomtest(certified, len(known), alternative="less").proportion_ci(0.95).high
        print(f"\ncertified in {certified} of {len(known)} draws of all n: at most {limit:.1f} %, 95 % upper limit")
    return missed


def smallest_share(draws: list[dict], n: int, strength: float, shares: list[float]) -> float | None:
    """Smallest share that is certified in 80 % of the draws, as is every larger one tried."""
    smallest = None
    for share in sorted(shares, reverse=True):
        # NaN, where nothing is stored, is not enough
        if not mean(of(draws, n, strength, share), "certified") >= POWER:
            break
        smallest = share
    return smallest


def show_plan(args: argparse.Namespace, draws: list[dict]) -> None:
    sizes = [mean([row for row in draws if row["strength"] == a], "size") for a in args.strengths]
    heads = [f"a = {a:g} ({size:.2f})" for a, size in zip(args.strengths, sizes, strict=True)]
    found = [[smallest_share(draws, n, a, args.shares) for a in args.strengths] for n in args.n]
    rows = [[n, *("-" if s is None else f"{100 * s:g} %" for s in own)] for n, own in zip(args.n, found, strict=True)]
    title = (f"with n rows you can see regimes of at least this share: certified in {100 * POWER:g} % of the draws, as "
             "is every larger share tried; in brackets the mean absolute delta there")  # fmt: skip
    show(args, f"{args.cache.stem}-plan", title, ["n", *heads], rows)


def main() -> None:
    args = options(__doc__, "power", n=[1_000, 3_000, 10_000], d=384, shares=[0.02, 0.05, 0.1, 0.2],
                   strengths=[0.5, 1.0, 2.0], draws=10, evidence="all").parse_args()  # fmt: skip
    keys = keys_of(args)
    draws = results(args, FIELDS, keys, one_draw).of(keys)
    show_cells(args, draws)
    missed = show_size(args, draws)
    show_plan(args, draws)
    over = f"over {100 * SIGNIFICANCE:g} % of the draws of a = 0"
    line = f"n at which {over} are certified, beyond chance: {missed or 'none'}"
    sys.exit(not target(line, not missed))


if __name__ == "__main__":
    main()
