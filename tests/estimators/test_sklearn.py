"""scikit-learn's own checks of an estimator, and why some do not fit.

They know of X and y alone. The field also needs a confidence, and outcomes of two kinds: a thin subclass supplies both.
"""

import pickle
from inspect import signature

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from miscal.base.errors import InputError
from miscal.calibration.metrics.scores import log_loss
from miscal.estimators.field import MiscalibrationField


class Checked(MiscalibrationField):
    """A field of a model that is always half sure, of outcomes above their median."""

    def fit(self, X, y, sample_weight=None):
        if y is None:
            return super().fit(X, y)
        y = np.asarray(y)
        if y.ndim == 1 and y.size and y.dtype.kind in "biuf" and np.isfinite(y).all():
            y = y > np.median(y)
        return super().fit(X, y, confidence=np.full(len(y), 0.5), sample_weight=sample_weight)

    def predict(self, X):
        return super().predict(X, np.full(np.shape(X)[0], 0.5))


FEW = "the check fits fewer rows than the 20 that a field needs at least; the error says so"
WORDS = "the input is refused, in other words than the check looks for"
EXPECTED = {
    "check_n_features_in_after_fitting": FEW,
    "check_sample_weights_pandas_series": FEW,
    "check_sample_weights_not_an_array": FEW,
    "check_sample_weights_shape": FEW,
    "check_sample_weights_not_overwritten": FEW,
    "check_sample_weight_equivalence_on_dense_data": FEW + "; weights as repeats are tested with the estimators",
    "check_estimators_nan_inf": FEW + "; NaN and infinity are tested at every door",
    "check_fit2d_1sample": WORDS,
    "check_fit2d_1feature": FEW + "; one column is tested with the estimators",
    "check_dtype_object": WORDS,
}

STRICT = {"xfail_strict": True} if "xfail_strict" in signature(parametrize_with_checks).parameters else {}
"""A check that is expected to fail must fail, where scikit-learn can ask for that: 1.6 cannot."""


@parametrize_with_checks([Checked()], expected_failed_checks=lambda estimator: EXPECTED, **STRICT)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(n=60):
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(n, 2)), rng.uniform(0.2, 0.8, n)
    return X, (rng.random(n) < f).astype(int), f


def test_a_grid_search_passes_the_confidence_on_and_scores_by_log_loss():
    X, y, f = data(80)
    field = MiscalibrationField(n_jobs=1)
    search = GridSearchCV(field, {"random_state": [0, 1]}, cv=2)
    with sklearn.config_context(enable_metadata_routing=True):
        search.fit(X, y, confidence=f)
        fitted = field.fit(X, y, confidence=f)
        assert fitted.score(X, y, confidence=f) == -log_loss(y, fitted.calibrate(X, f))
        assert search.score(X, y, confidence=f) < 0
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_a_grid_search_that_could_not_pass_the_confidence_on_is_refused():
    X, y, f = data(80)
    with pytest.raises(TypeError, match="should have a 'score' method"):
        GridSearchCV(MiscalibrationField(n_jobs=1), {"random_state": [0]}, cv=2).fit(X, y, confidence=f)
    with pytest.raises(AttributeError) as caught:
        MiscalibrationField().score  # noqa: B018
    assert "enable_metadata_routing=True" in str(caught.value.__cause__ or caught.value)


def test_it_is_cloned_and_transforms_in_a_pipeline():
    X, y, f = data()
    pipeline = make_pipeline(StandardScaler(), clone(MiscalibrationField(random_state=3)))
    coordinates = pipeline.fit_transform(X, y, miscalibrationfield__confidence=f)
    assert pipeline[-1].get_params()["random_state"] == 3
    np.testing.assert_array_equal(coordinates, pipeline.transform(X))


def test_without_a_confidence_python_says_what_is_missing():
    X, y, _ = data()
    with pytest.raises(TypeError, match="confidence"):
        MiscalibrationField().fit(X, y)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_columns_in_another_order_are_refused(package, tmp_path):
    frames = pytest.importorskip(package)
    X, y, f = data()
    frame = frames.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    fitted = MiscalibrationField().fit(frame, y, confidence=f)
    assert fitted.feature_names_in_.tolist() == ["a", "b"]
    fitted.save(tmp_path / "field")
    for field in (fitted, MiscalibrationField.load(tmp_path / "field")):
        for call in (field.predict, field.calibrate, field.correct, field.estimate):
            call(frame, f)
            with pytest.raises(InputError, match="same order as they were in fit"):
                call(frame[["b", "a"]], f)
        for call in (field.transform, field.mass, field.neighbours):
            with pytest.raises(InputError, match="same order as they were in fit"):
                call(frame[["b", "a"]])
    fitted.fit(X, y, confidence=f)
    assert not hasattr(fitted, "feature_names_in_")


@pytest.mark.parametrize("kind", ["frame", "array"])
def test_a_column_may_hold_the_confidence_so_that_cross_validation_needs_no_routing(kind, tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, f = data(80)
    column = "f" if kind == "frame" else 1
    whole = np.column_stack([X[:, 0], f, X[:, 1]])
    whole = pandas.DataFrame(whole, columns=["a", "f", "b"], index=np.arange(80) // 2) if kind == "frame" else whole
    field = MiscalibrationField(n_jobs=1, confidence_column=column)
    fitted, plain = clone(field).fit(whole, y), MiscalibrationField(n_jobs=1).fit(X, y, confidence=f)
    np.testing.assert_array_equal(fitted.predict(whole), plain.predict(X, f))
    np.testing.assert_array_equal(fitted.transform(whole), plain.transform(X))
    assert fitted.n_features_in_ == 3
    with sklearn.config_context(enable_metadata_routing=True):
        assert fitted.score(whole, y) == plain.score(X, y, confidence=f)
    delta = cross_val_predict(field, whole, y, cv=2)
    assert (np.abs(delta) <= 1).all()
    search = GridSearchCV(field, {"method": ["auto"]}, cv=2).fit(whole, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    fitted.save(tmp_path / "field")
    rest = whole.drop(columns="f") if kind == "frame" else X
    np.testing.assert_array_equal(MiscalibrationField.load(tmp_path / "field").predict(rest, f), plain.predict(X, f))
    with pytest.raises(InputError, match="the confidence is given twice"):
        fitted.predict(whole, f)
    with pytest.raises(InputError, match="X has no column 'g'" if kind == "frame" else "named by their place; got 'g'"):
        clone(field).set_params(confidence_column="g").fit(whole, y)


def test_it_is_pickled_and_dumped_and_names_regimes(tmp_path):
    X, y, f = data()
    field = MiscalibrationField(n_jobs=1, epsilon=0.0).fit(X, y, confidence=f)
    joblib.dump(field, tmp_path / "field")
    for again in (pickle.loads(pickle.dumps(field)), joblib.load(tmp_path / "field")):
        np.testing.assert_array_equal(again.predict(X, f), field.predict(X, f))
    delta = field.predict(X, f)
    told = np.select([delta < 0, delta > 0], ["over", "under"], "good")
    known = field.correct(X, f).local
    assert field.regimes(X, f)[known].tolist() == told[known].tolist()
    with pytest.raises(InputError, match=r"epsilon must be in \[0, 1\); got 2"):
        MiscalibrationField(epsilon=2).fit(X, y, confidence=f)


def test_requests_of_metadata_can_be_set():
    with sklearn.config_context(enable_metadata_routing=True):
        field = MiscalibrationField().set_fit_request(confidence=True, sample_weight=True, groups=False)
        field.set_predict_request(confidence=True).set_score_request(confidence=True, sample_weight=True)
    assert field.__sklearn_tags__().target_tags.required
