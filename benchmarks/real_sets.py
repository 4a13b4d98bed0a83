"""Held-out losses of every method on every real set, and what its field shows and proves.

    python benchmarks/real_sets.py --data DIR --seeds 3 [--sets mmlu/ stated] [--methods ridge auto]

A set is one model's answers to one file (see benchmarks/_data.py); 80/10/10 by the seed, equal inputs on one side.
Every method is fitted to train and validation rows and judged on test rows; log loss clips at 1e-4. The best peer of a
set is chosen by its test log loss, in hindsight. Intervals are paired: by rows, pooled over the seeds (whose test rows
overlap a little, which the interval ignores). A method's regimes are where it moves a confidence by over 0.05.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np

from _data import read_set, set_names
from _findings import gap_found, hidden_limit
from _measure import peak_mb
from _script import cells, fitted, limit_threads, options, results, show, show_costs, target
from _store import Store
from baselines import METHODS
from miscal.calibration.metrics import log_losses, paired_difference, smece

FIELDS = ("set", "seed", "method")
KINDS = {
    "log-loss": "log loss",
    "brier": "Brier score",
    "smece": "smECE",
    "gap": "worst-slice gap of the raw confidences between the method's regimes (more is better)",
    "proved": "hidden miscalibration proved, lower 95 % limit (more is better)",
}
MORE_IS_BETTER = ("gap", "proved")
TOLERANCE = 0.004
"""Log loss by which a set may be worse than its best peer, if the interval says so too; not tuned."""


def evaluate(folder: Path | None, name: str, seed: int, method: str) -> dict:
    """Fit one method to one split of one set; its corrected confidences of the test rows."""
    limit_threads()
    data = read_set(folder, name)
    split = data.split(seed)
    test = split == "test"
    model, seconds = fitted(method, data.X, data.confidence, data.correct, ~test, seed, split, data.metadata)
    p = model.calibrate(data.X[test], data.confidence[test], {c: v[test] for c, v in data.metadata.items()})
    return {
        "set": name, "seed": seed, "method": method, "seconds": seconds, "peak_mb": peak_mb(),
        "settings": model.settings_,
        "y": data.correct[test].astype(int).tolist(), "corrected": np.round(p, 6).tolist(),
    }  # fmt: skip


class Scores:
    """Losses of the stored results, by set and method."""

    def __init__(self, store: Store, args: argparse.Namespace) -> None:
        self.store, self.args = store, args

    def of(self, name: str, method: str) -> list[dict]:
        """Results by seed."""
        return self.store.of((name, seed, method) for seed in range(self.args.seeds))

    def loss(self, record: dict, kind: str) -> np.ndarray | float:
        """Loss by row ("log-loss", "brier") or one number ("smece", "gap", "proved")."""
        y, p = np.array(record["y"], float), np.array(record["corrected"])
        if kind == "log-loss":
            return log_losses(y, p)
        if kind == "brier":
            return (y - p) ** 2
        if kind == "smece":
            return smece(y, p)
        data = read_set(self.args.data, record["set"])
        if kind == "gap":
            return gap_found(data, record["seed"], record)
        isotonic = self.store.of([(record["set"], record["seed"], "isotonic")])
        return hidden_limit(data, record["seed"], record, isotonic[0]) if isotonic else float("nan")

    def mean(self, name: str, method: str, kind: str = "log-loss") -> float:
        """Mean over seeds; NaN where nothing is stored."""
        values = [np.mean(self.loss(record, kind)) for record in self.of(name, method)]
        return float(np.mean(values)) if values else float("nan")

    def best_peer(self, name: str) -> str | None:
        peers = [m for m in self.args.methods if m not in ("raw", "auto") and self.of(name, m)]
        return min(peers, key=lambda m: self.mean(name, m), default=None)

    def difference(self, name: str, peer: str):
        """Log loss of auto minus the peer's, by rows of the seeds that both have; positive: auto is worse."""
        pairs = [(a, b) for a in self.of(name, "auto") for b in self.of(name, peer) if a["seed"] == b["seed"]]
        both = [np.concatenate([self.loss(pair[i], "log-loss") for pair in pairs]) for i in (0, 1)] if pairs else None
        return paired_difference(*both) if both else None


def show_losses(scores: Scores, names: list[str], kind: str) -> None:
    args = scores.args
    best = np.nanmax if kind in MORE_IS_BETTER else np.nanmin
    table = np.array([[scores.mean(n, m, kind) for m in args.methods] for n in names])
    rows = [[name, *cells(row, best=best)] for name, row in zip(names, table, strict=True)]
    rows.append([f"average of {len(names)} sets", *cells(table.mean(0))])
    title = f"{KINDS[kind]}, test rows, mean over seeds"
    show(args, f"{args.cache.stem}-{kind}", title, ["set", *args.methods], rows)


def show_duel(scores: Scores, names: list[str]) -> bool:
    """Show auto against the best peers; whether it is better on average, nowhere worse beyond tolerance and noise."""
    args, rows, values, worse = scores.args, [], [], []
    for name in names:
        peer = scores.best_peer(name)
        found = scores.difference(name, peer) if peer else None
        if not found or not found.interval:
            continue
        values.append([scores.mean(name, peer), scores.mean(name, "auto"), found.value])
        if found.value > TOLERANCE and found.interval[0] > 0:
            worse.append(name)
        theirs, ours, value = values[-1]
        low, high = found.interval
        losses = f"{theirs:.4f}", f"{ours:.4f}", f"{value:+.4f}"
        rows.append([name, len(scores.of(name, "auto")), peer, *losses, f"{low:+.4f}", f"{high:+.4f}"])
    if not values:
        return False
    theirs, ours, value = np.mean(values, axis=0)
    rows.append([f"average of {len(rows)} sets", "", "", f"{theirs:.4f}", f"{ours:.4f}", f"{value:+.4f}", "", ""])
    head = ["set", "seeds", "best peer", "its log loss", "auto", "difference", "low", "high"]
    title = "auto against the best peer of each set, log loss, paired 95 % interval; negative: auto is better"
    show(args, f"{args.cache.stem}-duel", title, head, rows)
    line = (
        f"average below the best peer's: {ours < theirs}; worse by over {TOLERANCE} beyond noise: {worse or 'nowhere'}"
    )
    return target(line, ours < theirs and not worse)


def main() -> None:
    parser = options(__doc__, "real_sets", data="folder of real sets; default: the demo data",
                     seeds=3, methods=list(METHODS))  # fmt: skip
    parser.add_argument("--sets", nargs="+", help="keep the sets whose name contains one of these")
    args = parser.parse_args()
    names = set_names(args.data, args.sets)
    keys = [(n, s, m) for s in range(args.seeds) for n in names for m in args.methods]
    scores = Scores(results(args, FIELDS, keys, partial(evaluate, args.data), fresh=True), args)
    for kind in KINDS:
        show_losses(scores, names, kind)
    met = show_duel(scores, names) if "auto" in args.methods else True
    costs = {m: [record for n in names for record in scores.of(n, m)] for m in args.methods}
    show_costs(args, f"{args.cache.stem}-cost", costs)
    sys.exit(not met)


if __name__ == "__main__":
    main()
