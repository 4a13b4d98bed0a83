"""Scores of Langfuse: its export of the table of scores, or what its interface returns; also traces with their scores.

An export of traces or observations whose name begins with ``traces`` or ``observations`` beside it gives the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miscal.data.importers import logs
from miscal.data.importers.stated_confidences import By, Judged, Judgement, judged_log, text_of_value, value_of

FILES = logs.TABLES
BESIDE = ("traces", "observations")

_BY: dict[str, By] = {"EVAL": "judge", "ANNOTATION": "human", "API": "code"}


def read(path: Path) -> logs.Log:
    """Read scores: one row per trace, or observation, that a judge has scored."""
    rows = logs.rows_of(path)
    judgements = [
        Judgement(subject, str(row["name"]), by, _value(row))
        for row in _scores(rows)
        if row.get("name") and (subject := _subject(row))
        if (by := _BY.get(str(row.get("source")).upper())) is not None
    ]
    # what stands last counts: in the file itself, else of the trace, else of an observation
    judged = dict(_inputs([*logs.rows_beside(path, *reversed(BESIDE)), *rows]))
    expected = "scores of Langfuse: rows with traceId, name, value and source (ANNOTATION, API, EVAL)"
    return judged_log(path, "Langfuse", judgements, judged, expected)


def _scores(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield scores, and those inside traces."""
    for row in rows:
        if "source" in row:
            yield row
        trace = logs.dict_in(row, "trace") or row
        for score in logs.list_in(trace, "scores") or logs.list_in(row, "scores"):
            if isinstance(score, dict):
                yield {"traceId": trace.get("id"), **score}


def _subject(row: dict[str, Any]) -> str | None:
    """Return the trace, so that judgements of a trace and of one of its observations meet."""
    own = logs.get_in(row, "subject", "id") if logs.get_in(row, "subject", "kind") in ("trace", "observation") else None
    found = row.get("traceId") or logs.get_in(row, "subject", "traceId") or own
    return str(found) if found else None


def _value(row: dict[str, Any]) -> float | None:
    # of categories, the number is a place in a configuration that no export holds: the word counts
    if row.get("dataType") == "CATEGORICAL" or "value" not in row:
        return value_of(row.get("stringValue") or row.get("value"))
    return value_of(row["value"], row.get("stringValue"))


def _inputs(rows: list[dict[str, Any]]) -> Iterator[tuple[str, Judged]]:
    for row in rows:
        trace = logs.dict_in(row, "trace") or row
        name = trace.get("traceId") or trace.get("id")
        if name and "source" not in trace and "input" in trace:
            about = {"response": text_of_value(trace.get("output")), "model": trace.get("model")}
            metadata = logs.scalars({**about, **logs.dict_in(trace, "metadata")})
            yield str(name), (text_of_value(trace.get("input")), metadata)
