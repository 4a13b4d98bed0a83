"""Errors against coverage by raw and by corrected probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.figures.figure import (
    StudyFigure,
    datasets_in,
    grid_shape,
    leftmost,
    legend_of_all,
    pair_names,
    soft_grid,
    zero,
)
from miscal.study.synthetic.figures.style import INK, MUTED, OKABE_ITO, panels, write
from miscal.study.tables import Tables, methods_of, of_method
from miscal.study.vocabulary import StudyVocabulary, vocabulary_of

_SCORES = {"raw": MUTED, "corrected": OKABE_ITO[2]}


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw for each method the gain of each pair with its interval, and risk over coverage."""
    for method in methods_of(tables["deferral_gains"]):
        gains = of_method(tables["deferral_gains"], method).filter(pl.col("at") == "area").drop_nulls("gain")
        if gains.height:
            yield write(_gains(gains), folder, f"deferral-gains-{method}")
    curves = {method: of_method(tables["deferral"], method) for method in methods_of(tables["deferral"])}
    words = vocabulary_of(tables["pairs"])
    for method, own in curves.items():
        yield write(_curves(own, words), folder, f"deferral-{method}")


def _curves(table: pl.DataFrame, words: StudyVocabulary) -> Figure:
    """Draw a panel a pair, data set after data set."""
    labels: dict[str, str] = {}
    for dataset in datasets_in(table):
        labels |= pair_names(table.filter(pl.col("dataset") == dataset))
    rows, columns = grid_shape(len(labels))
    figure, grid = panels(rows, columns, width=2.6, height=1.8, sharex=True)
    drawn = list(grid.flat[: len(labels)])
    for axes, (pair, label) in zip(drawn, labels.items(), strict=True):
        _panel(axes, table.filter(pl.col("pair") == pair), words)
        axes.set_title(label, fontsize=7.5)
    for axes in grid.flat[len(labels) :]:
        axes.set_axis_off()
    for axes in drawn[-columns:]:
        axes.tick_params(labelbottom=True)
        axes.set_xlabel("coverage")
    for axes in leftmost(drawn):
        axes.set_ylabel(words.errors)
    legend_of_all(figure, drawn)
    return figure


def _panel(axes: Axes, table: pl.DataFrame, words: StudyVocabulary) -> None:
    soft_grid(axes)
    for (score,), own in table.sort("coverage").group_by("score", maintain_order=True):
        label = f"{score} {words.probabilities}"
        axes.plot(own["coverage"], own["risk"], color=_SCORES[str(score)], lw=1.3, label=label)
    axes.set_xlim(0.0, 1.0)
    axes.set_ylim(0.0, max(0.1, 1.05 * max(table["risk"].to_list())))


def _gains(gains: pl.DataFrame) -> Figure:
    gains = gains.sort("gain", descending=True, maintain_order=True)
    labels = pair_names(gains)
    figure, grid = panels(1, 1, width=7.4, height=1.0 + 0.2 * gains.height)
    axes = grid[0, 0]
    soft_grid(axes, "x")
    zero(axes, vertical=True)
    for place, row in enumerate(gains.iter_rows(named=True)):
        if row["gain_low"] is not None:
            axes.plot([row["gain_low"], row["gain_high"]], [place, place], color=MUTED, lw=1.4)
        axes.plot(row["gain"], place, "o", color=INK, ms=4)
    axes.set_yticks(range(gains.height), [labels[pair] for pair in gains["pair"]], fontsize=7.5)
    axes.set_ylim(gains.height - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("area under the risk-coverage curve: raw \u2212 corrected")
    return figure


FIGURE = StudyFigure(
    name="deferral",
    title="Deferral: which {left} to leave to somebody else",
    place="",
    lesson="{deferral} The first figure shows how much the correction takes off the area under the curve of the "
    "{errors} over coverage, with 95 % bootstrap intervals: right of the line, correcting helps. The curves of each "
    "pair are linked below it; a lower curve is better.",
    draw=draw,
)
