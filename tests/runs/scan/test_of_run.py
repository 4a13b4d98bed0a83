"""The readable correction of a run of `discover`: which findings it has, and that SQL names the same rows."""

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit

import miscal
from miscal.cli import main
from miscal.findings.conditions.column_kinds import Cycle, Levels, Missing, Period, Span, Trend, Value
from miscal.findings.conditions.condition import Frame
from miscal.findings.conditions.other_kinds import AnyOf, Both, NoneOf
from miscal.runs.scan.correction import ScanCorrection, ScanMap, ScanShift, _column, readable_correction, shift_of
from miscal.runs.scan.document import as_python, as_sql
from miscal.runs.scan.plan import NoCells

from .test_correction import by_duckdb, by_python


def table(seed=0, n=2_000):
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
    rows = table().with_columns(pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("kind").alias("kind"))
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
    rows = table()
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
    new = table(1)
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
