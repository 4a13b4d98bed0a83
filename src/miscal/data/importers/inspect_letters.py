"""Find the answer of an Inspect sample, the probability of each letter, and the score.

Everything here works on letters as they were sent to the model; `sent_order` leads back to the order of the choices.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from miscal.data.importers.imported_rows import UnusableRow, log_probability

_ANSWER = re.compile(r"ANSWER\s*:[\s$*(]*([A-Za-z])(?![A-Za-z\d])", re.IGNORECASE)
_AROUND = " \t\r\n:.,;()[]*$\"'`"
_BLANKS = str.maketrans({"\u0120": " ", "\u2581": " ", "\u010a": "\n"})
"""How byte-level and SentencePiece vocabularies write blank and line break."""

MOST_MASS = 1.01
"""Sum of probabilities that rounded log-probabilities may reach."""

_SHUFFLED = "Choices were shuffled"
_OPTIONS = ":\n\n"
_ANSWERED = "\nShuffled answer:\n"


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
    whole = isinstance(top, list) and all(isinstance(one, dict) and isinstance(one.get("token"), str) for one in top)
    return top if whole else []


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
    raise UnusableRow("no token is the letter of an answer")


# --- its probabilities -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Letters:
    """Shares of the letters, in the order they were sent.

    ``shares`` sum to 1; ``mass`` in [0, 1] is their sum before; ``n_missing`` letters were not among the top and have
    share 0; ``answered`` is the letter generated.
    """

    shares: tuple[float, ...]
    mass: float
    n_missing: int
    answered: int


def letter_shares(token: dict[str, Any], n_choices: int) -> Letters:
    r"""Sum the probabilities of each letter's variants ("A", " A") among the top tokens, and renormalise.

    >>> import math
    >>> top = [{"token": t, "logprob": math.log(p)} for t, p in ((" A", 0.5), ("A", 0.1), (" B", 0.2), (" the", 0.1))]
    >>> found = letter_shares({"token": " A", "logprob": math.log(0.5), "top_logprobs": top}, 3)
    >>> [round(share, 3) for share in found.shares], round(found.mass, 3), found.n_missing
    ([0.75, 0.25, 0.0], 0.8, 1)
    """
    # by text, as the token generated may be among the top ones and must count once
    variants = {
        plain(one.get("token")): math.exp(log_probability(one.get("logprob"))) for one in [*top_of(token), token]
    }
    sums: dict[int, float] = {}
    for text, probability in variants.items():
        at = letter_of(text, n_choices)
        if at is not None:
            sums[at] = sums.get(at, 0.0) + probability
    mass = math.fsum(sums.values())
    answered = letter_of(token.get("token"), n_choices)
    if answered is None or mass <= 0:
        raise UnusableRow("no letter has a probability")
    if mass > MOST_MASS:
        raise UnusableRow("the probabilities of the letters sum to more than 1")
    shares = tuple(sums.get(at, 0.0) / mass for at in range(n_choices))
    return Letters(shares, min(1.0, mass), n_choices - len(sums), answered)


# --- its score -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """What the scorer said: 0/1, the position answered (None where it does not say), its explanation.

    ``by_choice`` is whether it is the scorer called choice, which explains a shuffle.
    """

    correct: int
    answer: int | None
    explanation: str
    by_choice: bool


_VALUES = {"C": 1, "I": 0, 1: 1, 0: 0}  # True and 1.0 equal 1


def right_or_wrong(value: Any) -> int:
    """Return 1 for what Inspect writes where an answer is right, 0 where it is wrong; partly right is neither.

    >>> right_or_wrong("C"), right_or_wrong(False)
    (1, 0)
    """
    if not isinstance(value, str | int | float) or value not in _VALUES:
        raise UnusableRow("the score is neither right nor wrong")
    return _VALUES[value]


def verdict(scores: Any) -> Verdict:
    """Read the score called choice, or the only one."""
    scores = scores if isinstance(scores, dict) else {}
    score = scores.get("choice") or (next(iter(scores.values())) if len(scores) == 1 else None)
    if not isinstance(score, dict):
        raise UnusableRow("there is no score called choice, and not exactly one other score")
    value, answer = right_or_wrong(score.get("value")), score.get("answer")
    if isinstance(answer, str) and len(right_positions(answer, 26)) > 1:
        raise UnusableRow("several letters were answered")
    said, by_choice = letter_of(answer, 26), "choice" in scores
    if by_choice and said is None:
        raise UnusableRow("the scorer recognised no answer")
    return Verdict(value, said, str(score.get("explanation") or ""), by_choice)


def right_positions(target: Any, n_choices: int) -> list[int]:
    """Return the positions that letters such as "B", "A, C" or ["A", "C"] stand for.

    >>> right_positions("B", 4), right_positions(["A", "C"], 4), right_positions("A, C", 4)
    ([1], [0, 2], [0, 2])
    """
    given = target if isinstance(target, list) else re.split(r"[,\s]+", target) if isinstance(target, str) else []
    found = [letter_of(one, n_choices) for one in given]
    return [one for one in found if one is not None]


# --- the order in which the choices were sent ------------------------------------------------------------------------


def sent_order(score: Verdict, choices: Sequence[str], *, shuffled: bool) -> list[int]:
    """Return, for each letter that was sent, the position of its choice.

    The solver rewrites prompt and answer as if nothing had been shuffled, and leaves the tokens as they were; only the
    scorer's explanation tells the order.
    """
    if not score.explanation.startswith(_SHUFFLED):
        # the scorer called choice says nothing of a shuffle that left every choice in its place; others never do
        if shuffled and not score.by_choice:
            raise UnusableRow("the choices were shuffled, and the log does not tell their order")
        return list(range(len(choices)))
    _, _, rest = score.explanation.partition(_OPTIONS)
    listed, found, _ = rest.rpartition(_ANSWERED)
    order = _placed(listed, choices) if found and len(set(choices)) == len(choices) else None
    if order is None:
        raise UnusableRow("the choices were shuffled, and the log does not tell their order")
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
