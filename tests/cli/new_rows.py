"""New rows for `miscal calibrate`, and fields fitted to rows of their kind."""

import numpy as np
import polars as pl

from miscal.data.readers.read import read_triples
from miscal.discovery.saved_model import SavedModel
from miscal.estimators.field import MiscalibrationField

N = 300


def rows(n=N, seed=0):
    rng = np.random.default_rng(seed)
    x, kind = rng.normal(size=(n, 2)), rng.choice(["law", "sums"], n)
    f = rng.uniform(0.3, 0.7, n)
    return pl.DataFrame(
        {
            "confidence": f,
            "age": 40 + 10 * x[:, 0],
            "count": rng.integers(0, 50, n),
            "one": np.full(n, 3.0),
            "kind": kind,
            "correct": (rng.random(n) < f + np.where(kind == "law", -0.25, 0.25)).astype(np.int64),
            "text": [
                f"a question of {k} with {'many' if v > 0 else 'few'} words" for k, v in zip(kind, x[:, 0], strict=True)
            ],
        }
    )


def embedded(n=N, d=6, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).normal(size=(n, d))).astype(np.float32)


def fitted(folder, **x):
    data = read_triples(rows(), **x)
    SavedModel(MiscalibrationField().fit_triples(data).to_saved(), data.encoder, "confidence").save(folder)
    return folder


class Told:
    """How the command ended, and its table."""

    def __init__(self, status, captured, out):
        self.status, self.out, self.err = status, captured.out, captured.err
        read = {".parquet": pl.read_parquet, ".csv": pl.read_csv, ".jsonl": pl.read_ndjson}
        self.table = read[out.suffix](out) if out.exists() else None


def set_cells(name, value, at=(3, 7), dtype=None):
    """Change a few cells of a column."""

    def change(data):
        values = data[name].to_list()
        for i in at:
            values[i] = value
        return data.with_columns(pl.Series(name, values, dtype=dtype, strict=False))

    return change
