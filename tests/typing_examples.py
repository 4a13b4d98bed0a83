"""What users write, which `make check` gives to a type checker in strict mode. It is not run."""

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

import miscal


def frames(path: Path) -> None:
    """One call on a file, and what its result holds."""
    found: miscal.Run = miscal.discover(path, text="question", metadata=["topic"])
    headline: str = found.summary.answer.headline
    print(headline, found.findings, found.correct(pl.read_parquet(path)))
    found.save("run")
    again = miscal.load("run")
    assert isinstance(again, miscal.Run)  # and not the model of a run alone
    compared: miscal.RunComparison = again.compare(found)
    looked: miscal.Monitoring = miscal.monitor("run", path)
    print(compared.verdict[0], looked.alarm)


def arrays(X: np.ndarray, y: np.ndarray, f: np.ndarray) -> NDArray[np.float64]:
    """The estimator and the classifier."""
    field: miscal.MiscalibrationField = miscal.MiscalibrationField().fit(X, y, confidence=f)
    model: miscal.LocalCalibratedClassifier = miscal.LocalCalibratedClassifier(LogisticRegression(), cv=5).fit(X, y)
    delta: NDArray[np.float64] = field.predict(X, confidence=f)
    probabilities: NDArray[np.float64] = model.predict_proba(X)
    return delta + probabilities[:, 1]
