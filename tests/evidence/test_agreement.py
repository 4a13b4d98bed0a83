"""Whether a judge agrees with people: kappa and both rates, with intervals that count clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score, recall_score

from miscal.evidence.judged_rows import JudgedRows, agreement


def judged(seed, n=200, labels=0.6, clusters=None, shared=0.0):
    """A judge that agrees with people in some part of the cases, alike within a cluster where outcomes are shared."""
    rng = np.random.default_rng(seed)
    cluster = np.arange(n) if clusters is None else rng.integers(0, clusters, n)
    own = lambda: np.where(rng.random(n) < shared, rng.random(n)[cluster], rng.random(n))  # noqa: E731
    approve, agree = own() < 0.6, own() < 0.75
    passed = np.where(agree, approve, ~approve)
    human = np.where(rng.random(n) < labels, approve.astype(float), np.nan)
    return JudgedRows.of(passed.astype(float), human, cluster=cluster), passed


@given(st.integers(0, 500))
def test_values_are_those_of_scikit_learn(seed):
    rows, passed = judged(seed)
    found, some = agreement(rows, passed), rows.labelled
    human, said = rows.human[some].astype(int), passed[some].astype(int)
    assert found.kappa.value == pytest.approx(cohen_kappa_score(human, said))
    assert found.true_positive.estimate == pytest.approx(recall_score(human, said))
    assert found.true_negative.estimate == pytest.approx(recall_score(human, said, pos_label=0))
    assert found.true_positive.n_labelled + found.true_negative.n_labelled == some.sum()


def fleiss(table):
    """Standard error of kappa as Fleiss, Cohen and Everitt (1969) write it, of a table of counts."""
    p = table / table.sum()
    n, rows, columns = table.sum(), p.sum(1), p.sum(0)
    same, chance = np.trace(p), rows @ columns
    kappa = (same - chance) / (1 - chance)
    a = sum(p[i, i] * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in range(2))
    b = (1 - kappa) ** 2 * sum(p[i, j] * (columns[i] + rows[j]) ** 2 for i in range(2) for j in range(2) if i != j)
    c = (kappa - chance * (1 - kappa)) ** 2
    return np.sqrt((a + b - c) / n) / (1 - chance)


def test_the_interval_of_independent_rows_is_that_of_fleiss():
    rows, passed = judged(3, n=4000, labels=1.0)
    found = agreement(rows, passed).kappa
    table = np.array([[np.sum((rows.human == i) & (passed == j)) for j in (0, 1)] for i in (0, 1)])
    half = 1.96 * fleiss(table)
    np.testing.assert_allclose(found.interval, [found.value - half, found.value + half], atol=5e-4)


@given(st.integers(0, 500))
def test_exchanged_verdicts_exchange_the_rates(seed):
    rows, passed = judged(seed)
    other = agreement(JudgedRows.of(rows.predicted, 1 - rows.human), ~passed)
    found = agreement(rows, passed)
    np.testing.assert_allclose(found.kappa.interval, other.kappa.interval, atol=1e-12)
    assert found.true_positive.interval == pytest.approx(other.true_negative.interval)


@given(st.integers(0, 500))
def test_the_order_of_rows_changes_nothing(seed):
    rows, passed = judged(seed, clusters=40)
    order = np.random.default_rng(seed).permutation(len(rows))
    one, two = agreement(rows, passed), agreement(rows.take(order), passed[order])
    np.testing.assert_allclose(one.kappa.interval, two.kappa.interval, atol=1e-12)
    np.testing.assert_allclose(one.true_negative.interval, two.true_negative.interval, atol=1e-12)


def test_rows_labelled_twice_as_seldom_count_twice():
    rows, passed = judged(1, labels=1.0)
    chance = np.where(np.arange(200) < 100, 0.5, 1.0)
    weighted = agreement(
        JudgedRows.of(rows.predicted, rows.human, labelling_probability=chance, cluster=rows.cluster), passed
    )
    twice = np.r_[np.arange(200), np.arange(100)]
    again = agreement(rows.take(twice), passed[twice])
    assert weighted.kappa.value == pytest.approx(again.kappa.value)
    np.testing.assert_allclose(weighted.kappa.interval, again.kappa.interval, atol=2e-3)


def test_what_is_missing_is_said():
    human = np.array([1.0, 0.0] * 5 + [np.nan] * 50)
    few = agreement(JudgedRows.of(np.full(60, 0.5), human), np.arange(60) % 2)
    assert few.kappa.interval is None
    assert few.true_positive.lacking == "labels"
    alike = agreement(JudgedRows.of(np.full(40, 0.5), np.ones(40)), np.ones(40))
    assert alike.kappa.value is None
    assert alike.true_negative.estimate is None
    nobody = agreement(JudgedRows.of(np.full(3, 0.5), np.full(3, np.nan)), np.ones(3))
    assert (nobody.kappa.value, nobody.true_positive.estimate) == (None, None)


def test_full_agreement_is_no_certainty():
    human = np.arange(60) % 2
    found = agreement(JudgedRows.of(human, human), human)
    assert found.kappa.value == 1
    assert found.kappa.interval[0] < 1


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, 60])
def test_the_interval_of_kappa_covers(clusters):
    shared = 0.0 if clusters is None else 0.4
    big, passed = judged(10**6, n=400_000, labels=1.0, clusters=None if clusters is None else 80_000, shared=shared)
    truth = agreement(big, passed).kappa.value
    found = [agreement(*judged(seed, n=300, clusters=clusters, shared=shared)).kappa.interval for seed in range(1500)]
    covered = np.mean([low <= truth <= high for low, high in found])
    assert 0.93 <= covered <= 0.97
