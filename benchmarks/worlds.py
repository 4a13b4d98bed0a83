"""Recovery of known fields: every method on every synthetic world, against the truth.

    python benchmarks/worlds.py --seeds 10 --jobs 2 [--first-seed 20] [--worlds planted] [--methods slices auto]

Worlds are those of miscal.synthetic.worlds as they come (the sinusoid with A = 0.6, k = 3), drawn anew for each seed,
split 80/10/10 by random permutation. Every method is fitted to train and validation rows and judged on test rows by the
truth: no test outcome is used. `paper`, which searches a grid of networks, runs only when named.

Peers are all methods but auto, raw confidences included; the best of a world is chosen by its mean squared error of
delta, in hindsight. Differences are paired by draw of the world, and their intervals are Student's over the draws.
Targets: where there is hidden structure, auto is better than each peer (the interval of the difference lies below 0);
where there is none, its mean squared error is not above the best peer's by more than 1e-4 and beyond noise. A
comparison that is not cached counts as missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

from _cache import Cache, compute, limit_threads, print_costs
from _findings import recovery
from miscal.baselines import METHODS
from miscal.calibration.metrics import log_losses
from miscal.synthetic.worlds import WORLDS, random_split

FIELDS = ("n", "world", "seed", "method")
SLOW = ("paper",)
QUIET = ("calibrated", "visible_only")  # worlds without hidden structure
KINDS = {
    "r": "Pearson r of delta with the truth (0 for a constant field)",
    "rmse": "RMSE of delta with the truth",
    "excess": "expected log loss above the truth's",
}
TOLERANCE = 1e-4  # mean squared error by which auto may be worse where nothing is hidden, if the interval says so too


def evaluate(n: int, name: str, seed: int, method: str) -> dict:
    """Fit one method to one draw of one world; its errors on the test rows."""
    limit_threads()
    world = WORLDS[name](n, random_state=seed)
    split = random_split(n, random_state=seed)
    known, test = split != "test", split == "test"
    start = time.perf_counter()
    model = METHODS[method]().fit(
        world.X[known], world.correct[known], world.confidence[known], split=split[known], random_state=seed
    )
    X, f, truth = world.X[test], world.confidence[test], world.delta[test]
    delta = model.delta(X, f)
    return {
        "n": n, "world": name, "seed": seed, "method": method, "seconds": time.perf_counter() - start,
        "r": recovery(delta, truth), "excess": excess(f + truth, model.calibrate(X, f)),
        "squared": np.round((delta - truth) ** 2, 8).tolist(),
    }  # fmt: skip


def excess(eta: np.ndarray, corrected: np.ndarray) -> float:
    """Expected log loss of corrected confidences where P(y = 1) is eta, less that of eta itself; both clip at 1e-4."""
    one, zero = np.ones_like(eta), np.zeros_like(eta)
    more = [log_losses(y, corrected) - log_losses(y, eta) for y in (one, zero)]
    return float(np.mean(eta * more[0] + (1 - eta) * more[1]))


class Results:
    """The cached results, by world and method."""

    def __init__(self, cache: Cache, n: int, seeds: range, methods: list[str]) -> None:
        self.records, self.n, self.seeds, self.methods = cache.records, n, seeds, methods

    def of(self, world: str, method: str) -> dict[int, dict]:
        """Records by seed."""
        keys = {s: (self.n, world, s, method) for s in self.seeds}
        return {s: self.records[key] for s, key in keys.items() if key in self.records}

    def mean(self, world: str, method: str, kind: str) -> float:
        """Mean over seeds; NaN where nothing is cached or the measure is not defined."""
        values = [_value(record, kind) for record in self.of(world, method).values()]
        return float(np.mean(values)) if values else float("nan")

    def peers(self, world: str) -> list[str]:
        """Peers with results, best first."""
        found = [m for m in self.methods if m != "auto" and self.of(world, m)]
        return sorted(found, key=lambda m: self.mean(world, m, "mse"))

    def differences(self, world: str, peer: str) -> np.ndarray:
        """Mean squared error of delta, auto's less the peer's, by seed that both have; negative: auto is better."""
        ours, theirs = self.of(world, "auto"), self.of(world, peer)
        return np.array([_value(ours[s], "mse") - _value(theirs[s], "mse") for s in sorted(set(ours) & set(theirs))])


def interval(differences: np.ndarray) -> tuple[float, float]:
    """95 % interval of the mean by Student's t over the draws of a world; without limits for fewer than two."""
    if len(differences) < 2:
        return -np.inf, np.inf
    if not np.ptp(differences):
        return differences[0], differences[0]
    return stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))


def _value(record: dict, kind: str) -> float:
    if kind in ("mse", "rmse"):
        mse = float(np.mean(record["squared"]))
        return mse if kind == "mse" else float(np.sqrt(mse))
    return float("nan") if record[kind] is None else record[kind]


def print_table(results: Results, worlds: list[str], kind: str) -> None:
    best = np.nanmax if kind == "r" else np.nanmin
    digits = 5 if kind == "excess" else 4
    print(f"\n{KINDS[kind]}, test rows, n = {results.n:,}, mean over seeds\n")
    print("| world | " + " | ".join(results.methods) + " |\n|---|" + "---:|" * len(results.methods))
    for world in worlds:
        # a mean that rounds to zero has no sign
        row = np.round([results.mean(world, m, kind) for m in results.methods], digits) + 0.0
        top = np.nan if np.isnan(row).all() else best(row)
        cells = ["" if np.isnan(v) else f"**{v:.{digits}f}**" if v == top else f"{v:.{digits}f}" for v in row]
        print(f"| {world} | " + " | ".join(cells) + " |")


def print_duel(results: Results, worlds: list[str]) -> bool:
    """Print the table; whether the targets are met."""
    print(
        "\nauto against the best peer of each world, mean squared error of delta, in 1e-4; negative: auto is better\n"
    )
    print("| world | seeds | best peer | its error | auto | difference | 95 % interval over seeds | seeds ahead "
          "| peers it is not ahead of |\n|---|---:|---|---:|---:|---:|---:|---:|---|")  # fmt: skip
    missed = []
    for world in worlds:
        peers = results.peers(world)
        met = _print_row(results, world, peers) if peers and results.of(world, "auto") else False
        if not met or len(peers) < len(results.methods) - 1:
            missed.append(world)
    print(f"\nworlds that miss the target: {', '.join(missed) or 'none'}")
    return not missed


def _print_row(results: Results, world: str, peers: list[str]) -> bool:
    """Print the row of one world; whether its target is met."""
    found = {peer: results.differences(world, peer) for peer in peers}
    behind = [peer for peer, own in found.items() if not interval(own)[1] < 0]
    peer, own = peers[0], found[peers[0]]
    low, high = interval(own)
    shown = [1e4 * v for v in (*(results.mean(world, m, "mse") for m in (peer, "auto")), own.mean(), low, high)]
    error, ours, value, *limits = shown
    print(f"| {world} | {len(own)} | {peer} | {error:.2f} | {ours:.2f} | {value:+.2f} "
          f"| [{limits[0]:+.2f}, {limits[1]:+.2f}] | {np.sum(own < 0)} of {len(own)} "
          f"| {'' if world in QUIET else ', '.join(behind)} |")  # fmt: skip
    if world in QUIET:
        return not (own.mean() > TOLERANCE and low > 0)
    return not behind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=10_000, help="rows of a world")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=list(WORLDS))
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=[m for m in METHODS if m not in SLOW])
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--cache", type=Path, default=Path("bench_cache/worlds.jsonl"))
    parser.add_argument("--refresh", action="store_true", help="compute again what is cached")
    parser.add_argument("--print", action="store_true", help="print what is cached, compute nothing")
    args = parser.parse_args()
    cache, seeds = Cache(args.cache, FIELDS), range(args.first_seed, args.first_seed + args.seeds)
    if not args.print:
        keys = [(args.n, w, s, m) for s in seeds for w in args.worlds for m in args.methods]
        compute(cache, keys, evaluate, args.jobs, args.refresh)
    results = Results(cache, args.n, seeds, args.methods)
    for kind in KINDS:
        print_table(results, args.worlds, kind)
    met = print_duel(results, args.worlds) if "auto" in args.methods else True
    print_costs({m: [r for w in args.worlds for r in results.of(w, m).values()] for m in args.methods})
    sys.exit(not met)


if __name__ == "__main__":
    main()
