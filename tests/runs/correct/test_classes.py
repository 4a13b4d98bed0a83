"""A run of several classes corrects the probability of each class of new rows, alike from Python and by a command."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax

import miscal
from miscal.base.errors import CorruptFile, InputError, MissingColumn
from miscal.base.folders import CONFIG, TENSORS, _content_digest
from miscal.discovery.saved_model import load_model
from miscal.runs.correct import command
from miscal.runs.correct.command import calibrate_file

pytestmark = pytest.mark.whole

NAMES = ("cat", "dog", "owl")
OWN = [f"p_{name}" for name in NAMES]
CORRECTED = [f"corrected_{name}" for name in NAMES]


def rows(n: int, seed: int) -> pl.DataFrame:
    """Probabilities that miss what a column tells of the first two classes."""
    rng = np.random.default_rng(seed)
    X, z = rng.normal(size=(n, 2)), rng.normal(size=(n, 3))
    shift = 2.0 * np.sign(X[:, :1]) * np.array([[1.0, -1.0, 0.0]])
    code = (softmax(z + shift, axis=1).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    columns = {"age": X[:, 0], "size": X[:, 1], "kind": np.where(rng.random(n) < 0.5, "a", "b")}
    p = dict(zip(OWN, softmax(z, axis=1).T, strict=True))
    return pl.DataFrame({**columns, **p, "label": np.array(NAMES)[code]})


NEW = rows(40, 1).drop("label")


@pytest.fixture(scope="module")
def found():
    return miscal.discover(rows(300, 0), probabilities="p_*", label="label", evidence="test", n_jobs=1, progress=False)


@pytest.fixture(scope="module")
def corrected(found):
    return found.correct(NEW)


@pytest.fixture(scope="module")
def run(found, tmp_path_factory):
    return found.save(tmp_path_factory.mktemp("several") / "run")


def test_rows_sum_to_one_and_the_top_label_is_one_of_them(corrected, found):
    assert found.model.classes.correction.structure
    values = corrected.select(CORRECTED).to_numpy()
    assert np.abs(values.sum(axis=1) - 1).max() < 1e-12
    top = NEW.select(OWN).to_numpy().argmax(axis=1)
    assert corrected["predicted"].to_list() == [NAMES[k] for k in top]
    np.testing.assert_array_equal(corrected["corrected"].to_numpy(), values[np.arange(40), top])


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_the_command_writes_in_pieces_what_python_returns(corrected, run, ending, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "_PIECE_ROWS", (7, 7))
    NEW.write_csv(tmp_path / "new.csv")
    out = tmp_path / f"out.{ending}"
    assert calibrate_file(run, tmp_path / "new.csv", out).tally.written == 40
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "jsonl": pl.read_ndjson}[ending](out)
    assert read.columns == corrected.columns
    assert read["predicted"].to_list() == corrected["predicted"].to_list()
    names = ["corrected", "delta", *CORRECTED]
    np.testing.assert_allclose(read.select(names).to_numpy(), corrected.select(names).to_numpy(), atol=1e-12)


def test_probabilities_are_found_by_pattern_in_a_matrix_and_in_a_frame(corrected, found, run, tmp_path):
    want, inputs = corrected.select(CORRECTED), NEW.drop(OWN)
    again = miscal.load(run)
    matrix = NEW.select(OWN).to_numpy()
    np.save(tmp_path / "p.npy", matrix)
    others = NEW.select(OWN[::-1]).rename(lambda name: name[2:])
    given = [
        (NEW.select(sorted(NEW.columns, reverse=True)), "p_*"), (NEW, "p_owl,p_cat,p_dog"), (inputs, matrix),
        (inputs, str(tmp_path / "p.npy")), (inputs, others), (inputs, others.to_pandas()),
    ]  # fmt: skip
    for frame, probabilities in given:
        table = again.correct(frame, probabilities=probabilities)
        np.testing.assert_allclose(table.select(CORRECTED).to_numpy(), want.to_numpy(), atol=1e-12)


def test_what_is_not_the_probability_of_each_class_is_refused(found, tmp_path):
    def refused(words: str, frame=NEW, error=InputError, **options):
        with pytest.raises(error, match=rf"\A[^\n]*{words}[^\n]*\Z"):
            found.correct(frame, **options)

    refused("there is no column 'p_dog', and the model needs the probability of each of its 3", NEW.drop("p_dog"),
            MissingColumn)  # fmt: skip
    refused("each of its 3 classes .*; got 'p_cat', 'p_dog'", probabilities=["p_cat", "p_dog"])
    refused("does not match the columns of the model", probabilities="*a*")
    refused("needs the probability of each of its 3 .*: name `probabilities`", confidence="p_cat")
    refused(
        "each of its 3 classes .* the matrix has the shape",
        NEW.drop(OWN),
        probabilities=str(_saved(tmp_path, np.eye(40))),
    )
    refused("lengths differ", NEW.drop(OWN), probabilities=str(_saved(tmp_path, np.eye(3))))
    refused("called as the classes are", NEW.drop(OWN), probabilities=NEW.select(OWN).rename(str.upper))
    refused("give their probabilities in this order", NEW.drop(OWN), probabilities=np.eye(3)[[0] * 40],
            classes=NAMES[::-1])  # fmt: skip
    refused("1 of 40 values are in rows that do not sum to 1", _changed("p_cat", 1.0))


def _saved(folder, matrix):
    np.save(folder / f"{len(matrix)}.npy", matrix)
    return folder / f"{len(matrix)}.npy"


def _changed(name, value):
    return NEW.with_columns(pl.when(pl.int_range(40) == 3).then(pl.lit(value)).otherwise(pl.col(name)).alias(name))


@pytest.mark.parametrize(("value", "reason"), [(None, "are missing"), (1.0, "do not sum to 1"), (-7.0, "lie outside")])
def test_a_row_without_usable_probabilities_has_no_value_and_a_reason(found, corrected, value, reason):
    table = found.correct(_changed("p_cat", value), on_invalid="null")
    bad = table.row(3, named=True)
    assert {bad[name] for name in ("corrected", "delta", "predicted", *CORRECTED)} == {None}
    assert f"the probabilities {reason}" in bad["reason"]
    assert table.filter(pl.int_range(40) != 3).equals(corrected.filter(pl.int_range(40) != 3))
    assert len(found.correct(_changed("p_cat", value), on_invalid="drop")) == 39


def test_a_row_of_an_unknown_kind_is_corrected_as_one_without_a_kind(found):
    table = found.correct(_changed("kind", "never seen"))
    blank = found.correct(_changed("kind", None), missing_as_blank="kind")
    assert table[3].select(CORRECTED).equals(blank[3].select(CORRECTED))
    assert "never seen" in table["reason"][3]


def test_logarithms_are_read_as_the_model_was_given_them(found, corrected):
    logs = pl.col(OWN).log()
    triples = miscal.read_triples(rows(120, 0).with_columns(logs), probabilities="p_*", label="label", features="age")
    assert triples.classes.log
    assert triples.classes.columns == tuple(OWN)
    classes = found.model.classes
    model = replace(found.model, classes=replace(classes, read=replace(classes.read, log=True)))
    table = model.correct(NEW.with_columns(logs))
    np.testing.assert_allclose(table.select(CORRECTED).to_numpy(), corrected.select(CORRECTED).to_numpy(), atol=1e-9)


def test_a_model_of_one_probability_takes_no_others(found):
    model = replace(found.model, classes=None, confidence="p_cat")
    assert model.correct(NEW).columns == ["row", "delta", "corrected", "mass", "supported", "reason"]
    with pytest.raises(InputError, match="the model has no classes"):
        model.correct(NEW, probabilities="p_*")


@pytest.mark.parametrize(
    "change",
    [
        {"read": {"names": ["cat", "dog"]}},
        {"read": {"columns": ["p_cat"]}},
        {"correction": {}},
        {"read": {"log": None}},
        {"read": {"matrix": "other.npy"}},
    ],
)
def test_a_folder_from_which_no_correction_can_be_built_is_refused(run, change):
    folder = run / "model"
    whole = (folder / CONFIG).read_text()
    config = json.loads(whole)
    classes = config["content"]["classes"]
    changed = {name: {**classes[name], **value} if value else value for name, value in change.items()}
    content = config["content"] | {"classes": classes | changed}
    sums = config["sha256"] | {"content": _content_digest(config["format"], config["version"], content)}
    (folder / CONFIG).write_text(json.dumps(config | {"content": content, "sha256": sums}))
    try:
        with pytest.raises(CorruptFile, match=r"\A[^\n]*do not fit together[^\n]*\Z"):
            load_model(run)
    finally:
        (folder / CONFIG).write_text(whole)


def test_the_monitor_reads_labels_and_counts_whether_the_top_label_is_right(found, run, tmp_path):
    data = rows(120, 5)
    looked = found.monitor(data, out=tmp_path / "monitor")
    top = np.array(NAMES)[data.select(OWN).to_numpy().argmax(axis=1)]
    assert looked.rows == 120
    assert looked.accuracy == pytest.approx((top == data["label"].to_numpy()).mean())
    assert looked.corrected == pytest.approx(found.correct(data)["corrected"].mean())
    with pytest.raises(InputError, match=r"\Alabel \(column 'kind'\): 120 of 120 values are none of the classes"):
        found.monitor(data, label="kind", out=tmp_path / "other")
    with pytest.raises(InputError, match="give one of the two: got 'label'"):
        found.monitor(data, correct="label", out=tmp_path / "other")


def test_a_damaged_matrix_of_the_correction_is_refused(run):
    path = run / "model" / TENSORS
    whole = path.read_bytes()
    path.write_bytes(whole[:-8])
    try:
        with pytest.raises(CorruptFile, match="has changed since it was written"):
            miscal.load(run).correct(NEW)
    finally:
        path.write_bytes(whole)
