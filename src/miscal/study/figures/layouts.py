"""Raw inputs and learned space side by side, coloured by category and by field."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from miscal.report.legend import PROJECTIONS
from miscal.study.figures.figure import StudyFigure, fitting
from miscal.study.synthetic.figures.style import FIELD, MUTED, OKABE_ITO, RULE, panels, write
from miscal.study.tables import Tables
from miscal.study.vocabulary import StudyVocabulary, vocabulary_of

SPACES = {"raw": "raw inputs", "learned": "learned space"}
_CATEGORIES = tuple(OKABE_ITO[i] for i in (2, 4, 1, 6, 5, 7))
"""Colours of the commonest categories: not those that stand for over- and under-confident. The others are grey."""
_LONGEST = 24


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure for each pair and method that a plan asked to interpret."""
    groups = tables["layouts"].sort("method", descending=True, maintain_order=True)
    for (method,), of_method in groups.group_by("method", maintain_order=True):
        for place, ((pair,), one) in enumerate(of_method.group_by("pair", maintain_order=True)):
            words = vocabulary_of(tables["pairs"].filter(pl.col("pair") == pair))
            yield write(_figure(one, words), folder, f"layouts-{method}-{place + 1}")


def _figure(rows: pl.DataFrame, words: StudyVocabulary) -> Figure:
    figure, grid = panels(2, 2, width=3.7, height=3.3)
    limit = max(0.1, float(np.quantile(rows["delta"].abs().to_numpy(), 0.98)))
    colours = _colours(rows["category"])
    for (space, title), (upper, lower) in zip(SPACES.items(), grid.T, strict=True):
        some = rows.filter(pl.col("space") == space)
        method = some["layout"][0] if some.height else ""
        upper.set_title(f"{title}, by category")
        lower.set_title(f"{title}, by field")
        _by_category(upper, some, colours)
        strongest_last = some.sort(pl.col("delta").abs())
        x, y, delta = (strongest_last[name].to_numpy() for name in ("x", "y", "delta"))
        drawn = _points(lower, x, y, c=delta, cmap=FIELD, vmin=-limit, vmax=limit)
        for axes in (upper, lower):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        lower.set_xlabel(PROJECTIONS.get(method, method))
    if colours:
        grid[0, 0].legend(*_key(colours), loc="center right", bbox_to_anchor=(0.0, 0.5), fontsize=7, handletextpad=0.1)
    bar = figure.colorbar(drawn, ax=list(grid[1]), pad=0.02, shrink=0.8)
    bar.set_label(f"{words.over} \u2190 field \u2192 {words.under}", color=MUTED, fontsize=8)
    bar.outline.set_visible(False)
    first = rows.row(0, named=True)
    figure.suptitle(f"{fitting(first['model'])} on {fitting(first['dataset'])}", fontsize=9.5, x=0.01, ha="left")
    return figure


def _colours(categories: pl.Series) -> dict[str | None, str]:
    """Return a colour for each of the commonest categories, and grey, under None, for the others."""
    known = categories.drop_nulls()
    counts = known.value_counts().sort("count", categories.name, descending=[True, False])
    common = counts[categories.name].head(len(_CATEGORIES)).to_list()
    named: dict[str | None, str] = dict(zip(common, _CATEGORIES, strict=False))
    return named | {None: RULE} if len(common) < counts.height or categories.null_count() else named


def _by_category(axes: Axes, rows: pl.DataFrame, colours: dict[str | None, str]) -> None:
    values = rows["category"].to_list()
    shade = [colours.get(value, RULE) for value in values]
    # the grey ones first, so that they cover nothing
    order = np.argsort([colour != RULE for colour in shade], kind="stable")
    x, y = (rows[name].to_numpy()[order] for name in ("x", "y"))
    _points(axes, x, y, color=[shade[i] for i in order])


def _points(axes: Axes, x: np.ndarray, y: np.ndarray, **colour) -> PathCollection:
    # thousands of paths would make the file large and slow to show
    return axes.scatter(x, y, s=5, linewidths=0, rasterized=True, **colour)


def _key(colours: dict[str | None, str]) -> tuple[list, list[str]]:
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], ls="", marker="o", ms=4, color=colour) for colour in colours.values()]
    return marks, ["other" if name is None else fitting(name, _LONGEST) for name in colours]


FIGURE = StudyFigure(
    name="layouts",
    title="What the learned space forgets, and what it keeps",
    place="figure 15",
    lesson="Each point is a {row}. In the raw inputs, {rows} that are alike lie close together. In the learned space, "
    "{rows} on which the model errs in the same way lie close together. Look for categories that lie apart "
    "on the left and are mixed on the right: there, the learned space has forgotten the subject. If the field's "
    "colours separate at the same time, it has kept the error. A picture in two dimensions proves nothing; the purity "
    "of neighbours measures it.",
    draw=draw,
)
