"""Audits of a pair: the rows of its tables, against fits made by hand."""

from itertools import combinations

import numpy as np
import pytest

from miscal.calibration.metrics.gap import worst_slice
from miscal.data.splits import permuted_split
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.estimators.field import MiscalibrationField
from miscal.study.pair_result import PairResult, audit
from miscal.study.plan import StudyPair
from miscal.study.tables import TABLES

OPTIONS = {"sigmas": (0.3,), "lambdas": (0.01,), "max_epochs": 3}
PAIR = StudyPair(pair="world-model", dataset="world", model="model", data="w.csv", seed=2, min_rows=1)


pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    n = 500
    X = rng.normal(size=(n, 3)).astype(np.float32)
    f = rng.uniform(0.35, 0.65, n)
    y = rng.random(n) < f + 0.3 * np.sign(X[:, 0])
    triples = Triples.of(X, confidence=f, correct=y, split=permuted_split(n, 2))
    found = discover(triples, method="paper", options=OPTIONS, seed=2, min_rows=1, map_method="pca", n_jobs=1)
    return PairResult(PAIR, "paper", triples, found)


@pytest.fixture(scope="module")
def tables(result):
    return audit(result, {"null": "permuted", "draws": 2, "seeds": 3, "options": OPTIONS}, n_jobs=1)


@pytest.fixture(scope="module")
def fields(result):
    """The fields of three seeds at the test rows, each by a fit of its own."""
    rows, test = result.triples, result.triples.split == "test"
    found = []
    for seed in (2, 3, 4):
        field = MiscalibrationField("paper", random_state=seed, options=OPTIONS, n_jobs=1)
        field.fit_triples(rows.take(~test))
        found.append(field.predict(rows.X[test], confidence=rows.confidence[test]))
    return found


def test_rows_have_the_columns_of_their_tables(tables):
    assert set(tables) == {"nulls", "proxy_curves", "seeds", "seed_pairs"}
    for name, rows in tables.items():
        assert rows
        for row in rows:
            assert list(row) == list(TABLES[name])


def test_what_is_observed_is_what_was_found_on_the_pair(result, tables):
    observed = {row["statistic"]: row for row in tables["nulls"]}
    summary, model = result.found.summary, result.found.model.field
    assert summary.settings["computed_on"] == model.device_
    assert observed["delta_std"]["observed"] == pytest.approx(summary.field.std)
    assert observed["std_hidden"]["observed"] == pytest.approx(summary.field.std_hidden)
    assert observed["gap"]["observed"] == pytest.approx(max(0.0, summary.gap.value))
    assert observed["epoch"]["observed"] == model.fitted_.epoch_
    assert observed["proxy"]["observed"] == pytest.approx(min(row["proxy"] for row in model.selection_))
    for name in ("epoch", "proxy"):
        assert observed[name]["p_value"] is None
    assert {row["n_draws"] for row in tables["nulls"]} == {2}


def test_null_rows_sum_up_refits_on_permuted_outcomes(result, tables):
    rows = result.triples
    rng = np.random.default_rng(2)
    test, spreads = rows.split == "test", []
    for _ in range(2):
        y = rows.correct.copy()
        for name in ("train", "val"):
            part = np.flatnonzero(rows.split == name)
            y[part] = rows.correct[rng.permutation(part)]
        field = MiscalibrationField("paper", random_state=2, options=OPTIONS, n_jobs=1)
        field.fit(rows.X[~test], y[~test], confidence=rows.confidence[~test], split=rows.split[~test])
        spreads.append(field.predict(rows.X[test], confidence=rows.confidence[test]).std())
    row = next(row for row in tables["nulls"] if row["statistic"] == "delta_std")
    assert (row["null_mean"], row["null_std"]) == pytest.approx((np.mean(spreads), np.std(spreads, ddof=1)))
    assert row["p_value"] == pytest.approx((1 + np.sum(np.array(spreads) >= row["observed"])) / 3)


def test_proxy_curves_are_of_the_data_and_of_every_draw(tables):
    curves = {}
    for row in tables["proxy_curves"]:
        curves.setdefault(row["draw"], []).append(row)
    assert sorted(curves) == [-1, 0, 1]
    for curve in curves.values():
        assert [row["epoch"] for row in curve] == [1, 2, 3]
        kept = [row for row in curve if row["chosen"]]
        assert len(kept) == 1
        assert kept[0]["proxy"] == min(row["proxy"] for row in curve)
    observed = {row["statistic"]: row for row in tables["nulls"]}
    drawn = [next(row["proxy"] for row in curves[draw] if row["chosen"]) for draw in (0, 1)]
    assert observed["proxy"]["null_mean"] == pytest.approx(np.mean(drawn))
    assert observed["proxy"]["null_std"] == pytest.approx(np.std(drawn, ddof=1))


def test_seeds_and_their_pairs_are_those_of_fits_by_hand(result, tables, fields):
    rows, test = result.triples, result.triples.split == "test"
    for row, seed, delta in zip(tables["seeds"], (2, 3, 4), fields, strict=True):
        assert row["seed"] == seed
        assert row["delta_std"] == pytest.approx(delta.std(), rel=1e-5)
        regime = np.select([delta < -0.05, delta > 0.05], ["over", "under"], "good")
        gap = worst_slice(rows.correct[test], rows.confidence[test], regime, min_rows=1)
        assert (row["worst"], row["gap"]) == (gap.worst, pytest.approx(gap.value))
        assert row["share_worst"] == pytest.approx(np.mean(regime == gap.worst))
    assert [(row["seed_a"], row["seed_b"]) for row in tables["seed_pairs"]] == [(2, 3), (2, 4), (3, 4)]
    for row, (a, b) in zip(tables["seed_pairs"], combinations(fields, 2), strict=True):
        centred = a - a.mean(), b - b.mean()
        product = np.sum(centred[0] * centred[1]) / np.sqrt(np.sum(centred[0] ** 2) * np.sum(centred[1] ** 2))
        assert row["correlation"] == pytest.approx(product, abs=1e-6)
        assert row["sign_agreement"] == pytest.approx(np.mean((a > 0) == (b > 0)))
        up, too = np.mean(a > 0), np.mean(b > 0)
        assert row["sign_by_chance"] == pytest.approx(up * too + (1 - up) * (1 - too))


@pytest.mark.slow
def test_the_default_method_has_no_proxy(result):
    rows = result.triples.take(np.arange(150))
    rows = Triples.of(rows.X, confidence=rows.confidence, correct=rows.correct)
    pair = PairResult(PAIR, "auto", rows, result.found)
    found = audit(pair, {"null": "calibrated", "draws": 1, "seeds": 2, "options": {}}, n_jobs=1)
    assert found["proxy_curves"] == []
    assert [row["statistic"] for row in found["nulls"]] == ["delta_std", "std_hidden", "share_miscalibrated", "gap"]
    assert len(found["seeds"]) == 2
