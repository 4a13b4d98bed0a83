"""Groups over the models of a data set: the table ``groups`` as a matrix, and ``shared_findings`` with their models."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import read_condition
from miscal.findings.ledger import value_words
from miscal.findings.residuals import holm
from miscal.findings.shared_findings import SHARED
from miscal.report.texts import short

Cell = dict[str, Any]
"""A row of the table ``groups``."""


@dataclass(frozen=True)
class GroupLine:
    """A row of the matrix: a value of a column, with its row of the table ``groups`` under each model, or None.

    `finding` is the number of the shared finding that it is, in the table ``shared_findings``.
    """

    column: str
    value: str
    cells: tuple[Cell | None, ...]
    finding: int | None = None

    @property
    def marked(self) -> tuple[Cell, ...]:
        """Cells that hold after adjustment."""
        return tuple(one for one in self.cells if one is not None and holds(one))

    @property
    def shared(self) -> bool:
        """Whether all models together err there, by the ledger over all models."""
        return self.finding is not None

    def name(self, longest: int) -> str:
        """Name the group by its column and value.

        >>> GroupLine("subject", "law", ()).name(40)
        'subject = law'
        """
        return f"{short(self.column, 30)} = {short(self.value, longest)}"


@dataclass(frozen=True)
class GroupMatrix:
    """Groups by models on one data set under one method; models in the order of the plan.

    Of the lines shared findings come first; then what is marked for most models.
    """

    dataset: str
    method: str
    models: tuple[str, ...]
    lines: tuple[GroupLine, ...]


def holds(cell: Cell) -> bool:
    """Whether a group differs from rows of equal confidence after adjustment over all cells."""
    return cell["p_adjusted"] is not None and cell["p_adjusted"] <= SIGNIFICANCE


def adjust(groups: pl.DataFrame) -> pl.DataFrame:
    """Fill in ``p_adjusted``: Holm (1979) over all cells of one method that have a p-value, whatever their data set.

    >>> table = pl.DataFrame({"method": ["auto"] * 3, "p_value": [0.01, 0.04, None], "p_adjusted": [None] * 3})
    >>> adjust(table)["p_adjusted"].to_list()
    [0.02, 0.04, None]
    """
    values = np.full(groups.height, np.nan)
    p_value, method = groups["p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy(), groups["method"].to_numpy()
    for one in dict.fromkeys(method):
        tested = (method == one) & ~np.isnan(p_value)
        values[tested] = holm(p_value[tested])
    return groups.with_columns(pl.Series("p_adjusted", values, pl.Float64).fill_nan(None))


def matrices(groups: pl.DataFrame, shared: pl.DataFrame) -> list[GroupMatrix]:
    """Lay out the tables ``groups`` and ``shared_findings``: a matrix for each data set and method."""
    findings = {
        (one.finding["dataset"], one.finding["method"], *one.value): one.finding["finding"]
        for one in shared_lines(shared)
        if one.shared and one.value is not None
    }
    found = []
    for (dataset, method), some in groups.group_by("dataset", "method", maintain_order=True):
        models = tuple(dict.fromkeys(some["model"].to_list()))
        cells: dict[tuple[str, str], dict[str, Cell]] = {}
        for row in some.iter_rows(named=True):
            cells.setdefault((row["column"], row["value"]), {})[row["model"]] = row
        lines = [
            GroupLine(*key, tuple(own.get(model) for model in models), findings.get((dataset, method, *key)))
            for key, own in cells.items()
        ]
        found.append(GroupMatrix(str(dataset), str(method), models, tuple(sorted(lines, key=_rank))))
    return found


def _rank(line: GroupLine) -> tuple[float, int, bool, float]:
    """Sort by the number of the shared finding, marks in the commoner direction, bins after texts, the mean score."""
    known = [one for one in line.cells if one is not None]
    signs = [np.sign(one["hidden"]) for one in line.marked]
    most = max((signs.count(sign) for sign in (-1, 1)), default=0)
    scores = [
        one["hidden"] / max(one["high"] - one["low"], 1e-9)
        for one in known
        if one["hidden"] is not None and one["low"] is not None
    ]
    mean = abs(float(np.mean(scores))) if scores else 0.0
    return line.finding or np.inf, -most, any(one["bin"] for one in known), -mean


@dataclass(frozen=True)
class SharedLine:
    """A group in which the models of a data set err together, or differ.

    `finding` is what all its rows of the table ``shared_findings`` have; `models` those rows whose model has rows
    enough to be measured, by rising effect.
    """

    finding: dict[str, Any]
    models: tuple[dict[str, Any], ...]

    @property
    def shared(self) -> bool:
        """Whether models err together there."""
        return self.finding["kind"] == SHARED

    @property
    def differs(self) -> bool:
        """Whether models differ there."""
        p_value = self.finding["p_difference_adjusted"]
        return p_value is not None and p_value <= SIGNIFICANCE

    @property
    def reported(self) -> tuple[float, float, float]:
        """How much more often its rows are right, with its interval: by itself, or given others if it needs them."""
        name = "beyond" if self.finding["given_others"] else "effect"
        return self.finding[name], self.finding[f"{name}_low"], self.finding[f"{name}_high"]

    @property
    def agreement(self) -> str:
        """How many models point where all together do."""
        agreeing = sum(np.sign(one["model_effect"]) == np.sign(self.reported[0]) for one in self.models)
        return f"{agreeing} of {len(self.models)} models"

    @property
    def value(self) -> tuple[str, str] | None:
        """Column and value, as the table ``groups`` has them; None where it is of several columns, or of a text."""
        condition = read_condition(json.loads(self.finding["condition"]))
        if len(condition.columns) != 1:
            return None
        return condition.columns[0], value_words(condition.columns[0], condition)


def shared_lines(table: pl.DataFrame) -> list[SharedLine]:
    """Put the rows of the table ``shared_findings`` together, in its order."""
    found = []
    for _, rows in table.group_by("dataset", "method", "finding", maintain_order=True):
        known = rows.drop_nulls("model_effect").sort("model_effect")
        found.append(SharedLine(rows.row(0, named=True), tuple(known.to_dicts())))
    return found
