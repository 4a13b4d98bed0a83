"""Find the columns: named by the user, guessed by name, or suggested where a name is nearly right."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from typing import Any

from miscal.base.arrays import did_you_mean, value_list
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
        chosen.update(dict.fromkeys([pattern] if pattern in known else _matches(pattern, columns, reserved, what)))
    if not chosen:
        raise InputError(f"{what}: no column was named; give names or patterns, e.g. 'x_*'")
    outcome, *_ = *(column for column, role in reserved.items() if role == "correct"), None
    refuse_told(what, chosen, outcome, [column for column, role in reserved.items() if role == "confidence"])
    return tuple(chosen)


def left_out_of(
    patterns: str | Sequence[str], columns: Sequence[str], single: Mapping[str, Any], several: Mapping[str, Any]
) -> tuple[str, ...]:
    """Resolve the columns that play no part."""
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
