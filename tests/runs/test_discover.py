"""The front door of Python: frames of every kind, and the same numbers as the command."""

import inspect
import json
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from typer.main import get_command

import miscal
from miscal.base.errors import InputError
from miscal.cli import main
from miscal.cli.app import build
from miscal.data.columns import Columns
from miscal.data.readers.names import columns_of
from miscal.data.readers.opening import open_source
from miscal.data.triples import Triples
from miscal.runs.discover import read_rows
from miscal.runs.given import put_together
from miscal.runs.settings import DiscoverySettings
from miscal.testing import assert_calibrated

from .conftest import EVENT, INDEXES, KINDS, N, loans, same_rows


def read(frame, y=None, **options):
    """Rows as a discovery sees them."""
    given = put_together(frame, y, **options)
    return read_rows(given.source, DiscoverySettings(), **given.options)


@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_an_index_changes_no_number(index):
    plain = loans()
    other = plain.set_axis(index(N))
    same_rows(read(plain, **EVENT, time="asked"), read(other, **EVENT, time="asked"))
    assert frames_of(other, **EVENT).index.equals(other.index)


def frames_of(frame, **options):
    return put_together(frame, **options).frames


def test_rows_in_another_order_are_the_same_rows():
    frame, order = loans(), np.random.default_rng(3).permutation(N)
    one, two = read(frame, **EVENT), read(frame.iloc[order], **EVENT)
    same_rows(replace(one.take(order), row=two.row), two)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_kind_of_frame_gives_the_same_rows(kind):
    same_rows(read(loans(), **EVENT), read(kind(loans()), **EVENT))


def test_columns_may_be_given_as_values():
    frame = loans()
    named = read(frame, **EVENT)
    values = read(frame.drop(columns=["risk", "defaulted"]), probability=frame["risk"], event=list(frame["defaulted"]))
    outcomes_apart = read(frame.drop(columns=["defaulted"]), frame["defaulted"].to_numpy(), probability="risk")
    same_rows(named, values)
    same_rows(named, outcomes_apart)


def test_columns_may_be_named_by_numbers_as_pandas_names_them():
    frame = loans()
    numbered = frame.set_axis(range(frame.shape[1]), axis=1)
    at = {name: k for k, name in enumerate(frame)}
    named = {"features": ["age", "region"], "names_only": "asked", "allow_leak": "age", "time": "asked"}
    by_place = {role: [at[one] for one in v] if isinstance(v, list) else at[v] for role, v in named.items()}
    wanted = read(frame, **EVENT, **named)
    for one in (by_place, by_place | {"features": np.array(by_place["features"])}):
        got = read(numbered, **{role: at[name] for role, name in EVENT.items()}, **one)
        same_rows(replace(got, metadata=wanted.metadata), wanted)
        assert list(got.metadata) == [str(at["asked"])]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_column_without_a_name_is_read_and_plays_no_part(ending, tmp_path):
    """Pandas writes its index so."""
    frame, path = loans(), tmp_path / f"loans.{ending}"
    table = pl.DataFrame({"": range(N), **{name: frame[name].to_list() for name in frame}})
    {"csv": table.write_csv, "jsonl": table.write_ndjson, "parquet": table.write_parquet}[ending](path)
    opened = open_source(path)
    assert opened.load(opened.columns).columns == table.columns
    got = read_rows(path, DiscoverySettings(), **EVENT, features="auto")
    assert got.source["columns"]["x"] == read(frame, **EVENT, features="auto").source["columns"]["x"]


def test_arrays_are_inputs_as_embeddings_are():
    frame, X = loans(), np.random.default_rng(0).normal(size=(N, 4))
    arrays = read(X, frame["defaulted"], confidence=frame["risk"])
    named = read({"confidence": frame["risk"], "correct": frame["defaulted"]}, embeddings=X)
    same_rows(arrays, named)
    verdicts = frame["defaulted"].map({0: "FAIL", 1: "PASS"})
    same_rows(arrays, read(X, verdicts, confidence=frame["risk"], positive="PASS"))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            lambda f: put_together(f, f["defaulted"].sample(frac=1, random_state=0), probability="risk"),
            "in another order",
        ),
        (
            lambda f: put_together(f, **EVENT, embeddings=f[["age"]].iloc[::-1]),
            "embeddings has the index of data in another order",
        ),
        (lambda f: put_together(f, f["defaulted"], **EVENT), "outcomes are given twice"),
        (lambda f: put_together("loans.csv", probability=f["risk"]), "where the data are a file"),
        (
            lambda f: put_together(f.rename(columns={"risk": "weight"}), weight=np.ones(N)),
            "have a column 'weight', too",
        ),
        (lambda f: put_together(np.eye(N), f["defaulted"], confidence=f["risk"], embeddings=np.eye(N)), "given twice"),
        (lambda f: put_together(f, group=np.arange(7), **EVENT), "lengths differ"),
        (lambda f: miscal.discover(Triples.of(np.eye(2), confidence=[0, 1], correct=[0, 1]), text="t"), "read already"),
        (lambda f: miscal.discover(f, **EVENT, option={"neighbours": 5}), "option` is for settings of method='paper'"),
        (lambda f: miscal.discover(f, quick=True, method="paper", **EVENT), "quick=True has an estimator of its own"),
        (lambda f: miscal.discover(f, **EVENT, map="tsnee"), "`map` must be one of pca, tsne, umap; got 'tsnee'"),
        (lambda f: miscal.load("run", frames="panda"), "frames must be one of polars, pandas, pyarrow; got 'panda'"),
        (lambda f: miscal.compare("a", "b"), "is not a folder"),
        (lambda f: miscal.discover(f, **EVENT, confidense="risk"), "'confidense'; did you mean 'confidence'"),
        (lambda f: miscal.discover(np.eye(N), f["defaulted"], f["risk"]), "2 arguments by their place .*confidence="),
        (lambda f: miscal.discover(f, **EVENT, map=np.eye(2)), "map must be one of 'pca', .*value of type ndarray"),
        (lambda f: miscal.discover(f, **EVENT, features=[None]), "must be text or a number; got .* NoneType"),
        (lambda f: put_together(f, **EVENT, group=""), "group: the name of a column .*an empty one: rename the column"),
        (lambda f: miscal.read_triples(f, **EVENT, time=3), "time: there is no column '3'"),
        (lambda f: columns_of(len, list(f)), "where must be a condition in text; .*: choose the rows before, or write"),
        (
            lambda f: put_together(f, event="defaulted", confidence=np.column_stack([1 - f["risk"], f["risk"]])),
            r"its shape is \(\d+, 2\): .* second column, confidence\[:, 1\]",
        ),
        (lambda f: miscal.compare("a", "b", names="ab"), "names must be a list or None; got 'ab'"),
        (lambda f: assert_calibrated(f), "run must be a run or the path of its folder; got a value of type DataFrame"),
        (lambda f: miscal.discover(np.eye(9)), "array of inputs with outcomes and probabilities beside it"),
        (lambda f: miscal.discover(None, f["defaulted"]), "got a value of type NoneType"),
        (lambda f: miscal.discover(pd.concat([f, f[["age"]]], axis=1), **EVENT), "occur more than once: 'age'"),
    ],
)
def test_what_cannot_be_meant_is_refused(call, said):
    with pytest.raises(InputError, match=said):
        call(loans())


# --- the options are those of the command -------------------------------------------------------------------------

ONLY_OF_THE_COMMAND = {"data", "out", "overwrite", "json", "markdown"}
ONLY_OF_PYTHON = {"data", "y", "min_rows", "n_jobs", "progress"}


def test_options_and_defaults_are_those_of_the_command():
    command = get_command(build()).commands["discover"]
    flags = {max(one.opts, key=len).lstrip("-").replace("-", "_"): one for one in command.params if one.name != "help"}
    arguments = inspect.signature(miscal.discover).parameters
    assert flags.keys() - ONLY_OF_THE_COMMAND == arguments.keys() - ONLY_OF_PYTHON
    for name in arguments.keys() - ONLY_OF_PYTHON:
        ours, theirs = arguments[name].default, flags[name].default
        assert (ours or None) == (getattr(theirs, "value", theirs) or None), name
    assert {one.name for one in fields(Columns)} < arguments.keys()


@pytest.mark.whole
def test_the_command_and_python_give_the_same_numbers(found, tmp_path):
    frame = loans()
    pl.from_pandas(frame).write_parquet(tmp_path / "loans.parquet")
    options = ["--probability", "risk", "--event", "defaulted", "--map", "pca"]
    assert main(["discover", str(tmp_path / "loans.parquet"), "--out", str(tmp_path / "run"), *options]) == 0
    said = miscal.load(tmp_path / "run")
    assert numbers(said) == numbers(found)
    np.testing.assert_array_equal(said.field["delta_out_of_fold"], found.field["delta_out_of_fold"])


def numbers(run):
    """What a run says of the rows, wherever they came from."""
    content = json.loads(run.summary.to_json())
    # a map is there once it is drawn
    apart = ("timing", "settings", "data", "versions", "map")
    return {name: value for name, value in content.items() if name not in apart}


# --- quick -------------------------------------------------------------------------------------------------------


@pytest.mark.whole
def test_a_quick_run_has_the_same_findings_and_is_a_run_like_any_other(found, tmp_path):
    frame = loans()
    quick = miscal.discover(frame, quick=True, min_rows=1, n_jobs=1, **EVENT)
    named = [{one.description for one in run.summary.findings if one.columns} for run in (quick, found)]
    assert named[0] == named[1] != set()
    shifts = quick.content.model.estimator.fitted.shifts_
    assert shifts and quick.summary.method == "shifts"  # noqa: PT018
    assert quick.summary.settings["min_rows"] == 1
    assert any(one.startswith("quick: ") for one in quick.summary.warnings)
    again = miscal.load(quick.save(tmp_path / "run"))
    new = frame.drop(columns="defaulted")
    np.testing.assert_array_equal(quick.correct(new)["corrected"], again.correct(new)["corrected"])
    assert again.monitor(loans(seed=1)).answer.headline


def test_a_quick_run_that_finds_nothing_says_so(tmp_path):
    rng = np.random.default_rng(3)
    risk = rng.uniform(0.2, 0.8, 400)
    frame = pl.DataFrame(
        {"risk": risk, "defaulted": (rng.random(400) < risk).astype(int), "age": rng.integers(18, 80, 400)}
    )
    frame.write_parquet(tmp_path / "calm.parquet")
    named = ["--probability", "risk", "--event", "defaulted", "--quick"]
    assert main(["discover", str(tmp_path / "calm.parquet"), "--out", str(tmp_path / "run"), *named]) == 0
    summary = miscal.load(tmp_path / "run").summary
    assert not summary.findings
    assert summary.answer.headline == "No group was found in which predicted risks are off."


def stated(n: int = 3000, seed: int = 0) -> pl.DataFrame:
    """Few stated confidences and one category, as logs of language models have them; far too sure of one kind."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(["law", "art", "sums", "maths", "trivia"], n)
    f = rng.choice([0.6, 0.7, 0.8, 0.9, 0.95, 1.0], n, p=[0.05, 0.1, 0.15, 0.3, 0.3, 0.1])
    right = rng.random(n) < np.clip(f - 0.1 - 0.5 * (kind == "law"), 0, 1)
    return pl.DataFrame({"confidence": f, "correct": right.astype(int), "subject": kind})


@pytest.mark.parametrize("quick", [True, pytest.param(False, marks=pytest.mark.whole)])
def test_of_a_run_of_stated_confidences_and_one_category(quick):
    table = stated()
    found = miscal.discover(table, quick=quick, n_jobs=1, progress=False, map="pca")
    corrected = found.frame("field", wide=True)["corrected"].to_numpy()
    assert corrected.mean() == pytest.approx(table["correct"].mean(), abs=0.01)
    # rows of one subject and confidence are no copies: other rows of the subject teach what it is off by
    law = table["subject"].to_numpy() == "law"
    assert corrected[law].mean() == pytest.approx(table["correct"].to_numpy()[law].mean(), abs=0.03)


def test_of_a_scan():
    table = stated()
    found = miscal.scan(table, confidence="confidence", correct="correct", group="none")
    made: dict = {}
    exec(found.python(), made)
    corrected = np.array([made["correct"](row) for row in table.to_dicts()])
    assert corrected.mean() == pytest.approx(table["correct"].mean(), abs=0.01)
    law = table["subject"].to_numpy() == "law"
    assert corrected[law].mean() == pytest.approx(table["correct"].to_numpy()[law].mean(), abs=0.05)
