"""The tables of the first page: every pair with what its owner looks for first, and who is first in each group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from miscal.report.formatting import brief, size
from miscal.study.answers.answer import listed
from miscal.study.answers.best import firsts
from miscal.study.answers.few import roughly
from miscal.study.answers.ranked import ranks
from miscal.study.measures.groups import LOG_LOSS
from miscal.study.measures.pairs import SOUGHT
from miscal.study.measures.rankings import CALIBRATION_COST, HIDDEN_COST
from miscal.study.pages.grid import Grid, GridCell, Heading, change, report_link, score, share, text, whole
from miscal.study.pages.study_grids import named, of_all_rows
from miscal.study.tables import LEARNED, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

_RANKED = (CALIBRATION_COST, HIDDEN_COST, LOG_LOSS)


def board_grid(tables: Tables, out: Path, words: StudyVocabulary) -> Grid:
    """List every pair with what its owner looks for first."""
    ranked = {(row["pair"], row["method"], row["measure"]): row for row in tables["rankings"].iter_rows(named=True)}
    rows = [
        [
            named(row["model"], report_link(out, row["pair"], row["method"])), named(row["dataset"]),
            whole(row["n_test"]), share(row["accuracy"]), share(row["confidence"]), score(row["smece"]),
            *(_ranked(ranked.get((row["pair"], row["method"], name))) for name in _RANKED),
            change(row["log_loss_saved"], row["log_loss_saved_low"], row["log_loss_saved_high"]),
            _detectable(row), whole(row["n_findings"]), named(row["finding"]),
        ]
        for row in tables["pairs"].filter(pl.col("geometry") == LEARNED).iter_rows(named=True)
    ]  # fmt: skip
    return Grid("All pairs", _columns(words), rows)


def _columns(words: StudyVocabulary) -> tuple[Heading, ...]:
    return (
        Heading("Model", number=False, hint="links to the report of the pair"),
        Heading("Data set", number=False),
        *of_all_rows(words),
        Heading(
            "Calibration cost",
            hint=f"log loss that a map of the {words.probability} alone saves, and its rank, where all answered",
        ),
        Heading("Hidden cost", hint="log loss that the correction saves beyond it, and its rank, where all answered"),
        Heading(
            "Log loss after", hint=f"log loss of the corrected {words.probabilities}, and its rank, where all answered"
        ),
        Heading("Log loss saved", hint="per row by the local correction, with its 95 % interval"),
        Heading(
            "Would be found",
            hint="hidden error of a tenth of the rows, in points, that is found in 80 % of cases, and the rows for 5",
        ),
        Heading("Findings", hint=f"groups that differ from rows of equal {words.probability}"),
        Heading("Strongest finding", number=False),
    )


def _ranked(row: dict[str, Any] | None) -> GridCell:
    if row is None:
        return score(None)
    cell = score(row["value"])
    return GridCell(cell.text, cell.key, aside=f"rank {ranks(row['best_rank'], row['worst_rank'])}")


def _detectable(row: dict[str, Any]) -> GridCell:
    if row["detectable"] is None:
        return score(None)
    aside = f"{brief(SOUGHT)} at {roughly(row['rows_for_5_points'])} rows"
    return GridCell(size(row["detectable"]), row["detectable"], aside=aside)


def firsts_grid(tables: Tables, method: str) -> Grid | None:
    """List who is first in each group; None where no group has rows enough of two models."""
    first = firsts(of_method(tables["group_rankings"], method))
    if first.is_empty():
        return None
    columns = (
        Heading("Group", number=False),
        Heading("Data set", number=False),
        Heading("First", number=False, hint="the smallest difference"),
        Heading("Tied with", number=False, hint="models that no other is shown to be ahead of"),
        Heading("Models", hint="with at least 20 rows in the group"),
    )
    rows = [
        [
            named(f"{row['column']} = {row['value']}"), named(row["dataset"]), named(row["first"]),
            text("nobody: it is ahead of all" if row["clear"] else listed(row["tied"]) if row["tied"] else "not shown"),
            whole(row["n_models"]),
        ]
        for row in first.iter_rows(named=True)
    ]  # fmt: skip
    return Grid("First in each group", columns, rows)
