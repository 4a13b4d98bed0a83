"""Probabilities of several classes: which columns hold them, what they are called, and what is refused."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError, MissingColumn
from miscal.data.readers.class_columns import as_probabilities
from miscal.data.readers.read import read_triples, reread
from miscal.data.readers.rows import RowFaults
from miscal.runs.given import put_together

NAMES = ("cat", "car", "dog")


def _table(n: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1.0, 1.0, 1.0], n)
    kind = [NAMES[rng.choice(3, p=row)] for row in p]
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(NAMES)}
    return pl.DataFrame({**columns, "kind": kind, "size": rng.normal(size=n), "place": rng.choice(["a", "b"], n)})


TABLE = _table()
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


def test_rows_of_a_file_are_read_again_as_they_were(tmp_path):
    TABLE.write_parquet(tmp_path / "rows.parquet")
    rows = read_triples(tmp_path / "rows.parquet", probabilities="p_*", label="kind")
    again = reread(rows.source)
    assert np.array_equal(rows.classes.probability, again.classes.probability)
    assert np.array_equal(rows.X, again.X)
    assert list(rows.metadata) == list(again.metadata)


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
    assert "labels (column" in note


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
