"""How far do corrected values depend on the deal of folds, landmarks and draws: what does another seed move?

    python benchmarks/deal.py [--rows 500 2000] [--seeds 5] [--draws 1]

A table of three numbers and a kind of four, with uniform confidences; log-odds are off by 0.8 in two kinds and by 0.6
where two numbers have one sign. The same rows are corrected under several seeds. Columns, in probability: the root mean
square difference between two seeds and its 95 % quantile over rows, of the values of a run (field.parquet: each row by
fits that have not seen it) and of the saved correction at 2,000 new rows; and, beside them, the root mean square error
of the correction and of the raw confidences against the truth, which is known.
"""

from __future__ import annotations

import time
from itertools import combinations, product

import numpy as np
import polars as pl
from scipy.special import expit, logit

from _script import cells, limit_threads, options, results, show
from miscal import MiscalibrationField
from miscal.data.readers import read_triples
from miscal.discovery.estimating import prepare
from miscal.estimators.honest import honest_field

FIELDS = ("rows", "draw")
NEW_ROWS = 2_000


def table(n: int, rng: np.random.Generator) -> tuple[pl.DataFrame, np.ndarray]:
    """Draw rows, and the probability of each."""
    x, kind = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
    f = rng.uniform(0.1, 0.9, n)
    truth = expit(logit(f) - 0.8 * (kind == 0) + 0.8 * (kind == 1) + 0.6 * np.sign(x[:, 0] * x[:, 1]))
    numbers = {f"x{k}": x[:, k] for k in range(3)}
    outcome = (rng.random(n) < truth).astype(int)
    return pl.DataFrame({**numbers, "kind": [f"k{k}" for k in kind], "confidence": f, "correct": outcome}), truth


def one_draw(seeds: int, rows: int, draw: int) -> dict:
    """Correct the same rows under several seeds."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, rows, 303))
    both, truth = table(rows + NEW_ROWS, rng)
    # columns of both parts are read alike
    read = read_triples(both, group="none", seed=0)
    known, new = read.take(np.arange(rows)), read.take(np.arange(rows, rows + NEW_ROWS))
    triples, order, _ = prepare(known, "all", 0)
    own, later = [], []
    for seed in range(seeds):
        own.append(honest_field(MiscalibrationField(random_state=seed, n_jobs=1), triples).corrected)
        field = MiscalibrationField(random_state=seed, n_jobs=1).fit_triples(triples)
        later.append(field.fitted_.correct(new.X, new.confidence).corrected)
    found = {"rows": rows, "draw": draw, "seeds": seeds}
    for name, values, confidence, true in (
        ("run", own, triples.confidence, truth[:rows][order]),
        ("new", later, new.confidence, truth[rows:]),
    ):
        moved = np.abs(np.concatenate([one - other for one, other in combinations(values, 2)]))
        error = np.stack(values) - true
        found |= {
            f"{name} moved": float(np.sqrt(np.mean(moved**2))), f"{name} moved 95": float(np.quantile(moved, 0.95)),
            f"{name} error": float(np.sqrt(np.mean(error**2))),
            f"{name} raw error": float(np.sqrt(np.mean((confidence - true) ** 2))),
        }  # fmt: skip
    return found | {"seconds": time.perf_counter() - start}


def main() -> None:
    """Run and show."""
    parser = options(__doc__, "deal", rows=[500, 2_000], draws=1, seeds=5)
    args = parser.parse_args()
    keys = [*product(args.rows, range(args.draws))]

    def work(rows: int, draw: int) -> dict:
        return one_draw(args.seeds, rows, draw)

    store = results(args, FIELDS, keys, work)
    shown = []
    for rows, (name, what) in product(args.rows, (("run", "rows of the run"), ("new", "new rows"))):
        mine = [store[key] for key in keys if key[0] == rows]
        columns = ("moved", "moved 95", "error", "raw error")
        means = [np.mean([one[f"{name} {column}"] for one in mine]) for column in columns]
        shown.append([str(rows), what, str(len(mine)), str(mine[0]["seeds"]), *cells(means, 3)])
    head = [
        "rows",
        "values at",
        "tables",
        "seeds",
        "moved, RMS",
        "moved, 95 % quantile",
        "error, RMS",
        "raw error, RMS",
    ]
    show(args, "deal", "what another seed moves, in probability", head, shown)


if __name__ == "__main__":
    main()
