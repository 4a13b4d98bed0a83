"""Details of lighteval (``--save-details``): ``details_TASK_DATE.parquet``.

The confidence is what the model stated, where a metric of the sample holds it (as in HLE) or the answer's text states
it; otherwise, of multiple choice, the softmax of the log-likelihoods of the choices at their largest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import (
    ImportedRow,
    LeftOut,
    Log,
    UnusableLog,
    UnusableRow,
    log_of,
    number,
    probabilities,
    scalars,
)
from miscal.data.importers.json_files import as_dict, as_list
from miscal.data.importers.stated_confidences import IN_TEXT, NO_NUMBER, as_shares, certain, in_text, outcome_of, stated
from miscal.data.importers.table_files import rows_of

LOOKED_FOR = "details_*.parquet"

_NAME = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
_OUTCOMES = ("exact_match", "em", "extractive_match", "accuracy", "acc", "pass@k:k=1")
"""Metrics that tell whether an answer in words is right, in the order of preference."""


def logs(folder: Path) -> list[Path]:
    """Find the details."""
    return sorted(folder.rglob(LOOKED_FOR))


def read(path: Path) -> Log:
    """Read the details of one task.

    Raises
    ------
    UnusableLog
        If it is no table of details, or no answer has a confidence.
    """
    table = rows_of(path)
    if not all({"doc", "metric", "model_response"} <= row.keys() for row in table):
        raise UnusableLog(
            f"{path} holds no details of lighteval, whose columns are doc, metric and model_response: give the file "
            "details_*.parquet that --save-details wrote"
        )
    named = _NAME.fullmatch(path.stem)
    origin = {"task": named["task"], "model": path.resolve().parent.parent.name} if named else {"task": path.stem}
    in_words, chosen, left_out = [], [], LeftOut()
    for at, row in enumerate(table):
        doc, metric, response = (as_dict(row[name]) for name in ("doc", "metric", "model_response"))
        name = str(doc.get("id") or at)
        with left_out.catch(name):
            if (said := _stated(metric, response)) is not None:
                in_words.append(_in_words(f"{at}/{name}", doc, response, said, origin))
            else:
                chosen.append(_chosen(f"{at}/{name}", doc, response, origin))
    if not in_words and not chosen and left_out.keys() == {NOTHING}:
        raise UnusableLog(
            f"{path} holds no confidence: its answers are text that states none. Ask for one in the prompt "
            "(Confidence: 85%), "
            "as lighteval's task hle does, or run a task of multiple choice"
        )
    in_words = as_shares(path, in_words)
    notes = [*(WORDS for _ in in_words[:1]), *(CHOICES for _ in chosen[:1]), *certain(path, in_words)]
    return log_of(path, [*in_words, *chosen], left_out, notes)


NOTHING = "there is neither a stated confidence that can be read nor two choices with log-probabilities"
WORDS = "lighteval: confidence is what the model stated, and correct what the metric says of the answer"
CHOICES = (
    "lighteval: confidence is the largest share of exp(log-likelihood) over the choices; correct tells whether that "
    "choice is the right one"
)


def _stated(metric: dict[str, Any], response: dict[str, Any]) -> tuple[Any, float | None] | None:
    """Return outcome and confidence of the first metric that holds both, or a metric that is 0 or 1 and the text's."""
    found = (stated(value, None) for value in metric.values() if isinstance(value, dict))
    held = next((one for one in found if one is not None), None)
    if held is not None:
        return held
    said = in_text(_text(response))
    outcome = next((metric[name] for name in _OUTCOMES if metric.get(name) is not None), None)
    return None if said is None else (outcome, said)


def _in_words(
    name: str, doc: dict[str, Any], response: dict[str, Any], said: tuple[Any, float | None], origin: dict[str, Any]
) -> ImportedRow:
    """Return a row whose confidence is as it was stated."""
    outcome, confidence = said
    if confidence is None:
        raise UnusableRow(NO_NUMBER)
    text = _text(response)
    own = {IN_TEXT: in_text(text) is not None} if text else {}
    choices, gold = as_list(doc.get("choices")), _golds(doc)
    target = choices[gold[0]] if gold and gold[0] < len(choices) else None
    metadata = {**origin, **scalars({"response": text, "target": target}), **_about(doc), **own}
    return ImportedRow(name, _query(doc), confidence, outcome_of(outcome), metadata=metadata)


def _chosen(name: str, doc: dict[str, Any], response: dict[str, Any], origin: dict[str, Any]) -> ImportedRow:
    choices = [str(one).strip() for one in as_list(doc.get("choices"))]
    values = [number(one) for one in as_list(response.get("logprobs"))]
    if len(values) < 2 or len(values) != len(choices):
        raise UnusableRow(NOTHING)
    shares = probabilities([_given(value) for value in values])
    predicted, golds = shares.index(max(shares)), _golds(doc)
    if not golds:
        raise UnusableRow("the right choice is not told")
    return ImportedRow(
        id=name,
        text=_query(doc),
        confidence=shares[predicted],
        correct=int(predicted in golds),
        predicted=predicted,
        choices=tuple(choices),
        choice_probs=tuple(shares),
        answer_index=golds[0] if len(golds) == 1 else None,
        metadata={**origin, **_about(doc)},
    )


def _given(value: float | None) -> float:
    if value is None:
        raise UnusableRow("a log-likelihood is not a number")
    return value


def _golds(doc: dict[str, Any]) -> list[int]:
    given = doc.get("gold_index")
    found: Sequence[Any] = given if isinstance(given, list) else [given]
    return [one for one in found if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 2**15]


def _query(doc: dict[str, Any]) -> str | None:
    specific = as_dict(doc.get("specific")).get("question")
    return next((one for one in (specific, doc.get("original_query"), doc.get("query")) if isinstance(one, str)), None)


def _about(doc: dict[str, Any]) -> dict[str, Any]:
    specific = as_dict(doc.get("specific"))
    return scalars({name: value for name, value in specific.items() if name != "question"})


def _text(response: dict[str, Any]) -> str | None:
    for name in ("text_post_processed", "text"):
        texts = as_list(response.get(name))
        if texts and isinstance(texts[0], str):
            return texts[0]
    return None
