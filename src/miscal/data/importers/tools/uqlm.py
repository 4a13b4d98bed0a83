"""Results of UQLM: ``UQResult.to_df()``, saved as a table, with a further column that says which responses are right.

Each scorer is a confidence of its own, and gets a column. Of a table without any of UQLM's scorers, every column of
numbers from 0 to 1 is one.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

from miscal.data.importers.imported_rows import ImportedRow, Log, UnusableLog, UnusableRow, number, scalars
from miscal.data.importers.log_files import TABLES, first_text, rows_of
from miscal.data.importers.stated_confidences import answers_log, outcome_of

FILES = TABLES

SCORERS = (
    "semantic_negentropy", "noncontradiction", "exact_match", "cosine_sim", "bert_score", "bleurt", "entailment",
    "semantic_sets_confidence", "min_probability", "sequence_probability", "normalized_probability",
    "min_token_negentropy", "mean_token_negentropy", "probability_margin", "semantic_density",
    "monte_carlo_probability", "consistency_and_confidence", "p_true", "ensemble_score", "semantic_density_value",
    "discrete_confidence_score", "tokenprob_confidence_score", "verbalized_confidence", "functional_equivalence_rate",
    "functional_negentropy", "functional_sets_confidence", "code_bleu",
)  # fmt: skip
"""Columns of UQLM 0.6 that hold a confidence; `to_df` takes an s off the end of a name."""

CORRECT = ("correct", "is_correct", "response_correct", "answer_correct", "correctnes", "correctness")
_JUDGE = re.compile(r"judge_\d+")


def read(path: Path) -> Log:
    """Read a table of results."""
    table = rows_of(path)
    columns = list(dict.fromkeys(name for row in table for name in row))
    scorers = [name for name in columns if name in SCORERS or _JUDGE.fullmatch(name)]
    scorers = scorers or [name for name in columns if name not in CORRECT and _all_shares(table, name)]
    if not scorers:
        raise UnusableLog(
            f"{path} is no result of UQLM: none of its columns holds a confidence between 0 and 1; "
            "save UQResult.to_df() by to_parquet, to_csv or to_json"
        )
    outcome = next((name for name in CORRECT if name in columns), None)
    if outcome is None:
        raise UnusableLog(
            f"{path} does not say which responses are right, since UQLM keeps that apart: add a column correct (0 or "
            "1) to UQResult.to_df() before it is saved"
        )
    samples = ((str(at), row) for at, row in enumerate(table))
    return answers_log(path, samples, lambda name, row: _row(name, row, scorers, outcome))


def _row(name: str, row: dict[str, Any], scorers: list[str], outcome: str) -> ImportedRow:
    given = {scorer: _confidence(row.get(scorer)) for scorer in scorers}
    confidence = next((value for value in given.values() if value is not None), None)
    if confidence is None:
        raise UnusableRow("no scorer has a value")
    return ImportedRow(
        id=name,
        text=first_text(row.get("prompt")),
        confidence=confidence,
        correct=outcome_of(row.get(outcome)),
        metadata=scalars({"response": row.get("response"), **scalars(row, *scorers, outcome, "prompt", "response")}),
        confidences=given,
        note=f"UQLM: each scorer is a confidence of its own; correct is column {outcome}",
    )


def _all_shares(table: list[dict[str, Any]], name: str) -> bool:
    """Whether a column can be a confidence: floats from 0 to 1, or nothing."""
    given = [row[name] for row in table if row.get(name) is not None]
    return bool(given) and all(isinstance(value, float) and 0.0 <= value <= 1.0 for value in given)


def _confidence(value: Any) -> float | None:
    found = number(value)
    if found is None or math.isnan(found):
        return None
    # scores of similarity may exceed 1 by rounding
    if not -1e-6 <= found <= 1 + 1e-6:
        raise UnusableRow("a scorer's value is outside [0, 1]")
    return min(1.0, max(0.0, found))
