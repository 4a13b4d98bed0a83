"""Find the columns by name, and the rows that meet a condition in SQL such as model == 'gpt-4o' and n > 3."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Container, Iterable, Sequence

import numpy as np
import polars as pl

from miscal.base.arrays import column_of, did_you_mean, value_list
from miscal.base.errors import InputError, MissingColumn, argument
from miscal.data.columns import split_names

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

    `taken`: columns that play another part. Returns the column called `role`, or the only one with a synonym for name.

    Examples
    --------
    >>> guess("correct", ["id", "p", "is_correct"]), guess("probability", ["id", "predicted_delay"])
    ('is_correct', 'predicted_delay')
    """
    free = [column for column in columns if column not in taken]
    if role in free:
        return role
    patterns = COLUMN_PATTERNS.get(role, ())
    found = [column for column in free if column.lower() in COLUMN_SYNONYMS[role]]
    found = found or [name for name in free if any(fnmatch.fnmatchcase(name.lower(), one) for one in patterns)]
    if len(found) > 1:
        several = f"several columns could be meant: {value_list(found)}"
        raise InputError(f"{role}: {several}; name one of them ({argument(role, found[0])})")
    if not found:
        called = ", ".join((*COLUMN_SYNONYMS[role], *patterns)) + did_you_mean(role, free, aside=True)
        named = argument(role, takes="COL")
        raise MissingColumn(f"{role}: no column is called {called}; name it ({named}). {listed(columns)}")
    return found[0]


GIVEN, RIGHT = "model's answer", "right answer"
"""What the two are called; an answer of which no name tells whose it is, is called by its column."""

_GIVEN = (
    *("predicted", "predicted_answer", "model_answer", "given_answer", "chosen_answer", "prediction", "response"),
    *("completion", "predicted_label", "predicted_class", "pred_label", "pred_class"),
)
_RIGHT = (
    *("answer_index", "right_answer", "correct_answer", "gold", "gold_answer", "target", "ground_truth", "answer_key"),
    *("reference", "reference_answer", "expected_answer", "true_answer", "true_label", "true_class"),
)
_EITHER = ("answer",)
_CHOICES = ("choices", "options")


def answer_columns(
    columns: Sequence[str], taken: Iterable[str | None] = ()
) -> tuple[dict[str, str], str | None, tuple[str, ...]]:
    """Find the columns of answers by their names, in any case.

    `columns`: of a table; `taken`: columns that play another part: confidence, outcome, weight and the like. Returns
    the columns by what they are called; that of lists of texts, into which answers may be numbers from 0 or letters
    from A; and all columns of right answers beside the model's.

    Examples
    --------
    >>> answer_columns(["id", "Predicted", "answer", "choices"])
    ({"model's answer": 'Predicted', 'right answer': 'answer'}, 'choices', ('answer',))
    >>> answer_columns(["answer"])
    ({'answer': 'answer'}, None, ())
    """
    free = {name.lower(): name for name in columns if name not in set(taken)}
    given, right, either, choices = (
        next((free[name] for name in names if name in free), None) for names in (_GIVEN, _RIGHT, _EITHER, _CHOICES)
    )
    # beside the model's answer, a column called answer is the key, and beside a key, it is what the model said
    if either is not None and given is not None and right is None:
        right, either = either, None
    elif either is not None and right is not None and given is None:
        given, either = either, None
    elif given is not None and right is not None:
        either = None
    named = [free[name] for name in (*_RIGHT, *_EITHER) if name in free and free[name] not in (given, either)]
    answers = {GIVEN: given, RIGHT: right, either or "": either}
    keys = () if given is None or right is None else tuple(named)
    return {what: name for what, name in answers.items() if name is not None}, choices, keys


# a row index that pandas has written is no property of the input: of to_csv, and of to_parquet
_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")


def match(
    patterns: str | Sequence[str], columns: Sequence[str], reserved: dict[str, str], *, what: str = "features"
) -> tuple[str, ...]:
    """Resolve names and glob patterns to feature columns.

    `patterns`: names or patterns (``x_*``), comma-separated. Each must match; `reserved`: column to its role. Patterns
    pass over these, and over columns without a name and those in which pandas writes a row index (``Unnamed: 0``);
    naming the outcome or the confidence is refused; `what`: the argument, for messages. They come in the order
    named, and of the table within a pattern; no column twice.

    Examples
    --------
    >>> match("x_*, age", ["x_1", "x_2", "age", "y"], {"y": "correct"})
    ('x_1', 'x_2', 'age')
    """
    chosen: dict[str, None] = {}
    known = frozenset(columns)
    for pattern in split_names(patterns):
        found = (pattern,) if pattern in known else unreserved(fnmatch.filter(columns, pattern), reserved)
        if not found and any(mark in pattern for mark in "*?["):
            raise MissingColumn(f"{what}: the pattern {pattern!r} matches no column. {listed(columns)}")
        if not found:
            find(pattern, columns, what=what)
        chosen.update(dict.fromkeys(found))
    if not chosen:
        raise InputError(f"{what}: no column was named; give names or patterns, e.g. 'x_*'")
    outcome, *_ = *(column for column, role in reserved.items() if role == "correct"), None
    refuse_told(what, chosen, outcome, [column for column, role in reserved.items() if role == "confidence"])
    return tuple(chosen)


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


MOST_CHARACTERS = 4_000
"""Length of a condition: polars takes seconds for some of twice the length, and crashes at a hundred times it."""

MOST_LEVELS = 100
"""How deep the parts of a condition may lie in one another; each AND, OR or + of a chain is a level."""

_HELP = "write, for instance: model == 'gpt-4o' and n > 3"
_ERRORS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
# texts, and quoted names, which alone can be names that polars takes for patterns
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"((?:[^"]|"")*)"|`([^`]*)`""")
_PROBED = 8


def columns_of(expression: str, columns: Sequence[str]) -> tuple[str, ...]:
    """Name the columns that a condition looks at.

    Examples
    --------
    >>> columns_of("a > 1 and b = 'x'", ["a", "b", "c"])
    ('a', 'b')
    """
    if not isinstance(expression, str):
        given = f"got a value of type {type(expression).__name__}: choose the rows before, or {_HELP}"
        raise InputError(f"where must be a condition in text; {given}")
    parsed, aliases = _parse(expression, columns)
    names = tuple(dict.fromkeys(aliases.get(name, name) for name in parsed.meta.root_names()))
    if not names:
        raise InputError(f"where: {expression!r} names no column; {_HELP}")
    for name in names:
        try:
            find(name, columns, what="where")
        except MissingColumn as error:
            quoted = ". Text values are written in single quotes" if f'"{name}"' in expression else ""
            raise MissingColumn(f"{error.args[0]}{quoted}") from None
    return names


def _parse(expression: str, columns: Sequence[str]) -> tuple[pl.Expr, dict[str, str]]:
    """Parse a condition; with it, the columns that it knows by another name."""
    if len(expression) > MOST_CHARACTERS:
        most = f"a condition may have at most {MOST_CHARACTERS:,} characters; this one has {len(expression):,}"
        raise InputError(f"where: {most} ({expression[:40]!r}...). {_SHORTER}")
    text, aliases = _plain_names(expression, columns)
    try:
        parsed = pl.sql_expr(text)
    except _ERRORS as error:
        raise InputError(f"where: {expression!r} is not a condition ({_first_line(error)}); {_HELP}") from None
    if max(level for _, level in _parts(parsed)) > MOST_LEVELS:
        most = f"a condition may be at most {MOST_LEVELS} levels deep, where each AND, OR or + of a chain is a level"
        raise InputError(f"where: {most}; {expression[:40]!r}... lies deeper. {_SHORTER}")
    if parsed.meta.has_multiple_outputs():
        raise InputError(f"where: {expression!r} names several columns by a pattern; name each by itself; {_HELP}")
    return parsed, aliases


_SHORTER = "Replace chains such as n = 1 OR n = 2 by n IN (1, 2), or mark the rows in a column of their own"


def _plain_names(expression: str, columns: Sequence[str]) -> tuple[str, dict[str, str]]:
    """Give columns whose names polars would take for patterns, such as ^a$ and *, other names; with what they mean."""
    aliases: dict[str, str] = {}

    def plain(found: re.Match[str]) -> str:
        name = (found[1] or found[2] or "").replace('""', '"')
        if name not in columns or not (name == "*" or (name.startswith("^") and name.endswith("$"))):
            return found[0]
        alias = f"column {columns.index(name)} of {len(columns)}"
        aliases[alias] = name
        return f'"{alias}"'

    return _QUOTED.sub(plain, expression), aliases


def _parts(parsed: pl.Expr) -> list[tuple[pl.Expr, int]]:
    """Every part of an expression, itself first, with how deep it lies."""
    found, left = [], [(parsed, 0)]
    while left:
        part, level = left.pop()
        found.append((part, level))
        # no deeper than is needed to tell that it is too deep
        if level <= MOST_LEVELS:
            left += [(one, level + 1) for one in part.meta.pop()]
    return found


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0]


def decide(expression: str, frame: pl.DataFrame) -> tuple[np.ndarray, int]:
    """Say which rows a condition keeps, and for how many the value that decides is missing."""
    names = columns_of(expression, frame.columns)
    parsed, aliases = _parse(expression, frame.columns)
    known = {name: alias for alias, name in aliases.items()}
    values = pl.DataFrame([column_of(frame, name).alias(known.get(name, name)) for name in names])
    _refuse_across_rows(expression, parsed, values)
    try:
        result = values.lazy().select(parsed.alias("keep")).collect()["keep"]
    except _ERRORS as error:
        raise InputError(f"where: {expression!r} does not fit the data ({_first_line(error)}); {_HELP}") from None
    if result.dtype != pl.Boolean or len(result) != len(frame):
        raise InputError(f"where: {expression!r} is not true or false for each row; {_HELP}")
    return result.fill_null(False).to_numpy(), int(result.null_count())


# --- one row at a time --------------------------------------------------------------------------------------------


def _refuse_across_rows(expression: str, parsed: pl.Expr, values: pl.DataFrame) -> None:
    """Refuse a condition of which a part has another value for a row alone than for the row among others.

    An average, a rank or the row before are such parts: rows that are read piece by piece would be judged by their
    piece. No list of functions is needed, and none would be complete.
    """
    # rows of the same types that differ, so that what looks at several of them shows
    varied = pl.DataFrame([_three(series).alias(series.name) for series in values])
    rows = (varied, values.gather_every(max(1, len(values) // _PROBED)).head(_PROBED))
    for part, _ in _parts(parsed):
        if _joins(part):
            continue
        # a part that does not fit the made-up rows, such as the month of a text, is tried with rows of the data
        if next((found for found in (_by_row(part, some) for some in rows) if found is not None), True) is False:
            raise InputError(
                f"where: {expression!r} must be decided by each row alone, but averages, counts, ranks and the like "
                "look at other rows; compute such a value beforehand and write it as a number, or as a column"
            )


def _three(series: pl.Series) -> pl.Series:
    if series.dtype.is_numeric() or series.dtype.is_temporal():
        return pl.Series([3, 1, 2, None], dtype=pl.Int64).cast(series.dtype)
    if series.dtype == pl.Boolean:
        return pl.Series([True, False, True, None])
    if series.dtype == pl.String:
        return pl.Series(["3", "1", "2", None])
    return series.head(4).extend_constant(None, 4 - min(4, len(series)))


def _joins(part: pl.Expr) -> bool:
    """Whether a part is two others joined by AND or OR, of which the two alone need to be looked at."""
    inputs = part.meta.pop()
    if len(inputs) != 2:
        return False
    a, b = inputs
    return any(part.meta.eq(joined) for joined in (a & b, b & a, a | b, b | a))


def _by_row(part: pl.Expr, rows: pl.DataFrame) -> bool | None:
    """Whether a part has the same values for rows alone; None where it does not fit them."""
    if rows.is_empty():
        return None
    try:
        together = rows.select(part.alias("value"))["value"]
        alone = [rows[i : i + 1].select(part.alias("value"))["value"] for i in range(len(rows))]
        if not part.meta.root_names():
            return all(one.equals(together) for one in alone)
        return all(len(one) == 1 for one in alone) and pl.concat(alone).equals(together)
    except _ERRORS:
        return None
