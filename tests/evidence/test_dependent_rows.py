"""Certificates, claims, residuals and findings of rows that come in groups."""

import numpy as np
import pytest
from scipy.stats import binomtest

from miscal.calibration.calibrators import Isotonic
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.certificates import certificate
from miscal.evidence.conditional import beyond_confidence, outcome_given_confidence, strata
from miscal.evidence.limits.agreement import agreement_limit, count_p_value, dependent_p_value
from miscal.evidence.stability import slice_bootstrap
from miscal.findings.judging import judge
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.sizes import hidden_interval

pytestmark = pytest.mark.usefixtures("few_draws")


def rows(n=400, size=5, correlation=0.5, seed=0, hidden=0.0, one_confidence=True):
    """Outcomes that correlate within groups, and the sign of what the confidence hides, alike in all rows of one."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) // size
    many = group.max() + 1
    f = rng.uniform(0.3, 0.7, many)[group] if one_confidence else rng.uniform(0.3, 0.7, n)
    sign = rng.choice([-1.0, 1.0], many)[group]
    shared = rng.random(n) < np.sqrt(correlation)
    y = np.where(shared, rng.random(many)[group], rng.random(n)) < f + hidden * sign
    return y.astype(float), f, sign, group


def prove(y, f, sign, groups, block=None, seed=0):
    return certificate(
        LabelledRows.of(y, f, f, delta=0.2 * sign, hidden=0.2 * sign, group=groups, block=block), random_state=seed
    )


@pytest.mark.parametrize("blocks", [1, 4])
def test_groups_of_one_row_change_nothing(blocks):
    y, f, sign, _ = rows(hidden=0.15)
    block = None if blocks == 1 else np.arange(len(y)) % blocks
    assert prove(y, f, sign, None, block) == prove(y, f, sign, np.arange(len(y)), block)


@pytest.mark.parametrize("blocks", [1, 4])
def test_groups_that_hang_together_prove_less(blocks):
    y, f, sign, group = rows(hidden=0.2, one_confidence=False)
    block = None if blocks == 1 else group % blocks
    alone, together = prove(y, f, sign, None, block), prove(y, f, sign, group, block)
    assert together.total.value == alone.total.value
    assert together.total.low < alone.total.low
    assert together.total.p_value > alone.total.p_value
    assert together.hidden.low < alone.hidden.low
    assert together.detectable > alone.detectable


def test_copies_of_rows_prove_no_more_than_the_rows():
    y, f, sign, _ = rows(n=200, size=1, correlation=0.0, hidden=0.2)
    copies = np.repeat(np.arange(200), 4)
    once = prove(y, f, sign, None)
    again = prove(y[copies], f[copies], sign[copies], copies)
    as_new = prove(y[copies], f[copies], sign[copies], None)
    assert once.total.low > 0
    assert again.total.low <= once.total.low + 0.01
    assert again.total.p_value >= 0.5 * once.total.p_value
    assert again.hidden.low <= once.hidden.low + 0.02
    assert again.detectable >= 0.95 * once.detectable
    assert as_new.total.low > once.total.low + 0.02
    region = sign > 0
    [first] = judge(LabelledRows(y, f, f), [region], [1])
    known = SurveyDesign.of(copies, (y - f)[copies], (f * (1 - f))[copies])
    [second] = judge(LabelledRows(y[copies], f[copies], f[copies], design=known), [region[copies]], [1])
    for one, other in ((first["residual"], second["residual"]), (first["hidden"], second["hidden"])):
        assert other.value == pytest.approx(one.value)
        assert other.interval[0] <= one.interval[0] + 1e-9
        assert other.interval[1] >= one.interval[1] - 1e-9
        assert other.p_value >= one.p_value / 2


def test_a_stratum_counts_the_rows_of_one_group_and_confidence_once():
    f, group = np.repeat(np.linspace(0.1, 0.9, 40), 5), np.repeat(np.arange(40), 5)
    assert np.array_equal(strata(f, 8, group)[::5], strata(f[::5], 8))
    assert np.array_equal(strata(f, 8, np.arange(200)), strata(f, 8))
    # a field that is alike in a group's rows would be taken for a curve of f if these filled the window
    field = np.random.default_rng(0).normal(size=40)
    left = beyond_confidence(np.repeat(field, 5), f, 4, group)
    assert left[::5] == pytest.approx(beyond_confidence(field, f[::5], 4))
    assert np.abs(beyond_confidence(np.repeat(field, 5), f, 4)).max() < 1e-9


@pytest.mark.parametrize("size", [5, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_answers_of_one_confidence_do_not_foretell_each_other(correlation, size):
    at, errors = np.linspace(0.3, 0.7, 200), {"named": [], "not named": [], "independent": []}
    n, effect = 2_000, 1 + (size - 1) * correlation
    for seed in range(10):
        y, f, _, group = rows(n, size, correlation, seed)
        fewer = rows(int(n / effect), 1, 0.0, seed)[:2]
        for name, learned in (("named", (y, f, group)), ("not named", (y, f, None)), ("independent", (*fewer, None))):
            found = outcome_given_confidence(*learned[:2], at, group=learned[2])
            errors[name].append(np.mean((found - at) ** 2))
    error = {name: np.sqrt(np.mean(some)) for name, some in errors.items()}
    assert error["named"] < 1.4 * error["independent"]
    if correlation > 0:
        assert error["not named"] > 2 * error["independent"]


def test_a_window_is_chosen_by_rows_that_are_left_out_with_their_group():
    y, f, _, _ = rows(300, 5, 0.0, one_confidence=False)
    at = np.linspace(0.3, 0.7, 50)
    alone = outcome_given_confidence(y, f, at)
    assert outcome_given_confidence(y, f, at, group=np.arange(300)) == pytest.approx(alone, abs=1e-9)
    # nothing is left of one group, so there is no window
    assert outcome_given_confidence(y, f, at, group=np.zeros(300, dtype=int)) == pytest.approx(
        Isotonic().learn(y, f).apply(at)
    )


def test_a_count_that_hangs_together_is_nearer_to_its_mean():
    half = np.full(100, 0.5)
    assert dependent_p_value(half, 60, 1.0) == count_p_value(half, 60)
    # a deviation of 10 with four times the variance is one of 5
    assert dependent_p_value(half, 60, 4.0) == pytest.approx(count_p_value(half, 55))
    assert agreement_limit(half, 65, effect=4.0) < agreement_limit(half, 65)
    limit = agreement_limit(half, 70, effect=4.0)
    assert dependent_p_value(np.full(100, 0.5 + limit), 70, 4.0) == pytest.approx(0.05, abs=1e-3)


def test_an_interval_of_a_finding_is_that_of_so_many_fewer_rows():
    y, expected = np.repeat([1.0, 0.0], [30, 70]), np.full(100, 0.5)
    fewer = hidden_interval(np.repeat([1.0, 0.0], [15, 35]), expected[:50], 0.01)
    assert hidden_interval(y, expected, 0.01, effect=2.0) == pytest.approx(fewer)


def test_replicates_of_a_bootstrap_vary_more_where_rows_hang_together():
    y, f, sign, group = rows(n=1000)
    regime = np.where(sign > 0, "under", "over")
    alone, together = (slice_bootstrap(y, f, regime, groups=groups, n_draws=400) for groups in (None, group))
    for one, other in ((alone.gap, together.gap), (alone.share, together.share)):
        assert other.value == one.value
        assert other.high - other.low > 1.3 * (one.high - one.low)


def findings(y, f, group, kinds):
    known = SurveyDesign.of(group, y - f, f * (1 - f))
    candidates = named_groups({"kind": kinds.astype(str).astype(object)})
    return find(
        LabelledRows(y, f, f, hidden=np.zeros(len(y)), row=np.arange(len(y)), design=known), candidates
    ).findings


def test_a_finding_needs_groups_enough():
    # rows of one confidence would be compared with others of their own group, if these were not named
    y, f, sign, group = rows(n=2_000, size=20, correlation=0.6, hidden=0.25, one_confidence=False)
    kinds = np.where(sign > 0, "harder", "easier")
    named = findings(y, f, group, kinds)
    alone = findings(y, f, None, kinds)
    # rows that are taken for independent seem to show a slope, too
    shifts = [one.description for one in alone]
    assert [one.description for one in named] == shifts
    assert named[0].p_value > alone[0].p_value
    widths = [one[0].hidden.interval[1] - one[0].hidden.interval[0] for one in (named, alone)]
    assert widths[0] > 1.5 * widths[1]


@pytest.mark.slow
@pytest.mark.parametrize("one_confidence", [True, False])
@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.6])
def test_nothing_is_claimed_too_often(correlation, size, one_confidence):
    """Of 300 draws with nothing hidden, as many are rejected as 5 % allows; unnamed groups of 20 are rejected often."""
    counts = dict.fromkeys(("total", "hidden", "blocks", "residual", "found", "unnamed"), 0)
    for seed in range(300):
        y, f, sign, group = rows(400, size, correlation, seed, one_confidence=one_confidence)
        proof = prove(y, f, sign, group, seed=seed)
        counts["total"] += proof.total.p_value <= 0.05
        counts["hidden"] += proof.hidden.p_value <= 0.05
        counts["blocks"] += prove(y, f, sign, group, group % 4, seed).hidden.p_value <= 0.05
        known = SurveyDesign.of(group, y - f, f * (1 - f))
        [over] = judge(LabelledRows(y, f, f, design=known), [sign < 0], [-1])
        counts["residual"] += over["residual"].p_value <= 0.05
        counts["found"] += bool(findings(y, f, group, np.random.default_rng(seed).integers(0, 5, 400)[group]))
        counts["unnamed"] += prove(y, f, sign, None, seed=seed).total.p_value <= 0.05
    unnamed = counts.pop("unnamed")
    for name, wrong in counts.items():
        assert binomtest(int(wrong), 300, 0.05, alternative="greater").pvalue > 1e-3, (name, wrong)
    if size == 20 and correlation >= 0.3:
        assert unnamed > 0.12 * 300
