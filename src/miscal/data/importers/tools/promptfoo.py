"""Results of promptfoo: ``promptfoo eval -o results.json`` or ``results.jsonl``.

The confidences of an answer are what the model stated (in the metadata of the response, in an answer that is JSON, in
its text, or as the score of a metric called confidence), and the probability of its tokens, where the provider returns
log-probabilities. Where there are none, the scores of model-graded assertions and the ratings of people are read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from miscal.data.importers import logs
from miscal.data.importers.stated_confidences import (
    IN_TEXT,
    NO_NUMBER,
    Judgement,
    answers_log,
    confidence_of,
    in_text,
    judged_log,
    outcome_of,
    text_of_value,
    value_of,
)

FILES = ("*.json", "*.jsonl")

STATED, LIKELIHOOD, PER_TOKEN = "stated", "likelihood", "likelihood_per_token"
NONE = "there is neither a stated confidence that can be read nor a log-probability"
NOTE = (
    f"promptfoo: correct is success, that all assertions passed; {STATED} is what the model stated, {LIKELIHOOD} the "
    f"product of the probabilities of its tokens, {PER_TOKEN} their geometric mean"
)

_GRADED = (
    "llm-rubric", "model-graded", "g-eval", "factuality", "answer-relevance", "context-", "conversation-relevance",
)  # fmt: skip
_ERROR = 2
"""``failureReason`` of a test that ended in an error, in place of a failed assertion."""


def read(path: Path) -> logs.Log:
    """Read the results of one evaluation."""
    content = logs.whole_or_records(path)
    for _ in range(2):
        content = logs.dict_in(content).get("results", content)
    results = [content] if "success" in logs.dict_in(content) else logs.list_in(content)
    if not results or not all("success" in logs.dict_in(one) for one in results):
        raise logs.UnusableLog(
            f"{path} holds no results of promptfoo, which are objects with success: give the file that promptfoo eval "
            "-o results.json or results.jsonl wrote"
        )
    named = {f"{result.get('id') or at}/{at}": result for at, result in enumerate(results)}
    return answers_log(path, named.items(), _row, without=([NONE], lambda: _judged(path, named)), after=_several)


def _several(rows: list[logs.Row]) -> list[logs.Row]:
    """Give each row all confidences that any row has."""
    names = [name for name in (STATED, LIKELIHOOD, PER_TOKEN) if any(name in row.confidences for row in rows)]
    given = [{**row.confidences, **({STATED: row.confidence} if row.stated else {})} for row in rows]
    return [
        replace(row, confidences={name: own.get(name) for name in names}) for row, own in zip(rows, given, strict=True)
    ]


def _row(name: str, result: dict[str, Any]) -> logs.Row:
    response = logs.dict_in(result, "response")
    answer = response.get("output")
    if result.get("failureReason") == _ERROR or answer is None:
        raise logs.UnusableRow("the test ended in an error")
    log_probs = [logs.log_probability(one) for one in logs.list_in(response, "logProbs")]
    said = _said(result, response)
    given: dict[str, float | None] = {} if said is None else {STATED: said}
    if log_probs:
        total = math.fsum(log_probs)
        given |= {LIKELIHOOD: math.exp(total), PER_TOKEN: math.exp(total / len(log_probs))}
    confidence = next(iter(given.values()), None)
    if confidence is None:
        raise logs.UnusableRow(NONE)
    text = answer if isinstance(answer, str) else json.dumps(answer)
    own = {} if said is None else {IN_TEXT: in_text(text) is not None or "confidence" in _object(answer)}
    return logs.Row(
        id=name,
        text=_prompt(result),
        confidence=confidence,
        correct=outcome_of(result.get("success")),
        metadata={**_about(result), "response": text, **own},
        confidences=given,
        note=NOTE,
        stated=said is not None,
    )


def _said(result: dict[str, Any], response: dict[str, Any]) -> float | None:
    output = response.get("output")
    places = (response.get("metadata"), result.get("metadata"), result.get("namedScores"), _object(output))
    held = next((one["confidence"] for one in map(logs.dict_in, places) if "confidence" in one), None)
    if held is None:
        return in_text(output)
    if (found := confidence_of(held)) is None:
        raise logs.UnusableRow(NO_NUMBER)
    return found


def _object(answer: Any) -> dict[str, Any]:
    """Return an answer that is an object of JSON, also one written as text."""
    if isinstance(answer, str) and answer.lstrip().startswith("{"):
        try:
            return logs.dict_in(json.loads(answer))
        except (ValueError, RecursionError):
            return {}
    return logs.dict_in(answer)


def _prompt(result: dict[str, Any]) -> str | None:
    prompt = result.get("prompt")
    return text_of_value(logs.dict_in(prompt).get("raw", prompt))


def _about(result: dict[str, Any]) -> dict[str, Any]:
    model = logs.first_text(result.get("provider"), logs.get_in(result, "provider", "id"))
    return {
        "model": model,
        **logs.scalars(logs.dict_in(result, "vars")),
        **logs.scalars(logs.dict_in(result, "namedScores"), "confidence"),
    }


def _judged(path: Path, results: Mapping[str, dict[str, Any]]) -> logs.Log:
    judgements, judged = [], {}
    for name, result in results.items():
        about = logs.scalars({**_about(result), "response": logs.get_in(result, "response", "output")})
        judged[name] = _prompt(result), about
        for part in logs.list_in(result, "gradingResult", "componentResults"):
            kind = str(logs.get_in(part, "assertion", "type"))
            if kind == "human":
                judgements.append(Judgement(name, "rating", "human", value_of(logs.get_in(part, "pass"))))
            elif kind.removeprefix("not-").startswith(_GRADED):
                label = part["assertion"].get("metric") or kind
                judgements.append(Judgement(name, str(label), "judge", value_of(part.get("score"))))
    if not any(one.by == "judge" for one in judgements):
        raise logs.UnusableLog(
            f"{path} holds no confidence: no answer states one, and no provider returned log-probabilities. Ask for "
            "one in the prompt (Confidence: 85%), return it as metadata.confidence, or set logprobs: true for the "
            "provider"
        )
    return judged_log(path, "promptfoo", judgements, judged, "judgement")
