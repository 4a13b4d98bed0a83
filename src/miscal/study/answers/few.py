"""The question which pairs have too few rows, and how many more it would take."""

from __future__ import annotations

import numpy as np
import polars as pl

from miscal.report.formatting import count, percent
from miscal.study.answers.answer import Answer, label, listed
from miscal.study.measures.groups import RESIDUAL
from miscal.study.tables import Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

NARROW = 0.02
"""Half-width of the interval of a mean residual at which a pair has rows enough to say how much it promises."""


def which_have_too_few(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs have too few rows, and how many more it would take."""
    question = "Which have too few rows to say, and how many more would it take?"
    told = of_method(tables["board"], method).filter(pl.col("measure") == RESIDUAL).drop_nulls(["low", "high"])
    short_of = []
    for one in told.iter_rows(named=True):
        half = (one["high"] - one["low"]) / 2
        if half > NARROW and one["low"] <= 0 <= one["high"]:
            short_of.append((label(tables, one), int(np.ceil(one["n"] * ((half / NARROW) ** 2 - 1))), half))
    cells = of_method(tables["groups"], method)
    untested = int(cells["p_value"].is_null().sum())
    if short_of:
        named = listed([f"{name} (about {count(more)} more rows)" for name, more, _ in short_of])
        said = f"Whether they promise too much cannot be said to within {percent(NARROW, 0)} of {named}."
    else:
        said = (
            f"Every pair has rows enough to say whether it promises too much: its interval excludes 0, or is narrower "
            f"than {percent(NARROW, 0)} either way."
        )
    if untested:
        said += f" {count(untested)} of {count(cells.height)} cells of the matrix have too few rows to be tested."
    return Answer("few", question, said, note="The width of an interval falls with the square root of the rows; rows "
                  "that hang together are presumed to do so as they do here.")  # fmt: skip
