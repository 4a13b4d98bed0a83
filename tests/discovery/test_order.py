"""The order that rows come in says nothing: a run of the same rows in another order finds the same of each."""

import numpy as np
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import miscal
from miscal import LocalCalibratedClassifier, MiscalibrationField
from miscal.data.readers.leaks import LeakSearch
from miscal.discovery.discover import discover
from miscal.metrics import hidden_miscalibration
from miscal.runs.classifier import PREFIT

pytestmark = [pytest.mark.usefixtures("few_folds"), pytest.mark.whole]

N = 120


def table():
    rng = np.random.default_rng(0)
    f, kind = rng.uniform(0.3, 0.95, N), rng.choice(list("abc"), N)
    words = [" ".join(rng.choice([f"word{k}" for k in range(40)], 6)) for _ in range(N)]
    return pl.DataFrame({
        "confidence": f, "correct": (rng.random(N) < f - 0.25 * (kind == "a")).astype(int), "kind": kind,
        "size": rng.normal(size=N), "free": [None if k % 7 == 0 else "xyz"[k % 3] for k in range(N)],
        "day": pl.Series(rng.integers(0, 60, N)).cast(pl.Date), "words": words, "weight": rng.uniform(0.0, 2.0, N),
        "user": rng.integers(0, 60, N).astype(str),
    })  # fmt: skip


CASES = {
    "table": {"features": "kind,size,free", "group": "auto", "time": "day"},
    "text": {"text": "words", "embed_model": "tfidf", "metadata": "kind"},
    "weights and groups": {"features": "kind,size", "weight": "weight", "group": "user"},
}
ASKED = {"text": {"evidence": "test"}}
NAMES_ROWS = {"row", "rows", "exemplars", "telling", "timing", "path", "sha256", "source", "notes"}


def numbers(value, path=()):
    """Every value of a summary by its place, but for what names rows or files."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name not in NAMES_ROWS:
                yield from numbers(one, (*path, name))
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from numbers(one, (*path, place))
    else:
        yield path, value


def agree(one, other):
    one, other = dict(numbers(one)), dict(numbers(other))
    assert one.keys() == other.keys()
    for path, value in one.items():
        assert other[path] == (pytest.approx(value, abs=1e-9) if isinstance(value, float) else value), path


@pytest.mark.parametrize("case", CASES)
def test_rows_in_another_order_are_told_the_same(case):
    frame, order = table(), np.random.default_rng(1).permutation(N)
    one, other = (
        discover(miscal.read_triples(rows, **CASES[case]), map_method="pca", n_jobs=1, **ASKED.get(case, {}))
        for rows in (frame, frame[order])
    )
    used = frame.with_row_index().filter(pl.lit(case != "weights and groups") | (pl.col("weight") > 0))
    assert one.table["row"].to_list() == used["index"].to_list()
    agree(one.summary.model_dump(), other.summary.model_dump())
    # field by field, each row as itself
    mine = one.table.drop("unit").sort("row")
    theirs = other.table.drop("unit").with_columns(row=pl.Series(order)[other.table["row"]]).sort("row")
    for name in mine.columns:
        if mine[name].dtype.is_float():
            np.testing.assert_allclose(theirs[name].to_numpy(), mine[name].to_numpy(), atol=1e-9, err_msg=name)
        else:
            assert theirs[name].cast(pl.String).to_list() == mine[name].cast(pl.String).to_list(), name
    assert one.findings.drop("rows").equals(other.findings.drop("rows"))


@pytest.mark.parametrize("method", ["auto", "paper"])
def test_a_fit_to_rows_in_another_order_is_the_same_fit(method):
    rng = np.random.default_rng(0)
    X, f, order = rng.normal(size=(120, 2)), rng.random(120), rng.permutation(120)
    options = {"sigmas": [0.3, 1.0], "lambdas": [0.01], "max_epochs": 2} if method == "paper" else None
    given = {"confidence": f, "sample_weight": rng.integers(0, 3, 120), "groups": rng.integers(0, 60, 120)}
    y = rng.random(120) < np.where(X[:, 0] > 0, 0.9, 0.1)
    one, other = (
        MiscalibrationField(method, options=options).fit(X[rows], y[rows], **{k: v[rows] for k, v in given.items()})
        for rows in (np.arange(120), order)
    )
    np.testing.assert_array_equal(one.predict(X, f), other.predict(X, f))
    np.testing.assert_array_equal(one.neighbours(X, 3)[0], order[other.neighbours(X, 3)[0]])


@pytest.mark.parametrize(("classes", "cv", "grouped"), [(2, 2, False), (2, PREFIT, True), (3, 2, True)])
def test_a_classifier_of_rows_in_another_order_is_corrected_the_same(classes, cv, grouped):
    rng = np.random.default_rng(0)
    X, order = rng.normal(size=(200, 3)), rng.permutation(200)
    y = np.where(rng.random(200) < 0.7, X[:, 0] * X[:, 1] > 0, rng.integers(0, classes, 200))
    groups = rng.integers(0, 60, 200)
    base = GaussianNB() if cv != PREFIT else FrozenEstimator(GaussianNB().fit(X, y))
    one, other = (
        LocalCalibratedClassifier(base, cv=cv).fit(X[at], y[at], groups=groups[at] if grouped else None)
        for at in (np.arange(200), order)
    )
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9, rtol=0)


def test_hidden_miscalibration_of_rows_in_another_order_is_the_same():
    rng = np.random.default_rng(0)
    X, f, order = rng.normal(size=(200, 2)), rng.random(200), rng.permutation(200)
    y, weight = rng.random(200) < np.where(X[:, 0] > 0, 0.8, 0.3), rng.integers(0, 3, 200)
    for given in ({"X": X}, {"slices": np.where(X[:, 0] > 0, "a", "b")}):
        one, other = (
            hidden_miscalibration(y[at], f[at], sample_weight=weight[at], **{name: v[at] for name, v in given.items()})
            for at in (np.arange(200), order)
        )
        assert one == pytest.approx(other, abs=1e-9)
        assert one > 0.05


def test_what_is_known_afterwards_is_found_in_any_order(monkeypatch):
    monkeypatch.setattr("miscal.data.readers.leaks.MOST_ROWS", 80)
    frame, order = table(), np.random.default_rng(2).permutation(N)
    frame = frame.with_columns(late=pl.col("correct") * 0.9 + pl.Series(np.random.default_rng(3).random(N)))
    known, names = (frame["correct"].to_numpy(), frame["confidence"].to_numpy()), ["late", "size", "kind", "free"]
    one, other = (
        LeakSearch(frame[at], names, *(values[at] for values in known), 0).alone(names) for at in (np.arange(N), order)
    )
    assert one.keys() == other.keys() == {"late"}
    assert one["late"].value == pytest.approx(other["late"].value, abs=1e-9)


def test_a_sample_of_texts_is_the_same_in_any_order(monkeypatch):
    monkeypatch.setattr("miscal.data.readers.read.SAMPLED_ABOVE", 50)
    monkeypatch.setattr("miscal.data.readers.read.SAMPLE_ROWS", 40)
    frame, order = table(), np.random.default_rng(2).permutation(N)
    one, other = (miscal.read_triples(rows, text="words", embed_model="tfidf") for rows in (frame, frame[order]))
    np.testing.assert_allclose(one.X[order], other.X, atol=1e-9)


def test_rows_that_people_have_not_judged_come_in_any_order():
    rng = np.random.default_rng(0)
    said = rng.integers(1, 6, N)
    frame = pl.DataFrame({
        "judge_score": said, "size": rng.normal(size=N), "kind": rng.choice(list("ab"), N),
        "human": [int(rng.random() < score / 6) if row < 100 else None for row, score in enumerate(said)],
    })  # fmt: skip
    found = [
        discover(
            miscal.read_triples(rows, judge="judge_score", human="human", features="size,kind"), map_method="pca"
        ).summary
        for rows in (frame, frame[rng.permutation(N)])
    ]
    assert found[0].judge.n_unjudged == 20
    agree(*(one.model_dump() for one in found))
