"""The field of real models where the truth is known: LifeEval, whose outcomes are drawn from actuarial tables.

    python benchmarks/lifeeval.py --data DIR --cache FILE [--methods ridge auto] [--seeds 3]

Every method estimates delta at every row by K-fold: the whole of its fit, choices included, sees nothing of the
fold it is asked about; the folds are the same for all. The truth is true_prob - f. Correlation is Pearson's, 0 for a
constant field.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

from _cache import Cache, compute, limit_threads
from _data import read_set, set_names
from miscal.base.folds import assign_folds, row_groups
from miscal.baselines import METHODS
from miscal.synthetic.scores import correlation

FIELDS = ("set", "seed", "method")


def cross_fitted(folder: Path, n_folds: int, name: str, seed: int, method: str) -> dict:
    """Field of every row by K-fold, with its agreement with the truth."""
    limit_threads()
    data = read_set(folder, name)
    folds = assign_folds(row_groups(data.X), n_folds, np.random.default_rng((seed, 7)))
    delta = np.empty(len(folds))
    start = time.perf_counter()
    for k in np.unique(folds):
        inside, rest = folds == k, folds != k
        model = METHODS[method]().fit(data.X[rest], data.correct[rest], data.confidence[rest], random_state=seed)
        delta[inside] = model.delta(data.X[inside], data.confidence[inside])
    return {
        "set": name, "seed": seed, "method": method, "seconds": time.perf_counter() - start,
        **agreement(delta, data.truth - data.confidence),
    }  # fmt: skip


def agreement(delta: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Pearson correlation (0 for a constant estimate) and root mean square error."""
    return {"r": correlation(delta, truth) or 0.0, "rmse": float(np.sqrt(np.mean((delta - truth) ** 2)))}


def print_table(cache: Cache, names: list[str], methods: list[str], seeds: int, kind: str) -> dict[str, float]:
    """Print one table; the mean over the sets, by method."""
    means = {}
    print(f"\n{'Pearson r' if kind == 'r' else 'RMSE'} of delta with the truth, mean over seeds\n")
    print("| method | " + " | ".join(n.split("/")[1] for n in names) + " | mean |\n|---|" + "---:|" * (len(names) + 1))
    for method in methods:
        cells = []
        for name in names:
            found = [cache.records[name, s, method][kind] for s in range(seeds) if (name, s, method) in cache.records]
            cells.append(np.mean(found) if found else np.nan)
        means[method] = float(np.mean(cells))
        shown = ["" if np.isnan(v) else f"{v:.4f}" for v in [*cells, means[method]]]
        print(f"| {method} | " + " | ".join(shown) + " |")
    return {method: value for method, value in means.items() if not np.isnan(value)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the parquet files and embeddings")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS))
    parser.add_argument("--jobs", type=int, default=1, help="processes, of one thread each")
    parser.add_argument("--cache", type=Path, default=Path("bench_cache/lifeeval.jsonl"))
    parser.add_argument("--refresh", action="store_true", help="compute again what is cached")
    parser.add_argument("--print", action="store_true", help="print what is cached, compute nothing")
    args = parser.parse_args()
    cache, names = Cache(args.cache, FIELDS), set_names(args.data, ["lifeeval/"])
    if not args.print:
        keys = [(n, s, m) for s in range(args.seeds) for m in args.methods for n in names]
        compute(cache, keys, partial(cross_fitted, args.data, args.folds), args.jobs, args.refresh)
    r, rmse = (print_table(cache, names, args.methods, args.seeds, kind) for kind in ("r", "rmse"))
    if "auto" in args.methods:
        ahead = all(r["auto"] > r[m] and rmse["auto"] < rmse[m] for m in r if m != "auto")
        print(f"\nauto ahead of every other method in both means: {ahead}")
        sys.exit(not ahead)


if __name__ == "__main__":
    main()
