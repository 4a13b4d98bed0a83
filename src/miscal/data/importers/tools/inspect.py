"""Logs of Inspect: ``.eval`` archives and ``.json`` files.

The confidence is the one that the model stated, where a score holds it. Otherwise it is the probability of the letter
that was answered, renormalised over the letters of the choices, at the token that gave the answer.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from miscal.base.errors import CorruptFile
from miscal.data.importers import logs
from miscal.data.importers.stated_confidences import answers_log, stated, stated_row

FILES = ("*.eval", "*.json")

_SAMPLE = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)")

_ANSWER = re.compile(r"ANSWER\s*:[\s$*(]*([A-Za-z])(?![A-Za-z\d])", re.IGNORECASE)
_AROUND = " \t\r\n:.,;()[]*$\"'`"
_BLANKS = str.maketrans({"\u0120": " ", "\u2581": " ", "\u010a": "\n"})
"""How byte-level and SentencePiece vocabularies write blank and line break."""

MOST_MASS = 1.01
"""Sum of probabilities that rounded log-probabilities may reach."""

_SHUFFLED = "Choices were shuffled"
_OPTIONS = ":\n\n"
_ANSWERED = "\nShuffled answer:\n"

STATED = "Inspect: confidence is what the model stated, as the score holds it"
LETTERS = (
    "Inspect: confidence is the probability of the letter answered, renormalised over all letters; where the model "
    "reasoned first, it is the probability given that reasoning"
)
NO_LOGPROBS = "no log-probabilities of the generated tokens"
NO_TOP = "no top_logprobs, so the probabilities of the other letters are unknown"
REFUSAL = (
    "probabilities: run it again with logprobs and top_logprobs of at least the number of choices (inspect eval "
    "--logprobs --top-logprobs 10), on a service that returns them"
)


def read(path: Path) -> logs.Log:
    """Read one log."""
    with path.open("rb") as stream:
        # by content, since a log may have any name
        packed = stream.read(4) == logs.MAGIC
    if packed:
        with logs.Archive(path) as members:
            return _log(path, _header(path, members), _unpacked(path, members))
    log = logs.whole(path)
    if not isinstance(logs.get_in(log, "eval"), dict):
        raise logs.UnusableLog(f"{path} is not a log of Inspect, which is an object with the key eval")
    if not isinstance(log.get("samples"), list):
        raise logs.UnusableLog(
            f"{path} holds no samples: it was written without them (--no-log-samples), or the run stopped early"
        )
    return _log(path, log, log["samples"])


def _header(path: Path, members: logs.Archive) -> dict[str, Any]:
    """Return the header; of a run that broke off, what was known at its start."""
    for name in ("header.json", "_journal/start.json"):
        if name in members.namelist():
            header = logs.parsed(members.content(name), f"{path}/{name}")
            if isinstance(logs.get_in(header, "eval"), dict):
                return header
    raise logs.UnusableLog(f"{path} is not a log of Inspect: the archive has no header.json with the key eval")


def _unpacked(path: Path, members: logs.Archive) -> Iterator[Any]:
    """Yield the samples one by one: together they may be larger than memory."""
    for name in dict.fromkeys(members.namelist()):
        if _SAMPLE.fullmatch(name):
            sample = logs.parsed(members.content(name), f"{path}/{name}")
            beside = name.removesuffix("sample.json") + "metadata.json"
            if name.endswith("/sample.json") and beside in members.namelist() and isinstance(sample, dict):
                sample["metadata"] = logs.parsed(members.content(beside), f"{path}/{beside}")
            yield sample


def _log(path: Path, header: dict[str, Any], samples: Iterable[Any]) -> logs.Log:
    origin = {"task": header["eval"].get("task"), "model": header["eval"].get("model")}
    params = [logs.get_in(step, "params", "shuffle") for step in logs.list_in(header, "plan", "steps")]
    # a solver of the log's plan that shuffled the choices after the sample was recorded
    shuffled = any(one not in (None, False) for one in params)

    def named() -> Iterator[tuple[str, dict[str, Any]]]:
        for number, sample in enumerate(samples):
            if "id" not in logs.dict_in(sample):
                raise CorruptFile(f"{path}: sample {number} is not an object with an id; the log is damaged")
            yield f"{sample['id']}/epoch {sample.get('epoch', 1)}", sample

    return answers_log(
        path,
        named(),
        lambda name, sample: _row(name, sample, origin, shuffled=shuffled),
        notes=lambda rows: _notes(path, header, rows),
        without=([NO_LOGPROBS, NO_TOP], REFUSAL),
    )


def _row(name: str, sample: dict[str, Any], origin: dict[str, Any], *, shuffled: bool) -> logs.Row:
    text = _text(sample.get("input"))
    scores = [one for one in logs.dict_in(sample, "scores").values() if isinstance(one, dict)]
    said = next((one for one in (stated(s.get("value"), s.get("metadata")) for s in scores) if one is not None), None)
    choices = sample.get("choices")
    if said is None and (not isinstance(choices, list) or not 2 <= len(choices) <= 26):
        raise logs.UnusableRow("fewer than 2 or more than 26 choices")
    if sample.get("error"):
        raise logs.UnusableRow("the sample ended in an error")
    own = {
        "sample_id": str(sample["id"]),
        "epoch": sample.get("epoch", 1),
        **logs.scalars(logs.dict_in(sample, "metadata")),
    }
    if said is not None:
        answer = logs.get_in(sample, "output", "completion")
        return stated_row(name, text, said[1], said[0], answer, {**origin, **own}, STATED, right_or_wrong)
    choices = tuple(map(str, logs.list_in(choices)))
    correct, answer, explanation, by_choice = _verdict(sample.get("scores"))
    tokens = logs.list_in(sample, "output", "choices", 0, "logprobs", "content")
    if not tokens:
        raise logs.UnusableRow(NO_LOGPROBS)
    token = answer_of([one for one in tokens if isinstance(one, dict)], len(choices))
    if len(top_of(token)) < 2:
        raise logs.UnusableRow(NO_TOP)
    # the scorer called choice says nothing of a shuffle that left every choice in its place; others never do
    order = sent_order(explanation, choices, unknown=shuffled and not by_choice)
    sums = letter_sums(token, len(choices))
    mass = math.fsum(sums.values())
    probs = [0.0] * len(choices)
    for place, probability in sums.items():
        probs[order[place]] = probability / mass
    predicted = order[letter_of(token["token"], len(choices))]  # type: ignore[index]
    if answer not in (None, predicted):
        raise logs.UnusableRow("the answer that was scored differs from the letter that was generated")
    right = right_positions(sample.get("target"), len(choices))
    return logs.Row(
        id=name,
        text=text,
        confidence=probs[predicted],
        correct=correct,
        predicted=predicted,
        choices=choices,
        choice_probs=tuple(probs),
        candidate_mass=min(1.0, mass),
        answer_index=right[0] if len(right) == 1 else None,
        metadata={**origin, "truncated": len(sums) < len(choices), **own},
        note=LETTERS,
    )


def _text(given: Any) -> str | None:
    """Return the input; of messages, the last of the user."""
    if isinstance(given, list):
        asked = [logs.get_in(one, "content") for one in given if logs.get_in(one, "role") == "user"]
        given = asked[-1] if asked else None
        if isinstance(given, list):
            given = "\n".join(part for one in given if isinstance(part := logs.get_in(one, "text"), str))
    return logs.first_text(given)


def _notes(path: Path, header: dict[str, Any], rows: Sequence[logs.Row]) -> list[str]:
    notes = []
    if header.get("status") != "success":
        notes.append(f"{path.name}: the run did not finish (status {header.get('status', 'unknown')})")
    if cut := sum(row.metadata.get("truncated") is True for row in rows):
        notes.append(
            f"{path.name}: in {cut} rows some letters are not among the top_logprobs; their probability is taken as 0 "
            "(see column truncated)"
        )
    if len({row.metadata["sample_id"] for row in rows}) < len(rows):
        notes.append("samples occur once per epoch: keep the rows of each together with --group sample_id")
    return notes


# Everything from here on works on letters as they were sent to the model; `sent_order` leads back to the choices.

# --- the token -----------------------------------------------------------------------------------------------------


def plain(token: Any) -> str:
    r"""Return a token as text.

    >>> plain("\u0120A"), plain("\u2581A")
    (' A', ' A')
    """
    return token.translate(_BLANKS) if isinstance(token, str) else ""


def top_of(token: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the most probable tokens at the place of a token; none where one of them is damaged."""
    top = token.get("top_logprobs")
    sound = isinstance(top, list) and all(isinstance(one, dict) and isinstance(one.get("token"), str) for one in top)
    return top if sound else []


def letter_of(token: Any, n_choices: int) -> int | None:
    """Return the position of the letter a token stands for, blanks and punctuation around it aside, or None.

    >>> letter_of(" (B", 4), letter_of("E", 4), letter_of("An", 4)
    (1, None, None)
    """
    text = plain(token).strip(_AROUND).upper()
    at = ord(text) - ord("A") if len(text) == 1 else -1
    return at if 0 <= at < n_choices else None


def answer_of(tokens: Sequence[dict[str, Any]], n_choices: int) -> dict[str, Any]:
    """Return the token of the letter after the last "ANSWER:", or the one letter that is the whole answer.

    There is none in reasoning that was cut off, an answer in words, or where the letter is inside a longer token.
    """
    texts = [plain(token.get("token")) for token in tokens]
    found = list(_ANSWER.finditer("".join(texts)))
    if found:
        # the last one: reasoning may quote the phrase before
        ends = list(accumulate(map(len, texts)))
        token = tokens[bisect_right(ends, found[-1].start(1))]
        if letter_of(token.get("token"), n_choices) is not None:
            return token
    elif letter_of("".join(texts), n_choices) is not None:
        return next(token for token in tokens if letter_of(token.get("token"), n_choices) is not None)
    raise logs.UnusableRow("no token is the letter of an answer")


# --- its probabilities -----------------------------------------------------------------------------------------------


def letter_sums(token: dict[str, Any], n_choices: int) -> dict[int, float]:
    r"""Sum the probabilities of each letter's variants ("A", " A") among the top tokens, by the letter's position.

    >>> import math
    >>> top = [{"token": t, "logprob": math.log(p)} for t, p in ((" A", 0.5), ("A", 0.1), (" B", 0.2), (" the", 0.1))]
    >>> found = letter_sums({"token": " A", "logprob": math.log(0.5), "top_logprobs": top}, 3)
    >>> {at: round(probability, 3) for at, probability in found.items()}
    {0: 0.6, 1: 0.2}
    """
    # by text, as the token generated may be among the top ones and must count once
    variants = {
        plain(one.get("token")): math.exp(logs.log_probability(one.get("logprob"))) for one in [*top_of(token), token]
    }
    sums: dict[int, float] = {}
    for text, probability in variants.items():
        if (at := letter_of(text, n_choices)) is not None:
            sums[at] = sums.get(at, 0.0) + probability
    mass = math.fsum(sums.values())
    if letter_of(token.get("token"), n_choices) is None or mass <= 0:
        raise logs.UnusableRow("no letter has a probability")
    if mass > MOST_MASS:
        raise logs.UnusableRow("the probabilities of the letters sum to more than 1")
    return sums


# --- its score -----------------------------------------------------------------------------------------------------


_VALUES = {"C": 1, "I": 0, 1: 1, 0: 0}  # True and 1.0 equal 1


def right_or_wrong(value: Any) -> int:
    """Return 1 for what Inspect writes where an answer is right, 0 where it is wrong; partly right is neither.

    >>> right_or_wrong("C"), right_or_wrong(False)
    (1, 0)
    """
    if not isinstance(value, str | int | float) or value not in _VALUES:
        raise logs.UnusableRow("the score is neither right nor wrong")
    return _VALUES[value]


def _verdict(scores: Any) -> tuple[int, int | None, str, bool]:
    """Read the score called choice, or the only one: 0/1, the position answered, its explanation, and whether it is."""
    scores = scores if isinstance(scores, dict) else {}
    score = scores.get("choice") or (next(iter(scores.values())) if len(scores) == 1 else None)
    if not isinstance(score, dict):
        raise logs.UnusableRow("there is no score called choice, and not exactly one other score")
    value, answer = right_or_wrong(score.get("value")), score.get("answer")
    if isinstance(answer, str) and len(right_positions(answer, 26)) > 1:
        raise logs.UnusableRow("several letters were answered")
    said, by_choice = letter_of(answer, 26), "choice" in scores
    if by_choice and said is None:
        raise logs.UnusableRow("the scorer recognised no answer")
    return value, said, str(score.get("explanation") or ""), by_choice


def right_positions(target: Any, n_choices: int) -> list[int]:
    """Return the positions that letters such as "B", "A, C" or ["A", "C"] stand for.

    >>> right_positions("B", 4), right_positions(["A", "C"], 4), right_positions("A, C", 4)
    ([1], [0, 2], [0, 2])
    """
    given = target if isinstance(target, list) else re.split(r"[,\s]+", target) if isinstance(target, str) else []
    found = [letter_of(one, n_choices) for one in given]
    return [one for one in found if one is not None]


# --- the order in which the choices were sent ------------------------------------------------------------------------


def sent_order(explanation: str, choices: Sequence[str], *, unknown: bool) -> list[int]:
    """Return, for each letter that was sent, the position of its choice.

    The solver rewrites prompt and answer as if nothing had been shuffled, and leaves the tokens as they were; only the
    scorer's explanation tells the order. `unknown`: whether choices were shuffled where it says nothing of it.
    """
    order = None if unknown else list(range(len(choices)))
    if explanation.startswith(_SHUFFLED):
        listed, found, _ = explanation.partition(_OPTIONS)[2].rpartition(_ANSWERED)
        order = _placed(listed, choices) if found and len(set(choices)) == len(choices) else None
    if order is None:
        raise logs.UnusableRow("the choices were shuffled, and the log does not tell their order")
    return order


def _placed(listed: str, choices: Sequence[str], taken: tuple[int, ...] = ()) -> list[int] | None:
    """Find the order whose lines "A) ..." make up `listed`; texts may hold line breaks and begin alike."""
    if len(taken) == len(choices):
        return list(taken) if not listed else None
    letter = chr(ord("A") + len(taken))
    last = len(taken) == len(choices) - 1
    for at, choice in enumerate(choices):
        line = f"{letter}) {choice}" + ("" if last else "\n")
        if at not in taken and listed.startswith(line):
            order = _placed(listed[len(line) :], choices, (*taken, at))
            if order is not None:
                return order
    return None
