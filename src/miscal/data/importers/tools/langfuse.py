"""Scores of Langfuse: its export of the table of scores, or what its interface returns; also traces with their scores.

An export of traces or observations whose name begins with ``traces`` or ``observations`` beside it gives the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import Log, scalars
from miscal.data.importers.json_files import as_dict, as_list
from miscal.data.importers.judgements import (
    By,
    Judged,
    Judgement,
    judged_log,
    refuse_unjudged,
    text_of_value,
    value_of,
)
from miscal.data.importers.table_files import ENDINGS, rows_of, table_files

LOOKED_FOR = f"tables of scores ({', '.join(ENDINGS)})"

_BY: dict[str, By] = {"EVAL": "judge", "ANNOTATION": "human", "API": "code"}
_BESIDE = ("traces", "observations")


def logs(folder: Path) -> list[Path]:
    """Find the scores; traces and observations are read beside them."""
    return [path for path in table_files(folder) if not path.name.startswith(_BESIDE)]


def read(path: Path) -> Log:
    """Read scores: one row per trace, or observation, that a judge has scored.

    Raises
    ------
    UnusableLog
        If there are no scores in the file, or none by a judge.
    """
    rows = rows_of(path)
    judgements = [
        Judgement(subject, str(row["name"]), by, _value(row))
        for row in _scores(rows)
        if row.get("name") and (subject := _subject(row))
        if (by := _BY.get(str(row.get("source")).upper())) is not None
    ]
    refuse_unjudged(
        path, judgements, "scores of Langfuse: rows with traceId, name, value and source (ANNOTATION, API, EVAL)"
    )
    return judged_log(path, "Langfuse", judgements, {**_traces(path), **_inputs(rows)}, {})


def _scores(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield scores, and those inside traces."""
    for row in rows:
        if "source" in row:
            yield row
        trace = as_dict(row.get("trace")) or row
        for score in as_list(trace.get("scores")) or as_list(row.get("scores")):
            if isinstance(score, dict):
                yield {"traceId": trace.get("id"), **score}


def _subject(row: dict[str, Any]) -> str | None:
    """Return the trace, so that judgements of a trace and of one of its observations meet."""
    about = as_dict(row.get("subject"))
    own = about.get("id") if about.get("kind") in ("trace", "observation") else None
    found = row.get("traceId") or about.get("traceId") or own
    return str(found) if found else None


def _value(row: dict[str, Any]) -> float | None:
    # of categories, the number is a place in a configuration that no export holds: the word counts
    words = row.get("dataType") == "CATEGORICAL" or "value" not in row
    return (
        value_of(row.get("stringValue") or row.get("value"))
        if words
        else value_of(row["value"], row.get("stringValue"))
    )


def _traces(path: Path) -> dict[str, Judged]:
    places = [one for name in _BESIDE for one in sorted(path.parent.glob(f"{name}*"))]
    found: dict[str, Judged] = {}
    for beside in places:
        if beside.suffix.lower() in ENDINGS:
            found = {**_inputs(rows_of(beside)), **found}
    return found


def _inputs(rows: list[dict[str, Any]]) -> dict[str, Judged]:
    found = {}
    for row in rows:
        trace = as_dict(row.get("trace")) or row
        name = trace.get("traceId") or trace.get("id")
        if name and "source" not in trace and "input" in trace:
            about = {"response": text_of_value(trace.get("output")), "model": trace.get("model")}
            found[str(name)] = Judged(
                text_of_value(trace.get("input")), scalars({**about, **as_dict(trace.get("metadata"))})
            )
    return found
