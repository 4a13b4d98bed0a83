"""Samples of lm-evaluation-harness in every version, and logs that the real tools write, where they are installed.

These may live in environments of their own, named in MISCAL_INSPECT_PYTHON and MISCAL_LM_EVAL_PYTHON.
"""

import importlib
import importlib.util
import json
import math
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

from .written import generated, lines, sample

VALUES = [[-1.25, -0.4, -3.0, -2.0], [-0.1, -5.0, -4.0, -6.5], [-2.0, -2.5, -2.25, -9.0]]


def softmax(values):
    p = np.exp(np.array(values) - max(values))
    return p / p.sum()


def test_confidence_and_outcome(tmp_path):
    path = lines(tmp_path / "samples_colours_2025-01-02T03-04-05.678.jsonl", map(sample, range(3), VALUES))
    table = read_log("lm-eval", path).table
    for row, values in zip(table.iter_rows(named=True), VALUES, strict=True):
        np.testing.assert_allclose(row["choice_probs"], softmax(values), atol=1e-12)
        assert row["confidence"] == max(row["choice_probs"])
        assert row["predicted"] == int(np.argmax(values))
        assert row["candidate_mass"] == pytest.approx(min(1, sum(map(math.exp, values))))
    assert table["correct"].to_list() == [1, 0, 0]
    assert table["choices"].to_list()[0] == ["A", "B", "C", "D"]
    assert table["text"].to_list() == ["Q 0?", "Q 1?", "Q 2?"]
    assert table["subject"].to_list() == ["s0", "s1", "s0"]
    assert table["answer_index"].to_list() == [1, 1, 1]
    assert set(table["task"]) == {"colours"}
    assert set(table["model"]) == {tmp_path.name}


def test_old_array_and_new_lines_agree(tmp_path):
    new = lines(tmp_path / "new.jsonl", map(sample, range(3), VALUES))
    old = tmp_path / "pretrained__x_colours.jsonl"
    old.write_text(json.dumps([sample(i, v, strings=False) for i, v in enumerate(VALUES)], indent=2))
    keep = ["id", "text", "confidence", "correct", "predicted", "choices", "choice_probs", "answer_index"]
    assert read_log("lm-eval", new).table.select(keep).equals(read_log("lm-eval", old).table.select(keep))


def test_infinite_is_kept_and_nan_is_left_out(tmp_path):
    values = [["-inf", "-0.4", "-3"], ["nan", "-1", "-2"], ["-inf", "-inf", "-inf"], ["-1", "x", "-2"]]
    records = [sample(i, ["-1", "-2", "-3"], filtered_resps=[[v, "False"] for v in vs]) for i, vs in enumerate(values)]
    found = read_log("lm-eval", lines(tmp_path / "any.name", records))
    assert found.table["id"].to_list() == ["0"]
    assert found.table["choice_probs"].to_list()[0][0] == 0.0
    assert any("2 rows left out" in note and "NaN" in note and "(1, 2)" in note for note in found.notes)
    assert any("1 rows left out" in note and "not a number" in note for note in found.notes)


def test_mutual_information_doubles_the_answers(tmp_path):
    plain = sample(0, [-1.0, -2.0, -3.0, -0.5])
    doubled = sample(0, [-1.0, -2.0, -3.0, -0.5, -9.0, -0.1, -0.2, -0.3], acc=plain["acc"], acc_mutual_info=0.0)
    for at in range(4):
        doubled["arguments"][f"gen_args_{at + 4}"] = {
            "arg_0": "",
            "arg_1": doubled["arguments"][f"gen_args_{at}"]["arg_1"],
        }
    first, second = (
        read_log("lm-eval", lines(tmp_path / f"{i}.jsonl", [one])).table for i, one in enumerate((plain, doubled))
    )
    assert first["choice_probs"].to_list() == second["choice_probs"].to_list()


@pytest.mark.parametrize(("metric", "unit"), [("acc_norm", len), ("acc_bytes", lambda text: len(text.encode()))])
def test_length_conventions_are_used_and_told(tmp_path, metric, unit):
    texts = [" rouge vif", " é", " vert"]
    arguments = {f"gen_args_{i}": {"arg_0": "Q:", "arg_1": text} for i, text in enumerate(texts)}
    record = sample(0, [-4.0, -1.0, -3.0], arguments=arguments, **{metric: 1.0})
    del record["acc"]
    found = read_log("lm-eval", lines(tmp_path / "x.jsonl", [record]))
    expected = softmax([v / unit(text[1:]) for v, text in zip([-4.0, -1.0, -3.0], texts, strict=True)])
    np.testing.assert_allclose(found.table["choice_probs"].to_list()[0], expected)
    assert any(metric in note for note in found.notes)


def test_accuracy_of_the_harness_is_believed(tmp_path):
    """Gold lists and index errors are the harness's business."""
    records = [sample(0, [-1, -2], acc=1.0, target="[0, 1]"), sample(1, [-1, -2], acc=0.0, target="-100")]
    table = read_log("lm-eval", lines(tmp_path / "x.jsonl", records)).table
    assert table["correct"].to_list() == [1, 0]
    assert "answer_index" not in table.columns


def test_without_accuracy_the_target_decides(tmp_path):
    records = [
        sample(0, [-1, -2], target="B"),
        sample(1, [-1, -2], target="[0, 1]"),
        sample(2, [-1, -2], target="zebra"),
    ]
    for record in records:
        del record["acc"]
    found = read_log("lm-eval", lines(tmp_path / "x.jsonl", records))
    assert found.table["correct"].to_list() == [0, 1]
    assert any("target" in note and "1 rows left out" in note for note in found.notes)


def test_contexts_that_vary_are_the_choices(tmp_path):
    arguments = {f"gen_args_{i}": {"arg_0": text, "arg_1": " was late."} for i, text in enumerate(("Ann", "Bob"))}
    table = read_log("lm-eval", lines(tmp_path / "x.jsonl", [sample(0, [-3, -1], arguments=arguments)])).table
    assert table["choices"].to_list() == [["Ann", "Bob"]]
    assert "candidate_mass" not in table.columns


def test_second_filter_is_left_out(tmp_path):
    found = read_log(
        "lm-eval", lines(tmp_path / "x.jsonl", [sample(0, VALUES[0]), sample(0, VALUES[0]), sample(1, VALUES[1])])
    )
    assert found.table["id"].to_list() == ["0", "1"]
    assert any("1 rows left out" in note for note in found.notes)


def test_line_separators_inside_texts(tmp_path):
    record = sample(0, VALUES[0])
    record["doc"]["question"] = "one\u2028two\x85three \ud83d"
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(record, ensure_ascii=False).replace("\ud83d", "\\ud83d") + "\n", encoding="utf-8")
    assert read_log("lm-eval", path).table["text"].to_list() == ["one\u2028two\x85three \ufffd"]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (generated(0), ["generate_until", "multiple_choice", "miscal score"]),
        (sample(0, [-1.0]), ["one continuation"]),
        (sample(0, [-1.0, -2], filtered_resps=["-12.5"]), ["rolling"]),
        ({"question": "?"}, ["doc_id", "--log_samples"]),
    ],
)
def test_no_probabilities(tmp_path, record, words):
    with pytest.raises(InputError) as caught:
        read_log("lm-eval", lines(tmp_path / "x.jsonl", [record]))
    assert all(word in str(caught.value) for word in words)


def test_folder_takes_the_latest_of_each_task_and_skips_generated(tmp_path):
    place = tmp_path / "out" / "org__model"
    lines(place / "samples_a_2024-01-01T00-00-00.1.jsonl", [sample(0, VALUES[0])])
    lines(place / "samples_a_2025-01-01T00-00-00.1.jsonl", [sample(0, VALUES[1])])
    lines(place / "samples_b_2024-01-01T00-00-00.1.jsonl", [sample(0, VALUES[2])])
    lines(place / "samples_c_2024-01-01T00-00-00.1.jsonl", [generated(0)])
    (place / "results_2025-01-01T00-00-00.1.json").write_text(json.dumps({"model_name": "org/model"}))
    found = read_log("lm-eval", tmp_path)
    assert found.table["task"].to_list() == ["a", "b"]
    assert found.table["model"].to_list() == ["org/model", "org__model"]
    assert found.table["predicted"].to_list() == [0, 0]
    assert found.table["confidence"][0] == pytest.approx(softmax(VALUES[1])[0])
    assert found.table["id"].n_unique() == 2
    assert any("skipped" in note and "samples_c" in note for note in found.notes)


def test_folder_without_any(tmp_path):
    with pytest.raises(FileError, match=r"samples_\*\.jsonl"):
        read_log("lm-eval", tmp_path)
    lines(tmp_path / "samples_c_2024-01-01T00-00-00.1.jsonl", [generated(0)])
    with pytest.raises(InputError, match="generate_until"):
        read_log("lm-eval", tmp_path)


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
