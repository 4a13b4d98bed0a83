"""Logs of decision models, which answer typed questions about a state with probabilities.

A line is a request with its response, whose ``answers`` stand by question, or a row of a benchmark (``item_id``,
``epoch``, ``output``, ``target``) below a header. Every question and repeat of an item is a row; they have one ``id``,
and so are one unit. The confidence is the probability of the decision: what a log calls ``confidence`` says how
concentrated the distribution is, and is kept as ``stated_confidence``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from miscal.data.importers import logs
from miscal.data.importers.stated_confidences import answers_log

FILES = ("*.jsonl", "*.ndjson", "*.json")

ROUNDING = 0.03
"""How far from 1 the probabilities of an answer may sum: they are often rounded to .01."""

MOST_COLUMNS = 10
"""Options that get a column each, where all answers of a log have the same."""

KINDS = ("noul", "choice", "score")
NO_LABEL = "there is no label"
GIVE_LABELS = (
    "labels: give them by --labels FILE, a table with the columns id, question and label, or in each line as labels: "
    "{question: label}"
)
NOTE = (
    "decisions: confidence is the probability of the decision, of a noul the likelier of yes and no, of a score the "
    "likeliest level; what the log calls confidence, how concentrated the distribution is, is stated_confidence"
)

_TRUTH = {"true": "true", "false": "false", "yes": "true", "no": "false", "1": "true", "0": "false"}
_REQUEST, _RESPONSE, LABELS = ("request", "input"), ("response", "output"), ("labels", "targets", "expected")
_ID, _LABEL = ("id", "item_id"), ("label", "target", "expected")
_READ = {*_REQUEST, *_RESPONSE, *LABELS, *_ID, *_LABEL, "state", "answers", "question", "questions", "model"}
_READ |= {"epoch", "repeat", "type", "malformed"}

Labels = Mapping[tuple[str, str | None], Any]
"""What is right, by item and question; None stands for any question."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question about an item: its type and criteria, its answer, what is right, and what else the log tells."""

    item: str
    name: str | None
    repeat: int
    model: Any
    question: dict[str, Any]
    answer: dict[str, Any]
    label: Any
    text: str | None
    about: dict[str, Any]

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from all others."""
        return self.item, self.name, self.repeat, self.model

    @property
    def answered(self) -> bool:
        """Whether there is an answer, malformed or not."""
        kinds = self.answer.get("type") in KINDS
        return kinds or not {"noul", "probabilities", "malformed"}.isdisjoint(self.answer)


def labels_of(path: Path) -> Labels:
    """Read a table of labels: id, label and, where an item has several questions, question."""
    found: dict[tuple[str, str | None], Any] = {}
    for row in logs.rows_of(path):
        item, label, name = _first(row, _ID), _first(row, _LABEL), row.get("question")
        key = str(item), None if name is None else str(name)
        if item is not None and label is not None and found.setdefault(key, label) != label:
            raise logs.UnusableLog(f"{path} holds two labels for id {key[0]!r}: give one for each id and question")
    if not found:
        raise logs.UnusableLog(f"{path} holds no labels: give a table with the columns id, question and label")
    return found


def read(path: Path, labels: Labels | None = None) -> logs.Log:
    """Read one log; labels that are given go before those of the log."""
    content = logs.whole_or_records(path)
    lines = list(map(logs.dict_in, content if isinstance(content, list) else [content]))
    every = list(_every(path, lines))
    if not any(one.answered for one in every):
        raise logs.UnusableLog(
            f"{path} holds no answers of a decision model: lines with answers by question, each with its type and "
            "probabilities, or rows of a benchmark with item_id, output and target"
        )
    if labels is not None and not {one.item for one in every} & {item for item, _ in labels}:
        raise logs.UnusableLog(
            f"{path} holds no item that has a label: its ids are such as {every[0].item!r}, those of the labels such "
            f"as {next(iter(labels))[0]!r}; give the ids that the log has"
        )
    first: dict[tuple[Any, ...], Any] = {}
    whole = [one for one in every if one.answered and not one.answer.get("malformed")]
    twice = {one.key for one in whole if first.setdefault(one.key, one.answer) != one.answer}
    named = [(f"{one.item}/{one.name or 'answer'}/{one.repeat}", one) for one in every]

    def notes(rows: Sequence[logs.Row]) -> Iterator[str]:
        yield f"{len(rows):,} answers to {len({row.id for row in rows}):,} items: all answers to one item count once"
        if n_other := sum(row.confidence < max(row.choice_probs or (0.0,)) - ROUNDING for row in rows):
            yield f"{path.name}: in {n_other:,} rows the decision is not the likeliest option; they are kept"

    row_of = lambda _, one: _row(one, labels or {}, one.key in twice)  # noqa: E731
    log = answers_log(path, named, row_of, notes=notes, without=([NO_LABEL], GIVE_LABELS), after=_with_shares)
    bench = next((line["bench"] for line in lines if isinstance(line.get("bench"), str)), "")
    return replace(log, ids_of=bench)


def _every(path: Path, lines: Sequence[dict[str, Any]]) -> Iterator[Asked]:
    """Yield each question of each line; where the log has no ids, rows of equal state are one item."""
    header: dict[str, Any] = {}
    repeats: Counter[tuple[Any, ...]] = Counter()
    for at, line in enumerate(lines, start=1):
        if line.get("type") == "header":
            header = line
            continue
        request = next(
            (one for name in _REQUEST if {"state", "questions"} & (one := logs.dict_in(line, name)).keys()), line
        )
        response = next((one for name in _RESPONSE if (one := logs.dict_in(line, name))), line)
        state = request.get("state", line.get("state", line.get("input") if request is line else None))
        item = _first(line, _ID, _first(request, _ID))
        if item is None:
            same = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()[:12]
            item = f"state {same}" if state else f"{path.stem}, line {at}"
        questions = logs.dict_in(request, "questions")
        answers = logs.dict_in(response, "answers") or logs.dict_in(line, "answers")
        right = next((one for name in LABELS if (one := logs.dict_in(line, name))), {})
        if not questions and not answers:
            name = _first(line, ("question",), _first(header, ("bench",)))
            answers, right = {name: response}, {name: _first(line, _LABEL)}
        model = _first(response, ("model",), _first(request, ("model",), _first(line, ("model",))))
        about = logs.scalars(header | line, *_READ) | logs.scalars(logs.dict_in(state))
        text = state if isinstance(state, str) else json.dumps(state, ensure_ascii=False) if state else None
        for name in dict.fromkeys([*questions, *answers]):
            answer = logs.dict_in(answers, name) if line.get("malformed") in (None, False) else {"malformed": True}
            told = logs.number(line.get("epoch", line.get("repeat")))
            repeat = int(told) if told is not None and math.isfinite(told) else repeats[item, name, model]
            repeats[item, name, model] += 1
            question, label = logs.dict_in(questions, name), right.get(name)
            yield Asked(str(item), name, repeat, model, question, answer, label, text, about)


def _first(values: Mapping[str, Any], names: Sequence[str], default: Any = None) -> Any:
    """Return the first text, number or truth value that is there."""
    found = (values[name] for name in names if isinstance(values.get(name), str | int | float))
    return next((one for one in found if one == one and one != ""), default)


# --- one answer ------------------------------------------------------------------------------------------------------


def _row(one: Asked, labels: Labels, twice: bool) -> logs.Row:
    if one.answer.get("malformed"):
        raise logs.UnusableRow("the answer is malformed")
    if not one.answered:
        raise logs.UnusableRow("there is no answer")
    if twice:
        raise logs.UnusableRow("there are two answers to one question and repeat; give each run in a log of its own")
    kind = one.answer.get("type", one.question.get("type", "noul" if "noul" in one.answer else None))
    if kind not in KINDS or one.question.get("type", kind) != kind:
        raise logs.UnusableRow(f"the type is none of {', '.join(KINDS)}, or not that of the question")
    words = _criteria(one.question, kind)
    shares = _noul(one.answer) if kind == "noul" else _options(one.answer, words)
    words |= logs.dict_in(one.answer, "legend")
    total = math.fsum(shares.values())
    if abs(total - 1.0) > ROUNDING:
        raise logs.UnusableRow(f"the probabilities do not sum to 1 (within {ROUNDING}, for rounding)")
    decided = one.answer.get("level" if kind == "score" else "choice")
    decision = max(shares, key=shares.__getitem__) if decided is None else _option(decided, shares, words)
    if decision is None:
        raise logs.UnusableRow("the decision is none of the options")
    given = labels.get((one.item, one.name), labels.get((one.item, None), one.label))
    if given is None:
        raise logs.UnusableRow(NO_LABEL)
    target = _option(given, shares, words)
    if target is None:
        raise logs.UnusableRow("the label is none of the options")
    own = {"question": one.name, "type": kind, "repeat": one.repeat, "model": one.model, "chosen_answer": decision}
    own["target"] = target
    if logs.number(one.answer.get("confidence")) is not None:
        own["stated_confidence"] = one.answer["confidence"]
    more = one.about | logs.scalars(one.answer, "type", "noul", "choice", "confidence")
    return logs.Row(
        id=one.item,
        within=one.key[1:],
        text=one.text,
        confidence=shares[decision],
        correct=int(decision == target),
        choices=tuple(shares),
        choice_probs=tuple(share / total for share in shares.values()),
        metadata=own | {f"source_{name}" if name in own else name: value for name, value in more.items()},
        note=NOTE,
    )


def _noul(answer: Mapping[str, Any]) -> dict[str, float]:
    """Return the probabilities of yes and no."""
    given = {_TRUTH.get(name.lower()): _probability(one) for name, one in logs.dict_in(answer, "probabilities").items()}
    yes = _probability(answer["noul"]) if answer.get("noul") is not None else given.get("true")
    if yes is None:
        raise logs.UnusableRow("there are no probabilities")
    if not given.keys() <= {"true", "false"} or abs(given.get("true", yes) - yes) > ROUNDING:
        raise logs.UnusableRow("the probabilities of a noul are not those of true and false, or others than its noul")
    return {"true": yes, "false": given.get("false", 1.0 - yes)}


def _options(answer: Mapping[str, Any], criteria: Mapping[str, Any]) -> dict[str, float]:
    """Return the probability of each option; one of the criteria that the answer leaves out has none."""
    given = {name: _probability(one) for name, one in logs.dict_in(answer, "probabilities").items()}
    if not given:
        raise logs.UnusableRow("there are no probabilities")
    known = criteria or given
    if len(known) < 2 or not given.keys() <= known.keys():
        raise logs.UnusableRow("an option is not among the criteria of its question, or there is one option alone")
    return {name: given.get(name, 0.0) for name in known}


def _criteria(question: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the options with their texts: levels are listed, and known by their places."""
    listed = [] if kind == "noul" else logs.list_in(question, "criteria")
    places = {str(at if kind == "score" else one): one for at, one in enumerate(listed)}
    return places if kind == "noul" or listed else dict(logs.dict_in(question, "criteria"))


def _probability(value: Any) -> float:
    found = logs.number(value)
    if found is None or not -1e-6 <= found <= 1 + 1e-6:  # NaN neither
        raise logs.UnusableRow("a probability is not a number from 0 to 1")
    return min(1.0, max(0.0, found))


def _option(value: Any, options: Mapping[str, float], words: Mapping[str, Any]) -> str | None:
    """Return the option that a decision or label names: as it is, by its text, or by a word for true and false."""
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    text = str(value).lower() if isinstance(value, bool) else str(value)
    named = [name for name, word in words.items() if word == value and name in options]
    truth = _TRUTH.get(text.lower()) if options.keys() == {"true", "false"} else None
    found = text if text in options else named[0] if len(named) == 1 else truth
    return found if found in options else None


def _with_shares(rows: Sequence[logs.Row]) -> list[logs.Row]:
    """Give each option a column, where all rows have the same few."""
    if len({row.choices for row in rows}) != 1 or len(rows[0].choices or ()) > MOST_COLUMNS:
        return list(rows)
    names = [f"p_{name}" for name in rows[0].choices or ()]
    return [
        replace(row, metadata={**row.metadata, **dict(zip(names, row.choice_probs or (), strict=True))}) for row in rows
    ]
