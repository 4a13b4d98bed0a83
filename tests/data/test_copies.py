"""A file that holds every row several times."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.data.splits import copies
from miscal.data.triples import Triples
from miscal.discovery.estimating import prepare

N = 120


def rows(seed=0, **beside):
    rng = np.random.default_rng(seed)
    f = rng.choice([0.6, 0.8, 0.9], N)
    X = rng.integers(0, 3, (N, 2)).astype(float)
    return Triples.of(X, confidence=f, correct=np.arange(N) % 2, **beside)


NUMBERED = {"metadata": {"number": np.arange(N), "name": np.array([f"row {i}" for i in range(N)], dtype=object)}}


@given(times=st.integers(2, 4), seed=st.integers(0, 99))
def test_every_copy_has_the_number_of_its_row_in_whatever_order(times, seed):
    order = np.random.default_rng(seed).permutation(np.tile(np.arange(N), times))
    found = copies(rows(**NUMBERED).take(order))
    assert found.times == times
    assert len(set(zip(order.tolist(), found.row.tolist(), strict=True))) == N


def test_rows_of_few_categories_that_agree_are_no_copies():
    assert copies(rows()) is None
    assert copies(rows(**NUMBERED)) is None
    # one row more than a whole number of copies
    assert copies(rows(**NUMBERED).take(np.r_[np.tile(np.arange(N), 3), 0])) is None


@pytest.mark.parametrize("column", ["text", "metadata"])
def test_rows_that_differ_in_a_text_or_in_metadata_are_no_copies(column):
    some = rows().take(np.tile(np.arange(N), 2))
    names = [f"row {i}" for i in range(2 * N)]
    beside = {"text": names} if column == "text" else {"metadata": {"name": np.array(names, dtype=object)}}
    assert copies(some) is not None
    parts = {"confidence": some.confidence, "correct": some.correct}
    assert copies(Triples.of(some.X, **parts, **beside)) is None


def test_copies_count_as_one_unless_groups_are_named():
    twice = rows(**NUMBERED).take(np.tile(np.arange(N), 2))
    grouped, order, _ = prepare(twice, "all", 0)
    group = grouped.group[np.argsort(order)]
    assert (group[:N] == group[N:]).all()
    assert len(set(grouped.group.tolist())) == N
    assert prepare(rows(**NUMBERED), "all", 0)[0].group is None
