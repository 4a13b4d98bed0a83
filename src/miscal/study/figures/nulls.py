"""Spread and gap of fields on the data, and of refits under a null, such as shuffled labels."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.aggregates import null_numbers
from miscal.study.figures.figure import StudyFigure, legend_of_all, pair_names, soft_grid
from miscal.study.synthetic.figures.style import INK, MUTED, panels, write
from miscal.study.tables import Tables, methods_of

_SHOWN = {"delta_std": "standard deviation of the field", "gap": "smECE gap, negative ones as 0"}


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure for each method and null: spread at the left, gap at the right, a line a pair."""
    for method in methods_of(tables["nulls"]):
        for null in tables["nulls"].filter(pl.col("method") == method)["null"].unique(maintain_order=True):
            found = null_numbers(tables["nulls"], method, null)
            yield write(_figure(found), folder, f"nulls-{method}-{null}")


def _figure(found: pl.DataFrame) -> Figure:
    labels = pair_names(found)
    figure, grid = panels(1, 2, width=4.6, height=1.1 + 0.32 * found.height, sharey=True)
    for axes, (name, title) in zip(grid[0], _SHOWN.items(), strict=True):
        _panel(axes, found, name)
        axes.set_xlabel(title)
    grid[0, 0].set_yticks(range(found.height), [labels[pair] for pair in found["pair"]])
    grid[0, 0].set_ylim(found.height - 0.5, -0.5)
    legend_of_all(figure, list(grid[0]))
    return figure


def _panel(axes: Axes, found: pl.DataFrame, name: str) -> None:
    soft_grid(axes)
    axes.tick_params(axis="y", length=0)
    places = range(found.height)
    shown = found.select(name, f"{name}_null_mean", f"{name}_null_std").fill_null(float("nan"))
    observed, mean, spread = (column.to_numpy() for column in shown)
    axes.errorbar(mean, places, xerr=spread, fmt="s", color=MUTED, ms=5, elinewidth=1.4,
                  label="refits under the null: mean, standard deviation")  # fmt: skip
    axes.plot(observed, places, "o", color=INK, ms=6, label="on the data")
    axes.set_xlim(left=0.0)
    for place, p in zip(places, found[f"{name}_p"], strict=True):
        if p is not None:
            axes.annotate(f"p = {p:.2g}", (1.01, place), xycoords=("axes fraction", "data"), fontsize=7,
                          color=MUTED, ha="left", va="center")  # fmt: skip


FIGURE = StudyFigure(
    name="nulls",
    title="What is found when labels are shuffled",
    place="table 2",
    lesson="For the null called permuted, the whole search is run again after the labels of training and validation "
    "rows were shuffled, while test rows keep theirs. The grey range is one standard deviation of the refits and no "
    "test: p is the share of refits at least as large, the data counted as one. The smallest p that 20 refits can give "
    "is 0.048, so that no adjustment over the six pairs of the paper can reach 5 %. The shuffling also removes what "
    "the {probability} knows: the field of a shuffled refit is the base rate less the {probability}, which is not "
    "flat. Therefore, this null is not the one of hidden miscalibration.",
    draw=draw,
)
