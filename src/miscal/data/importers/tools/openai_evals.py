"""Logs of openai/evals: JSON lines with events, of which those of type match say whether an answer is right.

The tool records no confidence. It is taken where the evaluation added one (``record_match(..., confidence=)`` or
``record_metrics(confidence=)``), or where the answer states one in words.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import ImportedRow, LeftOut, Log, UnusableLog, UnusableRow, log_of, scalars
from miscal.data.importers.json_files import as_dict, as_list, records
from miscal.data.importers.judgements import text_of_value
from miscal.data.importers.stated_confidences import (
    IN_TEXT,
    NO_NUMBER,
    as_shares,
    certain,
    confidence_of,
    in_text,
    outcome_of,
)

LOOKED_FOR = "*.jsonl"

_USED = ("correct", "expected", "picked", "sampled", "options", "confidence", "prompt")


def logs(folder: Path) -> list[Path]:
    """Find the logs."""
    return sorted(folder.rglob("*.jsonl"))


def read(path: Path) -> Log:
    """Read one log.

    Raises
    ------
    UnusableLog
        If it has no events of type match, or no answer has a confidence.
    """
    events = [one for one in records(path) if isinstance(one, dict)]
    spec = next((as_dict(one["spec"]) for one in events if "spec" in one), {})
    origin = {"task": spec.get("eval_name"), "model": next(iter(as_list(spec.get("completion_fns"))), None)}
    of_sample: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for event in events:
        if event.get("sample_id") is not None:
            # of events of one type the last counts: a retry
            of_sample[str(event["sample_id"])][str(event.get("type"))] = as_dict(event.get("data"))
    matched = {name: own for name, own in of_sample.items() if "match" in own}
    if not matched:
        raise UnusableLog(
            f"{path} has no events of type match, which openai/evals writes where an answer is right or wrong"
        )
    rows, left_out = [], LeftOut()
    for name, own in matched.items():
        with left_out.catch(name):
            rows.append(_row(name, own, origin))
    if not rows and NONE in left_out:
        raise UnusableLog(
            f"{path} holds no confidence, since openai/evals records none: ask for one in the prompt "
            "(Confidence: 85%), "
            "or add it in the evaluation by record_match(..., confidence=)"
        )
    rows = as_shares(path, rows)
    notes = ["openai/evals: confidence is what the model stated, and correct is what the event match says"]
    return log_of(path, rows, left_out, [*notes, *certain(path, rows)])


NONE = "there is no confidence, or none that can be read"


def _row(name: str, own: dict[str, dict[str, Any]], origin: dict[str, Any]) -> ImportedRow:
    match, sampling = own["match"], own.get("sampling", {})
    answer = text_of_value(match.get("sampled", sampling.get("sampled")))
    said = next((one["confidence"] for one in (match, own.get("metrics", {})) if "confidence" in one), None)
    confidence = in_text(answer) if said is None else confidence_of(said)
    if confidence is None:
        raise UnusableRow(NONE if said is None else NO_NUMBER)
    return ImportedRow(
        id=name,
        text=text_of_value(match.get("prompt", sampling.get("prompt"))),
        confidence=confidence,
        correct=outcome_of(match.get("correct")),
        metadata={
            **origin,
            **scalars({"response": answer, "target": text_of_value(match.get("expected"))}),
            **scalars({key: value for key, value in match.items() if key not in _USED}),
            **({IN_TEXT: in_text(answer) is not None} if answer else {}),
        },
    )
