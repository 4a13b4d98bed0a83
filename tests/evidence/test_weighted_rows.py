"""Certificates, claims, residuals and findings of rows that count unequally."""

import numpy as np
import pytest
from scipy.stats import binomtest

from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.certificates import certificate
from miscal.evidence.conditional import centred, outcome_given_confidence
from miscal.evidence.limits.agreement import WorstCase, agreement_bound
from miscal.evidence.limits.covariance import counted, weigh
from miscal.findings.judging import judge
from miscal.findings.ledger.blocks import Table
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find, stratified_odds_ratio
from miscal.findings.ledger.scan import _Scan
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.findings.ledger.sizes import hidden_interval

pytestmark = pytest.mark.usefixtures("few_draws")


def rows(n=400, seed=0, hidden=0.0, spread=1.0):
    """Outcomes, confidences, the sign of what these hide, and weights that are independent of all three."""
    rng = np.random.default_rng((seed, n))
    f, sign = rng.uniform(0.3, 0.7, n), rng.choice([-1.0, 1.0], n)
    y = (rng.random(n) < f + hidden * sign).astype(float)
    return y, f, sign, rng.lognormal(0, spread, n)


def prove(y, f, sign, weights, *, block=None, groups=None, seed=0):
    return certificate(
        LabelledRows.of(y, f, f, delta=0.2 * sign, hidden=0.2 * sign, weight=weights, group=groups, block=block),
        random_state=seed,
    )


def known(y, f, weight, group=None):
    return SurveyDesign.of(group, y - f, f * (1 - f), weight)


def unseen(y, f, sign, weight):
    return LabelledRows.of(y, f, f, weight=weight, delta=0.2 * sign, hidden=0.2 * sign)


@pytest.mark.parametrize("blocks", [1, 4])
def test_equal_weights_change_nothing_and_only_the_ratios_of_others_matter(blocks):
    y, f, sign, weight = rows(hidden=0.15)
    block = None if blocks == 1 else np.arange(len(y)) % blocks
    assert prove(y, f, sign, None, block=block) == prove(y, f, sign, np.full(len(y), 7.0), block=block)
    assert known(y, f, np.full(len(y), 7.0)) is None
    # a power of two, so that no rounding differs
    assert prove(y, f, sign, weight, block=block) == prove(y, f, sign, 1024 * weight, block=block)


def test_values_are_weighted_means():
    y, f, sign, weight = rows(hidden=0.15)
    shown = prove(y, f, sign, weight)
    assert shown.total.value == pytest.approx(np.average((y - f) * sign, weights=weight))


def test_the_weights_of_the_hidden_limit_are_those_of_two_nested_loops():
    y, f, sign, mass = rows(n=60, hidden=0.15)
    found = weigh(unseen(y, f, sign, mass))
    mass = mass / mass.mean()
    counts = counted(0.2 * sign, f, mass=mass)
    for stratum in np.unique(found.stratum):
        inside = [i for i in range(60) if found.stratum[i] == stratum]
        mean = sum(mass[i] * sign[i] * counts[i] for i in inside) / sum(mass[i] for i in inside)
        by_hand = np.array([mass[i] * (sign[i] * counts[i] - mean) for i in inside])
        # up to a factor of the stratum, above 0
        products = np.outer(found.weight[inside], by_hand)
        assert products == pytest.approx(products.T)
        assert found.weight[inside] @ by_hand > 0 or not by_hand.any()
        assert found.weight[inside].sum() == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("blocks", [1, 3])
def test_unequal_weights_prove_less(blocks):
    y, f, sign, weight = rows(n=600, hidden=0.2, spread=1.2)
    block = None if blocks == 1 else np.arange(len(y)) % blocks
    alike, unequal = prove(y, f, sign, None, block=block), prove(y, f, sign, weight, block=block)
    for one, other in ((alike.total, unequal.total), (alike.hidden, unequal.hidden)):
        assert other.value - other.low > 1.3 * (one.value - one.low)
    assert unequal.detectable > 1.2 * alike.detectable


def test_a_worst_case_has_the_stated_error_and_the_largest_variance():
    rng = np.random.default_rng(0)
    stated, weight = rng.uniform(0.05, 0.95, 30), rng.lognormal(0, 1, 30)
    worst = WorstCase(stated, weight, 40)
    for error in (0.01, 0.05, 0.1):
        p = worst.probabilities(error)
        assert (p >= stated).all()
        assert weight @ (p - stated) / 40 == pytest.approx(error)
        variance = weight**2 @ (p * (1 - p))
        for _ in range(200):
            # any other way to raise the mean of the sum as much
            other = stated + (1 - stated) * rng.random(30) ** rng.uniform(0.2, 8)
            excess = weight @ (other - stated) / 40
            if excess > error:
                other = stated + (other - stated) * error / excess
                assert weight**2 @ (other * (1 - other)) <= variance + 1e-9
    assert worst.probabilities(1.0).tolist() == [1.0] * 30


def test_rows_that_count_alike_get_the_exact_limit_up_to_draws(monkeypatch):
    y, f, sign, _ = rows(n=300, hidden=0.2)
    monkeypatch.setattr("miscal.evidence.settings.N_DRAWS", 9_999)
    rng, weights = np.random.default_rng(0), SurveyDesign(None, 0.0, np.ones(300))
    exact, drawn = (
        agreement_bound(LabelledRows(y, f, f, delta=0.2 * sign, hidden=0.2 * sign, design=design), rng)
        for design in (None, weights)
    )
    assert drawn.value == pytest.approx(exact.value)
    assert drawn.low == pytest.approx(exact.low, abs=0.004)
    assert drawn.p_value == pytest.approx(exact.p_value, abs=0.002)


def test_the_regression_on_confidence_is_weighted():
    rng = np.random.default_rng(0)
    f, heavy = rng.uniform(0.2, 0.8, 8_000), rng.random(8_000) < 0.5
    y = (rng.random(8_000) < f + np.where(heavy, 0.15, -0.15)).astype(float)
    at = np.linspace(0.25, 0.75, 11)
    found = outcome_given_confidence(y, f, at, weight=np.where(heavy, 3.0, 1.0))
    assert found == pytest.approx(at + 0.15 * 0.5, abs=0.05)
    assert (outcome_given_confidence(y, f, at, weight=np.ones(8_000)) == outcome_given_confidence(y, f, at)).all()
    some = rng.random(8_000) < 0.7
    left_out = outcome_given_confidence(y, f, at, weight=some.astype(float))
    assert left_out == pytest.approx(outcome_given_confidence(y[some], f[some], at))


def test_means_of_regions_are_weighted_and_rest_on_fewer_rows():
    y, f, sign, weight = rows(hidden=0.1)
    region, mu = sign > 0, np.clip(f - 0.1, 0, 1)
    [alike], [unequal] = (
        judge(LabelledRows(y, f, mu, design=one), [region], [1]) for one in (None, known(y, mu, weight))
    )
    for part, values in (("residual", y - f), ("visible", mu - f), ("hidden", y - mu)):
        one, other = alike[part], unequal[part]
        assert other.value == pytest.approx(np.average(values[region], weights=weight[region]))
        assert np.ptp(other.interval) > 1.2 * np.ptp(one.interval)
    effect = effect_of_mean(LabelledRows(y, y, mu, design=known(y, mu, weight)), region)
    assert effect >= region.sum() * np.sum(weight[region] ** 2) / np.sum(weight[region]) ** 2


def test_mirrored_confidences_and_outcomes_mirror_the_residuals():
    y, f, sign, weight = rows(hidden=0.1)
    [one] = judge(LabelledRows(y, f, f, design=known(y, f, weight)), [sign > 0], [1])
    [other] = judge(LabelledRows(1 - y, 1 - f, 1 - f, design=known(1 - y, 1 - f, weight)), [sign > 0], [-1])
    for part in ("residual", "hidden"):
        a, b = one[part], other[part]
        assert a.value == pytest.approx(-b.value)
        assert a.p_value == pytest.approx(b.p_value)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_of_the_scan_is_that_of_permutations_within_strata(weighted):
    y, f, _, weight = rows(n=400)
    weight = weight if weighted else np.ones(400)
    kinds = np.random.default_rng(5).choice(["a", "b", "c"], 400).astype(object)
    groups = named_groups({"kind": kinds})
    one = _Scan(Table(LabelledRows(y, f, f, design=known(y, f, weight)), groups), 0, LEDGER_DEFAULTS, 1.0)
    [(strata, groups_of)] = one.blocks
    mass, rng, totals, given = weight / weight.mean(), np.random.default_rng(1), [], []
    stratum, residual = strata.stratum, centred(y - f, strata.stratum)
    for _ in range(3_000):
        order = np.lexsort((rng.random(400), stratum))
        shuffled = np.empty(400)
        shuffled[np.argsort(stratum, kind="stable")] = residual[order]
        totals.append(groups_of.tested.sums(mass * centred(shuffled, stratum, mass)))
    assert np.var(totals, axis=0) == pytest.approx(one.variance, rel=0.1)
    one.take(0)
    given = np.cov(np.array(totals).T)
    # four standard errors of a covariance of so many draws
    error = 4 * np.sqrt((given[0, 0] * given.diagonal() + given[0] ** 2) / len(totals))
    assert (np.abs(given[0] - one.covariance[0]) < error).all()


def test_numbers_of_a_finding_are_weighted():
    rng = np.random.default_rng(0)
    kind = rng.permutation(np.repeat(["law", "art", "sums"], 300)).astype(object)
    f, weight = np.full(900, 0.5), rng.lognormal(0, 0.7, 900)
    y = (rng.random(900) < np.where(kind == "law", 0.25, 0.6)).astype(float)
    found = find(
        LabelledRows(y, f, f, hidden=0.1 * y, row=np.arange(900), design=known(y, f, weight)),
        named_groups({"kind": kind}),
    )
    [law] = [one for one in found.findings if one.description == "kind = law"]
    inside = kind == "law"
    assert law.n == 300
    assert law.share == pytest.approx(weight[inside].sum() / weight.sum())
    assert law.accuracy == pytest.approx(np.average(y[inside], weights=weight[inside]))
    assert law.hidden.value == pytest.approx(np.average((y - f)[inside], weights=weight[inside]))
    low, high = law.hidden.interval
    assert low < law.hidden.value < high


def test_a_group_that_differs_among_light_rows_alone_is_no_finding():
    """Without weights it is one: nearly all of its rows differ, but they stand for next to nothing."""
    rng = np.random.default_rng(1)
    inside, light = rng.random(4_000) < 0.4, rng.random(4_000) < 0.6
    f = rng.uniform(0.3, 0.7, 4_000)
    y = (rng.random(4_000) < f - 0.25 * (inside & light)).astype(float)
    groups = named_groups({"kind": np.where(inside, "in", "out").astype(object)})
    weight = np.where(light, 0.01, 1.0)
    named = [
        find(LabelledRows(y, f, f, hidden=f * 0, row=np.arange(4_000), design=one), groups).findings
        for one in (None, known(y, f, weight))
    ]
    assert [len(found) for found in named] == [1, 0]


def test_formulas_of_a_finding_with_weights_that_are_whole_numbers():
    y, inside = np.array([1.0, 0, 1, 0, 0]), np.array([True, True, False, False, False])
    weight, stratum = np.array([2.0, 1, 1, 3, 1]), np.zeros(5, int)
    again = np.repeat(np.arange(5), weight.astype(int))
    repeated = stratified_odds_ratio(y[again], inside[again], stratum[again])
    assert stratified_odds_ratio(y, inside, stratum, weight) == pytest.approx(repeated)
    value = hidden_interval(y, np.full(5, 0.5), 0.05, weight=weight)
    assert value == pytest.approx(hidden_interval(y[again], np.full(8, 0.5), 0.05, effect=8 / 5))


def unequal(kind, f, field, rng):
    n = len(f)
    if kind == "independent":
        return rng.lognormal(0, 1, n)
    if kind == "with the field":
        return np.where(field > 0, 5.0, 1.0) * rng.uniform(0.5, 1.5, n)
    if kind == "with the confidence":
        return 0.1 + 3 * f**2
    return np.where(rng.random(n) < 0.1, 10.0, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 400])
@pytest.mark.parametrize("kind", ["independent", "with the field", "with the confidence", "few rows"])
def test_sizes_hold_with_weights(n, kind):
    """Nothing is hidden, confidences are calibrated: rejections, limits and findings are false; 5 % at most."""
    false, draws = np.zeros(7), 300
    for seed in range(draws):
        rng = np.random.default_rng((seed, n, 77))
        f, field = rng.uniform(0.05, 0.95, n), rng.normal(0, 0.1, n)
        y = (rng.random(n) < f).astype(float)
        weight = unequal(kind, f, field, rng)
        proof = certificate(LabelledRows.of(y, f, f, delta=field, hidden=field, weight=weight), random_state=seed)
        [over] = judge(LabelledRows(y, f, f, design=known(y, f, weight)), [field < 0], [-1])
        kinds = {f"column {k}": rng.integers(0, k, n).astype(str).astype(object) for k in (2, 4, 10)}
        found = find(
            LabelledRows(y, f, f, hidden=f * 0, row=np.arange(n), design=known(y, f, weight)),
            named_groups(kinds),
            seed=seed,
        )
        false += [
            proof.total.p_value <= 0.05, proof.total.low > 0, proof.hidden.p_value <= 0.05, proof.hidden.low > 0,
            over["residual"].p_value <= 0.05, over["hidden"].p_value <= 0.05, bool(found.findings),
        ]  # fmt: skip
    for count in false:
        assert binomtest(int(count), draws, 0.05, alternative="greater").pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("n", [100, 1000])
@pytest.mark.parametrize("with_sign", [False, True])
def test_limits_lie_below_the_truth_with_weights(n, with_sign):
    """Hidden miscalibration of known size; where weights go with its sign, the weighted E[y | f] is not f."""
    above, draws = np.zeros(2), 300
    for seed in range(draws):
        rng = np.random.default_rng((seed, n, 78))
        f, sign = rng.uniform(0.05, 0.95, n), rng.choice([-1.0, 1.0], n)
        room = 0.4 * np.minimum(f, 1 - f)
        weight = np.where(sign > 0, 5.0, 1.0) * rng.uniform(0.5, 1.5, n) if with_sign else rng.lognormal(0, 1, n)
        y = (rng.random(n) < f + room * sign).astype(float)
        mean = 2 / 3 * room if with_sign else 0 * room
        hidden = room * sign - mean
        proof = certificate(
            LabelledRows.of(y, f, f + mean, delta=room * sign, hidden=hidden, weight=weight),
            random_state=seed,
        )
        truth = [np.average(np.abs(field), weights=weight) for field in (room * sign, hidden)]
        above += [proof.total.low > truth[0], proof.hidden.low > truth[1]]
    for count in above:
        assert binomtest(int(count), draws, 0.05, alternative="greater").pvalue > 1e-4
