"""What `miscal score` does, from file to folder, on a tiny model."""

import io
import json
import sys

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import FileError, InputError, MismatchError
from miscal.scoring.command import run


@pytest.fixture
def task_file(tmp_path):
    rows = [
        {"id": f"q{k}", "question": f"Number {k}?", "choices": ["one", "two"], "answer_index": k % 2, "topic": "t"}
        for k in range(12)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "task.parquet")
    return str(tmp_path / "task.parquet")


def test_questions_from_a_file(tmp_path, llama_folder, task_file):
    done = run(model=str(llama_folder), task=task_file, out=tmp_path / "out", dtype="float32", threads=1)
    assert (done.n_scored, done.n_failed, done.n_truncated) == (12, 0, 0)
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    assert done.accuracy == pytest.approx(table["correct"].mean())
    assert table["topic"].to_list() == ["t"] * 12
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    settings = manifest["settings"]
    assert settings["task.prompt"].startswith("Question: {question}")
    assert settings["model.dtype"] == "float32"
    assert len(settings["model.revision"]) == 64
    assert set(manifest["candidate_ids"]) == {" A", " B"}


def test_limit_form_and_prompt_are_settings(tmp_path, llama_folder, task_file):
    options = {"model": str(llama_folder), "task": task_file, "out": tmp_path / "out", "dtype": "float32"}
    assert run(**options, limit=5).n_scored == 5
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{question}\n{choices}\nAnswer:\n")
    for change, key in (
        ({}, "n_rows"),
        ({"limit": 5, "seed": 1}, "seed"),
        ({"limit": 5, "form": "text"}, "form"),
        ({"limit": 5, "prompt_file": prompt}, "prompt"),
    ):
        with pytest.raises(MismatchError, match=key):
            run(**options, **change)


@pytest.fixture
def sorted_task(tmp_path):
    """Questions sorted by category, as benchmarks are."""
    rows = [
        {"id": f"q{k}", "question": f"Number {k}?", "choices": ["one", "two"], "answer_index": k % 2, "category": name}
        for k, name in enumerate(["art"] * 6 + ["biology"] * 12 + ["law"] * 30)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "sorted.parquet")
    return str(tmp_path / "sorted.parquet")


def test_a_limit_is_a_sample_of_the_whole_file_by_category(tmp_path, llama_folder, sorted_task):
    options = {"model": str(llama_folder), "task": sorted_task, "dtype": "float32", "limit": 8}
    done = run(**options, out=tmp_path / "out", seed=3)
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    assert dict(table["category"].value_counts().iter_rows()) == {"art": 1, "biology": 2, "law": 5}
    rows = [int(name[1:]) for name in table["id"]]
    assert rows == sorted(rows)
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    assert settings["task.sample"] == {"rows": 8, "of": 48, "seed": 3, "strata": "category"}
    assert "a random sample of 8 of the 48 rows was scored, drawn by seed 3 in proportion to category" in done.notes
    assert run(**options, out=tmp_path / "out", seed=3).n_scored == 8
    with pytest.raises(MismatchError, match=r"task\.sample"):
        run(**options, out=tmp_path / "out", seed=4)


def test_preferences_from_a_file(tmp_path, llama_folder):
    rows = [{"prompt": f"Human: {k}?\n\nAssistant:", "chosen": "yes", "rejected": "no"} for k in range(8)]
    pl.DataFrame(rows).write_parquet(tmp_path / "pairs.parquet")
    options = {"model": str(llama_folder), "task": str(tmp_path / "pairs.parquet"), "dtype": "float32"}
    run(**options, out=tmp_path / "out")
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    np.testing.assert_allclose(table["confidence"], [probs[0] for probs in table["choice_probs"]])
    slots = [choices[0] == "yes" for choices in table["choices"]]
    assert table["correct"].to_list() == slots
    assert 0 < sum(slots) < 8
    with pytest.raises(InputError, match="letter"):
        run(**options, out=tmp_path / "other", form="text")


def test_many_failures_are_an_error_after_the_rest_is_done(tmp_path, llama_folder):
    rows = [{"question": "" if k == 3 else f"{k}?", "choices": ["a", "b"], "answer_index": 0} for k in range(10)]
    pl.DataFrame(rows).write_parquet(tmp_path / "task.parquet")
    with pytest.raises(InputError, match=r"1 of 10 rows failed.*row 3: empty question"):
        run(model=str(llama_folder), task=str(tmp_path / "task.parquet"), out=tmp_path / "out")
    assert len(pl.read_parquet(tmp_path / "out" / "triples.parquet")) == 9


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"threads": 0},
        {"batch_tokens": 0},
        {"engine": "dask"},
        {"dtype": "int8"},
        {"embeddings_dtype": "int8"},
        {"ray_address": "host:1"},
        {"task_revision": "main"},
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(tmp_path, llama_folder, task_file, wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        run(**{"model": str(llama_folder), "task": task_file, "out": tmp_path / "out", **wrong})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("wrong", "said"), [({"device": "foo"}, "device"), ({"device": "xpu:9"}, "device"), ({"revision": "x"}, "revision")]
)
def test_a_run_may_be_begun_again_with_other_arguments_than_wrong_ones(tmp_path, llama_folder, task_file, wrong, said):
    options = {"model": str(llama_folder), "task": task_file, "out": tmp_path / "out", "limit": 2}
    with pytest.raises(InputError, match=said):
        run(**options, **wrong)
    assert run(**options).n_scored == 2


class Terminal(io.StringIO):
    """A stream that says it is a terminal, or that it is none."""

    def __init__(self, shows: bool) -> None:
        super().__init__()
        self.shows = shows

    def isatty(self) -> bool:
        return self.shows


@pytest.mark.parametrize("shows", [True, False])
def test_progress_is_shown_on_a_terminal_alone(tmp_path, llama_folder, task_file, monkeypatch, shows):
    monkeypatch.setattr("sys.stderr", Terminal(shows))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    run(model=str(llama_folder), task=task_file, out=tmp_path / "out", dtype="float32", batch_tokens=1)
    said = sys.stderr.getvalue()
    if shows:
        assert "12/12" in said
        assert "questions/s" in said
        assert "0:00:00" in said  # time left
    else:
        assert not said


def test_secrets_of_the_environment_reach_no_output(tmp_path, llama_folder, task_file, monkeypatch, capfd):
    secret = "hf_" + "canary" * 5
    monkeypatch.setenv("HF_TOKEN", secret)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run(model=str(llama_folder), task=task_file, out=tmp_path / "out")
    with pytest.raises(FileError) as caught:
        run(model=f"https://user:{secret}@host/model", task=task_file, out=tmp_path / "other")
    shown = capfd.readouterr()
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret not in shown.out + shown.err + str(caught.value)
    assert secret.encode() not in written
