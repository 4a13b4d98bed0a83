"""Confidences of an answer that a model wrote: what is asked about the answer, and how its numbers are read.

The formulas know nothing of models: they take a `Response`. `SOURCES` is the table of all confidences.
"""

from __future__ import annotations

import json
import math
import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import comb
from typing import Any

import numpy as np

from miscal.data.importers.stated_confidences import confidence_of
from miscal.scoring.engine import Generation
from miscal.scoring.scorer import outcome

_PUNCTUATION = re.compile("[" + re.escape(string.punctuation + "\u2018\u2019\u201c\u201d\u00b4") + "]")
_ARTICLES = re.compile(r"\b(a|an|the)\b")

TRUE_OR_FALSE = (
    "Question: {question}\n"
    "Proposed Answer: {answer}\n"
    "Is the proposed answer:\n"
    " (A) True\n"
    " (B) False\n"
    "The proposed answer is:"
)
HOW_LIKELY = (
    "Question: {question}\n"
    "Proposed answer: {answer}\n"
    "How likely is it, from 0 to 100, that the proposed answer is correct? Reply with the number alone.\n"
    "Number from 0 to 100:"
)


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a question, and what was asked about this answer.

    ``greedy`` is the greedy answer: it is ``answer`` unless the first ``n_choosing`` samples chose. Of each source,
    ``weighed`` holds the log-probabilities of its candidates and ``replies`` what the model wrote. ``cut`` counts the
    tokens removed from the start of prompts about the answer that were too long.
    """

    answer: Generation
    greedy: str
    samples: tuple[str, ...] = ()
    n_choosing: int = 0
    weighed: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    replies: Mapping[str, str] = field(default_factory=dict)
    cut: int = 0

    def to_json(self) -> str:
        """Write it as one line of JSON; floats keep every digit."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Response:
        """Read what `to_json` wrote.

        >>> response = Response(Generation("Rome", (-0.1, -0.25), True), "Rome", ("Rome", "Paris"))
        >>> Response.from_json(response.to_json()) == response
        True
        """
        values = json.loads(text)
        answer = values["answer"]
        values["answer"] = Generation(answer["text"], tuple(answer["log_probs"]), answer["ended"])
        values["samples"] = tuple(values["samples"])
        values["weighed"] = {name: tuple(numbers) for name, numbers in values["weighed"].items()}
        return cls(**values)


# --- whether two answers are the same --------------------------------------------------------------------------------


def normalised(answer: str) -> str:
    """Write an answer in lower case, without punctuation, articles (a, an, the) and white space that is not needed.

    This is the normalisation of TriviaQA (Joshi et al. 2017), which follows SQuAD's but puts a blank in the place of
    punctuation. Where nothing would be left ("A", "The The"), only case and white space are normalised, so that such
    answers match themselves and nothing else.

    >>> normalised("The  Eiffel-Tower."), normalised("An"), normalised("  ")
    ('eiffel tower', 'an', '')
    """
    lower = answer.lower()
    bare = " ".join(_ARTICLES.sub(" ", _PUNCTUATION.sub(" ", lower)).split())
    return bare or " ".join(lower.split())


def is_accepted(answer: str, accepted: Collection[str]) -> bool:
    """Say whether an answer matches one of the accepted ones; an empty answer matches none.

    >>> is_accepted("the Beatles!", ["Wings", "Beatles"]), is_accepted("", [""])
    (True, False)
    """
    given = normalised(answer)
    return bool(given) and given in {normalised(one) for one in accepted}


# --- how often a model gives an answer -------------------------------------------------------------------------------


def most_frequent(answers: Sequence[str], preferred: str | None = None) -> str:
    """Return the most frequent of some normalised answers.

    Of equally frequent ones it is the preferred one if it is among them, else the first in alphabetical order. This
    order depends on the texts alone, never on the samples, which `held_out_frequency` relies on.

    >>> most_frequent(["rome", "paris", "rome"]), most_frequent(["rome", "paris"]), most_frequent(["b", "a"], "b")
    ('rome', 'paris', 'b')
    """
    counts = Counter(answers)
    return min(counts, key=lambda answer: (-counts[answer], answer != preferred, answer))


def agreement(answer: str, samples: Sequence[str]) -> float:
    """Return the share of samples that agree with an answer that they did not choose; it is unbiased.

    >>> agreement("rome", ["rome", "paris", "rome", "rome"])
    0.75
    """
    return sum(sample == answer for sample in samples) / len(samples)


def held_out_frequency(answer: str, samples: Sequence[str], n_choosing: int, preferred: str | None = None) -> float:
    """Estimate the probability of the answer that the first `n_choosing` samples have chosen (`most_frequent`).

    Samples that chose an answer agree with it too often; the share of the others is unbiased. It is averaged over all
    divisions of the samples whose choosing part would have chosen this answer: the Rao-Blackwell estimate given how
    often each answer occurs, of no larger variance. Averaging the two directions of one division instead is biased,
    where both halves choose the same answer. With counts n_c and x choosing samples that give the answer a, there are
    C(n_a, x) divisions times the coefficient of z^(m - x) in the product over c of the sum of C(n_c, h) z^h, over
    h <= x, or h <= x - 1 where c comes before a in the order of ties.

    >>> held_out_frequency("rome", ["rome"] * 6, 3)
    1.0
    >>> held_out_frequency("rome", ["rome", "rome", "paris", "paris", "rome", "paris"], 3)
    0.3
    """
    counts = Counter(samples)
    own, n_counting = counts.pop(answer), len(samples) - n_choosing
    total = agreeing = 0
    for chosen in range(1, min(own, n_choosing) + 1):
        before = {other: answer != preferred and (other == preferred or other < answer) for other in counts}
        limits = {other: chosen - 1 if first else chosen for other, first in before.items()}
        divisions = comb(own, chosen) * _ways(counts, limits, n_choosing - chosen)
        total += divisions
        agreeing += divisions * (own - chosen)
    return agreeing / (total * n_counting)


def _ways(counts: Mapping[str, int], limits: Mapping[str, int], size: int) -> int:
    """Count the sets of `size` samples in which no answer occurs more often than its limit."""
    ways = [1] + [0] * size
    for answer, count in counts.items():
        most = min(count, limits[answer], size)
        ways = [sum(ways[have - h] * comb(count, h) for h in range(min(most, have) + 1)) for have in range(size + 1)]
    return ways[size]


# --- the sources -----------------------------------------------------------------------------------------------------


def stated(reply: str) -> float | None:
    """Read a confidence that was stated as a number from 0 to 100, and nothing else; None where there is none.

    A decimal of at most 1 without a scale (0.9) may be a probability or a percentage, so it is no confidence either.

    >>> stated("85"), stated("85%."), stated("0"), stated("0.5 %"), stated("17/20")
    (0.85, 0.85, 0.0, 0.005, 0.85)
    >>> stated("about 85"), stated("0.9"), stated("101"), stated("")
    (None, None, None, None)
    """
    found = confidence_of(reply, top=100.0)
    return None if found is None else found / 100.0


def _p_true(response: Response) -> dict[str, Any]:
    result = outcome(np.array(response.weighed["p-true"]), gold=0, rule="first")
    return {"confidence_p_true": result.confidence, "candidate_mass": result.mass}


def _verbalized(response: Response) -> dict[str, Any]:
    reply = response.replies["verbalized"]
    return {"confidence_verbalized": stated(reply), "verbalized_reply": reply}


def _frequency(response: Response) -> dict[str, Any]:
    answer, samples = normalised(response.answer.text), [normalised(text) for text in response.samples]
    if response.n_choosing:
        share = held_out_frequency(answer, samples, response.n_choosing, preferred=normalised(response.greedy))
    else:
        share = agreement(answer, samples)
    return {"confidence_frequency": share, "samples": list(response.samples)}


def _likelihood(response: Response) -> dict[str, Any]:
    """Return the probability of the answer's tokens, and the geometric mean of theirs."""
    log_probs = response.answer.log_probs
    total = min(0.0, math.fsum(log_probs))
    return {
        "confidence_likelihood": math.exp(total),
        "confidence_likelihood_per_token": math.exp(total / len(log_probs)),
        "answer_tokens": len(log_probs),
    }


@dataclass(frozen=True, slots=True)
class Source:
    """A source of confidences.

    ``columns`` are its confidences, in [0, 1] or None, its own first; ``read`` gives these and the other columns it
    adds. ``template`` is what is asked about the answer, with ``{question}`` and ``{answer}``: the model weighs the
    ``candidates``, or without any writes a reply of at most ``longest`` tokens. ``samples`` says whether samples of the
    answer are needed; ``missing`` why a confidence can be None.
    """

    columns: tuple[str, ...]
    read: Callable[[Response], Mapping[str, Any]]
    template: str = ""
    candidates: tuple[str, ...] = ()
    longest: int = 0
    samples: bool = False
    missing: str = ""


SOURCES = {
    # Kadavath et al. (2022), "Language Models (Mostly) Know What They Know" (arXiv 2207.05221), section 3
    "p-true": Source(("confidence_p_true",), _p_true, TRUE_OR_FALSE, candidates=(" (A)", " (B)")),
    # Tian et al. (2023), "Just Ask for Calibration" (arXiv 2305.14975), their prompt in two stages ("Verb. 2S"): the
    # answer first, then its probability, so that all confidences of a row are about the same answer
    "verbalized": Source(
        ("confidence_verbalized",),
        _verbalized,
        HOW_LIKELY,
        longest=12,
        missing="the model stated no number from 0 to 100",
    ),
    "frequency": Source(("confidence_frequency",), _frequency, samples=True),
    # Malinin and Gales (2021), "Uncertainty Estimation in Autoregressive Structured Prediction" (arXiv 2002.07650)
    "likelihood": Source(("confidence_likelihood", "confidence_likelihood_per_token"), _likelihood),
}
"""What ``--confidence-from`` may name."""
