"""miscal inside Inspect: its metrics, and the report beside a log; a real evaluation of its mock model."""

import json
from pathlib import Path

import numpy as np
import pytest

import miscal
from miscal import metrics
from miscal.integrations import inspect_report

from .conftest import interpreter, run_tool

HERE = Path(__file__).parent
N = 400


def scores(outcomes, confidences):
    return [(o, {"confidence": c}) for o, c in zip(outcomes, confidences, strict=True)]


def test_the_metrics_are_those_of_miscal_on_the_rows_that_can_be_used():
    rng = np.random.default_rng(0)
    sure = rng.integers(0, 101, 60)
    right = rng.random(60) < 0.5
    given = scores(["C" if one else "I" for one in right], sure.tolist())
    left_out = [*scores(["C", "P", "N", float("nan"), "I"], ["high", 50, 50, 50, 101]), ("C", None)]
    for name in ("smece", "brier"):
        want = getattr(metrics, name)(right, sure / 100)
        assert getattr(inspect_report, name)(given + left_out) == want
    assert inspect_report.overconfidence(given + left_out) == pytest.approx((sure / 100).mean() - right.mean())


def test_a_score_of_several_values_and_probabilities():
    values = [({"score": "C", "confidence": 1.0}, None), ({"score": "I", "confidence": "0.5"}, None)]
    assert inspect_report.brier(values) == pytest.approx(0.125)
    # a lone 1 may be 1 %
    assert inspect_report.brier(scores(["C"], [1]), percent=True) == pytest.approx(0.99**2)


def test_what_cannot_be_measured_is_said_and_is_no_number(caplog):
    assert np.isnan(inspect_report.smece([("C", {})]))
    assert "nothing to measure" in caplog.text
    assert np.isnan(inspect_report.smece(scores(["C", "I"], [0.5, 50])))
    assert "lie between 0 and 1" in caplog.text


def test_logs_of_other_machines_are_refused():
    with pytest.raises(miscal.MiscalError, match="not a file of this machine"):
        inspect_report.write_report("s3://bucket/log.eval")


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    python, folder = interpreter("inspect_ai", "MISCAL_INSPECT_PYTHON"), tmp_path_factory.mktemp("inspect")
    return json.loads(
        run_tool(python, HERE / "tool_inspect.py", folder, N, cwd=folder, MISCAL_INSPECT="1").splitlines()[-1]
    )


@pytest.mark.slow
def test_a_real_evaluation_has_the_values_of_miscal_and_a_page_beside_its_log(evaluated):
    found = evaluated["subjects"]
    right, sure = np.asarray(found["right"]), np.asarray(found["sure"]) / 100
    assert found["numbers"]["smece"] == metrics.smece(right, sure)
    assert found["numbers"]["brier"] == metrics.brier(right, sure)
    assert found["numbers"]["overconfidence"] == pytest.approx(sure.mean() - right.mean())
    log = Path(found["location"])
    folder = log.with_name(f"{log.stem}-miscal")
    assert (folder / "report.html").is_file()
    run = miscal.load(folder)
    assert (run.summary.n, run.summary.global_.accuracy.value) == (N, pytest.approx(right.mean()))
    assert run.summary.findings[0].columns == ("subject",)


@pytest.mark.slow
def test_epochs_are_not_averaged_before_they_are_compared(evaluated):
    assert evaluated["epochs"]["numbers"]["brier"] == 1.0


@pytest.mark.slow
def test_a_report_that_fails_changes_nothing_of_the_evaluation(evaluated):
    # two answers are too few to discover anything in
    found = evaluated["epochs"]
    assert found["status"] == "success"
    log = Path(found["location"])
    assert json.loads(log.read_text())["status"] == "success"
    assert not log.with_name(f"{log.stem}-miscal").exists()
