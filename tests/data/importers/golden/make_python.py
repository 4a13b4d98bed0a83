"""Write the golden files of Python tools with the tools themselves; questions and answers are invented.

    python make_python.py lighteval | uqlm | deepeval | phoenix | langfuse

in an environment that has the tool. Versions used: see README.md.
"""

import json
import os
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
QUESTIONS = ("Capital of France?", "Capital of Italy?", "Capital of Spain?", "Capital of Norway?")
RIGHT = ("Paris", "Rome", "Madrid", "Oslo")
GIVEN = ("Paris", "Milan", "Madrid", "Bergen")
SAID = (90, 100, 75, 60)
TEXTS = tuple(
    f"Answer: {a}" + (f"\nConfidence: {c}%" if a != "Milan" else "") for a, c in zip(GIVEN, SAID, strict=True)
)


def lighteval():
    from dataclasses import asdict

    from datasets import Dataset
    from lighteval.logging.info_loggers import DetailsLogger
    from lighteval.models.model_output import ModelResponse
    from lighteval.tasks.requests import Doc

    def save(name, details):
        data = Dataset.from_list([asdict(one) for one in details])  # as EvaluationTracker.save does
        data.select_columns(sorted(data.column_names)).to_parquet(HERE / name)

    stated, chosen = [], []
    for at, question in enumerate(QUESTIONS):
        doc = Doc(
            query=question,
            choices=[RIGHT[at]],
            gold_index=0,
            id=str(at),
            task_name="hle|0",
            specific={"question": question},
        )
        judged = {
            "model_answer": GIVEN[at],
            "reasoning": "",
            "correct": "yes" if GIVEN[at] == RIGHT[at] else "no",
            "confidence": SAID[at],
            "correct_answer": RIGHT[at],
        }
        names = ("accuracy", "confidence_half_width", "calibration_error")
        stated.append(DetailsLogger.Detail(doc, ModelResponse(text=[TEXTS[at]]), dict.fromkeys(names, judged)))
        doc = Doc(
            query=f"{question}\nAnswer:",
            choices=[" Paris", " Rome", " Oslo"],
            gold_index=at % 3,
            id=str(at),
            task_name="capitals|0",
        )
        response = ModelResponse(logprobs=[-1.0, -2.0 + at, -3.0], argmax_logits_eq_gold=[False] * 3)
        chosen.append(DetailsLogger.Detail(doc, response, {"acc": float(at % 2)}))
    save("details_hle_2026-05-04T10-00-00.000000.parquet", stated)
    save("details_capitals_2026-05-04T10-00-00.000000.parquet", chosen)


def uqlm():
    from uqlm.utils.results import UQResult

    data = {
        "responses": list(GIVEN),
        "sampled_responses": [[a, a] for a in GIVEN],
        "prompts": list(QUESTIONS),
        "semantic_negentropy": [0.9, 0.5, 0.8, 0.25],
        "noncontradiction": [0.75, 0.5, 1.0, 0.5],
        "judge_1": [1.0, 0.5, 1.0, 0.0],
    }
    table = UQResult({"data": data, "metadata": {"temperature": 1.0}}).to_df()
    table["correct"] = [a == b for a, b in zip(GIVEN, RIGHT, strict=True)]
    table.to_parquet(HERE / "uqlm.parquet")


def deepeval():
    folder = Path(tempfile.mkdtemp())
    os.chdir(folder)
    os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"
    from deepeval.evaluate.local_store import write_rolling_test_run
    from deepeval.test_run.api import LLMApiTestCase
    from deepeval.test_run.test_run import TestRun
    from deepeval.tracing.api import MetricData

    def save(name, metadata):
        run = TestRun()
        for at, question in enumerate(QUESTIONS):
            case = LLMApiTestCase(
                name=f"test_case_{at}",
                input=question,
                actualOutput=TEXTS[at],
                expectedOutput=RIGHT[at],
                order=at,
                metadata=metadata(at),
            )
            score = (0.9, 0.7, 0.8, 0.3)[at]
            case.update_metric_data(
                MetricData(
                    name="Correctness [GEval]",
                    threshold=0.5,
                    success=score >= 0.5,
                    score=score,
                    reason="made",
                    evaluationModel="gpt-4.1",
                )
            )
            exact = float(GIVEN[at] == RIGHT[at])
            case.update_metric_data(MetricData(name="Exact Match", threshold=1.0, success=exact == 1, score=exact))
            run.test_cases.append(case)
        shutil.copy(write_rolling_test_run(run), HERE / name)

    save("deepeval.json", lambda at: {"topic": "capitals"} | ({"human": int(at != 1)} if at < 3 else {}))
    save("deepeval_stated.json", lambda at: {"topic": "capitals", "confidence": SAID[at]})


def phoenix():
    import httpx
    from phoenix.client import Client

    def annotation(span, name, kind, score, label=None):
        return {
            "id": f"{span}{name}{kind}",
            "span_id": span,
            "name": name,
            "annotator_kind": kind,
            "source": "API",
            "result": {"score": score, "label": label, "explanation": None},
            "metadata": {},
            "identifier": "",
            "created_at": "2026-05-04T10:00:00Z",
            "updated_at": "2026-05-04T10:00:00Z",
            "user_id": None,
        }

    spans = [f"span{at}" for at in range(4)]
    made = [annotation(s, "correctness", "LLM", x) for s, x in zip(spans, (0.9, 0.7, 0.8, 0.3), strict=False)]
    made += [
        annotation(s, "correctness", "HUMAN", None, x)
        for s, x in zip(spans, ("correct", "incorrect", "correct"), strict=False)
    ]
    made += [annotation(s, "length", "CODE", x) for s, x in zip(spans, (5, 5, 6, 6), strict=False)]
    answer = httpx.MockTransport(lambda request: httpx.Response(200, json={"data": made, "next_cursor": None}))
    client = Client(base_url="http://phoenix", http_client=httpx.Client(transport=answer, base_url="http://phoenix"))
    table = client.spans.get_span_annotations_dataframe(span_ids=spans, project_identifier="default")
    (HERE / "phoenix").mkdir(exist_ok=True)
    table.to_csv(HERE / "phoenix" / "annotations.csv")
    import pandas as pd

    # columns of get_spans_dataframe
    beside = {
        "name": "answer",
        "span_kind": "LLM",
        "context.span_id": spans,
        "attributes.input.value": QUESTIONS,
        "attributes.output.value": GIVEN,
        "attributes.llm.model_name": "made-model",
    }
    pd.DataFrame(beside).to_csv(HERE / "phoenix" / "spans.csv", index=False)


def langfuse():
    from langfuse.api.scores.types import GetScoresV3Meta, GetScoresV3Response, ScoreV3_Boolean, ScoreV3_Numeric
    from langfuse.api.scores.types.score_subject_v3 import ScoreSubjectV3_Trace

    now = datetime(2026, 5, 4, tzinfo=UTC)

    def score(at, name, source, kind, value):
        about = {"id": f"{at}{name}{source}", "project_id": "p", "name": name, "source": source, "timestamp": now}
        about |= {"environment": "default", "created_at": now, "updated_at": now}
        return kind(**about, value=value, subject=ScoreSubjectV3_Trace(id=f"trace{at}"))

    made = [score(at, "correctness", "EVAL", ScoreV3_Numeric, x) for at, x in enumerate((0.9, 0.7, 0.8, 0.3))]
    made += [score(at, "correctness", "ANNOTATION", ScoreV3_Boolean, x) for at, x in enumerate((True, False, True))]
    made += [score(at, "length", "API", ScoreV3_Numeric, x) for at, x in enumerate((5, 5, 6, 6))]
    answer = GetScoresV3Response(data=made, meta=GetScoresV3Meta(limit=100))
    (HERE / "langfuse").mkdir(exist_ok=True)
    (HERE / "langfuse" / "scores.json").write_text(answer.json() + "\n")
    # the export of the table of traces, by its source: one object per line
    traces = [{"id": f"trace{at}", "name": "answer", "input": q, "output": GIVEN[at]} for at, q in enumerate(QUESTIONS)]
    (HERE / "langfuse" / "traces.jsonl").write_text("".join(json.dumps(one) + "\n" for one in traces))


def lm_eval():
    import lm_eval as tool
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Model(LM):
        def loglikelihood(self, requests):
            return [(-1.0 - at % 3, False) for at, _ in enumerate(requests)]

        def loglikelihood_rolling(self, requests):
            raise NotImplementedError

        def generate_until(self, requests):
            return list(TEXTS)

    folder = Path(tempfile.mkdtemp())
    rows = [{"question": q, "answer": RIGHT[at], "letter": at % 3} for at, q in enumerate(QUESTIONS)]
    (folder / "q.txt").write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = (
        f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {folder / 'q.txt'}}}}}\ntest_split: test\n"
        'doc_to_text: "{{question}}"\n'
    )
    kinds = {
        "stated": "output_type: generate_until\ndoc_to_target: answer\nfilter_list:\n- name: answer\n  filter:\n"
        "  - {function: regex, regex_pattern: 'Answer: (\\w+)'}\n  - {function: take_first}\n"
        "metric_list: [{metric: exact_match}]\n",
        "choices": "output_type: multiple_choice\ndoc_to_target: letter\ndoc_to_choice: [Paris, Rome, Oslo]\n"
        "metric_list: [{metric: acc}]\n",
    }
    for name, kind in kinds.items():
        (folder / f"{name}.yaml").write_text(f"task: {name}\n{task}{kind}")
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    results = tool.simple_evaluate(
        Model(), tasks=list(kinds), task_manager=manager, log_samples=True, bootstrap_iters=0
    )
    tracker = EvaluationTracker(output_path=str(folder / "logs"))
    tracker.general_config_tracker.log_experiment_args("made", "pretrained=org/made", None, None, False)
    tracker.save_results_aggregated(results=results, samples=results["samples"])
    for name in kinds:
        tracker.save_results_samples(task_name=name, samples=results["samples"][name])
        written = next(folder.rglob(f"samples_{name}_*.jsonl"))
        shutil.copy(written, HERE / f"lm_eval_{name}.jsonl")


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")]()
