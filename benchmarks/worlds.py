"""Recovery of known fields: every method on every synthetic world, against the truth.

    python benchmarks/worlds.py --seeds 10 --jobs 2 [--first-seed 20] [--worlds planted] [--methods slices auto]

Worlds are those of _worlds.py as they come (the sinusoid with A = 0.6, k = 3), drawn anew for each seed,
split 80/10/10 by random permutation. Every method is fitted to train and validation rows and judged on test rows by the
truth: no test outcome is used. `paper`, which searches a grid of networks, runs only when named.

Peers are all methods but auto, raw confidences included; the best of a world is chosen by its mean squared error of
delta, in hindsight. Differences are paired by draw of the world, and their intervals are Student's over the draws.
Targets: where there is hidden structure, auto is better than each peer (the interval of the difference lies below 0);
where there is none, its mean squared error is not above the best peer's by more than 1e-4 and beyond noise. A
comparison that is not stored counts as missed.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from scipy import stats

from _findings import recovery
from _script import cells, fitted, limit_threads, mean, options, results, show, show_costs, target
from _store import Store
from _worlds import WORLDS
from baselines import METHODS
from miscal.calibration.metrics import log_losses
from miscal.study.synthetic.fits import rmse
from miscal.study.synthetic.worlds import random_split

FIELDS = ("n", "world", "seed", "method")
SLOW = ("paper",)
QUIET = ("calibrated", "visible_only")  # worlds without hidden structure
KINDS = {
    "r": ("Pearson r of delta with the truth (0 for a constant field)", 4),
    "rmse": ("RMSE of delta with the truth", 4),
    "excess": ("expected log loss above the truth's", 5),
}
TOLERANCE = 1e-4
"""Mean squared error by which auto may be worse where nothing is hidden, if the interval says so too; not tuned."""


def evaluate(n: int, name: str, seed: int, method: str) -> dict:
    """Fit one method to one draw of one world; its errors on the test rows."""
    limit_threads()
    world, split = WORLDS[name](n, random_state=seed), random_split(n, random_state=seed)
    test = split == "test"
    model, seconds = fitted(method, world.X, world.confidence, world.correct, ~test, seed, split)
    X, f, truth = world.X[test], world.confidence[test], world.delta[test]
    delta = model.delta(X, f)
    return {
        "n": n, "world": name, "seed": seed, "method": method, "seconds": seconds,
        "r": recovery(delta, truth), "excess": excess(f + truth, model.calibrate(X, f)),
        "rmse": rmse(delta, truth), "mse": rmse(delta, truth) ** 2,
    }  # fmt: skip


def excess(eta: np.ndarray, corrected: np.ndarray) -> float:
    """Expected log loss of corrected confidences where P(y = 1) is eta, less that of eta itself; both clip at 1e-4."""
    one, zero = np.ones_like(eta), np.zeros_like(eta)
    more = [log_losses(y, corrected) - log_losses(y, eta) for y in (one, zero)]
    return float(np.mean(eta * more[0] + (1 - eta) * more[1]))


class Scores:
    """The stored results, by world and method."""

    def __init__(self, store: Store, args: argparse.Namespace) -> None:
        self.store, self.args = store, args

    def of(self, world: str, method: str) -> list[dict]:
        """Results by seed."""
        first, n = self.args.first_seed, self.args.seeds
        return self.store.of((self.args.n, world, seed, method) for seed in range(first, first + n))

    def mean(self, world: str, method: str, kind: str) -> float:
        return mean(self.of(world, method), kind)

    def peers(self, world: str) -> list[str]:
        """Peers with results, best first."""
        found = [m for m in self.args.methods if m != "auto" and self.of(world, m)]
        return sorted(found, key=lambda m: self.mean(world, m, "mse"))

    def differences(self, world: str, peer: str) -> np.ndarray:
        """Mean squared error of delta, auto's less the peer's, by seed that both have; negative: auto is better."""
        ours, theirs = ({r["seed"]: r["mse"] for r in self.of(world, method)} for method in ("auto", peer))
        return np.array([ours[s] - theirs[s] for s in sorted(set(ours) & set(theirs))])


def interval(differences: np.ndarray) -> tuple[float, float]:
    """95 % interval of the mean by Student's t over the draws of a world; without limits for fewer than two."""
    if len(differences) < 2:
        return -np.inf, np.inf
    if not np.ptp(differences):
        return differences[0], differences[0]
    return stats.t.interval(0.95, len(differences) - 1, differences.mean(), stats.sem(differences))


def show_duel(scores: Scores) -> bool:
    """Show auto against the best peer of each world; whether the targets are met."""
    rows, missed = [], []
    for world in scores.args.worlds:
        peers = scores.peers(world)
        row, met = duel(scores, world, peers) if peers and scores.of(world, "auto") else (None, False)
        rows += [row] if row else []
        if not met or len(peers) < len(scores.args.methods) - 1:
            missed.append(world)
    head = ["world", "seeds", "best peer", "its error", "auto", "difference", "low", "high", "seeds ahead",
            "peers it is not ahead of"]  # fmt: skip
    title = ("auto against the best peer of each world, mean squared error of delta, in 1e-4, with a 95 % interval "
             "over seeds; negative: auto is better")  # fmt: skip
    show(scores.args, f"{scores.args.cache.stem}-duel", title, head, rows)
    return target(f"worlds that miss the target: {', '.join(missed) or 'none'}", not missed)


def duel(scores: Scores, world: str, peers: list[str]) -> tuple[list, bool]:
    """Row of one world; whether its target is met."""
    found = {peer: scores.differences(world, peer) for peer in peers}
    behind = [peer for peer, own in found.items() if not interval(own)[1] < 0]
    own, (low, high) = found[peers[0]], interval(found[peers[0]])
    error, ours = (f"{1e4 * scores.mean(world, m, 'mse'):.2f}" for m in (peers[0], "auto"))
    shown = [error, ours, *(f"{1e4 * value:+.2f}" for value in (own.mean(), low, high))]
    ahead, named = f"{np.sum(own < 0)} of {len(own)}", "" if world in QUIET else ", ".join(behind)
    met = not (own.mean() > TOLERANCE and low > 0) if world in QUIET else not behind
    return [world, len(own), peers[0], *shown, ahead, named], met


def main() -> None:
    methods = [m for m in METHODS if m not in SLOW and not METHODS[m].reads_metadata]
    args = options(__doc__, "worlds", n=10_000, seeds=10, first_seed=0, worlds=list(WORLDS),
                   methods=methods).parse_args()  # fmt: skip
    seeds = range(args.first_seed, args.first_seed + args.seeds)
    keys = [(args.n, w, s, m) for s in seeds for w in args.worlds for m in args.methods]
    scores = Scores(results(args, FIELDS, keys, evaluate), args)
    for kind, (words, digits) in KINDS.items():
        best = np.nanmax if kind == "r" else np.nanmin
        rows = [[w, *cells([scores.mean(w, m, kind) for m in args.methods], digits, best)] for w in args.worlds]
        title = f"{words}, test rows, n = {args.n:,}, mean over seeds"
        show(args, f"{args.cache.stem}-{kind}", title, ["world", *args.methods], rows)
    met = show_duel(scores) if "auto" in args.methods else True
    costs = {m: [record for w in args.worlds for record in scores.of(w, m)] for m in args.methods}
    show_costs(args, f"{args.cache.stem}-cost", costs)
    sys.exit(not met)


if __name__ == "__main__":
    main()
