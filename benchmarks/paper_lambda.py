"""Mass penalties below the grid of the paper's method: what lambda = 1e-5, 1e-6 and 0 give on real sets.

    python benchmarks/paper_lambda.py --data DIR [--sets lifeeval mlb538] [--print]

On most real sets the lambda that the proxy chooses is the smallest of the grid, 1e-4. Here the grid goes on below it.
For each lambda the bandwidth of the smallest proxy is taken, as the method would. Printed are the proxy (the validation
Brier score of f + delta), the same on test rows, which nothing was chosen by, and how large the field is. Nothing is a
target: the default grid stays as it is.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np

from _data import read_set, set_names
from _script import limit_threads, options, results, show
from miscal.data.triples import Triples
from miscal.estimators.paper.field import BANK_SIZE, draw_training
from miscal.estimators.paper.grid import LAMBDAS, SIGMAS, search
from miscal.study.synthetic.tables import brief

BELOW = (0.0, 1e-6, 1e-5)
"""Penalties tried below the grid."""


def compute(folder: Path | None, name: str, seed: int) -> dict:
    """Search the longer grid on one set, and judge the best setting of every lambda on test rows."""
    limit_threads()
    start = time.perf_counter()
    one = read_set(folder, name)
    split = one.split(seed)
    rows = Triples.of(one.X, confidence=one.confidence, correct=one.correct, split=split)
    train, val, test = (np.flatnonzero(split == part) for part in ("train", "val", "test"))
    rng = np.random.default_rng(seed)
    data, drawn = draw_training(rows, np.ones(len(rows)), train, val, BANK_SIZE, rng)
    lambdas = (*BELOW, *LAMBDAS)
    found = search(data, sigmas=SIGMAS, penalties=lambdas, seed=drawn, n_jobs=1)
    told = []
    for penalty in lambdas:
        at = [i for i, candidate in enumerate(found.candidates) if candidate.penalty == penalty]
        best = min(at, key=lambda i: found.candidates[i].proxy)
        candidate, delta = found.candidates[best], found.trainings[best].estimate(data, rows.X[test])
        told.append({
            "lambda": penalty, "sigma": candidate.sigma, "epoch": candidate.epoch, "proxy": candidate.proxy,
            "test": float(np.mean(np.square(rows.residual[test] - delta))), "std": float(delta.std()),
        })  # fmt: skip
    return {"set": name, "seed": seed, "lambdas": told, "seconds": time.perf_counter() - start}


def shown(records: list[dict]) -> list[list[str]]:
    """Rows of the table: the smallest proxy of each set in bold."""
    rows = []
    for record in records:
        best = min(one["proxy"] for one in record["lambdas"])
        for one in record["lambdas"]:
            proxy = f"**{one['proxy']:.4f}**" if one["proxy"] == best else f"{one['proxy']:.4f}"
            numbers = f"{one['test']:.4f}", f"{one['std']:.3f}", f"{one['sigma']:g}", str(one["epoch"])
            rows.append([record["set"], brief(one["lambda"]), proxy, *numbers])
    return rows


def main(argv: list[str] | None = None) -> None:
    parser = options(__doc__, "paper-lambda", data="folder of the real sets; default: the packaged demo data",
                     sets=["lifeeval"], seed=0)  # fmt: skip
    args: argparse.Namespace = parser.parse_args(argv)
    names = set_names(args.data, args.sets if args.data else None)
    keys = [(name, args.seed) for name in names]
    store = results(args, ("set", "seed"), keys, partial(compute, args.data))
    records = store.of(keys)
    head = ["set", "lambda", "proxy", "on test rows", "std of the field", "sigma", "epoch"]
    show(args, "paper-lambda", "the best bandwidth of every lambda", head, shown(records))
    wins = sum(min(r["lambdas"], key=lambda one: one["proxy"])["lambda"] < min(LAMBDAS) for r in records)
    print(f"\nThe proxy would choose a lambda below {brief(min(LAMBDAS))} on {wins} of {len(records)} sets.")


if __name__ == "__main__":
    main()
