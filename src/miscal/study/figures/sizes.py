"""Standard deviation of the field against the size of the model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from miscal.study.figures.figure import (
    StudyFigure,
    dataset_panels,
    datasets_in,
    families_in,
    fitting,
    leftmost,
    legend_of_all,
    size_text,
    soft_grid,
)
from miscal.study.synthetic.figures.style import write
from miscal.study.tables import LEARNED, Tables, methods_of, of_method


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure a method: a panel a data set, a line a family."""
    for method in methods_of(tables["pairs"]):
        pairs = of_method(tables["pairs"], method, LEARNED).drop_nulls(["billions", "delta_std"])
        if pairs.height:
            yield write(_figure(pairs), folder, f"sizes-{method}")


def _figure(pairs: pl.DataFrame) -> Figure:
    datasets = datasets_in(pairs)
    figure, grid = dataset_panels(datasets, width=2.6, height=2.7, sharey=True)
    families, highest = families_in(pairs), 1.1 * max(0.05, *pairs["delta_std"].to_list())
    for axes, dataset in zip(grid, datasets, strict=True):
        _panel(axes, pairs.filter(dataset=dataset), families, highest)
    for axes in leftmost(grid):
        axes.set_ylabel("std of the field")
    legend_of_all(figure, grid)
    return figure


def _panel(axes: Axes, pairs: pl.DataFrame, families: dict[str | None, str], highest: float) -> None:
    axes.set_xscale("log")
    soft_grid(axes)
    for family, colour in families.items():
        rows = pairs.filter(pl.col("family").eq_missing(family)).sort("billions")
        # models that share no family are no line
        style = "o-" if family else "o"
        if rows.height:
            axes.plot(rows["billions"], rows["delta_std"], style, color=colour, ms=5, lw=1.3,
                      label=fitting(family or "no family"))  # fmt: skip
    ticks = sorted(set(pairs["billions"].to_list()))
    low, high = ticks[0], ticks[-1]
    axes.set_xlim(low / 1.4, high * 1.4)
    axes.set_xticks(_apart(ticks))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(float(value))))
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_ylim(0.0, highest)
    axes.set_xlabel("parameters")


def _apart(values: list[float]) -> list[float]:
    """Leave out what would be printed over the value before it."""
    kept = [values[0]]
    span = max(1.6, (values[-1] / values[0]) ** 0.17)
    for value in values[1:]:
        if value >= kept[-1] * span:
            kept.append(value)
    return kept


FIGURE = StudyFigure(
    name="sizes",
    title="Do larger models vary more?",
    place="figure 7b",
    lesson="A line joins the models of one family. Where it rises, the larger models of the family are miscalibrated "
    "more unevenly. The scale of sizes is logarithmic.",
    draw=draw,
)
