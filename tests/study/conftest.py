"""Tiny pairs: a few hundred rows of a field that is known, answered by several models."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

N = 240


def answers(model: str, n: int = N, seed: int = 0) -> pl.DataFrame:
    """One model's answers: over-confident where x_0 > 0, under-confident elsewhere."""
    x = np.random.default_rng(seed).normal(size=(n, 3)).round(6)
    rng = np.random.default_rng((seed, len(model)))
    f = rng.uniform(0.3, 0.8, n).round(6)
    chance = f + np.where(x[:, 0] > 0, -0.2, 0.2)
    return pl.DataFrame(
        {"id": [f"q{row}" for row in range(n)], "confidence": f, "correct": (rng.random(n) < chance).astype(int)}
        | {f"x_{k}": x[:, k] for k in range(3)}
        | {"kind": np.where(x[:, 1] > 0, "left", "right")}
    )


@pytest.fixture
def data(tmp_path) -> Path:
    """A folder with the answers of four models to the questions of two sets."""
    folder = tmp_path / "data"
    folder.mkdir()
    for number, dataset in enumerate(("one", "two")):
        for model in ("a", "bb"):
            answers(model, seed=number).write_parquet(folder / f"{dataset}.{model}.parquet")
    return folder


def entry(data: Path, dataset: str = "one", models: tuple[str, ...] = ("a", "bb"), **more) -> dict:
    return {
        "dataset": dataset,
        "data": f"{data}/{dataset}.{{model}}.parquet",
        "features": "x_*",
        "each": [{"model": model} for model in models],
    } | more
