"""Samples of a task's rows."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.scoring.command import draw

CATEGORIES = st.lists(st.sampled_from(["law", "art", "physics", None]), min_size=1, max_size=60)


def ids(n: int) -> list[str]:
    return [f"q{row}" for row in range(n)]


@given(CATEGORIES, st.integers(1, 70), st.integers(0, 2**70))
def test_each_category_has_its_share_rounded_up_or_down(categories, limit, seed):
    n = len(categories)
    rows, sample = draw(ids(n), {"category": categories}, limit, seed)
    assert rows == sorted(set(rows))
    assert len(rows) == min(limit, n)
    assert (sample is None) == (limit >= n)
    drawn = Counter(categories[row] for row in rows)
    for name, size in Counter(categories).items():
        assert abs(drawn[name] - size * min(limit, n) / n) < 1


@given(CATEGORIES, st.integers(0, 9), st.randoms())
def test_the_order_of_the_rows_changes_nothing(categories, seed, random):
    order = list(range(len(categories)))
    random.shuffle(order)
    names = ids(len(categories))
    limit = (len(names) + 1) // 2
    straight, _ = draw(names, {"category": categories}, limit, seed)
    shuffled, _ = draw([names[k] for k in order], {"category": [categories[k] for k in order]}, limit, seed)
    assert {names[row] for row in straight} == {names[order[row]] for row in shuffled}


@pytest.mark.parametrize("columns", [{}, {"category": ["law"] * 5 + ["art"] * 15}])
def test_every_row_has_the_same_chance(columns):
    n_seeds, drawn = 2000, Counter()
    for seed in range(n_seeds):
        drawn.update(draw(ids(20), columns, 6, seed)[0])
    expected = n_seeds * 6 / 20
    assert all(abs(drawn[row] - expected) < 4.5 * (expected * 0.7) ** 0.5 for row in range(20))


def test_the_first_known_column_is_taken():
    columns = {"source": ["x"] * 4, "subject": list("abab"), "category": list("cccd")}
    assert draw(ids(4), columns, 2, 0)[1].strata == "category"
    assert draw(ids(4), {"source": ["x"] * 4}, 2, 0)[1].strata is None
