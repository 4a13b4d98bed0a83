"""Annotations of Phoenix: what ``get_span_annotations_dataframe`` of its client returns, saved as a table, or its JSON.

A table whose name begins with ``spans`` beside it (``get_spans_dataframe``) gives inputs, outputs and attributes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import Log, scalars
from miscal.data.importers.json_files import as_dict
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

LOOKED_FOR = f"tables of annotations ({', '.join(ENDINGS)})"

_BY: dict[str, By] = {"LLM": "judge", "HUMAN": "human", "CODE": "code"}
_INPUT, _OUTPUT = "attributes.input.value", "attributes.output.value"
_SPAN = ("span_id", "context.span_id")
_SHOWN = ("name", "span_kind", "attributes.llm.model_name")


def logs(folder: Path) -> list[Path]:
    """Find the annotations; tables of spans are read beside them."""
    return [path for path in table_files(folder) if not path.name.startswith("spans")]


def read(path: Path) -> Log:
    """Read annotations of spans: one row per span that a judge has judged.

    Raises
    ------
    UnusableLog
        If there are no annotations in the file, or none by a judge.
    """
    judgements = [
        Judgement(span, str(name), by, value_of(_result(row, "score"), _result(row, "label")))
        for row in rows_of(path)
        if (span := _span(row)) and (name := row.get("annotation_name") or row.get("name"))
        if (by := _BY.get(str(row.get("annotator_kind")).upper())) is not None
    ]
    refuse_unjudged(
        path,
        judgements,
        "annotations of Phoenix: rows with span_id, annotation_name and annotator_kind (LLM, CODE, HUMAN)",
    )
    return judged_log(path, "Phoenix", judgements, _spans(path), {})


def _span(row: dict[str, Any]) -> str | None:
    found = next((row[name] for name in _SPAN if row.get(name)), None)
    return None if found is None else str(found)


def _result(row: dict[str, Any], name: str) -> Any:
    return row.get(f"result.{name}", as_dict(row.get("result")).get(name))


def _spans(path: Path) -> dict[str, Judged]:
    found = {}
    for beside in sorted(path.parent.glob("spans*")):
        if beside.suffix.lower() not in ENDINGS:
            continue
        for row in rows_of(beside):
            if (span := _span(row)) is not None:
                about = {name.rpartition(".")[2]: row.get(name) for name in _SHOWN if name in row}
                found[span] = Judged(
                    text_of_value(row.get(_INPUT)), scalars({**about, "response": text_of_value(row.get(_OUTPUT))})
                )
    return found
