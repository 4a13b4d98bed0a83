"""Figures of bars and of coloured cells: what corrections take off, gaps counted, and how alike fields are."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from miscal.report.formatting import percent
from miscal.study.aggregates import improvements, raw_against_learned
from miscal.study.drawing import INK, MUTED, OKABE_ITO, legend_below, panel_figure, panels, soft_grid, zero
from miscal.study.figures.labels import dataset_titles
from miscal.study.tables import REGIONS, Tables, methods_of

_BARS = {
    "isotonic": ("isotonic regression", OKABE_ITO[5]),
    "temperature": ("temperature scaling", OKABE_ITO[4]),
    "miscal": ("local correction", OKABE_ITO[2]),
}
_WIDE = 0.26
_BINS = 17
"""An odd number, so that small differences of either sign share the bin in the middle."""


def improvement_bars(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw what each correction takes off the calibration error: a panel a data set, three bars a region."""
    for method in methods_of(tables["corrections"]):
        table = improvements(tables["corrections"], tables["pairs"], method)
        table = table.filter(pl.col("calibrator").is_in(list(_BARS)))
        if table.height:
            titles, left = dataset_titles(table), {"ylabel": "smECE taken off"}
            draw, width = partial(_improvement_bars, table), 2.7 if len(titles) > 1 else 4.4
            yield f"improvements-{method}", panel_figure(titles, draw, width=width, height=2.9, left=left, sharey=True)


def _improvement_bars(table: pl.DataFrame, axes: Axes, dataset: str) -> None:
    table = table.filter(dataset=dataset)
    soft_grid(axes, "y")
    zero(axes)
    for shift, (calibrator, (label, colour)) in enumerate(_BARS.items(), start=-1):
        rows = table.filter(calibrator=calibrator)
        places = [REGIONS.index(region) + shift * _WIDE for region in rows["region"].to_list()]
        axes.bar(places, rows["mean"].to_list(), _WIDE, color=colour, label=label)
        spread = rows["std"].fill_null(0.0).to_list()
        axes.errorbar(places, rows["mean"].to_list(), spread, fmt="none", ecolor=INK, elinewidth=0.8, capsize=0)
    counts = {row["region"]: row["n_pairs"] for row in table.iter_rows(named=True)}
    n = table["n_all"].max()
    axes.set_xticks(range(4), [f"{region}\n{counts.get(region, 0)} of {n}" for region in REGIONS])
    axes.set_xlim(-0.6, 3.6)
    axes.tick_params(axis="x", length=0)


def raw_gaps(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw histograms of gaps by raw inputs, by the learned geometry, and of their differences."""
    for method in methods_of(tables["pairs"]):
        gaps = raw_against_learned(tables["pairs"], method)
        if gaps.height:
            yield f"raw-gaps-{method}", _raw_gaps(gaps)


def _raw_gaps(gaps: pl.DataFrame) -> Figure:
    figure, grid = panels(1, 3, width=3.4, height=2.7, sharey=True)
    shown = (
        ("raw", "raw inputs", MUTED),
        ("learned", "learned geometry", OKABE_ITO[2]),
        ("difference", "learned \u2212 raw", OKABE_ITO[4]),
    )
    highest = max(0.02, float(gaps.select("raw", "learned").to_numpy().max()))
    for axes, (column, title, colour) in zip(grid[0], shown, strict=True):
        signed = column == "difference"
        _histogram(axes, gaps[column].to_numpy(), highest, colour, signed=signed)
        axes.set_title(f"{title}: above 0 in {percent((gaps[column] > 0).mean(), 0)} of {gaps.height}")
        axes.set_xlabel("difference of these gaps" if signed else "smECE gap, negative ones as 0")
    grid[0, 0].set_ylabel("pairs")
    legend_below(figure, grid[0][:1])
    return figure


def _histogram(axes: Axes, values: np.ndarray, highest: float, colour: str, *, signed: bool) -> None:
    soft_grid(axes, "y")
    zero(axes, vertical=True)
    edges = np.linspace(-highest if signed else 0.0, highest, _BINS + 1)
    counts, _ = np.histogram(values[values != 0.0], edges)
    wide = float(edges[1] - edges[0])
    axes.bar(edges[:-1], counts, wide, align="edge", color=colour, edgecolor="white", linewidth=0.5)
    below = int(counts[_BINS // 2]) if signed else 0
    axes.bar(0.0 if signed else -wide / 2, int((values == 0.0).sum()), wide, below, color="white", edgecolor=colour,
             hatch="////", linewidth=0.8, label="exactly 0")  # fmt: skip
    axes.set_xlim(-highest if signed else -wide, highest)
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
