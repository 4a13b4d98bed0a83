"""Real sets with the columns of a table, for `real.py`: half of the rows teach, the other half judges.

miscal is given the embedding alone, the columns alone, and both. Beside it stand raw confidences, isotonic regression,
and two peers, each with the columns alone and with leading components of the embedding as well: LightGBM after isotonic
regression, and MCGrad, tuned on a fifth of the teaching rows.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.isotonic import IsotonicRegression

import _column_peers as peers
import _data
from _column_peers import Table
from miscal.calibration.metrics.scores import log_losses
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField

SETS = {
    "mmlu": ("mmlu_msp_dev.parquet", "mmlu.minilm.npy", "subject,subcategory,category"),
    "mmlupro": ("mmlupro_verbal_dev.parquet", "mmlupro.minilm.npy", "category,src,n_options,n_tokens"),
    "stated": ("stated_dev.parquet", "stated.minilm.npy", "dataset,answer,n_options"),
}
"""Answers of models, with an embedding of the question; columns known before the outcome (no answer key)."""
TABLES = {
    "flights": ("flights_dev.parquet", "predicted_delay_risk", "delayed"),
    "census": ("census_dev_2015.parquet", "predicted_probability", "employed"),
}
"""Risks, with every column there is."""
PEERS = ("lightgbm, columns", "lightgbm, all", "mcgrad, columns", "mcgrad, all")
OURS = ("miscal, embedding", "miscal, columns", "miscal, all")
METHODS = ("raw", "isotonic", *PEERS, *OURS)


def set_names(folder: Path | None) -> list[str]:
    """Names of the sets in the folder."""
    answers = [name for name in _data.set_names(folder) if name.split("/")[0] in SETS]
    return [*answers, *TABLES] if folder else []


@lru_cache(maxsize=1)
def read_set(folder: Path, name: str) -> tuple[Triples, Triples | None]:
    """Rows with their columns alone, and with an embedding before them where there is one."""
    if name in TABLES:
        file, confidence, correct = TABLES[name]
        return read_triples(folder / file, confidence=confidence, correct=correct, features="auto"), None
    key, model = name.split("/", 1)
    file, embeddings, columns = SETS[key]
    asked = {"confidence": "f", "correct": "y", "where": f"model = '{model}'", "features": columns}
    place = pl.read_parquet(folder / file, columns=["emb_row"])["emb_row"].to_numpy()
    beside = read_triples(folder / file, **asked, embeddings=np.load(folder / embeddings)[place])
    return read_triples(folder / file, **asked), beside


def methods_of(name: str) -> list[str]:
    """Methods that a set allows: without an embedding, the columns are all there is."""
    with_embedding = ("miscal, embedding", "lightgbm, all", "mcgrad, all")
    return [method for method in METHODS if name not in TABLES or method not in with_embedding]


def measured(folder: Path, name: str, rows: int, seed: int, method: str) -> dict | None:
    """Log loss of a method on each row of the half that judges; with all there is, ours is that with the columns."""
    if method not in methods_of(name):
        return None
    columns, everything = read_set(folder, name)
    order = np.random.default_rng(seed).permutation(len(columns))[:rows]
    learned, judged = np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])
    p = _corrected(method, columns, everything, learned, judged, seed)
    return {"loss": log_losses(columns.correct[judged], p)}


def _corrected(
    method: str, columns: Triples, everything: Triples | None, learned: np.ndarray, judged: np.ndarray, seed: int
) -> np.ndarray:
    f, y = columns.confidence, columns.correct
    if method == "raw":
        return f[judged]
    if method == "isotonic":
        return IsotonicRegression(out_of_bounds="clip").fit(f[learned], y[learned]).predict(f[judged])
    who, sees = method.split(", ")
    if who == "miscal":
        rows = columns if sees == "columns" or everything is None else everything
        if sees == "embedding":
            rows = replace(everything, X=everything.places, layout=None)
        field = MiscalibrationField(n_jobs=1).fit_triples(replace(rows.take(learned), split=None))
        return field.fitted_.correct(rows.X[judged], f[judged]).corrected
    embedding = everything.places.astype(np.float64) if sees == "all" else None
    table = Table(columns.encoder.columns_of(columns.X), f, y, embedding)
    return getattr(peers, who)(table, learned, judged, seed)
