"""A classifier with corrected probabilities: scikit-learn's checks, routing, frames, and laws of what it predicts."""

import pickle
from copy import copy
from dataclasses import dataclass
from types import SimpleNamespace

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from miscal import LocalCalibratedClassifier, MiscalibrationField
from miscal.base.errors import InputError, MismatchError
from miscal.discovery.summary import Answer
from miscal.runs.fitted_classifier import with_decision

FEW = "ignore:fit was given .* rows, and a local correction needs at least 100:UserWarning"


@pytest.mark.whole
@parametrize_with_checks([LocalCalibratedClassifier(LogisticRegression())])
@pytest.mark.filterwarnings(FEW, "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning", "ignore:.*failed to converge")
@pytest.mark.filterwarnings("ignore:A column-vector y was passed", "ignore:invalid value encountered in cast")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def two_classes(n=600, seed=0):
    """Outcomes of a product of two columns, which a linear model cannot see, in a frame with blanks and categories."""
    rng = np.random.default_rng(seed)
    age, region = rng.normal(50, 10, n), rng.choice(["north", "south"], n)
    yes = rng.random(n) < np.where((age > 50) == (region == "north"), 0.85, 0.15)
    frame = pd.DataFrame({"age": np.where(rng.random(n) < 0.1, np.nan, age), "region": pd.Categorical(region)})
    return frame, np.where(yes, "yes", "no")


def linear():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    columns = make_column_transformer((numbers, ["age"]), (OneHotEncoder(), ["region"]))
    return make_pipeline(columns, LogisticRegression())


@pytest.fixture(scope="module")
def fitted():
    X, y = two_classes()
    return LocalCalibratedClassifier(linear(), cv=2).fit(X, y)


def three_classes(n=700, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    shown = np.where(X[:, 0] * X[:, 1] > 0, 0, 1)
    return X, np.where(rng.random(n) < 0.8, shown, 2)


@pytest.fixture(scope="module")
def fitted_to_three():
    return LocalCalibratedClassifier(GaussianNB(), cv=3).fit(*three_classes())


def test_a_frame_with_blanks_and_categories_is_corrected_where_a_pipeline_cannot_see(fitted):
    X, y = two_classes(seed=1)
    bare = linear().fit(*two_classes())
    assert fitted.local_
    assert fitted.score(X, y) > bare.score(X, y) + 0.15
    assert fitted.feature_names_in_.tolist() == ["age", "region"]
    assert [one.read_as for one in fitted.input_reading_.readings] == ["number", "category"]


def test_probabilities_sum_to_one_and_belong_to_their_rows(fitted, fitted_to_three):
    for model, X in ((fitted, two_classes(seed=1)[0]), (fitted_to_three, pd.DataFrame(three_classes(seed=1)[0]))):
        X = X if model is fitted else X.to_numpy()
        p = model.predict_proba(X)
        assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
        assert (p >= 0).all()
        order = np.random.default_rng(0).permutation(len(p))
        taken = X.iloc[order] if model is fitted else X[order]
        # the order of sums in single precision depends on where a row stands in its batch: see test_missing_columns
        np.testing.assert_allclose(model.predict_proba(taken), p[order], atol=1e-5, rtol=0)


def test_it_is_better_where_several_classes_hide_structure_and_no_worse_where_there_is_none(fitted_to_three):
    X, y = three_classes(2000, seed=1)
    own = np.arange(len(y)), y
    bare = GaussianNB().fit(*three_classes()).predict_proba(X)
    assert fitted_to_three.local_
    assert -np.log(fitted_to_three.predict_proba(X)[own]).mean() < -np.log(bare[own]).mean() - 0.2
    rng = np.random.default_rng(2)
    noise = LocalCalibratedClassifier(GaussianNB(), cv=3).fit(rng.normal(size=(400, 3)), rng.integers(0, 3, 400))
    assert not noise.local_
    assert noise.correction_.chosen == "global map"


def test_other_names_of_classes_permute_the_columns():
    X, code = three_classes(400)
    names, other = np.array(["a", "b", "c"]), np.array(["z", "y", "x"])
    one = LocalCalibratedClassifier(GaussianNB(), cv=2).fit(X, names[code])
    two = LocalCalibratedClassifier(GaussianNB(), cv=2).fit(X, other[code])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X)[:, ::-1], atol=1e-3)


def test_frames_of_other_kinds_and_other_indexes_give_the_same(fitted):
    X, y = two_classes()
    other = X.set_index(np.random.default_rng(0).permutation(len(X)) // 2)
    labels = pd.Series(y, index=other.index[::-1])
    plain = clone(fitted).set_params(method="global")
    one, two = plain.fit(X, y).predict_proba(X), clone(plain).fit(other, labels).predict_proba(other)
    np.testing.assert_array_equal(one, two)
    texts = pl.Series(X["region"].astype(str).to_list(), dtype=pl.Categorical)
    polars = pl.DataFrame({"age": pl.Series(X["age"], nan_to_null=True), "region": texts})
    np.testing.assert_array_equal(fitted.input_reading_.transform(polars), fitted.input_reading_.transform(X))


def test_texts_go_through_a_pipeline():
    rng = np.random.default_rng(0)
    words = rng.choice(["red", "green", "blue", "old", "new", "large"], (300, 4))
    texts = [" ".join(row) for row in words]
    y = (words == "red").any(axis=1)
    model = LocalCalibratedClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression()), cv=2).fit(texts, y)
    assert model.score(texts, y) > 0.9


def test_clones_pickles_and_joblib_give_the_same_numbers(fitted, fitted_to_three, tmp_path):
    assert clone(fitted).get_params()["cv"] == 2
    for model, X in ((fitted, two_classes()[0]), (fitted_to_three, three_classes()[0])):
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
            np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("method", ["auto", "global"])
def test_a_saved_correction_gives_the_same_numbers_for_the_same_classifier(method, fitted, fitted_to_three, tmp_path):
    for name, model, X, y in (("two", fitted, *two_classes()), ("three", fitted_to_three, *three_classes())):
        model = (
            model if method == "auto" else LocalCalibratedClassifier(model.estimators_[0], cv="prefit", method=method)
        )
        model = model if method == "auto" else model.fit(X, y)
        model.save(tmp_path / name)
        again = LocalCalibratedClassifier.load(tmp_path / name, estimators=model.estimators_)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        again.save(tmp_path / name)
        assert sorted(one.name for one in (tmp_path / name).iterdir()) == ["config.json", "tensors.safetensors"]
        for others in ([LogisticRegression()], [*model.estimators_, model.estimators_[0]], []):
            with pytest.raises(InputError, match="estimators"):
                LocalCalibratedClassifier.load(tmp_path / name, estimators=others)
    with pytest.raises(InputError, match="estimators"):
        LocalCalibratedClassifier.load(tmp_path / "two", estimators=fitted_to_three.estimators_)
    with pytest.raises(MismatchError):
        MiscalibrationField.load(tmp_path / "two")


def test_a_fitted_classifier_is_taken_as_it_is():
    X, y = three_classes(400)
    base = GaussianNB().fit(X[:150], y[:150])
    frozen = LocalCalibratedClassifier(FrozenEstimator(base), method="global").fit(X[150:], y[150:])
    np.testing.assert_array_equal(frozen.predict_proba(X), clone(frozen).fit(X[150:], y[150:]).predict_proba(X))

    class Foreign:
        """No estimator of scikit-learn: it has `predict_proba`, and no more."""

        def predict_proba(self, X):
            return base.predict_proba(X)

    foreign = LocalCalibratedClassifier(Foreign(), cv="prefit", method="global").fit(X[150:], y[150:])
    assert foreign.estimators_ == [foreign.estimator]
    np.testing.assert_allclose(foreign.predict_proba(X), frozen.predict_proba(X), atol=1e-12)


@pytest.mark.whole
def test_it_is_searched_and_cross_validated():
    X, y = two_classes(300)
    search = GridSearchCV(
        LocalCalibratedClassifier(linear(), cv=2), {"method": ["auto", "global"], "epsilon": [0.05, 0.1]},
        scoring="neg_log_loss", cv=2,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_["method"] == "auto"
    p = cross_val_predict(
        LocalCalibratedClassifier(linear(), cv=2, method="global"), X, y, cv=2, method="predict_proba"
    )
    assert p.shape == (300, 2)


def test_groups_and_weights_are_routed():
    X, y = three_classes(300)
    groups, weight = np.arange(300) // 3, np.ones(300)
    plain = LocalCalibratedClassifier(GaussianNB(), cv=3, method="global")
    by_groups = plain.fit(X, y, groups=groups).predict_proba(X)
    splitter = clone(plain).set_params(cv=GroupKFold(3))
    # folds of the user's own are of rows in the order given: sums are the same to rounding
    np.testing.assert_allclose(splitter.fit(X, y, groups=groups).predict_proba(X), by_groups, atol=1e-9)
    with sklearn.config_context(enable_metadata_routing=True):
        base = GaussianNB().set_fit_request(sample_weight=True)
        routed = LocalCalibratedClassifier(base, cv=GroupKFold(3), method="global")
        routed.fit(X, y, sample_weight=weight, groups=groups)
        np.testing.assert_allclose(routed.predict_proba(X), by_groups, atol=1e-9)
        own = LocalCalibratedClassifier(GaussianNB(), cv=3, method="global").set_fit_request(groups=True)
        search = GridSearchCV(own, {"method": ["global"]}, cv=GroupKFold(2), scoring="neg_log_loss")
        assert np.isfinite(search.fit(X, y, groups=groups).best_score_)


def leaky(n=900, seed=0):
    """Rows of days whose outcomes hang together, and a classifier that learns the days by heart."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 45, n)
    rate = np.random.default_rng(99).uniform(0.1, 0.9, 45)
    return day[:, None].astype(float), (rng.random(n) < rate[day]).astype(int)


def test_a_correction_that_only_reads_other_folds_is_not_confirmed():
    from sklearn.tree import DecisionTreeClassifier

    model = LocalCalibratedClassifier(DecisionTreeClassifier(min_samples_leaf=8, random_state=0), cv=5).fit(*leaky())
    X, y = leaky(4000, seed=1)
    before = np.mean([one.predict_proba(X) for one in model.estimators_], axis=0)
    before, after = (-np.log(np.clip(p[np.arange(4000), y], 1e-4, 1)).mean() for p in (before, model.predict_proba(X)))
    assert after < before + 0.01


@pytest.mark.slow
def test_what_was_found_is_told(fitted, fitted_to_three):
    found = fitted.discovery_
    assert found.summary.kind == "event"
    assert {"age", "region"} >= {name for one in found.summary.findings for name in one.columns} != set()
    assert fitted.discovery_ is found
    rows = fitted_to_three._rows
    assert rows.kind == "answer"
    assert rows.confidence.min() > 1 / 3


@pytest.mark.filterwarnings(FEW)
def test_few_rows_get_a_global_map_and_a_warning():
    X, y = three_classes(60)
    with pytest.warns(UserWarning, match="fit was given 60 rows, and a local correction needs at least 100"):
        model = LocalCalibratedClassifier(GaussianNB(), cv=2).fit(X, y)
    assert not model.local_
    with pytest.raises(AttributeError, match="there is no discovery_"):
        model.discovery_  # noqa: B018


@pytest.mark.parametrize("ensemble", [True, False])
def test_the_fits_that_predict_are_those_of_the_folds_or_one_to_all_rows(ensemble):
    X, y = three_classes(300)
    model = LocalCalibratedClassifier(GaussianNB(), cv=3, ensemble=ensemble, method="global").fit(X, y)
    whole = GaussianNB().fit(X, y).predict_proba(X)
    own = [one.predict_proba(X) for one in model.estimators_]
    assert len(own) == (3 if ensemble else 1)
    assert ensemble or np.allclose(own[0], whole)
    # each is corrected, and the mean is taken
    each = [copy(model) for _ in own]
    for one, fitted in zip(each, model.estimators_, strict=True):
        one.estimators_ = [fitted]
    np.testing.assert_allclose(model.predict_proba(X), np.mean([one.predict_proba(X) for one in each], axis=0))


@pytest.mark.filterwarnings("ignore:The least populated class:UserWarning")
def test_a_class_of_one_row_is_a_class():
    X, y = three_classes(300)
    y = np.where(np.arange(300) == 7, 3, y)
    p = LocalCalibratedClassifier(GaussianNB(), cv=3, method="global").fit(X, y).predict_proba(X)
    assert p.shape == (300, 4)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_settings_out_of_range_are_refused_in_one_line():
    X, y = three_classes(60)
    with pytest.raises(InputError, match="method must be one of auto, paper, global; got 'best'"):
        LocalCalibratedClassifier(method="best").fit(X, y)
    with pytest.raises(InputError, match='method="paper" is for two classes, and y has 3: use "auto" or "global"'):
        LocalCalibratedClassifier(method="paper").fit(X, y)
    with pytest.raises(InputError, match='cv must be a number of folds, a cross-validation generator or "prefit"'):
        LocalCalibratedClassifier(cv="fitted").fit(X, y)
    from sklearn.svm import LinearSVC

    with pytest.raises(InputError, match="estimator must have predict_proba; LinearSVC has none"):
        LocalCalibratedClassifier(LinearSVC()).fit(X, y)


@dataclass
class Content:
    summary: SimpleNamespace


class Found:
    def __init__(self, content):
        self.content, self.summary = content, content.summary


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("helps", [True, False])
def test_what_was_found_advises_what_the_classifier_does(local, structure, helps):
    gain = SimpleNamespace(log_loss=SimpleNamespace(interval=(0.01, 0.03) if helps else (-0.02, 0.01)))
    told = SimpleNamespace(field=SimpleNamespace(structure=structure), gains={"raw": gain}, warnings=())
    told.answer = Answer(headline="off", reason="here", action="as before")
    told.model_copy = lambda update: SimpleNamespace(**vars(told) | update)
    said = with_decision(Found(Content(told)), local).summary.answer.action
    if local and not helps:
        assert said.startswith("Use predict_proba: its local correction")
    elif structure and helps and not local:
        assert said.startswith("Use predict_proba, not this correction")
    else:
        # a global map that helps is the classifier's, too
        assert said == "as before"
