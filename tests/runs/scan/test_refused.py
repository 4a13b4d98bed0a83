"""What a scan refuses, or reads as what it is: values, options and sources."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import miscal
from miscal.base.errors import FileError, InputError
from miscal.cli import main
from miscal.data.relations import Relation

from .conftest import EVENT, table

duckdb = pytest.importorskip("duckdb")


# --- bad input ------------------------------------------------------------------------------------------------------

WRONG = {
    "above 1": ({"risk": 1.2}, "must be in \\[0, 1\\]; 1 rows are outside"),
    "below 0": ({"risk": -0.1}, "must be in \\[0, 1\\]; 1 rows are outside"),
    "blank probability": ({"risk": None}, "1 rows without a probability"),
    "nan": ({"risk": float("nan")}, "1 rows without a probability"),
    "third outcome": ({"late": 2}, "must hold 0 or 1; 1 rows have another value"),
    "blank outcome": ({"late": None}, "1 rows without an outcome"),
}


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("case", WRONG)
def test_rows_that_cannot_be_used_are_refused_and_counted(rows, case, engine):
    values, said = WRONG[case]
    [(name, value)] = values.items()
    column = pl.Series(name, [value, *rows[name][1:].to_list()], strict=False)
    frame = rows.with_columns(column)
    source = frame.lazy()
    if engine == "duckdb":
        base = duckdb.connect()
        source = base.from_arrow(frame.to_arrow())
    with pytest.raises(InputError, match=said):
        miscal.scan(source, **EVENT)


def test_probabilities_within_rounding_of_0_and_1_are_clipped_as_rows_that_are_read_are(rows):
    rounded, exact = (
        rows.with_columns(pl.when(pl.int_range(pl.len()) < 40).then(pl.lit(one)).otherwise("risk").alias("risk"))
        for one in (1.0000005, 1.0)
    )
    for some, same in zip(engines(rounded), engines(exact), strict=True):
        found, expected = (miscal.scan(one, group="none", **EVENT).summary for one in (some, same))
        assert "risk: 40 rows were up to 1e-06 outside [0, 1] and were clipped" in found.warnings
        assert found.confidence == pytest.approx(expected.confidence, rel=1e-12)
        hidden = ({one.description: one.hidden.value for one in some.findings} for some in (found, expected))
        assert next(hidden) == pytest.approx(next(hidden), rel=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"event": "late"}, "`probability` is missing"),
        ({"probability": "risk"}, "give the outcome of each row with `event`"),
        ({**EVENT, "confidence": "risk", "correct": "late"}, "give one pair"),
        ({"probability": "p", "event": "late"}, "`probability`: the frame has no column 'p'"),
        ({**EVENT, "columns": "carier"}, "`columns`: the frame has no column 'carier'"),
        ({**EVENT, "columns": "late"}, "'late' plays another part"),
        ({**EVENT, "weight": "carrier"}, "carrier"),
        ({"probability": "carrier", "event": "late"}, "must hold probabilities"),
        ({"probability": "risk", "event": "carrier"}, "say which value is the event with `positive`"),
        ({"probability": "risk", "count": "hour"}, "both `count` and `events`"),
        ({**EVENT, "where": "nothing > 3"}, "is not a condition on the frame"),
        ({**EVENT, "sql": "select 1"}, "give one of the two"),
    ],
)
def test_options_that_do_not_fit_are_refused(rows, options, said):
    with pytest.raises((InputError, FileError), match=said):
        miscal.scan(rows, **options)


def engines(frame):
    """The same rows, asked by polars and by DuckDB."""
    return frame.lazy(), duckdb.connect().from_arrow(frame.to_arrow())


def test_pooled_empty_missing_and_marks_are_told_apart():
    rng = np.random.default_rng(0)
    kind = rng.choice(["", "?", "??", "\N{SYMBOL FOR NULL}", "(missing)", None], 3_000).astype(object)
    kind[:90] = [f"rare {k}" for k in range(90)]
    frame = table(1, 3_000).select("risk", "late", kind=pl.Series(kind.tolist()))
    for source in engines(frame):
        found = miscal.scan(source, group="none", **EVENT).summary
        sizes = {one.condition: one.n for one in found.values}
        assert {one.value: n for one, n in sizes.items() if hasattr(one, "value")} == {
            text: frame["kind"].to_list().count(text) for text in ("", "?", "??", "\N{SYMBOL FOR NULL}", "(missing)")
        }
        assert [n for one, n in sizes.items() if not hasattr(one, "value")] == [frame["kind"].null_count()]
        assert (found.columns[0].pooled, found.columns[0].pooled_rows) == (90, 90)


def test_texts_are_no_truths():
    rng = np.random.default_rng(1)
    frame = table(1, 2_000).select("risk", "late", k=pl.Series(rng.choice(["True", "False"], 2_000)))
    frame = frame.with_columns(pl.when(pl.int_range(2_000) < 15).then(pl.lit("true")).otherwise("k").alias("k"))
    for source in engines(frame):
        found = miscal.scan(source, group="none", **EVENT).summary
        assert {one.value: one.n for one in found.values} == dict(
            frame["k"].value_counts().filter(pl.col("count") > 20).rows()
        )


def test_nan_is_null_at_every_door(rows):
    half = pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit(float("nan")))
    frame = rows.with_columns(user_id=half.otherwise(pl.int_range(pl.len()) % 90), x=half.otherwise("hour"))
    for source in engines(frame):
        found = miscal.scan(source, columns="x", **EVENT).summary
        assert found.group == "day:day"
        assert {one.value: one.n for one in found.values}["(missing)"] == 2_000
    for source in engines(frame):
        with pytest.raises(InputError, match="'user_id' has 2,000 rows without a group"):
            miscal.scan(source, group="user_id", **EVENT)
    for source in engines(frame.with_columns(late=half.otherwise("late"))):
        with pytest.raises(InputError, match="'late' has 2,000 rows without an outcome"):
            miscal.scan(source, positive="1.0", **EVENT)


@pytest.mark.parametrize(
    ("outcome", "positive", "events"),
    [
        (pl.col("late").cast(float), "1", 1),
        (pl.col("late"), "1.0", 1),
        (pl.col("late") == 1, "True", 1),
        (pl.col("late") == 1, "false", 0),
        (pl.col("late").replace_strict({0: "on time", 1: "1"}), "1", 1),
        (pl.when(pl.int_range(pl.len()) < 9).then(7).otherwise("late"), "0", 0),
    ],
)
def test_the_event_is_read_as_what_it_is(rows, outcome, positive, events):
    frame = rows.with_columns(late=outcome)
    expected = frame["late"].cast(pl.String).is_in([str(events), str(bool(events)).lower(), f"{events}.0"]).sum()
    for source in engines(frame):
        found = miscal.scan(source, positive=positive, columns="carrier", **EVENT).summary
        assert found.events == expected
        assert any("every other value as 0" in one for one in found.warnings) == (frame["late"].n_unique() > 2)
        with pytest.raises(InputError, match="nowhere holds 'never'"):
            miscal.scan(source, positive="never", **EVENT)


def test_rows_without_weight_do_not_count(rows):
    frame = rows.with_columns(w=pl.Series(np.random.default_rng(0).choice([0.0, 2.0], len(rows))))
    own = frame.filter(pl.col("w") > 0)
    for source in engines(frame):
        found = miscal.scan(source, weight="w", group="none", **EVENT).summary
        assert found.n == len(own)
        assert f"w: {len(rows) - len(own):,} rows have 0, and do not count" in found.warnings
        assert {one.value: one.n for one in found.values if one.column == "carrier"} == dict(
            own["carrier"].value_counts().rows()
        )


@pytest.mark.parametrize(
    ("weight", "said"), [(0.0, "no rows with a 'w' above 0"), (1e200, "must hold weights: 0, or from 1e-30 to 1e\\+30")]
)
def test_weights_that_cannot_be_counted_are_refused(rows, weight, said):
    with pytest.raises(InputError, match=said):
        miscal.scan(rows.with_columns(w=weight), weight="w", **EVENT)
    counted = rows.drop("late").with_columns(n=10**15, k=10**14)
    with pytest.raises(InputError, match="adds up to more than"):
        miscal.scan(counted, probability="risk", count="n", events="k")


@pytest.mark.parametrize("name", ["*", "^c.*$", ""])
def test_names_that_are_patterns_are_left_out_or_refused(rows, name):
    for source in engines(rows.rename({"carrier": name})) if name else [rows.rename({"carrier": name})]:
        assert name in [one.name for one in miscal.scan(source, **EVENT).summary.left_out]
        with pytest.raises(InputError):
            miscal.scan(source, columns=[name], **EVENT)
        with pytest.raises(InputError, match="SQL takes for all columns, or for none"):
            miscal.scan(source, probability="risk", event=name)


@pytest.mark.whole
def test_names_that_differ_by_case_alone_are_refused(rows, tmp_path):
    frame = rows.with_columns(Carrier=pl.col("hour"))
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.write_csv(tmp_path / "rows.csv")
    for source in (frame, tmp_path / "rows.parquet", tmp_path / "rows.csv"):
        with pytest.raises(InputError, match="'carrier' has a twin"):
            miscal.scan(source, **EVENT)
        assert [one.name for one in miscal.scan(source, columns="hour", **EVENT).summary.columns] == ["hour"]
    rows.with_columns(carrier_1="hour").write_parquet(tmp_path / "rows.parquet")
    assert "carrier_1" in [one.name for one in miscal.scan(tmp_path / "rows.parquet", **EVENT).summary.columns]


def test_outcomes_that_are_all_alike_and_no_rows_are_refused(rows):
    with pytest.raises(InputError, match="all 4,000 outcomes are alike"):
        miscal.scan(rows.with_columns(late=0), **EVENT)
    with pytest.raises(InputError, match="has no rows"):
        miscal.scan(rows.head(0), **EVENT)


@pytest.mark.parametrize(
    ("source", "said"),
    [("nowhere.parquet", "no such file"), ("README.md", "is not read"), ("base.duckdb::t", "no such file")],
)
def test_sources_that_cannot_be_read_are_refused(source, said):
    with pytest.raises(FileError, match=said):
        miscal.scan(source, **EVENT)
    with pytest.raises(InputError, match="a path or a frame"):
        miscal.scan(3, **EVENT)


def test_a_relation_that_changes_between_passes_is_refused(rows, tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    rows.write_parquet(path)
    ask, asked = Relation.ask, []

    def changing(self, keys, sums):
        asked.append(keys)
        if len(asked) == 4:
            rows[:-5].write_parquet(path)
        return ask(self, keys, sums)

    monkeypatch.setattr(Relation, "ask", changing)
    with pytest.raises((InputError, FileError), match=r"changed while it was read|could not be read"):
        miscal.scan(path, **EVENT)


@pytest.mark.whole
@pytest.mark.parametrize("stage", ["always", "never"])
def test_an_engine_that_fails_half_way_leaves_no_result_and_the_scan_goes_on(
    rows, tmp_path, monkeypatch, capsys, stage
):
    rows.write_parquet(tmp_path / "rows.parquet")
    collect, asked = Relation.collect, []

    def scanned(name, most=10_000):
        def counted(self, question):
            asked.append(question)
            gone = nw.from_native(duckdb.sql("select error('the engine is gone') as n"))
            return collect(self, gone if len(asked) > most else question)

        asked.clear()
        monkeypatch.setattr(Relation, "collect", counted)
        out = ["--probability", "risk", "--event", "late", "--stage", stage, "--out", str(tmp_path / name)]
        return main(["scan", str(tmp_path / "rows.parquet"), *out])

    assert scanned("out", most=25) == 2
    assert "the engine is gone" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert scanned("out") == 0
    again = len(asked)
    assert {one.name for one in tmp_path.iterdir()} == {"rows.parquet", "out"}
    assert scanned("other") == 0
    assert again < len(asked)
    one, other = (pl.read_parquet(tmp_path / name / "cells.parquet") for name in ("out", "other"))
    # threads add in an order of their own
    assert_frame_equal(one.drop("about"), other.drop("about"), abs_tol=1e-9)
