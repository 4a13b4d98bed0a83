"""Laws of the tables of columns: nothing is lost, and nothing is said that the ledger does not say."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from miscal.base.document import Measure
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.ledger.values import EXPLAINED, FEW_ROWS, FINDING, NOT_DISTINGUISHABLE, NOT_TESTED

from .test_ledger import columns_of, crossfitted, planted


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
