"""A made table of loans, whose index and kind of frame may be any, and one run of it for each file of tests."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import miscal
from miscal.data.triples import Triples


@pytest.fixture(scope="module")
def found(few_folds):
    frame = loans()
    frame.index = INDEXES["shuffled"](N)
    return miscal.discover(frame, **EVENT, **QUICK)


N = 240
EVENT = {"probability": "risk", "event": "defaulted"}
QUICK = {"map": "pca", "n_jobs": 1}


def loans(n=N, seed=0):
    """Risks that are too high in the north and too low in the south."""
    rng = np.random.default_rng(seed)
    region, risk = rng.choice(["north", "south"], n), rng.uniform(0.3, 0.7, n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 365, n)
    rate = risk + np.where(region == "south", 0.28, -0.28)
    return pd.DataFrame(
        {
            "risk": risk,
            "defaulted": (rng.random(n) < rate).astype(int),
            "region": region,
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
            "asked": days.astype("datetime64[us]"),
        }
    )


INDEXES = {
    "shuffled": lambda n: np.random.default_rng(1).permutation(n),
    "duplicated": lambda n: np.arange(n) // 3,
    "texts": lambda n: [f"loan {k}" for k in range(n)][::-1],
    "times": lambda n: pd.date_range("2020-01-01", periods=n, freq="h")[::-1],
    "levels": lambda n: pd.MultiIndex.from_arrays([np.arange(n) % 5, np.arange(n)]),
}
KINDS = {
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pyarrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "nullable": lambda frame: frame.convert_dtypes(),
    "dictionary": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "arrow in pandas": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
}


def same_rows(one: Triples, two: Triples):
    for name in ("X", "confidence", "correct", "row"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.metadata.keys() == two.metadata.keys()
    assert one.kind == two.kind
