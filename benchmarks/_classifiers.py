"""Calibrated classifiers, for `real.py`: LocalCalibratedClassifier beside other ways to calibrate one.

Four classifiers (logistic regression, LightGBM, random forest, naive Bayes) are fitted to tables of two classes:
flights and census of --data, and three tables of scikit-learn. Every method is given the same: the classifier fitted to
the teaching rows, and probabilities of these rows by five folds of it; each is judged on rows that nothing has seen.
With several classes (digits, made data of 3 to 100 classes, and the 100 log-probabilities of an image classifier in
--data) miscal, too, is given the probabilities, with `cv="prefit"`. The seconds of miscal with two classes hold its own
fits of the classifier. Peers that are not installed are left out.

`tables`: boosted trees and logistic regression on halves of real tables (_tables.py, breast cancer, flights; census of
2015, judged by 2016): bare, and calibrated by scikit-learn and by miscal, of one fit to all rows, or averaged over the
fits to folds. The other halves, of which nothing was learned, judge.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from _later_rows import FILES
from _tables import OUTCOMES, PACKAGES, tables
from miscal import LocalCalibratedClassifier
from miscal.calibration.calibrators import LOGIT_CLIP
from miscal.calibration.global_map import SIMPLEX_MAPS, class_log_losses, log_probabilities

TWO = ("flights", "census", "breast cancer", "digits, even", "diabetes, high")
SEVERAL = ("digits", "made, 3", "made, 10", "made, 30", "made, 100", "cifar100")
CLASSIFIERS = ("logistic", "lightgbm", "forest", "naive Bayes")
OF_TWO = ("bare", "sigmoid", "isotonic", "temperature", "mcgrad", "venn-abers", "miscal")
OF_SEVERAL = ("bare", "temperature", "vector", "matrix", "structured matrix", "isotonic", "miscal")
OF_TABLES = (
    "bare", "sigmoid", "sigmoid, averaged", "isotonic", "isotonic, averaged", "miscal, global", "miscal, one fit",
    "miscal",
)  # fmt: skip
MOST_LEVELS = 60
"""A text column of a table with more values names its rows."""
NEEDS = {"mcgrad": "mcgrad", "venn-abers": "venn_abers", "structured matrix": "probmetrics"}
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
    if table in ("flights", "census", "census, later"):
        name, event, left = {
            "flights": ("flights_dev", "delayed", ["predicted_delay_risk"]),
            "census": ("census_dev_2015", "employed", ["predicted_probability", "id", "year"]),
            "census, later": ("census_dev_2016", "employed", ["predicted_probability", "id", "year"]),
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


@lru_cache(maxsize=1)
def packaged() -> dict[str, tuple[pd.DataFrame, np.ndarray]]:
    """Read columns and outcomes of the tables of packages of which somebody would predict something."""
    found = {}
    for table in tables(PACKAGES, OUTCOMES):
        frame, event = table.frame.drop("risk", "event"), table.frame["event"].to_numpy()
        codes = [one.name for one in frame if one.dtype in (pl.String, pl.Boolean)]
        found[table.name] = frame.to_pandas().astype(dict.fromkeys(codes, "category")), event
    return found


def classifier(name: str, X: object) -> object:
    """Return a classifier; columns of a frame that it cannot take are encoded."""
    if name == "boosting":
        return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
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


@lru_cache(maxsize=1)
def split(part: str, table: str, name: str, rows: int, seed: int, folder: Path | None) -> tuple[Rows, Rows]:
    """Return the rows to learn from and to judge, with the probabilities of a classifier."""
    if table == "cifar100":
        z = np.load(folder / "cifar100_dev.logp.npy").astype(np.float64)
        true = pl.read_parquet(folder / "cifar100_dev.parquet")["true_class"]
        code = np.searchsorted(np.sort(true.unique().to_numpy()), true.to_numpy())
        p = np.exp(log_probabilities(np.exp(z)))
        learned, judged = np.split(np.random.default_rng(0).permutation(len(code)), [min(rows, len(code) // 2)])
        return tuple(Rows(z[some], code[some], p[some]) for some in (learned, judged))
    X, y = packaged()[table] if table in OUTCOMES else read(part, table, folder)
    if table == "flights":
        X = X.assign(month=X["time_hour"].dt.month, day=X["time_hour"].dt.dayofyear).drop(columns="time_hour")
    if part == "tables" and hasattr(X, "columns"):
        X = X.drop(columns=[c for c in X.select_dtypes("category") if X[c].nunique() > MOST_LEVELS])
    n = min(rows, int((0.5 if part == "tables" else 0.6) * len(y)))
    A, B, a, b = train_test_split(X, y, train_size=n, test_size=min(2 * n, len(y) - n), stratify=y, random_state=seed)
    if part == "tables" and table == "census":
        later, outcome = read(part, "census, later", folder)
        # codes of one file are not those of the other
        B, b = later[A.columns].astype({c: kind for c, kind in A.dtypes.items() if kind == "category"}), outcome
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
        return of_folds(learned).predict_proba(judged.X)
    known = Known(np.vstack([learned.p, judged.p]))
    model = LocalCalibratedClassifier(known, cv="prefit").fit(numbered(learned, 0), learned.code)
    return model.predict_proba(numbered(judged, len(learned.code)))


@lru_cache(maxsize=1)
def of_folds(learned: Rows, method: str = "auto") -> LocalCalibratedClassifier:
    """LocalCalibratedClassifier with the classifier, whose fits to folds predict."""
    return LocalCalibratedClassifier(learned.model, cv=CV, method=method).fit(learned.X, learned.code)


def of_one_fit(learned: Rows, judged: Rows) -> np.ndarray:
    """LocalCalibratedClassifier with `ensemble=False`: the same correction, of the fit to all rows."""
    model = copy(of_folds(learned))
    model.estimators_ = [clone(learned.model).fit(learned.X, learned.code)]
    return model.predict_proba(judged.X)


def averaged(learned: Rows, judged: Rows, method: str) -> np.ndarray:
    """scikit-learn's own calibration of the fits to folds, each by a map of its own."""
    model = CalibratedClassifierCV(learned.model, method=method, cv=CV, ensemble=True)
    return model.fit(learned.X, learned.code).predict_proba(judged.X)


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
    **{f"{name}, averaged": partial(averaged, method=name) for name in ("sigmoid", "isotonic")},
    "mcgrad": mcgrad,
    "venn-abers": venn_abers,
    "structured matrix": structured_matrix,
    "miscal, global": lambda learned, judged: of_folds(learned, "global").predict_proba(judged.X),
    "miscal, one fit": of_one_fit,
    "miscal": wrapped,
}


def two(folder: Path | None) -> list[str]:
    """Tables of two classes, with each classifier."""
    return [f"{table}: {name}" for table in TWO if folder or table not in FILES for name in CLASSIFIERS]


def several(folder: Path | None) -> list[str]:
    """Tables of several classes, with each classifier."""
    made = [f"{table}: {name}" for table in SEVERAL[:-1] for name in ("logistic", "naive Bayes")]
    return [*made, *(["cifar100: given"] if folder else [])]


def of_tables(folder: Path | None) -> list[str]:
    """Real tables, each with boosted trees and with logistic regression."""
    packages = [name for name in OUTCOMES if find_spec(name.partition("/")[0])]
    names = ["breast cancer", *(FILES if folder else ()), *packages]
    return [f"{table}: {name}" for table in names for name in ("boosting", "logistic")]


def judged(part: str, folder: Path | None, name: str, rows: int, seed: int, method: str) -> dict | None:
    """Log loss of a method on a table with a classifier, its Brier score, and how long it took."""
    warnings.simplefilter("ignore")
    if method in NEEDS and find_spec(NEEDS[method]) is None:
        return None
    learned, rest = split(part, *name.split(": "), rows, seed, folder)
    began = time.perf_counter()
    p = METHODS[method](learned, rest)
    took = time.perf_counter() - began
    squared = ((p - np.eye(p.shape[1])[rest.code]) ** 2).sum(axis=1) / (1 if part == "several" else 2)
    loss = class_log_losses(rest.code, np.log(np.maximum(p, 1e-300)))
    return {"loss": loss, "Brier": float(squared.mean()), "fit": took}
