"""Which correction should the top label of several classes have: that of all classes, or a field's of its own?

    python benchmarks/top_label.py [--data DIR] [--rows 5000] [--folds 3]

Out of fold, the probabilities of all classes are corrected (`fit_simplex`), and the largest one also by a field
(method auto, as the confidence that it is right). "Pinned" puts the field's in its place and scales the others so that
the row sums to 1. Sets: made rows whose first class is underrated on a part of the inputs; scikit-learn's digits by
naive Bayes and by a logistic regression held back; and with --data the 100 classes of cifar100_dev.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from _script import limit_threads, options, show
from miscal.base.folds import assign_folds
from miscal.calibration.simplex_maps import class_log_losses
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.simplex.correction import fit_simplex

LEAST = 1e-12
Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


def made(n: int = 3_000, n_classes: int = 5) -> Rows:
    """Inputs, probabilities and classes; the odds of the first class are higher where the first input is large."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    z = X @ rng.normal(size=(4, n_classes))
    true = z.copy()
    true[:, 0] += 1.5 * (X[:, 0] > 0.5)
    p, q = (np.exp(one - one.max(axis=1, keepdims=True)) for one in (z, true))
    q /= q.sum(axis=1, keepdims=True)
    return X, p, np.array([rng.choice(n_classes, p=row) for row in q])


def digits(name: str) -> Rows:
    """Return digits, and a model's probabilities out of fold."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB

    X, y = load_digits(return_X_y=True)
    X = X / 16  # from 0 to 1
    model = GaussianNB() if name == "naive Bayes" else LogisticRegression(max_iter=2_000, C=0.1)
    return X, cross_val_predict(model, X, y, cv=5, method="predict_proba"), y


def cifar100(folder: Path, rows: int) -> Rows:
    """Return margin, entropy and superclass predicted, log-probabilities of 100 classes, and the classes."""
    import polars as pl

    table = pl.read_parquet(folder / "cifar100_dev.parquet")
    p = np.exp(np.load(folder / "cifar100_dev.logp.npy").astype(float))
    names = sorted({*table["true_class"], *table["pred_class"]})
    code = np.array([names.index(one) for one in table["true_class"]])
    above = np.unique(table["pred_superclass"].to_numpy(), return_inverse=True)[1]
    X = np.column_stack([table["margin"], table["entropy"], np.eye(above.max() + 1)[above]])
    some = np.random.default_rng(0).permutation(len(code))[:rows]
    return X[some], p[some], code[some]


def measured(name: str, rows: Rows, n_folds: int) -> list:
    """Log loss of all classes as given, corrected, and with the top label pinned; the difference with its error."""
    X, p, code = rows
    p = np.maximum(p, LEAST) / np.maximum(p, LEAST).sum(axis=1, keepdims=True)
    at, top = np.arange(len(code)), p.argmax(axis=1)
    f, right = p[at, top], (top == code).astype(float)
    folds = assign_folds(at, n_folds, np.random.default_rng(0))
    corrected, pinned = np.empty_like(p), np.empty_like(p)
    for k in range(n_folds):
        known, told = folds != k, np.flatnonzero(folds == k)
        corrected[told] = fit_simplex(X[known], code[known], p[known]).apply(X[told], p[told])
        field = MiscalibrationField(random_state=0, n_jobs=1).fit(X[known], right[known], confidence=f[known])
        own = np.clip(field.calibrate(X[told], confidence=f[told]), 1e-4, 1 - 1e-4)
        others = np.maximum(1 - corrected[told, top[told]], LEAST)
        pinned[told] = corrected[told] * ((1 - own) / others)[:, None]
        pinned[told, top[told]] = own
    losses = [class_log_losses(code, np.log(np.maximum(one, LEAST))) for one in (p, corrected, pinned)]
    worse = losses[2] - losses[1]
    means = [f"{one.mean():.4f}" for one in losses]
    return [name, len(code), p.shape[1], *means, f"{worse.mean():+.4f}", f"{worse.std() / len(code) ** 0.5:.4f}"]


def main() -> None:
    parser = options(__doc__, data="folder of cifar100_dev.parquet and cifar100_dev.logp.npy", rows=5_000, folds=3)
    args: argparse.Namespace = parser.parse_args()
    limit_threads()
    sets = [("made", made()), *((f"digits, {name}", digits(name)) for name in ("naive Bayes", "logistic regression"))]
    if args.data:
        sets.append(("cifar100", cifar100(args.data, args.rows)))
    head = ["set", "rows", "classes", "as given", "corrected", "pinned", "pinned less corrected", "standard error"]
    title = "log loss of all classes, the top label corrected with them or by a field"
    show(args, "top_label", title, head, [measured(name, rows, args.folds) for name, rows in sets])


if __name__ == "__main__":
    main()
