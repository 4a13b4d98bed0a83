"""Laws of what a correction leaves of a finding, and of the rule and the sentence that say what becomes of it."""

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
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.sizes import CORRECTED, NOT_KNOWN, REDUCED, WORSE, fate_of, hidden_size, holds_zero

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
        assert one.fate == CORRECTED


def test_a_correction_that_changes_nothing_leaves_what_was_hidden():
    rows, groups, _ = world()
    for one in find(rows, groups, corrected=rows).findings:
        assert one.after.value == one.hidden.value
        # that of `hidden` allows for the choice among all groups, too
        (low, high), (lowest, highest) = one.after.interval, one.hidden.interval
        assert lowest < highest < 0 or 0 < lowest < highest
        assert high - low < highest - lowest
        assert one.fate == NOT_KNOWN


def test_a_correction_that_goes_too_far_turns_a_finding_round():
    rows, groups, rate = world()
    f = rows.confidence
    twice = expit(2 * np.log(rate / (1 - rate)) - np.log(f / (1 - f)))
    for one in find(rows, groups, corrected=corrected_by(rows, twice)).findings:
        assert not holds_zero(one.after)
        assert (one.after.value < 0) == (one.sign == "under")
        assert one.fate != WORSE


def test_without_a_correction_nothing_is_said_of_it():
    rows, groups, _ = world()
    for one in find(rows, groups).findings:
        assert one.after == Measure(value=None)
        assert (one.fate, one.units_needed) == (None, None)


@given(st.integers(0, 1000), st.integers(1, 60), st.floats(0.01, 0.99))
def test_a_group_that_is_exactly_corrected_has_an_interval_that_holds_zero(seed, n, level):
    rng = np.random.default_rng(seed)
    y, weight = rng.integers(0, 2, n).astype(float), rng.uniform(0.2, 3, n)
    for own in (
        LabelledRows(y, y, np.full(n, y.mean())),
        LabelledRows.of(y, y, np.full(n, average(y, weight)), weight=weight),
    ):
        left = hidden_size(own, level)
        assert left.interval[0] <= 0 <= left.interval[1]
        assert abs(left.value) < 1e-9


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 1), st.integers(1, 10**6))
def test_the_fates_part_the_line_and_the_rows_that_are_needed_would_tell(before, one, two, n):
    low, high = sorted((one, two))
    told = lambda low, high: fate_of(Measure(value=before), Measure(value=0.0, interval=(low, high)), n)  # noqa: E731
    fate, needed = told(low, high)
    size, farthest = abs(before), max(-low, high)
    nearest = max(low, -high)
    assert fate in (CORRECTED, REDUCED, WORSE, NOT_KNOWN)
    assert (fate == CORRECTED) == (farthest <= size / 2 + 1e-12) or abs(farthest - size / 2) < 1e-9
    assert (fate == REDUCED) == (size / 2 < farthest < size) or abs(farthest - size) < 1e-9 or fate == CORRECTED
    assert (fate == WORSE) == (nearest > size) or abs(nearest - size) < 1e-9
    assert (
        fate == told(-high, -low)[0] == fate_of(Measure(value=-before), Measure(value=0.0, interval=(low, high)), n)[0]
    )
    assert needed is None or fate == NOT_KNOWN
    if needed is not None:
        middle, width = (low + high) / 2, (high - low) / 2 * np.sqrt(n / (1.01 * needed))
        assert told(middle - width, middle + width)[0] != NOT_KNOWN
        assert needed >= n
    assert fate_of(Measure(value=None), Measure(value=0.0, interval=(low, high)), n) == (None, None)
    assert fate_of(Measure(value=before), Measure(value=0.0, interval=(None, high)), n) == (None, None)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.4, 0.5, 0.7])
@pytest.mark.parametrize("known", [0.0, 1.0])
def test_intervals_of_what_is_left_cover_although_the_groups_were_chosen(known, shift):
    """Corrections that remove nothing of weak findings, or all: chance rarely makes these look uncorrected."""
    missed = uncorrected = found = 0
    for seed in range(150):
        rows, groups, rate = world(seed, 1_500, shift)
        odds, truth = (np.log(values / (1 - values)) for values in (rows.confidence, rate))
        corrected = corrected_by(rows, expit((1 - known) * odds + known * truth))
        for one in find(rows, groups, corrected=corrected).findings:
            inside = groups.rows(groups.conditions.index(one.condition))
            left = (rate - corrected.expected)[inside].mean()
            found += 1
            missed += not one.after.interval[0] <= left <= one.after.interval[1]
            uncorrected += not holds_zero(one.after)
    assert found >= 100
    assert binomtest(missed, found, 0.05, alternative="greater").pvalue > 0.01
    if known:
        assert binomtest(uncorrected, found, 0.05, alternative="greater").pvalue > 0.01
    else:
        assert uncorrected >= 0.85 * found
