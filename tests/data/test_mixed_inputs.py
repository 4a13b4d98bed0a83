"""Columns of every kind, with blanks: alone, beside an embedding, and in new rows."""

import datetime as dt
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError, MissingColumn
from miscal.base.folders import built, state_of
from miscal.data.encoders.features import Encoder, FeatureColumns
from miscal.data.encoders.kinds import KINDS, DateColumn
from miscal.data.encoders.texts import PlacesAndColumns
from miscal.data.readers.column_readings import KEY, ColumnReading
from miscal.data.readers.leaks import LeakSearch
from miscal.data.readers.new_rows import read_inputs
from miscal.data.readers.read import read_triples
from miscal.discovery.alarms import leak_alarms
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.simplex.correction import fit_simplex

N = 240
RNG = np.random.default_rng(5)


def table(**columns):
    confidence = RNG.uniform(0.1, 0.9, N)
    return pl.DataFrame({"confidence": confidence, "correct": (RNG.random(N) < confidence).astype(int)} | columns)


def mixed():
    """Every kind of column, each with a blank."""
    start = dt.datetime(2024, 1, 1)
    return table(
        id=range(N),
        age=[None if i == 3 else 20 + i % 50 for i in range(N)],
        rare=[None if i % 9 else float(i) for i in range(N)],
        place=[None if i == 5 else f"town {i % 70}" for i in range(N)],
        sex=[["f", "m"][i % 2] for i in range(N)],
        when=[None if i == 7 else start + dt.timedelta(hours=5 * i) for i in range(N)],
        same=["x"] * N,
        copy=[["f", "m"][i % 2] for i in range(N)],
        note=[f"a sentence of its own, number {i}" for i in range(N)],
    )


VALUES = {
    "number": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "category": st.one_of(st.none(), st.sampled_from(["a", "b", "", "ä", "c=d"])),
    "ordered": st.one_of(st.none(), st.sampled_from(["low", "medium", "high"])),
    "date": st.one_of(st.none(), st.datetimes(dt.datetime(1970, 1, 1), dt.datetime(2100, 1, 1))),
}
RISKS = pl.Enum(["low", "medium", "high"])
TYPES = {"number": pl.Float64, "category": pl.String, "ordered": RISKS, "date": pl.Datetime("us")}


@pytest.mark.parametrize("kind", VALUES)
@given(data=st.data())
def test_a_kind_tells_its_column_again_and_survives_being_saved(kind, data):
    values = data.draw(st.lists(VALUES[kind], min_size=1, max_size=30))
    if kind == "date":
        values = [None if value is None else value.replace(microsecond=0) for value in values]
    series = pl.Series(values, dtype=TYPES[kind])
    known = {one.type: one for one in KINDS}
    assert next(one for one in KINDS if one.reads(series)) is known[kind]
    fitted = known[kind].fit(series, "c")
    again = built(known[kind], json.loads(json.dumps(state_of(fitted)[0])), {})
    assert again == fitted
    numbers, codes = fitted.numbers(series), fitted.codes(series)
    assert numbers.shape == (len(values), len(fitted.names))
    assert codes.shape == (len(values), len(fitted.levels))
    assert np.isfinite(numbers).all()
    # whatever was learned from has a level, blanks too
    assert codes.min(initial=0) >= 0
    assert not fitted.unknown(series).any()
    told = fitted.values(numbers, codes)
    if kind == "number":
        np.testing.assert_array_equal(told, [np.nan if value is None else value for value in values])
    else:
        assert (told.astype("datetime64[us]") if kind == "date" else told).tolist() == values


def test_a_table_is_read_as_it_is():
    t = read_triples(mixed())
    assert t.source["columns"]["x"] == ["age", "rare", "place", "sex", "when"]
    why = {one["name"]: one["left_out"] for one in t.source["read_columns"]}
    assert why["note"] == "it holds texts that hardly repeat: --text note makes inputs of them"
    assert why["same"] == "it is the same in all rows"
    assert why["copy"] == "it is the same as 'sex'"
    assert {one["name"]: one["missing"] for one in t.source["read_columns"]}["rare"] == 213
    assert t.layout.table
    assert np.isfinite(t.X).all()


@pytest.mark.parametrize("role", ["features", "metadata"])
@pytest.mark.parametrize("ending", ["csv", "parquet", None])
@pytest.mark.parametrize("times", [2, 6, 19])
def test_texts_and_identifiers_that_several_rows_share_are_no_categories(times, ending, role, tmp_path):
    numbers = np.repeat(np.arange(60), times)
    few = [f"one of the few kinds of {k % 60}" for k in range(60 * 20)]
    rows = pl.DataFrame({
        "confidence": RNG.uniform(0.1, 0.9, len(numbers)), "correct": RNG.integers(0, 2, len(numbers)),
        "sample_id": [f"item-{k}" for k in numbers], "prompt": [f"where is number {k} to be found?" for k in numbers],
        "topic": [f"topic {k % 5}" for k in range(len(numbers))],
    })  # fmt: skip
    source = rows
    if ending is not None:
        source = tmp_path / f"data.{ending}"
        getattr(rows, f"write_{ending}")(source)
    read = read_triples(source, **{role: "auto"})
    assert read.source["columns"]["x"] == ["topic"]
    assert read_inputs(rows.drop("sample_id", "prompt"), encoder=read.encoder).unknown == ()
    with pytest.raises(InputError, match="column 'prompt' is text with 60 distinct values"):
        read_triples(rows, features="prompt")
    often = pl.DataFrame(
        {"confidence": RNG.uniform(0.1, 0.9, len(few)), "correct": RNG.integers(0, 2, len(few)), "k": few}
    )
    assert read_triples(often).source["columns"]["x"] == ["k"]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_every_format_gives_the_same_mixed_inputs(ending, tmp_path):
    data, path = mixed(), tmp_path / f"data.{ending}"
    writers = {"csv": data.write_csv, "jsonl": data.write_ndjson, "parquet": data.write_parquet}
    writers[ending](path)
    want, got = read_triples(data), read_triples(path)
    np.testing.assert_array_equal(got.X, want.X)
    new = read_inputs(path, encoder=built(Encoder, *state_of(want.encoder)))
    np.testing.assert_array_equal(new.X, want.X)


def test_blanks_and_levels_that_were_not_learned_from():
    data = mixed()
    encoder = read_triples(data, features="sex,place").encoder
    new = data[:3].with_columns(place=pl.Series(["nowhere", None, "town 1"]))
    rows = read_inputs(new, encoder=encoder)
    assert [one.values for one in rows.unknown] == [("nowhere",)]
    assert rows.X[0, -1] == rows.X[1, -1]
    # sex was never blank
    with pytest.raises(InputError, match="column 'sex': 1 of 3 values are missing"):
        read_inputs(new.with_columns(sex=pl.Series(["f", None, "m"])), encoder=encoder)


def test_columns_stand_beside_an_embedding(tmp_path):
    data, X = mixed(), RNG.normal(size=(N, 6)).astype(np.float32)
    t = read_triples(data, embeddings=X, features="auto")
    assert t.layout.places == 6
    np.testing.assert_array_equal(t.places, X)
    assert set(t.encoder.columns_of(t.X)) == {"age", "rare", "place", "sex", "when"}
    new = read_inputs(data.drop("correct"), encoder=built(Encoder, *state_of(t.encoder)), embeddings=X)
    np.testing.assert_array_equal(new.X, t.X)


def test_a_column_that_tells_the_outcome_is_left_out_unless_allowed():
    data = table(hour=[i % 24 for i in range(N)])
    late = pl.Series([40.0 * y + i % 11 for i, y in enumerate(data["correct"])])
    data = data.with_columns(late=late, verdict=pl.Series(["no", "yes"])[data["correct"].to_list()])
    t = read_triples(data, metadata="verdict")
    assert t.encoder.columns == ("hour",)
    assert t.metadata == {}
    leak = {one["name"]: one["leak"] for one in t.source["read_columns"] if one["leak"] is not None}
    assert set(leak) == {"late", "verdict"}
    assert min(leak.values()) > 0.98
    t = read_triples(data, metadata="verdict", allow_leak="late,verdict")
    assert t.encoder.columns == ("hour", "late", "verdict")
    assert list(t.metadata) == ["verdict"]
    with pytest.raises(InputError, match=r"no inputs are left.*'late': it tells the outcome"):
        read_triples(data, features="late")


def test_evaluation_rows_by_a_split_have_no_say_in_what_leaks():
    data = table(hour=[i % 24 for i in range(N)], split=["train"] * 150 + ["val"] * 40 + ["test"] * 50)
    y = data["correct"].to_list()
    # tells nothing where the field is learned, and everything where it is tested
    data = data.with_columns(odd=pl.Series([float(i % 7) if i < 190 else 100.0 * y[i] for i in range(N)]))
    assert read_triples(data, split="split").encoder.columns == ("hour", "odd")


def keyed(seed=0, n=N):
    """Answers and their key: the outcome is whether they are the same."""
    rng = np.random.default_rng(seed)
    said, wrong = rng.choice(list("ABCD"), n), rng.integers(1, 4, n)
    f = rng.uniform(0.1, 0.9, n)
    y = (rng.random(n) < f).astype(int)
    key = [one if right else "ABCD"["ABCD".index(one) - k] for one, right, k in zip(said, y, wrong, strict=True)]
    return pl.DataFrame({"confidence": f, "correct": y, "age": rng.normal(size=n), "said": said, "key": key})


def test_of_an_answer_and_its_key_the_key_is_a_leak():
    def left_out(data, **options):
        readings = read_triples(data, **options).source["read_columns"]
        return {one["name"]: one["leak_with"] for one in readings if one["leak"] is not None}

    data = keyed()
    assert left_out(data) == {"key": "said"}
    # a name that tells which of the two is the key counts more than their order
    renamed = data.rename({"said": "answer", "key": "predicted"})
    assert left_out(renamed, features="age,answer,predicted") == {"answer": "predicted"}
    assert left_out(data, metadata="said,key", features="age") == {"key": "said"}
    assert left_out(data, allow_leak="key") == {"said": "key"}
    assert left_out(data, allow_leak="key,said") == {}
    numbers = data.with_columns(pl.col("said", "key").replace_strict({c: i for i, c in enumerate("ABCD")}))
    assert left_out(numbers) == {"key": "said"}
    # blanks are no answers
    holes = data.with_columns(said=pl.when(pl.int_range(N) < 5).then(None).otherwise(pl.col("said")))
    assert left_out(holes) == {"key": "said"}


def test_right_answers_beside_those_of_the_model_are_no_inputs_unless_a_person_asks():
    data = keyed().rename({"said": "Response", "key": "target"})
    at = pl.col("target").replace_strict({c: i for i, c in enumerate("ABCD")})
    copies = {"number": at, "from_one": (at + 1).cast(pl.Float64), "words": pl.format("letter {}", "target")}
    data = data.with_columns(**copies, gold=pl.col("target").str.to_lowercase(), kind=(at // 2).cast(pl.String))
    t = read_triples(data)
    assert {one["name"] for one in t.source["read_columns"] if one["left_out"] == KEY} == {"target", "gold", *copies}
    assert not any(one["leak"] for one in t.source["read_columns"])
    assert t.encoder.columns == ("age", "Response", "kind")
    assert list(read_triples(data, features="age", metadata="auto").metadata) == ["Response", "kind"]
    assert "target" in read_triples(data, features="age,target").encoder.columns
    assert "words" in read_triples(data, allow_leak="words").encoder.columns
    # without an answer of the model, nothing tells that a column is a key
    assert "target" in read_triples(data.drop("Response")).encoder.columns


def known_later(seed=0, n=1_200):
    """Columns that are known only after the outcome, by how an alarm names them, and honest ones beside them."""
    rng = np.random.default_rng(seed)
    f, due = rng.uniform(0.1, 0.6, n), rng.integers(300, 1_400, n)
    y = rng.random(n) < f
    blank = y & (rng.random(n) < 0.3)
    honest = {"hour": rng.integers(0, 24, n), "child": np.where(rng.random(n) < 0.1, 1, 0), "due": due}
    honest["gust"] = np.where(rng.random(n) < 0.5, np.nan, rng.normal(size=n))
    # no child has the event, as children do not work
    y &= honest["child"] == 0
    later = {
        "entropy": {"same": np.where(rng.random(n) < 0.07, ~y, y)},
        "ranking": {"minutes": 5.0 * y + rng.normal(size=n)},
        "blanks": {"plane": np.where(blank & y, np.nan, rng.normal(size=n))},
        "difference": {"came": due + np.where(y, rng.integers(16, 300, n), rng.integers(-30, 16, n))},
    }
    return {"confidence": f, "correct": y.astype(int)} | honest, later


def test_what_is_known_only_later_is_left_out_by_whatever_it_tells_the_outcome_by():
    honest, later = known_later()
    assert not any(one["leak"] for one in read_triples(honest).source["read_columns"])
    for by, columns in later.items():
        readings = read_triples(honest | columns).source["read_columns"]
        found = {one["name"]: one["leak_by"] for one in readings if one["leak"] is not None}
        # when something was due tells nothing by itself: it is known before, and used
        assert found == dict.fromkeys(columns, by)
        [said] = leak_alarms([ColumnReading(**one) for one in readings])
        assert said.endswith(f"--leave-out {','.join(found)}")
        allowed = read_triples(honest | columns, allow_leak=list(found))
        assert set(found) <= set(allowed.encoder.columns)


def leaking(data, **options):
    t = read_triples(data, **options)
    return t, {one["name"] for one in t.source["read_columns"] if one["leak"] is not None}


def items(seed=0, n=200, answers=5, alike=1.0):
    """Answers to items, whose outcomes are mostly those of the item."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(n), answers)
    f = rng.uniform(0.2, 0.9, n)[item]
    y = np.where(rng.random(len(item)) < alike, (rng.random(n) < 0.6)[item], rng.random(len(item)) < 0.6).astype(int)
    order = rng.permutation(len(item))
    data = {"confidence": f, "correct": y, "item_id": item + 1_000, "words": [f"how much is {i} and {i}" for i in item]}
    data |= {"length": rng.integers(10, 10_000, n)[item], "topic": np.array(list("abcdefgh"))[item % 8]}
    return pl.DataFrame(data | {"try": rng.permutation(len(item)) % 4})[order]


@pytest.mark.parametrize("alike", [0.9, 1.0])
def test_an_identity_and_what_goes_with_it_are_no_leaks_but_may_be_counted_by(alike):
    data = items(alike=alike)
    t, found = leaking(data)
    assert not found
    assert not any("known only later" in note for note in t.notes)
    assert any(one.column == "item_id" for one in t.candidate_groups)
    # where no row of an item says anything that another does not, the item is no input
    assert ("item_id" in t.encoder.columns) == (alike < 1)
    assert any("all rows of one 'item_id'" in note and "same outcome" in note for note in t.notes) == (alike == 1)
    assert "item_id" in read_triples(data, allow_leak="item_id").encoder.columns


def test_few_units_of_one_outcome_each_are_said():
    data = items().drop("item_id").with_columns(subject=pl.col("correct") * 3 + pl.col("try") % 3)
    t, found = leaking(data)
    assert not found
    assert "subject" not in t.encoder.columns
    assert any("'subject'" in note and "same outcome" in note for note in t.notes)


def test_columns_that_tell_the_outcome_only_together_are_used_and_noted():
    honest, _ = known_later()
    rng, y = np.random.default_rng(1), honest["correct"]
    one, two = rng.normal(size=(2, len(y)))
    data = honest | {"one": one, "two": two, "three": 0.8 * (2 * y - 1) - one - two + rng.normal(0, 0.1, len(y))}
    t, found = leaking(data)
    assert not found
    [note] = [note for note in t.notes if "known only later" in note]
    # two of the three rank nothing by themselves
    assert [name for name in data if repr(name) in note] == ["three"]
    assert {"one", "two", "three"} <= set(t.encoder.columns)
    assert not any("known only later" in note for note in read_triples(honest).notes)


def test_of_a_pair_that_tells_what_tells_nothing_alone_is_a_leak_only_if_neither_tells():
    rng = np.random.default_rng(3)
    f, due = rng.uniform(0.1, 0.9, 2_000), rng.permutation(2_000)
    y = rng.random(2_000) < f
    for most, found in ((1_500, {"came"}), (8, {"due", "came"})):
        # the larger the confidence the later: beyond it, neither column of the second pair tells anything
        start = due + (0 if most > 8 else 400 * f)
        came = start + np.where(y, rng.uniform(4, most, 2_000), -rng.uniform(4, most, 2_000))
        rows = {
            "confidence": f,
            "correct": y.astype(int),
            "due": start,
            "came": came,
            "hour": rng.integers(0, 24, 2_000),
        }
        assert leaking(rows)[1] == found


def test_a_column_that_alone_tells_little_is_no_leak_however_much_it_mends_the_confidence():
    rng = np.random.default_rng(2)
    y, noise = rng.integers(0, 2, 1_000), rng.normal(0, 3, 1_000)
    f = 1 / (1 + np.exp(-(3 * (2 * y - 1) + noise)))
    assert (
        leaking({"confidence": f, "correct": y, "seen": noise - 3 * y, "hour": rng.integers(0, 24, 1_000)})[1] == set()
    )


def test_blanks_are_counted_by_what_hangs_together():
    honest, later = known_later()
    plane = later["blanks"]["plane"]
    # every blank is of one of three customers: three outcomes, and not a hundred
    customer = np.where(np.isnan(plane), np.arange(len(plane)) % 3, 3 + np.arange(len(plane)) // 2)
    readings = read_triples(honest | {"plane": plane, "customer": customer}).source["read_columns"]
    assert not any(one["leak"] for one in readings)


def test_what_is_left_out_plays_no_part_and_raises_no_alarm():
    honest, later = known_later()
    data = honest | later["ranking"] | later["entropy"]
    t = read_triples(data, leave_out="min*,same", metadata="auto", where="minutes > -9")
    assert set(t.encoder.columns) == set(honest) - {"confidence", "correct"}
    assert not {"minutes", "same"} & {one["name"] for one in t.source["read_columns"]}
    assert t.source["options"]["leave_out"] == ["minutes", "same"]
    with pytest.raises(InputError, match=r"leave_out: 'same' is named by `features`, too"):
        read_triples(data, leave_out="same", features="same,hour")
    with pytest.raises(MissingColumn, match=r"leave_out: the pattern 'x_\*' matches no column"):
        read_triples(data, leave_out="x_*")


def test_answers_that_are_now_and_then_unlike_a_key_are_no_leak():
    data = keyed()
    noise = RNG.random(N) < 0.2
    data = data.with_columns(key=pl.when(pl.Series(noise)).then(pl.lit("A")).otherwise(pl.col("key")))
    search = LeakSearch(data, ["said", "key"], data["correct"].to_numpy(), data["confidence"].to_numpy(), 0)
    assert search.equal_pairs(["said", "key"]) == {}


@pytest.mark.slow
def test_columns_that_say_nothing_are_hardly_ever_leaks():
    wrong = 0
    for seed in range(1_000):
        rng = np.random.default_rng(seed)
        f = rng.uniform(0.05, 0.95, 100)
        y = (rng.random(100) < f).astype(float)
        data = pl.DataFrame({"number": rng.normal(size=100), "kind": rng.integers(30, size=100).astype(str)})
        search = LeakSearch(data, data.columns, y, f, seed)
        wrong += bool(search.alone(data.columns) or search.pairs(data.columns) or search.together(data.columns))
    assert wrong <= 1


def drifting(n=800, seed=0):
    """Rows of ten weeks whose outcomes change half way and from Thursday on."""
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 70, n)
    f = rng.uniform(0.3, 0.7, n)
    off = np.where(days > 35, 0.15, -0.15) + np.where(days % 7 > 2, 0.25, -0.25)
    y = (rng.random(n) < np.clip(f + off, 0, 1)).astype(int)
    when = np.datetime64("2024-01-01", "ms") + days * np.timedelta64(1, "D")
    return {"when": when, "age": rng.normal(size=n)}, f, y


@pytest.mark.parametrize("beside", [None, 3], ids=["a table", "beside an embedding"])
def test_a_correction_learns_from_the_rounds_of_a_date_and_never_from_when_it_was(beside):
    columns, f, y = drifting()
    places = None if beside is None else np.random.default_rng(1).normal(size=(len(y), beside))
    data = pl.DataFrame({"confidence": f, "correct": y, **columns})
    t = read_triples(data, features="when,age", embeddings=places, group="none")
    later = pl.DataFrame(columns | {"when": columns["when"] + 28 * np.timedelta64(1, "D")}).select("when", "age")
    X = t.encoder.transform(later if places is None else PlacesAndColumns(places, later))
    assert not np.array_equal(X, t.X)
    model = MiscalibrationField(random_state=0).fit_triples(t)
    np.testing.assert_array_equal(model.calibrate(X, f), model.calibrate(t.X, f))
    assert np.ptp(model.calibrate(X, np.full(len(f), 0.5))) > 0.05
    classes = np.stack([1 - f, f], 1)
    several = fit_simplex(t.X, y, classes, layout=t.layout, seed=0)
    np.testing.assert_allclose(several.apply(X, classes), several.apply(t.X, classes), atol=1e-12)


def test_parts_of_a_date_are_learned_where_two_rounds_of_them_are_known():
    def parts(days):
        when = pl.Series([dt.datetime(2021, 1, 1) + dt.timedelta(days=day) for day in days])
        return DateColumn.fit(when, "when").parts

    assert parts(np.arange(0, 1.9, 0.1)) == ()
    assert parts(np.arange(0, 13.5, 0.25)) == ("hour",)
    assert parts(range(100)) == ("weekday",)
    assert parts(range(800)) == ("month", "weekday")
    assert parts(range(0, 800, 7)) == ("month",)


def test_many_numbered_columns_are_an_embedding():
    data = pl.DataFrame({f"x_{j}": RNG.normal(size=30) for j in range(50)} | {"kind": ["a", "b"] * 15})
    encoder = FeatureColumns(data.columns).fit(data)
    assert encoder.layout.codes == 1
    assert list(encoder.columns_of(encoder.transform(data))) == ["kind"]


def test_rows_of_a_table_are_the_same_only_with_the_same_confidence():
    data = table(kind=["a", "b"] * (N // 2))
    t = read_triples(data)
    assert len(np.unique(t.equal_inputs)) == N
    twice = read_triples(pl.concat([data, data]))
    assert len(np.unique(twice.equal_inputs)) == N


@pytest.mark.parametrize(("hour", "form"), [(0, "%d.%m.%Y"), (15, "%d.%m.%Y %H:%M"), (7, "%d.%m.%Y %H:%M:%S")])
def test_dates_with_points_are_days_months_and_years(hour, form):
    days = [dt.datetime(2023, 12, 31, hour) - dt.timedelta(days=i) for i in range(N)]
    written, plain = ([day.strftime(form) for day in days], days)
    t = read_triples(table(day=written))
    assert [one["read_as"] for one in t.source["read_columns"]] == ["date"]
    np.testing.assert_array_equal(t.X, read_triples(table(day=plain)).X)
    # one that no calendar has leaves all of them text
    odd = read_triples(table(day=["31.02.2023", *written[1:]], age=range(N)))
    assert {one["name"]: one["read_as"] for one in odd.source["read_columns"]}["day"] == "category"


def test_truth_values_are_told_as_such():
    t = read_triples(table(flag=[None if i % 7 == 0 else i % 2 == 0 for i in range(N)]))
    (one,) = t.source["read_columns"]
    assert (one["read_as"], one["levels"], one["missing"]) == ("boolean", 2, 35)


def test_categories_that_their_type_orders_lie_by_rank_and_are_told_by_name():
    risks = [["high", "low", "medium"][i % 3] for i in range(N)]
    ordered = table(risk=pl.Series(risks, dtype=RISKS), age=range(N))
    t = read_triples(ordered)
    assert [one["read_as"] for one in t.source["read_columns"]] == ["ordered", "number"]
    np.testing.assert_array_equal(t.X[:3, 0], [2, 0, 1])
    assert t.encoder.columns_of(t.X)["risk"].tolist() == risks
    # pandas orders by its own type, and new rows may have lost the order
    pandas = ordered.with_columns(pl.col("risk").cast(pl.String)).to_pandas()
    pandas["risk"] = pandas["risk"].astype("category").cat.set_categories(["low", "medium", "high"], ordered=True)
    np.testing.assert_array_equal(read_triples(pandas).X, t.X)
    new = read_inputs(ordered.with_columns(pl.col("risk").cast(pl.String)), encoder=t.encoder)
    np.testing.assert_array_equal(new.X, t.X)
    odd = read_inputs(ordered[:2].with_columns(risk=pl.Series(["extreme", "low"])), encoder=t.encoder)
    assert [one.values for one in odd.unknown] == [("extreme",)]
    text = read_triples(ordered.with_columns(pl.col("risk").cast(pl.String)), features="risk").encoder
    assert read_inputs(ordered, encoder=text).X[:2, 0].tolist() == [1, 0]
