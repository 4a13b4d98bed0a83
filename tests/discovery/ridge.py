"""A quick ridge that stands in for the field, and rows with a shift that it finds."""

from contextlib import contextmanager
from typing import ClassVar

import numpy as np
import pytest

from miscal.calibration.calibrators import Identity
from miscal.data.triples import Triples
from miscal.discovery.discover import discover as discover_triples
from miscal.estimators.registry import ESTIMATORS, Estimator, FieldEstimate


class RidgeField(Estimator):
    """A third estimator: delta = a linear function of the signs of x."""

    structure_: ClassVar = True
    settings_: ClassVar = {"ridge": np.float64(1.0)}
    selection_: ClassVar = [{"name": "ridge", "log_loss": np.float32(0.5), "proxy": float("nan"), "chosen": True}]
    global_map_: ClassVar = Identity()
    seen: ClassVar = []
    w: np.ndarray

    def __init__(self, *, random_state=0, n_jobs=None, ridge=1.0):
        self.random_state, self.ridge = random_state, ridge

    def fit(self, rows):
        type(self).seen.append((rows.X.copy(), rows.correct.copy(), None if rows.split is None else rows.split.copy()))
        A = np.c_[np.ones(len(rows)), np.sign(rows.X)]
        self.w = np.linalg.solve(A.T @ A + self.ridge * np.eye(A.shape[1]), A.T @ rows.residual)
        return self

    def for_folds(self):
        return RidgeField(ridge=self.ridge)

    def estimate(self, X, confidence):
        n, f = len(X), confidence
        delta = np.clip(f + np.c_[np.ones(n), np.sign(X)] @ self.w, 0, 1) - f
        visible = np.full(n, self.w[0])
        return FieldEstimate(
            delta=delta,
            mass=np.full(n, 50.0),
            supported=X[:, 0] < 2.5,
            visible=visible,
            hidden=delta - visible,
            corrected=f + delta,
            coordinates=X.astype(float),
            standard_error=np.full(n, 0.05),
        )

    def transform(self, X):
        return X.astype(float)


@contextmanager
def quickly():
    """Let the ridge stand in for the field."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ESTIMATORS, "auto", f"{__name__}:RidgeField")
        yield


@pytest.fixture(scope="module", autouse=True)
def quick():
    with quickly():
        yield


def discover(rows, **options):
    return discover_triples(rows, n_jobs=1, **options)


def triples(n=500, seed=0, strength=0.3, **options):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    f = rng.uniform(0.35, 0.65, n)
    y = rng.random(n) < f + strength * np.sign(X[:, 0])
    text = [f"question {i} of {'law' if x < 0 else 'sums'}" for i, x in enumerate(X[:, 0])]
    return Triples.of(X, confidence=f, correct=y, text=text, metadata={"year": np.arange(n) % 7}, **options)
