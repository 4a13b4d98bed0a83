"""Whole runs whose rows count unequally."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import InputError
from miscal.calibration.metrics.smooth import smece
from miscal.data.readers.read import read_triples, reread
from miscal.data.triples import Triples
from miscal.discovery.discover import discover

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
    assert told(other)["answer"] == told(one)["answer"]
    assert _numbers(told(other)) == pytest.approx(_numbers(told(one)), abs=1e-6)


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


def _numbers(document):
    """Flatten the numbers of a document, in order of their place."""
    if isinstance(document, dict):
        return [number for key in sorted(document) for number in _numbers(document[key])]
    if isinstance(document, list):
        return [number for part in document for number in _numbers(part)]
    return [float(document)] if isinstance(document, (int, float)) else []
