"""Corrections as `miscal discover` really fits them, for `monitor.py`: made-up rows, their run folders, and more rows.

Three normal inputs, a column of four values, confidences uniform between 0.2 and 0.95. What is hidden takes turns by
draw: +-0.6 in log-odds on the halves of an input; by the values of the column; and nothing, with a slope of 1.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit

from miscal.data.readers import read_triples
from miscal.discovery.discover import discover
from miscal.evidence.betting import clipped_logit
from miscal.report import write_run

KINDS = ("half", "column", "visible")
VALUES = np.array(["art", "law", "maths", "music"], dtype=object)
FEATURES = "x_0,x_1,x_2"


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Rows with their rates.

    Attributes
    ----------
    X : (n, 3) float64
    subject : (n,) object
    confidence, rate : (n,) float64
    """

    X: np.ndarray
    subject: np.ndarray
    confidence: np.ndarray
    rate: np.ndarray


def made_up(rng: np.random.Generator, n: int, kind: str) -> MadeUp:
    """Rows of a world."""
    X, code, f = rng.normal(size=(n, 3)), rng.integers(0, len(VALUES), n), rng.uniform(0.2, 0.95, n)
    hidden = {"half": 0.6 * np.sign(X[:, 0]), "column": np.array([0.8, -0.8, 0.0, 0.0])[code], "visible": 0.0}[kind]
    slope = 1.5 if kind == "visible" else 1.0
    return MadeUp(X, VALUES[code], f, expit(slope * clipped_logit(f) + hidden))


def run_of(folder: Path, n: int, draw: int) -> Path:
    """Return the run folder of a draw, fitted unless it is there."""
    place = folder / f"{n}-{draw}"
    if (place / "run" / "summary.json").exists():
        return place / "run"
    rng = np.random.default_rng((draw, n, 28))
    rows = made_up(rng, n, KINDS[draw % len(KINDS)])
    place.mkdir(parents=True, exist_ok=True)
    columns = {f"x_{k}": rows.X[:, k] for k in range(3)}
    columns |= {"subject": rows.subject.tolist(), "confidence": rows.confidence}
    columns |= {"correct": (rng.random(n) < rows.rate).astype(int)}
    pl.DataFrame(columns).write_parquet(place / "data.parquet")
    data = read_triples(place / "data.parquet", features=FEATURES, names_only="subject")
    write_run(discover(data, map_method="pca", n_jobs=1, seed=draw), place / "run", report=False)
    return place / "run"
