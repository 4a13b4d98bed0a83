"""The verdict says what the claim allows, word for word, and what the test set could have detected."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.evidence.certificates import Certificate
from miscal.evidence.claim import Claim
from miscal.evidence.limits import Bound
from miscal.findings import Place, verdict

FOUND = "Hidden miscalibration was found, "
NOT_CONFIRMED = "Hidden miscalibration was not confirmed: "
NOT_FOUND = "No hidden miscalibration was found: "


def claim(structure=True, limit=0.04, p_value=0.01, n=500, detectable=0.05):
    hidden = Bound(limit, limit, p_value)
    return Claim(structure, Certificate(total=hidden, hidden=hidden, detectable=detectable, n=n))


@given(st.booleans(), st.floats(0, 0.2), st.floats(0, 1), st.one_of(st.none(), st.floats(0.001, 1)))
def test_each_outcome_has_its_own_opening_and_only_a_confirmed_one_gives_a_limit(structure, limit, p_value, detectable):
    words = verdict(claim(structure, limit, p_value, detectable=detectable))
    confirmed = structure and limit > 0 and p_value < 0.05
    assert words.startswith(FOUND if confirmed else NOT_CONFIRMED if structure else NOT_FOUND)
    assert ("at least" in words) == confirmed
    assert ("This test set of 500 rows" in words) != confirmed
    assert words.endswith(".")
    assert "there is none" not in words
    assert "\n" not in words


@pytest.mark.parametrize(
    ("given_claim", "places", "words"),
    [
        (
            claim(limit=0.0429, n=1_000),
            [Place('"law"', -0.2), Place('"sums"', 0.1), Place('"art"', 0.05), Place('"food"', 0.04)],
            "Hidden miscalibration was found, which no reliability diagram can show. On the 1,000 test rows, from "
            "which nothing was learned, its average size is at least 0.042 (one-sided 95 % confidence limit). Compared "
            'with rows of similar confidence, the model is right less often on "law" (by 0.20), more often on "sums" '
            '(by 0.10) and more often on "art" (by 0.05).',
        ),
        (
            claim(),
            [],
            "Hidden miscalibration was found, which no reliability diagram can show. On the 500 test rows, from "
            "which nothing was learned, its average size is at least 0.040 (one-sided 95 % confidence limit). No "
            "single part of the data could be confirmed on its own.",
        ),
        (
            claim(structure=False, limit=0.0, p_value=1.0),
            [],
            "No hidden miscalibration was found: on the rows used for learning, the inputs did not help to predict "
            "errors beyond what the confidence says. This test set of 500 rows would have detected an average size of "
            "0.050 or more with 80 % power, provided that the estimated field had the right sign on every row.",
        ),
        (
            claim(limit=0.0, p_value=0.2, detectable=None),
            [],
            "Hidden miscalibration was not confirmed: the estimator found some on the rows used for learning, but the "
            "test rows do not confirm it (p = 0.2). This test set of 500 rows is too small to have detected any hidden "
            "miscalibration.",
        ),
    ],
    ids=["places", "spread", "none", "unconfirmed"],
)
def test_the_whole_verdict(given_claim, places, words):
    assert verdict(given_claim, places) == words


def test_named_groups_come_before_parts_and_are_told_although_the_field_is_not_confirmed():
    groups = [
        Place("subject = law", -0.14),
        Place('"china" in the text', 0.48),
        Place("a = 1", 0.2),
        Place("b = 1", 0.1),
    ]
    which = (
        "Compared with rows of equal confidence, the model is right less often on rows with subject = law (by 0.14), "
        'more often on rows with "china" in the text (by 0.48) and more often on rows with a = 1 (by 0.20). The report '
        "lists 1 more."
    )
    assert verdict(claim(), [Place('"parts"', 0.1)], groups).endswith(f"confidence limit). {which}")
    silent = claim(structure=False, limit=0.0, p_value=1.0)
    assert verdict(silent, [], groups) == (
        f"Hidden miscalibration was found in groups that can be named; no reliability diagram can show it. {which} "
        "Beyond such groups, the estimated field claims nothing hidden."
    )
    unconfirmed = verdict(claim(limit=0.0, p_value=0.2), [], groups[:1])
    assert unconfirmed.endswith("The estimated field as a whole was not confirmed on the test rows.")
    assert "was not found" not in unconfirmed
    assert "No hidden" not in unconfirmed


@given(st.floats(1e-9, 1))
def test_the_limit_in_words_is_positive_never_exceeds_the_number_and_is_near_it(limit):
    said = float(re.search(r"at least (\S+) ", verdict(claim(limit=limit)))[1])
    assert said > 0
    assert said <= limit * (1 + 0.05 * (limit < 0.001))
    assert said >= limit - 0.001


def test_what_denied_the_claim_is_said():
    assert "do not confirm it (p = 0.2)" in verdict(claim(p_value=0.2, limit=0.0))
    assert "do not confirm it (p = 0.03, but the lower limit is 0)" in verdict(claim(p_value=0.03, limit=0.0))


def test_an_unconfirmed_structure_is_told_apart_from_none():
    assert "confirm" not in verdict(claim(structure=False, p_value=1.0, limit=0.0))
    assert "beyond what the confidence says" not in verdict(claim(p_value=0.4, limit=0.0))
