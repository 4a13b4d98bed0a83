"""Read outcomes of answers and events, and what a judge and people say of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import SHOWN_IN_WARNING, column_of, did_you_mean, value_list
from miscal.base.checks import check_correct, refuse_rows
from miscal.base.errors import InputError, argument
from miscal.base.vocabulary import ANSWER, EVENT, JUDGE, Kind
from miscal.data.encoders.features import blank_rows
from miscal.data.judged import JudgeScale
from miscal.data.readers.roles import Roles
from miscal.data.readers.rows import RowFaults, TableRows, label, missing, numbers

_PLAIN = ({"0": 0.0, "1": 1.0}, {"false": 0.0, "true": 1.0}, {"no": 0.0, "yes": 1.0})

_VERDICTS = (
    {"fail": 0.0, "pass": 1.0}, {"failed": 0.0, "passed": 1.0}, {"reject": 0.0, "approve": 1.0},
    {"rejected": 0.0, "approved": 1.0}, {"rejected": 0.0, "accepted": 1.0}, {"incorrect": 0.0, "correct": 1.0},
    {"wrong": 0.0, "right": 1.0}, {"bad": 0.0, "good": 1.0}, {"i": 0.0, "c": 1.0}, {"n": 0.0, "y": 1.0},
)  # fmt: skip

PLAIN: Mapping[Kind, tuple[dict[str, float], ...]] = {EVENT: _PLAIN, JUDGE: _PLAIN + _VERDICTS}
"""Words that say by themselves what happened, or whether an answer passes."""


def outcomes(
    series: pl.Series, kind: Kind, *, positive: Any = None, name: str, rows: np.ndarray | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a column of outcomes.

    `series`: without missing values; `kind`: of an answer the outcome is 0/1 or true/false, of an event also text: 0/1,
    false/true or no/yes in any case; `positive`: the value that is the event, or a right answer, of any values; every
    other value is none; `name`: what messages call the column; `rows`: row numbers for
    messages. Returns `notes`: what other values count as no event, where there are several.

    Examples
    --------
    >>> outcomes(pl.Series(["No", "yes"]), "event", name="event")[0].tolist()
    [0.0, 1.0]
    >>> outcomes(pl.Series(["late", "on time"]), "event", positive="late", name="event")[0].tolist()
    [1.0, 0.0]
    >>> outcomes(pl.Series(["late", "on time"]), "event", name="event")
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: event holds 'late', 'on time': say which value is the event, e.g. ...
    """
    if positive is not None:
        return _named(series, positive, name)
    words = series.dtype in (pl.String, pl.Categorical, pl.Enum)
    if words and kind != ANSWER and (found := plain_words(series, kind)) is not None:
        return found[0], ()
    # two numbers such as 1 and 2 are a label; what else is not 0 or 1 is refused by the check of outcomes
    two = kind != ANSWER and series.dtype.is_numeric() and series.n_unique() == 2
    if words or (two and ((series != 0) & (series != 1)).any()):
        held = (series.cast(pl.String) if words else series).unique().sort().to_list()
        what = {ANSWER: "right", EVENT: "the event", JUDGE: "an approval"}[kind]
        only = "must hold only 0/1 or True/False; it " if kind == ANSWER else ""
        raise InputError(
            f"{name} {only}holds {value_list(held)}: say which value is {what}, e.g. {argument('positive', held[0])}"
        )
    return check_correct(series, name=name, rows=rows), ()


def plain_words(series: pl.Series, kind: Kind) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Read words that say by themselves what happened, in any case.

    `series`: of text, without missing values. Returns `words`: what 0 and 1 are written as. None in place of both where
    other words are among them.

    Examples
    --------
    >>> plain_words(pl.Series(["Pass ", "fail"]), "judge")[1]
    ('fail', 'pass')
    >>> plain_words(pl.Series(["good", "poor"]), "judge") is None
    True
    """
    words = series.cast(pl.String).str.strip_chars().str.to_lowercase()
    held = set(words.unique().to_list())
    for meaning in PLAIN[kind]:
        if held <= set(meaning):
            return words.replace_strict(meaning, return_dtype=pl.Float64).to_numpy(), tuple(meaning)
    return None


def without_words(series: pl.Series, kind: Kind) -> pl.Series:
    """Return a column of text as outcomes, null where it holds another word, where most are outcomes; else as it is.

    Examples
    --------
    >>> without_words(pl.Series("y", ["1", "n/a", "0"]), "answer").to_list()
    [1.0, None, 0.0]
    >>> without_words(pl.Series("y", ["late", "on time"]), "event").to_list()
    ['late', 'on time']
    """
    if series.dtype != pl.String:
        return series
    text, meant = series.str.strip_chars().str.to_lowercase(), (_PLAIN[:2] if kind == ANSWER else PLAIN[kind])
    for found in (text.replace_strict(meaning, default=None, return_dtype=pl.Float64) for meaning in meant):
        if found.count() > series.count() / 2:
            return found
    return series


def _named(series: pl.Series, positive: Any, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    text = series.cast(pl.String)
    happened = _equals(series, positive)
    held = text.unique().sort().to_list()
    if not happened.any():
        raise InputError(
            f"positive: {name} nowhere holds {str(positive)!r}{did_you_mean(positive, held, aside=True)}; it holds "
            f"{value_list(held)}"
        )
    others = text.filter(~happened).unique().sort().to_list()
    if len(others) < 2:
        return happened.cast(pl.Float64).to_numpy(), ()
    note = f"{name}: {str(positive)!r} counts as 1, and every other value as 0: {value_list(others, SHOWN_IN_WARNING)}"
    return happened.cast(pl.Float64).to_numpy(), (note,)


def _equals(series: pl.Series, value: Any) -> pl.Series:
    """Mark the rows that hold a value, which a command line gives as text; true is 1."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        try:
            return series.cast(pl.Float64) == float(_PLAIN[1].get(str(value).lower(), value))
        except (TypeError, ValueError):
            return pl.Series([False] * len(series))
    return series.cast(pl.String) == str(value)


def read_judge(
    rows: TableRows, roles: Roles, positive: Any, *, drop: bool
) -> tuple[TableRows, TableRows, JudgeScale | None]:
    """Find out what the judge's scores are, and which rows people have judged.

    `positive`: the verdict by which people approve; `drop`: leave out rows without a score, instead of refusing them.
    Returns the rows that people have judged, and the others: in both the judge's column holds probabilities.
    """
    name, faults = label("judge", roles.confidence), RowFaults(rows.row)
    faults.add(name, blank(column_of(rows.frame, roles.confidence)) | missing(rows, roles.confidence), "missing", name)
    rows = faults.refuse_or_drop(rows, drop=drop)
    score, words = _scores(rows, roles)
    known = ~blank(column_of(rows.frame, roles.correct))
    if not known.any():
        raise InputError(
            f"{label('human', roles.correct)} holds no verdict: people must have judged some of the rows, at least 100"
        )
    judged, others = rows.take(known), rows.take(~known)
    approved, _ = outcomes(
        column_of(judged.frame, roles.correct), JUDGE, positive=positive, name=roles.labels[1], rows=judged.row
    )
    scale = _scale(score, known, approved, words, rows, roles)
    if others.row.size:
        judged = judged.noting(
            f"people have not judged {len(others.row):,} of {len(rows.row):,} rows: these say how often people would "
            "approve, and nothing is learned or tested on them"
        )
    if scale is not None and not scale.informative:
        judged = judged.noting(
            "people do not approve more often at a higher score, so all scores of the judge stand for one rate"
        )
    p = score if scale is None else scale.probability(score)
    judged, others = (
        replace(part, frame=part.frame.with_columns(pl.Series(roles.confidence, p[mask])))
        for part, mask in ((judged, known), (others, ~known))
    )
    return judged, others, scale


def blank(series: pl.Series) -> NDArray[np.bool_]:
    """Mark the rows that hold no value: missing, NaN, or a text of blanks.

    Examples
    --------
    >>> blank(pl.Series(["a", " ", None])).tolist()
    [False, True, True]
    """
    bad = blank_rows(series)
    return bad | (series.str.strip_chars() == "").fill_null(True).to_numpy() if series.dtype == pl.String else bad


def _scores(rows: TableRows, roles: Roles) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the scores as numbers, and what they were written as where that is words."""
    series = column_of(rows.frame, roles.confidence)
    name = label("judge", roles.confidence)
    if series.dtype == pl.Boolean:
        return series.cast(pl.Float64).to_numpy(), ("false", "true")
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        if (found := plain_words(series, JUDGE)) is not None:
            return found
        text = series.cast(pl.String).str.strip_chars().str.to_lowercase()
        if (as_numbers := text.cast(pl.Float64, strict=False)).null_count() == 0:
            return as_numbers.to_numpy(), ()
        raise InputError(
            f"{name} holds {value_list(sorted(text.unique().to_list()))}: scores are numbers, higher where the judge "
            "approves more, or pass and fail; turn other words into numbers"
        )
    values = numbers(rows, roles.confidence, name)
    if not np.isfinite(values).all():
        raise InputError(f"{name} must hold finite numbers; {int((~np.isfinite(values)).sum())} are not")
    return values, ()


def _scale(
    score: NDArray[np.float64],
    known: NDArray[np.bool_],
    approved: NDArray[np.float64],
    words: tuple[str, ...],
    rows: TableRows,
    roles: Roles,
) -> JudgeScale | None:
    """Learn what scores stand for, from rows that are no test rows; None where they are probabilities already."""
    levels = np.unique(score)
    if not words and levels[0] >= 0 and levels[-1] <= 1 and len(levels) > 2:
        return None
    if len(levels) == 1:
        raise InputError(f"{label('judge', roles.confidence)} is {levels[0]:g} in all rows, so that it says nothing")
    learned = np.full(int(known.sum()), True)
    if roles.split is not None:
        learned = (column_of(rows.frame, roles.split).cast(pl.String) != "test").fill_null(True).to_numpy()[known]
    weight = None
    if roles.weight is not None:
        weight = numbers(rows, roles.weight, label("weight", roles.weight))[known][learned]
    return JudgeScale.fit(score[known][learned], approved[learned], weight, words)


def labelling_of(rows: TableRows, roles: Roles) -> NDArray[np.float64] | None:
    """Read the probability by which each row was chosen for people to judge, (n,); None where none was named."""
    if roles.labelling is None:
        return None
    name = label("labelling_probability", roles.labelling)
    values, what = numbers(rows, roles.labelling, name), "no probabilities above 0 and up to 1"
    remedy = "give each row that people have judged the probability by which it was chosen"
    refuse_rows(name, ~((values > 0) & (values <= 1)), what, rows.row, remedy)
    return values


def new_scores(series: pl.Series, scale: JudgeScale) -> pl.Series:
    """Return the probabilities of new scores, null where there is none; words that the scale does not know stay blank.

    Examples
    --------
    >>> new_scores(pl.Series("s", ["Pass", "fail"]), JudgeScale((0.0, 1.0), (0.2, 0.7), ("fail", "pass"))).to_list()
    [0.7, 0.2]
    """
    if scale.words and series.dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
        meaning = {word: float(place) for place, word in enumerate(scale.words)}
        text = series.cast(pl.String).str.strip_chars().str.to_lowercase()
        values = text.replace_strict(meaning, default=None, return_dtype=pl.Float64)
    else:
        values = series.cast(pl.Float64, strict=False)
    found = scale.probability(values.fill_null(np.nan).to_numpy())
    return pl.Series(series.name, found).fill_nan(None)


def scale_words(scale: JudgeScale) -> Sequence[str]:
    """Return what the scores are written as: words, or numbers.

    Examples
    --------
    >>> scale_words(JudgeScale((1.0, 2.5), (0.1, 0.9)))
    ['1', '2.5']
    """
    return scale.words or [f"{score:g}" for score in scale.scores]
