"""What each way of the correction of several classes earns: log loss without it, paired, and seconds of the fit.

    python benchmarks/class_ways.py [--seeds 0 1]

Digits and three made tables of 3 to 10 classes; logistic regression, naive Bayes and a random forest learn from a fifth
of the rows, the correction from two fifths, and the rest is judged. A line gives the log loss by all ways, and for each
way what leaving it out costs, with its standard error over the judged rows of all cells.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from _script import limit_threads
from miscal.calibration.simplex_maps import class_log_losses, log_probabilities
from miscal.estimators.simplex import correction

WAYS = ("linear", "trees")
MADE = ((3, 6), (5, 4), (10, 10))
"""Classes and columns that say something, of twelve."""
MODELS = {
    "logistic": LogisticRegression(max_iter=200),
    "naive Bayes": GaussianNB(),
    "forest": RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
}


def tables(seed: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Inputs and classes by name."""
    made = {
        f"made, {k} classes": make_classification(
            6_000, n_features=12, n_informative=few, n_redundant=0, n_classes=k, flip_y=0.1, random_state=seed
        )
        for k, few in MADE
    }
    digits: Any = load_digits()
    return {"digits": (digits.data, digits.target), **made}


def losses(X: np.ndarray, y: np.ndarray, model: Any, seed: int) -> dict[str | None, tuple[np.ndarray, float]]:
    """Log loss of each judged row and processor seconds of the fit, by the way that is left out; None: by all."""
    order = np.random.default_rng(seed).permutation(len(y))
    taught, learned, judged = np.split(order, [len(y) // 5, 3 * (len(y) // 5)])
    p = model.fit(X[taught], y[taught]).predict_proba(X)
    every, found = correction._ways, {}
    for without in (None, *WAYS):
        kept = lambda rows, without=without: {k: v for k, v in every(rows).items() if k != without}  # noqa: E731
        with patch.object(correction, "_ways", kept):
            start = time.process_time()
            fitted = correction.fit_simplex(X[learned], y[learned], p[learned], seed=seed)
            seconds = time.process_time() - start
        q = fitted.apply(X[judged], p[judged])
        found[without] = class_log_losses(y[judged], log_probabilities(q)), seconds
    return found


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    seeds = parser.parse_args().seeds
    limit_threads()
    for name in tables(0):
        for called, model in MODELS.items():
            cells = [losses(*tables(seed)[name], model, seed) for seed in seeds]
            loss, seconds = (np.mean([np.mean(cell[None][i]) for cell in cells]) for i in (0, 1))
            line = f"{name:<18} {called:<12} {loss:.4f} in {seconds:.1f} s"
            for way in WAYS:
                apart = np.concatenate([cell[way][0] - cell[None][0] for cell in cells])
                line += f"; without {way} {apart.mean():+.4f} +- {apart.std() / np.sqrt(len(apart)):.4f}"
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
