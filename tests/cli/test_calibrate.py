"""`miscal calibrate`: what is said of every way in which new rows may differ from those the model was fitted on."""

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import InputError
from miscal.data.readers.read import read_triples
from miscal.discovery.saved_model import SavedModel, load_model
from miscal.estimators.field import MiscalibrationField

from ..report.read_page import check_terminal
from .new_rows import N, embedded, rows, set_cells

COLUMNS = ["row", "delta", "corrected", "mass", "supported", "reason"]


def with_column(**expressions):
    return lambda data: data.with_columns(**expressions)


NOTHING = r"\A300 rows corrected, each with what its inputs say. Nothing about them is unlike .* columns .* table .*\Z"
DIFFERENCES = {
    # name: (change, options, what must be printed; None: an error, else the number of rows that are not supported)
    "the same": (lambda data: data, [], NOTHING, 0),
    "extra columns": (with_column(extra=pl.lit("x"), other=pl.lit(1)), [], NOTHING, 0),
    "no outcomes": (lambda data: data.drop("correct"), [], NOTHING, 0),
    "whole numbers for floats": (with_column(one=pl.lit(3)), [], NOTHING, 0),
    "floats for whole numbers": (with_column(count=pl.col("count").cast(pl.Float32)), [], NOTHING, 0),
    "a missing column": (lambda data: data.drop("age"), [], r"features: there is no column 'age'", None),
    "a column renamed": (
        lambda data: data.rename({"age": "Age"}),
        [],
        r"no column 'age' \(did you mean 'Age'\?\)",
        None,
    ),
    "the confidence renamed, and said so": (
        lambda data: data.rename({"confidence": "conf"}),
        ["--confidence", "conf"],
        r"confidence from 'conf'",
        0,
    ),
    "a column named twice": (lambda data: data, ["--features", "age,age,count,one,kind"], r"300 rows corrected", 0),
    "other features named": (lambda data: data, ["--features", "count"], r"these must be given, in this order", None),
    "numbers as text": (with_column(age=pl.col("age").cast(pl.String)), [], NOTHING, 0),
    "numbers for text": (with_column(kind=pl.lit(1)), [], r"column 'kind' held text when the model was fitted", None),
    "booleans for numbers": (with_column(one=pl.lit(True)), [], r"column 'one' was 3 in every row.*300 of 300 rows", 0),
    "confidence in per cent, null": (
        with_column(confidence=100 * pl.col("confidence")),
        ["--on-invalid", "null"],
        r"percentages: divide by 100",
        None,
    ),
    "another unit": (
        with_column(age=1_000 * pl.col("age")),
        [],
        r"300 of 300 rows are far.*column 'age' lies more than 10 standard deviations.*is it in the same unit\?",
        300,
    ),
    "one value far out of range": (set_cells("age", 1e30), [], r"2 of 300 rows are far from all rows", 2),
    "an unseen category": (
        set_cells("kind", "art", (1, 2, 3)),
        [],
        r"3 of 300 rows hold an unseen category of 'kind': 'art' \(3\); it is taken as blank",
        0,
    ),
    "unseen sentences": (
        with_column(
            kind=pl.format("a sentence that is longer than forty characters, number {}", pl.int_range(pl.len()))
        ),
        [],
        r"unseen category of 'kind': ('[^']{,36}\.\.\. \(1\), ){3}\.\.\. \(300 different\)",
        0,
    ),
    "a missing confidence": (
        set_cells("confidence", None),
        [],
        r"confidence: 2 of 300 values are missing \(rows 3, 7,.*--on-invalid drop",
        None,
    ),
    "a missing confidence, null": (
        set_cells("confidence", None),
        ["--on-invalid", "null"],
        r"\A298 of 300 rows corrected.* the confidence is missing in 2 of 300 rows; they are kept without a value",
        2,
    ),
    "a missing confidence, drop": (
        set_cells("confidence", None),
        ["--on-invalid", "drop"],
        r"\A298 of 300 rows corrected.* the confidence is missing in 2 of 300 rows; they are left out",
        0,
    ),
    "a confidence outside": (
        set_cells("confidence", 1.5),
        ["--on-invalid", "null"],
        r"the confidence lies outside \[0, 1\] in 2 of 300",
        2,
    ),
    "rounding": (
        set_cells("confidence", 1 + 1e-8),
        [],
        r"2 confidences were up to 1e-06 outside \[0, 1\] and were clip",
        0,
    ),
    "a missing number": (set_cells("age", None), [], r"column 'age': 2 of 300 values are missing \(rows 3, 7,", None),
    "a missing number, null": (
        set_cells("age", None),
        ["--on-invalid", "null"],
        r"\A300 rows corrected, 2 of them by .*'age' is missing in 2 of 300 rows; they are kept with the global",
        2,
    ),
    "an infinite number": (
        set_cells("age", float("inf")),
        ["--on-invalid", "null"],
        r"'age' is infinite or too large for float32 in 2 of 300",
        2,
    ),
    "a missing category": (set_cells("kind", None), ["--on-invalid", "drop"], r"'kind' is missing in 2 of 300 rows", 0),
    "a condition that keeps nothing": (
        lambda data: data,
        ["--where", "count < 0"],
        r"keeps none of the 300 rows",
        None,
    ),
    "one row": (lambda data: data[:1], [], r"\A1 row corrected, with what its inputs say", 0),
}


TEXTS = {
    "the same": (lambda data: data, [], NOTHING, 0),
    "no word that is known": (
        set_cells("text", "völlig unbekannt"),
        [],
        r"2 of 300 rows hold only unseen words of 'text': 'völlig unbekannt' \(2\)",
        2,
    ),
    "missing, null": (set_cells("text", None), ["--on-invalid", "null"], r"'text' is missing in 2 of 300 rows", 2),
    "renamed, and said so": (lambda data: data.rename({"text": "q"}), ["--text", "q"], r"inputs from 'q'", 0),
}


def check(told, said, unsupported, most=None):
    """Refuse what is not said, in one line and without a table where `unsupported` is None; else count these rows."""
    if unsupported is None:
        assert (told.status, told.table) == (2, None), told.out
        assert re.search(said, told.err), told.err
        assert len(told.err.splitlines()) == 1
        return
    assert told.status == 0, told.err
    assert re.search(said, " ".join(told.out.split())), told.out
    check_terminal(told.out.splitlines())
    assert told.table.columns == COLUMNS
    lost = told.table.filter(~pl.col("supported"))
    assert unsupported <= len(lost) <= (unsupported if most is None else most)
    assert lost["reason"].null_count() == 0
    kept = told.table.filter("supported")["reason"].drop_nulls()
    assert kept.str.ends_with("taken as blank").all(), kept


@pytest.mark.parametrize(
    ("model", "name"), [*(("features", name) for name in DIFFERENCES), *(("text", name) for name in TEXTS)]
)
def test_what_is_said_of_a_difference(model, name, calibrate):
    change, options, said, unsupported = (DIFFERENCES if model == "features" else TEXTS)[name]
    check(calibrate(model, change(rows()), *options), said, unsupported)


def test_a_row_that_is_not_supported_gets_the_global_maps_value(calibrate, models):
    changed = rows()
    for change in (set_cells("kind", "art", (1,)), set_cells("age", None, (2,)), set_cells("confidence", None, (3,))):
        changed = change(changed)
    table = calibrate("features", changed, "--on-invalid", "null").table
    field = load_model(models["features"]).field
    f = changed["confidence"].to_numpy()[[2]]
    np.testing.assert_allclose(table["corrected"].to_numpy()[[2]], field.global_map_.predict(f))
    np.testing.assert_allclose(table["delta"].to_numpy()[[2]], field.global_map_.predict(f) - f)
    assert table["supported"].to_list()[1:4] == [True, False, False]
    assert table[3].select("delta", "corrected", "mass").row(0) == (None, None, None)
    assert table["reason"].to_list()[1:4] == [
        "'art' is a category of 'kind' that the model never saw, and taken as blank",
        "'age' is missing",
        "the confidence is missing",
    ]
    # what the other rows get does not depend on them
    whole = calibrate("features", rows()).table
    others = [i for i in range(N) if i not in (1, 2, 3)]
    np.testing.assert_allclose(table["corrected"].to_numpy()[others], whole["corrected"].to_numpy()[others], atol=1e-6)


EMBEDDINGS = {
    "the same": (embedded(), [], NOTHING, 0),
    "another width": (embedded(d=5), [], r"X has 5 features, but the model was fitted with 6", None),
    "too few rows": (
        embedded(N - 1),
        [],
        r"lengths differ: the data have 300 rows, the embeddings have shape \(299, 6\)",
        None,
    ),
    "another scale": (embedded(scale=50), [], r"\d+ of 300 rows are far from all rows the model was fitted on", 290),
    "NaN": (
        np.where(np.arange(N)[:, None] == 5, np.nan, embedded()),
        [],
        r"embeddings: 1 of 300 values are NaN.*\(row 5,",
        None,
    ),
    "NaN, null": (
        np.where(np.arange(N)[:, None] == 5, np.nan, embedded()),
        ["--on-invalid", "null"],
        r"the embedding holds NaN, infinity or a value too large for float32 in 1 of 300 rows; it is kept",
        1,
    ),
    "none": (None, [], r"the inputs are the column 'text'|fitted on embeddings as given", None),
}


@pytest.mark.parametrize(("name", "ending"), [*((name, ".npy") for name in EMBEDDINGS), ("the same", ".safetensors")])
def test_what_is_said_of_other_embeddings(name, ending, calibrate, tmp_path):
    X, options, said, unsupported = EMBEDDINGS[name]
    if X is not None:
        options = [*options, "--embeddings", saved_embeddings(tmp_path, ending, X)]
    check(calibrate("embeddings", rows(), *options), said, unsupported, most=N if name == "another scale" else None)


def saved_embeddings(folder, ending, X):
    path = folder / f"x{ending}"
    np.save(path, X) if ending == ".npy" else save_file({"x": np.ascontiguousarray(X)}, path)
    return path


WIDTH, MANY = 192, 600
BASIS = np.linalg.qr(np.random.default_rng(5).normal(size=(WIDTH, WIDTH)))[0]


def drawn(n, seed):
    """Rows of an encoder: a common mean, one direction of large spread, many of some, and many of little."""
    spread = np.where(np.arange(WIDTH) < 80, 1.0, 0.3)
    spread[0] = 2.0
    return ((np.random.default_rng(seed).normal(size=(n, WIDTH)) * spread) @ BASIS + 0.1).astype(np.float32)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wide") / "model"
    data = read_triples(rows(MANY), embeddings=drawn(MANY, 0))
    field = MiscalibrationField().fit_triples(data)
    SavedModel(field.to_saved(), data.encoder, "confidence").save(folder)
    return folder


OTHERS = {
    # name: (change, status, what is said)
    "alike": (lambda X: X, 0, r"\A2,000 rows corrected, each"),
    "rotated": (
        lambda X: X @ np.linalg.qr(np.random.default_rng(9).normal(size=(WIDTH, WIDTH)))[0].astype("f4"),
        2,
        r"none of the 2,000 rows looked at is plausible.*make them with the one that the fit's embeddings are from",
    ),
    "zeros": (lambda X: 0 * X, 2, r"plausible.*all of them are zeros, and no input of the fit was"),
    "negated": (lambda X: -X, 0, r"warning .*inputs are unlike.*embeddings made by another model"),
    "columns permuted": (lambda X: X[:, ::-1], None, r"plausible|embeddings made by another model"),
    "unit length": (
        lambda X: X / np.linalg.norm(X, axis=1, keepdims=True),
        None,
        r"plausible|embeddings made by another model",
    ),
    # what no test of the inputs can tell
    "rows permuted": (lambda X: X[::-1], 0, r"\A2,?000 rows corrected, each"),
    "another population": (lambda X: X[X @ BASIS[0] > 0.5], 0, r"warning .*another population of rows looks like this"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_embeddings_of_another_model_are_noticed(name, wide, calibrate, tmp_path):
    change, status, said = OTHERS[name]
    X = change(drawn(2_000, 1))
    np.save(tmp_path / "x.npy", X)
    told = calibrate(wide, rows(2_000, seed=1)[: len(X)], "--embeddings", tmp_path / "x.npy")
    assert status in (None, told.status), told.out + told.err
    assert re.search(said, " ".join((told.out + told.err).split())), told.out + told.err
    assert (told.table is None) == (told.status == 2)


@pytest.mark.parametrize("name", ["rotated", "negated", "another population"])
def test_what_is_said_of_other_embeddings_does_not_depend_on_pieces(name, wide, calibrate, tmp_path, monkeypatch):
    from miscal.runs.correct import command

    X = OTHERS[name][0](drawn(2_000, 1))
    np.save(tmp_path / "x.npy", X)
    said = []
    for size in (100, 1_024):
        monkeypatch.setattr(command, "_PIECE_ROWS", (size, size))
        told = calibrate(wide, rows(2_000, seed=1)[: len(X)], "--embeddings", tmp_path / "x.npy")
        said.append((told.status, told.out, told.err))
    assert said[0] == said[1]


def test_a_model_that_does_not_describe_its_inputs_corrects_and_says_so_in_one_line(wide, calibrate, tmp_path):
    # as where fewer than 16 rows were learned from
    model = load_model(wide)
    replace(model, estimator=replace(model.estimator, inputs=None)).save(tmp_path / "model")
    X = drawn(2_000, 1)
    np.save(tmp_path / "x.npy", OTHERS["rotated"][0](X))
    told = calibrate(tmp_path / "model", rows(2_000, seed=1), "--embeddings", tmp_path / "x.npy")
    assert told.status == 0, told.out + told.err
    assert len(told.table) == 2_000
    said = " ".join((told.out + told.err).split())
    assert said.count("does not describe the inputs that it was fitted on, so embeddings of another model cannot") == 1
    assert "`miscal discover` run again saves such a description" in said
    # in Python, too, rows are corrected
    field, f = (load_model(tmp_path / "model").field, rows(2_000, seed=1)["confidence"])
    np.testing.assert_array_equal(field.calibrate(X, f.to_numpy()), load_model(wide).field.calibrate(X, f.to_numpy()))


def test_python_says_the_same_of_other_embeddings(wide):
    field, f = (load_model(wide).field, rows(2_000, seed=1)["confidence"].to_numpy())
    for call in (field.predict, field.calibrate):
        call(drawn(2_000, 1), f)
        with pytest.raises(InputError, match="none of the 2,000 rows looked at is plausible"):
            call(OTHERS["rotated"][0](drawn(2_000, 1)), f)
        with pytest.warns(UserWarning, match="inputs are unlike"):
            call(-drawn(2_000, 1), f)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
def test_another_format_gives_the_same_answers(ending, calibrate, tmp_path):
    whole = calibrate("features", rows()).table
    path = tmp_path / f"other{ending}"
    if ending == ".jsonl":
        rows().write_ndjson(path)
    else:
        rows().write_csv(path, separator="\t" if ending == ".tsv" else ",", quote_style="always")
    for out in ("a.parquet", "a.csv", "a.jsonl"):
        told = calibrate("features", path, out=out)
        assert told.status == 0, told.err
        np.testing.assert_allclose(told.table["corrected"], whole["corrected"], atol=1e-6)
        assert told.table.columns == COLUMNS


BROKEN = {
    "latin-1.csv": (
        "confidence,age,count,one,kind\n0.5,40,1,3,lãw\n".encode("latin-1"),
        [],
        r"line 2: byte .* is not utf-8",
    ),
    "half.csv": (
        b"confidence,age,count,one,kind\n0.5,40,1,3,law\n0.5,40",
        [],
        r"cut short: line 3 at its end has 2 of 5",
    ),
    "gone.parquet": (None, [], r"gone\.parquet does not exist"),
    "mixed.csv": (
        b"confidence,age,count,one,kind\n" + b"0.5,40,1,3,law\n" * 5 + b"0.5,?,1,3,law\n",
        [],
        r"column 'age': 1 of 6 values are not numbers, such as '\?' \(row 5,",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_said_of_a_broken_file(name, calibrate, tmp_path):
    content, options, said = BROKEN[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    check(calibrate("features", tmp_path / name, *options, out="o.csv"), said, None)
