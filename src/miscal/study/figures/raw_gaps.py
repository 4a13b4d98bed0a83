"""Distribution of gaps by raw inputs and by the learned geometry, and their paired difference."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from miscal.report.numbers import percent
from miscal.study.aggregates import RawAgainstLearned, raw_against_learned
from miscal.study.figures.figure import StudyFigure, legend_of_all, soft_grid, zero
from miscal.study.methods import methods_of
from miscal.study.tables import Tables
from miscal.synthetic.figures.style import MUTED, OKABE_ITO, panels, write

_BINS = 17
"""An odd number, so that small differences of either sign share the bin in the middle."""


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw three histograms for each method that has both geometries."""
    names = []
    for method in methods_of(tables["pairs"]):
        found = raw_against_learned(tables["pairs"], method)
        if found.n:
            names.append(write(_figure(found), folder, f"raw-gaps-{method}"))
    return names


def _figure(found: RawAgainstLearned) -> Figure:
    figure, grid = panels(1, 3, width=3.4, height=2.7, sharey=True)
    shown = (
        ("raw", "raw inputs", found.share_raw_above_zero, MUTED),
        ("learned", "learned geometry", found.share_learned_above_zero, OKABE_ITO[2]),
        ("difference", "learned \u2212 raw", found.share_learned_larger, OKABE_ITO[4]),
    )
    highest = max(0.02, float(found.gaps.select(column for column, *_ in shown[:2]).to_numpy().max()))
    for axes, (column, title, share, colour) in zip(grid[0], shown, strict=True):
        lowest = -highest if column == "difference" else 0.0
        _panel(axes, found.gaps[column].to_numpy(), (lowest, highest), colour)
        axes.set_xlim(lowest - (highest / _BINS if column != "difference" else 0.0), highest)
        axes.set_title(f"{title}: above 0 in {percent(share, 0)} of {found.n}")
        axes.set_xlabel("smECE gap, negative ones as 0" if column != "difference" else "difference of these gaps")
    grid[0, 0].set_ylabel("pairs")
    legend_of_all(figure, list(grid[0][:1]))
    return figure


def _panel(axes: Axes, values: np.ndarray, ends: tuple[float, float], colour: str) -> None:
    soft_grid(axes, "y")
    zero(axes, vertical=True)
    edges = np.linspace(*ends, _BINS + 1)
    counts, _ = np.histogram(values[values != 0.0], edges)
    wide = float(edges[1] - edges[0])
    axes.bar(edges[:-1], counts, wide, align="edge", color=colour, edgecolor="white", linewidth=0.5)
    middle = ends[0] < 0
    below = int(counts[_BINS // 2]) if middle else 0
    zeros = int((values == 0.0).sum())
    axes.bar(0.0 if middle else -wide / 2, zeros, wide, below, color="white", edgecolor=colour, hatch="////",
             linewidth=0.8, label="exactly 0")  # fmt: skip
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))


FIGURE = StudyFigure(
    name="raw-gaps",
    title="Gaps that raw inputs find, and gaps that learning finds",
    place="figure 14b",
    lesson="The hatched bars hold the pairs whose value is exactly 0: no slice is worse calibrated than the whole, or "
    "both gaps are 0. The further the middle histogram lies to the right of the left one, the more learning adds; the "
    "right one shows the difference within each pair. The gap of a calibrated model is above 0, too, so that the "
    "shares above 0 show nothing by themselves.",
    draw=draw,
)
