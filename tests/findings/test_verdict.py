"""The verdict says what the claim allows, word for word, and what the test set could have detected."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.evidence.certificates import Certificate
from miscal.evidence.limits import Bound
from miscal.evidence.power import DetectablePlace
from miscal.findings import Place
from miscal.findings import verdict as verdict_of

FOUND = "Hidden miscalibration was found, "
UNLOCATED = "There is hidden structure, "
NOT_CONFIRMED = "Hidden miscalibration was not confirmed: "
NOT_FOUND = "No hidden miscalibration was found: "
NO_DIAGRAM = "What no reliability diagram shows: compared with rows of equal confidence, the model is right "
UNLEARNED = "from which nothing was learned"
JUDGED = "each judged by a field that had not seen its outcome"


def claim(structure=True, limit=0.04, p_value=0.01, n=500, detectable=0.05, p_structure=None):
    hidden = Bound(limit, limit, p_value)
    return Certificate.of(hidden, hidden, n=n, detectable=detectable, p_structure=p_structure), structure


def verdict(claim, *args, **options):
    proof, structure = claim
    return verdict_of(proof, *args, structure=structure, **options)


probabilities = st.floats(1e-6, 1)


@given(
    st.booleans(), st.floats(0, 0.2), probabilities, probabilities, st.one_of(st.none(), st.floats(0.001, 1))
)  # fmt: skip
def test_each_outcome_has_its_own_opening_and_only_a_located_one_gives_a_limit(
    structure, limit, p_field, p_structure, detectable
):
    told = claim(structure, limit, p_field, detectable=detectable, p_structure=p_structure)
    words = verdict(told)
    located = told[0].p_value < 0.05 and p_field < 0.05
    unlocated = told[0].p_value < 0.05 and not located
    assert words.startswith(FOUND if located else UNLOCATED if unlocated else NOT_CONFIRMED if structure else NOT_FOUND)
    assert ("at least" in words) == (located and limit > 0)
    assert ("would have been found" in words or "from chance" in words) == (not told[0].claims_hidden)
    assert ("could not be located yet" in words) == unlocated
    assert words.count(". ") == 1 + unlocated + ("That presumes" in words)
    assert words.endswith(".")
    assert "there is none" not in words
    assert "\n" not in words


@pytest.mark.parametrize(
    ("given_claim", "places", "evidence", "words"),
    [
        (
            claim(limit=0.0429, n=1_000),
            [Place('"law"', -0.2), Place('"sums"', 0.01), Place('"art"', 0.005), Place('"food"', 0.04)],
            "test",
            f'{NO_DIAGRAM}less often on "law" (by 20 points), and more often on "sums" (by 1 point) and '
            f'"art" (by 0.5 points). On the 1,000 test rows, {UNLEARNED}, hidden miscalibration averages at least 4.2 '
            "points (95 % confidence limit).",
        ),
        (
            claim(),
            [],
            "all",
            f"{FOUND}which no reliability diagram can show. On 500 rows, {JUDGED}, hidden miscalibration averages at "
            "least 4.0 points (95 % confidence limit), but no single part of the data could be confirmed on its own.",
        ),
        (
            claim(structure=False, limit=0.0, p_value=1.0),
            [],
            "test",
            f"{NOT_FOUND}the inputs did not help to predict errors beyond what the confidence says (p = 1). On the "
            f"500 test rows, {UNLEARNED}, an average of 5.0 points or more would have been found with 80 % power at "
            "best. That presumes errors of one size on all rows, in both directions, and a field that knows the "
            "direction on every row.",
        ),
        (
            claim(limit=0.0, p_value=0.2, detectable=None),
            [],
            "all",
            f"{NOT_CONFIRMED}what the estimator found does not show in rows that it had not seen "
            "(p = 0.2). As many rows as these, 500, cannot tell such miscalibration from chance.",
        ),
    ],
    ids=["places", "spread", "none", "unconfirmed"],
)
def test_the_whole_verdict(given_claim, places, evidence, words):
    assert verdict(given_claim, places, evidence=evidence) == words


@pytest.mark.parametrize("structure", [True, False])
@pytest.mark.parametrize("limit", [0.0, 0.04])
def test_test_rows_are_spoken_of_only_where_there_are_some(structure, limit):
    for groups in ([], [Place("a = 1", 0.1)]):
        assert "test rows" not in verdict(claim(structure, limit), [], groups, evidence="all")
        assert JUDGED not in verdict(claim(structure, limit), [], groups, evidence="test")


def test_named_groups_come_before_parts_and_are_told_although_the_field_is_not_confirmed():
    groups = [
        Place("rows with subject = law", -0.14),
        Place('rows with "china" in the text', 0.48),
        Place("a cluster of 40 similar inputs", 0.2),
        Place("rows with b = 1", 0.1),
    ]
    which = (
        f"{NO_DIAGRAM}less often on rows with subject = law (by 14 points), and more often on rows with "
        '"china" in the text (by 48 points) and a cluster of 40 similar inputs (by 20 points); the '
        "report lists 1 more. "
    )
    assert verdict(claim(), [Place('"parts"', 0.1)], groups).startswith(f"{which}On the 500 test rows")
    silent = claim(structure=False, limit=0.0, p_value=1.0)
    assert verdict(silent, [], groups) == f"{which}Beyond such groups, the estimated field claims nothing hidden."
    unconfirmed = verdict(claim(limit=0.0, p_value=0.2), [], groups[:1])
    assert unconfirmed.endswith(f"The estimated field as a whole was not confirmed on the 500 test rows, {UNLEARNED}.")
    assert "was not found" not in unconfirmed
    assert "No hidden" not in unconfirmed


@given(st.floats(1e-9, 1))
def test_the_limit_in_words_is_positive_never_exceeds_the_number_and_is_near_it(limit):
    said = float(re.search(r"at least (\S+) ", verdict(claim(limit=limit)))[1])
    assert said > 0
    # 0.148 is 14.8 points, though 100 times its double is a little less
    assert said <= 100 * limit * (1 + 0.05 * (limit < 0.001)) + 1e-9
    assert said >= 100 * limit - 0.1


def test_what_denied_the_claim_is_said_and_a_limit_of_zero_denies_nothing():
    assert "does not show in rows that it had not seen (p = 0.2)" in verdict(claim(p_value=0.2, limit=0.0))
    found = verdict(claim(p_value=0.0009, limit=0.0))
    assert found.startswith(FOUND)
    assert "it is beyond chance (p = 0.0009), but no lower limit of its average size is above 0" in found
    assert "not confirmed" not in found


def test_where_only_the_second_test_rejects_no_place_is_named_and_groups_still_are():
    told = claim(structure=False, limit=0.0, p_value=0.6, p_structure=0.001)
    words = verdict(told, [Place('"law"', -0.1)])
    assert words.startswith(UNLOCATED)
    assert "law" not in words
    grouped = verdict(told, [], [Place("rows with subject = law", -0.14)])
    assert "less often on rows with subject = law" in grouped
    assert "(p = 0.0013), but the estimated field as a whole was not confirmed by itself" in grouped


def test_an_unconfirmed_structure_is_told_apart_from_none():
    assert "confirm" not in verdict(claim(structure=False, p_value=0.6, limit=0.0))
    assert "beyond what the confidence says" not in verdict(claim(p_value=0.4, limit=0.0))


def learned(halves, cluster):
    """What the kernel score would have found in halves, by its average, and in a cluster, by its size."""
    return (
        DetectablePlace(place="halves", share=1, size=halves, average=halves),
        DetectablePlace(place="cluster", share=0.12, size=cluster, average=cluster and cluster / 5),
    )


sizes = st.one_of(st.none(), st.floats(0.001, 1))


@given(sizes, sizes, sizes)
def test_what_would_be_found_is_said_for_known_and_unknown_places_and_the_best_case_is_never_the_larger(
    best, halves, cluster
):
    silent = claim(limit=0.0, p_value=0.6, detectable=best)
    words = verdict((silent[0].model_copy(update={"detectable_learned": learned(halves, cluster)}), True))
    assert ("two halves of the inputs" in words) == (halves is not None)
    assert ("within one cluster of similar inputs with 12 % of the rows" in words) == (cluster is not None)
    assert ("at best" in words) == (best is not None and (halves is None or halves >= best))
    assert ("not even the largest errors" in words) == (best is not None and halves is cluster is None)
    assert ("from chance" in words) == (best is halves is cluster is None)
    assert words.count(" 80 % power") == ("from chance" not in words)
