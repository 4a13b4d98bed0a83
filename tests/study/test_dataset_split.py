"""One split for all models on a set."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.study.steps import draw_split

UNITS = st.lists(st.integers(0, 60), min_size=120, max_size=200)


def keys(n, first=0):
    return [f"q{number}" for number in range(first, first + n)]


@settings(max_examples=20)
@given(UNITS, st.integers(0, 5))
def test_rows_that_hang_together_anywhere_are_on_one_side(units, seed):
    n = len(units)
    # the second model has other questions in common
    chained = np.arange(n) // 2
    parts = [(keys(n), np.array(units)), (keys(n), chained)]
    sides = draw_split(parts, kind="grouped", seed=seed)
    # components by brute force: merge until nothing changes
    label = list(range(n))
    for _ in range(n):
        before = list(label)
        for group in (np.array(units), chained):
            for value in set(group.tolist()):
                members = np.flatnonzero(group == value)
                low = min(label[m] for m in members)
                for m in members:
                    label[m] = low
        if label == before:
            break
    for value in set(label):
        assert len({sides[f"q{m}"] for m in range(n) if label[m] == value}) == 1


@pytest.mark.parametrize("kind", ["permutation", "grouped"])
def test_a_tenth_tests_and_the_order_of_pairs_does_not_matter(kind):
    one, two = (keys(300), np.arange(300)), (keys(200, 150), np.arange(200))
    sides = draw_split([one, two], kind=kind, seed=1)
    assert [list(sides.values()).count(name) for name in ("train", "val", "test")] == [280, 35, 35]
    assert draw_split([two, one], kind=kind, seed=1) == sides
    assert draw_split([one, two], kind=kind, seed=2) != sides


@pytest.mark.parametrize("kind", ["permutation", "grouped"])
def test_what_was_dealt_stays_where_it_is(kind):
    first = draw_split([(keys(200), np.arange(200))], kind=kind, seed=0)
    more = [(keys(200), np.arange(200)), (keys(100, 150), np.arange(100))]
    second = draw_split(more, kind=kind, seed=0, known=first)
    assert {key: second[key] for key in first} == first
    assert len(second) == 250


def test_new_rows_go_where_those_are_that_they_hang_together_with():
    first = draw_split([(keys(200), np.arange(200))], kind="grouped", seed=0)
    twins = keys(400)
    second = draw_split([(twins, np.arange(400) % 200)], kind="grouped", seed=0, known=first)
    assert all(second[f"q{row + 200}"] == first[f"q{row}"] for row in range(200))
