"""Wrapped classifiers: log loss and Brier score of LocalCalibratedClassifier beside other ways to calibrate one.

    python benchmarks/wrapped_classifiers.py --data DIR [--rows 3000] [--parts two several]

Four classifiers (logistic regression, LightGBM, random forest, naive Bayes) are fitted to tables of two classes:
flights and census of --data, and three tables of scikit-learn. Every method is given the same: the classifier fitted to
the teaching rows, and probabilities of these rows by five folds of it; each is judged on rows that nothing has seen.
Peers are the bare classifier, scikit-learn's sigmoid, isotonic and temperature calibration, MCGrad (which sees the
columns, too) and Venn-Abers. With several classes (digits, made data of 3 to 100 classes, and the 100 log-probabilities
of an image classifier in --data) they are temperature, vector, matrix and structured matrix scaling and isotonic
regression of each class against the others; there miscal, too, is given the probabilities, with `cv="prefit"`. The
seconds of miscal with two classes hold its own fits of the classifier. Peers that are not installed are left out.

The targets are the lowest mean over the cells, and on no cell a loss that is higher than that of the best peer of the
cell, chosen in hindsight, by a paired test over the judged rows at 5 %, adjusted by Holm over all cells.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from _judge import holm
from _script import limit_threads, options, results, show, target
from miscal import LocalCalibratedClassifier
from miscal.calibration.calibrators import LOGIT_CLIP
from miscal.calibration.simplex_maps import SIMPLEX_MAPS, class_log_losses, log_probabilities

FIELDS = ("part", "table", "classifier", "rows")
TWO = ("flights", "census", "breast cancer", "digits, even", "diabetes, high")
SEVERAL = ("digits", "made, 3", "made, 10", "made, 30", "made, 100", "cifar100")
CLASSIFIERS = ("logistic", "lightgbm", "forest", "naive Bayes")
PEERS = {
    "two": ("bare", "sigmoid", "isotonic", "temperature", "mcgrad", "venn-abers"),
    "several": ("bare", "temperature", "vector", "matrix", "structured matrix", "isotonic"),
}
OURS = "miscal"
NEEDS = {"mcgrad": "mcgrad", "venn-abers": "venn_abers", "structured matrix": "probmetrics"}
LEVEL = 0.05
CV = StratifiedKFold(5, shuffle=True, random_state=0)


@dataclass(frozen=True, eq=False)
class Rows:
    """Inputs, classes, probabilities (n, K), and the classifier that they are of, where there is one.

    Probabilities of rows to learn from are those of folds, those of rows to judge of the whole fit.
    """

    X: Any
    code: np.ndarray
    p: np.ndarray
    model: Any = None


class Known(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose probabilities are known: it is told the place of each row."""

    def __init__(self, p: np.ndarray | None = None) -> None:
        self.p = p
        self.classes_ = np.arange(0 if p is None else p.shape[1])
        self.fitted_ = True

    def fit(self, X: object, y: object) -> Known:
        """Stay as it is."""
        return self

    def predict_proba(self, X: object) -> np.ndarray:
        """Look the rows up."""
        place = X["row"] if hasattr(X, "columns") else np.asarray(X)[:, 0]
        return self.p[np.asarray(place, dtype=np.int64)]

    def predict(self, X: object) -> np.ndarray:
        """Return the most probable class."""
        return self.predict_proba(X).argmax(axis=1)


# --- tables and classifiers ---------------------------------------------------------------------------------------


def read(part: str, table: str, folder: Path | None) -> tuple[Any, np.ndarray]:
    """Read inputs and classes of a table."""
    if table in ("flights", "census"):
        name, event, left = {
            "flights": ("flights_dev", "delayed", ["predicted_delay_risk"]),
            "census": ("census_dev_2015", "employed", ["predicted_probability", "id", "year"]),
        }[table]
        frame = pl.read_parquet(folder / f"{name}.parquet").drop(left)
        codes = [c for c, kind in frame.schema.items() if kind in (pl.String, pl.Categorical)]
        texts = frame.with_columns(pl.col(codes).cast(pl.String)).drop(event).to_pandas()
        return texts.astype(dict.fromkeys(codes, "category")), frame[event].to_numpy()
    if table == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    if table == "diabetes, high":
        X, y = load_diabetes(return_X_y=True)
        return X, (y > np.median(y)).astype(int)
    if table.startswith("digits"):
        X, y = load_digits(return_X_y=True)
        return X, y if part == "several" else (y % 2 == 0).astype(int)
    k = int(table.removeprefix("made, "))
    made = {"n_features": 20, "n_informative": 10, "n_clusters_per_class": 2 if k < 50 else 1}
    return make_classification(8000, n_classes=k, class_sep=1.5, random_state=k, **made)


def classifier(name: str, X: object) -> object:
    """Return a classifier; columns of a frame that it cannot take are encoded."""
    if name == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=100, num_leaves=15, n_jobs=1, random_state=0, verbose=-1)
    own = {
        "logistic": LogisticRegression(max_iter=500),
        "forest": RandomForestClassifier(100, random_state=0),
        "naive Bayes": GaussianNB(var_smoothing=1e-6),
    }[name]
    if not hasattr(X, "columns"):
        return make_pipeline(StandardScaler(), own)
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    codes = OneHotEncoder(
        min_frequency=20, max_categories=30, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    encoded = make_column_transformer(
        (numbers, make_column_selector(dtype_include=["number", "datetimetz"])),
        (codes, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(encoded, own)


def split(part: str, table: str, name: str, rows: int, folder: Path | None) -> tuple[Rows, Rows]:
    """Return the rows to learn from and to judge, with the probabilities of a classifier."""
    if table == "cifar100":
        z = np.load(folder / "cifar100_dev.logp.npy").astype(np.float64)
        true = pl.read_parquet(folder / "cifar100_dev.parquet")["true_class"]
        code = np.searchsorted(np.sort(true.unique().to_numpy()), true.to_numpy())
        p = np.exp(log_probabilities(np.exp(z)))
        learned, judged = np.split(np.random.default_rng(0).permutation(len(code)), [min(rows, len(code) // 2)])
        return tuple(Rows(z[some], code[some], p[some]) for some in (learned, judged))
    X, y = read(part, table, folder)
    if table == "flights":
        X = X.assign(month=X["time_hour"].dt.month, day=X["time_hour"].dt.dayofyear).drop(columns="time_hour")
    n = min(rows, int(0.6 * len(y)))
    A, B, a, b = train_test_split(X, y, train_size=n, test_size=min(2 * n, len(y) - n), stratify=y, random_state=0)
    model = classifier(name, X)
    p = cross_val_predict(model, A, a, cv=CV, method="predict_proba")
    return Rows(A, a, p, model), Rows(B, b, clone(model).fit(A, a).predict_proba(B))


# --- methods ------------------------------------------------------------------------------------------------------


def numbered(rows: Rows, start: int) -> pd.DataFrame:
    """Return the columns with the place of each row among all probabilities, which miscal leaves out as a name."""
    frame = rows.X if hasattr(rows.X, "columns") else pd.DataFrame(rows.X).add_prefix("x")
    return frame.assign(row=np.arange(start, start + len(rows.code)))


def wrapped(learned: Rows, judged: Rows) -> np.ndarray:
    """LocalCalibratedClassifier: of two classes with the classifier, of several with its probabilities."""
    if learned.p.shape[1] == 2:
        return LocalCalibratedClassifier(learned.model, cv=CV).fit(learned.X, learned.code).predict_proba(judged.X)
    known = Known(np.vstack([learned.p, judged.p]))
    model = LocalCalibratedClassifier(known, cv="prefit").fit(numbered(learned, 0), learned.code)
    return model.predict_proba(numbered(judged, len(learned.code)))


def of_scikit_learn(learned: Rows, judged: Rows, method: str) -> np.ndarray:
    """scikit-learn's own calibration of the same probabilities."""
    known = FrozenEstimator(Known(np.vstack([learned.p, judged.p])))
    model = CalibratedClassifierCV(known, method=method, ensemble=False, cv=2)
    places = [np.arange(len(learned.code))[:, None], len(learned.code) + np.arange(len(judged.code))[:, None]]
    return model.fit(places[0], learned.code).predict_proba(places[1])


def mcgrad(learned: Rows, judged: Rows) -> np.ndarray:
    """MCGrad with its defaults, on the columns and the probability."""
    import logging

    from mcgrad import methods

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    frames = []
    for rows in (learned, judged):
        frame = rows.X.copy() if hasattr(rows.X, "columns") else pd.DataFrame(rows.X).add_prefix("x")
        frame["score"] = np.clip(rows.p[:, 1], LOGIT_CLIP, 1 - LOGIT_CLIP)
        frame["outcome"] = rows.code
        frames.append(frame.reset_index(drop=True))
    codes = [name for name in frames[0] if str(frames[0][name].dtype) == "category"]
    frames = [frame.astype(dict.fromkeys(codes, str)) for frame in frames]
    numbers = [name for name in frames[0] if name not in (*codes, "score", "outcome")]
    model = methods.MCGrad(lightgbm_params={"num_threads": 1}, random_state=0)
    names = {"categorical_feature_column_names": codes, "numerical_feature_column_names": numbers}
    model.fit(frames[0], "score", "outcome", **names)
    second = np.asarray(model.predict(frames[1], "score", **names), np.float64)
    return np.column_stack([1 - second, second])


def venn_abers(learned: Rows, judged: Rows) -> np.ndarray:
    """Inductive Venn-Abers prediction."""
    from venn_abers import VennAbers

    model = VennAbers()
    model.fit(learned.p, learned.code)
    return np.asarray(model.predict_proba(judged.p)[0])


def structured_matrix(learned: Rows, judged: Rows) -> np.ndarray:
    """Structured matrix scaling of probmetrics."""
    from probmetrics.calibrators import SMSCalibrator

    return np.asarray(SMSCalibrator().fit(learned.p, learned.code).predict_proba(judged.p))


def scaled(learned: Rows, judged: Rows, name: str) -> np.ndarray:
    """Vector or matrix scaling."""
    ones = np.ones(len(learned.code))
    fitted = SIMPLEX_MAPS[name]().learn(learned.code, log_probabilities(learned.p), ones)
    return np.exp(fitted.apply(log_probabilities(judged.p)))


METHODS: dict[str, Callable[[Rows, Rows], np.ndarray]] = {
    "bare": lambda learned, judged: judged.p,
    **{name: partial(of_scikit_learn, method=name) for name in ("sigmoid", "isotonic", "temperature")},
    **{name: partial(scaled, name=name) for name in ("vector", "matrix")},
    "mcgrad": mcgrad,
    "venn-abers": venn_abers,
    "structured matrix": structured_matrix,
    OURS: wrapped,
}


def work(part: str, table: str, name: str, rows: int, *, folder: Path | None) -> dict:
    """Losses of every method on one table with one classifier."""
    warnings.simplefilter("ignore")
    start = time.perf_counter()
    learned, judged = split(part, table, name, rows, folder)
    by_row: dict[str, dict[str, np.ndarray]] = {}
    seconds = {}
    for method in (*PEERS[part], OURS):
        if method in NEEDS and find_spec(NEEDS[method]) is None:
            continue
        began = time.perf_counter()
        p = METHODS[method](learned, judged)
        seconds[method] = time.perf_counter() - began
        hot = np.eye(p.shape[1])[judged.code]
        squared = ((p - hot) ** 2).sum(axis=1) / (2 if part == "two" else 1)
        by_row[method] = {"log loss": class_log_losses(judged.code, np.log(np.maximum(p, 1e-300))), "Brier": squared}
    ours = by_row[OURS]
    told = {}
    for method, losses in by_row.items():
        for score, values in losses.items():
            apart = ours[score] - values
            error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
            told[f"{method}, {score}"] = [float(values.mean()), float(apart.mean()), error]
    named = dict(zip(FIELDS, (part, table, name, rows), strict=True))
    spent = time.perf_counter() - start
    return named | {"told": told, "each": seconds, "judged": len(judged.code), "seconds": spent}


# --- what is shown ------------------------------------------------------------------------------------------------


def report(args: argparse.Namespace, part: str, cells: Sequence[dict]) -> None:
    """Show the losses of every cell, the mean, the paired tests, and the time."""
    methods = [m for m in (*PEERS[part], OURS) if all(f"{m}, log loss" in one["told"] for one in cells)]
    for score in ("log loss", "Brier"):
        rows, p_values, named = [], [], []
        for one in cells:
            values = {m: one["told"][f"{m}, {score}"] for m in methods}
            best = min(methods[:-1], key=lambda m: values[m][0])
            _, apart, error = values[best]
            p = float(norm.sf(apart / error)) if error > 0 else 0.5
            p_values.append(p)
            named.append((one["table"], one["classifier"]))
            rows.append([*named[-1], *(f"{values[m][0]:.4f}" for m in methods), best, f"{apart:+.4f}", f"{p:.3f}"])
        means = [np.mean([one["told"][f"{m}, {score}"][0] for one in cells]) for m in methods]
        rows.append(["mean", "", *(f"{mean:.4f}" for mean in means), "", "", ""])
        head = ["table", "classifier", *methods, "best peer", "miscal less best", "p (miscal worse)"]
        show(args, f"wrapped-{part}-{score.lower().replace(' ', '-')}", f"{score}, {part} classes", head, rows)
        worse = [named[k] for k in np.flatnonzero(holm(np.array(p_values), LEVEL))]
        told = "; ".join(" with ".join(pair[::-1]) for pair in worse) or "none"
        least = min(means[:-1])
        target(f"{score}, {part} classes: lowest mean, {means[-1]:.4f} beside {least:.4f}", means[-1] < least)
        target(f"{score}, {part} classes: no cell worse than its best peer in hindsight (Holm): {told}", not worse)
    spent = {m: [one["each"][m] for one in cells] for m in methods}
    costs = [[m, f"{np.median(each):.1f}", f"{max(each):.1f}"] for m, each in spent.items()]
    show(args, f"wrapped-{part}-seconds", f"Seconds of each method, {part} classes",
         ["method", "median", "largest"], costs)  # fmt: skip


def _classifiers(part: str, table: str, asked: Sequence[str]) -> Sequence[str]:
    if part == "two":
        return asked
    return ("given",) if table == "cifar100" else ("logistic", "naive Bayes")


def main() -> int:
    """Run."""
    parser = options(
        __doc__, "wrapped_classifiers", data="folder of flights, census and cifar100", rows=3000,
        parts=["two", "several"], tables=[*TWO, *SEVERAL], classifiers=list(CLASSIFIERS),
    )  # fmt: skip
    args = parser.parse_args()
    limit_threads()
    keys = [
        (part, table, name, args.rows)
        for part in args.parts
        for table in (TWO if part == "two" else SEVERAL)
        if table in args.tables and (args.data or table not in ("flights", "census", "cifar100"))
        for name in _classifiers(part, table, args.classifiers)
    ]
    store = results(args, FIELDS, keys, partial(work, folder=args.data))
    for part in args.parts:
        found = [store.records[key] for key in keys if key[0] == part and key in store.records]
        if found:
            report(args, part, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
