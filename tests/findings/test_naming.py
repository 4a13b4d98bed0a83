"""Keywords, enriched metadata, feature rules and names."""

from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from miscal.findings import enrichment, naming
from miscal.findings.enrichment import Column, Enriched, Label, encode, enrich, odds_ratio
from miscal.findings.naming import (
    Clause,
    Keywords,
    feature_rules,
    keywords,
    metadata_clause,
    mixture,
    needed_lift,
    part_names,
)
from miscal.findings.settings import SETTINGS

PART = np.repeat([0, 1, -1], [100, 100, 200])


def test_keywords_contrast_a_part_with_the_other_rows():
    texts = ["defendant shared words"] * 100 + ["shared electron words"] * 100 + ["shared words"] * 200
    law, physics = keywords(texts, PART, 2)
    assert "defendant" in law.terms[0]
    assert "electron" in physics.terms[0]
    assert not {"shared", "words", "shared words"} & {*law.terms, *physics.terms}
    assert (law.naming, physics.naming) == (law.terms, physics.terms)


@pytest.mark.parametrize("texts", [[""] * 400, ["the of and"] * 400, ["12 + 3"] * 400, ["same words"] * 400])
def test_texts_that_set_nothing_apart_give_no_keywords(texts):
    assert keywords(texts, PART, 2) == [Keywords(), Keywords()]


def test_words_of_chance_are_no_keywords():
    rng = np.random.default_rng(0)
    vocabulary = np.array([f"word{chr(97 + i)}{chr(97 + j)}" for i in range(20) for j in range(20)])
    texts = [" ".join(rng.choice(vocabulary, 8)) for _ in range(400)]
    assert keywords(texts, PART, 2) == [Keywords(), Keywords()]


@pytest.mark.promise("S12")
def test_a_text_of_a_million_letters_is_cut():
    texts = ["alpha " + "x" * 10**6] * 100 + ["beta"] * 300
    assert keywords(texts, PART, 2)[0].terms[0].startswith("alpha")


@pytest.mark.promise("V6")
def test_enrichment_p_values_are_those_of_fisher():
    rng = np.random.default_rng(1)
    column = encode("kind", rng.choice(["a", "b"], 400, p=[0.7, 0.3]))
    column.codes[:60] = 0
    (item,) = [item for item in enrich([column], PART, 1)[0] if item.value == Label("a")]
    inside, outside = column.codes[PART == 0] == 0, column.codes[PART != 0] == 0
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


def test_a_name_keeps_to_its_settings(monkeypatch):
    subject = encode("subject", ["law"] * 50 + ["ethics"] * 50 + ["math", "chess", "food"] * 100)
    monkeypatch.setattr(enrichment, "SETTINGS", replace(SETTINGS, max_items=1))
    (items,) = enrich([subject], PART, 1)
    assert [str(item.value) for item in items] == ["= ethics"]
    assert metadata_clause(items, 0.25).words == "subject = ethics (50 % of its rows)"
    monkeypatch.setattr(naming, "SETTINGS", replace(SETTINGS, clause_share=0.6))
    assert metadata_clause(items, 0.25) is None


def test_metadata_of_chance_is_rarely_enriched():
    rng = np.random.default_rng(2)
    columns = [encode(f"c{i}", rng.choice(list("abcdef"), 400)) for i in range(50)]
    assert sum(len(items) for items in enrich(columns, PART, 2)) <= 2


@pytest.mark.promise("V5")
@pytest.mark.parametrize(("n_values", "n_parts"), [(600, 1), (300, 3), (1500, 1), (5, 1)])
def test_metadata_of_chance_are_enriched_in_one_run_of_twenty_however_many_values(n_values, n_parts):
    """The minimum of rows in the part is part of the test; as a filter before the correction it let 60 % through."""
    rng = np.random.default_rng(3)
    labels, found = [Label(str(value)) for value in range(n_values)], 0
    for _ in range(200):
        column = Column("kind", tuple(labels), rng.integers(n_values, size=3000))
        part = rng.choice([-1, *range(n_parts)], 3000, p=[1 - 0.3 * n_parts, *[0.3] * n_parts])
        found += any(enrich([column], part, n_parts))
    assert found <= 10


@given(st.integers(2, 600), st.integers(0, 2**32))
def test_a_planted_value_is_found_and_corrected_for_every_value_that_is_common_enough(n_values, seed):
    rng = np.random.default_rng(seed)
    part = np.where(rng.random(3000) < 0.3, 0, -1)
    codes = rng.integers(1, n_values, size=3000)
    codes[np.flatnonzero(part == 0)[:30]] = codes[np.flatnonzero(part == -1)[:5]] = 0
    column = Column("kind", tuple(Label(str(value)) for value in range(n_values)), codes)
    (items,) = enrich([column], part, 1)
    (planted,) = [item for item in items if item.value == Label("0")]
    size = int((part == 0).sum())
    raw = fisher_exact([[30, 5], [size - 30, 3000 - size - 5]], alternative="greater").pvalue
    tests = int((np.bincount(codes, minlength=n_values) >= SETTINGS.min_count).sum())
    assert planted.p_value == pytest.approx(raw * tests, rel=1e-6, abs=0)
    assert planted.n == 30


def test_values_too_rare_to_be_shown_are_not_tested():
    column = encode("kind", list("aabbccddee"))
    assert enrich([column], np.repeat([0, -1], 5), 1) == [()]
    assert enrich([column], np.full(10, -1), 0) == []


def test_a_clause_joins_values_of_one_column_and_prefers_the_first_of_equal_columns():
    subject = encode("subject", ["law"] * 50 + ["ethics"] * 50 + ["math", "chess", "food"] * 100)
    source = encode("source_file", ["set-one/law"] * 50 + ["set-one/ethics"] * 50 + ["x", "y", "z"] * 100)
    (items,) = enrich([source, subject], PART, 1)
    assert metadata_clause(items, 0.25, ["subject", "source_file"]).words == "subject = ethics or law"
    assert metadata_clause(items, 0.25, ["source_file", "subject"]).column == "source_file"


def enriched(column, value, share, lift):
    shares = {"n": 50, "share": share, "share_overall": share / lift, "lift": lift}
    odds = {"odds_ratio": lift, "interval": (1.0, 2 * lift), "p_value": 1e-9}
    return Enriched(column=column, value=Label(value), **shares, **odds)


@given(st.floats(0.4, 1), st.floats(1.01, 1.5), st.floats(0.4, 1), st.floats(8, 12))
def test_a_value_ten_times_as_common_names_a_part_before_one_that_is_a_little_commoner(wide, a_little, narrow, ten):
    items = [enriched("wide", "a", wide, a_little), enriched("narrow", "b", narrow, ten)]
    for part_share in (0.05, 1 / 12.5):
        assert metadata_clause(items, part_share, ["wide", "narrow"]).words.startswith("narrow = b")


@given(st.floats(0.02, 1), st.floats(0.01, 1), st.floats(1.01, 20))
def test_a_clause_covers_enough_and_fits_enough(part_share, share, lift):
    # the value is at most as common in the part as its rows allow
    lift = min(lift, 1 / part_share)
    named = metadata_clause([enriched("c", "v", share, lift)], part_share) is not None
    assert named == (share >= 0.4 and lift >= needed_lift(part_share) and lift > 1)


def test_a_perfect_description_of_a_large_part_is_taken():
    assert metadata_clause([enriched("c", "v", 1.0, 1.25)], 0.8).words == "c = v"
    assert metadata_clause([enriched("c", "v", 1.0, 1.05)], 0.8) is None


def test_words_that_few_rows_have_or_many_others_name_nothing():
    """Each term sets the part apart beyond chance, yet no list of them would tell what the part is about."""
    rng = np.random.default_rng(0)
    inside = np.arange(4000) < 2000
    for share_inside, share_outside, telling in [(0.05, 0.01, False), (0.6, 0.3, False), (0.6, 0.05, True)]:
        has = rng.random(4000) < np.where(inside, share_inside, share_outside)
        texts = ["sum of a number" if one else "something else entirely" for one in has]
        (found,) = keywords(texts, np.where(inside, 0, -1), 1)
        assert found.terms
        assert bool(found.naming) == telling


def test_words_that_cover_a_part_only_together_name_it():
    words = np.array(["court", "jury", "verdict", "appeal"])[np.arange(1000) % 4]
    texts = [f"the {word}" if at < 500 else "other things" for at, word in enumerate(words)]
    (found,) = keywords(texts, np.repeat([0, -1], 500), 1)
    assert set(found.naming) == {"court", "jury", "verdict", "appeal"}


def test_a_mixed_part_says_how_mixed_by_the_column_that_tells_most():
    first, second = (
        Column(name, tuple(map(Label, "abc")), codes) for name, codes in zip("xy", np.eye(2, 4, dtype=int), strict=True)
    )
    inside = np.array([True, True, True, False])
    assert mixture([first, second], [], inside) == "x = a in 67 % of its rows, 1 other value in the rest"
    item = enriched("y", "b", 0.3, 1.2)
    assert mixture([first, second], [item], inside).startswith("y = a in 67 %")
    ages = Label("≤ 30", is_value=False), Label("> 30", is_value=False)
    assert mixture([Column("age", ages, np.zeros(4, int))], [], inside) == ""
    assert mixture([first], [], np.array([False, True, False, False])) == "x = a"


def test_features_that_tell_nothing_give_no_rule():
    rng = np.random.default_rng(1)
    x, part = rng.normal(size=(2000, 3)), rng.integers(-1, 2, 2000)
    assert feature_rules(x, ["a", "b", "c"], part, 2) == ["", ""]
    # somewhat larger in the part than elsewhere: no threshold tells the two apart
    x[:, 0] += 0.3 * (part == 0)
    assert feature_rules(x, ["a", "b", "c"], part, 2)[0] == ""


def test_a_rule_names_the_level_of_a_category_and_not_a_bound_on_its_code():
    kind = np.random.default_rng(0).integers(0, 3, 600)
    x = np.column_stack([kind == 0, kind == 1, kind == 2]).astype(float)
    names = [f"device={name}" for name in ("phone", "desktop", "tablet")]
    assert feature_rules(x, names, (kind == 1).astype(int), 2)[1] == "device = desktop"
    # the first split of a tree may be on another level
    assert feature_rules(x, names, (kind == 2).astype(int), 2)[1] == "device = tablet"
    assert "device other than" in feature_rules(x[:, :1], names[:1], (kind != 0).astype(int), 2)[1]


def test_rules_find_a_corner():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(2000, 3))
    (rule,) = feature_rules(x, ["a", "b", "c"], np.where((x[:, 0] > 0.5) & (x[:, 2] <= 0), 0, -1), 1)
    assert sorted(condition.rsplit(" ", 1)[0] for condition in rule.split(" and ")) == ["a >", "c ≤"]


@given(
    st.lists(
        st.tuples(st.sampled_from([None, Clause("a", (Label("1"),))]), st.lists(st.sampled_from("uvwxyz"), max_size=6)),
        max_size=9,
    )
)
def test_names_are_unique_and_never_empty(known):
    clauses, words = [clause for clause, _ in known], [Keywords(tuple(terms), tuple(terms)) for _, terms in known]
    nothing = [""] * len(known)
    names = part_names(clauses, words, nothing, nothing, (["over", "under", "over"] * 3)[: len(known)])
    assert len(set(names)) == len(names)
    assert all(names)


def test_names_are_said_as_one_would_aloud():
    known = [Keywords(("american female",), ("american female",))] * 3
    assert part_names([None] * 3, known, [""] * 3, [""] * 3, ["over", "over", "under"]) == [
        "american female (over-confident)",
        "american female (over-confident), part 2",
        "american female (under-confident)",
    ]
    by_hidden = part_names([None] * 2, [Keywords()] * 2, [""] * 2, ["", ""], ["over", "over"], "hidden")
    assert by_hidden[0] == "rows right less often than equally sure rows, part 1"
