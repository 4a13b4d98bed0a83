"""Evaluation rows are compared with rows learned from: a drift between them is noticed, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import miscal
from miscal.discovery.discover import discover
from miscal.evidence.certificates import drift, drift_warning

pytestmark = pytest.mark.whole


def rows(seed, n=600, *, shift=0.0, values=None):
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.05, 0.95, n) if values is None else rng.choice(values, n)
    late = rng.random(n) < 0.3
    rate = 1 / (1 + np.exp(-np.log(f / (1 - f)) - shift * late))
    return (rng.random(n) < rate).astype(float), f, late, rng


@given(st.integers(0, 2**32 - 1), st.sampled_from([None, (0.8,), (0.5, 0.9, 0.95)]))
def test_order_is_irrelevant_and_a_flip_turns_the_difference(seed, values):
    y, f, late, rng = rows(seed, values=values)
    order, found = rng.permutation(len(y)), drift(y, f, late)
    again, flipped = drift(y[order], f[order], late[order]), drift(1 - y, f, late)
    assert (again.difference, again.p_value) == pytest.approx((found.difference, found.p_value))
    assert flipped.difference == pytest.approx(-found.difference)
    # other draws of the same law
    assert flipped.p_value == pytest.approx(found.p_value, abs=0.06)
    assert 0 <= found.p_value <= 1


def test_null_p_values_are_not_smaller_than_uniform_whatever_the_curve():
    p = np.array([drift(*rows(seed, 300)[:3]).p_value for seed in range(800)])
    skewed = []
    for seed in range(400):
        _, f, late, rng = rows(seed, 300)
        # a calibration curve far from the diagonal, and other confidences late
        f = np.where(late, f**0.5, f)
        skewed.append(drift((rng.random(300) < 0.2 + 0.3 * f).astype(float), f, late).p_value)
    for level in (0.01, 0.05, 0.2):
        assert np.mean(p <= level) <= level + 3 * np.sqrt(level / len(p))
        assert np.mean(np.array(skewed) <= level) <= level + 3.5 * np.sqrt(level / len(skewed))


def test_null_p_values_are_not_smaller_than_uniform_where_hardly_any_outcome_is_wrong():
    p = []
    for seed in range(800):
        rng = np.random.default_rng(seed)
        f, late = rng.uniform(0.97, 1.0, 1000), rng.random(1000) < 0.1
        p.append(drift((rng.random(1000) < f).astype(float), f, late, random_state=seed).p_value)
    for level in (0.01, 0.05):
        assert np.mean(np.array(p) <= level) <= level + 3 * np.sqrt(level / len(p))


def test_other_confidences_are_no_drift_however_many_rows_there_are():
    p = []
    for seed in range(20):
        _, f, late, rng = rows(seed, 60_000)
        f = np.where(late, f**0.5, f)
        p.append(drift((rng.random(60_000) < 0.1 + 0.8 * f).astype(float), f, late).p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.2


def test_a_drift_is_noticed():
    found = [drift(*rows(seed, 1000, shift=-0.8)[:3]) for seed in range(40)]
    assert np.mean([one.p_value < 0.01 for one in found]) > 0.9
    assert np.mean([one.difference for one in found]) == pytest.approx(-0.16, abs=0.03)


def test_nothing_is_said_where_nothing_can_be_compared():
    y, f, late = np.ones(20), np.full(20, 0.9), np.arange(20) < 5
    assert drift(y, f, late).p_value == 1.0
    assert drift_warning(drift(y, f, late)) is None


@pytest.mark.usefixtures("few_folds")
def test_a_run_warns_of_test_rows_of_another_kind():
    y, f, late, rng = rows(0, 450, shift=-1.5)
    table = {
        "confidence": f,
        "correct": y,
        "x_0": rng.normal(size=450),
        "x_1": rng.normal(size=450),
        "split": np.where(late, "test", np.where(rng.random(450) < 0.2, "val", "train")),
    }
    triples = miscal.read_triples(table, features="x_*", split="split")
    warned = [
        one
        for one in discover(triples, seed=0, n_jobs=1, map_method="pca").summary.warnings
        if "at equal confidence" in one
    ]
    assert len(warned) == 1
    assert "less often than the rows learned from (p < 0.001)" in warned[0]
