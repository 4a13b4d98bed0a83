"""``miscal compare`` as a person runs it."""

import polars as pl
import pytest

from miscal.runs.compare.comparison import RunComparison

from ..report.read_page import check_terminal
from .conftest import OPTIONS, done, planted, run

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two models' answers in one long file, and a run of each."""
    folder = tmp_path_factory.mktemp("compare")
    answers = planted()
    # the second model has the questions of the first, in another order, and gives every answer 25 points more
    other = planted(seed=1).with_columns(answers[name] for name in ("text", "subject", "x_0", "x_1", "x_2"))
    other = other.with_columns((pl.col("confidence") + 0.25).alias("confidence")).reverse()
    long = pl.concat([answers.with_columns(pl.lit("a").alias("model")), other.with_columns(pl.lit("b").alias("model"))])
    data = folder / "long.parquet"
    long.write_parquet(data)
    for model in "ab":
        done("discover", data, "--out", folder / model, *OPTIONS, "--where", f"model == '{model}'")
    return folder


@pytest.fixture(scope="module")
def compared(runs):
    out = runs / "compared"
    return run("compare", runs / "a", runs / "b", "--out", out), out


def test_it_says_which_run_is_better_and_where_the_page_is(compared):
    ended, out = compared
    assert (ended.status, ended.err) == (0, "")
    assert "right more often: " in ended.out.splitlines()[0]
    check_terminal(ended.out.splitlines())
    assert "equal texts" in ended.out
    assert str(out / "compare.html") in ended.out
    assert sorted(path.name for path in out.iterdir()) == ["compare.html", "compare.json"]


def test_a_worse_run_fails_where_that_is_asked(runs, tmp_path):
    gate = ("--out", tmp_path / "gate", "--overwrite", "--fail-if-worse")
    failed = run("compare", runs / "a", runs / "b", *gate)
    assert failed.status == 3
    assert failed.err.startswith("b is worse than a: all rows")
    done("compare", runs / "b", runs / "a", *gate)


def test_the_document_is_what_the_schema_says(compared):
    _, out = compared
    text = (out / "compare.json").read_text()
    found = RunComparison.model_validate_json(text)
    assert found.to_json() == text
    assert (found.n_a, found.left_out_a, found.left_out_b) == (600, 0, 0)
    assert found.measures["confidence"].difference.value == pytest.approx(-0.25, abs=0.02)
    # the two values share all rows, so either names what is hidden
    assert {group.description for group in found.groups} & {"subject = law", "subject = sums"}


def test_the_same_command_gives_the_same_bytes(runs, compared):
    _, out = compared
    again = done("compare", runs / "a", runs / "b", "--out", out, "--overwrite", "--json")
    assert again.out == (out / "compare.json").read_text()
    assert again.out == RunComparison.model_validate_json(again.out).to_json()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a"], "Missing argument"),
        (["a", "b", "a"], "unexpected extra argument"),
        (["a", "a"], "same run"),
        (["a", "none"], "none is not a folder"),
        (["a", "compared"], "not a run folder"),
        (["a", "b", "--match", "modle"], "did you mean 'model'"),
        (["a", "b", "--match", "model"], "no value of 'model' in common"),
        (["a", "b", "--seed", "x"], "whole number"),
    ],
)
def test_wrong_arguments_end_in_one_line(runs, compared, arguments, said):
    folders = [str(runs / one) if (runs / one).exists() else one for one in arguments]
    ended = run("compare", *folders, "--out", runs / "wrong")
    ended.refuses(said)
    assert not (runs / "wrong").exists()


def test_changed_data_are_refused(runs, compared):
    data = runs / "long.parquet"
    before = data.read_bytes()
    pl.read_parquet(data).with_columns(pl.lit(1).alias("more")).write_parquet(data)
    ended = run("compare", runs / "a", runs / "b", "--out", runs / "changed")
    data.write_bytes(before)
    ended.refuses("has changed since the run")
