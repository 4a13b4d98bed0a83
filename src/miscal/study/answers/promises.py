"""The question which models promise more than they keep, and by how much."""

from __future__ import annotations

import polars as pl

from miscal.report.formatting import points
from miscal.study.answers.answer import Answer, Bar, bars_of, listed, pairs_in_words
from miscal.study.measures.groups import RESIDUAL
from miscal.study.tables import Tables, of_method
from miscal.study.vocabulary import StudyVocabulary


def which_promise_more(tables: Tables, method: str, words: StudyVocabulary) -> Answer:
    """Say which pairs promise more than they keep, and by how much."""
    bars = bars_of(tables, of_method(tables["board"], method).filter(pl.col("measure") == RESIDUAL))
    more = sorted((one for one in bars if one.high < 0), key=lambda one: one.value)
    less = sorted((one for one in bars if one.low > 0), key=lambda one: -one.value)
    if not bars:
        said = "No pair has an interval yet."
    elif len(bars) == 1:
        size = _with_size(bars[0]).removeprefix(bars[0].name)
        verb = f"promises more than it keeps,{size}" if more else "does not promise more than it keeps, beyond chance"
        said = f"{bars[0].name} {verb}."
    elif not more:
        said = f"None of the {pairs_in_words(len(bars))} promises more than it keeps, beyond chance."
    else:
        said = (
            f"{len(more)} of {pairs_in_words(len(bars))} {'promises' if len(more) == 1 else 'promise'} more than "
            f"{'it keeps' if len(more) == 1 else 'they keep'}: {listed([_with_size(one) for one in more])}."
        )
    if less:
        verb = "keeps more than it promises" if len(less) == 1 else "keep more than they promise"
        said += f" {listed([_with_size(one) for one in less])} {verb}."
    return Answer(
        "promises",
        "Which models promise more than they keep, and by how much?",
        said,
        tuple(sorted(bars, key=lambda one: one.value)),
        note=f"The {words.rate} less the mean {words.probability}, in points, with the 95 % interval of each by "
        f"itself. Left of 0: {words.over}.",
    )


def _with_size(one: Bar) -> str:
    return f"{one.name} by {points(abs(one.value)).lstrip('+')} points"
