"""Read outcomes of answers and events, what a judge and people say of answers, and the answers themselves."""

from __future__ import annotations

from collections import Counter
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
    words = _words(series)
    held = set(words.unique().to_list())
    for meaning in PLAIN[kind]:
        if held <= set(meaning):
            return words.replace_strict(meaning, return_dtype=pl.Float64).to_numpy(), tuple(meaning)
    return None


def _words(series: pl.Series) -> pl.Series:
    return series.cast(pl.String).str.strip_chars().str.to_lowercase()


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
    words, meant = _words(series), _PLAIN[:2] if kind == ANSWER else PLAIN[kind]
    for found in (words.replace_strict(meaning, default=None, return_dtype=pl.Float64) for meaning in meant):
        if found.count() > series.count() / 2:
            return found
    return series


def _named(series: pl.Series, positive: Any, name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    text, happened = series.cast(pl.String), _equals(series, positive)
    held = text.unique().sort().to_list()
    if not happened.any():
        near = did_you_mean(positive, held, aside=True)
        raise InputError(f"positive: {name} nowhere holds {str(positive)!r}{near}; it holds {value_list(held)}")
    others = text.filter(~happened).unique().sort().to_list()
    note = f"{name}: {str(positive)!r} counts as 1, and every other value as 0: {value_list(others, SHOWN_IN_WARNING)}"
    return happened.cast(pl.Float64).to_numpy(), (note,) if len(others) > 1 else ()


def _equals(series: pl.Series, value: Any) -> pl.Series:
    """Mark the rows that hold a value, which a command line gives as text; true is 1."""
    if series.dtype.is_numeric() or series.dtype == pl.Boolean:
        try:
            return series.cast(pl.Float64) == float(_PLAIN[1].get(str(value).lower(), value))
        except (TypeError, ValueError):
            return pl.Series([False] * len(series))
    return series.cast(pl.String) == str(value)


def read_judge(rows: TableRows, roles: Roles, *, drop: bool) -> tuple[TableRows, TableRows, JudgeScale | None]:
    """Find out what the judge's scores are, and which rows people have judged.

    `drop`: leave out rows without a score, instead of refusing them.
    Returns the rows that people have judged, and the others: in both the judge's column holds probabilities.
    """
    (name, of_people), faults = roles.labels, RowFaults(rows.row)
    stated = column_of(rows.frame, roles.confidence)
    faults.add(name, blank(stated) | missing(stated), "missing", f"{name} is missing")
    rows = faults.refuse_or_drop(rows, drop=drop)
    score, words = _scores(rows, roles)
    verdicts = column_of(rows.frame, roles.correct)
    known = ~blank(verdicts)
    if not known.any():
        raise InputError(f"{of_people} holds no verdict: people must have judged some of the rows, at least 100")
    approved, _ = outcomes(verdicts.filter(known), JUDGE, positive=roles.positive, name=of_people, rows=rows.row[known])
    scale = _scale(score, known, approved, words, rows, roles)
    p = score if scale is None else scale.probability(score)
    rows = replace(rows, frame=rows.frame.with_columns(pl.Series(roles.confidence, p)))
    judged, others = rows.take(known), rows.take(~known)
    if others.row.size:
        judged = judged.noting(
            f"people have not judged {len(others.row):,} of {len(rows.row):,} rows: these say how often people would "
            "approve, and nothing is learned or tested on them"
        )
    if scale is not None and not scale.informative:
        judged = judged.noting("people do not approve more often at a higher score, so all scores stand for one rate")
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
    series, name = column_of(rows.frame, roles.confidence), roles.labels[0]
    if series.dtype == pl.Boolean:
        return series.cast(pl.Float64).to_numpy(), ("false", "true")
    if series.dtype in (pl.String, pl.Categorical, pl.Enum):
        if (found := plain_words(series, JUDGE)) is not None:
            return found
        text = _words(series)
        if (as_numbers := text.cast(pl.Float64, strict=False)).null_count() == 0:
            return as_numbers.to_numpy(), ()
        held = value_list(sorted(text.unique().to_list()))
        raise InputError(
            f"{name} holds {held}: scores are numbers, higher where the judge approves more, or pass and fail"
        )
    values = numbers(rows, roles.confidence, "judge")
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
        raise InputError(f"{roles.labels[0]} is {levels[0]:g} in all rows, so that it says nothing")
    learned = np.full(int(known.sum()), True)
    if roles.split is not None:
        learned = column_of(rows.frame, roles.split).cast(pl.String).ne_missing("test").to_numpy()[known]
    weight = None if roles.weight is None else numbers(rows, roles.weight, "weight")[known][learned]
    return JudgeScale.fit(score[known][learned], approved[learned], weight, words)


def labelling_of(rows: TableRows, roles: Roles) -> NDArray[np.float64] | None:
    """Read the probability by which each row was chosen for people to judge, (n,); None where none was named."""
    if roles.labelling is None:
        return None
    name = label("labelling_probability", roles.labelling)
    values, what = numbers(rows, roles.labelling, "labelling_probability"), "no probabilities above 0 and up to 1"
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
        values = _words(series).replace_strict(meaning, default=None, return_dtype=pl.Float64)
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


# --- answers, to be shown -----------------------------------------------------------------------------------------


ONE_ANSWER = 0.25
"""Share of the rows by which an answer is given more often than it can be right before that is said. Not tuned."""

_LENGTH = 400
"""Characters of an answer that are kept."""


def answers_of(frame: pl.DataFrame, columns: Mapping[str, str], choices: str | None) -> dict[str, np.ndarray]:
    """Read the answers of each row as text.

    They are keyed as the columns are, None where a row has none. Numbers and letters of choices are followed
    by the choice. A column of nothing but 0 and 1 without choices is left out: it is no answer that a person gives.

    Examples
    --------
    >>> table = pl.DataFrame({"predicted": [1, 0], "answer": ["A", "A"], "choices": [["yes", "no"]] * 2})
    >>> named = {"model's answer": "predicted", "right answer": "answer"}
    >>> {name: list(shown) for name, shown in answers_of(table, named, "choices").items()}
    {"model's answer": ['no', 'yes'], 'right answer': ['A: yes', 'A: yes']}
    """
    offered = None if choices is None else column_of(frame, choices)
    if offered is not None and offered.dtype != pl.List(pl.String):
        offered = None
    found = {}
    for name, column in columns.items():
        values = column_of(frame, column)
        if values.dtype.is_nested() or values.dtype == pl.Object:
            continue
        if offered is None and values.dtype.is_numeric() and set(values.drop_nulls().unique().to_list()) <= {0, 1}:
            continue
        listed = [None] * len(frame) if offered is None else offered.to_list()
        found[name] = np.array([_answer(value, of) for value, of in zip(values.to_list(), listed, strict=True)], object)
    return found


def one_answer(frame: pl.DataFrame, column: str | None, correct: np.ndarray) -> tuple[str, int, str] | None:
    """Return the answer that a model gives far more often than this can be right; None where there is none.

    With it: in how many rows, and a sentence that says so.

    An answer of most rows may well be right that often: it can be right in the rows where it was given and is, and in
    those where another one was.

    `frame`: n rows, with the `column` of the model's answers, if there is one.

    Examples
    --------
    >>> table = pl.DataFrame({"predicted": ["A"] * 80 + ["B"] * 20})
    >>> one_answer(table, "predicted", np.arange(100) % 4 == 0)[-1]
    "the model gives one answer (A) in 80 of 100 rows (column 'predicted'): it is right in 20 of them, ..."
    >>> one_answer(table, "predicted", np.arange(100) % 4 > 0)
    """
    if column is None or (values := column_of(frame, column)).dtype.is_nested():
        return None
    given_answers, n = np.array([None if one is None else str(one) for one in values.to_list()], object), len(frame)
    [(name, _)] = Counter(given_answers).most_common(1)
    same = given_answers == name
    given, right = int(same.sum()), int(correct[same].sum())
    most = right + n - given
    if name is None or given - most < ONE_ANSWER * n:
        return None
    shown = f" ({name})" if len(name) == 1 else ""
    said = f"the model gives one answer{shown} in {given:,} of {n:,} rows (column {column!r}): it is right in "
    return name, given, f"{said}{right:,} of them, so that it can be the right answer in {most:,} rows at most"


def _answer(value: object, choices: Sequence[str] | None) -> str | None:
    if value is None or value != value or value == "":
        return None
    text = str(value)[:_LENGTH]
    if not choices:
        return text
    if isinstance(value, int) and not isinstance(value, bool):
        return choices[value][:_LENGTH] if 0 <= value < len(choices) else text
    place = ord(text) - ord("A") if len(text) == 1 else -1
    return f"{text}: {choices[place][:_LENGTH]}" if 0 <= place < len(choices) else text
