"""How often near neighbours share a category, a sign of the field, or an outcome, in both spaces."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.aggregates.forgetting import OUTCOME, SIGN
from miscal.study.figures.figure import StudyFigure, fitting
from miscal.study.synthetic.figures.style import INK, MUTED, RULE, panels, write
from miscal.study.tables import Tables

_MOST_COLUMNS = 8  # of metadata
_LONGEST = 18


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw a figure a method, a panel a pair."""
    groups = tables["purity"].drop_nulls("purity").sort("method", descending=True, maintain_order=True)
    return [
        write(_figure(rows), folder, f"purity-{method}")
        for (method,), rows in groups.group_by("method", maintain_order=True)
    ]


def _figure(rows: pl.DataFrame) -> Figure:
    pairs = [one for _, one in rows.group_by("pair", maintain_order=True)]
    columns = min(len(pairs), 3)
    figure, grid = panels(math.ceil(len(pairs) / columns), columns, width=3.5, height=2.5)
    for place, axes in enumerate(grid.flat):
        if place < len(pairs):
            _panel(axes, pairs[place])
        else:
            axes.set_axis_off()
    handles, labels = grid.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)
    return figure


def _panel(axes: Axes, rows: pl.DataFrame) -> None:
    order = rows["by"].unique(maintain_order=True).to_list()
    made = [by for by in order if by in (SIGN, OUTCOME)]
    shown = [by for by in order if by not in made][:_MOST_COLUMNS] + made
    for place, by in enumerate(shown):
        spaces = {row["space"]: row for row in rows.filter(pl.col("by") == by).iter_rows(named=True)}
        values = [row["purity"] for row in spaces.values()]
        axes.plot([min(values), max(values)], [place, place], color=RULE, lw=2, zorder=0)
        chance = next(iter(spaces.values()))["null_mean"]
        axes.plot(chance, place, "|", color=MUTED, ms=10, label="by chance" if place == 0 else None)
        for space, fill, label in (("raw", "white", "raw inputs"), ("learned", INK, "learned space")):
            if space in spaces:
                axes.plot(spaces[space]["purity"], place, "o", color=INK, mfc=fill, ms=5.5,
                          label=label if place == 0 else None)  # fmt: skip
    axes.set_yticks(range(len(shown)), [fitting(by, _LONGEST) for by in shown])
    axes.set_ylim(len(shown) - 0.5, -0.5)
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share of neighbours that share it")
    first = rows.row(0, named=True)
    axes.set_title(f"{fitting(first['model'], _LONGEST)} on {fitting(first['dataset'], _LONGEST)}")


FIGURE = StudyFigure(
    name="purity",
    title="What near neighbours share",
    place="",
    lesson="Each line is something that a {row}'s nearest neighbours may share with it: a value of a metadata "
    "column, the sign of the estimated field, or the outcome. The learned space separates the signs by construction. "
    "Neither space was made from the outcomes of these {rows}. Therefore, in the line of the outcome, a filled dot "
    "to the right of the hollow one says that the learned space keeps the error. In the line of a category, a filled "
    "dot to the left says that it forgets the category.",
    draw=draw,
)
