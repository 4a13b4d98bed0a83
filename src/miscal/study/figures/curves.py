"""Figures of curves: over coverage, over epochs, over the size of models, and of reliability."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from miscal.study.drawing import (
    INK,
    MUTED,
    OKABE_ITO,
    OVER,
    UNDER,
    panel_figure,
    reliability_diagram,
    soft_grid,
)
from miscal.study.figures.labels import dataset_titles, families_in, fitting, pair_names, size_text
from miscal.study.paper_numbers import EXAMPLE, reproduced
from miscal.study.tables import LEARNED, Tables, by_method, methods_of, of_method
from miscal.study.vocabulary import vocabulary_of

_WIDEST = 10.8
"""Inches of a figure as wide as the page."""

_MOST_VALUES, _MOST_COLUMNS = 3, 2
_DATA = -1
"""What stands for the data where refits under a null are numbered."""


def proxies(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw the validation proxy over epochs, on the data and under a null: a panel a pair, a line a refit."""
    curves = tables["proxy_curves"]
    for null in curves["null"].unique(maintain_order=True):
        own = curves.filter(null=null)
        yield f"proxies-{null}", panel_figure(
            pair_names(own), partial(_proxies, own), columns=3, width=3.4, height=2.5, fontsize=8.5,
            left={"ylabel": "proxy less its first value"},
        )  # fmt: skip


def _proxies(curves: pl.DataFrame, axes: Axes, pair: str) -> None:
    soft_grid(axes)
    for (number,), own in curves.filter(pair=pair).sort("draw", "epoch").group_by("draw", maintain_order=True):
        data = number == _DATA
        colour = INK if data else MUTED
        own = own.with_columns(change=own["proxy"] - own["proxy"][0])
        axes.plot(own["epoch"], own["change"], color=colour, lw=1.6 if data else 0.7, alpha=1.0 if data else 0.5,
                  zorder=3 if data else 2, label="on the data" if data else "under the null")  # fmt: skip
        kept = own.filter("chosen")
        axes.plot(kept["epoch"], kept["change"], "o", color=colour, ms=4 if data else 2.5, zorder=4,
                  label="epoch that was kept")  # fmt: skip
    axes.set_xlabel("epoch")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def sizes(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw the standard deviation of the field against the size of the model: a panel a data set, a line a family."""
    for method, table in by_method(tables["pairs"], LEARNED):
        pairs = table.drop_nulls(["billions", "delta_std"])
        if pairs.height:
            left = {"ylabel": "std of the field", "ylim": (0.0, 1.1 * max(0.05, *pairs["delta_std"].to_list()))}
            draw, titles = partial(_sizes, pairs, families_in(pairs)), dataset_titles(pairs)
            yield f"sizes-{method}", panel_figure(titles, draw, width=2.6, height=2.7, left=left, sharey=True)


def _sizes(pairs: pl.DataFrame, families: dict[str | None, str], axes: Axes, dataset: str) -> None:
    pairs = pairs.filter(dataset=dataset)
    axes.set_xscale("log")
    soft_grid(axes)
    for family, colour in families.items():
        rows = pairs.filter(pl.col("family").eq_missing(family)).sort("billions")
        # models that share no family are no line
        style = "o-" if family else "o"
        if rows.height:
            axes.plot(rows["billions"], rows["delta_std"], style, color=colour, ms=5, lw=1.3,
                      label=fitting(family or "no family"))  # fmt: skip
    ticks = sorted(set(pairs["billions"].to_list()))
    axes.set_xlim(ticks[0] / 1.4, ticks[-1] * 1.4)
    # what would be printed over the value before it is left out
    shown, span = ticks[:1], max(1.6, (ticks[-1] / ticks[0]) ** 0.17)
    for value in ticks[1:]:
        if value >= shown[-1] * span:
            shown.append(value)
    axes.set_xticks(shown)
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: size_text(float(value))))
    axes.tick_params(axis="x", labelsize=7.5)
    axes.set_xlabel("parameters")


def example(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw the reliability of all rows of a pair, of values of a metadata column, and of the regimes.

    A figure a column. The pair is the paper's example where the study has it, else the one with the largest gap.
    """
    for method in methods_of(tables["curves"])[:1]:
        pairs = of_method(tables["pairs"], method, LEARNED)
        pairs = pairs.sort("gap_clipped", descending=True, nulls_last=True, maintain_order=True)
        published = [row["pair"] for row in pairs.iter_rows(named=True) if reproduced(row) == EXAMPLE]
        pair = next(iter([*published, *pairs["pair"]]), None)
        curves, regions = (of_method(tables[name], method).filter(pair=pair) for name in ("curves", "regions"))
        if curves.height:
            columns = [name for name in regions["column"].unique(maintain_order=True) if name != "regime"]
            for place, column in enumerate(columns[:_MOST_COLUMNS] or [None]):
                figure = _example(curves, regions, column, tables["pairs"].filter(pair=pair))
                figure.suptitle(pair_names(tables["pairs"])[str(pair)], fontsize=9.5, x=0.01, ha="left")
                yield f"example-{place + 1}", figure


def _example(curves: pl.DataFrame, regions: pl.DataFrame, column: str | None, pair: pl.DataFrame) -> Figure:
    values = regions.filter(column=column).sort("n", descending=True)["value"].to_list() if column else []
    words = vocabulary_of(pair)
    shown = {("regime", "all"): ("all rows", INK)}
    for value in values[:_MOST_VALUES]:
        shown[str(column), value] = f"{fitting(str(column), 12)} = {fitting(value, 14)}", OKABE_ITO[2]
    shown |= {("regime", "over"): (words.over, OVER), ("regime", "under"): (words.under, UNDER)}

    def draw(axes: Axes, part: tuple[str, str]) -> None:
        own, region = (table.filter(column=part[0], value=part[1]) for table in (curves, regions))
        title, colour = shown[part]
        known = {name: own.sort("bin")[name].to_numpy() for name in ("confidence", "accuracy", "low", "high")}
        reliability_diagram(axes, known if own.height else None, colour)
        axes.set(xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel=words.probability)
        if not own.height:
            axes.text(0.5, 0.5, "too few rows", ha="center", color=MUTED)
        for row in region.head(1).iter_rows(named=True):
            smece = "" if row["smece"] is None else f"smECE {row['smece']:.3f}, "
            title += f"\n{smece}{row['n']:,} rows"
        axes.set_title(title, fontsize=8.5)

    titles = dict.fromkeys(shown, "")
    return panel_figure(
        titles, draw, columns=len(shown), width=_WIDEST / max(len(shown), 4), height=3.0, legend=False,
        left={"ylabel": words.rate}, sharex=True, sharey=True,
    )  # fmt: skip
