"""Fields of the raw inputs beside fields of the learned geometry."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from miscal.study.figures.fields import scatter
from miscal.study.figures.figure import StudyFigure, families_in, keys, marks_in
from miscal.study.methods import LEARNED, RAW, methods_of
from miscal.study.tables import Tables
from miscal.synthetic.figures.style import panels, write

_TITLES = {RAW: "raw inputs", LEARNED: "learned geometry"}


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw both on the same axes, for methods that have both."""
    names = []
    for method in methods_of(tables["pairs"]):
        pairs = tables["pairs"].filter(pl.col("method") == method).drop_nulls(["delta_mean", "delta_std"])
        both = pairs.filter(pl.col("geometry").n_unique().over("pair") == len(_TITLES))
        if both.height:
            names.append(write(_figure(both), folder, f"raw-fields-{method}"))
    return names


def _figure(pairs: pl.DataFrame):
    figure, grid = panels(1, 2, width=4.2, height=3.5, sharex=True, sharey=True)
    families, marks = families_in(pairs), marks_in(pairs)
    for axes, (geometry, title) in zip(grid[0], _TITLES.items(), strict=True):
        scatter(axes, pairs.filter(pl.col("geometry") == geometry), families=families, marks=marks)
        axes.set_title(title)
    wide = max(0.05, 1.15 * max(abs(value) for value in pairs["delta_mean"].to_list()))
    grid[0, 0].set(xlim=(-wide, wide), ylim=(0.0, 1.12 * max(0.05, *pairs["delta_std"].to_list())))
    grid[0, 1].set_ylabel("")
    keys(figure, families, marks)
    return figure


FIGURE = StudyFigure(
    name="raw-fields",
    title="Raw inputs beside the learned geometry",
    place="figure 14a",
    lesson="The same residuals are averaged over neighbours in the raw inputs (left) and in the learned geometry "
    "(right). Points that stand higher at the right say that learning found variation that nearness of the raw inputs "
    "does not show.",
    draw=draw,
)
