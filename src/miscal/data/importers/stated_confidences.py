"""What a model states of its answers, in an entry of a log or in a text, and what judge, person and code say."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from miscal.base.errors import InputError
from miscal.data.importers import logs

NO_NUMBER = "the stated confidence is no number from 0 to 100, or what stands beside the number leaves it open"
"""Why a row is left out that states a confidence which cannot be used."""

IN_TEXT = "confidence_in_text"
"""Column that tells whether the answer's own text states a confidence."""

_OUTCOMES = ("score", "correct")
"""Keys of a score of several values that hold the outcome, the first of them that is there."""

_NUMBER = r"([0-9]{1,3}|[0-9]{0,3}\.[0-9]{1,30}|0,[0-9]{1,30}|[0-9]{1,3},(?:[0-9]{1,2}|[0-9]{4,30}))"
"""A comma before three digits may part thousands, except after a 0."""

_SHARE = rf"{_NUMBER}\s{{0,2}}(?:(%|per ?cent)|(?:/|\(?out of)\s{{0,2}}{_NUMBER}\)?)?"
_AROUND = r"[\s\"'*_`]{0,8}"
_WHOLE = re.compile(rf"{_AROUND}{_SHARE}(?:\s{{0,2}}\({_SHARE}\))?{_AROUND}\.?{_AROUND}", re.IGNORECASE)
"""A confidence and nothing else: a number, its scale, and the same once more in parentheses."""

_MARK = re.compile(r"confidence((?:(?!confidence)[^:=\n]){0,40})[:=]", re.IGNORECASE)
_BEFORE = re.compile(
    r"(?:.*(?:[.!?;,|(\[{>]|\s[-\u2013\u2014]))?[\W_]*(?:[0-9]{1,2}[.)]\s)?(?:(?:my|final|overall)\s)?", re.IGNORECASE
)
_AFTER = re.compile(
    rf"(?: score| level)?{_AROUND}"
    rf"(?:\((?:0 ?(?:-|\u2013|to) ?(?P<top>10{{0,2}}) ?%?|(?P<percent>(?:in )?%))\))?{_AROUND}",
    re.IGNORECASE,
)
_END = re.compile(r",?|,\s*\"[^\"]*\"\s*:.*|(?:[)\]}>]+\.?|\.)(?:\s[^0-9]*)?")
"""What a text may go on with, up to the end of the line: a bracket, a full stop, the next key of JSON."""

_RIGHT = {"yes": 1, "no": 0, "true": 1, "false": 0, "correct": 1, "incorrect": 0, "c": 1, "i": 0, "1": 1, "0": 0}


class Percent(float):
    """A confidence, in percent, that was written with its scale: 90 %, 9/10, 9 out of 10."""


def stated(value: Any, metadata: Any) -> tuple[Any, float | None] | None:
    """Return the outcome and the confidence of a score as they are written; None where it states no confidence.

    The confidence is the entry ``confidence`` of the metadata, as in the evaluations of Inspect's collection (HLE,
    BrowseComp), or of the value, where this holds several; None where the entry is there, but is no number.

    >>> stated("C", {"confidence": 90}), stated({"score": "I", "confidence": "75%"}, None), stated("C", {})
    (('C', 90.0), ('I', 75.0), None)
    """
    if isinstance(value, Mapping) and "confidence" in value:
        outcome = next((value[name] for name in _OUTCOMES if name in value), None)
        return outcome, confidence_of(value["confidence"])
    if isinstance(metadata, Mapping) and "confidence" in metadata:
        return value, confidence_of(metadata["confidence"])
    return None


def confidence_of(value: Any, top: float | None = None) -> float | None:
    """Return a confidence as it is written, in [0, 100]; None where its meaning is not certain.

    This is the one reader of confidences in words. It reads a number, with a decimal point or comma, alone or followed
    by a per cent sign, ``/N`` or ``out of N``, and the same once more in parentheses. Anything else, such as a range or
    "about", is no confidence. `top` is what certainty is on the scale that was asked for, where this is known; a
    `Percent` is returned where the scale is.

    >>> confidence_of("75%"), confidence_of(0.5), confidence_of("0,5"), confidence_of("8/10"), confidence_of("8", 10)
    (75.0, 0.5, 0.5, 80.0, 80.0)
    >>> confidence_of("sure"), confidence_of(101), confidence_of("90-95%"), confidence_of("9/10 (80%)")
    (None, None, None, None)
    """
    if not isinstance(value, str):
        found = logs.number(value)
        return found if found is not None and 0.0 <= found <= 100.0 else None
    written = _WHOLE.fullmatch(value)
    if written is None:
        return None
    first, again = _on_scale(*written.group(1, 2, 3), top=top), _on_scale(*written.group(4, 5, 6), top=top)
    if written[4] is None:
        return first
    # what has no scale of its own may be either: 0.9 (90%), 90 (9/10)
    said = next((one for one in (first, again) if isinstance(one, Percent)), None)
    if said is None or first is None or again is None:
        return None
    meant = [(one,) if isinstance(one, Percent) else (one, 100.0 * one) for one in (first, again)]
    return said if all(any(abs(one - said) < 1e-9 for one in either) for either in meant) else None


def _on_scale(written: str | None, percent: str | None, of: str | None, *, top: float | None) -> float | None:
    """Return one number on its own scale, else on that of `top`."""
    if written is None:
        return None
    value = float(written.replace(",", "."))
    scale = 100.0 if percent else float(of.replace(",", ".")) if of else top
    if scale is None:
        return value if value <= 100.0 else None
    # 50/50 are odds, 90/95 a range, and 0.9/10 or 0.9/100 may be a probability
    unusual = scale > 20.0 and scale != 100.0
    if unusual or value > scale or scale == 0.0 or (not percent and scale > 1.0 >= value and not written.isdigit()):
        return None
    return Percent(value if scale == 100.0 else 100.0 * value / scale)


def in_text(text: Any) -> float | None:
    r"""Return the confidence that a text states last, as it is written; None if its meaning is not certain.

    It stands behind "Confidence:", at the start of a line or of a part of it, and ends the line or the sentence.

    >>> in_text("Answer: Paris\nConfidence: 85%"), in_text("**Confidence:** 0.9"), in_text("I am confident.")
    (85.0, 0.9, None)
    >>> in_text("Confidence (0-10): 8"), in_text("Confidence: 80% sure, maybe 85%"), in_text("Lack of confidence: 20%")
    (80.0, None, None)
    """
    marks = list(_MARK.finditer(text)) if isinstance(text, str) else []
    if not marks:
        return None
    mark = marks[-1]
    line = text[max(0, mark.start() - 40) : mark.start()].rpartition("\n")[2]
    after = _AFTER.fullmatch(mark[1])
    if after is None or not _BEFORE.fullmatch(line):
        return None
    rest = text[mark.end() :].lstrip(" \t\r\n\"'*_`").partition("\n")[0].rstrip()
    ends = (at for at in range(1, min(len(rest), 60) + 1) if _END.fullmatch(rest, at))
    top = 100.0 if after["percent"] else float(after["top"]) if after["top"] else None
    return next((found for at in ends if (found := confidence_of(rest[:at], top)) is not None), None)


def outcome_of(value: Any) -> int:
    """Return 1 for what judges write where an answer is right, 0 where it is wrong; anything else is no usable row.

    >>> outcome_of("yes"), outcome_of(False), outcome_of(1.0), outcome_of("Incorrect")
    (1, 0, 1, 0)
    """
    if isinstance(value, float | int) and value in (0, 1):
        return int(value)
    right = _RIGHT.get(value.strip().lower()) if isinstance(value, str) and len(value) < 20 else None
    if right is None:
        raise logs.UnusableRow("the outcome is neither right nor wrong")
    return right


def shares_of(confidences: Sequence[float], percent: bool | None = None) -> list[float]:
    """Return the stated confidences of one log, in [0, 100], as probabilities, in [0, 1].

    Those written with a per cent sign are percent. `percent` says whether the others are: by default they are if one is
    above 1, and confidences of both kinds are refused.

    >>> shares_of([90, 0, 100]), shares_of([0.9, 1.0]), shares_of([0.9, Percent(50)])
    ([0.9, 0.0, 1.0], [0.9, 1.0], [0.9, 0.5])
    """
    bare = [one for one in confidences if not isinstance(one, Percent)]
    above = sum(one > 1 for one in bare)
    between = sum(0 < one < 1 for one in bare)
    if percent is False and above:
        raise InputError(f"{above} confidences are above 1, so that they are percent: leave out `percent`")
    if percent is None and above and between:
        raise InputError(
            f"{above} confidences are above 1 and {between} lie between 0 and 1: state them all as percent, or all as "
            "probabilities"
        )
    scale = 100.0 if percent or above else 1.0
    return [one / (100.0 if isinstance(one, Percent) else scale) for one in confidences]


# --- answers with a confidence as the rows of a log ------------------------------------------------------------------


def stated_row(
    name: str,
    text: str | None,
    confidence: float | None,
    outcome: Any,
    answer: Any,
    metadata: Mapping[str, Any],
    note: str,
    right: Callable[[Any], int] = outcome_of,
) -> logs.Row:
    """Return the row of an answer whose confidence the model stated; None is one that cannot be read."""
    if confidence is None:
        raise logs.UnusableRow(NO_NUMBER)
    own = {IN_TEXT: in_text(answer) is not None} if isinstance(answer, str) and answer else {}
    return logs.Row(name, text, confidence, right(outcome), metadata={**metadata, **own}, note=note, stated=True)


def answers_log(
    path: Path,
    samples: Iterable[tuple[str, logs.Sample]],
    row_of: Callable[[str, logs.Sample], logs.Row],
    *,
    notes: Callable[[Sequence[logs.Row]], Iterable[str]] = lambda rows: (),
    without: tuple[Sequence[str], str | Callable[[], logs.Log]] = ((), ""),
    after: Callable[[list[logs.Row]], list[logs.Row]] = list,
) -> logs.Log:
    """Put the answers of a log into rows.

    ``samples`` are records of the log, each beside the id by which it is named where it is left out. ``without`` holds
    reasons why answers have no confidence, and what the log lacks if no row is left for one of them, or what else it is
    read as; ``after`` is done to the rows once all confidences are probabilities.
    """
    rows, left_out = [], defaultdict(list)
    for name, sample in samples:
        try:
            row = row_of(name, sample)
            # what was stated may be percent, and is checked with all others
            if not (row.stated or row.confidence is None or 0 <= row.confidence <= 1):
                raise logs.UnusableRow("their confidence is no number from 0 to 1")
            rows.append(row)
        except logs.UnusableRow as reason:
            left_out[str(reason)].append(name)
    reasons, refusal = without
    if not rows and left_out.keys() & {*reasons}:
        if callable(refusal):
            return refusal()
        raise logs.UnusableLog(f"{path} holds no {refusal}")
    try:
        # those that are as they were stated become probabilities, all on one scale
        shares = iter(shares_of([row.confidence for row in rows if row.stated]))
    except InputError as error:
        raise logs.UnusableLog(f"{path}: {error}") from error
    rows = after([replace(row, confidence=next(shares)) if row.stated else row for row in rows])
    return logs.log_of(path, rows, left_out, [*notes(rows), *certain(path, rows)])


def certain(path: Path, rows: Sequence[logs.Row]) -> list[str]:
    """Warn of certainty that nobody may have stated: 100 is also what judges write where an answer states nothing.

    Where the texts of the answers are in the log, the answers of 100 % that state none are counted, beside the share of
    100 % among the answers that do state one. Where no text of the log states any, confidences come from elsewhere, and
    the texts say nothing.
    """
    rows = [row for row in rows if row.stated]
    sure = [row for row in rows if row.confidence == 1.0]
    if not sure:
        return []
    note = f"{path.name}: {len(sure):,} of {len(rows):,} stated confidences are 100 %"
    own = [row for row in rows if row.metadata.get(IN_TEXT) is True]
    silent = [row for row in sure if row.metadata.get(IN_TEXT) is False]
    if own and silent:
        return [
            f"ALARM {note}, and the text of {len(silent):,} of them states none, so that they are most likely missing "
            f"values; of the answers that state one, {sum(row.confidence == 1.0 for row in own):,} of {len(own):,} are "
            f"at 100 %: leave them out with --where '{IN_TEXT} == true' in miscal discover"
        ]
    if len(own) == len(rows):
        return []
    return [
        f"{note}; the judges of HLE and BrowseComp write 100 where an answer states none, so that some of these may be "
        "missing values"
    ]


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
        found = logs.number(given)
        if found is not None and math.isfinite(found):
            return found
        if isinstance(given, str) and given.strip().lower() in _VERDICTS:
            return _VERDICTS[given.strip().lower()]
    return None


def judged_log(
    path: Path, tool: str, judgements: Sequence[Judgement], judged: Mapping[str, Judged], expected: str
) -> logs.Log:
    """Put the judgements of each answer into one row: a column for each name and kind of judge.

    The columns ``judge`` and ``human`` repeat two of them: those of the name that most answers have both of; without
    such a name, the most frequent of each. What code says is taken for the judge where no model judged. A file without
    judgements is refused as one that holds nothing of what was `expected`.
    """
    if not judgements:
        raise logs.UnusableLog(f"{path} holds no {expected}")
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
        rows.append(
            logs.Row(subject, text, judge=single.get(judge), human=human and single.get(human), metadata=metadata)
        )
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
        notes.append(f"{tool}: the inputs are not in this file, so that there is no column text")
    return logs.log_of(path, rows, left_out, notes)


def _chosen(
    path: Path, values: Mapping[str, Mapping[tuple[str, By], Any]]
) -> tuple[tuple[str, By], tuple[str, By] | None]:
    """Return name and kind of the judge's score and of the person's verdict, None for the latter if nobody judged."""
    counts = Counter(key for own in values.values() for key in own).most_common()
    judges: By = "judge" if any(by == "judge" for (_, by), _ in counts) else "code"
    names = [name for (name, by), _ in counts if by == judges]
    if not names:
        raise logs.UnusableLog(
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
