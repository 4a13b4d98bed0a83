"""The words in which each kind of probability is told: one object per kind, and no sentence that asks which kind it is.

Every number keeps its name in files and in code (``confidence``, ``accuracy``, ``over``), whatever the kind. Sentences,
headings and labels take their words from :func:`vocabulary`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from miscal.base.errors import InputError

Kind = Literal["answer", "event"]
"""What a probability is of: that the answer given is right, or that an event happens."""

KINDS: tuple[Kind, ...] = get_args(Kind)
ANSWER, EVENT = KINDS


@dataclass(frozen=True)
class Vocabulary:
    """The words of one kind of probability, each as it stands within a sentence.

    Attributes
    ----------
    kind : {"answer", "event"}
    probability, probabilities : str
        What the model states: one, and several of them.
    rate, rates : str
        How often it comes true: the mean of the outcomes.
    outcome : str
        What is 1 or 0 of each row.
    over, under : str
        Of rows whose probability is higher, or lower, than how often it comes true.
    over_and_under : str
        Both side by side.
    one, other : str
        What is told of a single row whose outcome is 1, and 0.
    telling_over, telling_under : str
        Rows by which over and under are best seen, and their order.
    odds : str
        Heading of odds of the outcome.
    chance : str
        Its probability, by whatever name: "the probability of being right".
    case, cases : str
        What a decision is made about.
    acted : str
        What is done with it at or above a threshold.
    come_true : str
        What is said of cases whose outcome is 1.
    missed, needless : str
        A case below the threshold whose outcome is 1, and one at or above it whose outcome is 0.
    columns : tuple of str
        The options and arguments that name the columns of probability and outcome.
    about : str
        What the probability is of, with an article.
    two_levels : str
        How often it comes true where the probability is high, and where it is low: ``{}`` stands for probability and
        rate of the first, and then of the second.
    subject, verb, short, place : str
        What the methods put together.

    Examples
    --------
    >>> words = vocabulary("event")
    >>> words.rate, words.over, words.comes_true("still")
    ('event rate', 'over-predicted', 'the event still happens')
    """

    kind: Kind
    probability: str
    probabilities: str
    rate: str
    rates: str
    outcome: str
    over: str
    under: str
    over_and_under: str
    one: str
    other: str
    telling_over: str
    telling_under: str
    odds: str
    chance: str
    case: str
    cases: str
    acted: str
    come_true: str
    missed: str
    needless: str
    columns: tuple[str, str]
    about: str
    two_levels: str
    subject: str
    verb: str
    short: str
    place: str

    def comes_true(self, adverb: str = "") -> str:
        """Say that the outcome is 1, for a sentence that goes on: "the model is right", "the event still happens"."""
        return f"{self.subject} {self.verb.format(f'{adverb} ' if adverb else '')}"

    def equal_rows(self, which: str = "") -> str:
        """Return what groups are compared with: "rows of equal confidence", or of equal "corrected confidence"."""
        return f"rows of equal {f'{which} ' if which else ''}{self.probability}"

    def often(self, sign: str) -> str:
        """Return "right less often" for "over" and "right more often" for "under", as a label."""
        return f"{self.short} {LESS_OR_MORE[sign]}"

    def than_equal_rows(self, which: str = "") -> str:
        """Return how such a label goes on: "than rows of equal confidence"."""
        return f"than {self.place}{self.equal_rows(which)}"


LESS_OR_MORE = {"over": "less often", "under": "more often"}
"""How often the outcome is 1 in a group, by its sign."""

_ANSWERS = Vocabulary(
    kind=ANSWER,
    probability="confidence",
    probabilities="confidences",
    rate="accuracy",
    rates="accuracies",
    outcome="outcome",
    over="over-confident",
    under="under-confident",
    over_and_under="over- and under-confident",
    one="answer right",
    other="answer wrong",
    telling_over="wrong, the surest first",
    telling_under="right, the least sure first",
    odds="odds of being right",
    chance="the probability of being right",
    case="answer",
    cases="answers",
    acted="accepted",
    come_true="are right",
    missed="a right answer that is not accepted",
    needless="a wrong answer that is accepted",
    columns=("confidence", "correct"),
    about="an answer being right",
    two_levels="of the answers given with {} confidence, {} are right, and of those given with {}, {}",
    subject="the model",
    verb="is {}right",
    short="right",
    place="",
)

_EVENTS = Vocabulary(
    kind=EVENT,
    probability="predicted risk",
    probabilities="predicted risks",
    rate="event rate",
    rates="event rates",
    outcome="event",
    over="over-predicted",
    under="under-predicted",
    over_and_under="over- and under-predicted",
    one="happened",
    other="did not happen",
    telling_over="did not happen, the highest risk first",
    telling_under="happened, the lowest risk first",
    odds="odds of the event",
    chance="the probability of the event",
    case="row",
    cases="rows",
    acted="acted on",
    come_true="have the event",
    missed="an event that is not acted on",
    needless="an action without an event",
    columns=("probability", "event"),
    about="an event",
    two_levels="where it is {}, the event happens in {}, and where it is {}, in {}",
    subject="the event",
    verb="{}happens",
    short="event",
    place="in ",
)

_BY_KIND = {one.kind: one for one in (_ANSWERS, _EVENTS)}


def check_kind(kind: str) -> Kind:
    """Return a kind of probability, or say which there are.

    Raises
    ------
    InputError
        For any other value.

    Examples
    --------
    >>> check_kind("event")
    'event'
    """
    if kind not in _BY_KIND:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}")
    return _BY_KIND[kind].kind


def vocabulary(kind: Kind) -> Vocabulary:
    """Return the words of a kind of probability.

    Parameters
    ----------
    kind : {"answer", "event"}

    Examples
    --------
    >>> words = vocabulary("answer")
    >>> words.often("over"), words.than_equal_rows()
    ('right less often', 'than rows of equal confidence')
    """
    return _BY_KIND[kind]
