"""Scans: what they find, what they leave, and how it is checked."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

import miscal
from miscal.base.errors import FileError, InputError
from miscal.findings.conditions.condition import Frame
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.runs.scan.document import FILES

from .conftest import EVENT, table

duckdb = pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def saved(rows, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan") / "out"
    miscal.scan(rows.lazy(), **EVENT).save(folder)
    return folder


# --- what is found --------------------------------------------------------------------------------------------------


def rounded(found):
    """What a scan says, with numbers of nine digits: engines add in an order of their own."""
    return json.loads(
        found.summary.model_dump_json(exclude={"source", "seconds"}), parse_float=lambda x: f"{float(x):.9g}"
    )


def test_frames_of_pandas_and_queries_are_sources(rows, tmp_path):
    """Other places are in test_sources."""
    rows = rows.drop("day")
    rows.write_parquet(tmp_path / "rows.parquet")
    whole = rounded(miscal.scan(rows.lazy(), **EVENT))
    assert rounded(miscal.scan(rows.to_pandas(), **EVENT)) == whole
    assert rounded(miscal.scan(sql=f"select * from '{tmp_path}/*.parquet'", **EVENT)) == whole


def test_counted_rows_are_rows(rows):
    """Rows that are alike may come as one row with counts."""
    alike = rows.select(pl.col("risk").round(2), "late", "carrier", "hour")
    counted = alike.group_by("risk", "carrier", "hour").agg(n=pl.len(), k=pl.col("late").sum())
    one = miscal.scan(alike, **EVENT)
    other = miscal.scan(counted, probability="risk", count="n", events="k")
    assert one.findings.drop("low", "high").equals(other.findings.drop("low", "high"), null_equal=True) or (
        one.findings["group"].to_list() == other.findings["group"].to_list()
    )
    np.testing.assert_allclose(one.findings["p_adjusted"], other.findings["p_adjusted"], rtol=1e-6)


def test_dates_blanks_booleans_and_few_numbers_are_counted():
    rng = np.random.default_rng(3)
    frame = table(3, 3_000).with_columns(
        pl.when(pl.Series(rng.random(3_000) < 0.1)).then(None).otherwise("carrier").alias("carrier"),
        flag=pl.Series(rng.random(3_000) < 0.3),
        seats=pl.Series(rng.choice([2.0, 4.0, np.nan], 3_000)),
        at=pl.Series([datetime(2024, 1, 1) + timedelta(hours=int(k)) for k in rng.integers(0, 5_000, 3_000)]),
    )
    found = miscal.scan(frame, **EVENT).summary
    kinds = {one.name: one.kind for one in found.columns}
    assert kinds == {
        "carrier": "text",
        "hour": "number",
        "day": "date",
        "flag": "text",
        "seats": "number",
        "at": "date",
    }
    sizes = {(one.column, one.value): one.n for one in found.values}
    assert sizes["carrier", "(missing)"] == frame["carrier"].null_count()
    assert sizes["flag", "True"] == frame["flag"].sum()
    assert sizes["seats", "4"] == (frame["seats"] == 4).sum()
    assert sizes["seats", "(missing)"] == frame["seats"].is_nan().sum()
    for column in kinds:
        assert sum(n for (name, _), n in sizes.items() if name == column) == len(frame)


def test_values_of_few_rows_and_names_of_rows_are_stated():
    frame = table(4).with_columns(
        name=pl.int_range(4_000).cast(pl.String),
        rare=pl.when(pl.int_range(4_000) < 10).then(pl.lit("once")).otherwise("carrier"),
    )
    found = miscal.scan(frame, **EVENT).summary
    assert {one.name: one.why for one in found.left_out}["name"].startswith("names rows")
    [rare] = [one for one in found.columns if one.name == "rare"]
    assert (rare.pooled, rare.pooled_rows) == (1, 10)


@pytest.mark.slow
def test_where_nothing_is_hidden_hardly_anything_is_found():
    from scipy.stats import binom

    tables = 200
    hits = sum(
        bool(miscal.scan(table(seed, 2_000, 0.0).drop("day"), **EVENT).summary.findings) for seed in range(tables)
    )
    assert hits <= binom.ppf(0.99, tables, 0.05)


# --- what is left, and how it is checked ----------------------------------------------------------------------------


def test_the_folder_holds_what_it_says(saved):
    assert sorted(one.name for one in saved.iterdir()) == sorted(FILES)
    page = (saved / "report.html").read_text()
    assert "carrier = b" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def follows_from_cells(folder):
    """Say whether a scan of the cells of a folder gives its summary again."""
    found, written = (
        json.loads(text)
        for text in (miscal.scan(folder / "cells.parquet").summary.to_json(), (folder / "summary.json").read_text())
    )
    return found | {"digest": "", "seconds": 0} == written | {"digest": "", "seconds": 0}


def test_cells_are_a_source_of_their_own(saved):
    assert follows_from_cells(saved)


def blanked(cells):
    return cells.with_columns(n=pl.when(pl.int_range(pl.len()) == 9).then(None).otherwise("n"))


@pytest.mark.parametrize(
    "change",
    [
        lambda cells: cells.drop("fy"),
        lambda cells: cells.drop("stratum"),
        lambda cells: cells.head(40),
        lambda cells: pl.concat([cells, cells[1:]]),
        lambda cells: cells.with_columns(n=pl.lit("many")),
        lambda cells: cells.with_columns(-pl.col("n")),
        lambda cells: cells.with_columns(pl.col("stratum") + 0.5),
        lambda cells: cells.with_columns(about=pl.lit("{}")),
        blanked,
    ],
)
def test_cells_of_another_tool_are_refused_in_one_line(saved, tmp_path, change):
    change(pl.read_parquet(saved / "cells.parquet")).write_parquet(tmp_path / "cells.parquet")
    with pytest.raises(FileError, match="scan the rows again") as refused:
        miscal.scan(tmp_path / "cells.parquet")
    assert "\n" not in str(refused.value)


def test_cells_may_come_in_other_types(saved, tmp_path):
    cells = pl.read_parquet(saved / "cells.parquet")
    cells.sample(fraction=1, shuffle=True, seed=1).with_columns(pl.col(pl.Int64).cast(pl.Float64)).write_parquet(
        tmp_path / "cells.parquet"
    )
    one, other = (miscal.scan(folder / "cells.parquet").findings for folder in (saved, tmp_path))
    np.testing.assert_allclose(one["p_adjusted"], other["p_adjusted"], rtol=1e-9)


def test_cells_know_what_was_counted(saved):
    with pytest.raises(InputError, match="leave `probability` out"):
        miscal.scan(saved / "cells.parquet", probability="risk")


def test_hostile_names_and_values_stay_what_they_are(tmp_path):
    hostile = {"a": "O'Hare", "b": "<script>alert(1)</script>", "c": "--; drop table x"}
    frame = table(8).rename({"carrier": 'we"ird <b>', "risk": "p`; q"})
    frame = frame.with_columns(pl.col('we"ird <b>').replace(hostile)).drop("day", "hour")
    found = miscal.scan(frame, probability="p`; q", event="late")
    assert any(hostile["b"] in one for one in found.findings["group"])
    found.save(tmp_path / "out")
    assert follows_from_cells(tmp_path / "out")
    assert hostile["b"] not in (tmp_path / "out" / "report.html").read_text()
    base = duckdb.connect()
    base.register("rows_", frame.to_arrow())
    assert len(base.sql(f"select {found.sql()} as p from rows_").pl()) == len(frame)


def test_no_cell_that_is_written_has_fewer_rows_than_asked(rows, tmp_path):
    miscal.scan(rows, least_rows=20, **EVENT).save(tmp_path / "out")
    cells = pl.read_parquet(tmp_path / "out" / "cells.parquet").filter(pl.col("question") >= 0)
    assert cells["n"].min() >= 20
    assert follows_from_cells(tmp_path / "out")


def columns_of_every_kind(seed: int, n: int) -> pl.DataFrame:
    """Values of few rows, few numbers, many numbers, dates and blanks."""
    rng = np.random.default_rng(seed)
    region = rng.choice(["n", "s", "e"], n)
    place = rng.choice(list("abcdefgh"), n, p=np.array([9, 5, 4, 3, 2, 1, 1, 0.5]) / 25.5)
    hour, risk = rng.integers(0, 24, n), rng.beta(2, 3, n)
    odds = logit(risk) - 0.9 * (region == "s") + 0.9 * (place == "c") + 0.05 * (hour - 12)
    others = {
        "seats": rng.choice([2.0, 4.0, 8.0], n, p=[0.5, 0.49, 0.01]),
        "hour": hour,
        "x": rng.normal(size=n).round(2),
        "day": pl.Series(np.datetime64("2024-01-01") + rng.integers(0, 90, n)).cast(pl.Date),
    }
    late = (rng.random(n) < expit(odds)).astype(int)
    frame = pl.DataFrame({"risk": risk, "late": late, "region": region, "place": place} | others)
    blank = pl.Series(rng.random(n) < rng.choice([0.0, 0.005, 0.2]))
    return frame.with_columns(pl.when(blank).then(None).otherwise(name).alias(name) for name in ("place", "x"))


def assert_groups_are_those_of_their_rows(summary, frame, weight=None):
    """Compare number of rows, rate, mean probability and share of every group that is told."""
    texts = {name: np.array(frame[name].to_list(), object) for name in frame.columns if frame[name].dtype == pl.String}
    every = Frame(len(frame), {name: frame[name].to_numpy() for name in frame.columns} | texts)
    mass = np.ones(len(frame)) if weight is None else frame[weight].to_numpy().astype(float)
    for one in (*summary.findings, *summary.accounted_for, *summary.values):
        inside = one.condition.rows(every) & (mass > 0)
        own = frame.filter(pl.Series(inside))
        assert one.n == len(own), one.condition.words
        assert one.accuracy == pytest.approx(np.average(own["late"], weights=mass[inside]), rel=1e-9, abs=1e-9)
        assert one.confidence == pytest.approx(np.average(own["risk"], weights=mass[inside]), rel=1e-9, abs=1e-9)
        assert one.share == pytest.approx(mass[inside].sum() / mass.sum(), rel=1e-9)


@pytest.mark.whole
@settings(max_examples=5)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(400, 3_000),
    least=st.sampled_from([1, 2, 5, 20, 60, 150]),
    heavy=st.booleans(),
)
def test_a_group_has_the_rows_rate_and_mean_that_are_told_of_it(seed, n, least, heavy):
    """Whatever is merged, pooled or weighed; `heavy`: whether rows have weights, of which some are 0."""
    frame = columns_of_every_kind(seed, n)
    weight = {"weight": "w"} if heavy else {}
    frame = frame.with_columns(w=pl.Series(np.random.default_rng(seed).choice([0.0, 1.0, 2.5], n)))
    found = miscal.scan(frame if heavy else frame.drop("w"), group="none", least_rows=least, **weight, **EVENT)
    assert_groups_are_those_of_their_rows(found.summary, frame, weight.get("weight"))
    assert all(cells["n"].min() >= least for cells in found.cells.asked.values())


@pytest.mark.whole
def test_what_is_merged_finds_what_was_planted():
    frame = columns_of_every_kind(0, 4_000)
    for least in (1, 10, 20, 50):
        found = miscal.scan(frame, group="none", least_rows=least, **EVENT).summary
        planted = {one.description: one for one in found.findings if one.description in ("region = s", "place = c")}
        assert len(planted) == 2
        for one in planted.values():
            if one.corrected is not None:
                assert one.corrected == pytest.approx(one.accuracy, abs=0.03)


def test_few_blanks_are_no_cell_where_cells_must_have_rows():
    frame = columns_of_every_kind(1, 2_000).with_columns(pl.when(pl.int_range(2_000) > 6).then("hour").alias("hour"))
    found = miscal.scan(frame, least_rows=20, **EVENT).summary
    assert "fewer than 20 rows without a value" in {one.name: one.why for one in found.left_out}["hour"]


def test_what_the_engine_is_asked_is_shown(rows, capsys):
    miscal.scan(duckdb.connect().from_arrow(rows.to_arrow()), show_sql=True, columns="carrier", **EVENT)
    assert "GROUP BY" in capsys.readouterr().err


@pytest.mark.whole
def test_import_brings_no_engine():
    code = "import miscal, sys; miscal.scan; print(sorted({'duckdb', 'pyspark', 'ibis', 'dask'} & set(sys.modules)))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


# --- what hangs together --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def days():
    """Rows of which those of one day share a chance that no column tells."""
    rng = np.random.default_rng(11)
    frame, day = table(11, 4_000, 0.0), rng.integers(0, 100, 4_000)
    odds = logit(frame["risk"].to_numpy()) + rng.normal(0, 1.0, 100)[day]
    at = pl.Series(
        [datetime(2024, 1, 1) + timedelta(days=int(k), hours=int(h)) for k, h in zip(day, frame["hour"], strict=True)]
    )
    return frame.drop("day").with_columns(
        late=pl.Series((rng.random(4_000) < expit(odds)).astype(int)),
        at=at,
        number=pl.Series(day),
        weekday=pl.Series(day % 7),
    )


def test_units_widen_what_is_said_and_can_be_checked(days, tmp_path):
    alone = miscal.scan(days, columns="weekday", group="none", **EVENT).summary
    found = miscal.scan(days, columns="weekday", group="number", **EVENT)
    found.save(tmp_path / "out")
    assert follows_from_cells(tmp_path / "out")
    width = [
        max(one.hidden.interval) - min(one.hidden.interval) for some in (alone, found.summary) for one in some.values
    ]
    assert np.mean(width[: len(width) // 2]) < 0.7 * np.mean(width[len(width) // 2 :])
    assert len(found.summary.findings) <= len(alone.findings)
    assert "counted by number" in found.summary.warnings[0]


def test_units_are_found_by_their_names(days):
    def counted(frame, **options):
        return miscal.scan(frame, columns="weekday", **EVENT, **options).summary.group

    assert counted(days) == "at:day"
    assert counted(days.with_columns(customer_id=pl.col("number"))) == "customer_id"
    # each row its own, or too few to be judged by
    assert counted(days.with_row_index("user").drop("at")) is None
    assert counted(days.drop("at").with_columns(user=pl.col("weekday"))) is None
    assert counted(days, group="none") is None
    # rows without a unit would be refused
    assert counted(days.with_columns(at=pl.when(pl.int_range(pl.len()) > 5).then("at"))) is None
    assert counted(days, least_rows=20) is None


def test_a_column_may_be_named_like_a_period(days):
    frame = days.rename({"number": "day"}).drop("at")
    assert miscal.scan(frame, columns="weekday", group="day", **EVENT).summary.group == "day"


@pytest.mark.parametrize("place", [(0, 1), (2, 7), (8, 9)])
def test_a_pair_of_any_two_of_ten_columns_is_found_and_corrected(place):
    rng = np.random.default_rng(sum(place))
    n, levels = 40_000, 8
    codes, risk = rng.integers(0, levels, (10, n)), rng.uniform(0.1, 0.3, n)
    inside = (codes[place[0]] == 1) & (codes[place[1]] == 2)
    late = (rng.random(n) < risk + 0.2 * inside).astype(int)
    columns = {f"c{j}": one.astype(str) for j, one in enumerate(codes)}
    found = miscal.scan(pl.DataFrame({"risk": risk, "late": late, **columns}), **EVENT).summary
    [one] = found.findings
    assert one.description == f"c{place[0]} = 1 and c{place[1]} = 2"
    assert one.n == inside.sum()
    assert abs(one.corrected - (risk[inside] + 0.2).mean()) < 0.04
    # all values and all pairs of them were paid for
    assert found.findings_method.candidates >= 45 * levels**2 + 10 * levels


def test_pairs_that_were_not_looked_at_are_told(rows, monkeypatch):
    few = rows.with_columns(kind=pl.Series(np.random.default_rng(5).integers(0, 90, len(rows)).astype(str)))
    said = [one for one in miscal.scan(few, columns="carrier,kind", **EVENT).summary.warnings if "pairs" in one]
    assert len(said) == 1
    assert "fewer than 50 rows" in said[0]
    assert " % of the rows" in said[0]
    limit = replace(LEDGER_DEFAULTS, pair_work=len(rows))
    monkeypatch.setattr("miscal.runs.scan.plan.LEDGER_DEFAULTS", limit)
    said = [one for one in miscal.scan(rows, **EVENT).summary.warnings if "pairs of columns" in one]
    assert said[0].startswith("of 3 pairs of columns 2 were not looked at")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("period", "part"), [("hour", "%F %H"), ("day", "%F"), ("week", "%G %V"), ("month", "%Y %m"), ("year", "%Y")]
)
def test_periods_are_units(days, engine, period, part):
    frame = days.with_columns(at=pl.datetime(2023, 12, 28) + (pl.col("at") - pl.col("at").min()) * 6)
    frame = frame.with_columns(unit=pl.col("at").dt.strftime(part))
    source = frame if engine == "polars" else duckdb.connect().from_arrow(frame.to_arrow())
    one, other = (
        miscal.scan(source, columns="weekday", group=group, **EVENT).summary for group in ("unit", f"at:{period}")
    )
    np.testing.assert_allclose(
        [value.hidden.interval for value in one.values], [value.hidden.interval for value in other.values], rtol=1e-9
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"group": "nobody"}, "`group`: the frame has no column 'nobody'"),
        ({"group": "carrier:day"}, "holds no dates"),
        ({"group": "blank"}, "4,000 rows without a group"),
        ({"group": "number", "least_rows": 20}, "leave one of them out"),
    ],
)
def test_groups_that_cannot_be_counted_are_refused(days, options, said):
    with pytest.raises(InputError, match=said):
        miscal.scan(days.with_columns(blank=pl.lit(None, pl.String)), **EVENT, **options)


@pytest.mark.whole
def test_staged_rows_are_the_same_rows(rows, tmp_path):
    rows.write_parquet(tmp_path / "rows.parquet")
    whole = rounded(miscal.scan(rows, stage="never", **EVENT))
    for source in (rows, tmp_path / "rows.parquet", duckdb.connect().from_arrow(rows.to_arrow())):
        assert rounded(miscal.scan(source, stage="always", **EVENT)) == whole


def test_means_are_those_of_the_rows(rows):
    found = miscal.scan(rows, **EVENT)
    [group] = [one for one in found.summary.findings if one.description == "carrier = b"]
    own = rows.filter(pl.col("carrier") == "b")
    assert group.n == len(own)
    assert group.accuracy == pytest.approx(own["late"].mean(), rel=1e-12)
    assert group.confidence == pytest.approx(own["risk"].mean(), rel=1e-12)
    assert found.summary.accuracy.value == pytest.approx(rows["late"].mean(), rel=1e-12)
    for one in found.summary.values:
        if one.column == "carrier":
            assert one.n == len(rows.filter(pl.col("carrier") == one.value))
