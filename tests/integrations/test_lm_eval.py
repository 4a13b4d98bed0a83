"""miscal's tasks in lm-evaluation-harness: a real run of a tiny random model."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from miscal import metrics
from miscal.base.errors import InputError
from miscal.data.importers import read_log
from miscal.integrations.lm_eval import FOLDER
from miscal.integrations.lm_eval.calibration import process_results

from .conftest import interpreter, run_tool

HERE = Path(__file__).parent
N = 40


def test_the_folder_is_printed():
    told = subprocess.run([sys.executable, "-m", "miscal.integrations.lm_eval"], capture_output=True, text=True)
    assert told.stdout == f"{FOLDER}\n"


@pytest.mark.parametrize("answer", ["E", 4, -1, None, True, "second"])
def test_a_question_without_a_right_choice_is_refused(answer):
    with pytest.raises(InputError, match="from 0 to 3, or its letter"):
        process_results({"answer": answer}, [(-1.0, False)] * 4)


@pytest.mark.slow
def test_a_real_run_gives_the_values_of_miscal_on_its_own_samples(tmp_path):
    python = interpreter("lm_eval", "MISCAL_LM_EVAL_PYTHON")
    run_tool(python, HERE / "tool_lm_eval.py", tmp_path, N, cwd=tmp_path)
    run_tool(
        python, "-m", "lm_eval", "--model", "hf", "--model_args", f"pretrained={tmp_path}/model,dtype=float32",
        "--include_path", tmp_path / "tasks", "--tasks", "mmlu_local", "--output_path", tmp_path / "logs",
        "--log_samples", "--device", "cpu", cwd=tmp_path, HF_DATASETS_OFFLINE="1",
    )  # fmt: skip
    (results,) = (tmp_path / "logs").rglob("results_*.json")
    told = json.loads(results.read_text())["results"]["mmlu_local"]
    table = read_log("lm-eval", tmp_path / "logs").table
    assert len(table) == N
    confidence, correct = (np.asarray(table[name], dtype=float) for name in ("confidence", "correct"))
    assert len(set(confidence)) > N / 2
    assert told["smece,none"] == pytest.approx(metrics.smece(correct, confidence), rel=1e-9)
    assert told["brier,none"] == pytest.approx(metrics.brier(correct, confidence), rel=1e-9)
    assert told["overconfidence,none"] == pytest.approx(confidence.mean() - correct.mean(), rel=1e-9)
    assert told["acc,none"] == correct.mean()
