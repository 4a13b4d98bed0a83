"""Columns are found or refused, conditions keep what they say, and bad values are named, counted and located."""

import re
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError, MissingColumn
from miscal.base.folders import built, state_of
from miscal.data.encoders.features import Encoder
from miscal.data.readers.names import COLUMN_SYNONYMS, guess, match
from miscal.data.readers.new_rows import read_inputs
from miscal.data.readers.read import read_triples

N = 200


def frame(n=N, **columns):
    rng = np.random.default_rng(0)
    f = rng.uniform(size=n)
    base = {"confidence": f, "correct": (rng.uniform(size=n) < f).astype(int), "x": rng.normal(size=n)}
    return pl.DataFrame(base | {"n": np.arange(n)} | columns)


def with_cells(column, cells, **more):
    """The frame with some cells of a column replaced."""
    data = frame(**more)
    values = data[column].to_list()
    for row, value in cells.items():
        values[row] = value
    return data.with_columns(pl.Series(column, values, strict=False))


# --- columns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["confidence", "correct"])
def test_every_synonym_is_found_and_echoed(role):
    other = "correct" if role == "confidence" else "confidence"
    for synonym in (*COLUMN_SYNONYMS[role], COLUMN_SYNONYMS[role][1].upper()):
        t = read_triples(frame().rename({role: synonym}), features="n")
        assert t.source["columns"][role] == synonym
        assert t.source["columns"][other] == other
        assert any(f"{synonym!r} was taken as {role}" in note for note in t.notes) == (synonym != role)


def test_the_exact_name_wins_over_synonyms():
    data = frame().with_columns(p=pl.lit(0.5), y=pl.lit(1))
    assert read_triples(data, features="n").source["columns"]["confidence"] == "confidence"
    with pytest.raises(MissingColumn, match=r"no column is called correct, .*`correct`"):
        read_triples(frame().drop("correct"), features="x")


def test_several_synonyms_are_refused_and_listed():
    data = frame().rename({"confidence": "p"}).with_columns(conf=pl.lit(0.5))
    said = r"several columns could be meant: 'p', 'conf'; name one of them \(confidence='p'\)"
    with pytest.raises(InputError, match=said):
        read_triples(data, features="n")
    assert read_triples(data, confidence="conf", features="n").confidence.tolist() == [0.5] * N


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence": "confidense"}, r"confidence: there is no column 'confidense' \(did you mean 'confidence'\?\)"),
        ({"correct": "Corect"}, r"correct: .*did you mean 'correct'"),
        ({"text": "txet"}, r"text: there is no column 'txet'"),
        ({"metadata": "n,m"}, r"metadata: there is no column 'm'"),
        ({"names_only": "xx"}, r"names_only: there is no column 'xx' \(did you mean 'x'"),
        ({"split": "spilt"}, r"split: there is no column 'spilt'"),
        ({"group": "g"}, r"group: there is no column 'g'"),
        ({"features": "x,xx"}, r"features: there is no column 'xx' \(did you mean 'x'"),
        ({"features": "x,z_*"}, r"features: the pattern 'z_\*' matches no column. The columns are 'confidence'"),
        ({"where": "m > 3"}, r"where: there is no column 'm'"),
    ],
)
def test_missing_columns_are_named_listed_and_a_near_one_suggested(options, message):
    with pytest.raises(MissingColumn, match=message) as error:
        read_triples(frame(), **({"features": "x"} | options))
    assert "The columns are 'confidence', 'correct', 'x', 'n'" in str(error.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": ""}, "no column was named"),
        ({"features": "correct"}, "'correct' is the outcome"),
        ({"features": "x", "confidence": "correct"}, "two columns; both are 'correct'"),
        ({"features": "x", "names_only": "x"}, "names_only: 'x' is named as a feature, too"),
        ({"features": "x", "on_invalid": "ignore"}, "'error' or 'drop'; got 'ignore'"),
    ],
)
def test_options_that_contradict_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        read_triples(frame(), **options)


def test_patterns_pass_over_the_columns_that_have_a_part():
    t = read_triples(frame(id=np.arange(N), split=["train"] * 100 + ["val"] * 50 + ["test"] * 50), features="*")
    assert t.source["columns"]["x"] == ["x", "n", "split"]
    assert match("part", ["part", "y"], {"part": "split"}) == ("part",)
    t = read_triples(frame(part=["train"] * 100 + ["val"] * 50 + ["test"] * 50), features="*", split="part")
    assert t.source["columns"]["x"] == ["x", "n"]
    described = frame(topic=["law", "sums"] * (N // 2), said=[f"question {i}" for i in range(N)])
    t = read_triples(described, features="*", metadata="topic", text="said", embed_model="tfidf")
    assert t.source["columns"]["x"] == ["said", "x", "n", "topic"]
    assert read_triples(described, features="*", names_only="topic,said").source["columns"]["x"] == ["x", "n"]
    assert read_triples(described, features="x,topic", metadata="topic").source["columns"]["x"] == ["x", "topic"]


@given(st.sets(st.sampled_from([s for names in COLUMN_SYNONYMS.values() for s in names]), min_size=1))
def test_a_guess_is_a_column_of_the_right_role_or_refused(columns):
    for role in COLUMN_SYNONYMS:
        try:
            found = guess(role, sorted(columns))
        except InputError:
            assert role not in columns
            assert len(columns & set(COLUMN_SYNONYMS[role])) != 1
        else:
            named = columns & set(COLUMN_SYNONYMS[role])
            assert found in named or (not named and found in columns)


# --- conditions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "keep"),
    [
        ("n > 50", lambda n: n > 50),
        ("n > 50 and kind == 'a'", lambda n: (n > 50) & (n % 2 == 0)),
        ("kind = 'a' OR n >= 60", lambda n: (n % 2 == 0) | (n >= 60)),
        ("kind IN ('b') and not n < 10", lambda n: (n % 2 == 1) & (n >= 10)),
        ("n between 20 and 180", lambda n: (n >= 20) & (n <= 180)),
        ('"a name" > 20', lambda n: n > 20),
        ("half is not null", lambda n: n % 3 > 0),
    ],
)
def test_conditions_keep_what_they_say(where, keep):
    size = 2 * N
    n = np.arange(size)
    half = [None if i % 3 == 0 else i for i in range(size)]
    data = frame(size, kind=["a", "b"] * N, half=half, **{"a name": n})
    X = np.arange(size * 2, dtype=float).reshape(size, 2)
    t = read_triples(data, where=where, embeddings=X)
    np.testing.assert_array_equal(t.row, n[keep(n)])
    np.testing.assert_array_equal(t.X, X[keep(n)])
    np.testing.assert_array_equal(t.confidence, data["confidence"].to_numpy()[keep(n)])
    assert t.source["n_read"] == size


def test_a_missing_value_in_a_condition_leaves_the_row_out_and_says_so():
    half = [None if i % 3 == 0 else i for i in range(N)]
    t = read_triples(frame(half=half), where="half >= 0", features="n")
    assert len(t) == N - len(half[::3])
    assert f"where: {len(half[::3])} rows were left out, because the value that decides is missing" in t.notes


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("n >", "is not a condition"),
        ("", "'' is not a condition"),
        ("n > 3; drop table x", "is not a condition"),
        ("select 1", "is not a condition"),
        ("*", "is not a condition"),
        ("n", "not true or false for each row"),
        ("sum(n) > 3", "must be decided by each row alone"),
        ("true", "names no column"),
        ("n > 'x'", "does not fit the data"),
        ("n > 1000", "keeps none of the 200 rows"),
        ("read_csv('/etc/passwd') > n", "is not a condition"),
        ("n > (select max(n) from self)", "where:"),
        ('kind == "a"', "Text values are written in single quotes"),
        ("__import__('os').system('true')", "where:"),
    ],
)
def test_conditions_that_mean_nothing_are_refused(where, message):
    with pytest.raises(InputError, match=message):
        read_triples(frame(kind=["a"] * N), where=where, features="x")


def test_rows_are_numbered_as_in_the_file_whatever_the_condition():
    with pytest.raises(InputError, match=r"1 of 100 .*row 150\b"):
        read_triples(with_cells("confidence", {150: None}), where="n >= 100", features="x")
    assert len(read_triples(with_cells("confidence", {50: None}), where="n >= 100", features="x")) == 100


# --- values -------------------------------------------------------------------------------------------------------

NOT_FINITE = {"missing": None, "NaN": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@pytest.mark.parametrize("bad", NOT_FINITE.values(), ids=NOT_FINITE)
@pytest.mark.parametrize("column", ["confidence", "correct", "x"])
def test_values_that_are_not_finite_are_refused_or_dropped(column, bad):
    if column == "x" and (bad is None or np.isnan(bad)):
        pytest.skip("a blank input is a value like others")
    cells = {7: bad, 19: bad, 20: bad}
    data = with_cells(column, cells)
    with pytest.raises(InputError, match=rf"{column}.*3 of 200 .*rows 7, 19, 20"):
        read_triples(data, features="x")
    t = read_triples(data, features="x", on_invalid="drop")
    assert t.row.tolist() == [i for i in range(N) if i not in cells]
    assert t.source["n_dropped"] == 3
    assert any(f"3 of 200 rows were dropped as invalid: {said}" in note for note in t.notes for said in ("the ", "'"))


@pytest.mark.parametrize("column", ["confidence", "correct"])
def test_a_word_is_an_invalid_value_of_its_row(column, tmp_path):
    data = frame().with_columns(pl.col("correct").cast(pl.Int64))
    words = pl.when(pl.int_range(pl.len()).is_in([7, 19])).then(pl.lit("n/a")).otherwise(pl.col(column).cast(pl.String))
    data.with_columns(words.alias(column)).write_csv(path := tmp_path / "rows.csv")
    with pytest.raises(InputError, match=rf"{column}.*2 of 200 values are no.*'n/a' .rows 7, 19, counted from 0"):
        read_triples(path, features="x")
    t, sound = read_triples(path, features="x", on_invalid="drop"), data[[i for i in range(N) if i not in (7, 19)]]
    assert (t.confidence == sound["confidence"].to_numpy()).all()
    assert (t.correct == sound["correct"].to_numpy()).all()
    assert t.source["n_dropped"] == 2
    # of a column of words, none is dropped
    data.with_columns(pl.format("{} sure", column).alias(column)).write_csv(path)
    with pytest.raises(InputError, match=f"{column} must "):
        read_triples(path, features="x", on_invalid="drop")


def test_confidences_out_of_range_are_refused_or_dropped_and_where_most_are_as_a_column():
    data = with_cells("confidence", {1: 1.5, 4: -0.2})
    with pytest.raises(InputError, match=r"confidence: 2 of 200 .*outside \[0, 1\] .rows 1, 4"):
        read_triples(data, features="x")
    assert len(read_triples(data, features="x", on_invalid="drop")) == N - 2
    data = with_cells("confidence", dict.fromkeys(range(120), 1.5))
    with pytest.raises(InputError, match=r"confidence must lie in \[0, 1\]; got 120 of 200"):
        read_triples(data, features="x", on_invalid="drop")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 1e300])
def test_embeddings_that_are_not_finite_are_refused_or_dropped(bad):
    X = np.random.default_rng(0).normal(size=(N, 3))
    X[[3, 5], 1] = bad
    with pytest.raises(InputError, match=r"embeddings: 2 of 200 values .*rows 3, 5"):
        read_triples(frame(), embeddings=X)
    t = read_triples(frame(), embeddings=X, on_invalid="drop")
    np.testing.assert_array_equal(t.X, np.delete(X, [3, 5], axis=0).astype(np.float32))
    assert any("the embedding holds NaN, infinity or a value too large for float32 (2)" in note for note in t.notes)


def test_a_missing_text_is_refused_where_it_is_x_and_empty_where_it_is_shown():
    data = frame(text=["word"] * 100 + [None] + ["words"] * 99)
    with pytest.raises(InputError, match=r"column 'text': 1 of 200 .*row 100"):
        read_triples(data, text="text", embed_model="tfidf")
    assert read_triples(data, features="x").text[100] == ""
    assert len(read_triples(data, text="text", embed_model="tfidf", on_invalid="drop")) == N - 1


@pytest.mark.parametrize("on_invalid", ["error", "drop"])
def test_log_odds_are_refused_as_a_whole(on_invalid):
    f = pl.col("confidence")
    with pytest.raises(InputError, match="look like log-odds: turn them into probabilities"):
        read_triples(frame().with_columns(confidence=3 * (f / (1 - f)).log()), features="x", on_invalid=on_invalid)


def test_rounding_is_clipped_and_counted():
    t = read_triples(with_cells("confidence", {1: 1 + 1e-7, 4: -1e-7}), features="x")
    assert (t.confidence[1], t.confidence[4]) == (1, 0)
    assert any(note.startswith("2 confidences were up to 1e-06 outside") for note in t.notes)


def test_numbers_and_outcomes_written_as_text_are_what_they_say():
    data = frame().with_columns(pl.col("correct").cast(pl.Int64), w=1 + pl.int_range(pl.len()) % 3)
    asked = {"features": "x", "weight": "w"}
    written = read_triples(data.with_columns(pl.col("confidence", "correct", "w").cast(pl.String)), **asked)
    plain = read_triples(data, **asked)
    for name in ("confidence", "correct", "weight"):
        np.testing.assert_array_equal(getattr(written, name), getattr(plain, name))


def test_a_word_that_the_condition_leaves_out_is_no_fault_and_all_kinds_of_fault_are_told_at_once(tmp_path):
    lines = ["confidence,correct,x,kind", *[f"0.{i % 9 + 1},{i % 2},{i},{'ab'[i % 2]}" for i in range(N)]]
    lines[3], lines[5], lines[8] = "n/a,1,3,a", "1.4,0,4,a", "0.5,,3,b"
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    assert len(read_triples(tmp_path / "d.csv", features="x", where="x > 7")) == N - 8
    with pytest.raises(InputError, match=r"'n/a' \(row 2.*outside \[0, 1\] \(row 4.*'correct': 1 .* missing.*\(row 7"):
        read_triples(tmp_path / "d.csv", features="x")


def test_words_among_numbers_are_named(tmp_path):
    lines = ["confidence,correct,x", *[f"0.5,{i % 2},{i}" for i in range(N)]]
    lines[3], lines[9] = "n/a,1,3", "high,0,3"
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(
        InputError, match=r"confidence: 2 of 200 values are not numbers, such as 'n/a', 'high' \(rows 2, 8,"
    ):
        read_triples(tmp_path / "d.csv", features="x")


def test_dates_with_strokes_are_said_to_be_no_dates():
    data = frame(day=[f"{1 + i % 12}/{1 + i % 28}/2013" for i in range(N)])
    said = "'day' holds dates with strokes, .* write them as 2013-12-31"
    assert sum(bool(re.search(said, note)) for note in read_triples(data).notes) == 1
    for asked in ({"time": "day"}, {"group": "day:month"}):
        with pytest.raises(InputError, match="write them as 2013-12-31"):
            read_triples(data, **asked)


def test_one_class_and_too_few_rows_are_refused():
    with pytest.raises(InputError, match="one class only: all 200 rows are 1"):
        read_triples(frame(correct=[1] * N), features="x")
    with pytest.raises(InputError, match="too few rows: got 99; at least 100"):
        read_triples(frame(99), features="x")
    with pytest.raises(InputError, match="no rows"):
        read_triples(frame()[:0], features="x")
    with pytest.raises(InputError, match=r"no valid row is left: 200 of 200"):
        read_triples(frame().with_columns(x=pl.lit(float("inf"))), features="x", on_invalid="drop")


def test_rows_of_one_id_hang_together_whatever_the_condition_leaves():
    data = frame(id=[f"q{i % 100}" for i in range(N)], model=["a"] * 100 + ["b"] * 100)
    assert read_triples(data, features="x", group="id").group.tolist() == data["id"].to_list()
    repeated = read_triples(data, features="x").candidate_groups
    assert [(one.name, one.kind) for one in repeated if one.name == "id"] == [("id", "named")]
    assert "id" not in {one.name for one in read_triples(data, features="x", where="model = 'b'").candidate_groups}


def test_a_users_split_is_used_as_it_is_and_straddling_inputs_are_warned_of():
    split = ["train"] * 100 + ["dev"] * 50 + ["test"] * 50
    t = read_triples(frame(fold=split, x=[0.5] * 2 + list(range(2, N))), split="fold", features="x")
    assert t.split.tolist() == ["train"] * 100 + ["val"] * 50 + ["test"] * 50
    assert not any("straddle" in note or "more than one split" in note for note in t.notes)
    t = read_triples(frame(fold=split, x=[*range(199), 0]), split="fold", features="x")
    assert any(note.startswith("1 inputs (2 rows) occur in more than one split") for note in t.notes)
    said = r"split \(column 'fold'\) must hold only .*'holdout' \(none of these in 1 of 200 rows: row 199"
    with pytest.raises(InputError, match=said):
        read_triples(frame(fold=[*split[:199], "holdout"]), split="fold", features="x")
    with pytest.raises(InputError, match="150 train, 50 val, 0 test"):
        read_triples(frame(fold=["train"] * 150 + ["val"] * 50), split="fold", features="x")


def test_every_row_needs_a_group_and_no_split_is_made_up():
    t = read_triples(frame(g=[i // 4 for i in range(N)]), group="g", features="x")
    assert t.group.tolist() == [i // 4 for i in range(N)]
    assert t.split is None
    with pytest.raises(InputError, match=r"group \(column 'g'\): 1 of 200 .*row 0"):
        read_triples(frame(g=[None, *range(1, N)]), group="g", features="x")


def test_metadata_keep_their_type_and_say_what_is_missing():
    data = frame(a=["u", None] * 100, b=[None, *range(1, N)], c=[True, False] * 100, d=[[1]] * N)
    t = read_triples(data, features="x", metadata="a, b,c,n")
    assert list(t.metadata) == ["a", "b", "c", "n"]
    assert t.metadata["a"][:2].tolist() == ["u", "(missing)"]
    assert np.isnan(t.metadata["b"][0])
    assert t.metadata["c"].dtype == bool
    assert t.metadata["n"].tolist() == list(range(N))
    with pytest.raises(InputError, match="metadata: column 'd' must hold numbers or text"):
        read_triples(data, features="x", metadata="d")


@pytest.mark.parametrize("hour", ["", "T13:30:00", "T15:30:00+02:00", " 13:30:00.25", "T13:30Z"])
@pytest.mark.parametrize("as_text", [True, False])
def test_dates_are_metadata_of_their_own_however_they_are_written(hour, as_text):
    texts = [None, *(f"2021-{1 + i % 12:02}-{1 + i % 28:02}{hour}" for i in range(1, N))]
    dates = [None if text is None else datetime.fromisoformat(text) for text in texts]
    if not hour:
        dates = [None if one is None else one.date() for one in dates]
    t = read_triples(frame(opened=texts if as_text else dates), features="x", metadata="opened")
    found = t.metadata["opened"]
    assert found.dtype == np.dtype("datetime64[s]")
    assert np.isnat(found[0])
    assert str(found[13]) == f"2021-02-14{'T13:30:00' if hour else 'T00:00:00'}"


@pytest.mark.parametrize("odd", ["soon", "2021-02-30", "2021", "2021-05-01T25:00:00", ""])
def test_text_that_is_not_all_dates_stays_text(odd):
    t = read_triples(frame(opened=[odd, *["2021-05-01"] * (N - 1)]), features="x", metadata="opened")
    assert t.metadata["opened"][:2].tolist() == [odd, "2021-05-01"]


def test_test_rows_teach_the_encoder_nothing():
    split = ["train"] * 120 + ["val"] * 40 + ["test"] * 40
    words = ["alpha", "beta"] * 80 + ["gamma"] * 40
    data = frame(text=words, fold=split)
    t = read_triples(data, text="text", split="fold", embed_model="tfidf")
    assert sorted(t.encoder.terms) == ["alpha", "beta"]
    t = read_triples(data, features="text", split="fold")
    assert t.encoder.names == ("text=alpha", "text=beta", "level of text")
    assert (t.X[160:] == [1, 0, -1]).all()


def test_a_column_called_text_is_x_when_nothing_else_is_named_and_without_a_split_all_rows_teach_the_encoder():
    t = read_triples(frame(text=["alpha", "beta"] * 80 + ["gamma"] * 40), embed_model="tfidf")
    assert any("the inputs are the column 'text'" in note for note in t.notes)
    assert sorted(t.encoder.terms) == ["alpha", "beta", "gamma"]
    assert t.encoder.kind == t.source["x"]["kind"] == "text-tfidf"
    assert "TF-IDF" in t.source["x_source"]


@settings(max_examples=25)
@given(st.sets(st.integers(0, N - 1), max_size=40), st.sampled_from(["confidence", "correct", "x"]))
def test_dropping_is_the_same_as_never_having_had_the_rows(rows, column):
    kept = [i for i in range(N) if i not in rows]
    bad = float("inf") if column == "x" else None
    dropped = read_triples(with_cells(column, dict.fromkeys(rows, bad)), features="x", on_invalid="drop")
    without = read_triples(frame()[kept], features="x")
    for name in ("X", "confidence", "correct", "split"):
        np.testing.assert_array_equal(getattr(dropped, name), getattr(without, name))
    assert dropped.row.tolist() == kept


# --- new rows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [{"features": "x,kind"}, {"text": "q", "embed_model": "tfidf"}, {"embeddings": np.eye(N)[:, :7]}],
    ids=str,
)
def test_new_rows_go_the_way_the_old_ones_went(options):
    data = frame(q=[f"question {i} of {i % 7}" for i in range(N)], kind=["a", "b"] * 100)
    t = read_triples(data, **options)
    encoder = built(Encoder, *state_of(t.encoder))
    x = {"embeddings": options["embeddings"]} if "embeddings" in options else {}
    new = read_inputs(data.drop("correct"), encoder=encoder, where="n >= 50", **x)
    np.testing.assert_array_equal(new.X.astype(np.float32), t.X[50:])
    np.testing.assert_array_equal(new.confidence, t.confidence[50:])
    assert new.row.tolist() == list(range(50, N))


def test_new_rows_that_do_not_fit_the_model_are_refused():
    data = frame(q=[f"question {i}" for i in range(N)])
    by_features = read_triples(data, features="x").encoder
    by_embeddings = read_triples(data, embeddings=np.eye(N)[:, :3]).encoder
    by_text = read_triples(data, text="q", embed_model="tfidf").encoder
    for rows, encoder, options, said in (
        (data.drop("q"), by_text, {}, "text: there is no column 'q'"),
        (data, by_embeddings, {"embeddings": np.zeros((N, 4))}, "X has 4 features, but the model was fitted with 3"),
        (data, by_embeddings, {"features": "x"}, "fitted on embeddings as given.*got none"),
        (data, by_features, {"features": "n"}, "fitted on the columns"),
        (data, by_features, {"embeddings": np.zeros((N, 1))}, "fitted on 1 feature columns.*got embeddings"),
        (data, by_text, {"features": "x"}, "fitted on the columns"),
    ):
        with pytest.raises(InputError, match=said):
            read_inputs(rows, encoder=encoder, **options)
    assert len(read_inputs(data[:1], encoder=by_features)) == 1
