"""What holds on another pair: how alike the fields are, and what a correction saves there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from miscal.study.figures.figure import (
    StudyFigure,
    datasets_in,
    fitting,
    legend_of_all,
    models_in,
    pair_names,
    soft_grid,
    zero,
)
from miscal.study.synthetic.figures.style import INK, MUTED, OKABE_ITO, heat_map, panels, write
from miscal.study.tables import LEARNED, Tables, methods_of, of_method

UNDEFINED = "undefined"
"""What a cell without a correlation says."""

_WHAT = {"delta": "whole field", "hidden": "hidden part"}


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure for each method and data set: the correlations of the whole field, and of its hidden part."""
    for method in methods_of(tables["transfer_fields"]):
        fields = of_method(tables["transfer_fields"], method)
        pairs = of_method(tables["pairs"], method, LEARNED)
        for place, dataset in enumerate(datasets_in(fields)):
            own = fields.filter(pl.col("dataset") == dataset)
            yield write(_figure(own, pairs, dataset), folder, f"transfer-{method}-{place + 1}")


def _figure(fields: pl.DataFrame, pairs: pl.DataFrame, dataset: str) -> Figure:
    shared = set(fields["pair_a"]) | set(fields["pair_b"])
    some = pairs.filter(pl.col("pair").is_in(shared))
    order = {model: place for place, model in enumerate(models_in(some))}
    ids = sorted(shared, key=lambda pair: order.get(_model(some, pair), len(order)))
    names = [fitting(_model(some, pair), 22) for pair in ids]
    side = 1.5 + 0.34 * len(ids)
    figure, grid = panels(1, len(_WHAT), width=side + 0.4, height=max(side, 2.4), sharey=True)
    for axes, (what, title) in zip(grid[0], _WHAT.items(), strict=True):
        own = fields.filter(pl.col("what") == what)
        image = heat_map(axes, _matrix(own, ids), names, names, colours="BrBG", limits=(-1.0, 1.0))
        for row in own.filter(pl.col("correlation").is_null()).iter_rows(named=True):
            i, j = ids.index(row["pair_a"]), ids.index(row["pair_b"])
            for x, y in ((i, j), (j, i)):
                axes.text(x, y, UNDEFINED, ha="center", va="center", fontsize=6.5, color=MUTED)
        axes.set_title(title)
        axes.tick_params(axis="x", labelrotation=90)
    figure.suptitle(fitting(dataset, 60), fontsize=9.5, x=0.01, ha="left")
    figure.colorbar(image, ax=list(grid[0]), shrink=0.7, label="Pearson correlation").outline.set_visible(False)
    return figure


def _model(pairs: pl.DataFrame, pair: str) -> str:
    found = pairs.filter(pl.col("pair") == pair)["model"]
    return found[0] if len(found) else "unnamed"


def _matrix(fields: pl.DataFrame, ids: list[str]) -> np.ndarray:
    values = np.full((len(ids), len(ids)), np.nan)
    for row in fields.drop_nulls("correlation").iter_rows(named=True):
        i, j = ids.index(row["pair_a"]), ids.index(row["pair_b"])
        values[i, j] = values[j, i] = row["correlation"]
    return values


FIGURE = StudyFigure(
    name="transfer",
    title="{failing}",
    place="",
    lesson="Each cell is the correlation of two models' estimated fields on the {rows} that both {judged}. The "
    "hidden part leaves out what each model's {probability} alone explains. Errors of the estimates lower every "
    "correlation. High values say that what misleads one model misleads the other. A cell says that it is undefined "
    "where one of the two fields is constant, so that there is no correlation.",
    draw=draw,
)


_LABELS = {True: "other pair's, interval without 0", False: "other pair's, interval with 0"}


def draw_corrections(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw a figure a method: a line a judged pair, a dot each pair that taught."""
    for method in methods_of(tables["transfer_corrections"]):
        table = of_method(tables["transfer_corrections"], method).drop_nulls("saved")
        if table.height:
            yield write(
                _corrections_figure(table, pair_names(tables["pairs"])), folder, f"corrections-elsewhere-{method}"
            )


def _corrections_figure(table: pl.DataFrame, labels: dict[str, str]) -> Figure:
    judged = table["pair_to"].unique(maintain_order=True).to_list()
    figure, grid = panels(1, 1, width=7.4, height=1.2 + 0.22 * len(judged))
    axes = grid[0, 0]
    soft_grid(axes, "x")
    zero(axes, vertical=True)
    for place, pair in enumerate(judged):
        for row in table.filter(pl.col("pair_to") == pair).iter_rows(named=True):
            ends = row["saved_low"], row["saved_high"]
            sure = None not in ends and (ends[0] > 0 or ends[1] < 0)
            axes.plot(row["saved"], place, "o", color=INK if sure else MUTED, mfc=INK if sure else "white", ms=4,
                      label=_LABELS[sure])  # fmt: skip
            own = row["log_loss_raw"] - row["log_loss_own"] if row["log_loss_own"] is not None else None
            if own is not None:
                axes.plot(own, place, "D", color=OKABE_ITO[2], ms=4.5, label="own correction")
    axes.set_yticks(range(len(judged)), [labels.get(pair, "unnamed") for pair in judged], fontsize=7.5)
    axes.set_ylim(len(judged) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("log loss saved per row by the correction")
    legend_of_all(figure, [axes])
    return figure


CORRECTIONS_FIGURE = StudyFigure(
    name="corrections-elsewhere",
    title="Does a correction learned on one pair help another?",
    place="",
    lesson="Each line is the pair on which corrections are judged, on {rows} that did not teach. Right of 0, "
    "{probabilities} corrected by the field of another pair are better than uncorrected ones. The diamond is what the "
    "pair's own correction saves.",
    draw=draw_corrections,
)
