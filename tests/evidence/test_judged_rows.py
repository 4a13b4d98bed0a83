"""Pass rates and agreement with people: right whatever the judge is worth, and their intervals cover."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binom
from sklearn.metrics import cohen_kappa_score, recall_score

from miscal.evidence.judged_rows import (
    FEWEST_LABELS,
    JudgedRows,
    agreement,
    effective_labels,
    judge_rate,
    pass_rate,
    share_interval,
)


def judged(seed, n=1_000, labels=150, *, level=0.5, slope=1.5, signal=True, answers=1, shared=0.0, chances=None):
    """Rows of a judge that knows x, or nothing; the log-odds of the answers of a question may share a number."""
    rng = np.random.default_rng(seed)
    question = np.arange(n) // answers
    x = rng.normal(size=n) + shared * rng.normal(size=n)[question]
    p = expit(level + slope * x)
    human = (rng.random(n) < p).astype(float)
    if chances is None:
        looked = np.isin(question, rng.permutation(n // answers)[: labels // answers])
    else:
        chance = chances(x)
        looked = rng.random(n) < chance
    human[~looked] = np.nan
    predicted = p if signal else rng.random(n)
    cluster = question if answers > 1 else None
    return JudgedRows.of(
        predicted, human, cluster=cluster, labelling_probability=None if chances is None else chance
    ), p


def labelled_rate(rows):
    """The rate by the labelled rows alone: predictions that are all alike have no part in it."""
    return pass_rate(replace(rows, predicted=np.full(len(rows), 0.3)))


def same(one, other):
    """Whether two estimates are equal up to rounding."""
    return one.estimate == pytest.approx(other.estimate) and one.interval == pytest.approx(other.interval)


@given(st.integers(0, 10_000), st.floats(-5, 5), st.integers(20, 300), st.sampled_from([1, 2, 5]), st.booleans())
@settings(max_examples=60)
def test_intervals_hold_their_estimate_and_lie_in_the_unit_range(seed, level, labels, answers, signal):
    rows, _ = judged(seed, labels=max(labels, 10 * answers), level=level, answers=answers, signal=signal)
    for found in (pass_rate(rows), labelled_rate(rows), judge_rate(rows, rows.predicted)):
        assert 0 <= found.interval[0] <= found.estimate <= found.interval[1] <= 1
        assert (found.n, found.n_labelled) == (1_000, int(rows.labelled.sum()))


@given(st.integers(0, 10_000), st.floats(-3, 3), st.booleans())
@settings(max_examples=60)
def test_an_estimate_at_the_same_place_is_never_less_sure_than_the_labels_alone(seed, level, signal):
    rows, _ = judged(seed, level=level, signal=signal)
    found, alone = pass_rate(rows), labelled_rate(rows)
    low, high = share_interval(found.estimate, 150)
    assert np.ptp(found.interval) <= high - low + 1e-12
    if found.estimate == pytest.approx(alone.estimate, abs=1e-12):
        assert same(found, alone)


def test_predictions_that_say_nothing_change_nothing():
    rows, _ = judged(0)
    human = rows.human[rows.labelled]
    found, (low, high) = labelled_rate(rows), share_interval(human.mean(), len(human))
    assert (found.estimate, *found.interval) == pytest.approx((human.mean(), low, high))


def test_a_leave_one_out_mean_is_no_signal():
    """It predicts exactly the opposite of each row's own verdict."""
    rows, _ = judged(0)
    human = rows.human[rows.labelled]
    predicted = np.full(len(rows), human.mean())
    predicted[rows.labelled] = (human.sum() - human) / (len(human) - 1)
    left_out = JudgedRows.of(predicted, rows.human)
    assert same(pass_rate(left_out), labelled_rate(left_out))


def test_a_good_judge_narrows_the_interval_and_a_better_one_more():
    widths = []
    for slope in (0.5, 2.0, 6.0):
        rows, _ = judged(1, n=4_000, labels=400, slope=slope)
        found, alone = pass_rate(rows), labelled_rate(rows)
        widths.append((np.ptp(found.interval)) / (np.ptp(alone.interval)))
    assert widths == sorted(widths, reverse=True)
    assert widths[-1] < 0.6


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_verdicts_that_all_agree_leave_room_for_others(rate):
    human = np.full(400, np.nan)
    human[:100] = rate
    found = pass_rate(JudgedRows.of(np.full(400, 0.5), human))
    # a mean of a hundred ones, to rounding
    assert found.estimate == pytest.approx(rate, abs=1e-12)
    assert 0.03 < np.ptp(found.interval) < 0.05
    clustered = pass_rate(JudgedRows.of(np.full(400, 0.5), human, cluster=np.arange(400) // 5))
    assert np.ptp(clustered.interval) > 3 * (np.ptp(found.interval))


def test_neither_order_nor_scale_of_weights_nor_names_of_clusters_matter():
    rng = np.random.default_rng(0)
    rows, _ = judged(2, answers=2)
    weight, order = rng.uniform(0.5, 2, len(rows)), rng.permutation(len(rows))
    one = pass_rate(JudgedRows.of(rows.predicted, rows.human, cluster=rows.cluster, weight=weight))
    names = np.array([f"q{k}" for k in rows.cluster])
    other = pass_rate(
        JudgedRows.of(rows.predicted[order], rows.human[order], cluster=names[order], weight=7 * weight[order])
    )
    assert one.estimate == pytest.approx(other.estimate)
    assert one.interval == pytest.approx(other.interval)
    doubled = JudgedRows.of(rows.predicted, rows.human, weight=np.where(np.arange(len(rows)) < 500, 1.0, 0.0))
    first = JudgedRows.of(rows.predicted[:500], rows.human[:500])
    assert pass_rate(doubled) == pass_rate(first)


def test_a_row_that_counts_twice_is_like_two_rows_for_the_estimate():
    rows, _ = judged(3, n=300, labels=100)
    twice = JudgedRows.of(rows.predicted, rows.human, weight=np.full(300, 2.0))
    repeated = JudgedRows.of(np.tile(rows.predicted, 2), np.tile(rows.human, 2), cluster=np.tile(np.arange(300), 2))
    assert pass_rate(twice).estimate == pytest.approx(pass_rate(repeated).estimate)
    assert np.ptp(pass_rate(repeated).interval) > 0.97 * (np.ptp(pass_rate(twice).interval))


def test_groups_are_estimated_by_themselves_and_small_ones_say_why_not():
    rows, _ = judged(4, n=600, labels=300)
    groups = np.repeat(["a", "b", "c"], [300, 290, 10])
    found = {name: pass_rate(rows.take(groups == name)) for name in "ac"}
    assert found["a"].lacking is None
    assert found["c"].lacking == "labels"
    assert found["c"].interval is None
    assert found["c"].n_labelled < FEWEST_LABELS
    few = JudgedRows.of(rows.predicted, rows.human, cluster=np.arange(600) // 100)
    assert pass_rate(few).lacking == "clusters"
    heavy = JudgedRows.of(rows.predicted, rows.human, weight=np.where(np.arange(600) < 9, 1e6, 1.0))
    assert pass_rate(heavy).lacking == "clusters"
    nobody = JudgedRows.of(np.full(30, 0.5), np.full(30, np.nan))
    assert pass_rate(nobody).estimate is None
    assert pass_rate(nobody).lacking == "labels"


@pytest.mark.parametrize("n", [20, 50, 200])
def test_the_interval_of_a_share_covers_nearly_always_enough(n):
    hits = np.arange(n + 1)
    ends = np.array([share_interval(k / n, n) for k in hits])
    for rate in np.linspace(0.002, 0.998, 250):
        inside = (ends[:, 0] <= rate) & (rate <= ends[:, 1])
        assert binom.pmf(hits, n, rate)[inside].sum() > 0.90


@given(st.integers(0, 10_000), st.floats(0.01, 1.5))
def test_unequal_chances_of_a_label_cost_more_where_labels_are_few(seed, spread):
    """Beside what they cost anyhow: Student's quantile takes the place of the normal one."""
    weight = np.exp(spread * np.random.default_rng(seed).normal(size=40))
    verdict = np.arange(40) % 2.0

    def worth(times):
        share, value = (np.tile(part, times) for part in (weight, verdict))
        return effective_labels(value, share / share.sum(), np.arange(40 * times)) / times

    assert worth(1) < worth(10) < worth(100) <= effective_labels(verdict, np.full(40, 1 / 40), np.arange(40))


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"level": -5.5, "slope": 1.8, "n": 3_000, "labels": 200},
        {"level": 4.0, "slope": 0.8},
        {"answers": 3, "shared": 1.0, "labels": 300},
        {"chances": lambda x: np.clip(0.12 * np.exp(-0.8 * x), 0.03, 0.6)},
        {"chances": lambda x: np.clip(0.04 * np.exp(-1.2 * x), 0.004, 0.9)},
    ],
    ids=["plain", "rare", "saturated", "clusters", "shift", "steep shift"],
)
def test_intervals_cover_and_estimates_are_unbiased(world):
    truth = np.mean([judged(10_000 + seed, **world)[1].mean() for seed in range(200)])
    found = [pass_rate(judged(seed, **world)[0]) for seed in range(600)]
    covered = np.mean([one.interval[0] <= truth <= one.interval[1] for one in found])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 600)
    estimates = np.array([one.estimate for one in found])
    assert abs(estimates.mean() - truth) < 4 * estimates.std() / np.sqrt(600)


def compared(seed, n=200, labels=0.6, clusters=None, shared=0.0):
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
    rows, passed = compared(seed)
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
    rows, passed = compared(3, n=4000, labels=1.0)
    found = agreement(rows, passed).kappa
    table = np.array([[np.sum((rows.human == i) & (passed == j)) for j in (0, 1)] for i in (0, 1)])
    half = 1.96 * fleiss(table)
    np.testing.assert_allclose(found.interval, [found.value - half, found.value + half], atol=5e-4)


@given(st.integers(0, 500))
def test_exchanged_verdicts_exchange_the_rates(seed):
    rows, passed = compared(seed)
    other = agreement(JudgedRows.of(rows.predicted, 1 - rows.human), ~passed)
    found = agreement(rows, passed)
    np.testing.assert_allclose(found.kappa.interval, other.kappa.interval, atol=1e-12)
    assert found.true_positive.interval == pytest.approx(other.true_negative.interval)


@given(st.integers(0, 500))
def test_the_order_of_rows_changes_nothing(seed):
    rows, passed = compared(seed, clusters=40)
    order = np.random.default_rng(seed).permutation(len(rows))
    one, two = agreement(rows, passed), agreement(rows.take(order), passed[order])
    np.testing.assert_allclose(one.kappa.interval, two.kappa.interval, atol=1e-12)
    np.testing.assert_allclose(one.true_negative.interval, two.true_negative.interval, atol=1e-12)


def test_rows_labelled_twice_as_seldom_count_twice():
    rows, passed = compared(1, labels=1.0)
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
    big, passed = compared(10**6, n=400_000, labels=1.0, clusters=None if clusters is None else 80_000, shared=shared)
    truth = agreement(big, passed).kappa.value
    found = [agreement(*compared(seed, n=300, clusters=clusters, shared=shared)).kappa.interval for seed in range(1500)]
    covered = np.mean([low <= truth <= high for low, high in found])
    assert 0.93 <= covered <= 0.97
