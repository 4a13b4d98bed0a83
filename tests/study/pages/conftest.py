"""Folders of made-up studies, and their pages without most figures, which have tests of their own."""

from pathlib import Path

import polars as pl
import pytest
from matplotlib.figure import Figure

from miscal.study import pages
from miscal.study.pages import StudyFigure, write_pages


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
