"""What a correction learned on one pair saves on another."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from matplotlib.figure import Figure

from miscal.study.figures.figure import StudyFigure, legend_of_all, pair_names, soft_grid, zero
from miscal.study.methods import methods_of, of_method
from miscal.study.tables import Tables
from miscal.synthetic.figures.style import INK, MUTED, OKABE_ITO, panels, write

_LABELS = {True: "other pair's, interval without 0", False: "other pair's, interval with 0"}


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw a figure a method: a line a judged pair, a dot each pair that taught."""
    names = []
    for method in methods_of(tables["transfer_corrections"]):
        table = of_method(tables["transfer_corrections"], method).drop_nulls("saved")
        if table.height:
            names.append(write(_figure(table, pair_names(tables["pairs"])), folder, f"corrections-elsewhere-{method}"))
    return names


def _figure(table: pl.DataFrame, labels: dict[str, str]) -> Figure:
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


FIGURE = StudyFigure(
    name="corrections-elsewhere",
    title="Does a correction learned on one pair help another?",
    place="",
    lesson="Each line is the pair on which corrections are judged, on rows whose questions did not teach. Right of 0, "
    "confidences corrected by the field of another pair are better than uncorrected ones. The diamond is what the "
    "pair's own correction saves.",
    draw=draw,
)
