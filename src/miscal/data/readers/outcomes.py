"""Which two columns hold the probability and what became true of it, and what the outcomes of an event are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.checks import check_correct
from miscal.base.errors import InputError, argument
from miscal.base.vocabulary import ANSWER, EVENT, JUDGE, Kind, Vocabulary, check_kind, vocabulary
from miscal.data.readers.names import find, guess

_PLAIN = ({"0": 0.0, "1": 1.0}, {"false": 0.0, "true": 1.0}, {"no": 0.0, "yes": 1.0})

_VERDICTS = (
    {"fail": 0.0, "pass": 1.0}, {"failed": 0.0, "passed": 1.0}, {"reject": 0.0, "approve": 1.0},
    {"rejected": 0.0, "approved": 1.0}, {"rejected": 0.0, "accepted": 1.0}, {"incorrect": 0.0, "correct": 1.0},
    {"wrong": 0.0, "right": 1.0}, {"bad": 0.0, "good": 1.0}, {"i": 0.0, "c": 1.0}, {"n": 0.0, "y": 1.0},
)  # fmt: skip

PLAIN: Mapping[Kind, tuple[dict[str, float], ...]] = {EVENT: _PLAIN, JUDGE: _PLAIN + _VERDICTS}
"""Words that say by themselves what happened, or whether an answer passes."""


@dataclass(frozen=True)
class Asked:
    """The columns of probability and outcome as they were asked for: of an answer, or of an event.

    Parameters
    ----------
    kind : {"answer", "event", "judge"}
    probability, outcome : str, optional
        Columns; None where they are to be found by their names.
    positive : optional
        The value of the outcome's column that is the event; None where it is 1, true or yes.
    """

    kind: Kind
    probability: str | None = None
    outcome: str | None = None
    positive: Any = None

    OPTIONS: ClassVar = ("confidence", "correct", "probability", "event", "positive")
    """Arguments of :meth:`of` that a study has: of answers and events."""

    @classmethod
    def of(
        cls,
        *,
        confidence: str | None = None,
        correct: str | None = None,
        probability: str | None = None,
        event: str | None = None,
        positive: Any = None,
        judge: str | None = None,
        human: str | None = None,
        kind: Kind | None = None,
    ) -> Asked:
        """Tell from the options whether the probability is of an answer, of an event, or of what people say.

        Parameters
        ----------
        confidence, correct, probability, event, positive, judge, human
            As :func:`miscal.read_triples` takes them; `positive` goes with an event and with a judge.
        kind : {"answer", "event", "judge"}, optional
            By default that of the options given, and an answer where there are none.

        Raises
        ------
        InputError
            If options of both are given, or others than those of the kind.

        Examples
        --------
        >>> Asked.of(event="defaulted").kind, Asked.of().kind
        ('event', 'answer')
        >>> Asked.of(confidence="p", event="defaulted")
        Traceback (most recent call last):
        ...
        miscal.base.errors.InputError: confidence and correct are of an answer; probability and event are ...
        """
        of_kinds = {
            ANSWER: {"confidence": confidence, "correct": correct},
            EVENT: {"probability": probability, "event": event},
            JUDGE: {"judge": judge, "human": human},
        }
        given = {name: value for options in of_kinds.values() for name, value in options.items() if value is not None}
        kinds = [one for one, options in of_kinds.items() if any(name in given for name in options)]
        if positive is not None:
            given["positive"] = positive
            kinds = kinds or [EVENT]
        told: Kind = kinds[0] if kinds else ANSWER
        if len(kinds) > 1 or (positive is not None and told == ANSWER):
            raise InputError(
                "confidence and correct are of an answer; probability and event are of an event; judge and human are "
                "of a judge; positive goes with an event or a judge; and they do not mix: got "
                f"{', '.join(f'{name} {value!r}' for name, value in given.items())}"
            )
        alone = set(given) == {"positive"}
        if kind is not None and given and check_kind(kind) != told and not (alone and kind == JUDGE):
            words = vocabulary(kind)
            raise InputError(
                f"these are rows of {words.about}, whose columns are named by {' and '.join(words.columns)}; got "
                f"{', '.join(f'{name} {value!r}' for name, value in given.items())}"
            )
        return cls(kind or told, confidence or probability or judge, correct or event or human, positive)

    @property
    def words(self) -> Vocabulary:
        """The words of this kind."""
        return vocabulary(self.kind)

    def refuse_beside(self, other: str) -> None:
        """Refuse columns of one probability beside those of several classes.

        Raises
        ------
        InputError
        """
        named = [one for one in (self.probability, self.outcome, self.positive) if one is not None]
        if named or self.kind != ANSWER:
            words = " and ".join(self.words.columns)
            raise InputError(
                f"{other} are of several classes, of which {argument('label')} is the right one; {words} are of one "
                f"probability; give one of the two{f': got {value_list(named)}' if named else ''}"
            )

    def found(self, columns: Sequence[str]) -> tuple[str, str, tuple[str, ...]]:
        """Find both columns, and say which were taken because none was named.

        Raises
        ------
        MissingColumn
            If one is not there, or has none of the usual names.
        InputError
            If several could be meant, or both are the same.
        """
        roles = self.words.columns
        named = [
            column if column is None else find(column, columns, what=role)
            for role, column in zip(roles, (self.probability, self.outcome), strict=True)
        ]
        found, said = [], []
        for role, column in zip(roles, named, strict=True):
            # a column called like this part that was named for the other is refused as both, below
            taken = column or (role if role in named else guess(role, columns, taken=named))
            if column is None and taken != role:
                said.append(f"the column {taken!r} was taken as {role}, since none was named")
            found.append(taken)
        if found[0] == found[1]:
            raise InputError(f"{roles[0]} and {roles[1]} must be two columns; both are {found[0]!r}")
        return found[0], found[1], tuple(said)


def outcomes(
    series: pl.Series, kind: Kind, *, positive: Any = None, name: str, rows: np.ndarray | None = None
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Read a column of outcomes.

    Parameters
    ----------
    series : polars.Series
        Without missing values.
    kind : {"answer", "event", "judge"}
        Of an answer the outcome is 0/1 or true/false. Of an event it may also be written as text: 0/1, false/true or
        no/yes in any case, or any values of which `positive` names one.
    positive : optional
        The value that is the event; every other value is none.
    name : str
        What messages call the column.
    rows : int array, optional
        Row numbers for messages.

    Returns
    -------
    outcomes : float64 array of shape (n,), 0 or 1
    notes : tuple of str
        What other values count as no event, where there are several.

    Raises
    ------
    InputError
        If the column holds something else, with what it holds.

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
    if kind != ANSWER:
        if series.dtype in (pl.String, pl.Categorical, pl.Enum):
            return _plain(series, name, kind), ()
        _refuse_two_numbers(series, name, kind)
    return check_correct(series, name=name, rows=rows), ()


def plain_words(series: pl.Series, kind: Kind) -> tuple[np.ndarray, tuple[str, ...]] | None:
    """Read words that say by themselves what happened, in any case.

    Parameters
    ----------
    series : polars.Series
        Of text, without missing values.
    kind : {"event", "judge"}

    Returns
    -------
    values : float64 array of shape (n,), 0 or 1
    words : tuple of str
        What 0 and 1 are written as.
        None in place of both where other words are among them.

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


def _plain(series: pl.Series, name: str, kind: Kind) -> np.ndarray:
    found = plain_words(series, kind)
    if found is None:
        raise InputError(_which(series.cast(pl.String), name, kind))
    return found[0]


def _refuse_two_numbers(series: pl.Series, name: str, kind: Kind) -> None:
    """Two numbers such as 1 and 2 are a label; what else is not 0 or 1 is told by the check of outcomes."""
    if series.dtype.is_numeric() and series.n_unique() == 2 and ((series != 0) & (series != 1)).any():
        raise InputError(_which(series, name, kind))


def _which(series: pl.Series, name: str, kind: Kind) -> str:
    held = series.unique().sort().to_list()
    what = "the event" if kind == EVENT else "an approval"
    return f"{name} holds {value_list(held)}: say which value is {what}, e.g. {argument('positive', held[0])}"


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
    note = f"{name}: {str(positive)!r} counts as 1, and every other value as 0: {value_list(others)}"
    return happened.cast(pl.Float64).to_numpy(), (note,)


def _equals(series: pl.Series, value: Any) -> pl.Series:
    """Mark the rows that hold a value, which a command line gives as text."""
    if series.dtype == pl.Boolean:
        return series.cast(pl.String) == str(value).lower()
    if series.dtype.is_numeric():
        try:
            return series == float(value)
        except (TypeError, ValueError):
            return pl.Series([False] * len(series))
    return series.cast(pl.String) == str(value)
