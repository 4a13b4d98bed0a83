"""The front door of Python: frames of every kind, the same numbers as the command, and runs that can be worked with."""

import inspect
import json
import re
from dataclasses import fields, replace
from html import escape
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.main import get_command

import miscal
from miscal.base.errors import InputError, MiscalError, MismatchError
from miscal.cli import main
from miscal.cli.app import build
from miscal.data.columns import Columns
from miscal.data.readers.names import columns_of
from miscal.data.readers.opening import open_source
from miscal.data.triples import Triples
from miscal.discovery import layout
from miscal.discovery.run import GivenRows, RunContent
from miscal.findings.conditions.condition import Frame, with_features
from miscal.report.brief import brief_lines, run_sheet
from miscal.runs.discover import read_rows
from miscal.runs.given import put_together
from miscal.runs.settings import DiscoverySettings
from miscal.testing import assert_calibrated

N = 240
EVENT = {"probability": "risk", "event": "defaulted"}
QUICK = {"map": "pca", "n_jobs": 1}


def loans(n=N, seed=0):
    """Risks that are too high in the north and too low in the south."""
    rng = np.random.default_rng(seed)
    region, risk = rng.choice(["north", "south"], n), rng.uniform(0.3, 0.7, n)
    days = np.datetime64("2024-01-01") + rng.integers(0, 365, n)
    rate = risk + np.where(region == "south", 0.28, -0.28)
    return pd.DataFrame(
        {
            "risk": risk,
            "defaulted": (rng.random(n) < rate).astype(int),
            "region": region,
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 80, n)),
            "asked": days.astype("datetime64[us]"),
        }
    )


INDEXES = {
    "shuffled": lambda n: np.random.default_rng(1).permutation(n),
    "duplicated": lambda n: np.arange(n) // 3,
    "texts": lambda n: [f"loan {k}" for k in range(n)][::-1],
    "times": lambda n: pd.date_range("2020-01-01", periods=n, freq="h")[::-1],
    "levels": lambda n: pd.MultiIndex.from_arrays([np.arange(n) % 5, np.arange(n)]),
}
KINDS = {
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "pyarrow batch": lambda frame: pa.RecordBatch.from_pandas(frame, preserve_index=False),
    "nullable": lambda frame: frame.convert_dtypes(),
    "dictionary": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "arrow in pandas": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
}


def read(frame, y=None, **options):
    """Rows as a discovery sees them."""
    given = put_together(frame, y, **options)
    return read_rows(given.source, DiscoverySettings(), **given.options)


def same_rows(one: Triples, two: Triples):
    for name in ("X", "confidence", "correct", "row"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert one.metadata.keys() == two.metadata.keys()
    assert one.kind == two.kind


@pytest.fixture(scope="module")
def found(few_folds):
    frame = loans()
    frame.index = INDEXES["shuffled"](N)
    return miscal.discover(frame, **EVENT, **QUICK)


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
        (
            lambda f: miscal.discover(f, **EVENT, confidense="risk"),
            "'confidense'; did you mean 'confidence'",
        ),
        (
            lambda f: miscal.discover(np.eye(N), f["defaulted"], f["risk"]),
            "2 arguments by their place .*confidence=",
        ),
        (lambda f: miscal.discover(f, **EVENT, epsilon="small"), "epsilon must be a number or None; got 'small'"),
        (lambda f: miscal.discover(f, **EVENT, map=np.eye(2)), "map must be one of 'pca', .*value of type ndarray"),
        (
            lambda f: miscal.discover(f, **EVENT, features=[None]),
            "must be text or a number; got .* NoneType",
        ),
        (lambda f: put_together(f, **EVENT, group=""), "group: the name of a column .*an empty one: rename the column"),
        (lambda f: miscal.read_triples(f, **EVENT, time=3), "time: there is no column '3'"),
        (lambda f: columns_of(len, list(f)), "where must be a condition in text; .*: choose the rows before, or write"),
        (
            lambda f: put_together(f, event="defaulted", confidence=np.column_stack([1 - f["risk"], f["risk"]])),
            r"its shape is \(\d+, 2\): .* second column, confidence\[:, 1\]",
        ),
        (
            lambda f: put_together(f, event="defaulted", confidence=f[["risk", "age"]]),
            r"second column, confidence\[:, 1\]",
        ),
        (lambda f: miscal.load(3), "folder must be text or a path; got 3"),
        (lambda f: miscal.compare("a", "b", names="ab"), "names must be a list or None; got 'ab'"),
        (lambda f: assert_calibrated(f), "run must be a run or the path of its folder; got a value of type DataFrame"),
        (lambda f: assert_calibrated("run", max_hidden="a"), "max_hidden must be a number or None; got 'a'"),
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


# --- what can be done with a run ----------------------------------------------------------------------------------


def test_tables_are_frames_of_the_kind_that_came_in_with_its_index(found):
    frame = loans().set_axis(INDEXES["shuffled"](N))
    assert all(isinstance(one, pd.DataFrame) for one in (found.findings, found.field, found.columns, found.decisions))
    assert found.field.index.equals(frame.index)
    np.testing.assert_array_equal(found.field["predicted"], frame["risk"])
    assert len(found.decisions) == len(found.summary.decisions)


def test_the_map_is_drawn_when_it_is_asked_for_and_is_the_one_that_is_saved(found, tmp_path, monkeypatch):
    drawn, lay_out = [], layout.lay_out
    monkeypatch.setattr(layout, "lay_out", lambda *points, **how: drawn.append(how) or lay_out(*points, **how))
    run = miscal.discover(loans(), **EVENT, **QUICK)
    assert (drawn, run.summary.map) == ([], None)
    assert repr(run) == repr(found)
    shown = run.map
    assert list(shown.columns) == ["row", "x", "y"]
    assert shown.index.equals(loans().index)
    assert run.summary.map.n_shown == len(shown)
    saved = miscal.load(run.save(tmp_path / "run"), frames="pandas")
    assert len(drawn) == 2  # in each of the two geometries, once
    assert saved.map.equals(shown.reset_index(drop=True))
    assert saved.summary == run.summary
    # and as it is written where nobody has asked for it
    unasked = miscal_copy(found).save(tmp_path / "unasked")
    assert pl.read_parquet(unasked / "map.parquet").equals(pl.read_parquet(tmp_path / "run" / "map.parquet"))


TABLES = ("findings", "field", "columns", "classes", "class_findings", "decisions", "map")


def test_tables_have_a_dozen_columns_with_plain_names_or_all_that_are_stored(found, tmp_path):
    folder = miscal_copy(found).save(tmp_path / "run")
    again = miscal.load(folder)
    for name in TABLES:
        shown, whole = getattr(again, name), again.frame(name, wide=True)
        assert shown.equals(again.frame(name))
        assert 0 < len(shown.columns) <= 12
        assert len(shown) == len(whole)
        if (folder / f"{name}.parquet").exists():
            assert whole.equals(pl.read_parquet(folder / f"{name}.parquet"))
    [first, *_] = again.findings.to_dicts()
    one = again.summary.findings[0]
    assert (first["number"], first["group"], first["rows"]) == (1, one.description, one.n)
    assert (first["predicted"], first["happened"], first["hidden"]) == (one.confidence, one.accuracy, one.hidden.value)
    assert first["happened_low"] < first["happened"] < first["happened_high"]
    # what a finding says is corrected is the mean of its rows
    rows = again.field.filter(pl.col("evaluated") & one.condition.rows(frame_of(again)))
    assert rows["corrected_out_of_fold"].mean() == pytest.approx(first["corrected"])
    # the model that is saved has seen these rows: its values have another name
    assert "corrected" not in again.field.columns
    assert found.frame("field", wide=True).index.equals(found.field.index)


def frame_of(run):
    triples = run.content.triples()
    return Frame(len(triples), with_features(triples.metadata, triples.X, triples.encoder))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("finding", "name must be one of findings, field, .*; got 'finding'; did you mean 'findings'"),
        (3, "name must be text; got 3"),
    ],
)
def test_tables_that_there_are_not_are_refused(found, name, said):
    with pytest.raises(InputError, match=said):
        found.frame(name)


def test_a_summary_shows_itself_in_a_line(found):
    long = found.summary.answer.model_copy(update={"headline": "very " * 200})
    for one in (found.summary, found.summary.model_copy(update={"answer": long})):
        assert len(repr(one)) <= 300
        assert len(str(one)) <= 300
    assert found.summary.answer.headline in repr(found.summary)


@pytest.mark.parametrize("kind", [pl.from_pandas, KINDS["pyarrow"]], ids=["polars", "pyarrow"])
def test_corrected_rows_are_of_the_kind_of_the_new_ones(found, kind):
    new = loans(20, seed=5).drop(columns="defaulted")
    expected, got = found.correct(new), found.correct(kind(new))
    assert type(got) is type(kind(new))
    np.testing.assert_array_equal(expected["corrected"].to_numpy(), np.asarray(got["corrected"]))


def test_corrected_rows_keep_the_index_and_belong_to_their_rows(found):
    new = loans(30, seed=6).set_axis([f"loan {k}" for k in range(30)])
    shuffled = new.sample(frac=1, random_state=0)
    got, other = found.correct(new), found.correct(shuffled)
    assert other.index.equals(shuffled.index)
    # the order of sums in single precision depends on where a row stands in its batch: see test_missing_columns
    pd.testing.assert_frame_equal(got.drop(columns="row"), other.loc[new.index].drop(columns="row"), rtol=1e-4)
    risks = shuffled.pop("risk")
    pd.testing.assert_frame_equal(found.correct(shuffled, probability=risks), other)


def test_a_saved_run_is_the_same_run(found, tmp_path):
    folder = found.save(tmp_path / "run")
    again, new = miscal.load(folder, frames="pandas"), loans(20, seed=5)
    assert again.summary == found.summary
    pd.testing.assert_frame_equal(again.correct(new), found.correct(new))
    pd.testing.assert_frame_equal(again.findings, found.findings)
    same_rows(again.content.triples(), found.content.triples())
    with pytest.raises(InputError, match="already exists"):
        found.save(folder)
    copied = miscal.load(again.save(tmp_path / "copy"))
    assert copied.summary == found.summary
    model = miscal.load(folder / "model")
    pd.testing.assert_frame_equal(model.correct(new), found.correct(new))


@pytest.mark.whole
def test_runs_of_frames_are_compared_whether_saved_or_not(found, tmp_path):
    other = miscal.discover(loans(), **EVENT, **QUICK, seed=1, evidence="test")
    compared = found.compare(other)
    assert compared.matched_by == "equal inputs"
    assert [one.name for one in compared.runs][1] == "run 2"
    saved = [miscal.load(one.save(tmp_path / name)) for one, name in ((miscal_copy(found), "a"), (other, "b"))]
    again = miscal.compare(*saved)
    assert again.measures == compared.measures


def test_rows_of_one_frame_are_matched_by_their_place_unless_it_was_changed():
    given, table = object(), pl.DataFrame({"id": [1, 2], "p": [0.1, 0.2]})
    other = pl.DataFrame({"id": [1, 2], "q": [0.3, 0.4]})

    def run(rows, given=given):
        return RunContent(None, None, None, None, None, kept=rows, given=given)

    assert run(GivenRows.of(table, None)).same_data(run(GivenRows.of(other, None)))
    assert not run(GivenRows.of(table, None)).same_data(run(GivenRows.of(other.reverse(), None)))
    X = np.eye(2)
    assert run(GivenRows.of(None, X)).same_data(run(GivenRows.of(None, X.copy())))
    assert not run(GivenRows.of(None, X)).same_data(run(GivenRows.of(None, X[::-1])))


def test_a_column_that_the_run_did_not_read_is_taken_from_the_frame_unless_that_was_changed():
    given, kept = pl.DataFrame({"key": [7, 8], "p": [0.1, 0.2]}), pl.DataFrame({"p": [0.1, 0.2]})
    summary = SimpleNamespace(settings={"source": {"options": {"encoding": "utf-8"}, "path": None}})

    def run(given):
        return RunContent(summary, None, None, None, None, kept=GivenRows.of(kept, None), given=given)

    for frame in (given, given.lazy(), given.to_pandas()):
        assert run(frame).data_with("key").load(["key"])["key"].to_list() == [7, 8]
    assert "other" not in run(given).data_with("other").columns
    with pytest.raises(MismatchError, match="were changed after the run was made"):
        run(given.reverse()).data_with("key")


def miscal_copy(run):
    """The same run, as if it had never been saved."""
    return miscal.Run(run.content, run._frames)


@pytest.mark.whole
def test_two_frames_without_shared_rows_are_two_sets(found):
    other = miscal.discover(loans(seed=9), **EVENT, **QUICK, evidence="test")
    assert not found.compare(other).same_rows


@pytest.mark.whole
def test_looks_add_up_before_and_after_saving(found, tmp_path):
    run = miscal.Run(replace(found.content, path=None))
    assert run.monitor(loans(100, seed=7)).rows == 100
    run.save(tmp_path / "run")
    assert miscal.load(tmp_path / "run").monitor(loans(80, seed=8)).rows == 180


@pytest.mark.whole
def test_looks_of_threads_all_count(found, tmp_path):
    run, failed = miscal.Run(replace(found.content, path=None)), []

    def look(seed):
        try:
            run.monitor(loans(60, seed=seed))
        except MiscalError as error:
            failed.append(error)

    threads = [Thread(target=look, args=(seed,)) for seed in (20, 21, 22)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed
    run.save(tmp_path / "run")
    assert run.monitor(loans(60, seed=23)).rows == 240
    # looks after the first saving go with the run, too
    assert miscal.load(run.save(tmp_path / "again")).monitor(loans(60, seed=24)).rows == 300


@pytest.mark.whole
def test_embeddings_in_memory_are_kept_with_the_run(tmp_path):
    frame, X = loans(), np.random.default_rng(0).normal(size=(N, 3)).astype(np.float32)
    found = miscal.discover(frame, **EVENT, embeddings=X, metadata=["region"], evidence="test", **QUICK)
    again = miscal.load(found.save(tmp_path / "run"))
    same_rows(again.content.triples(), found.content.triples())
    new = loans(5, seed=3)
    np.testing.assert_array_equal(again.correct(new, embeddings=X[:5])["row"], np.arange(5))
    X[0] = 9
    with pytest.raises(MismatchError, match="embeddings was changed after the run"):
        miscal_copy(found).save(tmp_path / "other")
    assert not (tmp_path / "other").exists()


# --- what a run shows of itself -----------------------------------------------------------------------------------


def test_a_run_shows_three_lines_and_the_groups_in_a_notebook_and_on_a_terminal(found):
    bundle, answer = found._repr_mimebundle_(), found.summary.answer
    said, page = " ".join(repr(found).split()), bundle["text/html"]
    assert bundle["text/plain"] == repr(found) == str(found)
    assert len(page.encode()) < 60_000
    for words in (answer.headline, answer.reason, *(one.description for one in found.summary.findings)):
        assert words in said
        assert escape(words) in page
    assert "<svg" in page
    # no program, and nothing from elsewhere
    assert not re.search(r"<script|<link|<img|https?:|url\(|@import", page)
    # dark grounds, which notebooks and the system have
    assert "prefers-color-scheme: dark" in page


def test_no_number_is_cut_off_on_a_terminal(found):
    name = "income at least 1234567.25 and at most 7654321.75 and seats from 12 to 345 and distance above 98765"
    one = found.summary.findings[0].model_copy(update={"description": name})
    many = found.summary.model_copy(update={"findings": (one,) * 20})
    lines = brief_lines(many, None)
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert "7654321.75 and seats from 12 to 345" in " ".join(" ".join(line.split()[:9]) for line in lines)


def test_names_and_values_of_a_user_are_escaped(found):
    hostile = "<script>alert(1)</script>"
    summary = found.summary
    finding = summary.findings[0].model_copy(update={"description": hostile})
    answer = summary.answer.model_copy(update=dict.fromkeys(("headline", "reason", "action"), hostile))
    changed = {"findings": (finding,), "alarms": (hostile,), "warnings": (hostile,), "answer": answer}
    told = summary.model_copy(update=changed)
    assert not re.search(r"(?<!\\)<script", run_sheet(told, Path("run"), every=True).markdown())
    assert hostile in "\n".join(brief_lines(told, None))
    page = miscal.Run(replace(found.content, summary=told))._repr_html_()
    assert "<script" not in page
    assert escape(hostile) in page


# --- what a run draws ---------------------------------------------------------------------------------------------


@pytest.mark.whole
def test_the_drawings_of_a_run(found, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    again = miscal.load(miscal_copy(found).save(tmp_path / "run"))
    for run in (found, again):
        axes = pyplot.subplots()[1]
        assert run.plot.findings(ax=axes).ax_ is axes
        assert set(run.plot.reliability(by="region").curves) == {"north", "south"}
        assert run.plot.reliability(corrected=True).alt_text
        whole = run.plot()
        assert [one.number for one in whole.groups] == [*range(len(run.summary.findings) + 1)]
        assert run.summary.answer.reason in whole.alt_text
        pyplot.close("all")
    with pytest.raises(InputError, match="did you mean 'region'"):
        found.plot.reliability(by="regio")
