"""Which columns name what is found, and which say what rows belong together."""

from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.base.folders import built, state_of
from miscal.data.encoders.features import Encoder
from miscal.data.readers.candidate_groups import names_identity
from miscal.data.readers.new_rows import read_inputs
from miscal.data.readers.read import read_triples, reread

# --- what says which rows belong together: a column, the day of a date, and columns that nobody has named ------------


N = 400
START = datetime(2024, 1, 31, 22)


def table(**more):
    rng = np.random.default_rng(0)
    f = rng.uniform(0.3, 0.7, N)
    times = [START + timedelta(hours=3 * i) for i in range(N)]
    columns = {"confidence": f, "correct": (rng.random(N) < f).astype(int), "x": rng.normal(size=N), "seen": times}
    return pl.DataFrame({**columns, **more})


@pytest.mark.parametrize("ending", ["csv", "parquet", "frame"])
def test_rows_of_one_day_are_a_group_and_the_date_is_still_an_input(ending, tmp_path):
    data, path = table(), tmp_path / f"rows.{ending}"
    if ending == "csv":
        data.with_columns(pl.col("seen").dt.to_string("iso:strict")).write_csv(path)
    elif ending == "parquet":
        data.write_parquet(path)
    triples = read_triples(data if ending == "frame" else path, group="seen:day")
    assert triples.group.tolist() == [f"{day}T00:00:00" for day in data["seen"].dt.date()]
    assert triples.source["columns"]["group"] == "seen:day"
    assert "seen" in triples.encoder.columns
    assert "seen" not in read_triples(data, group="seen").encoder.columns


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("seen:fortnight", "'seen' can be cut into hour, day, week, month, year; got 'seen:fortnight'"),
        ("x:day", "must hold dates; its type is Float64"),
        ("sen:day", "there is no column 'sen:day'"),
        ("correct:day", "'correct' is the outcome"),
    ],
)
def test_what_is_no_period_of_a_date_is_refused(group, message):
    with pytest.raises(InputError, match=message):
        read_triples(table(), group=group)


def test_a_column_may_have_a_name_that_looks_like_a_period():
    named = np.arange(N) // 2
    assert read_triples(table(**{"seen:day": named}), group="seen:day").group.tolist() == named.tolist()


def test_a_row_without_a_date_has_no_group():
    data = table().with_columns(pl.when(pl.int_range(N) == 7).then(None).otherwise(pl.col("seen")).alias("seen"))
    with pytest.raises(InputError, match=r"1 of 400 values are missing \(rows 7\)|missing"):
        read_triples(data, group="seen:day", features="x")


def found_in(data, **options):
    """Units of the columns that may be counted by."""
    found = read_triples(data, **options).candidate_groups
    return None if found is None else {one.name: units for one, units in found.items() if one.kind != "repeats"}


def test_dates_and_columns_that_look_like_identities_may_be_counted_by_and_kinds_of_rows_may_not():
    rng = np.random.default_rng(1)
    shift, customer = rng.permutation(N) % 60, [f"c{i:03}" for i in rng.integers(0, 120, N)]
    known_later = table()["correct"] * 60 + rng.integers(0, 60, N)
    data = table(shift=shift, customer=customer, later=known_later, few=np.arange(N) % 29, user=np.arange(N) % 12)
    unseen = found_in(data, features="x")
    # of fifty days too few have two hours, and no week or month is one of ten
    assert set(unseen) == {"seen:day", "customer", "user"}
    assert len(np.unique(unseen["seen:day"])) == data["seen"].dt.date().n_unique()
    assert len(set(zip(unseen["customer"].tolist(), customer, strict=True))) == len(set(customer))
    assert set(found_in(data, features="x,shift,customer")) == set(unseen)
    assert set(found_in(pl.concat([data] * 7), features="x")) == {"seen:hour", "seen:day", "customer", "user"}
    assert found_in(data, features="x", group="shift") is None
    assert found_in(data, features="x", group="none") is None


IDENTITIES = ("customer_id", "userName", "Patients", "question.id", "SessionUUID", "NR", "ID", "userid", "StoreID")
OTHERS = ("age", "identity", "usage", "personal_income", "paid", "n_users", "valid", "family_size")


def test_identities_are_told_by_their_names():
    assert [name for name in (*IDENTITIES, *OTHERS) if names_identity(name)] == [*IDENTITIES]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("seen", ["x", "auto"])
def test_a_count_is_no_group_and_a_number_that_names_is_one(seen, seed):
    rng = np.random.default_rng(seed)
    # lengths of a few rows each, and shops
    length, shop = np.round(rng.lognormal(4, 0.7, 2_000)).astype(int), rng.integers(1_000, 1_150, 2_000)
    odds = 1.5 * np.tanh(length / 50 - 1) + 1.2 * rng.normal(size=150)[shop - 1_000]
    correct = (rng.random(2_000) < 1 / (1 + np.exp(-odds))).astype(int)
    data = {"confidence": rng.uniform(0.4, 0.6, 2_000), "correct": correct, "x": rng.random(2_000)}
    assert set(found_in(data | {"length": length, "shop": shop}, features=seen)) == {"shop"}


def test_few_blanks_are_one_unit_each_and_a_column_of_many_is_none():
    ward = [None if i % 25 == 0 else float(i % 60) for i in range(N)]
    found = found_in(table(ward=ward), features="x")["ward"]
    sizes = np.bincount(found)
    assert (sizes[found[::25]] == 1).all()
    assert sizes.sum() == N
    assert "ward" not in found_in(table(ward=[None if i % 15 == 0 else i % 60 for i in range(N)]), features="x")


@pytest.mark.parametrize(("many", "small"), [(True, True), (False, True), (True, False)])
def test_texts_are_units_if_they_are_many_and_small(many, small):
    rng = np.random.default_rng(3)
    town = rng.permutation(1_200) % (200 if many else 40)
    town = np.where(np.arange(1_200) < (0 if small else 100), 0, town)
    names = np.array(["".join(chr(97 + int(d)) for d in str(k)) for k in range(200)])
    data = {"confidence": rng.random(1_200), "correct": np.arange(1_200) % 2, "x": rng.random(1_200)}
    assert ("town" in found_in(data | {"town": names[town]}, features="x")) == (many and small)


def test_numbers_are_units_only_by_their_name_and_what_is_seen_each_year_without_one():
    n = 1_200
    rng = np.random.default_rng(4)
    place, year = np.divmod(np.arange(n), 20)
    data = {"confidence": rng.random(n), "correct": np.arange(n) % 2, "x": rng.random(n)}
    assert found_in(data | {"place": place, "level": rng.integers(0, 60, n)}, features="x") == {}
    assert set(found_in(data | {"place": place, "year": year}, features="x")) == {"place"}
    assert set(found_in(data | {"place_id": place / 1.0, "wage_id": place / 7}, features="x")) == {"place_id"}


def test_three_numbers_that_always_repeat_together_are_somebodys_unless_they_follow_from_each_other():
    rng = np.random.default_rng(5)
    who = rng.integers(0, 90, 1_200)
    base = {"confidence": rng.random(1_200), "correct": np.arange(1_200) % 2, "x": rng.random(1_200)}
    own = {f"own{k}": rng.normal(size=90)[who] for k in range(3)}
    assert set(found_in(base | own, features="x")) == {"own0"}
    wage = own["own0"]
    assert found_in(base | {"wage": wage, "squared": np.exp(2 * wage), "log": np.exp(wage)}, features="x") == {}


def test_an_id_that_repeats_is_a_unit_and_distinct_ones_number_the_rows():
    assert set(found_in(table(id=np.arange(N) // 4), features="x")) >= {"id"}
    assert "id" not in found_in(table(id=np.arange(N)), features="x")


def test_columns_that_nobody_asked_for_and_that_cannot_be_read_stop_nothing():
    data = table().to_dict(as_series=False)
    assert "seen:day" in found_in(data, features="x")
    assert len(read_triples(data | {"odd": [object()] * N, "mixed": [1, "a"] * (N // 2)}, features="x")) == N


@pytest.mark.parametrize("word", ["auto", "none"])
def test_a_column_called_as_the_option_says_is_an_input_and_can_be_left_out(word):
    rng = np.random.default_rng(0)
    table = {
        "risk": rng.uniform(size=200),
        "late": rng.integers(0, 2, 200),
        word: ["a", "b"] * 100,
        "x": np.arange(200),
    }
    options = {"probability": "risk", "event": "late", "group": word}
    read = read_triples(table, **options)
    assert read.counted_by.source == "rows"
    assert set(read.encoder.columns) == {word, "x"}
    assert set(read_triples(table, leave_out=[word], **options).encoder.columns) == {"x"}


# --- columns that name what is found: part of the inputs, unless new rows will not have them -------------------------


NAMED = 240
DRAWN = np.random.default_rng(8)


def described(**columns):
    confidence = DRAWN.uniform(0.1, 0.9, NAMED)
    made = {
        "confidence": confidence,
        "correct": (DRAWN.random(NAMED) < confidence).astype(int),
        "topic": [["law", "sums", None][i % 3] for i in range(NAMED)],
        "age": [20.0 + i % 50 for i in range(NAMED)],
        "said": [f"question {i} of {['law', 'sums'][i % 2]}" for i in range(NAMED)],
    }
    return pl.DataFrame(made | columns)


DATA = described()
EMBEDDED = DRAWN.normal(size=(NAMED, 6)).astype(np.float32)
NUMBERED = {f"x_{j:02}": DRAWN.normal(size=NAMED) for j in range(50)}


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
    data = described(**NUMBERED)
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
    data = described(same=["x"] * NAMED, id=range(NAMED), vector=[[float(i), 1.0] for i in range(NAMED)])
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
