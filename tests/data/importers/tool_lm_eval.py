"""Run by an interpreter that has lm_eval: write samples of a made-up model into the folder named first."""

import json
import sys
from hashlib import sha256
from pathlib import Path

import lm_eval
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

OUT = Path(sys.argv[1])
TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
output_type: {kind}
test_split: test
doc_to_text: "{{{{question}}}}\\nAnswer:"
doc_to_target: {target}
"""
CHOICES = 'doc_to_choice: ["A", "B", "C", "D"]\nmetric_list: [{metric: acc}, {metric: acc_norm}, {metric: brier_score}'


class Model(LM):
    """Log-likelihoods from a hash of context and continuation."""

    def loglikelihood(self, requests):
        digests = [sha256("".join(one.args).encode()).digest() for one in requests]
        return [(float("-inf") if d[0] < 16 else -d[0] / 64, False) for d in digests]

    def loglikelihood_rolling(self, requests):
        raise NotImplementedError

    def generate_until(self, requests):
        return ["red" for _ in requests]


def main():
    data, tasks = OUT / "questions.txt", OUT / "tasks"
    tasks.mkdir(parents=True)
    rows = [{"question": f"Question {i}?", "answer": i % 4, "subject": f"s{i % 2}"} for i in range(12)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = TASK.format(name="plain", data=data, kind="multiple_choice", target="answer") + CHOICES
    (tasks / "plain.yaml").write_text(plain + "]\n")
    (tasks / "doubled.yaml").write_text(plain.replace("plain", "doubled") + ", {metric: acc_mutual_info}]\n")
    written = TASK.format(name="written", data=data, kind="generate_until", target="subject")
    (tasks / "written.yaml").write_text(written + "metric_list: [{metric: exact_match}]\n")
    manager = TaskManager(include_path=str(tasks), include_defaults=False)
    names = ["plain", "doubled", "written"]
    results = lm_eval.simple_evaluate(Model(), tasks=names, task_manager=manager, log_samples=True, bootstrap_iters=0)
    tracker = EvaluationTracker(output_path=str(OUT / "logs"))
    tracker.general_config_tracker.log_experiment_args("made", "pretrained=org/made", None, None, False)
    samples = results.pop("samples")
    tracker.save_results_aggregated(results=results, samples=samples)
    for name in names:
        tracker.save_results_samples(task_name=name, samples=samples[name])


main()
