"""Laws of the drawings, of the small pictures beside lines, of numbers and texts, and of rows shown as examples."""

import json
import math
import re
from types import SimpleNamespace

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.vocabulary import vocabulary
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.discovery.layout import BACK, HEAD, shared_beginnings, shortened_texts
from miscal.report import formatting, frame
from miscal.report.drawing import (
    LINEAR,
    LINEAR_AXES,
    LOG_ODDS,
    WIDE,
    Scale,
    log_odds_axes,
    round_ticks,
    shown_first,
    stacked_bars,
)
from miscal.report.frame import embed, embedded_size, read_source
from miscal.report.map_data import ALIKE, CODES, GRID, coded, examples, from_difference, grid_positions, sample, shade
from miscal.report.page import PANELS

from .made_world import with_alone
from .read_page import section_of, written

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
    drawn = {*frame.FIELD, *frame.CATEGORIES, *frame.NUMBERS, *CODES}
    assert drawn <= set(frame.COLOURS)
    rules = frame.colour_rules()
    for name, (light, dark) in frame.COLOURS.items():
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


def pictures(source):
    folds = [panel(source) for panel in PANELS]
    return {fold.name: fold.picture for fold in folds if fold is not None and fold.picture is not None}


def test_the_sections_that_have_a_picture_show_it_beside_their_line(make_run):
    text = written(make_run(600, edit=with_alone()))
    shown = {
        name
        for name in re.findall(r'<section id="([^"]+)" class="fold"', text)
        if '<svg class="glance"' in section_of(text, name).partition("</summary>")[0]
    }
    assert shown == {"columns", "alone", "corrections", "histogram"}
    # the line says the same
    assert text.count('<svg class="glance" viewBox="0 0 150 28" aria-hidden="true">') == len(shown)


def test_values_stand_by_size_and_findings_have_the_colour_of_their_sign(make_run):
    source = read_source(make_run(300))
    dots = pictures(source)["columns"].marks
    known = [one for table in source.columns.values() for one in table if one.hidden.value is not None]
    assert len(dots) == len(known)
    assert [one.kind for one in dots if one.kind != "other"] == ["over"]
    zero = WIDE / 2
    assert sorted(one.x < zero for one in dots) == sorted(one.hidden.value < 0 for one in known)


def test_bars_of_log_loss_are_as_long_as_it_is_large(make_run):
    run = make_run(600)
    (_, before), (kind, after) = pictures(read_source(run))["corrections"].lines
    losses = json.loads((run / "summary.json").read_text())["correction"]
    raw, ours = (losses[name]["all"]["log_loss"] for name in ("raw", "miscal"))
    ends = [float(line.rpartition("H")[2]) - 4 for line in (before, after)]
    assert ends[1] / ends[0] == pytest.approx(ours / raw, abs=0.01)
    assert kind == "bar better"


def test_bins_hold_every_row_once(make_run):
    source = read_source(make_run(600))
    counted = source.summary.histogram
    drawn = dict(pictures(source)["histogram"].lines)
    for kind in ("over", "good", "under"):
        assert drawn.get(f"bin {kind}", "").count("M") == sum(n > 0 for n in getattr(counted, kind))


def test_what_cannot_be_drawn_is_left_off(make_run):
    def forget(summary):
        summary["histogram"] = {"edges": [0.0, 0.0], "over": [0], "good": [30], "under": [0]}
        summary["correction"]["raw"]["all"]["log_loss"] = None

    run = make_run(300, kind="empty", edit=forget)
    assert pictures(read_source(run)) == {}
    assert "glance" not in written(run).partition("</style>")[2]


ANY = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=20), st.just(math.nan))
FORMS = (
    *(formatting.points, formatting.size, formatting.percent, formatting.metric, formatting.count),
    *(formatting.p_value, formatting.seconds, formatting.brief),
)


@pytest.mark.parametrize("form", FORMS)
@given(value=st.one_of(st.none(), st.floats(-1e99, 1e99), st.sampled_from([math.nan, math.inf, -math.inf])))
def test_no_number_reads_none_or_nan(form, value):
    text = form(value)
    assert text
    assert not any(word in text.lower() for word in ("none", "nan", "inf"))


@given(value=st.floats(-1, 1))
def test_points_keep_sign_and_value(value):
    text = formatting.points(value).replace(formatting.MINUS, "-")
    assert float(text) == pytest.approx(100 * value, abs=0.051)
    assert text.startswith(("+", "-")) == (float(text) != 0)


@given(value=st.recursive(ANY, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner)))
def test_settings_of_any_kind_have_words(value):
    text = formatting.setting(value)
    assert isinstance(text, str)
    if not isinstance(value, str):
        text.encode()


@settings(max_examples=100)
@given(text=st.text(st.characters(), max_size=200))
def test_cleaned_text_can_be_written_and_parsed(text):
    cleaned = formatting.clean(text)
    assert len(cleaned) == len(text)
    cleaned.encode("utf-8")
    assert "\x00" not in cleaned
    assert formatting.clean(cleaned) == cleaned


@given(text=st.text(max_size=300), length=st.integers(1, 50))
def test_short_texts_stay_and_long_ones_tell_their_length(text, length):
    cut = formatting.short(text, length)
    if len(text) <= length:
        assert cut == formatting.clean(text)
    else:
        assert cut.startswith(formatting.clean(text[:length]))
        assert f"{len(text):,} characters" in cut


@pytest.mark.parametrize("interval", [None, [], [0.1], [None, 0.2], [math.nan, 1], "ab"])
def test_an_undefined_interval_is_empty(interval):
    assert formatting.bounds(interval) == ""


@given(values=st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_long_lists_are_cut_and_tell_their_length(values):
    text = formatting.setting(values)
    if len(values) <= formatting.MAX_LISTED:
        assert text == ", ".join(map(str, values))
    else:
        assert text.endswith(f"… ({len(values)} in all)")


def test_lone_surrogates_and_nul_become_the_replacement_character():
    assert formatting.clean("a\ud800b\x00c\n") == "a\ufffdb\ufffdc\n"


LETTERS = st.text("ab ", max_size=12)


def common(a, b):
    return next((k for k, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


@given(st.lists(LETTERS, max_size=12))
def test_shared_beginnings_are_those_of_comparing_every_pair(texts):
    expected = [max([0, *(common(text, other) for other in texts if other != text)]) for text in texts]
    assert shared_beginnings(texts) == expected


@given(st.text("ab ", min_size=150, max_size=400), st.lists(LETTERS, min_size=2, max_size=5, unique=True))
def test_texts_that_begin_alike_are_shown_where_they_differ(beginning, ends):
    texts = [beginning + "." + end + "!" for end in ends]
    shown = from_difference(texts)
    assert len(set(shown)) == len(texts)
    for text, cut in zip(texts, shown, strict=True):
        assert text.endswith(cut.removeprefix("… "))
    long = [text + "x" * 400 for text in texts]
    kept = shortened_texts(long, 200)
    assert len(set(kept)) == len(texts)
    assert all(len(text) <= 200 + len(" … …") for text in kept)


@given(st.lists(st.text(max_size=ALIKE - 1), max_size=6))
def test_texts_that_share_little_stay_whole(texts):
    assert from_difference(texts) == texts
    assert shortened_texts(texts, HEAD + 2 * BACK) == texts


def test_rows_without_texts_are_told_by_the_columns_in_which_they_stand_out(make_run):
    run = make_run(400)
    points = pl.read_parquet(run / "map.parquet").drop("text")
    points = points.with_columns(
        pl.when(pl.col("row") == 7).then(1e6).otherwise(pl.col("row") % 5 + 0.0).alias("feature.age"),
        pl.when(pl.col("row").is_in([8, 9])).then(pl.lit("rare")).otherwise(pl.lit("usual")).alias("meta.kind"),
        pl.format("id-{}", pl.col("row")).alias("meta.id"),
    )
    points.write_parquet(run / "map.parquet")
    [(seven, eight)] = examples(read_source(run), [[7, 8]])
    assert seven["columns"][0] == "age 1e+06"
    assert eight["columns"][0] == "kind rare"
    # what names a row does not tell what it is like
    assert "id-" not in seven["columns"][0] + eight["columns"][0]
    assert seven["text"] == ""


def test_examples_show_the_answers_and_how_often_equal_confidence_is_right(make_run):
    run = make_run(400)
    points = pl.read_parquet(run / "map.parquet")
    told = pl.when(pl.col("row") == 7).then(pl.lit("B: the seller"))
    points.with_columns(told.alias("answer.model's answer"), pl.lit("A").alias("answer.right answer")).write_parquet(
        run / "map.parquet"
    )
    source = read_source(run)
    [(seven, eight)] = examples(source, [[7, 8]])
    assert seven["answers"] == ("model's answer: B: the seller", "right answer: A")
    assert eight["answers"] == ("right answer: A",)
    numbers = source.field.row(7, named=True)
    assert seven["expected"] == numbers["confidence"] + numbers["visible"]
