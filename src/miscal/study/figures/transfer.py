"""Correlations of the fields of different models on the same questions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from miscal.study.figures.figure import StudyFigure, datasets_in, fitting, models_in
from miscal.study.methods import LEARNED, methods_of, of_method
from miscal.study.tables import Tables
from miscal.synthetic.figures.style import MUTED, heat_map, panels, write

UNDEFINED = "undefined"
"""What a cell without a correlation says."""

_WHAT = {"delta": "whole field", "hidden": "hidden part"}


def draw(tables: Tables, folder: Path) -> list[str]:
    """Draw a figure for each method and data set: the correlations of the whole field, and of its hidden part."""
    names = []
    for method in methods_of(tables["transfer_fields"]):
        fields = of_method(tables["transfer_fields"], method)
        pairs = of_method(tables["pairs"], method, LEARNED)
        for place, dataset in enumerate(datasets_in(fields)):
            own = fields.filter(pl.col("dataset") == dataset)
            names.append(write(_figure(own, pairs, dataset), folder, f"transfer-{method}-{place + 1}"))
    return names


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
    title="Do different models fail on the same questions?",
    place="",
    lesson="Each cell is the correlation of two models' estimated fields on the questions that both answered. The "
    "hidden part leaves out what each model's confidence alone explains. Errors of the estimates lower every "
    "correlation. High values say that what misleads one model misleads the other. A cell says that it is undefined "
    "where one of the two fields is constant, so that there is no correlation.",
    draw=draw,
)
