"""Logs that the real tools write, where they are installed.

They may live in environments of their own: name the interpreters in MISCAL_INSPECT_PYTHON and MISCAL_LM_EVAL_PYTHON.
"""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from miscal.base.errors import FileError, InputError
from miscal.data.importers.imported import read_log
from miscal.scoring import ModelSpec, score
from miscal.scoring.tasks import rows_to_questions

HERE = Path(__file__).parent
BENCHMARKS = HERE.parents[2] / "benchmarks"


def run_tool(package, variable, folder, *arguments):
    python = os.environ.get(variable) or (sys.executable if importlib.util.find_spec(package) else None)
    if python is None:
        pytest.skip(f"{package} is not installed, nor {variable} set")
    settings = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "HF_HOME": str(folder / "cache")}
    command = [python, *arguments]
    ended = subprocess.run(command, env=settings, cwd=folder, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr[-2000:]


def written(package, variable, script, folder):
    run_tool(package, variable, folder, HERE / script, folder)
    return folder


@pytest.fixture(scope="module")
def inspect_logs(tmp_path_factory):
    return written("inspect_ai", "MISCAL_INSPECT_PYTHON", "tool_inspect.py", tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def lm_eval_logs(tmp_path_factory):
    return written("lm_eval", "MISCAL_LM_EVAL_PYTHON", "tool_lm_eval.py", tmp_path_factory.mktemp("lm_eval"))


SENT = np.array([0.4, 0.3, 0.2, 0.05]) / 0.95
RIGHT = [1, 0, 0, 0, 1, 0, 0, 0]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "epochs"), [("packed", 1), ("json", 1), ("epochs", 2)])
def test_inspect(inspect_logs, name, epochs):
    table = read_log("inspect", inspect_logs / name).table.sort("epoch", "sample_id")
    np.testing.assert_allclose(table["choice_probs"].to_list(), np.tile(SENT, (8 * epochs, 1)))
    assert table["correct"].to_list() == RIGHT * epochs
    assert table["predicted"].to_list() == [0] * 8 * epochs
    assert table["id"].n_unique() == 8 * epochs


@pytest.mark.slow
def test_inspect_shuffled(inspect_logs):
    """The model always says A, sent as the most probable: the choice it meant differs, its probability does not."""
    table = read_log("inspect", inspect_logs / "shuffled").table.sort("sample_id")
    assert len(table) == 8
    np.testing.assert_allclose(table["confidence"], np.full(8, SENT[0]))
    np.testing.assert_allclose(np.sort(table["choice_probs"].to_list(), axis=1), np.tile(np.sort(SENT), (8, 1)))
    assert table["correct"].to_list() == (table["predicted"] == table["answer_index"]).cast(int).to_list()
    assert table["predicted"].n_unique() > 1


@pytest.mark.slow
def test_inspect_without_logprobs(inspect_logs):
    with pytest.raises(InputError, match="no probabilities"):
        read_log("inspect", inspect_logs / "bare")


@pytest.mark.slow
def test_lm_eval(lm_eval_logs):
    found = read_log("lm-eval", lm_eval_logs)
    plain, doubled = (found.table.filter(task=name).sort("text") for name in ("plain", "doubled"))
    assert len(plain) == len(doubled) == 12
    assert plain["choice_probs"].to_list() == doubled["choice_probs"].to_list()
    assert plain["correct"].to_list() == (plain["predicted"] == plain["answer_index"]).cast(int).to_list()
    assert set(plain["model"]) == {"org/made"}
    assert 0.0 in plain["choice_probs"].explode().to_list()
    assert any("skipped" in note and "samples_written" in note for note in found.notes)


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(1_000)
def test_lm_eval_of_a_real_model_holds_what_the_scorer_finds(mmlu_file, tmp_path, monkeypatch):
    """lm-eval's command with --log_samples on SmolLM2 and real questions, imported; and our scorer on the same."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    bench_scoring = importlib.import_module("_speed_scoring")
    model, data = tmp_path / "model", tmp_path / "questions.parquet"
    try:
        bench_scoring.save_model(model, "float32")
    except FileError as error:
        pytest.skip(str(error))
    rows = pl.read_parquet(mmlu_file).sample(12, seed=1)
    rows.write_parquet(data)
    (tmp_path / "task.yaml").write_text(bench_scoring.TASK.format(data=data))
    run_tool(
        "lm_eval", "MISCAL_LM_EVAL_PYTHON", tmp_path, "-m", "lm_eval", "run", "--model", "hf",
        "--model_args", f"pretrained={model},dtype=float32", "--tasks", "bench_mmlu", "--include_path", tmp_path,
        "--device", "cpu", "--batch_size", "4", "--output_path", tmp_path / "logs", "--log_samples",
    )  # fmt: skip
    table = read_log("lm-eval", tmp_path / "logs").table
    questions = rows_to_questions(rows.to_dicts(), "mmlu")
    triples = score(ModelSpec(str(model), dtype="float32"), questions)
    at = [next(row for row, question in enumerate(rows["question"]) if question in text) for text in table["text"]]
    assert sorted(at) == list(range(12))
    np.testing.assert_allclose(table["confidence"], triples.confidence[at], atol=1e-4)
    assert table["correct"].to_list() == triples.correct[at].tolist()
