"""Groups of every shape are found by what they are: cycles, ordered levels, trends."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binomtest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.condition import Frame
from miscal.findings.ledger.bins import order_levels, stretches
from miscal.findings.ledger.groups import INTERVAL, named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.sizes import sum_p_value

N = 6_000


def told(columns, shift, seed=0):
    y = (np.random.default_rng((seed, 7)).random(N) < expit(shift)).astype(float)
    half = np.full(N, 0.5)
    return find(LabelledRows(y, half, half, hidden=y * 0, row=np.arange(N)), named_groups(columns), seed=seed).findings


def kinds(rng):
    return {f"kind{j}": np.array([f"v{v}" for v in rng.integers(0, k, N)], object) for j, k in enumerate((3, 4, 5))}


def test_hours_that_pass_midnight_are_one_finding():
    rng = np.random.default_rng(1)
    opened = np.datetime64("2021-01-01", "s") + rng.integers(0, 400 * 86_400, N).astype("m8[s]")
    hour = opened.astype(np.int64) // 3_600 % 24
    [one] = told({**kinds(rng), "opened": opened}, np.where((hour >= 22) | (hour < 5), -0.7, 0.4))
    assert one.description == "opened from 22 to 5 o'clock"


def test_a_range_of_ordered_levels_is_one_finding():
    rng = np.random.default_rng(2)
    levels = np.array(["<18", "18-25", "26-40", "41-64", "65+"], object)
    age = rng.integers(0, 5, N)
    [one] = told({**kinds(rng), "age": levels[age]}, np.where((age == 1) | (age == 2), -0.6, 0.4))
    assert one.description == "age = 18-25 or 26-40"


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_trend_is_one_finding_and_not_two_intervals(sign):
    rng = np.random.default_rng(4)
    age = rng.integers(18, 91, N).astype(float)
    age[rng.random(N) < 0.05] = np.nan
    shift = sign * 0.9 * np.where(np.isnan(age), 0.0, (age - 54) / 73)
    [one] = told({**kinds(rng), "age": age}, 0.3 + shift)
    assert one.condition.kind == "trend"
    assert one.sign == ("over" if sign < 0 else "under")
    assert one.n == np.sum(age >= one.condition.upper)
    # about what the shift makes of a rate of a half from the lower to the upper third of ages
    low, high = one.conditional.interval
    assert low < sign * 0.9 * (2 / 3) / 4 < high
    assert sign * low > 0 < sign * high


def test_a_group_at_the_end_of_a_number_is_no_trend():
    rng = np.random.default_rng(5)
    size = rng.normal(size=N)
    [one] = told({**kinds(rng), "size": size}, np.where(size > 1.2, -1.2, 0.3))
    assert one.condition.kind == "span"


@pytest.mark.parametrize(
    ("levels", "order", "rounds"),
    [
        (["Sun", "Mon", "Sat"], ["Mon", "Sat", "Sun"], True),
        (["high", "LOW", "medium"], ["LOW", "medium", "high"], False),
        (["10k-20k", "<10k", "20k+"], ["<10k", "10k-20k", "20k+"], False),
        (["$0 - $50", "$50 - $100"], ["$0 - $50", "$50 - $100"], False),
        (["1", "2", "3"], [], False),
        (["v1", "v2", "v3"], [], False),
        (["law", "art"], [], False),
    ],
)
def test_levels_have_an_order_only_where_their_names_tell_it(levels, order, rounds):
    assert order_levels(levels) == (order, rounds)


def test_months_come_round_only_where_several_years_are_seen():
    def parts(days):
        day = np.datetime64("2021-01-01", "s") + np.arange(days).astype("m8[D]")
        return {one.part for conditions, _ in stretches("day", day, 12) for one in conditions}

    assert parts(400) == {"weekday"}
    assert parts(800) == {"weekday", "month"}


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.5, 0.97])
def test_the_p_value_of_a_sum_is_as_often_small_as_it_says(chance):
    rng = np.random.default_rng(0)
    expected, factors = np.full(300, chance), np.linspace(-1, 1, 300) ** 3
    p_values = [sum_p_value(factors, (rng.random(300) < chance).astype(float), expected) for _ in range(3_000)]
    for level in (0.1, 0.01, 0.002):
        assert binomtest(int(np.sum(np.array(p_values) <= level)), 3_000, level).pvalue > 0.001


def test_no_group_has_more_than_about_half_of_the_rows_and_the_others_stand_for_it():
    rng = np.random.default_rng(8)
    rare = rng.random(N) < 0.02
    columns = {
        "place": np.where(rare, rng.choice(["x", "y", "z"], N), "usual").astype(object),
        "amount": np.where(rare, rng.random(N), 0.0),
        "known": np.where(rare, rng.random(N), np.nan),
        "kind": rng.choice(["a", "b", ""], N, p=[0.55, 0.25, 0.2]).astype(object),
    }
    groups = named_groups(columns)
    interval = groups.kinds == INTERVAL  # ends at round numbers
    assert np.all(groups.member.counts() <= np.where(interval, 0.525, 0.5) * N)
    frame = Frame(N, columns)
    for place, condition in enumerate(groups.conditions):
        assert np.array_equal(condition.rows(frame), groups.rows(place)), condition
    every = {name for one in groups.places for name in [one.words]}
    assert {"place other than usual", "known not (missing)", "kind other than a", "kind = (empty)"} <= every
    [one] = told(columns, np.where(rare, -1.5, 0.4))
    assert one.n == rare.sum()
    assert one.sign == "over"
    assert one.together_with is None
