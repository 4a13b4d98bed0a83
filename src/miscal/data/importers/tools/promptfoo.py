"""Results of promptfoo: ``promptfoo eval -o results.json`` or ``results.jsonl``.

The confidences of an answer are what the model stated (in the metadata of the response, in an answer that is JSON, in
its text, or as the score of a metric called confidence), and the probability of its tokens, where the provider returns
log-probabilities. Where there are none, the scores of model-graded assertions and the ratings of people are read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError
from miscal.data.importers.imported_rows import (
    ImportedRow,
    LeftOut,
    Log,
    UnusableLog,
    UnusableRow,
    log_of,
    number,
    scalars,
)
from miscal.data.importers.json_files import as_dict, as_list, records, whole
from miscal.data.importers.judgements import Judged, Judgement, judged_log, text_of_value, value_of
from miscal.data.importers.stated_confidences import (
    IN_TEXT,
    NO_NUMBER,
    certain,
    confidence_of,
    in_text,
    outcome_of,
    shares_of,
)

LOOKED_FOR = "*.json or *.jsonl"

STATED, LIKELIHOOD, PER_TOKEN = "stated", "likelihood", "likelihood_per_token"
_GRADED = (
    "llm-rubric",
    "model-graded",
    "g-eval",
    "factuality",
    "answer-relevance",
    "context-",
    "conversation-relevance",
)
_ERROR = 2
"""``failureReason`` of a test that ended in an error, in place of a failed assertion."""


def logs(folder: Path) -> list[Path]:
    """Find the results."""
    return sorted(path for path in folder.rglob("*") if path.suffix in (".json", ".jsonl") and path.is_file())


def read(path: Path) -> Log:
    """Read the results of one evaluation.

    Raises
    ------
    UnusableLog
        If it holds no results, or neither confidences nor scores of a judge.
    """
    results, left_out, rows = _results(path), LeftOut(), []
    for at, result in enumerate(results):
        name = str(result.get("id") or at)
        with left_out.catch(name):
            rows.append(_row(f"{name}/{at}", result))
    if not rows and NONE in left_out:
        return _judged(path, results)
    rows = _scaled(path, rows)
    sure = [
        replace(row, confidence=row.confidences[STATED] or 0.0)
        for row in rows
        if row.confidences.get(STATED) is not None
    ]
    return log_of(path, rows, left_out, [NOTE, *certain(path, sure)])


NONE = "there is neither a stated confidence that can be read nor a log-probability"
NOTE = (
    f"promptfoo: correct is success, that all assertions passed; {STATED} is what the model stated, {LIKELIHOOD} the "
    f"product of the probabilities of its tokens, {PER_TOKEN} their geometric mean"
)


def _results(path: Path) -> list[dict[str, Any]]:
    try:
        content = whole(path)
    except InputError:
        content = records(path)
    inner = as_dict(content).get("results", content)
    inner = as_dict(inner).get("results", inner)
    found = [inner] if isinstance(inner, dict) and "success" in inner else as_list(inner)
    if not found or not all(isinstance(one, dict) and "success" in one for one in found):
        raise UnusableLog(
            f"{path} holds no results of promptfoo, which are objects with success: give the file that promptfoo eval "
            "-o results.json or results.jsonl wrote"
        )
    return found


def _row(name: str, result: dict[str, Any]) -> ImportedRow:
    """Return a row whose stated confidence is as it was written, and None where there is none."""
    response = as_dict(result.get("response"))
    answer = response.get("output")
    if result.get("failureReason") == _ERROR or answer is None:
        raise UnusableRow("the test ended in an error")
    log_probs = _log_probs(response)
    if (said := _said(result, response)) is None and not log_probs:
        raise UnusableRow(NONE)
    given: dict[str, float | None] = {} if said is None else {STATED: said}
    if log_probs:
        total = math.fsum(log_probs)
        given |= {LIKELIHOOD: math.exp(total), PER_TOKEN: math.exp(total / len(log_probs))}
    text = answer if isinstance(answer, str) else json.dumps(answer)
    own = {} if said is None else {IN_TEXT: in_text(text) is not None or "confidence" in _object(answer)}
    return ImportedRow(
        id=name,
        text=_prompt(result),
        confidence=0.0,
        correct=outcome_of(result.get("success")),
        metadata={**_about(result), "response": text, **own},
        confidences=given,
    )


def _log_probs(response: dict[str, Any]) -> list[float]:
    given = [number(one) for one in as_list(response.get("logProbs"))]
    if any(one is None or not one <= 1e-3 for one in given):  # NaN too
        raise UnusableRow("a log-probability is not a number of at most 0")
    return [min(0.0, one) for one in given if one is not None]


def _said(result: dict[str, Any], response: dict[str, Any]) -> float | None:
    places = (
        response.get("metadata"),
        result.get("metadata"),
        result.get("namedScores"),
        _object(response.get("output")),
    )
    held = next((as_dict(one)["confidence"] for one in places if "confidence" in as_dict(one)), None)
    if held is None:
        return in_text(response.get("output"))
    if (found := confidence_of(held)) is None:
        raise UnusableRow(NO_NUMBER)
    return found


def _object(answer: Any) -> dict[str, Any]:
    """Return an answer that is an object of JSON, also one written as text."""
    if isinstance(answer, str) and answer.lstrip().startswith("{"):
        try:
            return as_dict(json.loads(answer))
        except (ValueError, RecursionError):
            return {}
    return as_dict(answer)


def _scaled(path: Path, rows: Sequence[ImportedRow]) -> list[ImportedRow]:
    """Turn stated confidences into probabilities; every row gets the same confidences, in one order."""
    said = [value for row in rows if (value := row.confidences.get(STATED)) is not None]
    try:
        shares = iter(shares_of(said))
    except InputError as error:
        raise UnusableLog(f"{path}: {error}") from error
    names = [name for name in (STATED, LIKELIHOOD, PER_TOKEN) if any(name in row.confidences for row in rows)]
    scaled = []
    for row in rows:
        own = {name: row.confidences.get(name) for name in names}
        if own.get(STATED) is not None:
            own[STATED] = next(shares)
        scaled.append(replace(row, confidences=own, confidence=next(one for one in own.values() if one is not None)))
    return scaled


def _prompt(result: dict[str, Any]) -> str | None:
    prompt = result.get("prompt")
    return text_of_value(as_dict(prompt).get("raw", prompt))


def _about(result: dict[str, Any]) -> dict[str, Any]:
    provider = result.get("provider")
    model = provider if isinstance(provider, str) else as_dict(provider).get("id")
    scores = {name: value for name, value in as_dict(result.get("namedScores")).items() if name != "confidence"}
    return {
        "model": model if isinstance(model, str) else None,
        **scalars(as_dict(result.get("vars"))),
        **scalars(scores),
    }


def _judged(path: Path, results: Sequence[dict[str, Any]]) -> Log:
    judgements, judged = [], {}
    for at, result in enumerate(results):
        name = f"{result.get('id') or at}/{at}"
        judged[name] = Judged(
            _prompt(result), scalars({**_about(result), "response": as_dict(result.get("response")).get("output")})
        )
        for part in as_list(as_dict(result.get("gradingResult")).get("componentResults")):
            kind = str(as_dict(as_dict(part).get("assertion")).get("type"))
            if kind == "human":
                judgements.append(Judgement(name, "rating", "human", value_of(as_dict(part).get("pass"))))
            elif kind.removeprefix("not-").startswith(_GRADED):
                label = as_dict(part["assertion"]).get("metric") or kind
                judgements.append(Judgement(name, str(label), "judge", value_of(part.get("score"))))
    if not any(one.by == "judge" for one in judgements):
        raise UnusableLog(
            f"{path} holds no confidence: no answer states one, and no provider returned log-probabilities. "
            "Ask for one "
            "in the prompt (Confidence: 85%), return it as metadata.confidence, or set logprobs: true for the provider"
        )
    return judged_log(path, "promptfoo", judgements, judged, {})
