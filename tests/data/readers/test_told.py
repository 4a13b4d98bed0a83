"""What became true and what was said: outcomes, verdicts of judges, classes, and the answers shown."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError, MissingColumn
from miscal.data.readers.class_columns import as_probabilities
from miscal.data.readers.names import COLUMN_SYNONYMS, GIVEN, RIGHT, answer_columns
from miscal.data.readers.outcomes import answers_of, outcomes
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.roles import pair_asked
from miscal.data.readers.rows import RowFaults
from miscal.runs.given import put_together

# --- columns of an event: told from those of an answer, found by their names, and read by what they call the event ---


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


NAMES_OF = {
    "probability": [*COLUMN_SYNONYMS["probability"], "P_default", "predicted_delay_risk", "churn_proba"],
    "event": COLUMN_SYNONYMS["event"],
}


@pytest.mark.parametrize(("role", "name"), [(role, name) for role, names in NAMES_OF.items() for name in names])
def test_the_other_column_is_found_by_its_name_and_told(role, name):
    other = {"probability": "event", "event": "probability"}[role]
    values = {"probability": RISK, "event": HAPPENED}
    triples = read_triples(table(**{name: values[role], "own": values[other]}), features="x", **{other: "own"})
    assert triples.source["columns"]["confidence" if role == "probability" else "correct"] == name
    told = [note for note in triples.notes if f"{name!r} was taken as {role}" in note]
    assert len(told) == (name != role)


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


# --- answers are found by the names of their columns, and told by the choices that they stand for --------------------


@pytest.mark.parametrize(
    ("names", "given", "right", "unknown"),
    [
        (["predicted", "answer_index"], "predicted", "answer_index", None),
        (["predicted", "answer"], "predicted", "answer", None),
        (["answer", "target"], "answer", "target", None),
        (["answer"], None, None, "answer"),
        (["Response", "gold", "answer"], "Response", "gold", None),
        (["age"], None, None, None),
    ],
)
def test_whose_answer_it_is_follows_from_what_else_there_is(names, given, right, unknown):
    wanted = {GIVEN: given, RIGHT: right, unknown: unknown}
    assert answer_columns(names)[0] == {what: name for what, name in wanted.items() if name}
    # a column with another part is none
    assert given is None or GIVEN not in answer_columns([given], [given])[0]


def test_answers_are_told_by_their_choices():
    table = pl.DataFrame(
        {"predicted": [1, 5, None], "gold": ["B", "other", ""], "choices": [["yes", "no"], ["a", "b"], ["c", "d"]]}
    )
    found = answers_of(table, *answer_columns(table.columns)[:2])
    assert found["model's answer"].tolist() == ["no", "5", None]
    assert found["right answer"].tolist() == ["B: no", "other", None]


def test_flags_are_no_answers():
    table = pl.DataFrame({"target": [0, 1, 1]})
    assert answers_of(table, *answer_columns(table.columns)[:2]) == {}


def test_triples_keep_the_answers_of_their_rows():
    rng = np.random.default_rng(0)
    n = 200
    f = rng.uniform(size=n)
    answer = [f"a{i}" for i in range(n)]
    table = {"confidence": f, "correct": rng.uniform(size=n) < f, "answer": answer, "age": rng.normal(size=n)}
    triples = read_triples(table, features="age").take([5, 3])
    assert triples.answers["answer"].tolist() == ["a5", "a3"]


# --- rows that a judge scored, of which people have judged some ------------------------------------------------------


def scored(n: int = 240, **columns):
    rng = np.random.default_rng(0)
    score = rng.integers(1, 6, n)
    human = np.where(rng.random(n) < score / 6, "approve", "reject").astype(object)
    human[rng.random(n) < 0.4] = None
    answer = ["word " * int(k) + str(row) for row, k in enumerate(rng.integers(3, 60, n))]
    known = {"model": rng.choice(["gpt-4o", "qwen3"], n).tolist(), "judge_model": ["gpt-4o-mini"] * n}
    known |= {"answer": answer, "judge": score.tolist(), "human": human.tolist()}
    return known | columns


def read_judged(table, **options):
    return read_triples(table, judge="judge", human="human", **options)


def test_rows_without_a_verdict_are_set_apart():
    table = scored()
    triples = read_judged(table)
    blank = sum(one is None for one in table["human"])
    assert triples.kind == "judge"
    assert (len(triples), len(triples.judged.unjudged)) == (240 - blank, blank)
    assert sorted([*triples.row, *triples.judged.unjudged.row]) == list(range(240))
    assert set(triples.metadata) == {"model"}
    assert triples.judged.unjudged.X.shape[1] == triples.X.shape[1]


def test_equal_scores_stand_for_one_probability_everywhere():
    table = scored()
    triples = read_judged(table)
    score = np.array(table["judge"])
    both = np.concatenate([triples.confidence, triples.judged.unjudged.confidence])
    rows = np.concatenate([triples.row, triples.judged.unjudged.row])
    for level in range(1, 6):
        assert len(set(both[score[rows] == level])) == 1
    assert abs(triples.confidence.mean() - triples.correct.mean()) < 0.01


def test_a_probability_is_taken_as_it_stands():
    p = np.random.default_rng(1).uniform(size=240)
    triples = read_judged(scored(judge=p.tolist()))
    assert triples.judged.scale is None
    assert np.array_equal(triples.confidence, p[triples.row])


@pytest.mark.parametrize(
    ("words", "positive"), [(("fail", "pass"), None), (("REJECTED", "Approved"), None), (("-", "ok"), "ok")]
)
def test_verdicts_may_be_words(words, positive):
    human = [words[one == "approve"] if one is not None else None for one in scored()["human"]]
    as_words = read_judged(scored(human=human), positive=positive)
    assert np.array_equal(as_words.correct, read_judged(scored()).correct)


def test_a_judge_may_pass_or_fail():
    judged = ["pass" if one > 3 else "fail" for one in scored()["judge"]]
    scale = read_judged(scored(judge=judged)).judged.scale
    assert scale.words == ("fail", "pass")
    assert scale.approval[0] < scale.approval[1]


def test_test_rows_have_no_part_in_the_scale():
    split = ["train"] * 160 + ["val"] * 20 + ["test"] * 60
    table = scored(split=split)
    before = read_judged(table, split="split").judged.scale
    turned = {"approve": "reject", "reject": "approve", None: None}
    table["human"][180:] = [turned[one] for one in table["human"][180:]]
    assert read_judged(table, split="split").judged.scale == before


def test_the_chance_of_being_judged_stays_with_its_row_where_others_are_dropped():
    p, size = np.linspace(0.1, 0.9, 240), np.arange(240.0)
    size[[3, 100, 101, 102]] = np.inf
    columns = scored(p=p.tolist(), size=size.tolist())
    triples = read_judged(columns, labelling_probability="p", features="size", on_invalid="drop")
    assert not {3, 100, 101, 102} & {*triples.row.tolist()}
    assert triples.judged.labelling.tolist() == p[triples.row].tolist()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"judge": ["good", "poor", "fair"] * 80}, "scores are numbers, higher where the judge approves more"),
        ({"judge": [3] * 240}, "is 3 in all rows"),
        ({"judge": [None, *[3, 4] * 119, 1]}, "1 of 240 values are missing"),
        ({"human": [None] * 240}, "holds no verdict"),
        ({"human": ["a", "b"] * 120}, "say which value is an approval"),
        ({"human": [1, 5] * 120}, "say which value is an approval"),
        ({"p": [0.0] * 240}, "no probabilities above 0 and up to 1"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(columns, message):
    options = {"labelling_probability": "p"} if "p" in columns else {}
    with pytest.raises(InputError, match=message) as refused:
        read_judged(scored(**columns), **options)
    assert "\n" not in str(refused.value)


def test_a_judge_does_not_mix_with_other_kinds():
    with pytest.raises(InputError, match="do not mix"):
        read_judged(scored(), confidence="judge")
    with pytest.raises(InputError, match="name a judge, too"):
        read_triples(scored(), confidence="judge", correct="human", labelling_probability="judge")


# --- probabilities of several classes: which columns hold them, what they are called, and what is refused ------------


NAMES = ("cat", "car", "dog")


def classified(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0, 1.0], n)
    kind = [NAMES[rng.choice(3, p=row)] for row in p]
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame({**columns, "kind": kind, "size": rng.normal(size=n), "place": rng.choice(["a", "b"], n)})


TABLE = classified()
MATRIX = TABLE.select(pl.col("^p_.*$")).to_numpy()


def test_the_top_label_is_confidence_and_outcome():
    rows = read_triples(TABLE, probabilities="p_*", label="kind")
    assert rows.classes.names == NAMES
    assert np.array_equal(rows.confidence, rows.classes.probability.max(axis=1))
    assert np.array_equal(rows.correct == 1, rows.classes.predicted == rows.classes.code)
    assert list(rows.metadata["predicted"]) == [NAMES[k] for k in rows.classes.predicted]


def test_probabilities_and_label_are_no_inputs_and_name_nothing():
    rows = read_triples(TABLE, probabilities="p_*", label="kind", metadata="auto")
    assert set(rows.metadata) == {"size", "place", "predicted"}
    assert rows.source["columns"]["x"] == ["size", "place"]
    assert "predicted" not in rows.source["columns"]["needed"]


@settings(max_examples=10)
@given(st.permutations(range(3)), st.randoms(use_true_random=False))
def test_order_of_columns_and_of_rows_moves_nothing_else(order, random):
    rows = read_triples(TABLE, probabilities=[f"p_{NAMES[k]}" for k in order], label="kind", features="size")
    shuffled = list(range(len(TABLE)))
    random.shuffle(shuffled)
    moved = read_triples(TABLE[shuffled], probabilities="p_*", label="kind", features="size")
    assert np.array_equal(rows.confidence[shuffled], moved.confidence)
    assert np.array_equal(rows.classes.probability[shuffled], moved.classes.probability[:, list(order)])


def test_columns_matrix_and_values_give_the_same(tmp_path):
    np.save(tmp_path / "p.npy", MATRIX)
    (tmp_path / "names.txt").write_text("\n".join(NAMES) + "\n")
    asked = {"label": "kind", "features": "size", "where": "place == 'a'"}
    by_columns = read_triples(TABLE, probabilities="p_*", **asked)
    by_matrix = read_triples(TABLE, probabilities=str(tmp_path / "p.npy"), classes=str(tmp_path / "names.txt"), **asked)
    frame = TABLE.drop([f"p_{name}" for name in NAMES]).to_pandas()
    given_values = put_together(frame, probabilities=MATRIX, classes=np.array(NAMES), **asked)
    for rows in (by_matrix, read_triples(given_values.source, **given_values.options)):
        assert rows.classes.names == NAMES
        assert np.array_equal(rows.classes.probability, by_columns.classes.probability)
        assert np.array_equal(rows.correct, by_columns.correct)


def test_a_copy_of_the_label_is_left_out_as_a_leak():
    copied = TABLE.with_columns(again=pl.col("kind"))
    rows = read_triples(copied, probabilities="p_*", label="kind")
    assert rows.source["columns"]["x"] == ["size", "place"]
    assert set(rows.metadata) == {"predicted"}
    assert "again" in read_triples(copied, probabilities="p_*", label="kind", allow_leak="again").source["columns"]["x"]


def test_logarithms_are_read_and_told():
    logs = TABLE.with_columns(pl.col(f"p_{name}").log() for name in NAMES)
    rows = read_triples(logs, probabilities="p_*", label="kind")
    assert np.allclose(rows.classes.probability, MATRIX, atol=1e-12)
    assert any("natural logarithms" in one for one in rows.notes)


def test_labels_may_be_numbers():
    numbered = TABLE.with_columns(pl.col("kind").replace_strict(dict(zip(NAMES, range(3), strict=True))))
    numbered = numbered.rename({f"p_{name}": f"p_{k}" for k, name in enumerate(NAMES)})
    rows = read_triples(numbered, probabilities="p_*", label="kind", features="size")
    assert np.array_equal(rows.classes.code, read_triples(TABLE, probabilities="p_*", label="kind").classes.code)


def test_invalid_rows_are_dropped_and_counted():
    broken = TABLE.with_columns(
        pl.when(pl.col("size") > 1.5).then(pl.lit("owl")).otherwise("kind").alias("kind"),
        pl.when(pl.col("size") < -1.5).then(None).otherwise("p_cat").alias("p_cat"),
    )
    rows = read_triples(broken, probabilities="p_*", label="kind", on_invalid="drop")
    assert len(rows) == len(rows.classes) == ((TABLE["size"] <= 1.5) & (TABLE["size"] >= -1.5)).sum()
    [note] = [one for one in rows.notes if "dropped" in one]
    assert "the probabilities are missing" in note
    assert "'kind' is none of the classes" in note


@pytest.mark.parametrize(
    ("changed", "asked", "said"),
    [
        ({}, {"probabilities": "q_*"}, "matches no column"),
        ({}, {"probabilities": ["p_cat", "p_dog"]}, "at least 3 classes"),
        ({}, {"probabilities": None}, "label is of several classes"),
        ({}, {"confidence": "size"}, "give one of the two"),
        ({}, {"features": "p_cat,size"}, "'p_cat' is what the model states"),
        ({}, {"features": "kind"}, "is the outcome"),
        ({}, {"metadata": "kind"}, "is the outcome"),
        ({}, {"metadata": "p_cat"}, "leave it out"),
        ({}, {"classes": "cat,dog"}, "2 names are given for 3"),
        ({}, {"classes": "cat,dog,dog"}, "must be distinct"),
        ({}, {"classes": "1,2,3"}, "none of the classes"),
        ({"p_cat": pl.col("p_cat") / 2}, {}, "do not sum to 1"),
        ({f"p_{name}": pl.col(f"p_{name}") * 100 for name in NAMES}, {}, "divide percentages by 100"),
        ({"p_cat": pl.col("p_cat") * -3}, {}, "softmax"),
        ({"p_cat": pl.lit(None, pl.Float64)}, {}, "missing"),
        ({"kind": pl.lit("cat")}, {}, "one class alone"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_remedy(changed, asked, said):
    table = TABLE.with_columns(**changed)
    with pytest.raises((InputError, MissingColumn), match=said):
        read_triples(table, **({"probabilities": "p_*", "label": "kind"} | asked))


def test_a_matrix_of_another_length_or_without_names_is_refused(tmp_path):
    np.save(tmp_path / "p.npy", MATRIX[:-1])
    with pytest.raises(InputError, match="lengths differ"):
        read_triples(TABLE, probabilities=str(tmp_path / "p.npy"), label="kind", classes=NAMES)
    with pytest.raises(InputError, match="does not say what its 3 columns are"):
        read_triples(TABLE, probabilities=str(tmp_path / "p.npy"), label="kind")


@given(st.lists(st.lists(st.floats(0.0, 1.0), min_size=4, max_size=4), min_size=1, max_size=8))
def test_usable_rows_sum_to_one_and_others_are_told_apart(values):
    faults = RowFaults(np.arange(len(values)))
    probability, _ = as_probabilities(np.array(values), faults, log=False)
    assert np.allclose(probability[faults.sound].sum(axis=1), 1.0, atol=1e-12)
    assert np.isnan(probability[~faults.sound]).all()


STATUS = table(confidence=RISK, risk=RISK, status=["late" if one else "on time" for one in HAPPENED])
KINDS = {
    "event": (STATUS, {"event": "status", "probability": "risk", "positive": "late"}),
    "answer": (STATUS, {"correct": "status", "positive": "late"}),
    "judge": (pl.DataFrame(scored(p=[0.5] * 240)), {"judge": "judge", "human": "human", "labelling_probability": "p"}),
    "classes": (TABLE, {"probabilities": "p_*", "label": "kind"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_every_kind_are_read_again_as_they_were(kind, tmp_path):
    rows, options = KINDS[kind]
    rows.write_csv(path := tmp_path / "rows.csv")
    first = read_triples(path, **options)
    again = reread(first.source)
    assert (again.kind, list(again.metadata)) == (first.kind, list(first.metadata))
    for name in ("X", "confidence", "correct"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    if kind == "judge":
        assert again.judged.labelling.tolist() == [0.5] * len(again)
    if kind == "classes":
        assert np.array_equal(first.classes.probability, again.classes.probability)
