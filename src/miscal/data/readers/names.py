"""Find the columns: named by the user, guessed by name, or suggested where a name is nearly right."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.errors import InputError, MissingColumn, argument

COLUMN_SYNONYMS = {
    "confidence": ("confidence", "conf", "prob", "p", "f", "score", "prediction", "pred_prob", "y_prob", "max_prob"),
    "correct": ("correct", "is_correct", "acc", "y", "label", "exact_match"),
    "probability": (
        *("probability", "prob", "proba", "p", "risk", "score", "prediction", "forecast", "pred_prob", "pred_proba"),
        *("predicted_probability", "predicted_risk", "y_prob", "y_proba", "y_score"),
    ),
    "event": ("event", "y", "y_true", "label", "target", "outcome", "true_label", "ground_truth", "happened"),
    "judge": ("judge", "judge_score", "score", "grade", "rating", "llm_score", "judge_probability"),
    "human": ("human", "human_verdict", "human_label", "annotation", "verdict", "label", "gold", "approved"),
    "label": ("label", "class", "y", "y_true", "target", "true_label", "true_class", "ground_truth"),
}
"""Column names taken for probability, outcome and class when none is named; the first of each wins over the others."""

COLUMN_PATTERNS = {
    "probability": ("p_*", "prob_*", "proba_*", "predicted_*", "*_risk", "*_prob", "*_proba", "confidence"),
    "event": ("correct",),
}
"""Further names, taken where a table has none of the synonyms."""


def find(name: str, columns: Sequence[str], *, what: str) -> str:
    """Return `name` if it is a column.

    Raises
    ------
    MissingColumn
        Listing the columns and suggesting the nearest name, which is never used.

    Examples
    --------
    >>> find("confidense", ["id", "confidence"], what="confidence")
    Traceback (most recent call last):
    ...
    miscal.base.errors.MissingColumn: confidence: there is no column 'confidense' (did you mean 'confidence'?). The columns are 'id', 'confidence'
    """  # noqa: E501
    if name in columns:
        return name
    raise MissingColumn(
        f"{what}: there is no column {name!r}{did_you_mean(name, columns, aside=True)}. {listed(columns)}"
    )


def listed(columns: Sequence[str]) -> str:
    """Say which columns there are, the first twenty."""
    shown = ", ".join(repr(column) for column in columns[:20])
    return f"The columns are {shown}" + (f", ... ({len(columns)} in all)" if len(columns) > 20 else "")


def guess(role: str, columns: Sequence[str], *, taken: Sequence[str | None] = ()) -> str:
    """Find the column of a role by its synonyms.

    Parameters
    ----------
    role : str
    columns : sequence of str
    taken : sequence of str
        Columns that play another part.

    Returns
    -------
    str
        The column called `role`, or the only one with a synonym for name.

    Raises
    ------
    MissingColumn
        If there is none.
    InputError
        If several would do.

    Examples
    --------
    >>> guess("correct", ["id", "p", "is_correct"]), guess("probability", ["id", "predicted_delay"])
    ('is_correct', 'predicted_delay')
    """
    free = [column for column in columns if column not in taken]
    if role in free:
        return role
    found = [column for column in free if column.lower() in COLUMN_SYNONYMS[role]]
    patterns = COLUMN_PATTERNS.get(role, ())
    found = found or [name for name in free if any(fnmatch.fnmatchcase(name.lower(), one) for one in patterns)]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{role}: several columns could be meant: {value_list(found)}; name one of them "
            f"({argument(role, found[0])})"
        )
    hint = did_you_mean(role, free, aside=True)
    raise MissingColumn(
        f"{role}: no column is called {', '.join((*COLUMN_SYNONYMS[role], *patterns))}{hint}; "
        f"name it ({argument(role, takes='COL')}). {listed(columns)}"
    )


def name_of(name: Any, *, what: str) -> str:
    """Return the name of a column as tables are read: a number, as pandas names columns, is written as text.

    Raises
    ------
    InputError
        If it is neither text nor a number, or empty: a column without a name can be called by none.
    """
    if isinstance(name, Real) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str) or not name:
        shown = "an empty one" if name == "" else f"a value of type {type(name).__name__}"
        raise InputError(f"{what}: the name of a column must be text or a number; got {shown}: rename the column first")
    return str(name)


def split_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Separate a comma-separated list of names; a list of names is taken as it is.

    Parameters
    ----------
    names : str or sequence of str or numbers
        In a string, a name that holds a comma, or begins or ends with a blank, stands in double quotation marks, as in
        csv.

    Raises
    ------
    InputError
        If a quotation mark is not closed, or a name is no text.

    Examples
    --------
    >>> split_names('a, "b, c"'), split_names([" a", 7])
    (('a', 'b, c'), (' a', '7'))
    """
    if not isinstance(names, str):
        return tuple(name_of(one, what="names") for one in (names if isinstance(names, Iterable) else [names]))
    parts = [found[0].strip() for found in _NAME.finditer(names)]
    open_ended = [part for part in parts if part.startswith('"') and not _QUOTED.fullmatch(part)]
    if open_ended:
        raise InputError(
            f"names: the quotation marks of {open_ended[0]!r} are not closed, or do not enclose the whole name; write "
            'a name with a comma as in csv: "last, first",age'
        )
    return tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts if part)


_QUOTED = re.compile('"(?:[^"]|"")*"')
# a name up to the next comma that no quotation marks enclose
_NAME = re.compile('\\s*"(?:[^"]|"")*"[^,]*|[^,]+')

# a row index that pandas has written is no property of the input: of to_csv, and of to_parquet
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


def match(
    patterns: str | Sequence[str], columns: Sequence[str], reserved: dict[str, str], *, what: str = "features"
) -> tuple[str, ...]:
    """Resolve names and glob patterns to feature columns.

    Parameters
    ----------
    patterns : str or sequence of str
        Names or patterns (``x_*``), comma-separated. Each must match.
    columns : sequence of str
    reserved : dict of str to str
        Column to its role. Patterns pass over these, and over columns without a name and those in which pandas writes
        a row index (``Unnamed: 0``); naming the outcome or the confidence is refused.
    what : str, default "features"
        The argument, for messages.

    Returns
    -------
    tuple of str
        In the order named, and of the table within a pattern; no column twice.

    Raises
    ------
    MissingColumn
        If a name or pattern matches nothing.
    InputError
        If the outcome or the confidence is named as a feature.

    Examples
    --------
    >>> match("x_*, age", ["x_1", "x_2", "age", "y"], {"y": "correct"})
    ('x_1', 'x_2', 'age')
    """
    chosen: dict[str, None] = {}
    known = frozenset(columns)
    for pattern in split_names(patterns):
        chosen.update(dict.fromkeys([pattern] if pattern in known else _matches(pattern, columns, reserved, what)))
    if not chosen:
        raise InputError(f"{what}: no column was named; give names or patterns, e.g. 'x_*'")
    outcome, *_ = *(column for column, role in reserved.items() if role == "correct"), None
    refuse_told(what, chosen, outcome, [column for column, role in reserved.items() if role == "confidence"])
    return tuple(chosen)


def left_out_of(
    patterns: str | Sequence[str], columns: Sequence[str], single: Mapping[str, Any], several: Mapping[str, Any]
) -> tuple[str, ...]:
    """Resolve the columns that play no part.

    Raises
    ------
    InputError
        If one of them is named for a part, by an argument that takes a name or one that takes several.
    MissingColumn
        If a name or pattern matches nothing.
    """
    found = match(patterns, columns, {}, what="leave_out") if patterns else ()
    named = {what: (one,) for what, one in single.items()}
    named |= {what: split_names(names or ()) for what, names in several.items()}
    for what, names in named.items():
        for name in names:
            if name in found:
                raise InputError(
                    f"leave_out: {name!r} is named by {argument(what)}, too: take it out of one of the two"
                )
    return found


def refuse_told(role: str, names: Iterable[str | None], outcome: str | None, stated: Collection[str] = ()) -> None:
    """Refuse the outcome in another role, and what the model states, in which rows that are compared are equal."""
    for name in names:
        if name is not None and (name == outcome or name in stated):
            what = "the outcome" if name == outcome else "what the model states"
            raise InputError(f"{role}: {name!r} is {what}, which can play no other part; leave it out")


def unreserved(columns: Iterable[str], reserved: Container[str]) -> tuple[str, ...]:
    """Leave out columns that play a part, have no name, or are a row index that pandas has written.

    Examples
    --------
    >>> unreserved(["Unnamed: 0", "age", "y"], {"y"})
    ('age',)
    """
    return tuple(column for column in columns if column not in reserved and not _INDEX.fullmatch(column))


def _matches(pattern: str, columns: Sequence[str], reserved: dict[str, str], what: str) -> tuple[str, ...]:
    found = unreserved(fnmatch.filter(columns, pattern), reserved)
    if not found:
        if any(mark in pattern for mark in "*?["):
            raise MissingColumn(f"{what}: the pattern {pattern!r} matches no column. {listed(columns)}")
        find(pattern, columns, what=what)
    return found
