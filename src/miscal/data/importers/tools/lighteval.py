"""Details of lighteval (``--save-details``): ``details_TASK_DATE.parquet``.

The confidence is what the model stated, where a metric of the sample holds it (as in HLE) or the answer's text states
it; otherwise, of multiple choice, the softmax of the log-likelihoods of the choices at their largest.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import (
    ImportedRow,
    Log,
    UnusableLog,
    UnusableRow,
    log_likelihoods,
    probabilities,
    scalars,
)
from miscal.data.importers.log_files import dict_in, first_text, get_in, list_in, rows_of
from miscal.data.importers.stated_confidences import answers_log, in_text, stated, stated_row

FILES = ("details_*.parquet",)

_NAME = re.compile(r"details_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)")
_OUTCOMES = ("exact_match", "em", "extractive_match", "accuracy", "acc", "pass@k:k=1")
"""Metrics that tell whether an answer in words is right, in the order of preference."""

NOTHING = "there is neither a stated confidence that can be read nor two choices with log-probabilities"
REFUSAL = (
    "confidence: its answers are text that states none. Ask for one in the prompt (Confidence: 85%), as lighteval's "
    "task hle does, or run a task of multiple choice"
)
WORDS = "lighteval: confidence is what the model stated, and correct what the metric says of the answer"
CHOICES = (
    "lighteval: confidence is the largest share of exp(log-likelihood) over the choices; correct tells whether that "
    "choice is the right one"
)


def read(path: Path) -> Log:
    """Read the details of one task."""
    table = rows_of(path)
    if not all({"doc", "metric", "model_response"} <= row.keys() for row in table):
        raise UnusableLog(
            f"{path} holds no details of lighteval, whose columns are doc, metric and model_response: give the file "
            "details_*.parquet that --save-details wrote"
        )
    named = _NAME.fullmatch(path.stem)
    origin = {"task": named["task"], "model": path.resolve().parent.parent.name} if named else {"task": path.stem}
    samples = ((f"{at}/{get_in(row['doc'], 'id') or at}", row) for at, row in enumerate(table))
    return answers_log(path, samples, lambda name, row: _row(name, row, origin), without=([NOTHING], REFUSAL))


def _row(name: str, row: dict[str, Any], origin: dict[str, Any]) -> ImportedRow:
    doc, specific = dict_in(row["doc"]), dict_in(row["doc"], "specific")
    text = first_text(specific.get("question"), doc.get("original_query"), doc.get("query"))
    choices, gold = list_in(doc, "choices"), doc.get("gold_index")
    golds = [
        one
        for one in (gold if isinstance(gold, list) else [gold])
        if isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 2**15
    ]
    response = row["model_response"]
    answer = first_text(get_in(response, "text_post_processed", 0), get_in(response, "text", 0))
    if (said := _stated(dict_in(row["metric"]), answer)) is not None:
        target = get_in(choices, golds[0]) if golds else None
        metadata = {**origin, **scalars({"response": answer, "target": target}), **scalars(specific, "question")}
        return stated_row(name, text, said[1], said[0], answer, metadata, WORDS)
    values = list_in(response, "logprobs")
    if len(values) < 2 or len(values) != len(choices):
        raise UnusableRow(NOTHING)
    shares = probabilities(log_likelihoods(values))
    predicted = shares.index(max(shares))
    if not golds:
        raise UnusableRow("the right choice is not told")
    return ImportedRow(
        id=name,
        text=text,
        confidence=shares[predicted],
        correct=int(predicted in golds),
        predicted=predicted,
        choices=tuple(str(one).strip() for one in choices),
        choice_probs=tuple(shares),
        answer_index=golds[0] if len(golds) == 1 else None,
        metadata={**origin, **scalars(specific, "question")},
        note=CHOICES,
    )


def _stated(metric: dict[str, Any], answer: str | None) -> tuple[Any, float | None] | None:
    """Return outcome and confidence of the first metric that holds both, or a metric that is 0 or 1 and the text's."""
    held = (found for value in metric.values() if (found := stated(value, None)) is not None)
    said = in_text(answer)
    outcome = next((metric[name] for name in _OUTCOMES if metric.get(name) is not None), None)
    return next(held, None if said is None else (outcome, said))
