"""Examples tell rows apart: texts from where they differ, telling rows first, columns where there is no text."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from miscal.discovery.layout import BACK, HEAD, shared_beginnings, shortened_texts
from miscal.report.frame import read_source
from miscal.report.map_data import ALIKE, examples, from_difference

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
