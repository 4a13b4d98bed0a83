"""Mean against standard deviation of the field, a point a pair: by itself, and by the raw inputs beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.figures.figure import StudyFigure, families_in, keys, marks_in, size_text, soft_grid, zero
from miscal.study.synthetic.figures.style import MUTED, panels, write
from miscal.study.tables import LEARNED, RAW, Tables, methods_of, of_method
from miscal.study.vocabulary import vocabulary_of


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure a method; a second one writes the size of the model at each point."""
    for method in methods_of(tables["pairs"]):
        pairs = of_method(tables["pairs"], method, LEARNED).drop_nulls(["delta_mean", "delta_std"])
        if pairs.height:
            yield write(_figure(pairs, labelled=False), folder, f"fields-{method}")
            if pairs["billions"].count():
                yield write(_figure(pairs, labelled=True), folder, f"fields-{method}-sizes")


def _figure(pairs: pl.DataFrame, *, labelled: bool) -> Figure:
    figure, grid = panels(1, 1, width=8.2 if labelled else 6.4, height=5.4 if labelled else 3.8)
    _scatter(grid[0, 0], pairs, labelled=labelled)
    keys(figure, families_in(pairs), marks_in(pairs))
    return figure


def _scatter(axes: Axes, pairs: pl.DataFrame, *, labelled: bool = False, families=None, marks=None) -> None:
    """Draw pairs at the mean and standard deviation of their field, with a line where the mean is 0.

    Parameters
    ----------
    axes : Axes
    pairs : DataFrame
        Rows of the table of pairs, with ``delta_mean`` and ``delta_std``.
    labelled : bool
        Whether each point carries the size of its model.
    families, marks : dict, optional
        Colours and marks, where several panels share them.
    """
    families, marks = families or families_in(pairs), marks or marks_in(pairs)
    zero(axes, vertical=True)
    soft_grid(axes)
    for row in pairs.iter_rows(named=True):
        colour, mark = families[row["family"]], marks[row["dataset"]]
        x, y = row["delta_mean"], row["delta_std"]
        axes.plot(x, y, mark, color=colour, ms=6.5, mec="white", mew=0.7, alpha=0.9, ls="")
        if labelled:
            axes.annotate(size_text(row["billions"]), (x, y), (5, 3), textcoords="offset points", fontsize=7,
                          color=colour)  # fmt: skip
    words = vocabulary_of(pairs)
    axes.set_xlabel(f"mean of the field\n({words.over} \u2190 0 \u2192 {words.under})", color=MUTED)
    axes.set_ylabel("standard deviation of the field")
    # a point alone would stand at an arbitrary place
    wide = max(0.05, 1.15 * max(abs(value) for value in pairs["delta_mean"].to_list()))
    axes.set_xlim(-wide, wide)
    axes.set_ylim(0.0, max(0.05, 1.12 * max(pairs["delta_std"].to_list())))


FIGURE = StudyFigure(
    name="fields",
    title="How much the field varies, and which way it leans",
    place="figures 5a and 13",
    lesson="Each point is one pair of a model and a data set. Points left of the line are {over} on average. "
    "The higher a point stands, the more the error of the {probability} differs from input to input, which a single "
    "reliability diagram cannot show.",
    draw=draw,
)


_TITLES = {RAW: "raw inputs", LEARNED: "learned geometry"}


def draw_raw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw both on the same axes, for methods that have both."""
    for method in methods_of(tables["pairs"]):
        pairs = tables["pairs"].filter(pl.col("method") == method).drop_nulls(["delta_mean", "delta_std"])
        both = pairs.filter(pl.col("geometry").n_unique().over("pair") == len(_TITLES))
        if both.height:
            yield write(_raw_figure(both), folder, f"raw-fields-{method}")


def _raw_figure(pairs: pl.DataFrame):
    figure, grid = panels(1, 2, width=4.2, height=3.5, sharex=True, sharey=True)
    families, marks = families_in(pairs), marks_in(pairs)
    for axes, (geometry, title) in zip(grid[0], _TITLES.items(), strict=True):
        _scatter(axes, pairs.filter(pl.col("geometry") == geometry), families=families, marks=marks)
        axes.set_title(title)
    wide = max(0.05, 1.15 * max(abs(value) for value in pairs["delta_mean"].to_list()))
    grid[0, 0].set(xlim=(-wide, wide), ylim=(0.0, 1.12 * max(0.05, *pairs["delta_std"].to_list())))
    grid[0, 1].set_ylabel("")
    keys(figure, families, marks)
    return figure


RAW_FIGURE = StudyFigure(
    name="raw-fields",
    title="Raw inputs beside the learned geometry",
    place="figure 14a",
    lesson="The same residuals are averaged over neighbours in the raw inputs (left) and in the learned geometry "
    "(right). Points that stand higher at the right say that learning found variation that nearness of the raw inputs "
    "does not show.",
    draw=draw_raw,
)
