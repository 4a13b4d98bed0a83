"""The worst-slice gap of each pair with its interval, and gaps by raw inputs beside those by the learned geometry."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from miscal.report.formatting import percent
from miscal.study.aggregates import RawAgainstLearned, raw_against_learned
from miscal.study.figures.figure import (
    OVER,
    UNDER,
    StudyFigure,
    dataset_panels,
    datasets_in,
    fitting,
    leftmost,
    legend_of_all,
    models_in,
    soft_grid,
    zero,
)
from miscal.study.paper_numbers import GAPS, reproduced
from miscal.study.synthetic.figures.style import MUTED, OKABE_ITO, panels, write
from miscal.study.tables import LEARNED, Tables, methods_of
from miscal.study.vocabulary import vocabulary_of

_SIDES = {"over": OVER, "under": UNDER}
_MARKS = {"paper": "o", "auto": "s"}
_PLACES = {"paper": 0.16, "auto": -0.16}


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw one figure of both methods: a panel a data set, a line a model."""
    pairs = tables["pairs"].filter(pl.col("geometry") == LEARNED)
    return [write(_figure(pairs), folder, "gaps")] if pairs.height else []


def _figure(pairs: pl.DataFrame) -> Figure:
    datasets, models = datasets_in(pairs), models_in(pairs)
    height = 1.3 + 0.3 * len(models) + (0.9 if len(datasets) == 1 else 0.0)
    figure, grid = dataset_panels(
        datasets, width=2.6 if len(datasets) > 1 else 5.2, height=height, sharex=True, sharey=True
    )
    for axes, dataset in zip(grid, datasets, strict=True):
        _panel(axes, pairs.filter(pl.col("dataset") == dataset), models)
    for axes in leftmost(grid):
        axes.set_yticks(range(len(models)), [fitting(name, 24) for name in models])
        axes.set_ylim(len(models) - 0.4, -0.6)
    legend_of_all(figure, grid)
    return figure


def _panel(axes: Axes, pairs: pl.DataFrame, models: list[str]) -> None:
    zero(axes, vertical=True)
    soft_grid(axes, "both")
    one, words = len(methods_of(pairs)) == 1, vocabulary_of(pairs)
    for row in pairs.iter_rows(named=True):
        place = models.index(row["model"]) - (0.0 if one else _PLACES[row["method"]])
        _published(axes, row, models.index(row["model"]))
        if row["gap"] is None:
            axes.plot(0.0, place, "|", color=MUTED, ms=6, label="no slice has enough rows")
            continue
        colour = _SIDES[row["worst"]]
        low, high = row["gap_interval_low"], row["gap_interval_high"]
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=colour, lw=1.3, zorder=1.5)
        label = f"{row['method']}: worst slice {words.regime(row['worst'])}"
        fill = colour if low is not None and low > 0 else "white"
        axes.plot(row["gap"], place, _MARKS[row["method"]], color=colour, mfc=fill, ms=4.5, ls="")
        # the key shows them filled, whichever comes first
        axes.plot([], [], _MARKS[row["method"]], color=colour, ms=4.5, label=label, ls="")
    axes.set_xlabel("smECE gap")
    axes.tick_params(axis="y", length=0)


def _published(axes: Axes, row: dict, place: float) -> None:
    known = reproduced(row)
    if known:
        axes.plot(GAPS[known].mean, place, "D", mfc="none", mec=MUTED, ms=5, mew=1, label="published (table 5a)", ls="")


FIGURE = StudyFigure(
    name="gaps",
    title="How much worse the worst slice is than the whole",
    place="figure 5b and table 5",
    lesson="The gap is the calibration error (smECE) of the worse of the two discovered slices less that of all rows. "
    "Where it lies right of the line and its interval excludes 0 (a filled mark), the whole understates "
    "how badly the {probability} is calibrated on some inputs. A calibrated model has a gap above 0, too, because the "
    "calibration error of few rows is larger. Bars are 95 % intervals that allow for this, which is why they may lie "
    "left of their mark; they start at 0 where chance explains the gap. The paper appears to report the gap cut off at "
    "0; here it keeps its sign.",
    draw=draw,
)


_BINS = 17
"""An odd number, so that small differences of either sign share the bin in the middle."""


def draw_raw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw three histograms for each method that has both geometries."""
    for method in methods_of(tables["pairs"]):
        found = raw_against_learned(tables["pairs"], method)
        if found.n:
            yield write(_raw_figure(found), folder, f"raw-gaps-{method}")


def _raw_figure(found: RawAgainstLearned) -> Figure:
    figure, grid = panels(1, 3, width=3.4, height=2.7, sharey=True)
    shown = (
        ("raw", "raw inputs", found.share_raw_above_zero, MUTED),
        ("learned", "learned geometry", found.share_learned_above_zero, OKABE_ITO[2]),
        ("difference", "learned \u2212 raw", found.share_learned_larger, OKABE_ITO[4]),
    )
    highest = max(0.02, float(found.gaps.select(column for column, *_ in shown[:2]).to_numpy().max()))
    for axes, (column, title, share, colour) in zip(grid[0], shown, strict=True):
        lowest = -highest if column == "difference" else 0.0
        _histogram(axes, found.gaps[column].to_numpy(), (lowest, highest), colour)
        axes.set_xlim(lowest - (highest / _BINS if column != "difference" else 0.0), highest)
        axes.set_title(f"{title}: above 0 in {percent(share, 0)} of {found.n}")
        axes.set_xlabel("smECE gap, negative ones as 0" if column != "difference" else "difference of these gaps")
    grid[0, 0].set_ylabel("pairs")
    legend_of_all(figure, list(grid[0][:1]))
    return figure


def _histogram(axes: Axes, values: np.ndarray, ends: tuple[float, float], colour: str) -> None:
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


RAW_FIGURE = StudyFigure(
    name="raw-gaps",
    title="Gaps that raw inputs find, and gaps that learning finds",
    place="figure 14b",
    lesson="The hatched bars hold the pairs whose value is exactly 0: no slice is worse calibrated than the whole, or "
    "both gaps are 0. The further the middle histogram lies to the right of the left one, the more learning adds; the "
    "right one shows the difference within each pair. The gap of a calibrated model is above 0, too, so that the "
    "shares above 0 show nothing by themselves.",
    draw=draw_raw,
)
