"""Figures with a line for each model, on which dots and intervals stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.drawing import MUTED, OVER, UNDER, panel_figure, soft_grid, zero
from miscal.study.figures.labels import dataset_titles, fitting, models_in
from miscal.study.paper_numbers import GAPS, reproduced
from miscal.study.tables import LEARNED, Tables, methods_of
from miscal.study.vocabulary import vocabulary_of

_SIDES = {"over": OVER, "under": UNDER}
_MARKS = {"paper": "o", "auto": "s"}
_PLACES = {"paper": 0.16, "auto": -0.16}


def _label_lines(axes: Axes, labels: Sequence[str], fontsize: float | None = None) -> None:
    axes.set_yticks(range(len(labels)), labels, fontsize=fontsize)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)


def gaps(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw the worst-slice gap of each pair with its interval, by both methods: a panel a data set, a line a model."""
    pairs = tables["pairs"].filter(geometry=LEARNED)
    if pairs.height:
        titles, models = dataset_titles(pairs), models_in(pairs)
        wide, more = (5.2, 0.9) if len(titles) == 1 else (2.6, 0.0)
        draw, height = partial(_gaps, pairs, models), 1.3 + 0.3 * len(models) + more
        yield "gaps", panel_figure(titles, draw, width=wide, height=height, sharex=True, sharey=True)


def _gaps(pairs: pl.DataFrame, models: list[str], axes: Axes, dataset: str) -> None:
    pairs = pairs.filter(dataset=dataset)
    zero(axes, vertical=True)
    soft_grid(axes)
    one, words = len(methods_of(pairs)) == 1, vocabulary_of(pairs)
    for row in pairs.iter_rows(named=True):
        line, mark = models.index(row["model"]), _MARKS[row["method"]]
        place = line - (0.0 if one else _PLACES[row["method"]])
        if known := reproduced(row):
            axes.plot(GAPS[known].mean, line, "D", mfc="none", mec=MUTED, ms=5, mew=1, label="published (table 5a)")
        if row["gap"] is None:
            axes.plot(0.0, place, "|", color=MUTED, ms=6, label="no slice has enough rows")
            continue
        colour = _SIDES[row["worst"]]
        low, high = row["gap_interval_low"], row["gap_interval_high"]
        if low is not None and high is not None:
            axes.plot([low, high], [place, place], color=colour, lw=1.3, zorder=1.5)
        fill = colour if low is not None and low > 0 else "white"
        axes.plot(row["gap"], place, mark, color=colour, mfc=fill, ms=4.5)
        # the key shows them filled, whichever comes first
        label = f"{row['method']}: worst slice {words.regime(row['worst'])}"
        axes.plot([], [], mark, color=colour, ms=4.5, label=label)
    axes.set_xlabel("smECE gap")
    _label_lines(axes, [fitting(name, 24) for name in models])
