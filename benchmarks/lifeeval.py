"""The field of real models where the truth is known: LifeEval, whose outcomes are drawn from actuarial tables.

    python benchmarks/lifeeval.py --data DIR [--methods ridge auto] [--seeds 3]

Every method estimates delta at every row by K-fold: the whole of its fit, choices included, sees nothing of the
fold it is asked about; the folds are the same for all. The truth is true_prob - f. Correlation is Pearson's, 0 for a
constant field. Target: auto is ahead of every other method in both means.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path

import numpy as np

from _data import read_set, set_names
from _script import cells, fitted, limit_threads, mean, options, results, show, target
from _store import Store
from baselines import METHODS
from miscal.base.folds import assign_folds, row_groups
from miscal.calibration.survey_design import correlation
from miscal.study.synthetic.fits import rmse

FIELDS = ("set", "seed", "method")
KINDS = {"r": "Pearson r", "rmse": "RMSE"}


def cross_fitted(folder: Path, n_folds: int, name: str, seed: int, method: str) -> dict:
    """Field of every row by K-fold, with its agreement with the truth."""
    limit_threads()
    data = read_set(folder, name)
    folds = assign_folds(row_groups(data.X), n_folds, np.random.default_rng((seed, 7)))
    delta, seconds, truth = np.empty(len(folds)), 0.0, data.truth - data.confidence
    for k in np.unique(folds):
        inside = folds == k
        model, spent = fitted(method, data.X, data.confidence, data.correct, ~inside, seed)
        delta[inside] = model.delta(data.X[inside], data.confidence[inside])
        seconds += spent
    return {
        "set": name, "seed": seed, "method": method, "seconds": seconds,
        "r": correlation(delta, truth) or 0.0, "rmse": rmse(delta, truth),
    }  # fmt: skip


def show_kind(args: argparse.Namespace, store: Store, names: list[str], kind: str) -> dict[str, float]:
    """Show one table; the mean over the sets, by method."""
    rows, means = [], {}
    for method in args.methods:
        values = [mean(store.of((name, s, method) for s in range(args.seeds)), kind) for name in names]
        rows.append([method, *cells([*values, np.mean(values)])])
        if not np.isnan(values).any():
            means[method] = float(np.mean(values))
    head = ["method", *(name.split("/")[1] for name in names), "mean"]
    show(args, f"{args.cache.stem}-{kind}", f"{KINDS[kind]} of delta with the truth, mean over seeds", head, rows)
    return means


def main() -> None:
    args = options(
        __doc__,
        "lifeeval",
        data="folder of real sets",
        seeds=1,
        folds=10,
        methods=[name for name, method in METHODS.items() if not method.reads_metadata],
    ).parse_args()
    names = set_names(args.data, ["lifeeval/"])
    keys = [(n, s, m) for s in range(args.seeds) for m in args.methods for n in names]
    store = results(args, FIELDS, keys, partial(cross_fitted, args.data, args.folds))
    r, rmses = (show_kind(args, store, names, kind) for kind in KINDS)
    if "auto" in args.methods:
        ahead = "auto" in r and all(r["auto"] > r[m] and rmses["auto"] < rmses[m] for m in r if m != "auto")
        sys.exit(not target("auto ahead of every other method in both means", ahead))


if __name__ == "__main__":
    main()
