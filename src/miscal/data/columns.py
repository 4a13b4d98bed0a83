"""Which column plays which part, and how the data are read: every option of it, in one place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, Literal

from miscal.base.errors import InputError
from miscal.base.options import parameter

Column = Any
"""A column by its name, or in Python its values, one for each row."""
Names = str | float | Sequence[str | float]
"""Columns by name or pattern: separated by commas, or a list."""


def name_of(name: Any, *, what: str) -> str:
    """Return the name of a column as tables are read: a number, as pandas names columns, is written as text."""
    if isinstance(name, Real) and not isinstance(name, bool):
        return str(name)
    if not isinstance(name, str) or not name:
        shown = "an empty one" if name == "" else f"a value of type {type(name).__name__}"
        raise InputError(f"{what}: the name of a column must be text or a number; got {shown}: rename the column first")
    return str(name)


def split_names(names: str | Sequence[str]) -> tuple[str, ...]:
    """Separate a comma-separated list of names; a list of names is taken as it is.

    `names`: in a string, a name that holds a comma, or begins or ends with a blank, stands in double quotation marks,
    as in csv.

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
        wrong = f"the quotation marks of {open_ended[0]!r} are not closed, or do not enclose the whole name"
        raise InputError(f'names: {wrong}; write a name with a comma as in csv: "last, first",age')
    return tuple(part[1:-1].replace('""', '"') if part.startswith('"') else part for part in parts if part)


_QUOTED = re.compile('"(?:[^"]|"")*"')
# a name up to the next comma that no quotation marks enclose
_NAME = re.compile('\\s*"(?:[^"]|"")*"[^,]*|[^,]+')


def several(texts: list[str]) -> tuple[str, ...]:
    """Read an option that may be repeated, each time with one name or several.

    Examples
    --------
    >>> several(["year,topic", '"last, first"'])
    ('year', 'topic', 'last, first')
    """
    return tuple(dict.fromkeys(name for text in texts for name in split_names(text)))


@dataclass(frozen=True)
class RowColumns:
    """What old and new rows have in common."""

    confidence: Column = parameter(
        "Column of the model's confidence, in [0, 1]. Default: confidence, or a usual synonym.", metavar="COL"
    )
    correct: Column = parameter("Column of the outcome, 0 or 1. Default: correct, or a usual synonym.", metavar="COL")
    probability: Column = parameter(
        "Column of the predicted probability of an event, in [0, 1], instead of --confidence: a risk, a forecast. "
        "Default with --event: probability, or a usual synonym.",
        metavar="COL",
    )
    event: Column = parameter(
        "Column that says whether the event happened, instead of --correct: 0/1, false/true or no/yes, or any values "
        "with --positive. Default with --probability: event, or a usual synonym.",
        metavar="COL",
    )
    positive: Any = parameter(
        "The value of the outcome that counts as 1, e.g. late of --event, PASS of --correct or --human.",
        metavar="VALUE",
    )
    judge: Column = parameter(
        "What a judge says of each answer, instead of --confidence: a probability, a scale such as 1 to 5, or pass and "
        "fail; higher where it approves more.",
        metavar="COL",
    )
    probabilities: Any = parameter(
        "Predicted probabilities of three or more classes, which sum to 1, or their logarithms, instead of "
        "--confidence: columns by name or pattern, such as 'p_*', or a matrix (.npy or .safetensors) with a row for "
        "each row of DATA, and --classes.",
        metavar="NAMES",
    )
    label: Column = parameter(
        "Column of the class that each row has, with --probabilities. Default: label, or a usual synonym.",
        metavar="COL",
    )
    embeddings: Any = parameter(
        "Embeddings of the inputs (.npy or .safetensors): one row for each row of DATA, in the same order.",
        metavar="FILE",
    )
    features: Names | None = parameter(
        "Columns that describe the inputs, alone or beside embeddings or texts: names or patterns, such as "
        "'x_*,age', or auto for every column that plays no other part. Numbers, dates, categories of any number of "
        "levels, with blanks. A name with a comma stands in double quotation marks, as in csv. The default is auto "
        "where nothing else says what the inputs are.",
        metavar="NAMES",
    )
    text: Column = parameter(
        "Column of texts, which are shown. They are inputs, too, beside the columns named, unless embeddings are "
        "given.",
        metavar="COL",
    )
    where: str | None = parameter("Condition that rows must meet, e.g. \"model == 'gpt-4o'\".", metavar="EXPR")
    on_invalid: Literal["error", "drop"] = parameter(
        "What to do if rows have missing or invalid values: stop with an error, or drop them.", "error"
    )
    encoding: str = parameter("Encoding of csv and jsonl files.", "utf-8", metavar="NAME")


@dataclass(frozen=True)
class Columns(RowColumns):
    """Columns of rows to learn from, and how they are read."""

    human: Column = parameter(
        "With --judge: whether people approve (1/0, pass/fail, yes/no; --positive names another word). Blank where "
        "nobody has looked: such rows still say how often people would approve.",
        metavar="COL",
    )
    labelling_probability: Column = parameter(
        "With --judge: the probability by which each row was chosen for people to judge, where they differ.",
        metavar="COL",
    )
    classes: Any = parameter(
        "Names of the classes as the labels write them, in the order of --probabilities: a file with one on each line, "
        "or a list separated by commas. Default: what the pattern of the columns leaves open.",
        metavar="FILE",
    )
    metadata: Any = parameter(
        "Columns that say of what kind a row is, or auto for every column that plays no other part. The field and the "
        "correction see them, as they see --features, so `miscal calibrate` needs them too; beyond that, they come "
        "first in names, and colour the maps. A name with a comma stands in double quotation marks, as in csv.",
        (),
        metavar="COL,COL",
    )
    names_only: Any = parameter(
        "Columns that name what is found like --metadata, but that new rows will not have, so that neither field nor "
        "correction sees them; may be repeated.",
        (),
        metavar="COL",
        repeat=several,
    )
    split: Column = parameter(
        "Column that says train, val or test for each row; then the test rows alone are evaluated. Default: none.",
        metavar="COL",
    )
    allow_leak: Names = parameter(
        "Columns to use although they tell the outcome as only what comes after it, because they are known before it. "
        "Others that do are left out, with an alarm.",
        (),
        metavar="COL,COL",
    )
    leave_out: Names = parameter(
        "Columns, by name or pattern, that auto passes over: they play no part.", (), metavar="COL,COL"
    )
    group: Column = parameter(
        "What is counted once: auto finds it (equal inputs, near copies, an identity, a period of dates); the "
        "values of a column, or COL:day for the days of a column of dates (hour, week, month and year likewise); none: "
        "every row.",
        "auto",
        metavar="auto|COL|none",
    )
    weight: Column = parameter(
        "Column of weights: for how many rows each stands, up to a common factor.", metavar="COL"
    )
    time: Column = parameter(
        "Column of dates, or of numbers that rise with time: when each row was predicted. The report then shows field "
        "and findings over time, and --evidence time can go by it. It is no input unless --features names it.",
        metavar="COL",
    )
    embed_model: str | None = parameter(
        "What turns --text into numbers: tfidf, or a sentence-transformers folder or hub id.", metavar="MODEL"
    )


SINGLE = tuple(
    one.name
    for one in fields(Columns)
    if "COL" in (one.metadata["metavar"] or "").split("|") and not one.metadata["repeat"]
)
"""Options that name one column each."""

OF_OUTCOMES = ("correct", "event", "positive", "label", "group")
"""Options that rows without outcomes do not have."""


@dataclass(frozen=True)
class NewColumns(RowColumns):
    """Columns of rows that come after: by default those of the run or its model."""

    judge: Column = parameter("Column of the judge's score. Default: that of the run.", metavar="COL")
    probabilities: Any = parameter(
        "For a model of several classes: the columns of their probabilities in the order of the classes, comma-"
        "separated, or a matrix (.npy or .safetensors) with a row for each row of DATA. Default: the columns that the "
        "model was fitted on.",
        metavar="NAMES",
    )
    label: Column = parameter(
        "For a run of several classes: column of the class that each row has. Default: that of the run.", metavar="COL"
    )
    missing_as_blank: Names = parameter(
        "Column of the model that DATA does not have, or has no value of in some rows: it is taken as blank there, and "
        "the reason says so. The summary of the run has what that costs. May be repeated.",
        (),
        metavar="COL",
        repeat=several,
    )
    group: Column = parameter(
        "Column of groups whose rows count as one, or none; fixed at the first look. Default: that of the run.",
        metavar="COL",
    )
    on_invalid: Literal["error", "drop", "null"] = parameter(
        "What to do if rows have missing or invalid values: stop with an error, drop them, or keep them with the "
        "global correction (none where the confidence is missing) and a reason (null).",
        "error",
    )
