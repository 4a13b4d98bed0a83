"""Answers with a confidence, as the rows of a log: stated confidences on one scale, and suspicious certainty noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from miscal.base.errors import InputError
from miscal.data.importers.imported_rows import ImportedRow, Log, Sample, UnusableLog, UnusableRow, log_of, usable_rows
from miscal.data.importers.stated_confidences import in_text, outcome_of, shares_of

NO_NUMBER = "the stated confidence is no number from 0 to 100, or what stands beside the number leaves it open"
"""Why a row is left out that states a confidence which cannot be used."""

IN_TEXT = "confidence_in_text"
"""Column that tells whether the answer's own text states a confidence."""


def stated_row(
    name: str,
    text: str | None,
    confidence: float | None,
    outcome: Any,
    answer: Any,
    metadata: Mapping[str, Any],
    note: str,
    right: Callable[[Any], int] = outcome_of,
) -> ImportedRow:
    """Return the row of an answer whose confidence the model stated; None is one that cannot be read."""
    if confidence is None:
        raise UnusableRow(NO_NUMBER)
    own = {IN_TEXT: in_text(answer) is not None} if isinstance(answer, str) and answer else {}
    return ImportedRow(name, text, confidence, right(outcome), metadata={**metadata, **own}, note=note, stated=True)


def answers_log(
    path: Path,
    samples: Iterable[tuple[str, Sample]],
    row_of: Callable[[str, Sample], ImportedRow],
    *,
    notes: Callable[[Sequence[ImportedRow]], Iterable[str]] = lambda rows: (),
    without: tuple[Sequence[str], str] = ((), ""),
) -> Log:
    """Put the answers of a log into rows.

    ``without`` holds reasons why answers have no confidence, and what the log lacks if no row is left for one of them.
    """
    rows, left_out = usable_rows(samples, row_of)
    reasons, refusal = without
    if not rows and left_out.keys() & {*reasons}:
        raise UnusableLog(f"{path} holds no {refusal}")
    rows = scaled(path, rows)
    return log_of(path, rows, left_out, [*notes(rows), *certain(path, rows)])


def scaled(path: Path, rows: Sequence[ImportedRow]) -> list[ImportedRow]:
    """Turn the confidences that are as they were stated into probabilities, all on one scale."""
    try:
        shares = iter(shares_of([row.confidence for row in rows if row.stated]))
    except InputError as error:
        raise UnusableLog(f"{path}: {error}") from error
    return [replace(row, confidence=next(shares)) if row.stated else row for row in rows]


def certain(path: Path, rows: Sequence[ImportedRow]) -> list[str]:
    """Warn of certainty that nobody may have stated: 100 is also what judges write where an answer states nothing.

    Where the texts of the answers are in the log, the answers of 100 % that state none are counted, beside the share of
    100 % among the answers that do state one. Where no text of the log states any, confidences come from elsewhere, and
    the texts say nothing.
    """
    rows = [row for row in rows if row.stated]
    sure = [row for row in rows if row.confidence == 1.0]
    if not sure:
        return []
    note = f"{path.name}: {len(sure):,} of {len(rows):,} stated confidences are 100 %"
    own = [row for row in rows if row.metadata.get(IN_TEXT) is True]
    silent = [row for row in sure if row.metadata.get(IN_TEXT) is False]
    if own and silent:
        return [
            f"ALARM {note}, and the text of {len(silent):,} of them states none, so that they are most likely missing "
            f"values; of the answers that state one, {sum(row.confidence == 1.0 for row in own):,} of {len(own):,} are "
            f"at 100 %: leave them out with --where '{IN_TEXT} == true' in miscal discover"
        ]
    if len(own) == len(rows):
        return []
    return [
        f"{note}; the judges of HLE and BrowseComp write 100 where an answer states none, so that some of these may be "
        "missing values"
    ]
