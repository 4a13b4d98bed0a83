"""scikit-learn's own checks of an estimator, and why some do not fit.

They know of X and y alone. The field also needs a confidence, and outcomes of two kinds: a thin subclass supplies both.
"""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from miscal.base.errors import InputError
from miscal.calibration.metrics import log_loss
from miscal.estimators.field import MiscalibrationField


class Checked(MiscalibrationField):
    """A field of a model that is always half sure, of outcomes above their median."""

    def fit(self, X, y, sample_weight=None):
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


@pytest.mark.promise("I16")
@parametrize_with_checks([Checked()], expected_failed_checks=lambda estimator: EXPECTED, xfail_strict=True)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(n=60):
    rng = np.random.default_rng(0)
    X, f = rng.normal(size=(n, 2)), rng.uniform(0.2, 0.8, n)
    return X, (rng.random(n) < f).astype(int), f


@pytest.mark.promise("I16")
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


@pytest.mark.promise("I16")
def test_a_grid_search_that_could_not_pass_the_confidence_on_is_refused():
    X, y, f = data(80)
    with pytest.raises(TypeError, match="should have a 'score' method"):
        GridSearchCV(MiscalibrationField(n_jobs=1), {"random_state": [0]}, cv=2).fit(X, y, confidence=f)
    with pytest.raises(AttributeError) as caught:
        MiscalibrationField().score  # noqa: B018
    assert "enable_metadata_routing=True" in str(caught.value.__cause__ or caught.value)


@pytest.mark.promise("I16")
def test_it_is_cloned_and_transforms_in_a_pipeline():
    X, y, f = data()
    pipeline = make_pipeline(StandardScaler(), clone(MiscalibrationField(random_state=3)))
    coordinates = pipeline.fit_transform(X, y, miscalibrationfield__confidence=f)
    assert pipeline[-1].get_params()["random_state"] == 3
    np.testing.assert_array_equal(coordinates, pipeline.transform(X))


@pytest.mark.promise("I16")
def test_without_a_confidence_python_says_what_is_missing():
    X, y, _ = data()
    with pytest.raises(TypeError, match="confidence"):
        MiscalibrationField().fit(X, y)


@pytest.mark.promise("I16")
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
