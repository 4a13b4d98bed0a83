"""The public metrics, with scikit-learn's signature, and `assert_calibrated`: what fails a job and what never does."""

import inspect
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_validate

import miscal
from miscal import metrics
from miscal.base.errors import InputError
from miscal.testing import assert_calibrated

NUMBERS = {
    "smece": {},
    "ece": {},
    "brier": {},
    "log_loss": {},
    "net_benefit": {"threshold": 0.5},
    "worst_slice_gap": {"slices": np.arange(400) % 3},
    "hidden_miscalibration": {"slices": np.arange(400) % 3},
}


def predictions(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, n)
    return (rng.random(n) < p).astype(int), p


@pytest.mark.parametrize("name", sorted(set(metrics.__all__) - {"scorer"}))
def test_every_metric_has_the_signature_of_scikit_learn(name):
    arguments = inspect.signature(getattr(metrics, name)).parameters
    assert list(arguments)[:2] == ["y_true", "y_prob"]
    assert arguments["sample_weight"].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", NUMBERS)
def test_each_is_a_number_that_drops_rows_of_weight_zero_and_names_what_is_wrong(name):
    metric, options = getattr(metrics, name), NUMBERS[name]
    y, p = predictions()
    assert isinstance(metric(y, p, **options), float)
    kept = np.arange(400) < 300
    some = {key: value[:300] if np.ndim(value) else value for key, value in options.items()}
    weighted = metric(y, p, sample_weight=kept.astype(float), **options)
    assert weighted == pytest.approx(metric(y[kept], p[kept], **some), abs=1e-5)
    with pytest.raises(InputError, match="y_prob must lie in"):
        metric(y, 100 * p, **options)
    with pytest.raises(InputError, match="y_true must hold only 0/1"):
        metric(2 * y, p, **options)


EMPTY = {
    "no rows": ([], [], [], None, "y_true is empty"),
    "no slices": ([0, 1], [0.5, 0.5], [], None, "slices has 0"),
    "one row": ([0], [0.5], ["a"], None, "at least 2 rows|no slice has 30 rows"),
    "one row of weight": ([0, 1], [0.5, 0.5], ["a", "b"], [1, 0], "at least 2 rows|no slice has 30 rows"),
    "no weight": ([0, 1], [0.5, 0.5], ["a", "b"], [0, 0], "is zero in all"),
    "weights in words": ([0, 1], [0.5, 0.5], ["a", "b"], ["a", "b"], "sample_weight must be numbers"),
    "two slices for each row": ([0, 1], [0.5, 0.5], [["a", "b"], ["c", "d"]], None, "slices must have one value per"),
    "nothing": (None, None, None, None, "y_true is missing|give either X or slices"),
}


@pytest.mark.parametrize("case", EMPTY)
@pytest.mark.parametrize("name", ["worst_slice_gap", "hidden_miscalibration"])
def test_slices_without_rows_are_refused(name, case):
    y, p, slices, weight, said = EMPTY[case]
    with pytest.raises(InputError, match=said):
        getattr(metrics, name)(y, p, slices=slices, sample_weight=weight)


def test_rows_that_pandas_knows_no_slice_of_count_towards_the_whole_alone():
    y, p = predictions()
    gaps = [metrics.worst_slice_gap(y, p, slices=["a", gone] * 200) for gone in (None, np.nan, pd.NA)]
    assert gaps[0] == gaps[1] == gaps[2]


def test_hidden_miscalibration_sees_what_the_probability_does_not(few_folds):
    rng = np.random.default_rng(1)
    kind, p = rng.integers(0, 4, 4000), rng.uniform(0.3, 0.7, 4000)
    shift = np.array([-0.2, 0.2, -0.2, 0.2])[kind]
    y = (rng.random(4000) < p + shift).astype(int)
    calm = (rng.random(4000) < p).astype(int)
    assert metrics.smece(y, p) < 0.04
    assert metrics.hidden_miscalibration(y, p, slices=kind) == pytest.approx(0.2, abs=0.04)
    assert abs(metrics.hidden_miscalibration(calm, p, slices=kind)) < 0.03
    assert metrics.worst_slice_gap(y, p, slices=kind) == pytest.approx(0.2, abs=0.06)
    frame = pd.DataFrame({"kind": pd.Categorical(list("abcd"))[kind], "noise": rng.normal(size=4000)})
    by_inputs = metrics.hidden_miscalibration(y[:400], p[:400], X=frame[:400])
    assert by_inputs == pytest.approx(0.2, abs=0.1)


def test_what_cannot_be_measured_is_refused():
    y, p = predictions(60)
    with pytest.raises(InputError, match="give either X or slices; got neither"):
        metrics.hidden_miscalibration(y, p)
    with pytest.raises(InputError, match="give either X or slices; got both"):
        metrics.hidden_miscalibration(y, p, X=p[:, None], slices=y)
    with pytest.raises(InputError, match="no slice has 30 rows or more"):
        metrics.worst_slice_gap(y, p, slices=np.arange(60) % 6)
    # rows without a slice count towards the whole alone
    half = [None if k % 2 else "a" for k in range(60)]
    whole = metrics.smece(y[::2], p[::2]) - metrics.smece(y, p)
    assert metrics.worst_slice_gap(y, p, slices=half) == pytest.approx(whole)


def test_scorers_go_into_cross_validation_with_labels_of_any_kind():
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=300), "group": rng.integers(0, 2, 300)}, index=rng.permutation(300))
    y = pd.Series(np.where(rng.random(300) < 0.5, "no", "yes"), index=X.index)
    scoring = {
        "smece": metrics.scorer(metrics.smece),
        "gap": metrics.scorer(metrics.worst_slice_gap, slices="group"),
        "hidden": metrics.scorer(metrics.hidden_miscalibration, slices=lambda X: X["group"], pos_label="no"),
        "made": make_scorer(metrics.brier, response_method="predict_proba", greater_is_better=False),
    }
    numeric = cross_validate(LogisticRegression(), X, (y == "yes").astype(int), scoring=scoring["made"], cv=2)
    assert (numeric["test_score"] < 0).all()
    scoring.pop("made")
    found = cross_validate(LogisticRegression(), X, y, scoring=scoring, cv=2, error_score="raise")
    for name in scoring:
        assert (np.abs(found[f"test_{name}"]) < 0.3).all()
    with pytest.raises(InputError, match="pos_label must be one of 'no', 'yes'"):
        metrics.scorer(metrics.smece, pos_label="maybe")(LogisticRegression().fit(X, y), X, y)


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    subject, sure = rng.choice(["law", "sums"], 1500), rng.uniform(0.3, 0.7, 1500)
    right = rng.random(1500) < sure + np.where(subject == "law", -0.28, 0.28)
    table = {"confidence": sure, "correct": right, "subject": subject}
    return miscal.discover(table, evidence="test", n_jobs=1, progress=False)


@pytest.mark.whole
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


@pytest.mark.whole
def test_the_lower_limit_is_compared_and_not_the_estimate(found):
    bound = found.summary.certificate.lower_bound_hidden
    low = bound.interval[0]
    assert 0 < low < bound.value
    assert_calibrated(found, max_hidden=low, max_findings=None)
    with pytest.raises(AssertionError, match=r"hidden miscalibration is at least .* points on average"):
        assert_calibrated(found, max_hidden=low - 1e-6, max_findings=None)


@pytest.mark.whole
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


@pytest.mark.whole
def test_a_run_that_tested_no_groups_is_refused(found):
    untested = SimpleNamespace(summary=found.summary.model_copy(update={"findings_method": None, "findings": ()}))
    with pytest.raises(InputError, match="tested no groups"):
        assert_calibrated(untested)
    assert_calibrated(untested, max_findings=None)
