"""Few columns of many, for `small.py`: 1 or 10 of 600 hide an error.

Columns are independent standard normal numbers; the log-odds of the confidence are standard normal, those of the truth
are shifted by the planted columns, equally each, up or down:

    steps     a column's sign around a point between its quartiles
    fifths    one of the upper fifth of a column alone
    slopes    the column itself
    pairs     the product of the signs of two columns, each of which alone says nothing
    none      nothing: what is learned harms

Every method is fitted to the rows and judged on 3,000 fresh ones by the truth.

    auto      MiscalibrationField()
    trees     LightGBM from the confidence's log-odds: 2, 4, 8 or 16 leaves and 10 to 160 rounds, by five folds
    lasso     logistic lasso on the columns with the same offset, its penalty by five folds
    mcgrad    the package MCGrad, where it is installed

`score` is the kernel score, `scan` a scan of the columns (slope and middle step) with Bonferroni's correction.
"""

from __future__ import annotations

import time
from importlib.util import find_spec
from itertools import pairwise

import numpy as np
from scipy.special import expit, logit, ndtr
from scipy.stats import norm

from _shares import FOUND
from _validity_counts import Told
from baselines import METHODS
from miscal.evidence.kernel_score import smoothed_residuals

FIELDS = ("kind", "planted", "columns", "rows", "method", "seed", "size")
KINDS = ("steps", "fifths", "slopes", "pairs")
FEW = (*(f"{kind}, {planted}, of 600" for kind in KINDS for planted in (1, 10)), "none, 1, of 600")
PEERS = ("raw", "trees", "lasso", *(("mcgrad",) if find_spec("mcgrad") else ()))
FRESH, LEVEL = 3_000, 0.05
LEAVES, ROUNDS = (2, 4, 8, 16), (10, 20, 40, 80, 160)
SIZE, SEEN = 0.8, 0.3
"""Root mean square of what is hidden in log-odds, where it is mended and where it is seen."""
PENALTIES, STEPS = np.geomspace(1.0, 0.1, 12), 40
Draw = tuple[np.ndarray, np.ndarray, np.ndarray]


def draw(kind: str, planted: int, d: int, n: int, seed: int, size: float) -> Draw:
    """Draw inputs, confidences and true rates."""
    rng = np.random.default_rng((seed, planted, d, n, ["none", *KINDS].index(kind)))
    X = rng.standard_normal((n, d)).astype(np.float32)
    f = expit(rng.standard_normal(n))
    column = rng.choice(d, (2, planted), replace=False)
    effect = size / np.sqrt(planted) * rng.choice([-1, 1], planted)
    one, other = X[:, column[0]], X[:, column[1]]
    shapes = {
        "none": np.zeros_like(one),
        "steps": np.sign(one - norm.ppf(rng.uniform(0.25, 0.75, planted))),
        # one in five, of unit variance
        "fifths": (one > norm.ppf(0.8)) / 0.4 - 0.5,
        "slopes": one,
        "pairs": np.sign(one * other),
    }
    return X, f, expit(logit(f) + shapes[kind] @ effect)


def trees(X: np.ndarray, y: np.ndarray, offset: np.ndarray, fresh: np.ndarray, seed: int) -> np.ndarray:
    """Shift of fresh rows by boosted trees, leaves and rounds by five folds."""
    import lightgbm

    settings = {
        "objective": "binary", "learning_rate": 0.1, "lambda_l2": 5.0, "max_bin": 63, "bagging_fraction": 0.7,
        "bagging_freq": 1, "min_data_in_leaf": int(np.clip(len(y) // 100, 5, 30)), "boost_from_average": False,
        "num_threads": 1, "verbose": -1, "seed": seed,
    }  # fmt: skip
    columns, new = (np.column_stack([at, o]) for at, o in ((X, offset), (fresh[:, :-1], fresh[:, -1])))
    data = lightgbm.Dataset(columns, y, init_score=offset, params=settings, free_raw_data=False).construct()
    fold = np.random.default_rng(seed).permutation(len(y)) % 5
    losses = {}
    for leaves in LEAVES:
        shape, best, worse = {**settings, "num_leaves": leaves}, np.inf, 0
        boosters = [lightgbm.Booster(shape, data.subset(np.flatnonzero(fold != k))) for k in range(5)]
        for before, rounds in pairwise((0, *ROUNDS)):
            total = 0.0
            for k, booster in enumerate(boosters):
                for _ in range(before, rounds):
                    booster.update()
                shift = booster.predict(columns[fold == k], raw_score=True, num_threads=1)
                total += float(_loss(y[fold == k], offset[fold == k] + shift).sum())
            losses[leaves, rounds], worse, best = total, 0 if total < best else worse + 1, min(best, total)
            # the loss falls and then rises: more rounds are the dearest
            if worse == 2:
                break
    leaves, rounds = min(losses, key=lambda one: losses[one])
    booster = lightgbm.train({**settings, "num_leaves": leaves}, data, rounds)
    return booster.predict(new, raw_score=True, num_threads=1)


def lasso(X: np.ndarray, y: np.ndarray, offset: np.ndarray, fresh: np.ndarray, seed: int) -> np.ndarray:
    """Shift of fresh rows by a lasso along falling penalties, which is chosen by five folds; all fits go together."""
    fold = np.random.default_rng(seed).permutation(len(y)) % 5
    kept = np.concatenate([fold != np.arange(5)[:, None], np.ones((1, len(y)), bool)]).astype(np.float32)
    X, new = (np.column_stack([at, np.ones(len(at), np.float32)]) for at in (X, fresh[:, :-1]))
    start = kept * (y - expit(offset))
    # the last column is the intercept, which has no penalty
    free = np.append(np.ones(X.shape[1] - 1, np.float32), 0)
    curvature = 0.25 * np.linalg.norm(X, 2) ** 2
    b = np.zeros((6, X.shape[1]), np.float32)
    best = (np.inf, b[-1])
    for penalty in PENALTIES:
        # each fit has its own scale: the penalty at which its first column would enter
        threshold = penalty * np.abs(start.astype(np.float32) @ X[:, :-1]).max(1)[:, None] * free / curvature
        ahead, t = b, 1.0
        for _ in range(STEPS):
            residual = kept * (y - expit(offset + ahead @ X.T)).astype(np.float32)
            moved = ahead + residual @ X / curvature
            new_b = (np.sign(moved) * np.maximum(np.abs(moved) - threshold, 0)).astype(np.float32)
            after = (1 + np.sqrt(1 + 4 * t * t)) / 2
            ahead, b, t = new_b + np.float32((t - 1) / after) * (new_b - b), new_b, after
        shift = (b @ X.T)[fold, np.arange(len(y))]
        best = min(best, (float(_loss(y, offset + shift).sum()), b[-1].copy()), key=lambda one: one[0])
    return new @ best[1]


def _loss(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    return np.logaddexp(0, z) - y * z


def mended(kind: str, planted: int, d: int, n: int, method: str, seed: int, size: float) -> dict:
    """Fit a method to one draw; its error on fresh rows, in points of probability, and the seconds of its fit."""
    X, f, truth = draw(kind, planted, d, n + FRESH, seed, size)
    y = (np.random.default_rng((seed, 5)).random(n) < truth[:n]).astype(float)
    known, new, start = (X[:n], f[:n]), (X[n:], f[n:]), time.process_time()
    if method in ("trees", "lasso"):
        fit = {"trees": trees, "lasso": lasso}[method]
        offset = logit(new[1])
        shift = fit(known[0], y, logit(known[1]), np.column_stack([new[0], offset]).astype(np.float32), seed)
        seconds, corrected = time.process_time() - start, expit(offset + shift)
    else:
        model = METHODS[method]().fit(known[0], y, known[1], random_state=seed)
        seconds, corrected = time.process_time() - start, model.calibrate(*new)
    error = 100 * float(np.sqrt(np.mean((corrected - truth[n:]) ** 2)))
    return {**dict(zip(FIELDS, (kind, planted, d, n, method, seed, size), strict=True)),
            "error": error, "seconds": seconds}  # fmt: skip


def seen(kind: str, planted: int, d: int, n: int, method: str, seed: int, size: float) -> dict:
    """P-values of the kernel score and of the scan of columns, of one draw."""
    start = time.process_time()
    X, f, truth = draw(kind, planted, d, n, seed, size)
    y = (np.random.default_rng((seed, 6)).random(n) < truth).astype(float)
    found = smoothed_residuals(X, y, f, f, random_state=seed)
    return {**dict(zip(FIELDS, (kind, planted, d, n, method, seed, size), strict=True)),
            "score": found.p_value, "scan": scan(X, y - f, f * (1 - f)),
            "seconds": time.process_time() - start}  # fmt: skip


def scan(X: np.ndarray, residual: np.ndarray, variance: np.ndarray) -> float:
    """Smallest p-value of a slope or a step in the middle of a column, times their number."""
    z = [np.abs(residual @ at) / np.sqrt(variance @ at**2) for at in (X, np.sign(X - np.median(X, 0)))]
    return float(min(1.0, 2 * ndtr(-np.max(z)) * 2 * X.shape[1]))


def few(world: str, n: int, seed: int) -> Told:
    """Error of the corrected probability by every method, in points; and whether what is hidden is seen."""
    kind, planted, d = world.split(", ")
    cell = kind, int(planted), int(d.split()[1]), n
    told = Told(means={f"error, {method}": mended(*cell, method, seed, SIZE)["error"] for method in ("auto", *PEERS)})
    power = seen(*cell, "power", seed, SEEN)
    told.misses = {f"{name}{FOUND}": power[name] < LEVEL for name in ("score", "scan")}
    if kind == "none":
        told.misses["score where nothing is"] = power["score"] < LEVEL
    return told
