"""Groups of every shape are found by what they are, and the tables of columns say what the ledger says."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import binomtest

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.conditions.column_kinds import Trend
from miscal.findings.conditions.condition import Frame
from miscal.findings.ledger.bins import bins_of, order_levels, round_quantile, stretches
from miscal.findings.ledger.document import EXPLAINED, FEW_ROWS, FINDING, NOT_DISTINGUISHABLE, NOT_TESTED
from miscal.findings.ledger.groups import INTERVAL, named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.sizes import sum_p_value

from .test_ledger import columns_of, crossfitted, planted

N = 6_000


def told(columns, shift, seed=0, text=None):
    """Findings of rows whose chance of being right is shifted in log-odds from one half."""
    n = len(shift)
    y = (np.random.default_rng((seed, 7)).random(n) < expit(shift)).astype(float)
    half = np.full(n, 0.5)
    rows = LabelledRows(y, half, half, hidden=y * 0, row=np.arange(n))
    return find(rows, named_groups(columns, text), seed=seed).findings


def kinds(rng):
    return {f"kind{j}": np.array([f"v{v}" for v in rng.integers(0, k, N)], object) for j, k in enumerate((3, 4, 5))}


def test_hours_that_pass_midnight_are_one_finding():
    rng = np.random.default_rng(1)
    opened = np.datetime64("2021-01-01", "s") + rng.integers(0, 400 * 86_400, N).astype("m8[s]")
    hour = opened.astype(np.int64) // 3_600 % 24
    [one] = told({**kinds(rng), "opened": opened}, np.where((hour >= 22) | (hour < 5), -0.7, 0.4))
    assert one.description == "opened from 22 to 5 o'clock"


def test_a_range_of_ordered_levels_is_one_finding():
    rng = np.random.default_rng(2)
    levels = np.array(["<18", "18-25", "26-40", "41-64", "65+"], object)
    age = rng.integers(0, 5, N)
    [one] = told({**kinds(rng), "age": levels[age]}, np.where((age == 1) | (age == 2), -0.6, 0.4))
    assert one.description == "age = 18-25 or 26-40"


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_trend_is_one_finding_and_not_two_intervals(sign):
    rng = np.random.default_rng(4)
    age = rng.integers(18, 91, N).astype(float)
    age[rng.random(N) < 0.05] = np.nan
    shift = sign * 0.9 * np.where(np.isnan(age), 0.0, (age - 54) / 73)
    [one] = told({**kinds(rng), "age": age}, 0.3 + shift)
    assert one.condition.kind == "trend"
    assert one.sign == ("over" if sign < 0 else "under")
    assert one.n == np.sum(age >= one.condition.upper)
    # about what the shift makes of a rate of a half from the lower to the upper third of ages
    low, high = one.conditional.interval
    assert low < sign * 0.9 * (2 / 3) / 4 < high
    assert sign * low > 0 < sign * high


def test_a_group_at_the_end_of_a_number_is_no_trend():
    rng = np.random.default_rng(5)
    size = rng.normal(size=N)
    [one] = told({**kinds(rng), "size": size}, np.where(size > 1.2, -1.2, 0.3))
    assert one.condition.kind == "span"


@pytest.mark.parametrize(
    ("levels", "order", "rounds"),
    [
        (["Sun", "Mon", "Sat"], ["Mon", "Sat", "Sun"], True),
        (["high", "LOW", "medium"], ["LOW", "medium", "high"], False),
        (["10k-20k", "<10k", "20k+"], ["<10k", "10k-20k", "20k+"], False),
        (["$0 - $50", "$50 - $100"], ["$0 - $50", "$50 - $100"], False),
        (["1", "2", "3"], [], False),
        (["v1", "v2", "v3"], [], False),
        (["law", "art"], [], False),
    ],
)
def test_levels_have_an_order_only_where_their_names_tell_it(levels, order, rounds):
    assert order_levels(levels) == (order, rounds)


def test_months_come_round_only_where_several_years_are_seen():
    def parts(days):
        day = np.datetime64("2021-01-01", "s") + np.arange(days).astype("m8[D]")
        return {one.part for conditions, _ in stretches("day", day, 12) for one in conditions}

    assert parts(400) == {"weekday"}
    assert parts(800) == {"weekday", "month"}


@pytest.mark.slow
@pytest.mark.parametrize("chance", [0.5, 0.97])
def test_the_p_value_of_a_sum_is_as_often_small_as_it_says(chance):
    rng = np.random.default_rng(0)
    expected, factors = np.full(300, chance), np.linspace(-1, 1, 300) ** 3
    p_values = [sum_p_value(factors, (rng.random(300) < chance).astype(float), expected) for _ in range(3_000)]
    for level in (0.1, 0.01, 0.002):
        assert binomtest(int(np.sum(np.array(p_values) <= level)), 3_000, level).pvalue > 0.001


def test_no_group_has_more_than_about_half_of_the_rows_and_the_others_stand_for_it():
    rng = np.random.default_rng(8)
    rare = rng.random(N) < 0.02
    columns = {
        "place": np.where(rare, rng.choice(["x", "y", "z"], N), "usual").astype(object),
        "amount": np.where(rare, rng.random(N), 0.0),
        "known": np.where(rare, rng.random(N), np.nan),
        "kind": rng.choice(["a", "b", ""], N, p=[0.55, 0.25, 0.2]).astype(object),
    }
    groups = named_groups(columns)
    interval = groups.kinds == INTERVAL  # ends at round numbers
    assert np.all(groups.member.counts() <= np.where(interval, 0.525, 0.5) * N)
    frame = Frame(N, columns)
    for place, condition in enumerate(groups.conditions):
        assert np.array_equal(condition.rows(frame), groups.rows(place)), condition
    every = {name for one in groups.places for name in [one.words]}
    assert {"place other than usual", "known not (missing)", "kind other than a", "kind = (empty)"} <= every
    [one] = told(columns, np.where(rare, -1.5, 0.4))
    assert one.n == rare.sum()
    assert one.sign == "over"
    assert one.together_with is None


def test_a_value_is_told_before_a_term_that_nearly_all_its_rows_have():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        kind = rng.choice(["law", "art", "sums", "war"], 4_000, p=[0.3, 0.05, 0.3, 0.35])
        # the term tells a little more than the value that most of its texts have
        wrong = (kind == "law") | (kind == "art")
        text = ["court case" if bad else "some case" for bad in wrong]
        found = told({"kind": kind.astype(object)}, np.where(wrong, -1.0, 0.5), seed, text)
        assert [one.description for one in found[:2]] == ["kind = law", "kind = art"]


def test_a_term_that_a_value_does_not_account_for_is_told():
    rng = np.random.default_rng(0)
    kind = rng.choice(["law", "art"], 4_000)
    court = (kind == "law") & (rng.random(4_000) < 0.3)
    text = ["court case" if one else "some case" for one in court]
    found = told({"kind": kind.astype(object)}, np.where(court, -1.5, 0.5), text=text)
    assert '"court" in the text' in found[0].description


@settings(max_examples=15)
@given(st.integers(0, 2**20))
def test_intervals_of_one_column_share_no_rows_and_no_row_is_shown_twice(seed):
    rng = np.random.default_rng(seed)
    size = rng.normal(size=1_500)
    found = told({"size": size}, 1.2 * np.sin(rng.uniform(1, 4) * size + rng.uniform(0, 6)), seed)
    frame = Frame(1_500, {"size": size})
    # a trend is told beside the intervals that it does not account for
    inside = [one.condition.rows(frame) for one in found if not isinstance(one.condition, Trend)]
    assert not any((a & b).any() for k, a in enumerate(inside) for b in inside[:k])
    shown = [row for one in found for row in one.rows]
    assert len(shown) == len(set(shown))


MOVED = 0.0075


@given(st.integers(0, 2**20), st.floats(0.02, 0.98), st.sampled_from([1e-6, 1e-2, 1.0, 1e5]))
def test_a_rounded_quantile_moves_few_rows_and_has_few_digits(seed, place, scale):
    order = np.sort(np.random.default_rng(seed).normal(size=500)) * scale
    found = round_quantile(order, place)
    below = np.mean(order < found)
    assert place - MOVED - 1 / 500 <= below <= place + MOVED + 1 / 500
    digits = f"{found:.6g}".lstrip("-").split("e")[0].replace(".", "").strip("0")
    assert len(digits) <= 3


@given(st.integers(0, 2**20), st.integers(2, 40))
def test_bins_of_whole_numbers_end_at_whole_numbers_and_hold_about_as_many_rows(seed, count):
    values = np.random.default_rng(seed).integers(0, 300, 2_000).astype(float)
    bins = bins_of("n", values, count, date=False)
    assert bins.whole
    assert (bins.inner == np.floor(bins.inner)).all()
    assert (np.diff(bins.inner) > 0).all()
    assert np.bincount(bins.codes).max() <= 2_000 * (1 / count + 2 * MOVED) + 30


def test_dates_are_cut_at_firsts_of_months_where_these_are_near():
    days = np.arange(0, 730 * 86_400, 3_600.0) + np.datetime64("2021-01-01", "s").astype(float)
    bins = bins_of("day", days, 24, date=True)
    told = [bins.condition(i, i).words for i in range(1, 23)]
    assert sum(" in " in one for one in told) >= 15
    assert bins.condition(0, 11).words == "day before January 2022 (past)"


@pytest.mark.parametrize("values", [[0.0, 1.0], [5.0, 5.0, 7.0]])
def test_two_values_make_two_bins(values):
    assert bins_of("n", np.repeat(values, 20), 40, date=False).count == 2


def table_of(seed, n, **design):
    """Columns of every kind, one of few rows per value, and outcomes that one value and one interval shift."""
    rng = np.random.default_rng(seed)
    columns = {**columns_of(rng, n), "rare": rng.choice(list("ab") + ["c"] * 60, n), "half": rng.random(n) < 0.4}
    columns["half"] = np.where(columns["half"], "yes", "no").astype(object)
    f = expit(rng.normal(0, 1.2, n))
    rate = expit(np.log(f / (1 - f)) - 1.5 * (columns["kind0"] == "v1") + 1.5 * (columns["size"] > 0.8))
    y = (rng.random(n) < rate).astype(float)
    return columns, LabelledRows.of(y, f, crossfitted(y, f), row=np.arange(n), **design)


def tables(found):
    names = dict.fromkeys(one.column for one in found.values)
    return {name: [one for one in found.values if one.column == name] for name in names}


@settings(max_examples=8)
@given(st.integers(0, 100), st.sampled_from([60, 300]), st.booleans(), st.booleans())
def test_every_row_is_in_one_value_of_each_column_and_the_values_are_those_of_the_rows(seed, n, weighed, grouped):
    rng = np.random.default_rng(seed)
    design = {
        "weight": rng.uniform(0.5, 2, n) if weighed else None,
        "group": rng.integers(0, n, n) if grouped else None,
    }
    columns, rows = table_of(seed, n, **design)
    corrected = replace(rows, confidence=rows.expected)
    found = tables(find(rows, named_groups(columns), corrected=corrected))
    assert set(found) == set(columns)
    for values in found.values():
        assert sum(one.n for one in values) == n
        shares = np.array([one.share for one in values])
        assert shares.sum() == pytest.approx(1)
        for name, wanted in (("accuracy", rows.correct), ("confidence", rows.confidence)):
            assert shares @ [getattr(one, name) for one in values] == pytest.approx(rows.shares @ wanted)
        for one in values:
            assert one.residual.value == pytest.approx(one.accuracy - one.confidence, abs=1e-12)
            for size in (one.residual, one.hidden, one.after):
                low, high = size.interval
                assert low <= size.value + 1e-12
                assert size.value <= high + 1e-12
            # the three intervals are that of the accuracy, less what it is compared with
            assert np.ptp(one.residual.interval) == pytest.approx(np.ptp(one.hidden.interval))
            # what is corrected to E[y | f] leaves all that was hidden
            assert one.after == one.hidden


@pytest.mark.parametrize("seed", range(4))
def test_marks_are_those_of_the_ledger(seed):
    groups, y, f, _ = planted(seed, 2_000)
    rows = LabelledRows(y, f, crossfitted(y, f), row=np.arange(len(y)))
    found = find(rows, groups, corrected=rows, seed=seed)
    numbers = {one.condition: (place, one) for place, one in enumerate(found.findings, start=1)}
    accounted = {one.condition: one for one in found.accounted}
    aliases = {alias for one in found.findings for alias in one.aliases}
    assert {one.mark for one in found.values} >= {FINDING, EXPLAINED, NOT_DISTINGUISHABLE}
    for value in found.values:
        assert (value.mark == FINDING) == (value.condition in numbers)
        if value.mark == FINDING:
            place, one = numbers[value.condition]
            assert (value.finding, value.n, value.accuracy, value.confidence) == (
                place, one.n, one.accuracy, one.confidence,
            )  # fmt: skip
            assert (value.hidden.value, value.conditional) == (one.hidden.value, one.conditional)
            # of the same rows; only the finding is made smaller for its choice
            assert value.after.interval == one.after.interval
            assert 0.5 * abs(value.after.value) <= abs(one.after.value) <= abs(value.after.value)
            # the finding's own interval allows for the choice, too
            (low, high), (lowest, highest) = value.hidden.interval, one.hidden.interval
            assert lowest <= low <= high <= highest
        elif value.condition in accounted:
            one = accounted[value.condition]
            assert (value.mark, value.hidden.value, value.conditional) == (EXPLAINED, one.hidden.value, one.conditional)
            assert 1 <= value.finding <= len(found.findings)
        elif value.mark == EXPLAINED:
            # a bin of a number, or another name of a finding
            assert value.condition.kind in ("span", "period") or value.condition.words in aliases
        else:
            assert (value.finding, value.conditional) == (None, Measure(value=None))
            assert value.mark == (FEW_ROWS if value.n < 20 else NOT_DISTINGUISHABLE)


def test_a_bin_within_a_finding_is_explained_by_it():
    groups, y, f, (pair, missing, _) = planted(0)
    found = find(LabelledRows(y, f, crossfitted(y, f), row=np.arange(len(y))), groups)
    number = next(place for place, one in enumerate(found.findings, start=1) if one.columns == ("size",))
    explained = [one for one in tables(found)["size"] if one.mark == EXPLAINED]
    assert explained
    assert all(one.finding == number for one in explained)
    for one in explained:
        whole = one.conditional.value is None or one.conditional.value * one.hidden.value < 0
        assert one.told == f"explained {'' if whole else 'in part '}by finding {number}"
    of_pair = next(place for place, one in enumerate(found.findings, start=1) if one.n == pair.sum())
    values = {one.value: one for one in tables(found)["kind0"]}
    assert values["v1"].finding in (None, of_pair)
    [gone] = [one for one in tables(found)["kind1"] if one.value == "(missing)"]
    assert (gone.mark, gone.n) == (FINDING, missing.sum())


def test_two_values_are_one_question_with_one_answer():
    rng = np.random.default_rng(0)
    kind, f = np.where(rng.random(1_000) < 0.3, "law", "art"), rng.uniform(0.1, 0.9, 1_000)
    y = (rng.random(1_000) < expit(np.log(f / (1 - f)) - 1.5 * (kind == "law"))).astype(float)
    found = find(LabelledRows(y, f, crossfitted(y, f), row=np.arange(1_000)), named_groups({"kind": kind}))
    assert [(one.value, one.told) for one in found.values] == [("law", "finding 1"), ("art", "explained by finding 1")]


def test_values_that_no_test_can_tell_of_say_why():
    y, half = np.tile([1.0, 0.0], 60), np.full(120, 0.5)
    names = np.repeat(["most", "few", "one"], [105, 14, 1])
    number = np.r_[np.zeros(100), np.arange(1, 21)]
    columns = {"name": names, "number": number, "id": np.arange(120).astype(str)}
    found = tables(find(LabelledRows(y, half, half, row=np.arange(120)), named_groups(columns)))
    assert [(one.value, one.mark) for one in found["name"]] == [(name, FEW_ROWS) for name in ("most", "few", "one")]
    assert {one.mark for one in found["number"]} <= {FEW_ROWS, NOT_DISTINGUISHABLE, NOT_TESTED}
    # values that are nearly all different name rows, not groups
    assert "id" not in found


def test_numbers_and_dates_keep_their_order_and_texts_begin_with_the_least_often_right():
    columns, rows = table_of(3, 900)
    found = tables(find(rows, named_groups(columns)))
    sizes = [one.condition.low for one in found["size"] if one.condition.kind == "span"]
    assert sizes == sorted(sizes, key=lambda low: -np.inf if low is None else low)
    assert found["size"][-1].value == "(missing)"
    tested = [one.hidden.value for one in found["kind0"] if one.mark != FEW_ROWS]
    assert tested == sorted(tested)
    assert [one.mark == FEW_ROWS for one in found["rare"]] == sorted(one.mark == FEW_ROWS for one in found["rare"])


def test_a_value_of_an_undecodable_name_is_told_as_utf8_can_hold_it():
    y, half = np.repeat([1.0, 0.0], 30), np.full(60, 0.5)
    kind = np.repeat(["law\udce9", "art"], 30).astype(object)
    found = find(LabelledRows(y, half, half, row=np.arange(60)), named_groups({"kind\udce9": kind})).values
    assert {(one.column, one.value) for one in found} == {("kind\ufffd", "law\ufffd"), ("kind\ufffd", "art")}
