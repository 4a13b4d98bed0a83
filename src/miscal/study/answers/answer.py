"""A question of the owner of a study, its answer, and the words that answers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from miscal.report.texts import short
from miscal.study.matrix import GroupLine
from miscal.study.tables import Tables

_NAMED = 4
"""Names that a sentence lists before it counts the rest."""


@dataclass(frozen=True)
class Bar:
    """A number of a picture, with its interval; in points of probability, or in log loss.

    Attributes
    ----------
    name : str
    value : float
    low, high : float
        Ends of its 95 % interval.
    pair : str or None
        The pair whose report says more.
    aside : str
        What stands behind its number.
    """

    name: str
    value: float
    low: float
    high: float
    pair: str | None = None
    aside: str = ""


@dataclass(frozen=True)
class Answer:
    """A question and its answer.

    Attributes
    ----------
    name : str
        Of its place on the page.
    question, sentence : str
    bars : tuple of Bar
        Its picture; empty where there is nothing to show.
    unit : {"points", "log loss"}
        Of the bars.
    note : str
        What is presumed.
    ordered : bool
        Whether its bars are sizes of which less is better, not differences.
    """

    name: str
    question: str
    sentence: str
    bars: tuple[Bar, ...] = ()
    unit: str = "points"
    note: str = ""
    ordered: bool = False


def bars_of(tables: Tables, some: pl.DataFrame) -> list[Bar]:
    """Draw the rows that have a value and an interval."""
    known = some.drop_nulls(["value", "low", "high"])
    return [
        Bar(label(tables, one), one["value"], one["low"], one["high"], one["pair"])
        for one in known.iter_rows(named=True)
    ]


def label(tables: Tables, row: dict[str, Any]) -> str:
    """Name a pair by its model; with its data set where the study has several."""
    model = short(row["model"], 40)
    return model if tables["pairs"]["dataset"].n_unique() < 2 else f"{model} on {short(row['dataset'], 30)}"


def pairs_in_words(n: int) -> str:
    """Write a count of pairs."""
    return f"{n} pair{'' if n == 1 else 's'}"


def listed(names: Sequence[str], between: str = ", ") -> str:
    """List names; beyond the first few, count them. Names that hold commas take something else in between."""
    first = list(names[:_NAMED])
    last = " and " if between == ", " else f"{between}and "
    if len(names) > _NAMED:
        return f"{between.join(first)}{last}{len(names) - _NAMED} more"
    return first[0] if len(first) == 1 else f"{between.join(first[:-1])}{last}{first[-1]}"


def group_name(line: GroupLine) -> str:
    """Name a group by its column and value."""
    return f"{short(line.column, 30)} = {short(line.value, 40)}"
