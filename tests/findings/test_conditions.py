"""Laws of every kind of condition: what it says is what its rows are, and it is stored exactly."""

import json
from dataclasses import dataclass, replace
from datetime import date
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.folders import built, state_of
from miscal.findings.conditions.column_kinds import Span, Value
from miscal.findings.conditions.condition import KINDS, Condition, Frame, InputClusters, Wording, read_condition
from miscal.findings.conditions.other_kinds import Both, Several
from miscal.findings.ledger.clusters import with_clusters
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.settings import LedgerSettings

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def any_value(kind):
    """Any value of a kind, made from the types of its fields: a new kind needs no entry here."""
    return st.builds(kind)


@pytest.fixture(autouse=True, scope="module")
def types_of_fields():
    st.register_type_strategy(float, FINITE)
    simple = [any_value(kind) for kind in KINDS.values() if not issubclass(kind, Several)]
    st.register_type_strategy(Condition, st.one_of(simple))
    yield
    st.register_type_strategy(float, st.floats())


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=15)
@given(data=st.data())
def test_a_condition_of_any_kind_is_stored_exactly_and_says_what_it_lacks(kind, data):
    one = data.draw(any_value(KINDS[kind]).filter(lambda one: getattr(one, "conditions", True)))
    stored = json.dumps(one.to_dict(), allow_nan=False)
    again = read_condition(json.loads(stored))
    assert again == one
    assert hash(again) == hash(one)
    assert json.dumps(again.to_dict()) == stored
    assert one.words
    assert one.words in one.phrase
    # of a table that has nothing, no rows can be told
    assert one.lacks(Frame(3))
    assert all(isinstance(name, str) for name in one.columns)


@pytest.mark.parametrize(
    "content", [None, 3, {}, {"kind": "unheard of"}, {"kind": "span", "column": "a"}, {"kind": "term"}]
)
def test_what_is_no_condition_is_refused(content):
    with pytest.raises(ValueError, match=r"kind|low|term"):
        read_condition(content)


# --- rows ---------------------------------------------------------------------------------------------------------

N = 90
DAYS = [date(1960, 1, 1), date(2001, 2, 28), date(2001, 3, 1), date(2039, 12, 31), None]


def table(rng, many):
    """Columns of every type that a file may hold, with values that words do not tell apart, and with holes."""
    instants = rng.integers(-(10**9), 2 * 10**9, N) // (1 if many else 86_400) * (1 if many else 86_400)
    numbers = rng.choice([0.1, 0.1000001, 2.0, np.nan, np.inf], N)
    return {
        "text": rng.choice(np.array(["law", "art = law", "(missing)", " and year = 2", None], object), N),
        "number": np.where(rng.random(N) < 0.8, rng.normal(0, 10.0 ** rng.integers(-9, 9), N), numbers)
        if many
        else numbers,
        "whole": rng.integers(-50, 50, N) if many else rng.integers(0, 3, N),
        "flag": rng.random(N) < 0.3,
        "day": rng.choice(np.array(DAYS, object), N),
        "moment": np.where(rng.random(N) < 0.1, np.datetime64("NaT"), instants.astype("M8[s]")),
    }


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_rows_of_every_named_group_are_those_of_its_condition(seed, many):
    rng = np.random.default_rng(seed)
    every = table(rng, many)
    columns = {name: every[name] for name in rng.permutation(sorted(every))[:3].tolist()}
    text = [" ".join(rng.choice(["Court", "jury's", "law"], rng.integers(0, 3))) for _ in range(N)]
    groups = named_groups(columns, text, LedgerSettings(min_rows=3, bins=8, pair_bins=4, pair_rows=3))
    frame = Frame(N, columns, text)
    for place in range(len(groups)):
        for one in (groups.conditions[place], *groups.also[place]):
            # and after a round trip through JSON
            again = read_condition(json.loads(json.dumps(one.to_dict())))
            assert again.lacks(frame) is None
            np.testing.assert_array_equal(again.rows(frame), groups.rows(place), err_msg=one.words)


@pytest.mark.parametrize("width", [3, 40])
@pytest.mark.parametrize("own_units", [False, True])
def test_the_rows_of_every_cluster_are_those_of_its_condition(width, own_units):
    rng = np.random.default_rng(width)
    X = (rng.normal(size=(6, width))[rng.integers(0, 6, 600)] + 0.3 * rng.normal(size=(600, width))).astype(np.float32)
    made, space = with_clusters(named_groups({}), X, own_units=own_units)
    assert len(made) > 5
    frame = Frame(len(X), X=X, clusters=built(InputClusters, *state_of(space)))
    for place, condition in enumerate(made.conditions):
        np.testing.assert_array_equal(condition.rows(frame), made.rows(place))
    # a row by itself is placed as it is among others
    alone = [one.rows(Frame(1, X=X[:1], clusters=space))[0] for one in made.conditions]
    assert alone == [bool(made.rows(place)[0]) for place in range(len(made))]


def test_arrays_of_clusters_that_do_not_fit_are_refused():
    space = with_clusters(named_groups({}), np.random.default_rng(0).normal(size=(300, 30)))[1]
    for name in ("columns", "mean", "axes"):
        with pytest.raises(ValueError, match="do not fit each other"):
            replace(space, **{name: getattr(space, name)[:-1]})


def test_a_value_is_found_in_a_column_that_another_file_stores_otherwise():
    for one, values in [
        (Value("year", 2001.0, "number"), ["2001", "2002"]),
        (Value("year", "2001", "text"), [2001, 2002]),
        (Value("day", "2021-03-01", "date"), ["2021-03-01", "2021-03-02"]),
    ]:
        assert one.rows(Frame(2, {one.column: np.array(values)})).tolist() == [True, False]
    assert "no numbers" in Span("age", 1.0, None).lacks(Frame(1, {"age": np.array(["old"], object)}))


def test_bounds_are_exact_where_words_round_them():
    low, high = 0.12345678, 0.12345699
    groups = named_groups({"x": np.repeat([low, high], 30)})
    assert len(set(groups.descriptions)) == 1
    assert groups.conditions[0].rows(Frame(2, {"x": np.array([low, high])})).tolist() == [False, True]


# --- a new kind ---------------------------------------------------------------------------------------------------


def test_a_new_kind_is_one_class():
    @dataclass(frozen=True)
    class Even(Condition):
        kind: ClassVar[str] = "even"
        column: str

        @property
        def columns(self):
            return (self.column,)

        @property
        def wording(self):
            return Wording("", f"even {self.column}")

        def lacks(self, frame):
            return frame.lacks(self.column)

        def rows(self, frame):
            return frame.columns[self.column] % 2 == 0

    try:
        one = read_condition({"kind": "even", "column": "year"})
        assert one == Even("year")
        assert one.rows(Frame(2, {"year": np.array([2, 3])})).tolist() == [True, False]
        assert read_condition(Both((one,)).to_dict()).words == "even year"
    finally:
        del KINDS["even"]
