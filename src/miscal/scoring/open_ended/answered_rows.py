"""The table of a run over open-ended questions: answers, verdicts and one column for each confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from miscal.scoring.open_ended.matching import is_accepted
from miscal.scoring.open_ended.response import Response
from miscal.scoring.open_ended.sources import SOURCES
from miscal.scoring.questions import Item

COLUMNS = ("id", "text", "confidence", "correct", "predicted", "answers")
"""Columns of every such table, before the confidences and the metadata of the source."""

EXACT, LATER = "exact", "later"
VERDICTS = (EXACT, LATER)


@dataclass(frozen=True, slots=True)
class AnsweredRows:
    """Rows that were answered, in the order of the questions.

    Attributes
    ----------
    items : tuple of Item
    responses : tuple of Response
        One per item.
    sources : tuple of str
        Names of the sources of confidence; the first is the column ``confidence``.
    verdict : {"exact", "later"}
        Whether answers are compared with the accepted ones, or no verdict is given.
    """

    items: tuple[Item, ...]
    responses: tuple[Response, ...]
    sources: tuple[str, ...]
    verdict: str = EXACT

    def verdicts(self) -> list[int | None]:
        """Return 1 for right, 0 for wrong, None where nobody has said what is right."""
        return [
            int(is_accepted(response.answer.text, item.choices)) if self.verdict == EXACT and item.choices else None
            for item, response in zip(self.items, self.responses, strict=True)
        ]

    def confidences(self) -> dict[str, list[float | None]]:
        """Return the columns of confidences, in the order of the sources."""
        named: dict[str, list[float | None]] = {}
        for source in (SOURCES[name] for name in self.sources):
            values = zip(*(source.confidences(response) for response in self.responses), strict=True)
            named |= {column: list(each) for column, each in zip(source.columns, values, strict=True)}
        return named

    def table(self) -> pl.DataFrame:
        """Return `COLUMNS`, the confidences, what the sources add, and the metadata, as a data frame."""
        confidences = self.confidences()
        columns: dict[str, list[Any]] = {
            "id": [item.id for item in self.items],
            "text": [item.text for item in self.items],
            "confidence": next(iter(confidences.values())),
            "correct": self.verdicts(),
            "predicted": [response.answer.text for response in self.responses],
            "answers": [list(item.choices) for item in self.items],
            **confidences,
        }
        for source in self.sources:
            for response in self.responses:
                for name, value in SOURCES[source].evidence(response).items():
                    columns.setdefault(name, []).append(value)
        columns |= self._metadata(set(columns))
        kinds = {name: pl.Float64() for name in ("confidence", *confidences)}
        return pl.DataFrame(
            columns, schema_overrides={"correct": pl.Int8(), "answers": pl.List(pl.String), **kinds}, strict=False
        )

    def _metadata(self, taken: set[str]) -> dict[str, list[Any]]:
        names = dict.fromkeys(name for item in self.items for name in item.metadata)
        return {
            f"source_{name}" if name in taken else name: [item.metadata.get(name) for item in self.items]
            for name in names
        }

    def manifest(self) -> dict[str, Any]:
        """Return what a manifest counts beside the scored rows."""
        missing = {name: values.count(None) for name, values in self.confidences().items() if None in values}
        return {
            "without_verdict": self.verdicts().count(None),
            "missing_confidences": missing,
            "empty_answers": sum(not response.answer.text for response in self.responses),
            "cut_answers": sum(not response.answer.ended for response in self.responses),
            "shortened_follow_ups": sum(response.cut > 0 for response in self.responses),
        }


def answered(
    items: Sequence[Item], responses: Mapping[int, str], sources: tuple[str, ...], verdict: str
) -> AnsweredRows:
    """Join the responses, JSON by row number, to their items."""
    kept = tuple(item for item in items if item.row in responses)
    return AnsweredRows(kept, tuple(Response.from_json(responses[item.row]) for item in kept), sources, verdict)
