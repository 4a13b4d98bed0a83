"""Tiny pairs: a few hundred rows of a field that is known, answered by several models."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure

from miscal.study import pages
from miscal.study.pages import StudyFigure, write_pages

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
    each = [{"model": model} for model in models]
    known = {"dataset": dataset, "data": f"{data}/{dataset}.{{model}}.parquet", "features": "x_*"}
    return known | {"each": each} | more


# --- folders of made-up studies, and their pages without most figures, which have tests of their own ---


def save(out: Path, made: dict[str, pl.DataFrame]) -> Path:
    """Leave tables as a study does."""
    (out / "tables").mkdir(parents=True, exist_ok=True)
    for name, table in made.items():
        table.write_parquet(out / "tables" / f"{name}.parquet")
    return out


def plain(tables: dict[str, pl.DataFrame]) -> list[tuple[str, Figure]]:
    """Draw an empty figure, 500 points wide, and one more to link to."""
    empty = Figure(figsize=(500 / 72, 9 / 72))
    return [] if tables["pairs"].is_empty() else [("plain", empty), ("more", empty)]


PLAIN = StudyFigure("sizes", "A plain figure", "figure 7b", plain, "There is nothing to see.")


@pytest.fixture
def make_pages(tmp_path, monkeypatch):
    """Write the pages of tables with one plain figure, by default beside the paper; give back their folder."""
    monkeypatch.setattr(pages, "FIGURES", (PLAIN,))

    def make(made: dict[str, pl.DataFrame], name: str = "study", *, paper: bool = True) -> Path:
        out = save(tmp_path / name, made)
        assert write_pages(out, paper=paper) == out / "index.html"
        return out

    return make
