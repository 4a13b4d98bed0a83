"""`miscal score`, from a file to a folder: what it leaves and says, how it ends, and how it goes on."""

import io
import json
import os
import signal
import sys
import time

import numpy as np
import polars as pl
import psutil
import pytest

from miscal.base.errors import FileError, InputError, MismatchError
from miscal.cli import main
from miscal.data.readers.read import read_triples
from miscal.scoring.command import run

from ..cli.conftest import start


def test_questions_of_a_file(tmp_path, llama_folder, task_file):
    done = run(model=str(llama_folder), task=task_file, out=tmp_path / "out", dtype="float32", threads=1)
    assert (done.n_scored, done.n_failed, done.n_truncated) == (120, 0, 0)
    table, triples = pl.read_parquet(tmp_path / "out" / "triples.parquet"), read_triples(tmp_path / "out")
    assert done.accuracy == pytest.approx(table["correct"].mean())
    assert set(table["category"]) == {"art", "biology", "law"}
    assert triples.X.shape == (120, 32)
    np.testing.assert_array_equal(triples.confidence, table["confidence"].to_numpy())
    np.testing.assert_array_equal(triples.correct, table["correct"].to_numpy())
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    settings = manifest["settings"]
    assert settings["task.prompt"].startswith("Question: {question}")
    assert settings["model.dtype"] == "float32"
    assert len(settings["model.revision"]) == 64
    assert set(manifest["candidate_ids"]) == {" A", " B"}


def test_a_limit_is_a_sample_of_the_whole_file_by_category_and_a_setting_as_form_and_prompt(
    tmp_path, llama_folder, task_file
):
    options = {"model": str(llama_folder), "task": task_file, "out": tmp_path / "out", "dtype": "float32"}
    sampled = {"limit": 8, "seed": 3}
    done = run(**options, **sampled)
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    assert dict(table["category"].value_counts().iter_rows()) == {"art": 1, "biology": 2, "law": 5}
    rows = [int(name[1:]) for name in table["id"]]
    assert rows == sorted(rows)
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    assert settings["task.sample"] == {"rows": 8, "of": 120, "seed": 3, "strata": "category"}
    assert any("8 of the 120 rows" in note for note in done.notes)
    assert run(**options, **sampled).questions_per_second == 0  # none were asked again
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{question}\n{choices}\nAnswer:\n")
    for change, key in (
        ({"limit": None}, "n_rows"),
        ({"seed": 1}, r"task\.sample"),
        ({"form": "text"}, "form"),
        ({"prompt_file": prompt}, "prompt"),
    ):
        with pytest.raises(MismatchError, match=key):
            run(**options, **(sampled | change))


def test_preferences_of_a_file(tmp_path, llama_folder):
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
    ("name", "value"),
    [
        *((name, 0) for name in ("limit", "threads", "batch_tokens")),
        *((name, "odd") for name in ("engine", "dtype", "embeddings_dtype", "ray_address", "task_revision")),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(tmp_path, llama_folder, task_file, name, value):
    with pytest.raises(InputError, match=name):
        run(**{"model": str(llama_folder), "task": task_file, "out": tmp_path / "out", name: value})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("name", "value"), [("device", "foo"), ("device", "xpu:9"), ("revision", "x")])
def test_a_run_may_be_begun_again_with_other_arguments_than_wrong_ones(tmp_path, llama_folder, task_file, name, value):
    options = {"model": str(llama_folder), "task": task_file, "out": tmp_path / "out", "limit": 2}
    with pytest.raises(InputError, match=name):
        run(**options, **{name: value})
    assert run(**options).n_scored == 2


@pytest.mark.parametrize("shows", [True, False])
def test_progress_is_shown_on_a_terminal_alone(tmp_path, llama_folder, task_file, monkeypatch, shows):
    stream = io.StringIO()
    stream.isatty = lambda: shows
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    run(model=str(llama_folder), task=task_file, out=tmp_path / "out", dtype="float32", batch_tokens=1, limit=12)
    assert ("12/12" in stream.getvalue()) == bool(stream.getvalue()) == shows


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


# --- as a person runs it ---------------------------------------------------------------------------------------------


@pytest.fixture
def arguments(llama_folder, task_file, tmp_path):
    out = str(tmp_path / "out")
    return ["score", "--model", str(llama_folder), "--task", task_file, "--out", out, "--dtype", "float32"]


@pytest.mark.whole
def test_the_command_says_how_many_rows_were_scored(arguments, capsys):
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert "120 rows scored, 0 failed" in said.out
    assert not said.err


@pytest.mark.slow
def test_discover_takes_it_from_there(llama_folder, tmp_path):
    rows = [{"question": f"{k} {'so ' * (k % 7)}?", "choices": ["1", "2"], "answer_index": k % 2} for k in range(120)]
    pl.DataFrame(rows).write_parquet(tmp_path / "task.parquet")
    task, out = str(tmp_path / "task.parquet"), str(tmp_path / "out")
    assert main(["score", "--model", str(llama_folder), "--task", task, "--out", out]) == 0
    assert main(["discover", out, "--out", str(tmp_path / "run"), "--map", "pca"]) == 0
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.whole
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped_goes_on_with_the_same_command(arguments, number, status, tmp_path):
    arguments = [*arguments, "--batch-tokens", "1", "--threads", "1"]
    with start(*arguments) as process:
        while not list(tmp_path.glob("out/shards/*.json")):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.005)
        process.send_signal(number)
        _, said = process.communicate(timeout=60)
    assert (process.returncode, said.count("\n")) == (status, 1), said
    assert "run the same command again" in said
    assert 0 < len(list(tmp_path.glob("out/shards/*.json"))) < 120
    assert main(arguments) == 0
    assert len(pl.read_parquet(tmp_path / "out" / "triples.parquet")) == 120


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("delay", [0.2, 0.0, 0.1, 1.0])
def test_ctrl_c_ends_the_workers_without_a_word(arguments, delay):
    """A terminal sends it to all of them, whether they still import or compute already."""
    with start(*arguments, "--workers", "2", "--batch-tokens", "1") as process:
        while len(working := psutil.Process(process.pid).children()) < 3:  # two, and the one that tidies up after them
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
        time.sleep(delay)
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said == "miscal: stopped; no file was left half-written; run the same command again to go on from here\n"
    assert not psutil.wait_procs(working, timeout=60)[1]
