"""Reliability diagrams of one pair: all rows, a metadata column, and the discovered regimes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.figures.figure import OVER, UNDER, WIDEST, StudyFigure, fitting, pair_names
from miscal.study.paper_numbers import EXAMPLE, reproduced
from miscal.study.synthetic.figures.style import INK, MUTED, OKABE_ITO, panels, write
from miscal.study.tables import LEARNED, Tables, methods_of, of_method
from miscal.study.vocabulary import StudyVocabulary, vocabulary_of

_MOST_VALUES, _MOST_COLUMNS = 3, 2


def draw(tables: Tables, folder: Path) -> Iterator[str]:
    """Draw the paper's example where the study has it, otherwise the pair with the largest gap; a figure a column."""
    for method in methods_of(tables["curves"])[:1]:
        pair = _chosen(of_method(tables["pairs"], method, LEARNED))
        curves, regions = (
            of_method(tables[name], method).filter(pl.col("pair") == pair) for name in ("curves", "regions")
        )
        if curves.is_empty():
            continue
        words = vocabulary_of(tables["pairs"].filter(pl.col("pair") == pair))
        columns = [name for name in regions["column"].unique(maintain_order=True) if name != "regime"]
        for place, column in enumerate(columns[:_MOST_COLUMNS] or [None]):
            figure = _figure(curves, regions, column, pair_names(tables["pairs"])[str(pair)], words)
            yield write(figure, folder, f"example-{place + 1}")


def _chosen(pairs: pl.DataFrame) -> str | None:
    for row in pairs.iter_rows(named=True):
        if reproduced(row) == EXAMPLE:
            return row["pair"]
    known = pairs.sort("gap_clipped", descending=True, nulls_last=True, maintain_order=True)
    return known["pair"][0] if known.height else None


def _figure(
    curves: pl.DataFrame, regions: pl.DataFrame, column: str | None, name: str, words: StudyVocabulary
) -> Figure:
    values = regions.filter(pl.col("column") == column).sort("n", descending=True)["value"].to_list() if column else []
    shown = [("regime", "all", "all rows", INK)]
    shown += [(column, value, f"{fitting(str(column), 12)} = {fitting(value, 14)}", OKABE_ITO[2])
              for value in values[:_MOST_VALUES]]  # fmt: skip
    shown += [("regime", "over", words.over, OVER), ("regime", "under", words.under, UNDER)]
    figure, grid = panels(1, len(shown), width=WIDEST / max(len(shown), 4), height=3.0, sharex=True, sharey=True)
    for axes, (own, value, title, colour) in zip(grid[0], shown, strict=True):
        here = (pl.col("column") == own) & (pl.col("value") == value)
        _panel(axes, curves.filter(here).sort("bin"), regions.filter(here), title, colour)
        axes.set_xlabel(words.probability)
    grid[0, 0].set_ylabel(words.rate)
    figure.suptitle(name, fontsize=9.5, x=0.01, ha="left")
    return figure


def _panel(axes: Axes, curve: pl.DataFrame, region: pl.DataFrame, title: str, colour: str) -> None:
    axes.plot([0, 1], [0, 1], color=MUTED, lw=0.8, ls=(0, (3, 3)))
    if curve.height:
        accuracy = curve["accuracy"].to_numpy()
        low, high = curve["low"].to_numpy(), curve["high"].to_numpy()
        errors = [(accuracy - low).clip(0), (high - accuracy).clip(0)]
        axes.errorbar(curve["confidence"], accuracy, errors, color=colour, fmt="o-", ms=3.5, lw=1, elinewidth=1)
    else:
        axes.text(0.5, 0.5, "too few rows", ha="center", color=MUTED)
    if region.height:
        row = region.row(0, named=True)
        smece = "" if row["smece"] is None else f"smECE {row['smece']:.3f}, "
        title += f"\n{smece}{row['n']:,} rows"
    axes.set_title(title, fontsize=8.5)
    axes.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")


FIGURE = StudyFigure(
    name="example",
    title="One pair in detail: what the whole hides",
    place="figure 4",
    lesson="On the dashed line, the {rate} equals the {probability}; rows below it are {over}, rows above it {under}. "
    "The two diagrams at the right show the rows that the field sets apart. The pair is the paper's example if the "
    "study has it, otherwise the one with the largest gap, which was chosen after looking.",
    draw=draw,
)
