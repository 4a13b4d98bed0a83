"""Models by groups: the cells of the table ``groups`` adjusted as one family, and laid out as a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.residuals import holm
from miscal.study.shared_table import shared_lines

Cell = dict[str, Any]
"""A row of the table ``groups``."""


@dataclass(frozen=True)
class GroupLine:
    """A row of the matrix.

    Attributes
    ----------
    column, value : str
        Which group.
    cells : tuple of dict or None
        Its row of the table ``groups`` under each model; None where the model has none.
    finding : int or None
        Number of the shared finding that it is, in the table ``shared_findings``.
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


@dataclass(frozen=True)
class GroupMatrix:
    """Groups by models on one data set under one method.

    Attributes
    ----------
    dataset, method : str
    models : tuple of str
        Its columns, in the order of the plan.
    lines : tuple of GroupLine
        Shared findings come first; then what is marked for most models.
    """

    dataset: str
    method: str
    models: tuple[str, ...]
    lines: tuple[GroupLine, ...]


def holds(cell: Cell) -> bool:
    """Whether a group differs from rows of equal confidence after adjustment over all cells."""
    return cell["p_adjusted"] is not None and cell["p_adjusted"] <= SIGNIFICANCE


def adjusted(groups: pl.DataFrame) -> pl.DataFrame:
    """Fill in ``p_adjusted``: Holm (1979) over all cells of one method that have a p-value, whatever their data set.

    Parameters
    ----------
    groups : polars.DataFrame
        The table ``groups``.

    Returns
    -------
    polars.DataFrame
        The same rows, in the same order. Groups that were too small to be tested have none.

    Examples
    --------
    >>> table = pl.DataFrame({"method": ["auto"] * 3, "p_value": [0.01, 0.04, None], "p_adjusted": [None] * 3})
    >>> adjusted(table)["p_adjusted"].to_list()
    [0.02, 0.04, None]
    """
    values = np.full(groups.height, np.nan)
    p_value, method = groups["p_value"].cast(pl.Float64).fill_null(np.nan).to_numpy(), groups["method"].to_numpy()
    for one in dict.fromkeys(method):
        tested = (method == one) & ~np.isnan(p_value)
        values[tested] = holm(p_value[tested])
    return groups.with_columns(pl.Series("p_adjusted", values, pl.Float64).fill_nan(None))


def matrices(groups: pl.DataFrame, shared: pl.DataFrame | None = None) -> list[GroupMatrix]:
    """Lay out the table ``groups``: a matrix for each data set and method.

    Parameters
    ----------
    groups : polars.DataFrame
    shared : polars.DataFrame, optional
        The table ``shared_findings``.
    """
    found, findings = [], _shared_values(shared)
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


def _shared_values(shared: pl.DataFrame | None) -> dict[tuple, int]:
    """Find the numbers of shared findings that are a value of a column, by data set, method, column and value."""
    lines = [] if shared is None else shared_lines(shared)
    return {
        (one.finding["dataset"], one.finding["method"], *one.value): one.finding["finding"]
        for one in lines
        if one.shared and one.value is not None
    }


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
    size = abs(float(np.mean(scores))) if scores else 0.0
    return line.finding or np.inf, -most, any(one["bin"] for one in known), -size
