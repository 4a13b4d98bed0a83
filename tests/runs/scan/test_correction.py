"""Corrections of scans and readable ones of runs: what is chosen, and that SQL, Python and numpy say the same."""

import os
import shutil
import sqlite3
import subprocess
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import miscal
from miscal.base.errors import FileError, InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.cli import main
from miscal.findings.conditions.column_kinds import Cycle, Levels, Missing, Period, Span, Trend, Value
from miscal.findings.conditions.condition import Frame
from miscal.findings.conditions.other_kinds import AnyOf, Both, NoneOf
from miscal.runs.scan.correction import (
    FOLDS,
    ScanCorrection,
    ScanMap,
    ScanShift,
    _column,
    deal,
    readable_correction,
    shift_of,
)
from miscal.runs.scan.document import as_python, as_sql, read_cells
from miscal.runs.scan.plan import NoCells

duckdb = pytest.importorskip("duckdb")
EVENT = {"probability": "risk", "event": "late"}
TYPES = {"carrier": "varchar", "flag": "boolean", "day": "date", "at": "timestamp"}


def table(seed=0, n=4_000, hidden=1.0) -> pl.DataFrame:
    """Columns of every kind, with blanks and quotes, and numbers that are few."""
    rng = np.random.default_rng(seed)
    carrier = rng.choice(["O'Hare", "b", "c", "d", "", "--; x"], n).astype(object)
    hour, seats = rng.integers(0, 24, n).astype(float), rng.choice([2.0, 4.0, 8.0], n)
    start = rng.integers(0, 300, n)
    day = pl.Series([date(2024, 1, 1) + timedelta(days=int(k)) for k in start])
    at = pl.Series([datetime(2024, 1, 1) + timedelta(hours=int(k)) for k in rng.integers(0, 7_000, n)])
    flag, risk = rng.random(n) < 0.3, rng.beta(1, 1.5, n)
    odds = logit(risk) + hidden * (
        0.9 * (carrier == "O'Hare") + 0.06 * (hour - 12) + 0.8 * flag - 0.7 * (start > 200) - 0.8 * (seats == 4)
    )
    late = (rng.random(n) < expit(odds)).astype(int)
    frame = pl.DataFrame({"risk": risk, "late": late, "carrier": pl.Series(carrier, dtype=pl.String), "hour": hour,
                          "seats": seats, "flag": flag, "day": day, "at": at})  # fmt: skip
    blank = pl.Series(rng.random(n) < 0.05)
    return frame.with_columns(
        pl.when(blank).then(None).otherwise(pl.col(name)).alias(name) for name in ("carrier", "hour", "flag", "day")
    )


@pytest.fixture(scope="module")
def rows():
    return table()


@pytest.fixture(scope="module")
def found(rows):
    return miscal.scan(rows.lazy(), group="none", **EVENT)


def edges(frame: pl.DataFrame, found) -> pl.DataFrame:
    """Rows of a new table at every end, with what was not there before."""
    new = table(1, 400)
    risk, hour, day, at = (new[name].to_list() for name in ("risk", "hour", "day", "at"))
    risk[:6] = [0.0, 1.0, 1e-5, 1 - 1e-5, None, 1.5]
    ends = {cut.column: cut for cut in found.cells.about.plan.cuts}
    for k, end in enumerate(ends["hour"].edges or ends["hour"].values):
        hour[10 + k] = end
    hour[60:63] = [1e9, -1e9, None]
    for k, end in enumerate(ends["day"].edges):
        day[70 + k] = date(1970, 1, 1) + timedelta(seconds=end)
    for k, end in enumerate(ends["at"].edges):
        at[110 + k] = datetime(1970, 1, 1) + timedelta(seconds=end)
    carrier = ["never seen", None, *new["carrier"][2:].to_list()]
    return new.with_columns(
        pl.Series("risk", risk, strict=False), pl.Series("hour", hour), pl.Series("day", day), pl.Series("at", at),
        pl.Series("carrier", carrier),
    )  # fmt: skip


def by_numpy(frame: pl.DataFrame, correction: ScanCorrection) -> np.ndarray:
    """What the stored correction makes of rows, by arrays."""
    f = frame["risk"].cast(float).fill_null(np.nan).to_numpy()
    base = correction.map.apply(f)
    odds, shift = logit(np.clip(base, 1e-4, 1 - 1e-4)), np.zeros(len(f))
    for one in correction.shifts:
        cells = np.array([_codes(frame, column) for column in one.columns])
        if one.scores:
            known = (cells[0] >= 0) & (cells[0] < len(one.scores))
            shift += one.size * np.where(known, np.array(one.scores)[np.where(known, cells[0], 0)], 0.0)
            continue
        inside = np.any([np.all(cells == np.array(k)[:, None], axis=0) for k in one.cells], axis=0) ^ one.others
        shift += one.size * inside
    found = np.where(shift == 0, base, expit(odds + shift))
    return np.where((f >= 0) & (f <= 1), found, np.nan)


def _codes(frame: pl.DataFrame, column: dict) -> np.ndarray:
    values, ends, series = list(column["values"]), list(column["edges"]), frame[column["column"]]
    missing = len(values) if values else len(ends) + 1
    if column["kind"] == "text":
        texts = [None if v is None else str(v) for v in series.to_list()]
        return np.array([missing if v is None else values.index(v) if v in values else -1 for v in texts])
    if column["kind"] == "date":
        series = series.cast(pl.Datetime("us")).dt.epoch("us") / 1e6
    numbers = series.cast(float).fill_null(np.nan).to_numpy()
    if values:
        return np.array([values.index(v) if v in values else -1 if np.isfinite(v) else missing for v in numbers])
    return np.where(np.isfinite(numbers), np.searchsorted(ends, numbers, "right"), missing)


def by_duckdb(frame: pl.DataFrame, sql: str) -> np.ndarray:
    base = duckdb.connect()
    base.register("rows_", frame.to_arrow())
    return base.sql(f"select {sql} as p from rows_").pl()["p"].cast(float).fill_null(np.nan).to_numpy()


def by_python(frame: pl.DataFrame, text: str) -> np.ndarray:
    space: dict = {}
    exec(compile(text, "correction.py", "exec"), space)
    return np.array([np.nan if (p := space["correct"](row)) is None else p for row in frame.iter_rows(named=True)])


# --- what is chosen -------------------------------------------------------------------------------------------------


def cells_of(seed=0, n=30, weights=False):
    rng = np.random.default_rng(seed)
    count = rng.integers(1, 50, n).astype(float)
    y, f = (np.arange(n) % 2).astype(float), rng.uniform(0.1, 0.9, n)
    weight = count * rng.uniform(0.5, 2.0, n) if weights else count
    design = SurveyDesign(None, 0.0, weight)
    return LabelledRows(y, f, f, stratum=np.arange(n) // 2, count=count, squares=weight, design=design)


def test_folds_have_every_row_once_and_do_not_depend_on_the_order_of_cells():
    cells = cells_of()
    group = (np.arange(30) % 3 == 0).astype(float)
    dealt = deal(cells, [group], 1.0)
    counts = dealt * cells.counts
    np.testing.assert_array_equal(np.rint(counts).sum(0), cells.counts)
    np.testing.assert_allclose(counts, np.rint(counts), atol=1e-9)
    order = np.random.default_rng(1).permutation(30)
    np.testing.assert_array_equal(deal(cells.take(order), [group[order]], 1.0), dealt[:, order])
    assert abs(counts.sum(1) / cells.n - 1 / FOLDS).max() < 0.05


def test_folds_are_of_as_many_rows_as_hang_together():
    """The more rows count as one, the more folds differ; units that are known stay whole."""
    cells = cells_of(n=2_000)
    spread = [np.var((deal(cells, [], effect) * cells.counts).sum(1)) for effect in (1.0, 10.0)]
    assert spread[1] > 2 * spread[0]
    unit = np.arange(100) // 5
    half = np.full(100, 0.5)
    dealt = deal(LabelledRows.of((np.arange(100) % 2).astype(float), half, half, group=unit), [], 3.0)
    assert ((dealt == 0) | (dealt == 1)).all()
    assert all(len(np.unique(dealt[:, unit == k], axis=1).T) == 1 for k in range(20))


@pytest.mark.whole
def test_where_nothing_is_off_the_probability_stays_as_it_is():
    names = [
        miscal.scan(table(seed, 2_000, 0.0), group="none", **EVENT).summary.correction.map.name for seed in range(10)
    ]
    assert names.count("identity") >= 7


def test_other_outcomes_turn_the_shifts(rows, found):
    """(f, y) to (1 - f, 1 - y) turns the sign of shifts, as log-odds do."""
    rng = np.random.default_rng(0)
    group, risk = rng.random(6_000) < 0.4, rng.choice(np.arange(1, 64) / 64, 6_000)
    late = (rng.random(6_000) < expit(logit(risk) + 0.8 * group)).astype(int)
    frame = pl.DataFrame({"risk": risk, "late": late, "group": group})
    one, other = (
        miscal.scan(some, **EVENT).summary.correction
        for some in (frame, frame.with_columns(risk=1 - pl.col("risk"), late=1 - pl.col("late")))
    )
    assert one.map.slope == pytest.approx(other.map.slope)
    np.testing.assert_allclose(one.map.intercept, -other.map.intercept, atol=1e-6)
    assert one.shifts[0].size * (-1) ** one.shifts[0].others > 0.5
    np.testing.assert_allclose(one.shifts[0].size, -other.shifts[0].size, rtol=1e-6)


def test_losses_are_of_rows_that_were_not_learned_from(found):
    correction = found.summary.correction
    assert correction.log_loss == min(correction.tried.values())
    assert correction.log_loss < correction.log_loss_map
    assert "held-out" in found.summary.answer.action
    assert set(correction.tried) == {f"{m}{s}" for m in ("identity", "platt", "isotonic") for s in ("", " and shifts")}


# --- SQL, Python and numpy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["identity", "platt", "isotonic"])
def test_sql_python_and_numpy_say_the_same(rows, found, name):
    correction = found.summary.correction
    maps = {
        "identity": {},
        "platt": {"slope": 0.8, "intercept": -0.1},
        "isotonic": {"knots": (0.1, 0.4, 0.8), "values": (0.05, 0.5, 0.7)},
    }
    changed = correction.model_copy(update={"map": type(correction.map)(name=name, **maps[name])})
    assert {bool(one.scores) for one in changed.shifts} == {True, False}
    from miscal.runs.scan.document import as_python, as_sql

    new = edges(rows, found)
    expected = by_numpy(new, changed)
    assert np.isnan(expected[4:6]).all()
    assert np.isfinite(np.delete(expected, [4, 5])).all()
    sql = as_sql(changed, "risk")
    assert not [part for part in (";", " -- ", "/*") if part in sql.replace("--; x", "")]
    np.testing.assert_allclose(by_duckdb(new, sql), expected, rtol=1e-12)
    np.testing.assert_allclose(by_python(new, as_python(changed, "risk")), expected, rtol=1e-12)


def test_sqlite_says_the_same(rows):
    """It has no dates."""
    rows = rows.drop("day", "at")
    found = miscal.scan(rows, **EVENT)
    new = table(1, 400).drop("day", "at")
    lite = sqlite3.connect(":memory:")
    lite.execute(f"create table t ({', '.join(new.columns)})")
    lite.executemany(f"insert into t values ({', '.join('?' * len(new.columns))})", new.rows())
    by_sqlite = np.array([p for (p,) in lite.execute(f"select {found.sql()} from t")])
    np.testing.assert_allclose(by_sqlite, by_numpy(new, found.summary.correction), rtol=1e-12)


def test_numbers_that_are_none_are_missing():
    rng = np.random.default_rng(0)
    frame = table(3, 3_000).with_columns(x=pl.Series(rng.choice([0.5, 1.5, np.nan, np.inf], 3_000)))
    late = rng.random(3_000) < expit(logit(frame["risk"].to_numpy()) + 1.5 * ~np.isfinite(frame["x"].to_numpy()))
    frame = frame.with_columns(late=pl.Series(late.astype(int)))
    found = miscal.scan(frame, columns="x", group="none", **EVENT)
    assert found.findings.height
    expected = by_numpy(frame, found.summary.correction)
    np.testing.assert_allclose(by_duckdb(frame, found.sql()), expected, rtol=1e-12)
    np.testing.assert_allclose(by_python(frame, found.python()), expected, rtol=1e-12)


POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), None)


@pytest.mark.slow
@pytest.mark.skipif(
    POSTGRES is None and shutil.which("initdb") is None, reason="PostgreSQL (initdb, postgres, psql) is not installed"
)
def test_postgresql_says_the_same(rows, found):
    new = edges(rows, found)
    written = by_numpy(new, found.summary.correction)
    types = {"risk": "double precision", "late": "int", "hour": "double precision", "seats": "double precision"}
    columns = ", ".join(f'"{name}" {(types | TYPES)[name]}' for name in new.columns)
    # no folder of pytest: the server runs as another user, who may not read these
    with TemporaryDirectory() as folder:
        new.write_csv(f"{folder}/rows.csv", null_value="NULL", quote_style="non_numeric")
        said = asked_of_postgres(
            f"create table t ({columns}); copy t from '{folder}/rows.csv' with (format csv, header, null 'NULL'); "
            f"select coalesce(({found.sql()})::text, 'nan') from t",
            Path(folder),
        )
    np.testing.assert_allclose([float(one) for one in said], written, rtol=1e-12)


def asked_of_postgres(query: str, folder: Path) -> list[str]:
    """Ask a server of one process's own, in a folder of its own, and stop it."""
    bin_ = POSTGRES or Path(str(shutil.which("initdb"))).parent
    user: dict = {}
    if os.getuid() == 0:  # it does not run as root
        user = {"user": "postgres"}
        folder.chmod(0o777)
        (folder / "rows.csv").chmod(0o644)
    data = folder / "base"

    def run(*words: str, text: str | None = None):
        known = {"input": text, "capture_output": True, "text": True, "check": True, "cwd": folder}
        return subprocess.run([str(bin_ / words[0]), *words[1:]], **known, **user)

    run("initdb", "-D", str(data), "-A", "trust", "-U", "tester", "-E", "UTF8")
    options = f"-k {folder} -c listen_addresses=''"
    subprocess.run([str(bin_ / "pg_ctl"), "-D", str(data), "-o", options, "-l", str(folder / "log"), "-w", "start"],
                   check=True, stdout=subprocess.DEVNULL, cwd=folder, **user)  # fmt: skip
    try:
        done = run("psql", "-h", str(folder), "-U", "tester", "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1",
                   text=f"{query};")  # fmt: skip
    finally:
        run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    return done.stdout.split()


def test_sql_can_be_read_in_every_dialect(found):
    sqlglot = pytest.importorskip("sqlglot")
    for dialect in ("duckdb", "sqlite", "postgres"):
        sqlglot.parse_one(f"select {found.sql()} as p from t", read=dialect)
    [one] = sqlglot.parse_one(f"select {found.sql('spark')} as p from t", read="spark").expressions
    assert one.alias == "p"
    assert "O'Hare" in {text.this for text in one.find_all(sqlglot.exp.Literal)}
    names = {column.name for column in one.find_all(sqlglot.exp.Column)}
    assert names <= set(table(n=10).columns)


def test_sql_is_null_where_the_probability_is_none():
    found = miscal.scan(table().drop("seats", "flag", "at"), group="none", **EVENT)
    base = duckdb.connect()
    rows = "(null, 'a', 3, DATE '2024-01-01'), (1.5, 'a', 3, DATE '2024-01-01'), (0.5, null, null, null)"
    asked = f"select {found.sql()} as p from (values {rows}) as t(risk, carrier, hour, day)"
    assert [p is None for (p,) in base.sql(asked).fetchall()] == [True, True, False]
    assert "`risk`" in found.sql("spark")
    with pytest.raises(InputError, match="must be one of ansi, spark"):
        found.sql("oracle")


def test_a_file_that_is_missing_is_no_cells(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read_cells(tmp_path / "cells.parquet")


def of_run(seed=0, n=2_000):
    rng = np.random.default_rng(seed)
    kind, hour = rng.choice(["it's", "b", "c"], n), rng.integers(0, 24, n)
    day = pl.Series(np.datetime64("2024-01-01") + rng.integers(0, 200, n)).cast(pl.Date)
    age = np.where(rng.random(n) < 0.2, np.nan, rng.normal(40, 12, n).round())
    risk = rng.uniform(0.05, 0.95, n)
    odds = logit(risk) + 1.2 * (kind == "b") + 1.5 * np.isnan(age) - 1.0 * (hour >= 18)
    late = (rng.random(n) < expit(odds)).astype(int)
    frame = pl.DataFrame({"risk": risk, "late": late, "kind": kind, "hour": hour, "age": age, "day": day})
    return frame.with_columns(pl.col("age").fill_nan(None))


@pytest.mark.parametrize(
    "condition",
    [
        Value("kind", "it's", "text"),
        Value("hour", 3.0, "number"),
        Missing("age"),
        Missing("kind"),
        Span("age", 30.0, 40.0),
        Span("age", None, 40.0),
        Span("age", 40.0, None),
        Span("age", None, None),
        Levels("kind", ("b", "c")),
        Period("day", "2024-02-01", "2024-03-01", None),
        Both((Value("kind", "b", "text"), Span("hour", 6.0, None))),
        AnyOf((Value("kind", "b", "text"), Missing("kind"))),
        NoneOf((Value("kind", "b", "text"), Value("kind", "c", "text"))),
        NoneOf((Span("age", 30.0, 40.0),)),
        Trend("age", 45.0, 35.0),
    ],
)
def test_conditions_are_cells_of_columns(condition):
    rows = of_run().with_columns(pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("kind").alias("kind"))
    columns = {name: rows[name].to_numpy() for name in ("hour", "age", "day")}
    found = shift_of(1, condition, Frame(len(rows), columns | {"kind": np.array(rows["kind"].to_list(), object)}))
    shift = ScanShift(
        finding=1, size=1.0, error=0.1, cells=found.member.cells,
        columns=tuple(map(_column, found.member.cuts)), others=found.member.others, scores=found.scores,
    )  # fmt: skip
    written = ScanCorrection(
        map=ScanMap(name="identity"), shifts=(shift,), log_loss_raw=1, log_loss_map=1, log_loss=1, tried={}
    )
    expected = rows["risk"].to_numpy()
    tested = found.split.tested
    expected = np.where(tested == 0, expected, expit(logit(expected) + tested))
    np.testing.assert_allclose(by_duckdb(rows, as_sql(written, "risk")), expected, rtol=1e-12)
    np.testing.assert_allclose(by_python(rows, as_python(written, "risk")), expected, rtol=1e-12)


def test_parts_of_dates_have_no_expression():
    frame = Frame(2, {"day": np.array(["2024-01-01", "2024-06-01"], "datetime64[D]")})
    with pytest.raises(NoCells):
        shift_of(1, Cycle("day", "month", 0, 2), frame)


@pytest.mark.whole
def test_a_run_has_a_correction_that_can_be_read(tmp_path, capsys):
    rows = of_run()
    rows.write_parquet(tmp_path / "rows.parquet")
    made = ["--probability", "risk", "--event", "late", "--out", str(tmp_path / "run")]
    assert main(["discover", str(tmp_path / "rows.parquet"), *made]) == 0
    capsys.readouterr()
    assert main(["export", "sql", str(tmp_path / "run"), "--out", str(tmp_path / "c.sql")]) == 0
    said = capsys.readouterr().out
    assert "held-out" in said
    run = miscal.load(tmp_path / "run")
    found = readable_correction(run.content)
    own = found.correction
    assert own.shifts
    assert own.log_loss < own.log_loss_raw
    assert f"{found.log_loss_full:.4f}" in said
    new = of_run(1)
    by_sql = by_duckdb(new, (tmp_path / "c.sql").read_text())
    np.testing.assert_allclose(by_sql, by_python(new, as_python(own, "risk")), rtol=1e-12)
    y = new["late"].to_numpy()
    loss = lambda p: -np.mean(np.log(np.where(y == 1, p, 1 - p)))  # noqa: E731
    assert loss(by_sql) < loss(new["risk"].to_numpy()) - 0.02


def test_a_text_that_says_true_is_no_truth_value():
    rng = np.random.default_rng(0)
    said, risk = rng.choice(["True", "true", "1", "maybe"], 800), rng.uniform(0.3, 0.7, 800)
    rows = pl.DataFrame({"said": said, "risk": risk, "late": (rng.random(800) < risk + 0.28 * (said == "True"))})
    run = miscal.discover(rows, probability="risk", event="late", quick=True, n_jobs=1)
    own = readable_correction(run.content).correction
    assert [one.columns[0]["truth"] for one in own.shifts] == [False]
    moved, plain = (by_duckdb(rows, as_sql(one, "risk")) for one in (own, own.model_copy(update={"shifts": ()})))
    assert ((moved != plain) == (said == "True")).all()
