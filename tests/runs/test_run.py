"""What can be done with a run, what it shows of itself, and what it draws."""

import re
from dataclasses import replace
from html import escape
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import miscal
from miscal.base.errors import InputError, MiscalError, MismatchError
from miscal.discovery import layout
from miscal.discovery.run import GivenRows, RunContent
from miscal.findings.conditions.condition import Frame, with_features
from miscal.report.brief import brief_lines, run_sheet

from .conftest import EVENT, INDEXES, KINDS, QUICK, N, loans, same_rows

# --- what can be done with a run ----------------------------------------------------------------------------------


def test_tables_are_frames_of_the_kind_that_came_in_with_its_index(found):
    frame = loans().set_axis(INDEXES["shuffled"](N))
    assert all(isinstance(one, pd.DataFrame) for one in (found.findings, found.field, found.columns, found.decisions))
    assert found.field.index.equals(frame.index)
    np.testing.assert_array_equal(found.field["predicted"], frame["risk"])
    assert len(found.decisions) == len(found.summary.decisions)
    assert found.answer == found.summary.answer


@pytest.mark.whole
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


@pytest.mark.whole
def test_looks_add_up_before_and_after_saving(found, tmp_path):
    run = miscal.Run(replace(found.content, path=None))
    assert run.monitor(loans(100, seed=7)).rows == 100
    run.save(tmp_path / "run")
    assert miscal.load(tmp_path / "run").monitor(loans(80, seed=8)).rows == 180


def test_no_number_is_cut_off_on_a_terminal(found):
    name = "income at least 1234567.25 and at most 7654321.75 and seats from 12 to 345 and distance above 98765"
    one = found.summary.findings[0].model_copy(update={"description": name})
    many = found.summary.model_copy(update={"findings": (one,) * 20})
    lines = brief_lines(many, None)
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 100
    assert "7654321.75 and seats from 12 to 345" in " ".join(" ".join(line.split()[:9]) for line in lines)
