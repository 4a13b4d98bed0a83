"""Whole runs whose rows count unequally, or come in another order, which says nothing."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import miscal
from miscal import LocalCalibratedClassifier, MiscalibrationField
from miscal.base.errors import InputError
from miscal.calibration.metrics.smooth import smece
from miscal.data.readers.leaks import LeakSearch
from miscal.data.readers.read import read_triples, reread
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.metrics import hidden_miscalibration
from miscal.runs.classifier import PREFIT

pytestmark = [pytest.mark.usefixtures("few_folds"), pytest.mark.whole]


def table(n=400, seed=0):
    """Rows of a kind that is over-confident; weights favour that kind, and are independent of all else."""
    rng = np.random.default_rng(seed)
    kind, size, f = rng.choice(["law", "art", "sums"], n), rng.normal(size=n), rng.uniform(0.3, 0.95, n)
    y = rng.random(n) < np.clip(f - 0.3 * (kind == "law"), 0, 1)
    weight = np.where(kind == "law", 4.0, 1.0) * rng.lognormal(0, 0.5, n)
    return pl.DataFrame({"kind": kind, "size": size, "confidence": f, "correct": y, "w": weight})


def rows(frame, weight="w"):
    return read_triples(frame, features="kind,size", metadata="kind", weight=weight)


def run(triples):
    return discover(triples, seed=0, n_jobs=1, map_method="pca")


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def weighed(frame, few_folds):
    return run(rows(frame))


def told(summary):
    """All numbers of a summary but those that name the weights themselves."""
    document = json.loads(summary.to_json())
    for key in ("weights", "timing", "data", "settings", "versions"):
        del document[key]
    return document


def test_numbers_of_all_rows_are_weighted(frame, weighed):
    summary, weight = weighed.summary, frame["w"].to_numpy()
    y, f = frame["correct"].to_numpy().astype(float), frame["confidence"].to_numpy()
    assert summary.global_.accuracy.value == pytest.approx(np.average(y, weights=weight))
    assert summary.global_.confidence.value == pytest.approx(np.average(f, weights=weight))
    assert summary.global_.brier.value == pytest.approx(np.average((y - f) ** 2, weights=weight))
    assert summary.global_.smece.value == pytest.approx(smece(y, f, sample_weight=weight))


def test_numbers_of_regimes_and_findings_are_weighted(frame, weighed):
    columns = weighed.table.select("regime", "corrected", "delta").with_columns(frame)
    for regime in weighed.summary.regimes:
        own = columns.filter(pl.col("regime") == regime.name)
        if regime.n:
            weight = own["w"].to_numpy()
            assert regime.n == len(own)
            assert regime.share == pytest.approx(weight.sum() / frame["w"].sum())
            assert regime.accuracy == pytest.approx(np.average(own["correct"].to_numpy(), weights=weight))
    [law] = [one for one in weighed.summary.findings if one.description == "kind = law"]
    own = columns.filter(pl.col("kind") == "law")
    assert law.accuracy == pytest.approx(np.average(own["correct"].to_numpy(), weights=own["w"].to_numpy()))
    score = weighed.summary.correction["miscal"].all
    left = (columns["correct"].cast(pl.Float64) - columns["corrected"]).to_numpy() ** 2
    assert score.brier == pytest.approx(np.average(left, weights=frame["w"].to_numpy()))
    assert weighed.summary.field.mean == pytest.approx(np.average(columns["delta"], weights=frame["w"].to_numpy()))


def test_the_summary_says_how_unequal_they_are(frame, weighed):
    weight = frame["w"].to_numpy()
    assert weighed.summary.weights.column == "w"
    assert weighed.summary.weights.n_effective == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))
    assert weighed.summary.weights.largest == pytest.approx(weight.max() / weight.sum())


def test_weights_are_read_again_with_the_run(frame, tmp_path):
    frame.write_csv(tmp_path / "rows.csv")
    first = rows(tmp_path / "rows.csv")
    assert reread(first.source).weight.tolist() == first.weight.tolist()


def test_equal_weights_and_none_give_one_answer(frame):
    plain = rows(frame, weight=None)
    alike = replace(plain, weight=np.full(len(plain), 3.0))
    one, other = run(plain).summary, run(alike).summary
    assert one.weights is None
    assert other.weights.n_effective == pytest.approx(len(plain))
    agree(told(one), told(other), within=1e-6)


def test_only_the_ratios_of_weights_matter(frame, weighed):
    again = run(rows(frame.with_columns(pl.col("w") * 1024)))
    assert told(again.summary) == told(weighed.summary)


def test_rows_of_weight_0_are_left_out_and_counted(frame):
    some = frame.with_columns(pl.when(pl.col("size") > 1.5).then(0.0).otherwise(pl.col("w")).alias("w"))
    kept = some.filter(pl.col("w") > 0)
    triples = rows(some)
    assert len(triples) == len(kept)
    assert triples.row.tolist() == np.flatnonzero(some["w"].to_numpy() > 0).tolist()
    said = f"{len(some) - len(kept)} of 400 rows were left out: their weight is 0"
    assert said in triples.notes
    made = Triples.of(
        np.zeros((400, 1)), confidence=some["confidence"], correct=some["correct"], weight=some["w"].to_numpy()
    )
    found = run(made).summary
    assert found.n == len(kept)
    assert any("have weight 0 and were left out" in one for one in found.warnings)


@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf"), None])
def test_what_is_no_weight_is_refused(frame, value):
    bad = frame.with_columns(pl.when(pl.int_range(pl.len()) == 7).then(value).otherwise(pl.col("w")).alias("w"))
    with pytest.raises(InputError, match="w"):
        rows(bad)


def test_missing_weights_may_be_dropped(frame):
    some = frame.with_columns(pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("w")).alias("w"))
    triples = read_triples(some, features="kind,size", weight="w", on_invalid="drop")
    assert len(triples) == 395
    assert "'w'" in triples.notes[-1]
    assert "(5)" in triples.notes[-1]


@pytest.mark.parametrize(
    ("of", "warned"),
    [
        (lambda rng, n: np.r_[1e6, np.ones(n - 1)], True),
        (lambda rng, n: 1e97 * rng.lognormal(0, 1, n), False),
        (lambda rng, n: 1e-97 * rng.lognormal(0, 1, n), False),
        # the smooth calibration errors of what is nearly one row take ten times as long
        pytest.param(lambda rng, n: np.exp(rng.normal(0, 20, n)), True, marks=pytest.mark.slow),
    ],
    ids=["one row has all", "huge", "tiny", "of many magnitudes"],
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_extreme_weights_leave_every_number_finite(of, warned):
    rng, n = np.random.default_rng(0), 200
    X, f = rng.normal(size=(n, 2)), rng.uniform(0.2, 0.95, n)
    y = rng.random(n) < np.clip(f - 0.2 * (X[:, 0] > 0), 0, 1)
    found = run(Triples.of(X, confidence=f, correct=y, weight=of(rng, n)))
    assert np.isfinite(found.table.select("delta", "corrected", "visible", "hidden").to_numpy()).all()
    assert found.table["corrected"].is_between(0, 1).all()
    # the summary refuses numbers that are not finite
    assert found.summary.global_.accuracy.value is not None
    assert any("a single row has" in one for one in found.summary.warnings) == warned


N = 120


def shuffled_table():
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


def numbers_of(value, path=()):
    """Every value of a summary by its place, but for what names rows or files."""
    if isinstance(value, dict):
        for name, one in value.items():
            if name not in NAMES_ROWS:
                yield from numbers_of(one, (*path, name))
    elif isinstance(value, list | tuple):
        for place, one in enumerate(value):
            yield from numbers_of(one, (*path, place))
    else:
        yield path, value


def agree(one, other, within=1e-9):
    one, other = dict(numbers_of(one)), dict(numbers_of(other))
    assert one.keys() == other.keys()
    for path, value in one.items():
        assert other[path] == (pytest.approx(value, abs=within) if isinstance(value, float) else value), path


@pytest.mark.parametrize("case", CASES)
def test_rows_in_another_order_are_told_the_same(case):
    frame, order = shuffled_table(), np.random.default_rng(1).permutation(N)
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
    frame, order = shuffled_table(), np.random.default_rng(2).permutation(N)
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
    frame, order = shuffled_table(), np.random.default_rng(2).permutation(N)
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
