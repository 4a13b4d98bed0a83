"""Corrections of rows that came later, for `real.py`, beside peers that are tuned in time order.

Flights of April to June teach and those of July judge; census 2015 teaches and census 2016 judges; of the planted table
two draws do. `flights, days` names the days of the flights as groups; `flights, time` names their hour as the time
(`--time`, `--evidence time`), which then is no input. Nothing is chosen by the later file, of which rows with blanks in
columns that had none before are left out. Errors are of days where there are days, else of rows.

LightGBM with the log-odds of the risk as offset, and MCGrad (categories and blanks its way), learn from the first four
fifths of the earlier rows, are chosen on the last fifth, and learn again from all. `miscal, scan` is the correction of
`miscal scan` as SQL, asked of DuckDB; `miscal` that of `discover` with defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

import miscal
from miscal.calibration.metrics.scores import log_losses

FILES = {
    "flights": ("flights_dev.parquet", "flights_dev_july.parquet", "predicted_delay_risk", "delayed", "time_hour"),
    "census": ("census_dev_2015.parquet", "census_dev_2016.parquet", "predicted_probability", "employed", None),
}
"""Earlier file, later file, risk, event, and the column of times."""
SETS = ("flights", "flights, days", "flights, time", "census")
METHODS = ("raw", "isotonic", "LightGBM", "MCGrad", "miscal, scan", "miscal")
CLIP, DAY = 1e-4, "day"


def set_names(folder: Path | None) -> list[str]:
    """Names of the sets."""
    return [*(SETS if folder else ()), "planted"]


@lru_cache(maxsize=1)
def read_both(folder: Path | None, name: str, rows: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Read as many rows of either file (0: all), in the order of the file, with the days where there are times."""
    if name == "planted":
        return planted(2 * seed), planted(2 * seed + 1)
    first, second, *_, at = FILES[name.partition(",")[0]]
    tables = []
    for place, file in enumerate((first, second)):
        table = pl.read_parquet(folder / file)
        drawn = np.random.default_rng((seed, place)).permutation(len(table))[: rows or None]
        table = table[np.sort(drawn)].drop("id", "year", strict=False)
        if at is not None:
            table = table.sort(at, maintain_order=True).with_columns(pl.col(at).dt.strftime("%Y-%m-%d").alias(DAY))
        tables.append(table)
    earlier, later = tables
    # a column that never had a blank has no place for one
    whole = [name for name in earlier.columns if earlier[name].null_count() == 0]
    return earlier, later.drop_nulls(whole)


def planted(seed: int, n: int = 20_000) -> pl.DataFrame:
    """Risks that are off in a value, along a number, in one half of a pair and where a number is missing."""
    rng = np.random.default_rng(seed)
    kind, hour, age = rng.choice(list("abcdef"), n), rng.integers(0, 24, n), rng.normal(40, 12, n).round()
    age = np.where(rng.random(n) < 0.1, np.nan, age)
    risk = rng.beta(2, 3, n)
    odds = (
        logit(risk) + 0.7 * (kind == "b") + 0.04 * (hour - 12) + 0.6 * np.isnan(age) - 0.8 * (kind == "c") * (age > 45)
    )
    late = (rng.random(n) < expit(odds)).astype(int)
    return pl.DataFrame({"risk": risk, "late": late, "kind": kind, "hour": hour, "age": age}).fill_nan(None)


def later(folder: Path | None, name: str, rows: int, seed: int, method: str) -> dict:
    """Log loss of a correction on the later rows, and the day of each."""
    risk, event, at = ("risk", "late", None) if name == "planted" else FILES[name.partition(",")[0]][2:]
    earlier, judged = read_both(folder, name, rows, seed)
    days = {} if at is None else {"units": judged[DAY].to_list()}
    roles = {"days": {"group": DAY}, "time": {"time": at, "evidence": "time"}}.get(name.partition(", ")[2], {})
    if "group" not in roles:
        earlier, judged = earlier.drop(DAY, strict=False), judged.drop(DAY, strict=False)
    f, y = judged[risk].to_numpy(), judged[event].to_numpy().astype(float)
    named = {"probability": risk, "event": event}
    if method == "raw":
        p = f
    elif method == "isotonic":
        p = _isotonic(earlier[event].to_numpy().astype(float), earlier[risk].to_numpy())(f)
    elif method == "miscal, scan":
        p = asked_of_duckdb(miscal.scan(earlier.lazy(), **named).sql(), judged)
    elif method == "miscal":
        p = miscal.discover(earlier, **named, **roles, seed=seed).correct(judged)["corrected"].to_numpy()
    else:
        if at is None:
            earlier = earlier[np.random.default_rng(seed).permutation(len(earlier))]
        p = tuned(method, earlier, judged, (risk, event), seed)
    return {"loss": log_losses(y, p), **days}


def asked_of_duckdb(sql: str, rows: pl.DataFrame) -> np.ndarray:
    """Correct rows in DuckDB."""
    import duckdb

    base = duckdb.connect()
    base.register("later_", rows.to_arrow())
    return base.sql(f"select {sql} as p from later_").pl()["p"].to_numpy()


def tuned(method: str, earlier: pl.DataFrame, later: pl.DataFrame, names: tuple[str, str], seed: int) -> np.ndarray:
    """Risks of the later rows, corrected by a peer; the earlier rows are in time order."""
    risk, event = names
    f, f_later, y = earlier[risk].to_numpy(), later[risk].to_numpy(), earlier[event].to_numpy().astype(float)
    X, X_later = (table.drop(risk, event, DAY, strict=False) for table in (earlier, later))
    first = np.arange(len(y)) < 0.8 * len(y)
    part, held = X.filter(pl.Series(first)), X.filter(pl.Series(~first))
    fit, settings = {
        "LightGBM": (_lightgbm, product((4, 8, 16), (30, 100), (False, True))),
        "MCGrad": (_mcgrad, product((20, 160), (False, True))),
    }[method]
    tried = []
    for *setting, mapped in settings:
        base = _isotonic(y[first], f[first]) if mapped else np.asarray
        known = Known(part, base(f[first]), y[first]), Known(held, base(f[~first]), y[~first])
        p, rounds = fit(*known, setting, seed)
        tried.append((float(log_losses(y[~first], p).mean()), setting, mapped, rounds))
    _, setting, mapped, rounds = min(tried, key=lambda one: one[0])
    base = _isotonic(y, f) if mapped else np.asarray
    return fit(Known(X, base(f), y), Known(X_later, base(f_later)), setting, seed, rounds)[0]


def _isotonic(y: np.ndarray, f: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return IsotonicRegression(out_of_bounds="clip").fit(f, y).predict


@dataclass(frozen=True, eq=False)
class Known:
    """Columns and risks of rows, and their outcomes where they may be seen."""

    columns: pl.DataFrame
    risk: np.ndarray
    correct: np.ndarray | None = None

    @property
    def offset(self) -> np.ndarray:
        """Log-odds of the risks."""
        return logit(np.clip(self.risk, CLIP, 1 - CLIP))


def _lightgbm(known: Known, asked: Known, setting: Sequence[int], seed: int, rounds: int | None = None) -> tuple:
    """Boosted trees with the log-odds as offset and as a column, stopped by later outcomes if no rounds are given."""
    import lightgbm

    codes = {
        name: {value: k for k, value in enumerate(known.columns[name].cast(pl.String).unique().drop_nulls().sort())}
        for name in _categories(known.columns)
    }
    X, X_asked = (np.column_stack([_coded(one.columns, codes), one.offset]) for one in (known, asked))
    settings = {
        "objective": "binary", "learning_rate": 0.03, "num_leaves": setting[0], "min_data_in_leaf": setting[1],
        "lambda_l2": 5, "boost_from_average": False, "verbose": -1, "num_threads": 1, "seed": seed,
    }  # fmt: skip
    places = [place for place, name in enumerate(known.columns.columns) if name in codes]
    same = {"categorical_feature": places, "params": settings}
    data = lightgbm.Dataset(X, known.correct, init_score=known.offset, **same)
    if rounds is None:
        held = lightgbm.Dataset(X_asked, asked.correct, init_score=asked.offset, reference=data, **same)
        stop = [lightgbm.early_stopping(30, verbose=False)]
        model = lightgbm.train(settings, data, 400, valid_sets=[held], callbacks=stop)
    else:
        model = lightgbm.train(settings, data, rounds)
    return expit(asked.offset + model.predict(X_asked, raw_score=True)), model.best_iteration or rounds


def _categories(table: pl.DataFrame) -> list[str]:
    return [name for name, kind in table.schema.items() if kind in (pl.String, pl.Categorical, pl.Boolean)]


def _coded(table: pl.DataFrame, codes: dict[str, dict[str, int]]) -> np.ndarray:
    """Columns as numbers: categories by their code; blanks, and values without a code, as NaN."""
    columns = []
    for name in table.columns:
        if name in codes:
            columns.append([codes[name].get(value, np.nan) for value in table[name].cast(pl.String)])
        else:
            columns.append(table[name].to_physical().cast(pl.Float64).to_numpy())
    return np.column_stack(columns).astype(np.float64)


def _mcgrad(known: Known, asked: Known, setting: Sequence[int], seed: int, _rounds: None = None) -> tuple:
    """MCGrad, which encodes categories, takes blanks and chooses its rounds by itself."""
    import logging

    import pandas
    from mcgrad import methods

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    categories = _categories(known.columns)
    numbers = [name for name in known.columns.columns if name not in categories]
    named = {"categorical_feature_column_names": categories, "numerical_feature_column_names": [*numbers, "offset"]}

    def frame(one: Known) -> pandas.DataFrame:
        made = {name: np.array(one.columns[name].cast(pl.String).to_list(), dtype=object) for name in categories}
        made |= {name: one.columns[name].to_physical().cast(pl.Float64).to_numpy() for name in numbers}
        return pandas.DataFrame({**made, "offset": one.offset, "score": np.clip(one.risk, CLIP, 1 - CLIP)})

    model = methods.MCGrad(lightgbm_params={"min_child_samples": setting[0], "num_threads": 1}, random_state=seed)
    model.fit(frame(known).assign(outcome=known.correct.astype(int)), "score", "outcome", **named)
    return np.asarray(model.predict(frame(asked), "score", **named), np.float64), None
