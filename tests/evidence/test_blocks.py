"""Blocks tested in turn: whatever the earlier ones say about the later, the sum keeps its law."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import binomtest, norm

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.blocks import either, rank_among_draws, spend
from miscal.evidence.certificates import certificate

sizes = st.lists(st.integers(1, 1_000), min_size=1, max_size=10)
pytestmark = pytest.mark.usefixtures("few_draws")


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_every_row_is_in_one_block_and_blocks_come_in_rising_order(numbers):
    block = np.array(numbers)
    f = np.linspace(0, 1, len(block))
    parts = LabelledRows(f, f, f, row=np.arange(len(block)), block=block).in_turn()
    assert sorted(np.concatenate([rows.row for rows in parts]).tolist()) == list(range(len(block)))
    assert [block[rows.row[0]] for rows in parts] == sorted(set(numbers))


@given(sizes, st.data())
def test_the_budget_is_always_spent_in_full_and_never_on_a_silent_block(rows, data):
    claims = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    budget = spend(rows, claims)
    assert np.sum(budget.weight**2) + budget.rest**2 == pytest.approx(1)
    assert [weight > 0 for weight in budget.weight] == claims
    if claims[-1]:
        assert budget.rest == 0


@given(sizes, st.data())
def test_a_block_counts_the_same_whatever_later_blocks_claim(rows, data):
    claims = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    k = data.draw(st.integers(0, len(rows) - 1))
    others = [*claims[: k + 1], *(not claim for claim in claims[k + 1 :])]
    assert spend(rows, claims).weight[k] == pytest.approx(spend(rows, others).weight[k])


@given(st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6))
def test_one_block_keeps_its_p_value_and_a_smaller_one_never_gives_a_larger(p_values):
    assert spend([10], [True]).p_value(p_values[:1]) == pytest.approx(p_values[0])
    budget = spend([10] * len(p_values), [True] * len(p_values))
    smaller = [p_values[0] / 2, *p_values[1:]]
    assert budget.p_value(smaller) < budget.p_value(p_values)


def gamblers():
    return {
        "stops once ahead": lambda total: total < 1.645,
        "plays on only if ahead": lambda total: total > 0.3,
        "stops once far behind": lambda total: total > -1.0,
    }


def played(goes_on, rng, *, blocks=10):
    """P-value of a gambler who decides before each block, seeing his running sum, whether to claim anything."""
    p_values, claims = rng.random(blocks), []
    for _ in range(blocks):
        weight = spend([100] * blocks, [*claims, *[True] * (blocks - len(claims))]).weight[: len(claims)]

        total = -float(weight @ ndtri(p_values[: len(claims)]))
        claims.append(bool(goes_on(total)))
    return spend([100] * blocks, claims), p_values


@pytest.mark.slow
@pytest.mark.parametrize("name", gamblers())
def test_no_gambler_wins_more_often_than_he_should(name):
    rng = np.random.default_rng(0)
    games = [played(gamblers()[name], rng) for _ in range(4_000)]
    won = np.array([budget.p_value(p_values) for budget, p_values in games])
    for level in (0.01, 0.05):
        # the worst bar that was tried gives 5.3 %
        assert binomtest(int(np.sum(won <= level)), len(won), 1.06 * level, alternative="greater").pvalue > 0.01


@pytest.mark.slow
def test_the_number_that_means_nothing_is_needed():
    # without it this gambler rejects about 7 % at 5 %
    rng = np.random.default_rng(0)
    games = [played(gamblers()["stops once ahead"], rng) for _ in range(8_000)]
    without = [replace(budget, rest=0.0).p_value(p_values) for budget, p_values in games]
    assert binomtest(int(np.sum(np.array(without) <= 0.05)), 8_000, 0.05, alternative="greater").pvalue < 1e-4


@given(st.integers(0, 100))
@settings(max_examples=10)
def test_no_p_value_hangs_on_a_coin(seed):
    # before, ties and a normal number that means nothing were drawn: with one informative row in a block the p-value
    # of the total went from 0.1 to 0.9 with the seed alone
    y, f, field, block = sequence(120, 5, 0.15)
    silent = np.where(block == block.max(), 0.0, field)
    first, other = (certify(y, f, silent, block, random_state=s).total for s in (0, seed))
    assert first == other


def sequence(n, seed, hidden=0.0, blocks=4):
    """Rows in `blocks` folds; the sign of each is learned, by the larger group mean, from the folds before it."""
    rng = np.random.default_rng(seed)
    f, group, block = rng.uniform(0.3, 0.7, n), rng.integers(0, 8, n), rng.permutation(n) % blocks
    sign = np.where(np.arange(8) % 2, 1.0, -1.0)[group]
    y = (rng.random(n) < f + hidden * sign).astype(float)
    field = np.zeros(n)
    for k in range(1, blocks):
        past = block < k
        means = np.bincount(group[past], (y - f)[past], 8) / np.maximum(np.bincount(group[past], minlength=8), 1)
        field[block == k] = means[group[block == k]]
    tested = block > 0
    return [part[tested] for part in (y, f, field, block)]


def certify(y, f, field, block, **options):
    return certificate(LabelledRows.of(y, f, f, delta=field, hidden=field, block=block), **options)


def test_one_block_is_no_block_and_only_the_order_of_the_numbers_counts():
    y, f, field, block = sequence(400, 0, 0.15)
    whole, parts = certify(y, f, field, None), certify(y, f, field, block)
    assert certify(y, f, field, np.full(len(y), 3)) == whole != parts
    assert certify(y, f, field, 10 * block - 7) == parts


def test_blocks_find_what_is_planted_and_its_opposite_is_not_found():
    y, f, field, block = sequence(2_000, 2, 0.15)
    found, against = certify(y, f, field, block), certify(y, f, -field, block)
    assert 0.05 < found.hidden.low < found.hidden.value
    assert found.hidden.p_value < 0.01 < 0.9 < against.hidden.p_value
    assert against.hidden.low == 0
    assert found.n == len(y)


def test_blocks_that_claim_nothing_do_not_silence_the_others_and_nothing_at_all_is_no_claim():
    y, f, field, block = sequence(2_000, 3, 0.15)
    assert certify(y, f, np.where(block == 1, 0.0, field), block).hidden.p_value < 0.01
    silent = certify(y, f, 0 * field, block).hidden
    assert (silent.value, silent.low, silent.p_value) == (0, 0, 1)


def test_rows_of_a_sure_block_do_not_silence_the_others():
    # every outcome of the first block is the same: it has nothing to shuffle, and must not count as a p-value of 1
    y, f, field, block = sequence(2_000, 4, 0.15)
    assert certify(np.where(block == 1, 1.0, y), f, field, block).hidden.p_value < 0.01


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n", [200, 1_000])
def test_size_of_fields_learned_from_earlier_blocks(n):
    proofs = [certify(*sequence(n, [seed, n]), random_state=seed) for seed in range(600)]
    for rejected in (
        [p.hidden.p_value <= 0.05 for p in proofs],
        [p.hidden.low > 0 for p in proofs],
        [p.total.p_value <= 0.05 for p in proofs],
    ):
        assert binomtest(sum(rejected), 600, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("n", [200, 1_000])
def test_limits_of_fields_learned_from_earlier_blocks_cover(n):
    proofs = [certify(*sequence(n, [seed, n], 0.15), random_state=seed) for seed in range(400)]
    for missed in ([p.hidden.low > 0.15 for p in proofs], [p.total.low > 0.15 for p in proofs]):
        assert binomtest(sum(missed), 400, 0.05, alternative="greater").pvalue > 0.01


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_limit_covers_where_blocks_count_different_shares_of_the_rows():
    # h is 0.4 on a tenth of the rows: one block counts only those, the other all; a common shift of 0.13 would be over
    above, n = 0, 1_000
    for seed in range(300):
        rng = np.random.default_rng([seed, 5])
        block, f = np.arange(n) % 2, np.full(n, 0.5)
        inside, sign = rng.random(n) < 0.1, rng.choice([-1.0, 1.0], n)
        y = (rng.random(n) < f + 0.4 * inside * sign).astype(float)
        field = np.where(inside, 0.4, np.where(block == 0, 0.0, 0.4)) * sign
        above += certify(y, f, field, block, random_state=seed).hidden.low > 0.04
    assert binomtest(above, 300, 0.05, alternative="greater").pvalue > 0.01


p_values = st.floats(1e-12, 1)


@given(p_values, p_values)
def test_two_tests_cost_at_most_twice_the_smaller_p_value(one, other):
    least = min(one, other, 0.5)
    assert least * (1 - 1e-9) <= either([one, other]) <= min(0.5, 2 * least) * (1 + 1e-9)
    assert either([one, other]) == pytest.approx(either([other, one]))


@given(p_values, st.lists(p_values, min_size=2, max_size=8))
def test_a_larger_p_value_never_makes_the_combination_smaller(one, others):
    combined = [either([one, other]) for other in sorted(others)]
    assert all(before <= after * (1 + 1e-9) for before, after in pairwise(combined))


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 1.0])
def test_two_normal_tests_reject_as_often_as_they_say(correlation):
    z = np.random.default_rng(0).standard_normal((2, 20_000))
    z[1] = correlation * z[0] + np.sqrt(1 - correlation**2) * z[1]
    assert np.mean([either(pair) <= 0.05 for pair in norm.sf(z).T]) == pytest.approx(0.052, abs=0.005)


@given(st.integers(2, 40), st.integers(1, 4), st.integers(0, 10_000))
def test_the_rank_is_a_p_value(draws, kinds, seed):
    statistics = np.random.default_rng(seed).random((draws, kinds))
    found = rank_among_draws(statistics)
    assert 1 / draws <= found <= 1
    largest = statistics.copy()
    largest[0] = 2.0
    assert rank_among_draws(largest) == 1 / draws
    assert rank_among_draws(np.ones((draws, kinds))) == 1
