"""How often is a correction from few rows worse than none, where nothing is hidden, and what does it save elsewhere?

    python benchmarks/harm.py --draws 40 [--data DIR] [--csv benchmarks/notes]

Fits of `miscal.estimators.auto` to 60 to 1,500 rows whose rarer outcome has a rate of 1 to 50 %. Log losses are those
of 4,000 fresh rows, by the true rates; confidences are clipped as everywhere. `claimed`: fits that claim local
structure. `worse`: fits whose correction has a log loss more than 0.01 above that of their own global map. `map worse`:
fits whose global map has one more than 0.01 above the confidences as they are, where these are right.

    nothing hidden   rates depend on the confidence alone. Half of the worlds have right confidences, half have log-odds
                     1.5 times too large; inputs are normal, heavy-tailed, or columns of 0 and 1, and in half of the
                     worlds the first follows the confidence
    a shift hidden   as the first, and 0.7 in log-odds are hidden by the sign of a column

With --data also real rows of each model in four sets: the mean log loss that the correction saves over its own global
map, and over the confidences as they are, on the rows that were not drawn.

Target: at most 2 % of fits are worse where nothing is hidden, by a binomial test at 1 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, logit
from scipy.stats import binom

from _data import read_set, set_names
from _script import limit_threads, options, show, target
from miscal.calibration.metrics import log_losses
from miscal.data.triples import Triples
from miscal.estimators.auto.estimator import fit_auto
from miscal.estimators.auto.model import AutoModel

ROWS, RATES = (60, 100, 200, 500, 1_500), (0.01, 0.02, 0.05, 0.2, 0.5)
FRESH, HARM, MOST = 4_000, 0.01, 0.02
MANY = 500
"""Rows from which a quarter of the draws is made: fits take long, and seldom err."""
TOO_SURE, HIDDEN, COLUMNS = 1.5, 0.7, (2, 12, 40)
REAL_ROWS, REAL_SEEDS = (100, 300, 1_000), 3


def world(rng: np.random.Generator, n: int, rate: float, hidden: float) -> tuple[np.ndarray, ...]:
    """Inputs, confidences and true rates of a world, and whether its confidences are right but for what is hidden."""
    spread, columns = rng.choice([0.4, 0.8, 1.6]), rng.choice(COLUMNS)
    odds = logit(rate) + spread * (rng.uniform(-1.7, 1.7, n) - 0.3 * spread * (rate < 0.5))
    X = [rng.normal(size=(n, columns)), rng.standard_t(3, (n, columns)), (rng.random((n, columns)) < 0.3) * 1.0][
        rng.integers(3)
    ]
    if rng.random() < 0.5:
        X[:, 0] = odds + rng.normal(size=n)
    right = bool(rng.random() < 0.5)
    shift = hidden * np.where(X[:, 1] > np.median(X[:, 1]), 1.0, -1.0)
    return X, expit(odds if right else TOO_SURE * odds), expit(odds + shift), right


def losses(p: np.ndarray, rate: np.ndarray) -> float:
    """Mean log loss at true rates."""
    right, wrong = np.ones_like(p), np.zeros_like(p)
    return float(np.mean(rate * log_losses(right, p) + (1 - rate) * log_losses(wrong, p)))


def fit(X: np.ndarray, f: np.ndarray, y: np.ndarray, seed: int) -> AutoModel:
    """Fit the default estimator."""
    return fit_auto(Triples.of(X, confidence=f, correct=y), seed=seed)


def one_fit(rows: int, rate: float, draw: int, hidden: float) -> tuple[float, float, float, float]:
    """Whether structure is claimed, and log loss: correction less map, map less raw (NaN if not right), less raw."""
    rng = np.random.default_rng((77, rows, round(1_000 * rate), draw, round(10 * hidden)))
    X, f, p, right = world(rng, rows + FRESH, rate, hidden)
    y = (rng.random(rows) < p[:rows]).astype(float)
    model = fit(X[:rows], f[:rows], y, draw)
    fresh = slice(rows, None)
    raw, base = losses(f[fresh], p[fresh]), losses(model.base(f[fresh]), p[fresh])
    after = losses(model.correct(X[fresh], f[fresh]).corrected, p[fresh])
    return float(model.structure), after - base, base - raw if right else np.nan, after - raw


def made(args: argparse.Namespace, hidden: float, draws: int) -> dict[tuple[str, float], np.ndarray]:
    """Fits of made worlds, by number of rows and by rate."""
    found: dict[tuple[str, float], list] = {}
    for rows in args.rows:
        for rate in RATES:
            fits = [one_fit(rows, rate, draw, hidden) for draw in range(draws if rows < MANY else draws // 4)]
            for key in (("rows", rows), ("rate", rate), ("all", 0)):
                found.setdefault(key, []).extend(fits)
        print(f"{rows} rows, {hidden} hidden", file=sys.stderr, flush=True)
    return {key: np.array(fits) for key, fits in found.items()}


def made_rows(what: str, found: dict[tuple[str, float], np.ndarray]) -> list[list]:
    """Rows of the table of made worlds."""
    return [
        [
            what, kind if kind == "all" else f"{at:g} {kind}", len(fits), *(f"{100 * share:.1f}" for share in (
                fits[:, 0].mean(), np.mean(fits[:, 1] > HARM), np.nanmean(np.where(np.isnan(fits[:, 2]), np.nan,
                                                                                    fits[:, 2] > HARM)))),
            f"{fits[:, 1].max():.3f}", f"{np.nanmax(fits[:, 2]):.3f}", *(f"{-mean:+.4f}" for mean in (
                fits[:, 1].mean(), fits[:, 3].mean())),
        ]
        for (kind, at), fits in sorted(found.items())
    ]  # fmt: skip


def real(args: argparse.Namespace) -> list[list]:
    """Rows of the table of real sets, by rows learned from."""
    table = []
    for name in [name for name in set_names(args.data) if name.split("/")[0] in SETS]:
        data = read_set(args.data, name)
        for rows in REAL_ROWS:
            if len(data.correct) < 2 * rows:
                continue
            saved = np.array([_saved(data, rows, seed) for seed in range(REAL_SEEDS)])
            table.append([name, rows, *(f"{one:+.4f}" for one in saved.mean(0))])
    return table


def _saved(data, rows: int, seed: int) -> Sequence[float]:
    known = np.zeros(len(data.correct), bool)
    known[np.random.default_rng((seed, rows)).choice(len(known), rows, replace=False)] = True
    model = fit(data.X[known], data.confidence[known], data.correct[known], seed)
    f, y = data.confidence[~known], data.correct[~known]
    raw, base, after = (log_losses(y, p).mean() for p in (f, model.base(f), model.correct(data.X[~known], f).corrected))
    return base - after, raw - base, raw - after


SETS = ("mmlu", "mmlupro", "lifeeval", "stated")


def main() -> None:
    """Fit, count, show, and compare with the target."""
    parser = options(__doc__, data="folder of real sets, which are left out without it", draws=40, rows=list(ROWS))
    args = parser.parse_args()
    limit_threads()
    if args.data:
        head = ["set", "rows", "correction over map", "map over raw", "correction over raw"]
        show(args, "harm-real", f"log loss saved on rows that were not drawn, {REAL_SEEDS} draws", head, real(args))
    nothing = made(args, 0.0, args.draws)
    hidden = made(args, HIDDEN, max(4, args.draws // 5))
    head = ["world", "fits of", "fits", "claimed, %", "worse, %", "map worse, %", "most by correction", "most by map",
            "saved over map", "saved over raw"]  # fmt: skip
    rows = made_rows("nothing hidden", nothing) + made_rows("a shift hidden", hidden)
    show(args, "harm", f"log loss of {FRESH:,} fresh rows", head, rows)
    fits = nothing["all", 0]
    worse = int(np.sum(fits[:, 1] > HARM))
    line = f"worse where nothing is hidden: {worse} of {len(fits)} fits, {100 * MOST:g} % meant"
    sys.exit(not target(line, worse <= binom.ppf(0.99, len(fits), MOST)))


if __name__ == "__main__":
    main()
