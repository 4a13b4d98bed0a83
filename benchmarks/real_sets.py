"""Held-out losses of every method on every real set, and what its field shows and proves.

    python benchmarks/real_sets.py --data DIR --seeds 3 --cache FILE [--sets mmlu/ stated] [--methods ridge auto]

A set is one model's answers to one file (see benchmarks/_data.py); 80/10/10 by the seed, equal inputs on one side.
Every method is fitted to train and validation rows and judged on test rows; log loss clips at 1e-4. The results are
kept as JSON lines, so the run can be stopped, resumed, and printed half-way (--print). The best peer of a set is
chosen by its test log loss, in hindsight. Intervals are paired: by rows, pooled over the seeds (whose test rows overlap
a little, which the interval ignores). A method's regimes are where it moves a confidence by over 0.05.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from _cache import Cache, compute, limit_threads, print_costs
from _data import read_set, set_names
from _findings import gap_found, hidden_limit
from _measure import peak_mb
from miscal.baselines import METHODS
from miscal.calibration.metrics import log_losses, paired_difference, smece

PEERS = [name for name in METHODS if name not in ("raw", "auto")]
FIELDS = ("set", "seed", "method")
KINDS = {
    "log_loss": "log loss",
    "brier": "Brier score",
    "smece": "smECE",
    "gap": "worst-slice gap of the raw confidences between the method's regimes (more is better)",
    "proved": "hidden miscalibration proved, lower 95 % limit (more is better)",
}
MORE_IS_BETTER = ("gap", "proved")
TOLERANCE = 0.004  # log loss by which a set may be worse than its best peer, if the interval says so too


def evaluate(folder: Path | None, name: str, seed: int, method: str) -> dict:
    """Fit one method to one split of one set; its corrected confidences of the test rows."""
    limit_threads()
    data = read_set(folder, name)
    split = data.split(seed)
    known, test = split != "test", split == "test"
    start = time.perf_counter()
    model = METHODS[method]().fit(
        data.X[known], data.correct[known], data.confidence[known], split=split[known], random_state=seed
    )
    p = model.calibrate(data.X[test], data.confidence[test])
    seconds = time.perf_counter() - start
    return {
        "set": name, "seed": seed, "method": method, "seconds": seconds, "peak_mb": peak_mb(),
        "settings": model.settings_,
        "y": data.correct[test].astype(int).tolist(), "corrected": np.round(p, 6).tolist(),
    }  # fmt: skip


class Scores:
    """Losses of the cached results, by set and method, pooled over the seeds that every method has."""

    def __init__(self, cache: Cache, methods: list[str], seeds: range, folder: Path | None) -> None:
        self.records, self.methods, self.seeds, self.folder = cache.records, methods, seeds, folder

    def seeds_of(self, name: str, method: str) -> list[int]:
        return [s for s in self.seeds if (name, s, method) in self.records]

    def losses(self, name: str, method: str, kind: str) -> dict[int, np.ndarray | float]:
        """Per seed: row losses ("log_loss", "brier") or one number ("smece", "gap", "proved")."""
        out = {}
        for seed in self.seeds_of(name, method):
            record = self.records[name, seed, method]
            y, p = np.array(record["y"], float), np.array(record["corrected"])
            out[seed] = {
                "log_loss": lambda y=y, p=p: log_losses(y, p),
                "brier": lambda y=y, p=p: (y - p) ** 2,
                "smece": lambda y=y, p=p: smece(y, p),
                "gap": lambda s=seed, r=record: gap_found(read_set(self.folder, name), s, r),
                "proved": lambda s=seed, r=record: self._proved(name, s, r),
            }[kind]()
        return out

    def _proved(self, name: str, seed: int, record: dict) -> float:
        isotonic = self.records.get((name, seed, "isotonic"))
        return hidden_limit(read_set(self.folder, name), seed, record, isotonic) if isotonic else float("nan")

    def mean(self, name: str, method: str, kind: str = "log_loss") -> float:
        """Mean over seeds; NaN where nothing is cached."""
        values = [float(np.mean(v)) for v in self.losses(name, method, kind).values()]
        return float(np.mean(values)) if values else float("nan")

    def best_peer(self, name: str) -> str | None:
        peers = {m: self.mean(name, m) for m in self.methods if m in PEERS and self.seeds_of(name, m)}
        return min(peers, key=peers.get) if peers else None

    def difference(self, name: str, ours: str, peer: str):
        """Log loss of ours minus the peer's, by rows of the seeds that both have; positive: ours is worse."""
        a, b = self.losses(name, ours, "log_loss"), self.losses(name, peer, "log_loss")
        common = sorted(set(a) & set(b))
        if not common:
            return None
        return paired_difference(np.concatenate([a[s] for s in common]), np.concatenate([b[s] for s in common]))


def print_table(scores: Scores, names: list[str], kind: str) -> None:
    best = np.nanmax if kind in MORE_IS_BETTER else np.nanmin
    print(f"\n{KINDS[kind]}, test rows, mean over seeds\n")
    print("| set | " + " | ".join(scores.methods) + " |\n|---|" + "---:|" * len(scores.methods))
    table = np.array([[scores.mean(n, m, kind) for m in scores.methods] for n in names])
    for name, row in zip(names, table, strict=True):
        cells = [("" if np.isnan(v) else f"**{v:.4f}**" if v == best(row) else f"{v:.4f}") for v in row]
        print(f"| {name} | " + " | ".join(cells) + " |")
    complete = ~np.isnan(table).any(0)
    means = [f"{v:.4f}" if c else "" for v, c in zip(table.mean(0), complete, strict=True)]
    print(f"| average of {len(names)} sets | " + " | ".join(means) + " |")


def print_duel(scores: Scores, names: list[str], ours: str) -> bool:
    """Print the table; whether the target is met: better on average, nowhere worse beyond tolerance and noise."""
    print(f"\n{ours} against the best peer of each set, log loss; negative: {ours} is better\n")
    print(f"| set | seeds | best peer | its log loss | {ours} | difference | paired 95 % interval |")
    print("|---|---:|---|---:|---:|---:|---:|")
    gaps, mine, theirs, worse = [], [], [], []
    for name in names:
        peer = scores.best_peer(name)
        found = peer and scores.difference(name, ours, peer)
        if not found or found.interval is None:
            continue
        low, high = found.interval
        gaps.append(found.value)
        if found.value > TOLERANCE and low > 0:
            worse.append(name)
        mine.append(scores.mean(name, ours))
        theirs.append(scores.mean(name, peer))
        seeds = len(scores.seeds_of(name, ours))
        print(f"| {name} | {seeds} | {peer} | {theirs[-1]:.4f} | {mine[-1]:.4f} "
              f"| {found.value:+.4f} | [{low:+.4f}, {high:+.4f}] |")  # fmt: skip
    if not gaps:
        return False
    their, our = np.mean(theirs), np.mean(mine)
    print(f"| average of {len(gaps)} sets | | | {their:.4f} | {our:.4f} | {np.mean(gaps):+.4f} | |")
    print(
        f"\naverage below the best peer's: {our < their}; worse by over {TOLERANCE} beyond noise: {worse or 'nowhere'}"
    )
    return bool(our < their and not worse)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of real sets; default: the demo data")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", nargs="+", help="keep the sets whose name contains one of these")
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS))
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--cache", type=Path, default=Path("bench_cache/real_sets.jsonl"))
    parser.add_argument("--refresh", action="store_true", help="compute again what is cached")
    parser.add_argument("--print", action="store_true", help="print what is cached, compute nothing")
    args = parser.parse_args()
    cache, names = Cache(args.cache, FIELDS), set_names(args.data, args.sets)
    if not args.print:
        keys = [(n, s, m) for s in range(args.seeds) for n in names for m in args.methods]
        compute(cache, keys, partial(evaluate, args.data), args.jobs, args.refresh, fresh=True)
    scores = Scores(cache, args.methods, range(args.seeds), args.data)
    for kind in KINDS:
        print_table(scores, names, kind)
    met = print_duel(scores, names, "auto") if "auto" in args.methods else True
    print_costs({m: [scores.records[n, s, m] for n in names for s in scores.seeds_of(n, m)] for m in scores.methods})
    sys.exit(not met)


if __name__ == "__main__":
    main()
