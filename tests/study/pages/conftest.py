"""Folders of made-up studies, and their pages without most figures, which have tests of their own."""

from pathlib import Path

import polars as pl
import pytest

from miscal.study.figures.figure import StudyFigure
from miscal.study.pages import write, write_pages


def save(out: Path, made: dict[str, pl.DataFrame]) -> Path:
    """Leave tables as a study does."""
    (out / "tables").mkdir(parents=True, exist_ok=True)
    for name, table in made.items():
        table.write_parquet(out / "tables" / f"{name}.parquet")
    return out


def plain(tables: dict[str, pl.DataFrame], folder: Path) -> list[str]:
    """Write an empty drawing, and one more to link to."""
    if tables["pairs"].is_empty():
        return []
    for name in ("plain", "more"):
        (folder / f"{name}.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" width="500pt" height="9pt"/>')
        (folder / f"{name}.png").write_bytes(b"")
    return ["plain", "more"]


PLAIN = StudyFigure("sizes", "A plain figure", "figure 7b", "There is nothing to see.", plain)


@pytest.fixture
def make_pages(tmp_path, monkeypatch):
    """Write the pages of tables with one plain figure, by default beside the paper; give back their folder."""
    monkeypatch.setattr(write, "FIGURES", (PLAIN,))

    def make(made: dict[str, pl.DataFrame], name: str = "study", *, paper: bool = True) -> Path:
        out = save(tmp_path / name, made)
        assert write_pages(out, paper=paper) == out / "index.html"
        return out

    return make
