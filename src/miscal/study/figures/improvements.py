"""What each correction takes off the calibration error, by region, and where a local one gains most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.aggregates import HeterogeneityGain, heterogeneity_gain, improvements
from miscal.study.figures.figure import (
    StudyFigure,
    dataset_panels,
    datasets_in,
    families_in,
    keys,
    leftmost,
    legend_of_all,
    marks_in,
    soft_grid,
    zero,
)
from miscal.study.synthetic.figures.style import INK, OKABE_ITO, panels, write
from miscal.study.synthetic.wording import count
from miscal.study.tables import REGIONS, Tables, methods_of

_BARS = {
    "isotonic": ("isotonic regression", OKABE_ITO[5]),
    "temperature": ("temperature scaling", OKABE_ITO[4]),
    "miscal": ("local correction", OKABE_ITO[2]),
}
_WIDE = 0.26


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure a method: a panel a data set, three bars a region."""
    for method in methods_of(tables["corrections"]):
        table = improvements(tables["corrections"], tables["pairs"], method)
        table = table.filter(pl.col("calibrator").is_in(list(_BARS)))
        if table.height:
            yield write(_figure(table), folder, f"improvements-{method}")


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


def draw_gains(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure a method, a point a pair."""
    for method in methods_of(tables["pairs"]):
        found = heterogeneity_gain(tables["pairs"], tables["corrections"], method)
        if found.points.height:
            yield write(_gains_figure(found), folder, f"gains-{method}")


def _gains_figure(found: HeterogeneityGain) -> Figure:
    figure, grid = panels(1, 1, width=6.4, height=3.7)
    axes, points = grid[0, 0], found.points
    zero(axes)
    soft_grid(axes)
    families, marks = families_in(points), marks_in(points)
    for row in points.iter_rows(named=True):
        axes.plot(row["delta_std"], row["gain"], marks[row["dataset"]], color=families[row["family"]], ms=6.5,
                  mec="white", mew=0.7)  # fmt: skip
    axes.set_xlabel("standard deviation of the field")
    axes.set_ylabel("smECE(isotonic) \u2212 smECE(local)")
    axes.set_xlim(0.0, 1.1 * max(0.05, *points["delta_std"].to_list()))
    rho = found.association
    pairs = count(rho.n, "pair")
    axes.set_title(f"{pairs}: too few for a rank correlation" if rho.value is None else f"Spearman {rho.text}, {pairs}")
    keys(figure, families, marks)
    return figure


GAINS_FIGURE = StudyFigure(
    name="gains",
    title="Where the local correction gains most",
    place="figure 7a",
    lesson="Above the line, the local correction leaves less calibration error (smECE) on the worst slice than "
    "isotonic regression, which sees the {probability} alone. If points rise to the right, the gain is larger where "
    "the field varies more. The interval presumes that pairs are independent; those of one model or one data set are "
    "not quite.",
    draw=draw_gains,
)
