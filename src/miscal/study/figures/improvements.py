"""What each correction takes off the calibration error, by region."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.aggregates import improvements
from miscal.study.figures.figure import (
    StudyFigure,
    dataset_panels,
    datasets_in,
    leftmost,
    legend_of_all,
    soft_grid,
    zero,
)
from miscal.study.methods import REGIONS, methods_of
from miscal.study.tables import Tables
from miscal.synthetic.figures.style import INK, OKABE_ITO, write

_BARS = {
    "isotonic": ("isotonic regression", OKABE_ITO[5]),
    "temperature": ("temperature scaling", OKABE_ITO[4]),
    "miscal": ("local correction", OKABE_ITO[2]),
}
_WIDE = 0.26


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw a figure a method: a panel a data set, three bars a region."""
    names = []
    for method in methods_of(tables["corrections"]):
        table = improvements(tables["corrections"], tables["pairs"], method)
        table = table.filter(pl.col("calibrator").is_in(list(_BARS)))
        if table.height:
            names.append(write(_figure(table), folder, f"improvements-{method}"))
    return names


def _figure(table: pl.DataFrame) -> Figure:
    datasets = datasets_in(table)
    figure, grid = dataset_panels(datasets, width=2.7 if len(datasets) > 1 else 4.4, height=2.9, sharey=True)
    for axes, dataset in zip(grid, datasets, strict=True):
        _panel(axes, table.filter(pl.col("dataset") == dataset))
    for axes in leftmost(grid):
        axes.set_ylabel("smECE taken off")
    legend_of_all(figure, grid)
    return figure


def _panel(axes: Axes, table: pl.DataFrame) -> None:
    soft_grid(axes, "y")
    zero(axes)
    for shift, (calibrator, (label, colour)) in enumerate(_BARS.items(), start=-1):
        rows = table.filter(pl.col("calibrator") == calibrator)
        places = [REGIONS.index(region) + shift * _WIDE for region in rows["region"].to_list()]
        axes.bar(places, rows["mean"].to_list(), _WIDE, color=colour, label=label)
        spread = rows["std"].fill_null(0.0).to_list()
        axes.errorbar(places, rows["mean"].to_list(), spread, fmt="none", ecolor=INK, elinewidth=0.8, capsize=0)
    counts = {row["region"]: row["n_pairs"] for row in table.iter_rows(named=True)}
    n = table["n_all"].max()
    axes.set_xticks(range(4), [f"{region}\n{counts.get(region, 0)} of {n}" for region in REGIONS])
    axes.set_xlim(-0.6, 3.6)
    axes.tick_params(axis="x", length=0)


FIGURE = StudyFigure(
    name="improvements",
    title="What a correction takes off, and where",
    place="figure 6",
    lesson="A bar above 0 means that the correction lowers the calibration error (smECE) on that part of the rows; "
    "below 0 it does harm. Bars are means over models, lines one standard deviation over models. Under each part "
    "stands how many of the data set's pairs have it with enough rows. Parts are always cut by the field.",
    draw=draw,
)
