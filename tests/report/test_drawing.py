"""Laws of the drawings: positions stay inside, areas add up, shades follow the sign, log-odds keep their order."""

import json
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.report import legend
from miscal.report.drawing import (
    LINEAR,
    LINEAR_AXES,
    LOG_ODDS,
    Scale,
    log_odds_axes,
    round_ticks,
    shade,
    shown_first,
    stacked_bars,
)
from miscal.report.frame import embed, embedded_size
from miscal.report.map_data import GRID, coded, grid_positions, sample

number = st.floats(-1e6, 1e6)
share = st.floats(0, 1)


@given(low=number, span=st.floats(1e-3, 1e6), at=st.floats(0, 1))
def test_a_scale_maps_inside_to_inside(low, span, at):
    scale = Scale(low, low + span, 10, 90)
    assert 10 <= scale.inside(low + at * span) <= 90
    assert scale(low) == 10


@given(low=number, span=st.floats(1e-3, 1e6), target=st.integers(2, 9))
def test_ticks_are_inside_rising_and_few(low, span, target):
    ticks = round_ticks(low, low + span, target)
    slack = 1e-6 * span
    assert all(low - slack <= tick <= low + span + slack for tick in ticks)
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 2 * target + 2


@given(st.lists(st.tuples(share, share, share, share, st.integers(0, 500)), max_size=20))
def test_only_bins_with_rows_are_drawn_and_inside(bins):
    columns = zip(*bins, strict=True) if bins else [()] * 5
    curve = CurveNumbers(**dict(zip(("confidence", "accuracy", "low", "high", "n"), columns, strict=True)))
    drawn = LINEAR_AXES.diagram(curve, vocabulary("answer"), lambda *bin_: str(bin_[-1]))
    marks = [] if drawn is None else drawn.marks
    assert [mark.title for mark in marks] == [str(values[-1]) for values in bins if values[-1]]
    for mark in marks:
        assert 38 <= mark.x <= 248
        assert all(10 <= y <= 220 for y in (mark.y, *mark.whisker))


@given(st.lists(st.tuples(*3 * [st.integers(0, 50)]), min_size=1, max_size=30))
def test_stacked_bars_add_up_to_the_counts(counts):
    order = ("good", "over", "under")
    table = {kind: [row[k] for row in counts] for k, kind in enumerate(order)}
    edges = [k / 10 for k in range(len(counts) + 1)]
    bars = stacked_bars(edges, table, order, Scale(0, edges[-1], 0, 300), Scale(0, 200, 200, 0))
    for kind in order:
        assert sum(height for own, *_, height in bars if own == kind) == pytest.approx(sum(table[kind]), abs=1e-6)


@given(value=st.floats(-1, 1), limit=st.floats(0.01, 1))
def test_shades_mirror_with_the_sign(value, limit):
    assert 0 <= shade(value, limit) <= 8
    # At the very edge of a shade, rounding decides which side it falls on.
    assert abs(shade(value, limit) + shade(-value, limit) - 8) <= 1
    assert (shade(value, limit) < 4) <= (value < 0)


@given(st.lists(st.one_of(st.none(), st.floats(-1e9, 1e9), st.just(float("nan"))), max_size=50))
def test_positions_stay_on_the_grid(values):
    placed = grid_positions(values)
    assert len(placed) == len(values)
    for value, position in zip(values, placed, strict=True):
        assert (position == -1) == (value is None or value != value)
        assert -1 <= position <= GRID


@given(st.lists(st.one_of(st.none(), st.sampled_from(["a", "b", "", "<b>", "c" * 300])), max_size=60))
def test_codes_give_the_values_back(values):
    made = coded(values)
    back = [None if code < 0 else made["levels"][code] for code in made["codes"]]
    assert back == [v[:120] if v else None for v in values]


@given(n=st.integers(0, 300), most=st.integers(1, 100))
def test_a_sample_keeps_order_and_size(n, most):
    rows = sample(pl.DataFrame({"row": range(n)}), most)["row"].to_list()
    assert len(rows) == min(n, most)
    assert rows == sorted(set(rows))


@given(st.text(st.characters(), max_size=60))
def test_embedded_size_is_the_size_in_the_page(text):
    text = text.encode("utf-8", "replace").decode()
    assert embedded_size(text) == len(str(embed(text)).encode())
    assert json.loads(str(embed(text))) == text


def test_every_colour_that_is_drawn_with_is_defined():
    drawn = {*legend.FIELD, *legend.CATEGORIES, *legend.NUMBERS, *legend.CODES}
    assert drawn <= set(legend.COLOURS)
    rules = legend.colour_rules()
    for name, (light, dark) in legend.COLOURS.items():
        assert f"--{name}: {light};" in rules
        assert f"--{name}: {dark};" in rules


@given(st.lists(share, max_size=20))
def test_dots_of_log_odds_stay_inside_and_keep_their_order(shown):
    axes = log_odds_axes(shown)
    low, high = axes.along.start, axes.along.stop
    places = [axes.along(value) for value in sorted(shown)]
    assert all(low <= place <= high for place in places)
    assert places == sorted(places)


@given(st.lists(st.floats(1e-6, 1 - 1e-6), min_size=1, max_size=20))
def test_ticks_of_log_odds_are_few_distinct_and_inside(shown):
    axes = log_odds_axes(shown)
    places, labels = zip(*((axes.along(mark), label) for mark, label in axes.marks), strict=True)
    assert 2 <= len(labels) <= 14
    assert len(set(labels)) == len(labels)
    assert list(places) == sorted(places)
    assert axes.along.start <= places[0] <= places[-1] <= axes.along.stop


@pytest.mark.parametrize(("share", "first"), [(None, LINEAR), (0.2, LINEAR), (0.5, LINEAR), (0.6, LOG_ODDS)])
def test_log_odds_come_first_where_most_rows_are_extreme(share, first):
    assert shown_first(SimpleNamespace(share_extreme=share)) == first
