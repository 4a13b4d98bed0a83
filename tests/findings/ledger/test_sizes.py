"""The size of a finding, its interval, what a correction leaves of it, and what becomes of it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import average
from miscal.findings.ledger.blocks import Table
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.scan import scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.ledger.sizes import (
    CORRECTED,
    NOT_KNOWN,
    REDUCED,
    WORSE,
    GroupTest,
    fate_of,
    hidden_size,
    holds_zero,
    shrinkage,
    size,
)

from .test_ledger import crossfitted


def table(seed, *, n=900, shift=1.2):
    """Two columns; one value of each shifts the log-odds, and the values overlap."""
    rng = np.random.default_rng(seed)
    confidence = rng.uniform(0.2, 0.9, n)
    kind, place = rng.choice(list("abcde"), n), rng.choice(list("uvwxyz"), n)
    kind[(place == "u") & (rng.random(n) < 0.6)] = "a"
    odds = np.log(confidence / (1 - confidence)) + shift * ((kind == "a") - 1.0 * (place == "u"))
    correct = (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(float)
    return correct, confidence, {"kind": kind, "place": place}


def ledger(seed, settings=LEDGER_DEFAULTS, **options):
    correct, confidence, columns = table(seed, **options)
    rows = LabelledRows(correct, confidence, confidence, hidden=0 * correct, row=np.arange(len(correct)))
    return find(rows, named_groups(columns), settings=settings)


def test_a_group_beyond_all_doubt_has_a_size():
    kind, place = np.repeat(["a", "b", "c", "d"], 12_000), np.arange(48_000) % 100
    correct = np.where(kind == "a", place < 80, place < 50).astype(float)
    confidence = np.full(48_000, 0.575)
    rows = LabelledRows(correct, confidence, confidence, hidden=0 * correct, row=np.arange(48_000))
    one = find(rows, named_groups({"kind": kind})).findings[0]
    # the p-value is too small for a double
    assert one.p_value == 0
    low, high = one.conditional.interval
    assert 0.28 < low < one.conditional.value < high < 0.32


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.floats(0.4, 2.0))
def test_an_interval_excludes_zero_exactly_where_the_test_rejects(seed, shift):
    found = ledger(seed, shift=shift)
    for one in found.findings:
        assert one.p_adjusted <= 0.05
        low, high = one.conditional.interval
        assert low > 0 or high < 0
        assert low <= one.conditional.value <= high
        assert (one.conditional.value < 0) == (one.sign == "over")
        # it shows by itself, or together with one above it
        low, high = one.hidden.interval
        assert low <= one.hidden.value <= high
        assert (low <= 0 <= high) == (one.together_with is not None)
        assert one.together_with is None or one.together_with <= found.findings.index(one)
        assert one.together_with is not None or (one.hidden.value < 0) == (one.sign == "over")
    for one in found.accounted:
        if one.conditional.value is not None and (one.conditional.value < 0) == (one.sign == "over"):
            low, high = one.conditional.interval
            assert low <= 0 <= high


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_the_first_size_is_the_difference_from_other_rows_of_the_stratum(seed):
    correct, confidence, columns = table(seed)
    confidence = np.full(len(correct), 0.5)
    groups = named_groups(columns)
    for one in scan(Table(LabelledRows(correct, confidence, confidence), groups)).chosen[:1]:
        inside = groups.rows(one.group)
        # with one confidence the strata are cut at random, so that only nearly equal numbers can be asked for, and of
        # few rows not even these
        assume(inside.sum() >= 60)
        plain = correct[inside].mean() - correct[~inside].mean()
        assert abs(one.conditional.value - plain * shrinkage(abs(one.z), 3.0)) < 0.1


@given(st.floats(0.05, 0.95), st.floats(0.02, 0.98), st.floats(0.02, 0.98))
def test_a_size_is_the_difference_of_two_rates_however_large_the_group_is(share, own, others):
    inside = np.arange(4_000) < 4_000 * share
    rate = np.where(inside, own, others)
    factors = inside - inside.mean()
    expected = np.full(4_000, rate.mean())
    variance = float(np.sum(factors**2 * expected * (1 - expected)))
    total = float(factors @ (rate - expected))
    z = total / np.sqrt(variance)
    found = size(GroupTest(factors, total, variance, z, 1e-3), expected, direction=factors)
    assert found.value == pytest.approx(shrinkage(abs(z), 1e-3) * (own - others), abs=1e-6)


@given(st.floats(-6, 6), st.floats(0.02, 0.98), st.floats(2.0, 4.5))
def test_no_end_is_beyond_what_chances_allow(z, rate, least):
    factors, variance = (np.arange(100) < 40) - 0.4, 24 * rate * (1 - rate)
    found = size(GroupTest(factors, z * np.sqrt(variance), variance, z, least), np.full(100, rate), direction=factors)
    low, high = found.interval
    assert -1 <= low <= found.value <= high <= 1


def test_a_flipped_table_has_the_flipped_size():
    factors, rate = (np.arange(200) < 60) - 0.3, np.linspace(0.1, 0.8, 200)
    variance = float(np.sum(factors**2 * rate * (1 - rate)))
    z = 11 / np.sqrt(variance)
    one = size(GroupTest(factors, 11.0, variance, z, 3.0), rate, direction=factors)
    other = size(GroupTest(factors, -11.0, variance, -z, 3.0), 1 - rate, direction=factors)
    assert one.value == pytest.approx(-other.value)
    assert one.interval == pytest.approx((-other.interval[1], -other.interval[0]))


def test_shrinkage_falls_towards_the_cut_and_leaves_what_was_not_chosen():
    parts = [shrinkage(z, 3.5) for z in np.linspace(3.51, 9, 40)]
    assert np.all(np.diff(parts) >= 0)
    assert 0.5 < parts[0] < 0.6
    assert parts[-1] == pytest.approx(1, abs=1e-3)
    assert shrinkage(3.0, 3.5) == 1.0


@pytest.mark.slow
def test_sizes_of_chosen_groups_are_not_inflated_and_intervals_cover():
    """One of 5 values is 14 points off at 300 rows: plain sizes of what is found are far too large."""
    plain, told, covered = [], [], []
    for seed in range(600):
        rng = np.random.default_rng(seed)
        kind = rng.choice(list("abcdefgh"), 300)
        correct = (rng.random(300) < np.where(kind == "a", 0.7, 0.5)).astype(float)
        half = np.full(300, 0.5)
        rows = LabelledRows(correct, half, half, hidden=0 * half, row=np.arange(300))
        for one in find(rows, named_groups({"kind": kind}), seed=seed).findings:
            if one.description == "kind = a":
                plain.append(one.hidden.value)
                told.append(one.conditional.value)
                covered.append(one.conditional.interval[0] <= 0.2 <= one.conditional.interval[1])
    assert len(plain) >= 50
    assert np.mean(plain) > 0.27
    assert abs(np.mean(told) - 0.2) < 0.5 * (np.mean(plain) - 0.2)
    assert np.mean(covered) >= 0.95


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_what_is_left_is_no_larger_than_the_finding_where_nothing_is_corrected(seed):
    correct, confidence, columns = table(seed)
    rows = LabelledRows(correct, confidence, confidence, hidden=0 * correct, row=np.arange(len(correct)))
    for one in find(rows, named_groups(columns), corrected=rows).findings:
        low, high = one.after.interval
        assert low <= one.after.value <= high
        assert abs(one.after.value) <= abs(one.hidden.value) + 1e-12


def kinds_world(seed=0, n=3_000, shift=1.6):
    """Outcomes, confidences, groups, true rates: one group is right far less often, another more often."""
    rng = np.random.default_rng(seed)
    kind, f = rng.choice(list("abcdef"), n), expit(rng.normal(0, 1.2, n))
    rate = expit(np.log(f / (1 - f)) + shift * (kind == "b") - shift * (kind == "a"))
    y = (rng.random(n) < rate).astype(float)
    return LabelledRows(y, f, crossfitted(y, f), row=np.arange(n)), named_groups({"kind": kind}), rate


def corrected_by(rows, confidence):
    return replace(rows, confidence=confidence, expected=crossfitted(rows.correct, confidence))


def test_a_correction_that_knows_the_truth_mends_every_finding():
    rows, groups, rate = kinds_world()
    findings = find(rows, groups, corrected=corrected_by(rows, rate)).findings
    assert {one.description for one in findings} == {"kind = a", "kind = b"}
    for one in findings:
        assert one.after.interval[0] < 0 < one.after.interval[1]
        assert abs(one.after.value) < abs(one.hidden.value) / 4
        assert one.fate == CORRECTED


def test_a_correction_that_changes_nothing_leaves_what_was_hidden():
    rows, groups, _ = kinds_world()
    for one in find(rows, groups, corrected=rows).findings:
        assert one.after.value == one.hidden.value
        # that of `hidden` allows for the choice among all groups, too
        (low, high), (lowest, highest) = one.after.interval, one.hidden.interval
        assert lowest < highest < 0 or 0 < lowest < highest
        assert high - low < highest - lowest
        assert one.fate == NOT_KNOWN


def test_a_correction_that_goes_too_far_turns_a_finding_round():
    rows, groups, rate = kinds_world()
    f = rows.confidence
    twice = expit(2 * np.log(rate / (1 - rate)) - np.log(f / (1 - f)))
    for one in find(rows, groups, corrected=corrected_by(rows, twice)).findings:
        assert not holds_zero(one.after)
        assert (one.after.value < 0) == (one.sign == "under")
        assert one.fate != WORSE


def test_without_a_correction_nothing_is_said_of_it():
    rows, groups, _ = kinds_world()
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
        rows, groups, rate = kinds_world(seed, 1_500, shift)
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
