"""Figures whose points are pairs, by the numbers of their fields, or rows, by their place in a space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from miscal.base.arrays import counted
from miscal.report.legend import PROJECTIONS
from miscal.study.aggregates import Association, heterogeneity_gain
from miscal.study.drawing import MUTED, RULE, field_bar, field_points, panels, soft_grid, zero
from miscal.study.figures.labels import CATEGORIES, families_in, fitting, keys, marks_in, size_text
from miscal.study.tables import LEARNED, RAW, Tables, by_method, methods_of
from miscal.study.vocabulary import StudyVocabulary, vocabulary_of

_GEOMETRIES = {RAW: "raw inputs", LEARNED: "learned geometry"}
_SPACES = {"raw": "raw inputs", "learned": "learned space"}
_LONGEST = 24


def fields(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw mean against standard deviation of the field, a point a pair; a second figure writes sizes."""
    for method, table in by_method(tables["pairs"], LEARNED):
        pairs = table.drop_nulls(["delta_mean", "delta_std"])
        if pairs.height:
            yield f"fields-{method}", _fields({"": pairs}, width=6.4, height=3.8)
            if pairs["billions"].count():
                yield f"fields-{method}-sizes", _fields({"": pairs}, width=8.2, height=5.4, labelled=True)


def raw_fields(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw the same by the raw inputs and by the learned geometry, on the same axes."""
    for method, table in by_method(tables["pairs"].drop_nulls(["delta_mean", "delta_std"])):
        both = table.filter(pl.col("geometry").n_unique().over("pair") == len(_GEOMETRIES))
        if both.height:
            shown = {title: both.filter(geometry=geometry) for geometry, title in _GEOMETRIES.items()}
            yield f"raw-fields-{method}", _fields(shown, width=4.2, height=3.5)


def _fields(shown: Mapping[str, pl.DataFrame], *, width: float, height: float, labelled: bool = False) -> Figure:
    pairs = pl.concat(shown.values())
    figure, grid = panels(1, len(shown), width=width, height=height, sharex=True, sharey=True)
    families, marks, words = families_in(pairs), marks_in(pairs), vocabulary_of(pairs)
    for axes, (title, own) in zip(grid[0], shown.items(), strict=True):
        zero(axes, vertical=True)
        _pairs(axes, own, "delta_mean", "delta_std", families, marks, labelled=labelled)
        axes.set_title(title)
        axes.set_xlabel(f"mean of the field\n({words.over} \u2190 0 \u2192 {words.under})", color=MUTED)
    # a point alone would stand at an arbitrary place
    wide = max(0.05, 1.15 * max(abs(value) for value in pairs["delta_mean"].to_list()))
    high = max(0.05, 1.12 * max(pairs["delta_std"].to_list()))
    grid[0, 0].set(xlim=(-wide, wide), ylim=(0.0, high), ylabel="standard deviation of the field")
    keys(figure, families, marks)
    return figure


def gains(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw what a local correction gains over isotonic regression against the field's spread; a point a pair."""
    for method in methods_of(tables["pairs"]):
        points, association = heterogeneity_gain(tables["pairs"], tables["corrections"], method)
        if points.height:
            yield f"gains-{method}", _gains(points, association)


def _gains(points: pl.DataFrame, rho: Association) -> Figure:
    figure, grid = panels(1, 1, width=6.4, height=3.7)
    axes = grid[0, 0]
    families, marks, pairs = families_in(points), marks_in(points), counted(rho.n, "pair")
    zero(axes)
    _pairs(axes, points, "delta_std", "gain", families, marks)
    axes.set_xlabel("standard deviation of the field")
    axes.set_ylabel("smECE(isotonic) \u2212 smECE(local)")
    axes.set_xlim(0.0, 1.1 * max(0.05, *points["delta_std"].to_list()))
    axes.set_title(f"{pairs}: too few for a rank correlation" if rho.value is None else f"Spearman {rho.text}, {pairs}")
    keys(figure, families, marks)
    return figure


def _pairs(axes: Axes, pairs: pl.DataFrame, x: str, y: str, families, marks, *, labelled: bool = False) -> None:
    """Draw a point a pair, coloured by family and marked by data set; labels are the sizes of models."""
    soft_grid(axes)
    for row in pairs.iter_rows(named=True):
        colour, at = families[row["family"]], (row[x], row[y])
        axes.plot(*at, marks[row["dataset"]], color=colour, ms=6.5, mec="white", mew=0.7, alpha=0.9)
        if labelled:
            axes.annotate(size_text(row["billions"]), at, (5, 3), textcoords="offset points", fontsize=7, color=colour)


# --- rows in a space ----------------------------------------------------------------------------------------------


def layouts(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw raw inputs and learned space side by side, coloured by category and by field, of each interpreted pair."""
    for method, own in by_method(tables["layouts"]):
        for place, ((pair,), rows) in enumerate(own.group_by("pair", maintain_order=True)):
            yield f"layouts-{method}-{place + 1}", _layout(rows, vocabulary_of(tables["pairs"].filter(pair=pair)))


def _layout(rows: pl.DataFrame, words: StudyVocabulary) -> Figure:
    figure, grid = panels(2, 2, width=3.7, height=3.3)
    limit = max(0.1, float(np.quantile(rows["delta"].abs().to_numpy(), 0.98)))
    colours = colours_of(rows["category"])
    # thousands of paths would make the file large and slow to show
    style = {"s": 5, "rasterized": True}
    for (space, title), (upper, lower) in zip(_SPACES.items(), grid.T, strict=True):
        some = rows.filter(space=space)
        upper.set_title(f"{title}, by category")
        lower.set_title(f"{title}, by field")
        shade = [colours.get(value, RULE) for value in some["category"].to_list()]
        # the grey ones first, so that they cover nothing
        order = np.argsort([colour != RULE for colour in shade], kind="stable")
        x, y, delta = (some[name].to_numpy() for name in ("x", "y", "delta"))
        upper.scatter(x[order], y[order], color=[shade[i] for i in order], linewidths=0, **style)
        drawn = field_points(lower, x, y, delta, limit, **style)
        for axes in (upper, lower):
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
        method = some["layout"][0] if some.height else ""
        lower.set_xlabel(PROJECTIONS.get(method, method))
    if colours:
        marks = [Line2D([], [], ls="", marker="o", ms=4, color=colour) for colour in colours.values()]
        names = ["other" if name is None else fitting(name, _LONGEST) for name in colours]
        where = {"loc": "center right", "bbox_to_anchor": (0.0, 0.5)}
        grid[0, 0].legend(marks, names, fontsize=7, handletextpad=0.1, **where)
    field_bar(figure, drawn, grid[1], words.over, words.under, shrink=0.8)
    first = rows.row(0, named=True)
    figure.suptitle(f"{fitting(first['model'])} on {fitting(first['dataset'])}", fontsize=9.5, x=0.01, ha="left")
    return figure


def colours_of(categories: pl.Series) -> dict[str | None, str]:
    """Return a colour for each of the commonest categories, and grey, under None, for the others."""
    known = categories.drop_nulls()
    counts = known.value_counts().sort("count", categories.name, descending=[True, False])
    common = counts[categories.name].head(len(CATEGORIES)).to_list()
    named: dict[str | None, str] = dict(zip(common, CATEGORIES, strict=False))
    return named | {None: RULE} if len(common) < counts.height or categories.null_count() else named
