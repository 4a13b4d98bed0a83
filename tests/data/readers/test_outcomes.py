"""Columns of an event: told from those of an answer, found by their names, and read by what they call the event."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from miscal.base.errors import InputError, MissingColumn
from miscal.data.readers.names import COLUMN_SYNONYMS
from miscal.data.readers.outcomes import outcomes
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.roles import pair_asked

N = 200
RNG = np.random.default_rng(0)
RISK = RNG.uniform(size=N)
HAPPENED = RNG.uniform(size=N) < RISK


def table(**columns):
    return pl.DataFrame({"x": np.arange(N)} | columns)


def test_either_option_says_that_it_is_an_event():
    data = table(risk=RISK, y=HAPPENED)
    for options in ({"probability": "risk"}, {"event": "y"}, {"probability": "risk", "event": "y"}, {"kind": "event"}):
        triples = read_triples(data, features="x", **options)
        assert triples.kind == "event"
        assert triples.correct.tolist() == HAPPENED.tolist()
        assert triples.confidence.tolist() == RISK.tolist()
    assert read_triples(table(p=RISK, y=HAPPENED), features="x").kind == "answer"


@pytest.mark.parametrize("name", [*COLUMN_SYNONYMS["probability"], "P_default", "predicted_delay_risk", "churn_proba"])
def test_the_other_column_is_found_by_its_name_and_told(name):
    triples = read_triples(table(**{name: RISK, "late": HAPPENED}), event="late", features="x")
    assert triples.source["columns"]["confidence"] == name
    told = [note for note in triples.notes if f"{name!r} was taken as probability" in note]
    assert len(told) == (name != "probability")


@pytest.mark.parametrize("name", COLUMN_SYNONYMS["event"])
def test_so_is_the_column_of_the_event(name):
    triples = read_triples(table(chance=RISK, **{name: HAPPENED}), probability="chance", features="x")
    assert triples.source["columns"]["correct"] == name


def test_options_of_answers_and_events_do_not_mix():
    data = table(p=RISK, y=HAPPENED, late=HAPPENED)
    for options in ({"confidence": "p", "event": "y"}, {"probability": "p", "correct": "y"}):
        with pytest.raises(InputError, match="do not mix: got ") as error:
            read_triples(data, features="x", **options)
        assert all(f"{name} {value!r}" in str(error.value) for name, value in options.items())
    with pytest.raises(InputError, match=r"several columns could be meant: 'p', 'risk'; name one .*probability='p'\)"):
        read_triples(data.with_columns(risk=pl.lit(0.5)), event="late", features="x")
    with pytest.raises(MissingColumn, match=r"event: no column is called .*y_true.*`event`"):
        read_triples(table(p=RISK, delayed=HAPPENED), probability="p", features="x")
    with pytest.raises(InputError, match=r"probability and event must be two columns; both are 'p'"):
        read_triples(data, probability="p", event="p", features="x")
    with pytest.raises(InputError, match=r"rows of an event, .* named by probability and event; got conf"):
        pair_asked(kind="event", confidence="p")


@given(st.lists(st.booleans(), min_size=1), st.sampled_from([("0", "1"), ("False", "TRUE"), ("no", "Yes")]))
def test_plain_words_need_no_positive(happened, words):
    series = pl.Series([words[one] for one in happened])
    assert outcomes(series, "event", name="event")[0].tolist() == [float(one) for one in happened]


@given(
    st.lists(st.sampled_from(["late", "on time", "cancelled"]), min_size=1),
    st.sampled_from(["late", "on time", "cancelled"]),
    st.sampled_from(["answer", "event", "judge"]),
)
def test_one_value_is_the_event_and_all_others_are_not(values, positive, kind):
    series = pl.Series(values, dtype=pl.Categorical)
    if positive not in values:
        with pytest.raises(InputError, match=f"nowhere holds '{positive}'"):
            outcomes(series, kind, positive=positive, name="event")
        return
    found, notes = outcomes(series, kind, positive=positive, name="event")
    assert found.tolist() == [float(value == positive) for value in values]
    assert len(notes) == (len(set(values)) == 3)


@pytest.mark.parametrize("values", [["a", "b"], [1, 2], ["yes", "1"], [-1.0, 1.0]])
def test_a_label_of_two_values_is_asked_for(values):
    with pytest.raises(InputError, match="say which value is the event"):
        outcomes(pl.Series(values), "event", name="event")


@pytest.mark.parametrize(("values", "positive"), [([1, 2], "2"), ([1.0, 2.0], 2), ([False, True], "True")])
def test_numbers_and_truth_values_may_be_named_as_text(values, positive):
    assert outcomes(pl.Series(values), "event", positive=positive, name="event")[0].tolist() == [0.0, 1.0]


@pytest.mark.parametrize(("kind", "columns"), [("event", ("risk", "event")), ("answer", ("confidence", "correct"))])
def test_the_rows_of_an_event_are_read_again_alike(kind, columns, tmp_path):
    path, probability, outcome = tmp_path / "flights.csv", *columns
    table(**{probability: RISK, "status": ["late" if one else "on time" for one in HAPPENED]}).write_csv(path)
    triples = read_triples(path, positive="late", features="x", **{outcome: "status"})
    again = reread(triples.source)
    assert again.kind == kind
    assert again.correct.tolist() == triples.correct.tolist() == HAPPENED.tolist()
