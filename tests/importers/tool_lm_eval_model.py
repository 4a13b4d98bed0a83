"""Run by an interpreter that has lm_eval: ask a saved model (first argument) about a file of questions (second)."""

import sys
from pathlib import Path

import torch
from lm_eval.__main__ import cli_evaluate

MODEL, DATA, OUT = map(Path, sys.argv[1:])
TASK = """
task: real
dataset_path: parquet
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: multiple_choice
doc_to_text: "Question: {{{{question}}}}\\n\\nA. {{{{choices[0]}}}}\\nB. {{{{choices[1]}}}}\\nC. {{{{choices[2]}}}}\\nD. {{{{choices[3]}}}}\\n\\nThe correct answer is:"
doc_to_choice: ["A", "B", "C", "D"]
doc_to_target: answer_index
metric_list: [{{metric: acc}}]
"""  # noqa: E501


def main():
    torch.set_num_threads(1)
    (OUT / "tasks").mkdir()
    (OUT / "tasks" / "real.yaml").write_text(TASK.format(data=DATA))
    options = {
        "--model": "hf",
        "--model_args": f"pretrained={MODEL},dtype=float32",
        "--tasks": "real",
        "--include_path": str(OUT / "tasks"),
        "--device": "cpu",
        "--batch_size": "4",
        "--output_path": str(OUT / "logs"),
    }
    sys.argv[1:] = ["run", *(word for pair in options.items() for word in pair), "--log_samples"]
    cli_evaluate()


main()
