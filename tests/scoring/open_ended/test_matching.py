"""Verdicts on answers, and confidences that were stated."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.scoring.answer_confidences import is_accepted, normalised, stated


@given(st.text())
def test_to_normalise_twice_is_to_normalise_once(text):
    assert normalised(normalised(text)) == normalised(text)


@pytest.mark.parametrize(
    ("answer", "accepted", "right"),
    [
        ("The Eiffel Tower.", ["eiffel tower"], True),
        ("Jean-Paul  Sartre", ["Jean Paul Sartre"], True),
        ("Rome", ["Paris", "rome!"], True),
        ("Rome, Italy", ["Rome"], False),
        ("A", ["A"], True),
        ("the", ["A"], False),
        ("", [""], False),
    ],
)
def test_exact_match_after_normalisation(answer, accepted, right):
    assert is_accepted(answer, accepted) is right


@given(st.integers(0, 100))
def test_whole_numbers_are_read(n):
    assert stated(str(n)) == stated(f" {n}%") == stated(f"{n} %.") == n / 100


@pytest.mark.parametrize(
    "reply", ["", "-5", "101", "1e1", "about 80", "80 or 90", "0.9", "1.0", "80%%", "eighty", "8０"]
)
def test_a_reply_that_states_no_number_is_no_confidence(reply):
    assert stated(reply) is None
