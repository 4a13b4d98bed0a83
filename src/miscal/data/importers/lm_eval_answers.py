"""Samples of lm-evaluation-harness whose answers are generated text (output_type generate_until)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import ImportedRow, LeftOut, Log, UnusableLog, UnusableRow, log_of, scalars
from miscal.data.importers.json_files import as_list
from miscal.data.importers.stated_confidences import (
    IN_TEXT,
    NO_NUMBER,
    as_shares,
    certain,
    confidence_of,
    in_text,
    outcome_of,
)

OUTCOMES = ("exact_match", "em", "acc", "accuracy", "correct", "is_correct")
"""Metrics that tell whether a generated answer is right, in the order of preference."""

NONE = "the answer states no confidence, or none that can be read"


def generated(
    path: Path,
    samples: Sequence[Any],
    origin: Mapping[str, Any],
    asked: Callable[[dict[str, Any]], tuple[dict[str, Any], str | None]],
) -> Log:
    """Read the samples of a task whose answers are text.

    The confidence is a metric called confidence, or what the text of the answer states, as in "Confidence: 85%".

    Parameters
    ----------
    path : Path
    samples : sequence of dict
    origin : mapping
        Task and model.
    asked : callable
        Returns the document of a sample, and which of its fields is the question.

    Raises
    ------
    UnusableLog
        If no answer states a confidence.
    """
    rows, left_out, seen = [], LeftOut(), set()
    for sample in samples:
        name = str(sample["doc_id"])
        with left_out.catch(name):
            if name in seen:
                raise UnusableRow("the document occurred before (under another filter, or repeated)")
            seen.add(name)
            rows.append(_row(name, sample, origin, *asked(sample)))
    if not rows and NONE in left_out:
        raise UnusableLog(
            f"{path} holds no confidence: its answers are generated text that states none (output_type generate_until "
            "or loglikelihood_rolling). Ask for one in the prompt (Confidence: 85%), run a multiple_choice task, for "
            "instance leaderboard_mmlu_pro in place of mmlu_pro, or score the questions with miscal score"
        )
    rows = as_shares(path, rows)
    notes = ["lm-eval: confidence is what the model stated in its answer, and correct is the metric of the task"]
    return log_of(path, rows, left_out, [*notes, *certain(path, rows)])


def _row(
    name: str, sample: dict[str, Any], origin: Mapping[str, Any], doc: dict[str, Any], question: str | None
) -> ImportedRow:
    answer = _answer(sample)
    held = sample.get("confidence")
    confidence = in_text(answer) if held is None else confidence_of(held)
    if confidence is None:
        raise UnusableRow(NONE if held is None else NO_NUMBER)
    outcome = next((sample[one] for one in OUTCOMES if sample.get(one) is not None), None)
    return ImportedRow(
        id=name,
        text=None if question is None else doc[question],
        confidence=confidence,
        correct=outcome_of(outcome),
        metadata={
            **origin,
            **scalars({"response": answer, "target": sample.get("target")}),
            **scalars(doc, but=question),
            IN_TEXT: in_text(answer) is not None,
        },
    )


def _answer(sample: dict[str, Any]) -> str | None:
    """Return the text as it was generated: filters cut the confidence off."""
    for given in (sample.get("resps"), sample.get("filtered_resps")):
        while isinstance(given, list) and given:
            given = as_list(given)[0]
        if isinstance(given, str):
            return given
    return None
