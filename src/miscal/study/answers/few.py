"""The question which pairs have too few rows, and how many more it would take."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from miscal.report.formatting import brief_points, count, percent, size
from miscal.study.answers.answer import Answer, label, listed
from miscal.study.measures.groups import RESIDUAL
from miscal.study.measures.pairs import SOUGHT
from miscal.study.tables import LEARNED, Tables, of_method
from miscal.study.vocabulary import StudyVocabulary

NARROW = 0.02
"""Half-width of the interval of a mean residual at which a pair has rows enough to say how much it promises."""


def which_have_too_few(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs have too few rows for their mean error, and what hidden error they would have shown."""
    question = "Which have too few rows to say, and how many more would it take?"
    said = [_mean_error(tables, method), _hidden(tables, method), _cells(tables, method)]
    return Answer("few", question, " ".join(one for one in said if one), note="Intervals, and errors that would be "
                  "found, are presumed to shrink with the square root of the rows; rows that hang together are "
                  "presumed to do so as they do here. A hidden error is one beside rows of equal "
                  f"{words.probability}, in a cluster of inputs that nobody names beforehand; found in 80 % of cases, "
                  "on average over clusters. The table of pairs has each.")  # fmt: skip


def _mean_error(tables: Tables, method: str) -> str:
    told = of_method(tables["board"], method).filter(pl.col("measure") == RESIDUAL).drop_nulls(["low", "high"])
    if told.is_empty():
        return "No pair has an interval yet."
    short_of = []
    for one in told.iter_rows(named=True):
        half = (one["high"] - one["low"]) / 2
        if half > NARROW and one["low"] <= 0 <= one["high"]:
            short_of.append((label(tables, one), int(np.ceil(one["n"] * ((half / NARROW) ** 2 - 1)))))
    if short_of:
        named = listed([f"{name} (about {roughly(more)} more rows)" for name, more in short_of])
        return f"Whether they promise too much cannot be said to within {percent(NARROW, 0)} of {named}."
    return (
        "Every pair has rows enough to say whether it promises too much: its interval excludes 0, or is narrower than "
        f"{percent(NARROW, 0)} either way."
    )


def _hidden(tables: Tables, method: str) -> str:
    known = of_method(tables["pairs"], method, LEARNED)
    some = known.drop_nulls("detectable").sort("detectable")
    blind = known.filter(pl.col("detectable_share").is_not_null() & pl.col("detectable").is_null())
    said = ""
    if some.height:
        named = [f"{size(one['detectable'])} points ({label(tables, one)})" for one in _ends(some)]
        rows = sorted({one["rows_for_5_points"] for one in _ends(some)})
        start = "from" if some.height > 1 else "at"
        said = (
            f"A hidden error in about a tenth of the rows would have been found {start} {' to '.join(named)}; one of "
            f"{brief_points(SOUGHT)} takes about {' to '.join(map(roughly, rows))} rows."
        )
    if blind.height:
        named = listed([label(tables, one) for one in blind.iter_rows(named=True)])
        said += f" No hidden error in a tenth of the rows, however large, would surely be found in {named}."
    return said.strip()


def _ends(some: pl.DataFrame) -> list[dict[str, Any]]:
    """Return the pair that shows the smallest error, and the one that shows the largest alone."""
    rows = some.to_dicts()
    return rows if len(rows) < 2 else [rows[0], rows[-1]]


def _cells(tables: Tables, method: str) -> str:
    cells = of_method(tables["groups"], method)
    untested = int(cells["p_value"].is_null().sum())
    if not untested:
        return ""
    verb = "has" if untested == 1 else "have"
    return f"{count(untested)} of {count(cells.height)} cells of the matrix {verb} too few rows to be tested."


def roughly(rows: int) -> str:
    """Write a number of rows with two digits, which is what the root of the rows can tell.

    Examples
    --------
    >>> roughly(19_640), roughly(87), roughly(0)
    ('20,000', '87', '0')
    """
    return count(int(float(f"{rows:.2g}")))
