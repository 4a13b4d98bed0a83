"""Real sets: one model's answers to one file of questions, with embeddings, read from a folder given by option.

Without a folder it is the packaged demo data: answers of a small language model, with its hidden states.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import polars

from miscal.data.readers.read import read_triples
from miscal.data.splits import split_by
from miscal.scoring.demo import path as demo_path

DEMO = "demo/SmolLM2-135M-Instruct"

FILES = {
    "mmlupro": ("mmlupro_verbal_dev.parquet", "mmlupro.minilm.npy"),
    "mmlu": ("mmlu_msp_dev.parquet", "mmlu.minilm.npy"),
    "stated": ("stated_dev.parquet", "stated.minilm.npy"),
    "lifeeval": ("lifeeval_dev.parquet", "lifeeval.minilm.npy"),
    "mlb538": ("mlb538_dev.parquet", "mlb538.minilm.npy"),
    "cifar100": ("cifar100_dev.parquet", "cifar100_dev.logp.npy"),
}
METADATA = {"mmlu": "subject", "mmlupro": "category", "stated": "dataset", "cifar100": "pred_superclass"}
"""Sets with metadata, and the column that says of which kind a row is, known before its outcome."""


@dataclass(frozen=True, eq=False)
class RealSet:
    """Rows of one model on one file; `name` is file/model."""

    name: str
    X: np.ndarray
    confidence: np.ndarray
    correct: np.ndarray

    def split(self, seed: int) -> np.ndarray:
        """80/10/10 by the seed, equal inputs on one side: 'train', 'val', 'test' per row."""
        return split_by(self.X, None, seed=seed)[0]


def set_names(folder: Path | None) -> list[str]:
    """Names of the sets in the folder."""
    return [DEMO] if folder is None else [f"{key}/{model}" for key in FILES for model in _models(folder, key)]


@lru_cache(maxsize=4)
def read_set(folder: Path | None, name: str) -> RealSet:
    """Read one set."""
    if folder is None:
        rows = read_triples(demo_path(), features="x_*", names_only="domain")
        return RealSet(name, rows.X.astype(np.float32), rows.confidence, rows.correct.astype(np.float64))
    key, model = name.split("/", 1)
    table = _table(folder, key).filter(polars.col("model") == model)
    X = np.load(folder / FILES[key][1])[table["emb_row"].to_numpy()].astype(np.float32)
    f, y = (table[c].to_numpy().astype(np.float64) for c in ("f", "y"))
    return RealSet(name, X, f, y)


def _models(folder: Path, key: str) -> list[str]:
    if not (folder / FILES[key][0]).exists():
        return []
    return _table(folder, key)["model"].unique(maintain_order=True).to_list()


@lru_cache(maxsize=1)
def _table(folder: Path, key: str) -> polars.DataFrame:
    return polars.read_parquet(folder / FILES[key][0])
