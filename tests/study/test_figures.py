"""Figures show what the tables hold, and draw from whatever part of them is there."""

from collections import defaultdict

import numpy as np
import polars as pl
import pytest

from miscal.study.aggregates import improvements, raw_beside_learned
from miscal.study.drawing import RULE, look, write
from miscal.study.figures import CATEGORIES, colours_of, dataset_titles, size_text
from miscal.study.pages import FIGURES
from miscal.study.paper import GAPS

from .made_tables import HOSTILE, frames, other_pairs, papers_pairs, tables

pytestmark = pytest.mark.whole

BY_NAME = {figure.name: figure for figure in FIGURES}


def drawn(name, made):
    """Draw a figure by its name; give back matplotlib's figures by theirs."""
    with look():
        return dict(BY_NAME[name].draw(made))


@pytest.fixture(scope="module")
def made():
    return tables(papers_pairs(9), seed=2)


def points(axes, marker=None):
    lines = [line for line in axes.lines if len(line.get_xdata()) == 1 and line.get_marker() != "None"]
    return {(round(float(line.get_xdata()[0]), 9), round(float(line.get_ydata()[0]), 9)) for line in lines
            if marker is None or line.get_marker() == marker}  # fmt: skip


def of(made, method="paper", geometry="learned"):
    return made["pairs"].filter(method=method, geometry=geometry)


def xy(table, x, y):
    return {(round(a, 9), round(b, 9)) for a, b in table.select(x, y).iter_rows()}


def test_fields_stand_at_mean_and_spread(made):
    shown = drawn("fields", made)
    assert list(shown) == ["fields-paper", "fields-paper-sizes", "fields-auto", "fields-auto-sizes"]
    assert points(shown["fields-auto"].axes[0]) == xy(of(made, "auto"), "delta_mean", "delta_std")
    written = sorted(text.get_text() for text in shown["fields-paper-sizes"].axes[0].texts)
    assert written == sorted(size_text(size) for size in of(made)["billions"])


def test_gaps_stand_beside_the_papers(made):
    (figure,) = drawn("gaps", made).values()
    assert [axes.get_title(loc="left") for axes in figure.axes] == list(dataset_titles(made["pairs"]))
    circles = {x for axes in figure.axes for x, _ in points(axes, "o")}
    assert circles == {round(gap, 9) for gap in of(made)["gap"].drop_nulls()}
    squares = {x for axes in figure.axes for x, _ in points(axes, "s")}
    assert squares == {round(gap, 9) for gap in of(made, "auto")["gap"].drop_nulls()}
    diamonds = {x for axes in figure.axes for x, _ in points(axes, "D")}
    assert diamonds == set(of(made).join(GAPS, on=["dataset", "model"], suffix="_paper")["gap_paper"])


def test_a_gap_is_filled_where_its_interval_excludes_zero(made):
    (figure,) = drawn("gaps", made).values()
    fills = {
        round(float(line.get_xdata()[0]), 9): line.get_markerfacecolor() != "white"
        for axes in figure.axes
        for line in axes.lines
        if line.get_marker() == "o" and len(line.get_xdata())
    }
    rows = of(made).drop_nulls("gap")
    beyond = dict(zip(rows["gap"].round(9), rows["gap_interval_low"] > 0, strict=True))
    assert fills == beyond
    assert set(beyond.values()) == {True, False}
    bars = {tuple(line.get_xdata()) for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 2}
    assert set(rows.select("gap_interval_low", "gap_interval_high").rows()) <= bars


def test_orange_is_over_and_blue_under(made):
    (figure,) = drawn("gaps", made).values()
    side = {round(row["gap"], 9): row["worst"] for row in of(made).drop_nulls("gap").iter_rows(named=True)}
    seen = set()
    for line in (line for axes in figure.axes for line in axes.lines if line.get_marker() == "o"
                 and len(line.get_xdata())):  # fmt: skip
        worst = side[round(float(line.get_xdata()[0]), 9)]
        assert line.get_color() == {"over": "#d55e00", "under": "#0072b2"}[worst]
        seen.add(worst)
    assert seen == {"over", "under"}


def test_bars_are_mean_improvements(made):
    figure = drawn("improvements", made)["improvements-auto"]
    expected = improvements(made["corrections"], made["pairs"], "auto").filter(
        pl.col("calibrator").is_in(["isotonic", "temperature", "miscal"])
    )
    heights = sorted(bar.get_height() for axes in figure.axes for bar in axes.patches)
    assert heights == pytest.approx(sorted(expected["mean"]))
    said = [label.get_text() for axes in figure.axes for label in axes.get_xticklabels()]
    assert said[0].startswith("all\n")
    counts = defaultdict(int)
    for row in of(made, "auto").iter_rows(named=True):
        counts[row["dataset"]] += 1
    assert [label.rsplit(" ", 1)[1] for label in said[::4]] == [
        str(counts[name]) for name in dataset_titles(made["pairs"])
    ]


def test_gains_are_on_the_worst_slice(made):
    figure = drawn("gains", made)["gains-paper"]
    corrections = {(row["pair"], row["calibrator"], row["region"]): row["smece"]
                   for row in made["corrections"].iter_rows(named=True)
                   if (row["method"], row["geometry"]) == ("paper", "learned")}  # fmt: skip
    expected = {
        (round(row["delta_std"], 9),
         round(corrections[row["pair"], "isotonic", row["worst"]]
               - corrections[row["pair"], "miscal", row["worst"]], 9))
        for row in of(made).drop_nulls("worst").iter_rows(named=True)
        if (row["pair"], "miscal", row["worst"]) in corrections
    }  # fmt: skip
    assert points(figure.axes[0]) == expected
    assert figure.axes[0].get_title(loc="left").startswith("Spearman")


def test_sizes_are_lines_of_families():
    everything = tables(papers_pairs(48), methods=("auto",), raw=False)
    figure = drawn("sizes", everything)["sizes-auto"]
    lines = [line for axes in figure.axes for line in axes.lines if len(line.get_xdata()) == 3]
    assert len(lines) == 16
    assert all((np.diff(line.get_xdata()) > 0).all() for line in lines)
    assert sorted(y for line in lines for y in line.get_ydata()) == pytest.approx(
        sorted(everything["pairs"]["delta_std"])
    )


def test_raw_and_learned_share_their_axes(made):
    (figure,) = drawn("raw-fields", made).values()
    raw, learned = figure.axes
    assert points(raw) == xy(of(made, geometry="raw"), "delta_mean", "delta_std")
    assert points(learned) == xy(of(made), "delta_mean", "delta_std")
    assert (raw.get_xlim(), raw.get_ylim()) == (learned.get_xlim(), learned.get_ylim())
    assert drawn("raw-fields", tables(papers_pairs(3), raw=False)) == {}


def test_histograms_of_gaps_count_every_pair(made):
    (figure,) = drawn("raw-gaps", made).values()
    found = raw_beside_learned(made["pairs"])
    assert [sum(bar.get_height() for bar in axes.patches) for axes in figure.axes] == [found.height] * 3
    for axes, name in zip(figure.axes, ("gap_clipped_raw", "gap_clipped", "difference"), strict=True):
        hatched = [bar for bar in axes.patches if bar.get_hatch()]
        assert [bar.get_height() for bar in hatched] == [(found[name] == 0).sum()]
        assert len(axes.patches) == 17 + 1
    # small differences of either sign share the bin in the middle
    middle = figure.axes[2].patches[8]
    assert middle.get_x() == pytest.approx(-middle.get_x() - middle.get_width())
    assert f"{100 * (found['gap_clipped_raw'] > 0).mean():.0f}\u202f% of {found.height}" in figure.axes[0].get_title(
        loc="left"
    )


def test_the_example_is_the_papers_or_the_largest_gap():
    everything = tables(papers_pairs(48), methods=("paper",), raw=False)
    (figure,) = drawn("example", everything).values()
    assert figure.get_suptitle() == "qwen3-8b, hh-rlhf"
    assert len(figure.axes) == 5
    others = tables(other_pairs(5), seed=4)
    largest = max(of(others).iter_rows(named=True), key=lambda row: row["gap_clipped"])
    (figure,) = drawn("example", others).values()
    assert figure.get_suptitle() == f"{largest['model']}, {largest['dataset']}"


def test_proxies_start_at_zero(made):
    (figure,) = drawn("proxies", made).values()
    lines = [line for line in figure.axes[0].lines if len(line.get_xdata()) > 1]
    assert len(lines) == 21
    assert all(line.get_ydata()[0] == 0 for line in lines)


def test_the_commonest_categories_have_colours_and_the_rest_is_grey():
    values = pl.Series("category", ["b"] * 5 + ["a"] * 3 + [f"rare {i}" for i in range(8)])
    colours = colours_of(values)
    assert list(colours)[:2] == ["b", "a"]
    assert list(colours)[-1] is None
    assert len(set(colours.values())) == len(colours) == len(CATEGORIES) + 1
    assert colours_of(pl.Series("category", [None, None], dtype=pl.String)) == {None: RULE}
    assert None not in colours_of(pl.Series("category", ["a", "b"]))


@pytest.mark.parametrize("name", list(BY_NAME))
def test_every_figure_draws_from_one_pair_and_from_none(name):
    alone = tables(papers_pairs(1))
    assert drawn(name, alone)
    assert drawn(name, frames({})) == {}


@pytest.mark.parametrize("name", list(BY_NAME))
def test_pairs_without_numbers_are_left_out(name):
    made = tables(other_pairs(3))
    bare = {key: table.with_columns(
                pl.lit(None, kind).alias(column) for column, kind in table.schema.items()
                if kind == pl.Float64 and column not in ("epsilon", "coverage", "left", "right", "risk", "proxy"))
            for key, table in made.items()}  # fmt: skip
    nothing = pl.lit(None, pl.String)
    bare["pairs"] = bare["pairs"].with_columns(worst=nothing, gap_clipped=pl.lit(0.0), family=nothing)
    drawn(name, bare)


@pytest.mark.parametrize("name", list(BY_NAME))
def test_hostile_names_are_drawn(name):
    pairs = [
        {**pair, "model": f"$x^{{$ {HOSTILE}{i}", "dataset": "\u6f22\u5b57\x07 \\frac"}
        for i, pair in enumerate(other_pairs(2))
    ]
    shown = drawn(name, tables(pairs))
    assert shown
    with look():
        for figure in shown.values():
            figure.draw_without_rendering()


def test_the_same_tables_give_the_same_bytes(tmp_path, made):
    written = []
    for place in ("one", "other"):
        (tmp_path / place).mkdir()
        with look():
            for name in ("sizes",):
                for own, figure in BY_NAME[name].draw(made):
                    write(figure, tmp_path / place, own)
        written.append({path.name: path.read_bytes() for path in sorted((tmp_path / place).iterdir())})
    assert written[0] == written[1]
    assert {path.rsplit(".")[1] for path in written[0]} == {"svg", "png"}
