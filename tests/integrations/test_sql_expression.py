"""The correction as SQL gives what Python gives, on any table, and is refused where it cannot."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

import miscal
from miscal.base.errors import InputError
from miscal.integrations.sql_expression import export_sql, model_as_sql

N = 3_000
EVENT = {"probability": 'the "risk"', "event": "late", "quick": True, "n_jobs": 1}


def table(seed=0, n=N, shift=1.5):
    """Risks that are off by the kind, in the evening, and where the age is blank or high."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["it's", "b", "c", None], n, p=[0.3, 0.3, 0.3, 0.1])
    hour, age = rng.integers(0, 24, n), np.where(rng.random(n) < 0.2, np.nan, rng.normal(40, 12, n))
    risk = rng.uniform(0.05, 0.95, n)
    odds = np.log(risk / (1 - risk)) * 0.7
    odds += shift * (kind == "it's") - shift * (hour >= 18) + shift * np.isnan(age) - shift * (np.nan_to_num(age) > 50)
    late = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int)
    return pd.DataFrame({'the "risk"': risk, "late": late, "kind": kind, "hour": hour, "age": age})


@pytest.fixture(scope="module")
def run():
    return miscal.discover(table(), **EVENT)


def selected(written, frame):
    """What SQLite makes of an expression over a table."""
    with sqlite3.connect(":memory:") as database:
        frame.astype(object).where(frame.notna(), None).to_sql("t", database, index=False)
        return np.array(database.execute(f"SELECT {written} FROM t").fetchall(), dtype=float)[:, 0]


def test_sql_gives_what_python_gives(run):
    assert len(run.model.estimator.fitted.shifts_) >= 4
    new = table(1).drop(columns="late")
    # ends, a cut as it was stored, and a category that was not there
    new.iloc[:3, 0] = [0.0, 1.0, 0.5]
    new.loc[3, "kind"] = "new"
    for number, one in enumerate(run.model.estimator.fitted.shifts_, start=4):
        new.loc[number, "age"] = one.at
    found = selected(model_as_sql(run.model), new)
    np.testing.assert_allclose(found, run.correct(new)["corrected"], rtol=0, atol=1e-12)


def test_a_pair_is_one_condition_of_both_columns():
    rng = np.random.default_rng(0)
    one, two, risk = rng.choice(list("abcdef"), 3_000), rng.choice(list("uvwxyz"), 3_000), rng.uniform(0.2, 0.5, 3_000)
    late = (rng.random(3_000) < risk + 0.4 * ((one == "b") & (two == "z"))).astype(int)
    frame = pd.DataFrame({'the "risk"': risk, "one": one, "two": two, "late": late})
    found = miscal.discover(frame, **EVENT)
    assert any(shift.also for shift in found.model.estimator.fitted.shifts_)
    np.testing.assert_allclose(
        selected(model_as_sql(found.model), frame), found.correct(frame)["corrected"], rtol=0, atol=1e-12
    )


def test_the_expression_of_a_folder_is_written(run, tmp_path):
    run.save(tmp_path / "run")
    shifts = run.model.estimator.fitted.shifts_
    assert export_sql(tmp_path / "run", tmp_path / "correction.sql").shifts == len(shifts)
    assert (tmp_path / "correction.sql").read_text() == f"{model_as_sql(run.model)}\n"


def test_what_cannot_be_corrected_is_null(run):
    new = table(1, 4).drop(columns="late")
    new.iloc[:3, 0] = [np.nan, -0.1, 1.1]
    found = selected(model_as_sql(run.model), new)
    assert np.isnan(found[:3]).all()
    assert not np.isnan(found[3])


def test_the_dialect_of_spark_quotes_with_backticks(run):
    written = model_as_sql(run.model, "spark")
    assert '`the "risk"`' in written
    assert "AS STRING" in written
    assert ";" not in written
    assert "--" not in written


def test_other_runs_are_refused(answers_run):
    with pytest.raises(InputError, match="only the correction of a quick run"):
        model_as_sql(miscal.load(answers_run).model)
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(400, 3)), rng.uniform(0.1, 0.9, 400)
    y = rng.random(400) < np.where(X[:, 0] > 0, 0.95, 0.05)
    arrays = miscal.discover(X, y, confidence=f, quick=True, n_jobs=1)
    with pytest.raises(InputError, match="column 0 of an embedding, which has no expression in SQL"):
        model_as_sql(arrays.model)
