"""Judgements of one answer by a judge model, by a person and by code, as the columns of one row."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from miscal.data.importers.imported_rows import JudgedRow, Log, UnusableLog, log_of, number

By = Literal["judge", "human", "code"]

_VERDICTS = {
    "correct": 1.0, "incorrect": 0.0, "pass": 1.0, "fail": 0.0, "passed": 1.0, "failed": 0.0,
    "true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0, "good": 1.0, "bad": 0.0,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judgement of what `subject` names; ``value`` is None where it is neither a number nor a known word."""

    subject: str
    name: str
    by: By
    value: float | None


Judged = tuple[str | None, Mapping[str, Any]]
"""What was judged: its input, and whatever else is known of it."""


def value_of(score: Any, label: Any = None) -> float | None:
    """Return a score as it stands, or what a word such as "pass" stands for; None if it is neither.

    >>> value_of(4), value_of(None, "fail"), value_of(True), value_of("0.5"), value_of("unsure")
    (4.0, 0.0, 1.0, 0.5, None)
    """
    for given in (score, label):
        if isinstance(given, bool):
            return float(given)
        found = number(given)
        if found is not None and math.isfinite(found):
            return found
        if isinstance(given, str) and given.strip().lower() in _VERDICTS:
            return _VERDICTS[given.strip().lower()]
    return None


def judged_log(
    path: Path, tool: str, judgements: Sequence[Judgement], judged: Mapping[str, Judged], expected: str
) -> Log:
    """Put the judgements of each answer into one row: a column for each name and kind of judge.

    The columns ``judge`` and ``human`` repeat two of them: those of the name that most answers have both of; without
    such a name, the most frequent of each. What code says is taken for the judge where no model judged. A file without
    judgements is refused as one that holds nothing of what was `expected`.
    """
    if not judgements:
        raise UnusableLog(f"{path} holds no {expected}")
    values: dict[str, dict[tuple[str, By], list[float]]] = defaultdict(lambda: defaultdict(list))
    left_out: dict[str, list[str]] = {}
    for one in judgements:
        if one.value is not None:
            values[one.subject][one.name, one.by].append(one.value)
    if unread := [one.subject for one in judgements if one.value is None]:
        left_out["the judgement is neither a number nor a word such as pass or fail"] = unread
    judge, human = _chosen(path, values)
    rows = []
    for subject, own in values.items():
        text, about = judged.get(subject) or (None, {})
        single = {key: _one(given, key[1]) for key, given in own.items()}
        metadata = {**about, **{f"{name}_{by}": value for (name, by), value in single.items()}}
        rows.append(JudgedRow(subject, text, single.get(judge), human and single.get(human), metadata))
    if unjudged := [row.id for row in rows if row.judge is None]:
        left_out["there is no score of the judge"] = unjudged
    rows = [row for row in rows if row.judge is not None]
    notes = [f"{tool}: column judge is {judge[0]} by {'code' if judge[1] == 'code' else 'an LLM'}, as it stands"]
    if human:
        n_verdicts = sum(row.human is not None for row in rows)
        notes.append(f"{tool}: column human is {human[0]} by people; {n_verdicts:,} of {len(rows):,} rows have it")
    else:
        notes.append(
            f"{tool}: nobody has judged yet, so column human is empty: fill it in for some of the rows, 1 or 0"
        )
    others = dict.fromkeys(
        name for row in rows for name in row.metadata if name.endswith(("_judge", "_human", "_code"))
    )
    notes.append(f"columns of judgements: {', '.join(others)}")
    if n_several := sum(any(len(given) > 1 for given in own.values()) for own in values.values()):
        notes.append(
            f"{n_several:,} rows were judged more than once under one name: their mean is taken, and of people who "
            "said 0 or 1 what most said, or nothing where they are equally many"
        )
    if not any(row.text for row in rows):
        notes.append(f"{tool}: the inputs are not in this file, so that column text is empty")
    return log_of(path, rows, left_out, notes)


def _chosen(
    path: Path, values: Mapping[str, Mapping[tuple[str, By], Any]]
) -> tuple[tuple[str, By], tuple[str, By] | None]:
    """Return name and kind of the judge's score and of the person's verdict, None for the latter if nobody judged."""
    counts = Counter(key for own in values.values() for key in own).most_common()
    judges: By = "judge" if any(by == "judge" for (_, by), _ in counts) else "code"
    names = [name for (name, by), _ in counts if by == judges]
    if not names:
        raise UnusableLog(
            f"{path} holds no score of a judge (an LLM or code), only "
            + ("verdicts of people" if counts else "judgements that are no numbers")
            + ": export the judge's scores of the same answers, too"
        )
    both = Counter(name for own in values.values() for name, by in own if by == judges and (name, "human") in own)
    if both:
        name = both.most_common(1)[0][0]
        return (name, judges), (name, "human")
    return (names[0], judges), next((key for key, _ in counts if key[1] == "human"), None)


def _one(given: Sequence[float], by: By) -> float | None:
    """Return the mean; of people who said 0 or 1, what most said, and None where they are equally many."""
    mean = math.fsum(given) / len(given)
    if by != "human" or not set(given) <= {0.0, 1.0}:
        return mean
    return None if mean == 0.5 else float(mean > 0.5)


def text_of_value(value: Any) -> str | None:
    """Return an input as text: of messages and objects, the text in them that was sent last.

    >>> text_of_value("1 + 1?"), text_of_value([{"role": "user", "content": "1 + 1?"}]), text_of_value({"q": "1 + 1?"})
    ('1 + 1?', '1 + 1?', '1 + 1?')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        for name in ("messages", "content", "question", "query", "input", "prompt", "text"):
            if name in value:
                return text_of_value(value[name])
        return next((one for one in value.values() if isinstance(one, str)), None)
    if isinstance(value, list):
        return next((text for one in reversed(value) if (text := text_of_value(one))), None)
    return None
