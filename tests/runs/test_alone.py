"""What a run lets the model decide alone: said in the summary, kept with the model, and asked of new rows."""

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base.errors import InputError
from miscal.cli import main

pytestmark = pytest.mark.whole


def rows(n: int, seed: int) -> pl.DataFrame:
    """Answers that are right more often than they say of one kind, and less often of the other."""
    rng = np.random.default_rng(seed)
    z, kind = rng.normal(size=n), rng.choice(["law", "sums"], n)
    f = 1 / (1 + np.exp(-(1.5 + z)))
    right = 1 / (1 + np.exp(-(1.5 + z + np.where(kind == "law", -1.2, 1.2))))
    return pl.DataFrame({"confidence": f, "correct": (rng.random(n) < right).astype(int), "kind": kind, "z": z})


@pytest.fixture(scope="module")
def found():
    return miscal.discover(rows(3000, 0), quick=True, max_error=[0.05, 0.15], n_jobs=1, progress=False)


def test_every_run_answers_and_what_was_asked_is_beside(found):
    alone = found.summary.alone
    assert [one.max_error for one in alone] == [0.01, 0.02, 0.05, 0.1, 0.15, 0.2]
    shares = [one.share.value for one in alone]
    assert shares == sorted(shares)
    at = {one.max_error: one for one in alone}[0.15]
    assert at.error.value <= at.error.upper <= 0.15
    # a correction of groups changes the order of rows, which a map of the confidence keeps
    assert at.share.value > at.raw.share + 0.1
    field = found.frame("field", wide=True)
    assert at.n == (np.asarray(field["corrected"]) >= at.threshold - 1e-9).sum()


def test_where_a_promise_breaks_is_named():
    table = rows(4000, 1).with_columns(law=pl.col("kind") == "law").drop("kind")
    # the correction does not see what breaks
    run = miscal.discover(table, names_only=["law"], quick=True, n_jobs=1, progress=False)
    at = {one.max_error: one for one in run.summary.alone}[0.2]
    assert any("law" in one.condition.columns for one in at.breaks)
    assert all(one.wrong.value > 0.2 for one in at.breaks)


def test_new_rows_are_decided_from_python_and_by_the_command(found, tmp_path, capsys):
    new = rows(2000, 2)
    decided = found.decide(new.drop("correct"), max_error=0.05)
    at = {one.max_error: one for one in found.summary.alone}[0.05]
    assert (decided["decide"] == (decided["corrected"] >= at.threshold - 1e-9)).all()
    assert set(decided.filter("decide")["decision"]) == {"answer"}
    assert decided.filter(~pl.col("decide"))["decision"].null_count() == (~decided["decide"]).sum()
    wrong = 1 - new["correct"].to_numpy()[decided["decide"].to_numpy()].mean()
    assert wrong <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / decided["decide"].sum())
    found.save(tmp_path / "run")
    new.drop("correct").write_csv(tmp_path / "new.csv")
    call = ["calibrate", str(tmp_path / "run"), str(tmp_path / "new.csv"), "--out", str(tmp_path / "out.parquet")]
    assert main([*call, "--max-error", "0.05"]) == 0
    table = pl.read_parquet(tmp_path / "out.parquet")
    assert table["decide"].to_list() == decided["decide"].to_list()
    capsys.readouterr()
    assert main([*call, "--max-error", "0.07", "--overwrite"]) == 2
    assert "0.15" in capsys.readouterr().err


def test_events_are_decided_to_either_side():
    rng = np.random.default_rng(3)
    z, kind = 2 * rng.normal(size=3000), rng.choice(["a", "b"], 3000)
    risk = 1 / (1 + np.exp(-z))
    table = pl.DataFrame({"risk": risk, "kind": kind, "event": (rng.random(3000) < risk).astype(int)})
    run = miscal.discover(table, probability="risk", event="event", quick=True, n_jobs=1, progress=False)
    by = {one.decision: one for one in run.summary.alone if one.max_error == 0.1}
    assert set(by) == {"yes", "no"}
    decided = run.decide(table.drop("event"), max_error=0.1)
    for side, wrong in (("yes", 0), ("no", 1)):
        inside = decided["decision"].to_numpy() == side
        assert inside.mean() == pytest.approx(by[side].share.value, abs=0.05)
        assert (table["event"].to_numpy()[inside] == wrong).mean() < 0.1


@pytest.mark.parametrize("max_error", [0, 1.5, "some", float("nan")])
def test_an_error_that_is_none_is_refused(max_error):
    with pytest.raises(InputError, match="max_error"):
        miscal.discover(rows(200, 0), quick=True, max_error=max_error)


def test_a_comparison_says_what_each_may_decide_at_equal_error():
    rng = np.random.default_rng(3)
    z, noise = rng.normal(size=(2, 1000))
    sharp, blunt = (
        miscal.discover(
            rows(1000, 3).with_columns(confidence=1 / (1 + np.exp(-(1.5 + z + some * noise))), id=np.arange(1000)),
            quick=True, n_jobs=1, progress=False, max_error=0.15,
        )
        for some in (0.0, 1.0)
    )  # fmt: skip
    there, back = miscal.compare(sharp, blunt), miscal.compare(blunt, sharp)
    one = there.measures["alone"]
    assert there.accepted_error == 0.15
    for side, run in ((one.a, sharp), (one.b, blunt)):
        [at] = [of for of in run.summary.alone if of.max_error == 0.15]
        assert side.value == pytest.approx(at.share.value)
    assert one.difference.value == pytest.approx(one.a.value - one.b.value)
    assert one.difference.value == pytest.approx(-back.measures["alone"].difference.value)
    low, high = one.difference.interval
    assert low < one.difference.value < high
