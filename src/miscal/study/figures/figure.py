"""What a figure of a study is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

Tables = Mapping[str, pl.DataFrame]
"""Tables of a study by name, with the columns of :data:`miscal.study.tables.TABLES`; each may be empty."""


@dataclass(frozen=True)
class StudyFigure:
    """One figure of a study, drawn from its tables alone.

    Attributes
    ----------
    name : str
        Id of its section on the page; its files begin with it.
    title : str
        What it shows, as a heading.
    place : str
        Where the paper shows the like, such as ``"figures 5a and 13"``; empty where the paper has none.
    lesson : str
        What to look for, in whole sentences; it also serves those who cannot see the figure.
    draw : callable
        From the tables and a folder to the names of the figures written there as SVG and PNG. Without the rows that
        it needs it writes nothing and returns an empty list. The caller has chosen the look
        (:func:`miscal.study.figures.common.study_look`).
    shown : int, default 1
        How many of these figures, in their order, stand on the page itself; it links to the others.
    """

    name: str
    title: str
    place: str
    lesson: str
    draw: Callable[[Tables, Path], list[str]]
    shown: int = 1
