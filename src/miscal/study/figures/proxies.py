"""The validation proxy while the network learns, on the data and under a null."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from miscal.study.figures.figure import StudyFigure, grid_shape, legend_of_all, pair_names, soft_grid
from miscal.study.synthetic.figures.style import INK, MUTED, panels, write
from miscal.study.tables import Tables

_DATA = -1


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw a figure a null: a panel a pair, a line a refit."""
    curves = tables["proxy_curves"]
    return [
        write(_figure(curves.filter(pl.col("null") == null)), folder, f"proxies-{null}")
        for null in curves["null"].unique(maintain_order=True)
    ]


def _figure(curves: pl.DataFrame) -> Figure:
    labels = pair_names(curves)
    rows, columns = grid_shape(len(labels), 3)
    figure, grid = panels(rows, columns, width=3.4, height=2.5)
    for axes, (pair, label) in zip(grid.flat, labels.items(), strict=False):
        _panel(axes, curves.filter(pl.col("pair") == pair).sort("draw", "epoch"))
        axes.set_title(label, fontsize=8.5)
    for axes in grid.flat[len(labels) :]:
        axes.set_axis_off()
    for axes in grid[:, 0]:
        axes.set_ylabel("proxy less its first value")
    legend_of_all(figure, list(grid.flat[: len(labels)]))
    return figure


def _panel(axes: Axes, curves: pl.DataFrame) -> None:
    soft_grid(axes)
    for (number,), own in curves.group_by("draw", maintain_order=True):
        data = number == _DATA
        change = own["proxy"] - own["proxy"][0]
        axes.plot(own["epoch"], change, color=INK if data else MUTED, lw=1.6 if data else 0.7,
                  alpha=1.0 if data else 0.5, zorder=3 if data else 2,
                  label="on the data" if data else "under the null")  # fmt: skip
        kept = own.with_columns(change=change).filter("chosen")
        axes.plot(kept["epoch"], kept["change"], "o", color=INK if data else MUTED, ms=4 if data else 2.5, zorder=4,
                  label="epoch that was kept")  # fmt: skip
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


FIGURE = StudyFigure(
    name="proxies",
    title="How long learning goes on, on the data and with shuffled labels",
    place="appendix F.3",
    lesson="The proxy is the validation Brier score of {probability} plus field, by which the paper's method chooses; "
    "each line starts at 0 so that they can be compared. A line that keeps falling has found structure that helps on "
    "the validation rows by which it was chosen; only test rows can show that it holds elsewhere. Under the null "
    "called permuted, labels of training and validation rows are shuffled. Even then the field is not flat, because it "
    "learns the base rate less the {probability}.",
    draw=draw,
)
