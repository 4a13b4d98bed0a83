"""Laws of slopes: a group whose confidence says less is found as such, and a shift is never called a slope."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit

from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.ledger import LEDGER_DEFAULTS, SHIFT, SLOPE, find, named_groups
from miscal.findings.ledger.blocks import RowTable
from miscal.findings.ledger.exact import Strata, exact_slope_p_value
from miscal.findings.ledger.scan import _Scan, scan
from miscal.findings.ledger.slopes import bins_of, slope_left, thirds
from miscal.findings.verdict import HARDLY, how_much

from .test_ledger import crossfitted

N = 4_000
GROUP = "kind = v0"


def table_of(seed, own, n=N, groups=12):
    """Groups of equal size, and outcomes whose log-odds `own` makes of those of the rows of the first group."""
    rng = np.random.default_rng(seed)
    kind = np.array([f"v{i}" for i in rng.integers(0, groups, n)], object)
    f = expit(rng.normal(0.8, 1.3, n))
    odds = np.where(kind == "v0", own(logit(f)), logit(f))
    y = (rng.random(n) < expit(odds)).astype(float)
    return named_groups({"kind": kind, "size": rng.normal(size=n)}), LabelledRows(
        y, f, crossfitted(y, f), row=np.arange(n)
    )


def effects(found, groups):
    return [(groups.descriptions[one.group], one.effect, np.sign(one.z)) for one in found.chosen]


@pytest.mark.parametrize(
    ("own", "told"),
    [
        (lambda odds: 0.8 + 0 * odds, [(GROUP, SLOPE, -1)]),
        (lambda odds: 0.8 + 3 * (odds - 0.8), [(GROUP, SLOPE, 1)]),
        (lambda odds: odds - 1.5, [(GROUP, SHIFT, -1)]),
        (lambda odds: logit(np.clip(expit(odds) - 0.25, 0.01, 1)), [(GROUP, SHIFT, -1)]),
    ],
    ids=["says nothing", "says more", "lower odds", "fewer points"],
)
def test_a_slope_is_found_as_a_slope_and_a_shift_as_a_shift(own, told):
    groups, rows = table_of(0, own)
    assert effects(scan(rows, groups), groups) == told


@pytest.mark.parametrize("level", [-2.0, -1.0, -0.3])
def test_a_shift_and_a_slope_of_the_same_rows_are_one_finding(level):
    groups, rows = table_of(0, lambda odds: level + 0 * odds)
    found = find(rows, groups)
    [one] = found.findings
    assert (one.description, one.effect, one.before) == (GROUP, SHIFT, one.hidden)
    assert how_much(one) == HARDLY
    [value] = [one for one in found.values if one.slope_mark == "finding"]
    assert (value.condition.words, value.mark, value.finding, value.slope_finding) == (GROUP, "finding", 1, 1)


def test_the_finding_tells_the_rows_and_what_is_left():
    groups, rows = table_of(0, lambda odds: 0.8 + 0 * odds)
    inside = groups.rows(groups.places[next(one for one in groups.conditions if one.words == GROUP)])
    truth = np.where(inside, expit(0.8), rows.confidence)
    corrected = replace(rows, confidence=truth, expected=truth)
    found = find(rows, groups, corrected=corrected)
    [slope] = found.findings
    assert (slope.description, slope.effect, slope.sign) == (GROUP, SLOPE, "over")
    low, high = slope.conditional.interval
    # the truth: no rise in the group, where rows of equal confidence rise by about 53 points between the thirds
    assert low < -0.5 < high < 0
    parts = thirds(rows.confidence[inside])
    for told, part in zip((slope.lower, slope.upper), parts, strict=True):
        own = rows.take(inside).take(part)
        assert told.n == part.sum()
        assert told.accuracy.value == pytest.approx(own.correct.mean())
        assert told.confidence == pytest.approx(own.confidence.mean())
        assert told.accuracy.interval[0] < told.accuracy.value < told.accuracy.interval[1]
    assert sum(one.n for one in slope.curve) == slope.n
    assert np.all(np.diff([one.confidence for one in slope.curve]) > 0)
    low, high = slope.after.interval
    assert low < 0 < high
    # what nothing corrects is all left
    [same] = find(rows, groups, corrected=rows).findings
    assert same.after.interval[1] < 0


def test_the_table_of_a_column_marks_slopes():
    groups, rows = table_of(0, lambda odds: 0.8 + 0 * odds)
    values = find(rows, groups).values
    [own] = [one for one in values if one.slope_mark == "finding"]
    assert (own.condition.words, own.slope_finding, own.mark) == (GROUP, 1, "not distinguishable")
    for one in values:
        assert (one.slope.value is None) == (one.slope_mark in ("too few rows", "not tested"))
        if one.slope.value is not None:
            low, high = one.slope.interval
            assert low <= one.slope.value <= high


def test_without_a_share_of_the_error_no_slope_is_a_candidate():
    groups, rows = table_of(0, lambda odds: 0.8 + 0 * odds)
    assert effects(scan(rows, groups, settings=replace(LEDGER_DEFAULTS, slope_share_of_error=0)), groups) == []


@settings(max_examples=10)
@given(st.integers(0, 1_000), st.sampled_from([0.4, 1.0, 2.5]))
def test_the_sum_of_a_slope_is_uncorrelated_with_that_of_its_group_and_rises_with_no_transformation(seed, power):
    groups, rows = table_of(seed, lambda odds: odds, n=300, groups=4)
    one, other = (
        _Scan(RowTable(LabelledRows(rows.correct, f, rows.expected), groups), 0, LEDGER_DEFAULTS, 1.0)
        for f in (rows.confidence, rows.confidence**power)
    )
    [block] = one.blocks
    assert one.total == pytest.approx(other.total)
    for candidate in np.flatnonzero(one.is_slope):
        across = block.strata.covariances(block.columns, block.columns.dense(candidate))
        assert across[one.of[candidate]] == pytest.approx(0, abs=1e-9)
        assert across[candidate] == pytest.approx(one.variance[candidate])


def test_the_exact_law_is_that_of_redrawn_outcomes():
    rng = np.random.default_rng(0)
    stratum = np.repeat(np.arange(12), 8)
    inside, score = rng.random(96) < 0.4, stratum / 12
    y = (rng.random(96) < 0.5).astype(float)
    seen = []
    p = exact_slope_p_value(y, inside, stratum, score, 1.0)
    strata = Strata.of(stratum, y, np.ones(96))
    column = np.where(inside, score, 0.0)
    weight = strata.factors(strata.scatter * strata.factors(inside.astype(float)))
    factors = strata.factors(np.where(inside, score - (column @ weight) / (inside @ weight), 0.0))
    for _ in range(4_000):
        shuffled = y[np.lexsort((rng.random(96), stratum))]
        seen.append(factors @ shuffled)
    tail = np.mean(np.array(seen) >= factors @ y - 1e-9)
    assert p == pytest.approx(min(1.0, 2 * tail), rel=0.2)


@given(st.lists(st.sampled_from([0.1, 0.5, 0.6, 0.9]), min_size=1, max_size=30))
def test_thirds_are_apart_and_keep_equal_confidences_together(values):
    confidence = np.array(values)
    parts = thirds(confidence)
    if parts is None:
        assert np.ptp(confidence) == 0
        return
    lower, upper = parts
    assert not lower.all()
    assert lower.any()
    assert upper.any()
    assert confidence[lower].max() < confidence[upper].min()
    assert len(set(confidence[lower]) & set(confidence[~lower])) == 0
    assert len(set(confidence[upper]) & set(confidence[~upper])) == 0
    half = np.full(len(confidence), 0.5)
    own = LabelledRows(half.round(), confidence, half)
    _, curve = bins_of(own, 0.05)
    assert sum(one.n for one in curve) == len(confidence)


def test_nothing_is_left_to_say_of_one_confidence():
    half = np.full(10, 0.5)
    assert slope_left(LabelledRows(half, half, half), half > 0, half, 0.05).value is None


STATED, RIGHT = np.array([0.5, 0.7, 0.8, 0.9, 0.99]), np.array([0.6, 0.45, 0.75, 0.7, 0.9])


def null_table(world, seed, n=600):
    """A table in which nothing is hidden; in the world "shifted", nothing but a shift of the odds of one group."""
    rng = np.random.default_rng((seed, 71))
    place, score = rng.integers(0, 8, n), rng.normal(size=n)
    score = score / 2 + place / 3 - 1
    f = expit(0.6 + score)
    rate = f
    if world == "concentrated":
        f = rate = expit(place / 2 - 2 + 0.2 * score)
    elif world == "saturated":
        f = rate = expit(4 + 2 * score)
    elif world == "non-monotone":
        rate = 0.5 + 0.4 * np.sin(3 * np.pi * f)
    elif world == "stated":
        at = rng.integers(0, 5, n)
        f, rate = STATED[at], RIGHT[at]
    elif world == "shifted":
        rate = expit(logit(f) - 1.2 * (place == 0))
    y = (rng.random(n) < rate).astype(float)
    groups = named_groups({"kind": np.array([f"v{i}" for i in place], object), "size": rng.normal(size=n)})
    return groups, LabelledRows(y, f, crossfitted(y, f))


def false_draws(world, draws):
    """Draws in which anything is named, and those in which a slope is."""
    anything = slopes = 0
    for seed in range(draws):
        groups, rows = null_table(world, seed)
        named = [one.effect for one in scan(rows, groups, seed=seed).chosen]
        anything, slopes = anything + bool(named), slopes + (SLOPE in named)
    return anything, slopes


WORLDS = ("calibrated", "concentrated", "saturated", "non-monotone", "stated", "shifted")


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_no_slope_is_named_where_none_is(world):
    anything, slopes = false_draws(world, 300)
    # a binomial test at 1 % of a rate of 5 %
    assert slopes <= 24
    assert anything <= 24 or world == "shifted"


@pytest.mark.parametrize("seed", range(3))
def test_the_interval_of_a_slope_excludes_0_where_its_test_rejects_given_other_findings_too(seed):
    rng = np.random.default_rng(seed)
    place, form = rng.choice(["south", "north"], 3_000), rng.choice(["a", "b", "c"], 3_000)
    f = rng.uniform(0.05, 0.95, 3_000)
    south = place == "south"
    odds = np.where(south, (0.6 + 0.1 * seed) * logit(f), logit(f)) - 1.5 * (south & (form == "a") & (f < 0.5))
    y = (rng.random(3_000) < expit(odds)).astype(float)
    groups = named_groups({"place": place, "form": form})
    one = _Scan(RowTable(LabelledRows(y, f, crossfitted(y, f)), groups), 0, LEDGER_DEFAULTS, 1.0)
    pair = next(place for place, words in enumerate(groups.descriptions) if "south" in words and "form = a" in words)
    one.take(pair)
    z, told = one._given_chosen(), 0
    for slope in np.flatnonzero(one.is_slope).tolist():
        rejected = abs(z[slope]) >= one.least_scores[slope]
        if abs(abs(z[slope]) - one.least_scores[slope]) > 0.05:
            low, high = one._size(slope, float(z[slope])).interval
            assert (low > 0 or high < 0) == rejected
            told += 1
    assert told >= 3
