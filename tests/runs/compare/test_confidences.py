"""Several confidences of the same answers, compared from one table."""

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.calibration.metrics import risk_coverage_area
from miscal.calibration.metrics.scores import log_losses
from miscal.cli import main
from miscal.runs.compare.comparison import RunComparison
from miscal.runs.compare.confidences import compare_confidences
from miscal.runs.compare.page import build

pytestmark = pytest.mark.whole

N, LACKING = 400, 7


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    p, topic = rng.uniform(0.2, 0.95, N), rng.choice(["law", "art"], N)
    own = {"stated": p, "noise": rng.uniform(0, 1, N), "correct": (rng.random(N) < p).astype(int), "topic": topic}
    lacking = pl.when(pl.int_range(N) < LACKING).then(None).otherwise(pl.col("noise")).alias("noise")
    return pl.DataFrame(own | {"confidence": p}).with_columns(lacking)


@pytest.fixture(scope="module")
def found(table):
    return compare_confidences(table, ["stated", "noise"], metadata="topic", evidence="test", n_jobs=1)


def test_numbers_are_those_of_the_rows_that_have_all_confidences(table, found):
    rows = table.drop_nulls("noise")
    assert found.left_out == LACKING
    n = found.pairs[0].n_a
    assert [one.name for one in found.confidences] == ["stated", "noise"]
    assert 0 < n <= len(rows)
    if n == len(rows):
        y = rows["correct"].to_numpy()
        for one in found.confidences:
            f = rows[one.name].to_numpy()
            assert one.log_loss.value == pytest.approx(log_losses(y, f).mean())
            assert one.risk_coverage_area.value == pytest.approx(risk_coverage_area(y, f))
    for one in found.confidences:
        for measure in (one.log_loss, one.log_loss_after, one.risk_coverage_area):
            assert measure.interval[0] < measure.value < measure.interval[1]


def test_differences_are_paired_and_tell_a_score_that_says_nothing(found):
    [one] = found.confidence_differences
    first, second = found.confidences
    assert (one.a, one.b) == ("stated", "noise")
    assert one.log_loss.value == pytest.approx(first.log_loss.value - second.log_loss.value)
    assert one.risk_coverage_area.value == pytest.approx(
        first.risk_coverage_area.value - second.risk_coverage_area.value
    )
    assert one.log_loss.interval[1] < 0
    # noise is so far off that correction helps it most
    assert second.log_loss_after.value < second.log_loss.value


def test_none_of_the_confidences_is_an_input_of_the_others(found):
    named = {name for pair in found.pairs for group in pair.groups for name in group.columns}
    assert named <= {"topic"}


def test_the_document_the_page_and_the_lines_tell_the_same(found):
    assert RunComparison.model_validate_json(found.to_json()) == found
    assert "The confidences" in build(found)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["stated"], "2 to 8 different columns; got 'stated'"),
        (["stated", "stated"], "2 to 8 different"),
        ([f"c{k}" for k in range(9)], "2 to 8 different"),
        (["stated", "noize"], "no column of the data; did you mean 'noise'"),
    ],
)
def test_wrong_columns_are_refused(table, columns, words):
    with pytest.raises(InputError, match=words):
        compare_confidences(table, columns)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a", "b", "--confidence-columns", "x,y"], "compares columns of one table; got 2 paths"),
        (["a", "--confidence-columns", "x,y", "--match", "id"], "got --match"),
        (["a", "b", "--text", "text"], "--text is of one table"),
    ],
)
def test_options_of_the_other_kind_are_refused_in_one_line(tmp_path, capsys, arguments, words):
    assert main(["compare", *arguments, "--out", str(tmp_path / "out")]) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1
