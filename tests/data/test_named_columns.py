"""Columns that name what is found: part of the inputs, unless new rows will not have them."""

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.base.folders import built, state_of
from miscal.data.encoders.features import Encoder
from miscal.data.readers.new_rows import read_inputs
from miscal.data.readers.read import read_triples, reread

N = 240
RNG = np.random.default_rng(8)


def table(**columns):
    confidence = RNG.uniform(0.1, 0.9, N)
    made = {
        "confidence": confidence,
        "correct": (RNG.random(N) < confidence).astype(int),
        "topic": [["law", "sums", None][i % 3] for i in range(N)],
        "age": [20.0 + i % 50 for i in range(N)],
        "said": [f"question {i} of {['law', 'sums'][i % 2]}" for i in range(N)],
    }
    return pl.DataFrame(made | columns)


DATA = table()
EMBEDDED = RNG.normal(size=(N, 6)).astype(np.float32)
NUMBERED = {f"x_{j:02}": RNG.normal(size=N) for j in range(50)}


def read_as(triples):
    return {one["name"]: (one["role"], one["needed"]) for one in triples.source["read_columns"]}


PLACES = {
    "embeddings": {"embeddings": EMBEDDED},
    "texts": {"text": "said", "embed_model": "tfidf"},
    "a table": {},
}


@pytest.mark.parametrize("places", PLACES)
def test_a_column_is_the_same_input_whether_named_as_metadata_or_as_a_feature(places):
    data, given = DATA.drop([] if places == "texts" else "said"), PLACES[places]
    one, two = (read_triples(data, **{role: "topic,age"}, **given) for role in ("metadata", "features"))
    np.testing.assert_array_equal(one.X, two.X)
    assert one.layout == two.layout
    assert (list(one.metadata), list(two.metadata)) == (["topic", "age"], [])
    assert read_as(one) == {"topic": ("metadata", True), "age": ("metadata", True)}
    assert set(one.source["columns"]["needed"]) >= {"confidence", "topic", "age"}


@pytest.mark.parametrize("places", PLACES)
def test_columns_for_names_only_change_no_input(places):
    given = PLACES[places] | ({"features": "age"} if places == "a table" else {})
    alone, named = read_triples(DATA, **given), read_triples(DATA, names_only=["topic"], **given)
    assert alone.X.tobytes() == named.X.tobytes()
    assert alone.layout == named.layout
    assert list(named.metadata) == ["topic"]
    assert read_as(named)["topic"] == ("names only", False)
    assert "topic" not in named.source["columns"]["needed"]
    # neither do new rows need them
    new = read_inputs(
        DATA.drop("topic"), encoder=named.encoder, **({"embeddings": EMBEDDED} if places == "embeddings" else {})
    )
    np.testing.assert_array_equal(new.X, named.X)


def test_texts_and_columns_are_seen_together_and_texts_stand_back_where_an_embedding_is():
    data = table(**NUMBERED)
    both = read_triples(data, text="said", features="age", metadata="topic", embed_model="tfidf")
    assert both.source["columns"]["x"] == ["said", "age", "topic"]
    beside = read_triples(data, text="said", features="x_*", metadata="topic")
    assert beside.encoder.kind == "features"
    assert (beside.layout.places, beside.layout.numbers, beside.layout.codes) == (50, 3, 1)
    np.testing.assert_array_equal(beside.places, np.column_stack(list(NUMBERED.values())).astype(np.float32))
    again = built(Encoder, *state_of(beside.encoder))
    np.testing.assert_allclose(read_inputs(data.drop("correct"), encoder=again).X, beside.X, rtol=1e-6)
    assert again.columns_of(beside.X)["topic"].tolist() == DATA["topic"].to_list()


def test_auto_takes_every_column_without_another_part():
    data = table(same=["x"] * N, id=range(N), vector=[[float(i), 1.0] for i in range(N)])
    t = read_triples(data, metadata="auto", features="age", names_only="topic")
    assert (list(t.metadata), t.source["columns"]["x"]) == (["topic"], ["age"])
    t = read_triples(data, metadata="auto", embeddings=EMBEDDED)
    assert list(t.metadata) == ["topic", "age"]
    why = {one["name"]: one["left_out"] for one in t.source["read_columns"] if one["left_out"]}
    assert set(why) == {"same", "said", "vector"}


def test_what_says_nothing_of_a_rows_kind_names_it_and_is_no_input():
    t = read_triples(DATA, metadata="said,topic", embeddings=EMBEDDED)
    assert list(t.metadata) == ["said", "topic"]
    assert read_as(t) == {"said": ("names only", False), "topic": ("metadata", True)}
    assert t.layout.codes == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"names_only": "confidence"}, "names_only: 'confidence' is what the model states"),
        ({"names_only": "correct"}, "names_only: 'correct' is the outcome"),
        ({"names_only": "topc"}, "names_only: there is no column 'topc' \\(did you mean 'topic'"),
        ({"names_only": "age", "features": "age"}, "names_only: 'age' is named as a feature, too"),
    ],
)
def test_what_cannot_name_alone_is_refused(given, said):
    with pytest.raises(InputError, match=said):
        read_triples(DATA, **given)


@pytest.mark.parametrize(
    "given",
    [
        {"metadata": "topic", "text": "said", "embed_model": "tfidf"},
        {"metadata": "auto"},
        {"features": "age", "metadata": "topic"},
        {"features": "age", "names_only": ["topic"]},
    ],
)
def test_the_same_rows_are_read_again(given, tmp_path):
    DATA.write_parquet(tmp_path / "data.parquet")
    first = read_triples(tmp_path / "data.parquet", **given)
    again = reread(first.source)
    np.testing.assert_array_equal(again.X, first.X)
    assert list(again.metadata) == list(first.metadata)
    assert again.source["columns"] == first.source["columns"]
