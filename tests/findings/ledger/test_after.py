"""Laws of what a correction leaves of a finding, and of the rule and the sentence that say whether it mends it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.findings import Place
from miscal.findings.ledger import find, named_groups
from miscal.findings.ledger.sizes import hidden_size
from miscal.findings.mending import LEFT, MENDED, REVERSED, mending, mending_sentence

from .test_ledger import crossfitted


def world(seed=0, n=3_000, shift=1.6):
    """Outcomes, confidences, groups, true rates: one group is right far less often, another more often."""
    rng = np.random.default_rng(seed)
    kind, f = rng.choice(list("abcdef"), n), expit(rng.normal(0, 1.2, n))
    rate = expit(np.log(f / (1 - f)) + shift * (kind == "b") - shift * (kind == "a"))
    y = (rng.random(n) < rate).astype(float)
    return LabelledRows(y, f, crossfitted(y, f), row=np.arange(n)), named_groups({"kind": kind}), rate


def corrected_by(rows, confidence):
    return replace(rows, confidence=confidence, expected=crossfitted(rows.correct, confidence))


def test_a_correction_that_knows_the_truth_mends_every_finding():
    rows, groups, rate = world()
    findings = find(rows, groups, corrected=corrected_by(rows, rate)).findings
    assert {one.description for one in findings} == {"kind = a", "kind = b"}
    for one in findings:
        assert one.after.interval[0] < 0 < one.after.interval[1]
        assert abs(one.after.value) < abs(one.hidden.value) / 4


def test_a_correction_that_changes_nothing_leaves_what_was_hidden():
    rows, groups, _ = world()
    for one in find(rows, groups, corrected=rows).findings:
        assert one.after.value == one.hidden.value
        # that of `hidden` allows for the choice among all groups, too
        (low, high), (lowest, highest) = one.after.interval, one.hidden.interval
        assert lowest < low < high < highest
        assert mending(one.sign, one.after.interval) == LEFT


def test_a_correction_that_goes_too_far_turns_a_finding_round():
    rows, groups, rate = world()
    f = rows.confidence
    twice = expit(2 * np.log(rate / (1 - rate)) - np.log(f / (1 - f)))
    for one in find(rows, groups, corrected=corrected_by(rows, twice)).findings:
        assert mending(one.sign, one.after.interval) == REVERSED


def test_without_a_correction_nothing_is_said_of_it():
    rows, groups, _ = world()
    for one in find(rows, groups).findings:
        assert one.after == Measure(value=None)
        assert mending(one.sign, one.after.interval) is None


@given(st.integers(0, 1000), st.integers(1, 60), st.floats(0.01, 0.99))
def test_a_group_that_is_exactly_mended_has_an_interval_that_holds_zero(seed, n, level):
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 2, n).astype(float), rng.uniform(0.2, 3, n)
    for own in (
        LabelledRows(y, y, np.full(n, y.mean())),
        LabelledRows.of(y, y, np.full(n, average(y, weight)), weight=weight),
    ):
        left = hidden_size(own, level)
        assert left.interval[0] <= 0 <= left.interval[1]
        assert abs(left.value) < 1e-9


@given(st.sampled_from(["over", "under"]), st.floats(-1, 1), st.floats(-1, 1))
def test_the_rule_says_one_thing_of_every_interval_and_the_other_of_its_mirror(sign, one, two):
    low, high = sorted((one, two))
    state = mending(sign, (low, high))
    side = (high < 0) - (low > 0)
    assert state == {0: MENDED, 1: LEFT if sign == "over" else REVERSED, -1: REVERSED if sign == "over" else LEFT}[side]
    assert mending("under" if sign == "over" else "over", (-high, -low)) == state
    assert mending(sign, None) is mending(sign, (None, high)) is None


@given(st.lists(st.sampled_from([MENDED, LEFT, REVERSED]), min_size=1, max_size=9))
def test_the_sentence_counts_what_is_mended_and_names_only_what_is_not(states):
    places = [Place(f"rows with kind = v{i}", 0.1 if i % 2 else -0.1, None) for i in range(len(states))]
    words = mending_sentence(list(zip(states, places, strict=True)))
    mended, many = states.count(MENDED), len(states)
    if many > 1:
        count = "all" if mended == many else f"{mended or 'none'} of the"
        assert words.startswith(f"The correction mends {count} {many} findings: ")
    assert words.count(". ") == 0
    assert words.endswith(".")
    named = [states[i] for i in range(many) if f"v{i} (by" in words]
    assert MENDED not in named
    # three in all, those that are left before those that are turned round
    assert named.count(LEFT) == min(3, states.count(LEFT))
    assert named.count(REVERSED) == min(3 - named.count(LEFT), states.count(REVERSED))
    more = many - mended - len(named)
    assert (f"the report lists {more} more" in words) == (more > 0)


@pytest.mark.promise("V2")
@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.4, 0.5, 0.7])
@pytest.mark.parametrize("known", [0.0, 1.0])
def test_intervals_of_what_is_left_cover_although_the_groups_were_chosen(known, shift):
    """Corrections that mend nothing of weak findings, or all of it: chance rarely makes a mended one look unmended."""
    missed = unmended = found = 0
    for seed in range(150):
        rows, groups, rate = world(seed, 1_500, shift)
        odds, truth = (np.log(values / (1 - values)) for values in (rows.confidence, rate))
        corrected = corrected_by(rows, expit((1 - known) * odds + known * truth))
        for one in find(rows, groups, corrected=corrected).findings:
            inside = groups.rows(groups.conditions.index(one.condition))
            left = (rate - corrected.expected)[inside].mean()
            found += 1
            missed += not one.after.interval[0] <= left <= one.after.interval[1]
            unmended += mending(one.sign, one.after.interval) == LEFT
    assert found >= 100
    assert binomtest(missed, found, 0.05, alternative="greater").pvalue > 0.01
    if known:
        assert binomtest(unmended, found, 0.05, alternative="greater").pvalue > 0.01
    else:
        assert unmended >= 0.85 * found
