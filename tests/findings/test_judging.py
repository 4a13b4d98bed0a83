"""Regimes and other regions: their cut, their residual, its parts, and what is more common in them."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binomtest, fisher_exact

from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.estimators.registry import regimes_of
from miscal.evidence.conditional import outcome_given_confidence, strata
from miscal.findings.enrichment import LEAST_COUNT, Column, encode, enrich, keywords, odds_ratio
from miscal.findings.judging import Confirmed, _shuffled, contents_of, hidden_residual, judge, judge_regimes
from miscal.findings.residuals import EPSILON, binomial_residual, holm


def world(seed, n=300):
    rng = np.random.default_rng(seed)
    f = rng.choice([0.6, 0.8, 0.95], n)
    return (rng.random(n) < f).astype(float), f, np.clip(f + rng.normal(scale=0.05, size=n), 0, 1), rng


@given(st.integers(0, 2**32 - 1))
def test_the_residual_is_the_sum_of_its_parts_and_the_order_of_rows_is_irrelevant(seed):
    y, f, expected, rng = world(seed)
    regime = rng.choice(np.array(["over", "good", "under", None], dtype=object), len(y))
    order = rng.permutation(len(y))
    found = judge_regimes(LabelledRows(y, f, expected), regime)
    again = judge_regimes(LabelledRows(y[order], f[order], expected[order]), regime[order])
    for name, one in found.items():
        assert one["visible"].value + one["hidden"].value == pytest.approx(one["residual"].value)
        assert one["hidden"].p_value == pytest.approx(again[name]["hidden"].p_value)
        for part in (one["residual"], one["visible"], one["hidden"]):
            assert part.interval[0] <= part.value <= part.interval[1]
            assert 0 < part.p_value <= 1
    assert found["good"]["confirmed"] == Confirmed()


@given(st.integers(0, 2**32 - 1))
def test_whole_strata_tell_nothing_of_what_is_hidden(seed):
    """A region that is all rows of some confidences is the reliability diagram: nothing of it can be hidden."""
    y, f, expected, _ = world(seed)
    [judged] = judge(LabelledRows(y, f, expected), [f == 0.8], [1])
    assert judged["hidden"].p_value == 1.0


@given(st.integers(0, 2**32 - 1), st.floats(-0.1, 0.1))
def test_a_shift_of_the_expected_rate_moves_no_p_value_down(seed, shift):
    y, f, _, rng = world(seed)
    rows, stratum = rng.random(len(y)) < 0.3, strata(f)
    _, shuffled = _shuffled(LabelledRows(y, y, np.full(len(y), 0.5)), rows, stratum)
    other = hidden_residual(LabelledRows(y, y, np.full(len(y), 0.5 + shift)), rows, stratum)
    assert other.p_value >= shuffled * (1 - 1e-9)


@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.98), st.floats(-1.5, 1.5))
def test_an_interval_excludes_zero_exactly_where_the_p_value_is_small(seed, share, shift):
    y, f, expected, rng = world(seed)
    rows = rng.random(len(y)) < share
    y = np.where(rows, rng.random(len(y)) < 1 / (1 + np.exp(-np.log(f / (1 - f)) - shift)), y).astype(float)
    [one] = judge(LabelledRows(y, f, expected), [rows], [1])
    for part in (one["residual"], one["hidden"]):
        if part.p_value is not None:
            assert (part.p_value <= 0.05) == (part.interval[0] > 0 or part.interval[1] < 0)


def test_a_p_value_is_adjusted_among_regions_that_claim_something():
    y, f, expected, rng = world(0)
    regions = [rng.random(300) < 0.2 for _ in range(3)]
    claimed = judge(LabelledRows(y, f, expected), regions, [-1, 1, 1])
    some = judge(LabelledRows(y, f, expected), regions, [-1, 0, 0])
    for one, alone in zip(claimed, some, strict=True):
        assert one["hidden"] == alone["hidden"]
    assert some[1]["confirmed"] == some[2]["confirmed"] == Confirmed()
    first = some[0]["residual"]
    assert some[0]["confirmed"].total == (first.p_value <= 0.05 and first.value < 0)
    for part in ("total", "visible", "hidden"):
        assert getattr(some[0]["confirmed"], part) >= getattr(claimed[0]["confirmed"], part)


def crossfitted(rng, n, folds=5):
    """Outcomes that depend on f alone, and an honest hidden field by ridge regression: noise."""
    x = rng.normal(size=(n, 12))
    f = np.clip(1 / (1 + np.exp(-x[:, 0] - rng.normal(size=n))), 0.02, 0.98)
    y = (rng.random(n) < 0.7 * f).astype(float)
    fold, expected, hidden = rng.integers(0, folds, n), np.empty(n), np.empty(n)
    for k in range(folds):
        inside = fold == k
        other = y[~inside] - outcome_given_confidence(y[~inside], f[~inside], f[~inside])
        expected[inside] = outcome_given_confidence(y[~inside], f[~inside], f[inside])
        moments = x[~inside].T @ x[~inside] + 50 * np.eye(12)
        hidden[inside] = x[inside] @ np.linalg.solve(moments, x[~inside].T @ other)
    return y, f, expected, hidden


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1_000])
def test_regimes_of_crossfitted_fields_are_confirmed_in_one_draw_of_twenty_at_most(n):
    rng, false, draws = np.random.default_rng(n), 0, 300
    for _ in range(draws):
        y, f, expected, hidden = crossfitted(rng, n)
        regimes = judge_regimes(LabelledRows(y, f, expected), regimes_of(hidden, 0.02)).values()
        false += any(one["confirmed"].hidden for one in regimes)
    assert false / draws <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / draws)


PARTS = [np.arange(400) < 100, (np.arange(400) >= 100) & (np.arange(400) < 200)]
INSIDE, OUTSIDE = PARTS[0], ~PARTS[0]


def test_keywords_contrast_a_part_with_the_other_rows():
    texts = ["defendant shared words"] * 100 + ["shared electron words"] * 100 + ["shared words"] * 200
    law, physics = keywords(texts, PARTS)
    assert "defendant" in law[0]
    assert "electron" in physics[0]
    assert not {"shared", "words", "shared words"} & {*law, *physics}


@pytest.mark.parametrize("texts", [[""] * 400, ["the of and"] * 400, ["12 + 3"] * 400, ["same words"] * 400])
def test_texts_that_set_nothing_apart_give_no_keywords(texts):
    assert keywords(texts, PARTS) == [(), ()]


def test_words_of_chance_are_no_keywords():
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{chr(97 + i)}{chr(97 + j)}" for i in range(20) for j in range(20)])
    texts = [" ".join(rng.choice(vocabulary, 8)) for _ in range(400)]
    assert keywords(texts, PARTS) == [(), ()]


def test_a_text_of_a_million_letters_is_cut():
    texts = ["alpha " + "x" * 10**6] * 100 + ["beta"] * 300
    assert keywords(texts, PARTS)[0][0].startswith("alpha")


def test_enrichment_p_values_are_those_of_fisher():
    rng = np.random.default_rng(1)
    column = encode("kind", rng.choice(["a", "b"], 400, p=[0.7, 0.3]))
    column.codes[:60] = 0
    (item,) = [item for item in enrich([column], PARTS[:1])[0] if item.value == "= a"]
    inside, outside = column.codes[INSIDE] == 0, column.codes[OUTSIDE] == 0
    table = [[inside.sum(), outside.sum()], [(~inside).sum(), (~outside).sum()]]
    raw = [fisher_exact(np.array(table)[flip], alternative="greater").pvalue for flip in ([0, 1], [1, 0])]
    assert item.p_value == pytest.approx(min(1.0, 2 * min(raw)), rel=1e-9)
    assert (item.n, item.share) == (inside.sum(), inside.mean())
    assert item.lift == pytest.approx(inside.mean() / np.mean(column.codes == 0))


@given(*[st.integers(0, 50)] * 4)
def test_the_odds_ratio_is_symmetric_and_inside_its_interval(a, b, c, d):
    ratio, (low, high) = odds_ratio(a, b, c, d)
    assert 0 < low < ratio < high < np.inf
    turned, (low_turned, high_turned) = odds_ratio(c, d, a, b)
    np.testing.assert_allclose([turned, low_turned, high_turned], [1 / ratio, 1 / high, 1 / low])


@pytest.mark.parametrize(
    "values",
    [
        np.arange(50),
        np.arange(50).astype(float),
        [f"q{i}" for i in range(50)],
        ["same"] * 50,
        [None] * 50,
        np.full(50, np.nan),
        [f"id {i // 2} {i % 2}" for i in range(50)],
    ],
)
def test_identifiers_and_constants_explain_nothing(values):
    assert encode("column", values) is None


def test_numbers_are_cut_at_their_quartiles_and_missing_ones_kept_apart():
    values = np.r_[np.linspace(0, 1, 99), np.nan]
    column = encode("age", values)
    assert len(column.labels) == 5
    assert np.abs(np.bincount(column.codes) - [25, 25, 25, 24, 1]).max() <= 1
    assert str(column.labels[column.codes[-1]]) == "= (missing)"
    assert str(column.labels[column.codes[0]]).startswith("≤ ")
    assert str(column.labels[column.codes[98]]).startswith("> ")


@given(st.lists(st.one_of(st.none(), st.dates(date(1990, 1, 1), date(2030, 1, 1))), min_size=2))
def test_labels_of_dates_tell_their_rows(days):
    values = np.array(days, "datetime64[s]")
    column = encode("opened", values)
    if column is None:
        assert len(np.unique(values[~np.isnat(values)])) < 2
        return
    for value, code in zip(values, column.codes, strict=True):
        relation, *ends = str(column.labels[code]).replace(" and ", " ").split()
        if np.isnat(value):
            assert ends == ["(missing)"]
            continue
        low, high = (np.datetime64(end) for end in (ends[0], ends[-1]))
        told = {"=": value == low, "before": value < low, "after": value > low, "between": low <= value <= high}
        assert told[relation]


@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=90)), min_size=1))
def test_any_column_encodes_or_is_passed_over(values):
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    column = encode("c", cells)
    if column is not None:
        assert column.codes.min() >= 0
        assert column.codes.max() < len(column.labels)
        assert all("\n" not in str(label) and len(str(label)) <= 42 for label in column.labels)


@pytest.mark.parametrize(("n_values", "n_parts"), [(600, 1), (300, 3), (1500, 1), (5, 1)])
def test_metadata_of_chance_are_enriched_in_one_run_of_twenty_however_many_values(n_values, n_parts):
    """The minimum of rows in the part is part of the test; as a filter before the correction it let 60 % through."""
    rng = np.random.default_rng(3)
    labels, found = [f"= {value}" for value in range(n_values)], 0
    for _ in range(200):
        column = Column("kind", tuple(labels), rng.integers(n_values, size=3000))
        part = rng.choice([-1, *range(n_parts)], 3000, p=[1 - 0.3 * n_parts, *[0.3] * n_parts])
        found += any(enrich([column], [part == index for index in range(n_parts)]))
    assert found <= 10


@given(st.integers(2, 600), st.integers(0, 2**32))
def test_a_planted_value_is_found_and_corrected_for_every_value_that_is_common_enough(n_values, seed):
    rng = np.random.default_rng(seed)
    part = np.where(rng.random(3000) < 0.3, 0, -1)
    codes = rng.integers(1, n_values, size=3000)
    codes[np.flatnonzero(part == 0)[:30]] = codes[np.flatnonzero(part == -1)[:5]] = 0
    column = Column("kind", tuple(f"= {value}" for value in range(n_values)), codes)
    (items,) = enrich([column], [part == 0])
    (planted,) = [item for item in items if item.value == "= 0"]
    size = int((part == 0).sum())
    raw = fisher_exact([[30, 5], [size - 30, 3000 - size - 5]], alternative="greater").pvalue
    tests = int((np.bincount(codes, minlength=n_values) >= LEAST_COUNT).sum())
    assert planted.p_value == pytest.approx(raw * tests, rel=1e-6, abs=0)
    assert planted.n == 30


def test_values_too_rare_to_be_shown_are_not_tested():
    column = encode("kind", list("aabbccddee"))
    assert enrich([column], [np.arange(10) < 5]) == [()]
    assert enrich([column], []) == []


def contents(order=None, **given):
    """Law is over-confident, art under-confident; the texts of each begin alike in pairs."""
    subject = np.repeat(["law", "art", "music"], [40, 40, 120])
    delta, regime = np.repeat([-0.2, 0.2, 0.0], [40, 40, 120]), np.repeat(["over", "under", "good"], [40, 40, 120])
    text = [f"{word} of the {word} number {i // 2}" for i, word in enumerate(subject)]
    given = {"X": np.repeat(np.arange(100.0), 2)[:, None], "text": text} | given
    order = np.arange(200) if order is None else order
    x, words = given["X"][order], given["text"]
    rows = Triples(
        x, np.full(200, 0.5), np.tile([0, 1], 100)[order] * 1.0, row=np.arange(200)[order],
        text=None if words is None else [words[i] for i in order], metadata={"subject": subject[order]},
    )  # fmt: skip
    return contents_of(rows, delta[order], regime[order].astype(object), (np.arange(200) < 190)[order], seed=0)


def test_regimes_say_which_values_and_words_are_enriched_in_them():
    found = contents()
    assert set(found) == {"over", "under"}
    for name, word in (("over", "law"), ("under", "art")):
        assert [one.words for one in found[name]["metadata"]] == [f"subject = {word}"]
        assert word in found[name]["keywords"][0]


@pytest.mark.parametrize("given", [{}, {"text": None}, {"text": None, "X": np.zeros((200, 0))}])
def test_typical_rows_differ_and_their_order_plays_no_part(given):
    found = contents(**given)
    shown = found["over"]["exemplars"]
    assert len(shown) == (1 if given.get("X") is not None else 5)
    assert len({row // 2 for row in shown}) == len(shown)
    assert set(shown) <= set(range(40))
    assert contents(np.random.default_rng(0).permutation(200), **given) == found


FIELD = arrays(float, st.integers(1, 40), elements=st.floats(-1, 1))


@given(FIELD, st.floats(0, 0.9))
def test_a_regime_is_the_sign_of_a_field_that_is_large_enough(delta, epsilon):
    regime = regimes_of(delta, epsilon)
    np.testing.assert_array_equal(regime == "over", delta < -epsilon)
    np.testing.assert_array_equal(regime == "under", delta > epsilon)
    np.testing.assert_array_equal(regime == "good", np.abs(delta) <= epsilon)


@given(FIELD)
def test_turning_the_field_round_swaps_over_and_under(delta):
    swap = {"over": "under", "under": "over", "good": "good"}
    assert regimes_of(-delta, EPSILON).tolist() == [swap[name] for name in regimes_of(delta, EPSILON)]


def test_a_row_without_support_has_no_regime():
    regime = regimes_of(np.array([-0.3, 0.3, 0.0]), EPSILON, np.array([False, True, False]))
    assert regime.tolist() == [None, "under", None]


def test_the_border_is_well_calibrated_in_double_precision():
    assert regimes_of(np.array([-0.05, 0.05, np.nextafter(0.05, 1)]), EPSILON).tolist() == ["good", "good", "under"]


@given(st.integers(1, 60), st.floats(0, 1), st.data())
def test_the_residual_agrees_with_the_binomial_test_of_scipy(n, confidence, data):
    hits = data.draw(st.integers(0, n))
    result = binomial_residual(np.arange(n) < hits, np.full(n, confidence))
    interval = binomtest(hits, n).proportion_ci(method="exact")
    assert result.value == pytest.approx(hits / n - confidence, abs=1e-12)
    np.testing.assert_allclose(result.interval, [interval.low - confidence, interval.high - confidence], atol=1e-9)
    q = float(np.mean(np.full(n, confidence)))
    one_sided = [binomtest(hits, n, q, alternative=side).pvalue for side in ("less", "greater")]
    assert result.p_value == pytest.approx(min(1.0, 2 * min(one_sided)), abs=1e-9)


def test_right_answers_of_a_sure_model_prove_nothing():
    """A t-test would see ten equal residuals, no spread, and p = 0."""
    assert binomial_residual(np.ones(10), np.full(10, 0.95)).p_value > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 30, 300])
@pytest.mark.parametrize("spread", [0.1, 1.0])
def test_the_level_holds_when_errors_cancel_inside_the_slice(n, spread):
    """Half of the slice is over-confident, half under: the mean of delta is zero though no row is calibrated."""
    rng = np.random.default_rng(n)
    f = rng.beta(0.5 / spread, 0.5 / spread, n) * 0.8 + 0.1
    shift = np.minimum(0.1, np.minimum(f, 1 - f))
    if n % 2:
        f, shift = f[:-1], shift[:-1]
    half = len(f) // 2
    f = np.r_[f[:half], f[:half]]
    delta = np.r_[shift[:half], -shift[:half]]
    rejected = [binomial_residual(rng.random(len(f)) < f + delta, f).p_value <= 0.05 for _ in range(2000)]
    assert np.mean(rejected) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@given(arrays(float, st.integers(0, 20), elements=st.floats(0, 1)))
def test_holm_adjusts_upwards_and_keeps_the_order(p):
    adjusted = holm(p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= 1)
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(adjusted[order]) >= 0)
    if len(p):
        assert adjusted.min() == pytest.approx(min(1.0, len(p) * p.min()))
