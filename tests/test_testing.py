"""`assert_calibrated`: what fails a job, and what never does."""

from types import SimpleNamespace

import numpy as np
import pytest

import miscal
from miscal.base.errors import InputError
from miscal.testing import assert_calibrated

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    subject, sure = rng.choice(["law", "sums"], 1500), rng.uniform(0.3, 0.7, 1500)
    right = rng.random(1500) < sure + np.where(subject == "law", -0.28, 0.28)
    table = {"confidence": sure, "correct": right, "subject": subject}
    return miscal.discover(table, evidence="test", n_jobs=1, progress=False)


def test_a_finding_fails_with_its_sentence(found, tmp_path):
    with pytest.raises(
        AssertionError, match=r"1 finding, and at most 0 are allowed:\n- subject = .* less often"
    ) as of_run:
        assert_calibrated(found)
    with pytest.raises(AssertionError) as of_folder:
        assert_calibrated(found.save(tmp_path / "run"))
    assert str(of_run.value) == str(of_folder.value)
    assert_calibrated(found, max_findings=1)
    assert_calibrated(found, max_findings=None)


def test_the_lower_limit_is_compared_and_not_the_estimate(found):
    bound = found.summary.certificate.lower_bound_hidden
    low = bound.interval[0]
    assert 0 < low < bound.value
    assert_calibrated(found, max_hidden=low, max_findings=None)
    with pytest.raises(AssertionError, match=r"hidden miscalibration is at least .* points on average"):
        assert_calibrated(found, max_hidden=low - 1e-6, max_findings=None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"max_hidden": 2}, "max_hidden must be from 0 to 1"),
        ({"max_hidden": float("nan")}, "max_hidden must be from 0 to 1"),
        ({"max_findings": -1}, "max_findings must be a whole number"),
        ({"max_findings": 0.5}, "max_findings must be a whole number"),
    ],
)
def test_arguments_out_of_range_are_refused(found, options, said):
    with pytest.raises(InputError, match=said):
        assert_calibrated(found, **options)


def test_a_run_that_tested_no_groups_is_refused(found):
    untested = SimpleNamespace(summary=found.summary.model_copy(update={"findings_method": None, "findings": ()}))
    with pytest.raises(InputError, match="tested no groups"):
        assert_calibrated(untested)
    assert_calibrated(untested, max_findings=None)
