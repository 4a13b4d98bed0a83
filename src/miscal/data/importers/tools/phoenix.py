"""Annotations of Phoenix: what ``get_span_annotations_dataframe`` of its client returns, saved as a table, or its JSON.

A table whose name begins with ``spans`` beside it (``get_spans_dataframe``) gives inputs, outputs and attributes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miscal.data.importers import logs
from miscal.data.importers.stated_confidences import By, Judgement, judged_log, text_of_value, value_of

FILES = logs.TABLES
BESIDE = ("spans",)

_BY: dict[str, By] = {"LLM": "judge", "HUMAN": "human", "CODE": "code"}
_SHOWN = ("name", "span_kind", "attributes.llm.model_name")


def read(path: Path) -> logs.Log:
    """Read annotations of spans: one row per span that a judge has judged."""
    judgements = [
        Judgement(span, str(name), by, value_of(_result(row, "score"), _result(row, "label")))
        for row in logs.rows_of(path)
        if (span := _span(row)) and (name := row.get("annotation_name") or row.get("name"))
        if (by := _BY.get(str(row.get("annotator_kind")).upper())) is not None
    ]
    judged = {}
    for row in logs.rows_beside(path, *BESIDE):
        if span := _span(row):
            about = {name.rpartition(".")[2]: row.get(name) for name in _SHOWN if name in row}
            response = text_of_value(row.get("attributes.output.value"))
            text = text_of_value(row.get("attributes.input.value"))
            judged[span] = text, logs.scalars({**about, "response": response})
    expected = "annotations of Phoenix: rows with span_id, annotation_name and annotator_kind (LLM, CODE, HUMAN)"
    return judged_log(path, "Phoenix", judgements, judged, expected)


def _span(row: dict[str, Any]) -> str:
    return str(row.get("span_id") or row.get("context.span_id") or "")


def _result(row: dict[str, Any], name: str) -> Any:
    return row.get(f"result.{name}", logs.get_in(row, "result", name))
