"""Tables of mixed columns in which a model is wrong in one way each, and its true error is known row by row.

The confidence is a logistic score of the columns with noise; the log-odds of the outcome differ from it by what a world
plants. Four categories of 3 to 400 values, four numbers, a grade of ten steps and a time; in one world, blanks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import expit

from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples

Columns = dict[str, np.ndarray]
_SHARES = {"region": (0.45, 0.3, 0.25), "product": (0.25, 0.2, 0.2, 0.15, 0.1, 0.05, 0.05), "branch": (0.05,) * 20}
_STORES, _GRADES, _DAYS = 400, 10, 365


@dataclass(frozen=True, eq=False)
class PlantedRows:
    """Rows whose true error is known; `truth` is P(y = 1) less the confidence, (n,), in [-1, 1]."""

    rows: Triples
    truth: np.ndarray


def _value(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return score - 1.2 * (columns["branch"] == f"b{rng.integers(20)}")


def _pair(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return score - 1.2 * (
        (columns["region"] == f"r{rng.integers(1, 3)}") & (columns["product"] == f"p{rng.integers(3)}")
    )


def _interval(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rank, low = _ranks(columns["income"]), rng.uniform(0, 0.85)
    return score + (rank >= low) * (rank < low + 0.15)


def _ordered(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return score + rng.choice([-1, 1]) * 0.22 * (columns["grade"] - np.mean(columns["grade"]))


def _slanted(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    rank = _ranks(columns["income"]) + rng.choice([-1, 1]) * _ranks(columns["balance"])
    return score - 1.2 * (rank > np.quantile(rank, 0.8))


def _slope(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    slope = np.where(columns["region"] == f"r{rng.integers(3)}", rng.choice([0.3, 1.8]), 1.0)
    return score.mean() + slope * (score - score.mean())


def _levels(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    effects = rng.normal(0.0, 0.6, _STORES)
    return score + effects[[int(store[1:]) for store in columns["store"]]]


def _cycle(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    hour = columns["time"].astype("datetime64[s]").astype(np.int64) % 86_400 / 3_600
    return score + 0.8 * np.sin(2 * np.pi * (hour / 24 + rng.random()))


def _blanks(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Who leaves tenure blank is riskier than the model thinks, and so is an interval of the age."""
    shift = -0.8 * np.isnan(columns["tenure"]) + 0.8 * ((columns["age"] >= 30) & (columns["age"] < 40))
    return score + shift - 0.8 * (columns["product"] == "p3")


def _cell(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return score - 1.5 * ((columns["region"] == "r0") & (columns["product"] == "p0") & (columns["grade"] <= 3))


def _nothing(columns: Columns, score: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return score


WORLDS: dict[str, Callable[[Columns, np.ndarray, np.random.Generator], np.ndarray]] = {
    "a value": _value,
    "two values together": _pair,
    "three conditions": _cell,
    "interval of a number": _interval,
    "ordered": _ordered,
    "slanted region": _slanted,
    "slope in a group": _slope,
    "400 levels": _levels,
    "hour of day": _cycle,
    "risk table with blanks": _blanks,
    "nothing": _nothing,
}


def draw_world(name: str, n: int, seed: int) -> PlantedRows:
    """Draw rows of a world."""
    rng = np.random.default_rng((seed, 83, list(WORLDS).index(name)))
    codes = {column: rng.choice(len(p), n, p=p) for column, p in _SHARES.items()}
    columns: Columns = {column: np.array([f"{column[0]}{c}" for c in code], object) for column, code in codes.items()}
    columns["store"] = np.array([f"s{c}" for c in rng.integers(_STORES, size=n)], object)
    columns |= {
        "income": rng.lognormal(3.4, 0.5, n), "tenure": rng.exponential(4.0, n), "balance": rng.normal(0.0, 2.0, n),
        "age": rng.integers(18, 80, n).astype(float), "grade": rng.integers(1, _GRADES + 1, n).astype(float),
    }  # fmt: skip
    columns["time"] = np.datetime64("2024-01-01", "s") + rng.integers(_DAYS * 86_400, size=n).astype("timedelta64[s]")
    score = 0.7 + sum(rng.normal(0.0, 0.4, len(p))[codes[column]] for column, p in _SHARES.items())
    score = score + sum(rng.normal(0.0, 0.4) * _ranks(columns[name]) for name in ("income", "tenure", "age"))
    score = score + rng.normal(0.0, 0.7, n)
    if name == "risk table with blanks":
        columns["tenure"] = np.where(rng.random(n) < 0.25, np.nan, columns["tenure"])
        columns["balance"] = np.where(rng.random(n) < 0.1, np.nan, columns["balance"])
        columns["branch"] = np.where(rng.random(n) < 0.05, None, columns["branch"])
    f, p = expit(score), expit(WORLDS[name](columns, score, rng))
    y = (rng.random(n) < p).astype(float)
    frame = pl.DataFrame({"confidence": f, "correct": y} | {column: _series(v) for column, v in columns.items()})
    return PlantedRows(read_triples(frame, features=list(columns)), p - f)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Share of the values that are lower, in [0, 1)."""
    return values.argsort().argsort() / len(values)


def _series(values: np.ndarray) -> pl.Series:
    if values.dtype.kind == "M":
        return pl.Series(values.astype("datetime64[us]"))
    return pl.Series(values.tolist(), strict=False) if values.dtype == object else pl.Series(values, nan_to_null=True)
