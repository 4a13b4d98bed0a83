"""The table ``shared_findings`` as pages and sentences take it: one object for each finding, with its models."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions import read_condition
from miscal.findings.ledger import value_words
from miscal.findings.shared import SHARED


@dataclass(frozen=True)
class SharedLine:
    """A group in which the models of a data set err together, or differ.

    Attributes
    ----------
    finding : mapping of str to value
        What all its rows of the table say.
    models : tuple of mapping
        Its rows whose model has rows enough to be measured, by rising effect.
    """

    finding: Mapping[str, Any]
    models: tuple[Mapping[str, Any], ...]

    @property
    def shared(self) -> bool:
        """Whether models err together there."""
        return self.finding["kind"] == SHARED

    @property
    def differs(self) -> bool:
        """Whether models differ there."""
        adjusted = self.finding["p_difference_adjusted"]
        return adjusted is not None and adjusted <= SIGNIFICANCE

    @property
    def told(self) -> tuple[float, float, float]:
        """How much more often its rows are right, with its interval: by itself, or given others if it needs them."""
        name = "beyond" if self.finding["given_others"] else "effect"
        return self.finding[name], self.finding[f"{name}_low"], self.finding[f"{name}_high"]

    @property
    def agreeing(self) -> int:
        """How many models point where all together do."""
        return sum(np.sign(one["model_effect"]) == np.sign(self.told[0]) for one in self.models)

    @property
    def value(self) -> tuple[str, str] | None:
        """Column and value, as the table ``groups`` has them; None where it is of several columns, or of a text."""
        condition = read_condition(json.loads(self.finding["condition"]))
        if len(condition.columns) != 1:
            return None
        return condition.columns[0], value_words(condition.columns[0], condition)


def shared_lines(table: pl.DataFrame) -> list[SharedLine]:
    """Put the rows of the table ``shared_findings`` together, in its order.

    Parameters
    ----------
    table : polars.DataFrame
        It may be empty.
    """
    found = []
    for _, rows in table.group_by("dataset", "method", "finding", maintain_order=True):
        known = rows.drop_nulls("model_effect").sort("model_effect")
        found.append(SharedLine(rows.row(0, named=True), tuple(known.iter_rows(named=True))))
    return found
