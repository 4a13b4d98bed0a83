"""Samples of lm-evaluation-harness (``--log_samples``), of all versions since 0.4.0.

One line, or element of an array in 0.4.0 to 0.4.2, per document and filter; from 0.4.3 on numbers are texts and the
arguments are an object. Log-likelihoods are sums over the tokens of a choice, as the harness uses them.

The confidence is the softmax of the log-likelihoods at their largest, and ``correct`` is the harness's own ``acc``; a
task that has ``acc_norm`` alone is read by log-likelihoods divided by the length of the choice. Of generated text
(output_type generate_until) it is a metric called confidence, or what the answer states, as in "Confidence: 85%".
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.importers import logs
from miscal.data.importers.stated_confidences import answers_log, confidence_of, in_text, stated_row

FILES = ("samples_*.jsonl", "*.jsonl")

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
_QUESTIONS = ("question", "query", "problem", "goal", "sentence", "ctx", "input", "prompt", "text")
"""Fields of a document that hold the question alone, in the order of preference."""

METRICS = {"acc": None, "acc_norm": "characters", "acc_bytes": "bytes"}
"""Metrics that tell whether a choice is right, in the order of preference, and what each divides log-likelihoods by."""

OUTCOMES = ("exact_match", "em", "acc", "accuracy", "correct", "is_correct")
"""Metrics that tell whether a generated answer is right, in the order of preference."""

NONE = "the answer states no confidence, or none that can be read"
REFUSAL = (
    "confidence: its answers are generated text that states none (output_type generate_until or "
    "loglikelihood_rolling). Ask for one in the prompt (Confidence: 85%), run a multiple_choice task, for instance "
    "leaderboard_mmlu_pro in place of mmlu_pro, or score the questions with miscal score"
)
STATED = "lm-eval: confidence is what the model stated in its answer, and correct is the metric of the task"


def latest(paths: Sequence[Path]) -> list[Path]:
    """Of runs of one task into one folder, return the latest."""
    found: dict[tuple[Path, str], Path] = {}
    for path in paths:
        named = _NAME.fullmatch(path.stem)
        found[path.parent, named["task"] if named else path.stem] = path  # dates sort as texts
    return sorted(found.values())


def read(path: Path) -> logs.Log:
    """Read the samples of one task."""
    samples = logs.records(path)
    if not samples:
        raise logs.UnusableLog(f"{path} holds no samples")
    for at, sample in enumerate(samples):
        if not (isinstance(sample, dict) and "doc_id" in sample and isinstance(sample.get("filtered_resps"), list)):
            kind = logs.UnusableLog if at == 0 else CorruptFile
            raise kind(
                f"{path} is not a samples file of lm-eval: record {at} lacks doc_id or filtered_resps; give a file "
                "that --log_samples wrote"
            )
    answers = samples[0]["filtered_resps"]
    if _pairs(answers) and len(answers) < 2:
        raise logs.UnusableLog(
            f"{path} holds one continuation per document (output_type loglikelihood), and without other choices there "
            "is no confidence; run a multiple_choice task"
        )
    origin, metric = _origin(path), next((name for name in METRICS if name in samples[0]), None)
    first: dict[str, dict[str, Any]] = {}
    for sample in samples:
        first.setdefault(str(sample["doc_id"]), sample)
    asked = {name: _question(logs.dict_in(sample, "doc")) for name, sample in first.items()}

    def row(name: str, sample: dict[str, Any]) -> logs.Row:
        if sample is not first[name]:
            raise logs.UnusableRow("the document occurred before (under another filter, or repeated)")
        if _pairs(answers):
            return _chosen(name, sample, asked[name], origin, metric)
        return _generated(name, sample, asked[name], origin)

    def notes(rows: Sequence[logs.Row]) -> list[str]:
        n_prompts = sum(asked[row.id] is None for row in rows) if _pairs(answers) else 0
        known = "documents have no field known to hold the question, so text is the whole prompt"
        return [f"{path.name}: {n_prompts} {known}"] if n_prompts else []

    named = ((str(sample["doc_id"]), sample) for sample in samples)
    return answers_log(path, named, row, notes=notes, without=([NONE], REFUSAL))


def _pairs(answers: Any) -> bool:
    return bool(answers) and all(isinstance(one, list) and len(one) == 2 for one in answers)


def _origin(path: Path) -> dict[str, str | None]:
    """Task and model, from the names of files and folders and the results beside them."""
    named = _NAME.fullmatch(path.stem)
    if named is None:
        return {"task": path.stem, "model": None}
    results = path.with_name(f"results_{named['date']}.json")
    model = logs.get_in(logs.whole(results), "model_name") if results.is_file() else None
    return {"task": named["task"], "model": model or path.resolve().parent.name}


def _question(doc: dict[str, Any]) -> str | None:
    """Return the field that holds the question."""
    return next((name for name in _QUESTIONS if isinstance(doc.get(name), str) and doc[name].strip()), None)


# --- one of several choices ------------------------------------------------------------------------------------------


def _chosen(
    name: str, sample: dict[str, Any], asked: str | None, origin: dict[str, str | None], metric: str | None
) -> logs.Row:
    pairs = _arguments(sample)
    if not _pairs(sample["filtered_resps"]):
        raise logs.UnusableRow("the answers are not pairs of log-likelihood and is_greedy")
    values = logs.log_likelihoods([value for value, _ in sample["filtered_resps"]])
    half, continuations = len(pairs) // 2, [text for _, text in pairs]
    if "acc_mutual_info" in sample and len(values) % 2 == 0 and continuations[:half] == continuations[half:]:
        # the second half asks for the choices without the question
        values, pairs = values[:half], pairs[:half]
    if len(values) != len(pairs):
        raise logs.UnusableRow("the numbers of answers and of arguments differ")
    apart = len({context for context, _ in pairs}) > 1  # tasks that vary the context and keep the continuation
    choices = [(context if apart else text).strip() for context, text in pairs]
    unit = METRICS.get(metric or "")
    texts = [text.removeprefix(" ") for _, text in pairs]
    sized = [text.encode("utf-8", "surrogatepass") if unit == "bytes" else text for text in texts]
    lengths = [max(1, len(text)) if unit else 1 for text in sized]
    shares = logs.probabilities([value / length for value, length in zip(values, lengths, strict=True)])
    predicted = shares.index(max(shares))
    golds = _golds(sample.get("target"), choices)
    doc = logs.dict_in(sample, "doc")
    plain = "lm-eval: confidence is the largest share of exp(log-likelihood) over the choices"
    divided = f", each divided by the number of {unit} of its choice;" if unit else ","
    target = "tells whether that choice is the target, since no accuracy was logged"
    return logs.Row(
        id=name,
        text=pairs[0][0] if asked is None else doc[asked],
        confidence=shares[predicted],
        correct=_correct(sample, metric, predicted, golds),
        predicted=predicted,
        choices=tuple(choices),
        choice_probs=tuple(shares),
        candidate_mass=None if apart else min(1.0, math.fsum(math.exp(min(0.0, value)) for value in values)),
        answer_index=golds[0] if len(golds) == 1 else None,
        metadata=origin | logs.scalars({**doc, "prompt_hash": sample.get("prompt_hash")}, asked),
        note=f"{plain}{divided} correct {f'is {metric}' if metric else target}",
    )


def _arguments(sample: dict[str, Any]) -> list[tuple[str, str]]:
    """Return context and continuation of each answer."""
    given = sample.get("arguments")
    if isinstance(given, dict):
        given = [(one.get("arg_0"), one.get("arg_1")) for one in given.values() if isinstance(one, dict)]
    try:
        pairs = [(str(context), str(continuation)) for context, continuation in given or []]
    except (TypeError, ValueError):
        raise logs.UnusableRow("the arguments are not pairs of context and continuation") from None
    if not pairs:
        raise logs.UnusableRow("there are no arguments")
    return pairs


def _correct(sample: dict[str, Any], metric: str | None, predicted: int, golds: Sequence[int]) -> int:
    if metric is None:
        if not golds:
            raise logs.UnusableRow("there is no accuracy, and the target is none of the choices")
        return int(predicted in golds)
    value = sample.get(metric)
    value = float(value) if isinstance(value, bool) else logs.number(value)  # raw truth values in the oldest versions
    if value not in (0.0, 1.0):
        raise logs.UnusableRow(f"{metric} is neither 0 nor 1")
    return int(value)


def _golds(target: Any, choices: list[str]) -> list[int]:
    """Positions of the right choices: a position, a choice or a list of them; empty if that cannot be known."""
    if isinstance(target, str) and target.startswith("["):
        try:
            target = ast.literal_eval(target)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return []
    found = [_gold(str(one).strip(), choices) for one in (target if isinstance(target, list) else [target])]
    return [one for one in found if one is not None]


def _gold(text: str, choices: list[str]) -> int | None:
    # isdigit alone lets superscripts pass, which int() refuses
    if text.isascii() and text.isdigit() and len(text) < 6 and int(text) < len(choices):
        return int(text)
    return choices.index(text) if text in choices else None


# --- generated text --------------------------------------------------------------------------------------------------


def _generated(name: str, sample: dict[str, Any], asked: str | None, origin: dict[str, str | None]) -> logs.Row:
    # the text as it was generated: filters cut the confidence off
    answer = next((text for one in ("resps", "filtered_resps") if (text := _text(sample.get(one))) is not None), None)
    held = sample.get("confidence")
    confidence = in_text(answer) if held is None else confidence_of(held)
    if confidence is None and held is None:
        raise logs.UnusableRow(NONE)
    doc = logs.dict_in(sample, "doc")
    outcome = next((sample[one] for one in OUTCOMES if sample.get(one) is not None), None)
    about = {**origin, **logs.scalars({"response": answer, "target": sample.get("target")}), **logs.scalars(doc, asked)}
    text = None if asked is None else doc[asked]
    return stated_row(name, text, confidence, outcome, answer, about, STATED)


def _text(answers: Any) -> str | None:
    while isinstance(answers, list) and answers:
        answers = answers[0]
    return answers if isinstance(answers, str) else None
