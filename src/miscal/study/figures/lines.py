"""Figures with a line for each pair, model or column, on which dots and intervals stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from miscal.study.aggregates import OUTCOME, SIGN, null_numbers
from miscal.study.drawing import INK, MUTED, OKABE_ITO, OVER, RULE, UNDER, panel_figure, soft_grid, zero
from miscal.study.figures.labels import dataset_titles, fitting, models_in, pair_names
from miscal.study.paper_numbers import GAPS, reproduced
from miscal.study.tables import LEARNED, Tables, by_method, methods_of
from miscal.study.vocabulary import vocabulary_of

_SIDES = {"over": OVER, "under": UNDER}
_MARKS = {"paper": "o", "auto": "s"}
_PLACES = {"paper": 0.16, "auto": -0.16}
_MOST_COLUMNS = 8  # of metadata
_LONGEST = 18


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


def deferral_gains(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw what correcting takes off the area under the risk-coverage curve of each pair, with its interval."""
    for method, table in by_method(tables["deferral_gains"]):
        gains = table.filter(at="area").drop_nulls("gain").sort("gain", descending=True, maintain_order=True)
        if gains.height:
            draw, height = partial(_deferral_gains, gains), 1.0 + 0.2 * gains.height
            yield f"deferral-gains-{method}", panel_figure({method: ""}, draw, width=7.4, height=height)


def _deferral_gains(gains: pl.DataFrame, axes: Axes, method: str) -> None:
    soft_grid(axes, "x")
    zero(axes, vertical=True)
    for place, row in enumerate(gains.iter_rows(named=True)):
        if row["gain_low"] is not None:
            axes.plot([row["gain_low"], row["gain_high"]], [place, place], color=MUTED, lw=1.4)
        axes.plot(row["gain"], place, "o", color=INK, ms=4)
    labels = pair_names(gains)
    _label_lines(axes, [labels[pair] for pair in gains["pair"]], 7.5)
    axes.set_xlabel("area under the risk-coverage curve: raw \u2212 corrected")


def corrections_elsewhere(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw what corrections of other pairs save on each pair: a line a judged pair, a dot each pair that taught."""
    for method, table in by_method(tables["transfer_corrections"].drop_nulls("saved")):
        draw = partial(_corrections, table, pair_names(tables["pairs"]))
        height = 1.2 + 0.22 * table["pair_to"].n_unique()
        yield f"corrections-elsewhere-{method}", panel_figure({method: ""}, draw, width=7.4, height=height)


def _corrections(table: pl.DataFrame, labels: dict[str, str], axes: Axes, method: str) -> None:
    judged = table["pair_to"].unique(maintain_order=True).to_list()
    soft_grid(axes, "x")
    zero(axes, vertical=True)
    for place, pair in enumerate(judged):
        for row in table.filter(pair_to=pair).iter_rows(named=True):
            ends = row["saved_low"], row["saved_high"]
            sure = None not in ends and (ends[0] > 0 or ends[1] < 0)
            axes.plot(row["saved"], place, "o", color=INK if sure else MUTED, mfc=INK if sure else "white", ms=4,
                      label=f"other pair's, interval with{'out' if sure else ''} 0")  # fmt: skip
            if row["log_loss_own"] is not None:
                own = row["log_loss_raw"] - row["log_loss_own"]
                axes.plot(own, place, "D", color=OKABE_ITO[2], ms=4.5, label="own correction")
    _label_lines(axes, [labels.get(pair, "unnamed") for pair in judged], 7.5)
    axes.set_xlabel("log loss saved per row by the correction")


def nulls(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw spread (left) and gap (right) of fields on the data, and of refits under a null; a line a pair."""
    for method, table in by_method(tables["nulls"]):
        for null in table["null"].unique(maintain_order=True):
            found = null_numbers(table, method, null)
            titles, draw, height = {"delta_std": "", "gap": ""}, partial(_nulls, found), 1.1 + 0.32 * found.height
            yield f"nulls-{method}-{null}", panel_figure(titles, draw, width=4.6, height=height, sharey=True)


def _nulls(found: pl.DataFrame, axes: Axes, name: str) -> None:
    soft_grid(axes)
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
    axes.set_xlabel("standard deviation of the field" if name == "delta_std" else "smECE gap, negative ones as 0")
    labels = pair_names(found)
    _label_lines(axes, [labels[pair] for pair in found["pair"]])


def purity(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Draw how often near neighbours share a category, a sign of the field, or an outcome; a panel a pair."""
    for method, rows in by_method(tables["purity"].drop_nulls("purity")):
        titles = {
            pair: f"{fitting(model, _LONGEST)} on {fitting(dataset, _LONGEST)}"
            for pair, model, dataset in rows.select("pair", "model", "dataset").iter_rows()
        }
        yield f"purity-{method}", panel_figure(titles, partial(_purity, rows), columns=3, width=3.5, height=2.5)


def _purity(rows: pl.DataFrame, axes: Axes, pair: str) -> None:
    rows = rows.filter(pair=pair)
    order = rows["by"].unique(maintain_order=True).to_list()
    made = [by for by in order if by in (SIGN, OUTCOME)]
    shown = [by for by in order if by not in made][:_MOST_COLUMNS] + made
    for place, by in enumerate(shown):
        spaces = {row["space"]: row for row in rows.filter(by=by).iter_rows(named=True)}
        values = [row["purity"] for row in spaces.values()]
        axes.plot([min(values), max(values)], [place, place], color=RULE, lw=2, zorder=0)
        axes.plot(next(iter(spaces.values()))["null_mean"], place, "|", color=MUTED, ms=10, label="by chance")
        for space, fill, label in (("raw", "white", "raw inputs"), ("learned", INK, "learned space")):
            if space in spaces:
                axes.plot(spaces[space]["purity"], place, "o", color=INK, mfc=fill, ms=5.5, label=label)
    _label_lines(axes, [fitting(by, _LONGEST) for by in shown])
    axes.set_xlim(-0.02, 1.02)
    axes.set_xlabel("share of neighbours that share it")
