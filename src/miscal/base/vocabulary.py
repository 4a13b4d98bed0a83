"""The words in which each kind of probability is spoken of: one object per kind, and no sentence asks which it is.

Every number keeps its name in files and in code (``confidence``, ``accuracy``, ``over``), whatever the kind. Sentences,
headings and labels take their words from :func:`vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from miscal.base.errors import InputError
from miscal.base.number_wording import spoken

Kind = Literal["answer", "event", "judge"]
"""What a probability is of: that the answer given is right, that an event happens, or that people approve of an answer
that a judge scored."""

KINDS: tuple[Kind, ...] = get_args(Kind)
ANSWER, EVENT, JUDGE = KINDS

LESS_OR_MORE = {"over": "less often", "under": "more often"}
"""How often the outcome is 1 in a group, by its sign."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of one kind of probability, each as it stands within a sentence; ``{}`` is filled in.

    ``columns`` are the options and arguments that name probability and outcome, ``probability`` and ``probabilities``
    what the model states, ``rate`` how often it comes true, ``digits`` the decimals of both in per cent, ``ratio`` a
    heading or empty where nobody looks at it. ``one``, ``other`` and ``unknown`` say of a row that its outcome is 1, 0
    or not known, ``over`` and ``under`` that a probability is higher or lower than how often it comes true. Mappings
    are by this sign, ``meanings`` by entry of a glossary. ``cases`` to ``come_true`` speak of decisions at a threshold;
    the methods put the last ones together.

    >>> words = vocabulary("event")
    >>> words.rate, words.over, words.comes_true("still")
    ('event rate', 'over-predicted', 'the event still happens')
    """

    kind: Kind
    about: str
    columns: tuple[str, str]
    probability: str
    probabilities: str
    rate: str
    heads: tuple[str, str]
    digits: int
    ratio: str
    one: str
    other: str
    unknown: str
    expected: str
    told: str
    outcomes: str
    over: str
    under: str
    over_and_under: str
    judged: str
    telling: Mapping[str, str]
    how_often: str
    chance: str
    odds: str
    predicted: str
    averages: str
    group_rate: str
    stated: str
    meanings: Mapping[str, str]
    far: Mapping[str, str]
    ranked: str
    pairs: str
    they: str
    cases: str
    acted: str
    come_true: str
    subject: str
    predicate: str
    in_group: str
    of_group: str
    label: str
    promise: str
    elsewhere: str
    place: str

    def percent(self, share: float) -> str:
        """Write a rate or a probability in a sentence."""
        return spoken(share)

    def comes_true(self, adverb: str = "") -> str:
        """Say that the outcome is 1, for a sentence that goes on: "the model is right", "the event still happens"."""
        return " ".join(one for one in (self.subject, adverb, self.predicate) if one)

    def in_rows(self, rows: str, *, one: bool = False) -> str:
        """Say where the outcome is 1: "the test rows are right", "in the test rows the event happens"."""
        return self.in_group.format(rows=rows, are="is" if one else "are")

    def of_rows(self, rows: str) -> str:
        """Say so within a sentence, after "how often": "a group is right", "the event happens in a group"."""
        return self.of_group.format(rows=rows)

    def equal_rows(self, which: str = "") -> str:
        """Return what groups are compared with: "rows of equal confidence", or of equal "corrected confidence"."""
        return f"rows of equal {f'{which} ' if which else ''}{self.probability}"

    def than(self, rows: str) -> str:
        """Compare with other rows: "than the rows learned from", "than in the rows learned from"."""
        return f"than {self.place}{rows}"

    def than_equal_rows(self, which: str = "") -> str:
        """Compare with rows of equal probability."""
        return self.than(self.equal_rows(which))

    def often(self, sign: str) -> str:
        """Return a label: "right less often" for "over", "right more often" for "under", else "... about as often"."""
        return f"{self.label} {LESS_OR_MORE.get(sign, 'about as often')}"

    def often_beside(self, sign: str) -> str:
        """Return the same with what it is compared with: "right less often than rows of equal confidence"."""
        compared = self.than_equal_rows() if sign in LESS_OR_MORE else f"as {self.place}{self.equal_rows()}"
        return f"{self.often(sign)} {compared}"

    def regime(self, name: str) -> str:
        """Return what a regime is called."""
        return {"over": self.over, "under": self.under}.get(name, "well calibrated")


_ANSWERS = Vocabulary(
    kind=ANSWER,
    about="an answer being right",
    columns=("confidence", "correct"),
    probability="confidence",
    probabilities="confidences",
    rate="accuracy",
    heads=("right", "says"),
    digits=0,
    ratio="",
    one="right",
    other="wrong",
    unknown="outcome unknown",
    expected="of rows of equal confidence {} are right",
    told="answer {}",
    outcomes="right and wrong answers",
    over="over-confident",
    under="under-confident",
    over_and_under="over- and under-confident",
    judged="the model is",
    telling={"over": "wrong, the surest first", "under": "right, the least sure first"},
    how_often="how often the model is right",
    chance="probability of being right",
    odds="odds of being right",
    predicted="errors",
    averages="The model says {probability} on average and is right {rate} of the time.",
    group_rate="right {} of the time",
    stated="A model may be right at another rate for each number that it states",
    meanings={
        "probability": "The probability, from 0 to 100 %, that the model gives to its answer being right. Of the "
        "answers that a calibrated model gives with 80 % confidence, 80 % are right, and likewise at every other "
        "confidence.",
        "residual": "The outcome (1 if the answer is right, 0 if it is wrong) minus the confidence, in percentage "
        "points.",
        "signs": "A negative mean residual means that the model is over-confident: it is right less often than its "
        "confidence says. A positive one means that it is under-confident.",
        "odds": "The chance of being right divided by the chance of being wrong. Half the odds of rows of equal "
        "confidence means: where those are right in 3 of 4 cases (odds of 3), these are right in 3 of 5 (odds of 1.5).",
        "column": "is the probability that the answer given is right (not that it is wrong, and not the probability of "
        "another answer or of one class)",
        "outcome column": "is 1 where that answer is right",
    },
    far={"over": "The model is far too sure", "under": "The model is far too unsure"},
    ranked="confidence ranks right answers {} wrong ones",
    pairs="in pairs of a right and a wrong answer, the right one is the surer one",
    they="they",
    subject="the model is",
    predicate="right",
    in_group="{rows} {are} right",
    of_group="{rows} are right",
    label="right",
    promise="On {rows} the model says {probability} and is right {rate} of the time ({n} rows).",
    elsewhere="On {rows} it is right {rate} of the time, at equal confidence elsewhere {expected} ({n} rows).",
    cases="answers",
    acted="accepted",
    come_true="are right",
    place="",
)

_EVENTS = Vocabulary(
    kind=EVENT,
    about="an event",
    columns=("probability", "event"),
    probability="predicted risk",
    probabilities="predicted risks",
    rate="event rate",
    heads=("happened", "predicted"),
    digits=1,
    ratio="observed / expected",
    one="happened",
    other="did not happen",
    unknown="not known whether it happened",
    expected="in rows of equal predicted risk it happens in {}",
    told="{}",
    outcomes="events",
    over="over-predicted",
    under="under-predicted",
    over_and_under="over- and under-predicted",
    judged="the risk is",
    telling={"over": "did not happen, the highest risk first", "under": "happened, the lowest risk first"},
    how_often="how often the event happens",
    chance="probability of the event",
    odds="odds of the event",
    predicted="the event",
    averages="The predicted risk is {probability} on average, and the event happens in {rate} of the rows.",
    group_rate="the event happens in {}",
    stated="The event may happen at another rate for each number that a model states",
    meanings={
        "probability": "The probability, from 0 to 100 %, that the model gives to the event. Of the rows to which a "
        "calibrated model gives a risk of 20 %, the event happens in 20 %, and likewise at every other risk.",
        "residual": "The outcome (1 if the event happened, 0 if it did not) minus the predicted risk, in percentage "
        "points.",
        "signs": "A negative mean residual means that the risk is over-predicted: the event happens less often than "
        "predicted. A positive one means that it is under-predicted.",
        "odds": "The chance that the event happens divided by the chance that it does not. Half the odds of rows of "
        "equal predicted risk means: where it happens in 3 of 4 of those (odds of 3), it happens in 3 of 5 of these "
        "(odds of 1.5).",
        "column": "is the predicted probability that the event happens (not that it does not, and not that of another "
        "event)",
        "outcome column": "is 1 where that event happened",
    },
    far={"over": "The risk is far over-predicted", "under": "The risk is far under-predicted"},
    ranked="the predicted risk ranks rows with the event {} rows without it",
    pairs="in pairs of a row with the event and one without it, the one with it has the higher risk",
    they="them",
    cases="rows",
    acted="acted on",
    come_true="have the event",
    subject="the event",
    predicate="happens",
    in_group="in {rows} the event happens",
    of_group="the event happens in {rows}",
    label="event",
    promise="In {rows} the predicted risk is {probability}, and the event happens in {rate} ({n} rows).",
    elsewhere="In {rows} the event happens in {rate}, at equal risk elsewhere in {expected} ({n} rows).",
    place="in ",
)

_JUDGES = Vocabulary(
    kind=JUDGE,
    about="people approving of an answer",
    columns=("judge", "human"),
    probability="judge score",
    probabilities="judge scores",
    rate="approval rate",
    heads=("people approve", "judge says"),
    digits=0,
    ratio="",
    one="approve",
    other="reject",
    unknown="people have not judged it",
    expected="of answers of equal judge score people approve {}",
    told="people {}",
    outcomes="approvals and rejections",
    over="judged too leniently",
    under="judged too strictly",
    over_and_under="judged too leniently and too strictly",
    judged="answers are",
    telling={"over": "rejected, the highest score first", "under": "approved, the lowest score first"},
    how_often="how often people approve",
    chance="probability that people approve",
    odds="odds that people approve",
    predicted="what people say",
    averages="The judge says {probability} on average, and people approve {rate} of the answers.",
    group_rate="people approve {}",
    stated="People may approve at another rate for each score that a judge gives",
    meanings={
        "probability": "The probability, from 0 to 100 %, that people approve, as the judge's score says. Of the "
        "answers to which a calibrated judge gives 80 %, people approve 80 %, and likewise at every other score. "
        "Scores that are no probabilities, such as 1 to 5 or pass and fail, stand for how often people approve at each "
        "of them.",
        "residual": "The verdict of people (1 if they approve, 0 if they reject) minus the judge's score, in "
        "percentage points.",
        "signs": "A negative mean residual means that the judge is too lenient: people approve less often than its "
        "score says. A positive one means that it is too strict.",
        "odds": "The chance that people approve divided by the chance that they reject. Half the odds of answers of "
        "equal judge score means: where people approve 3 of 4 of those (odds of 3), they approve 3 of 5 of these (odds "
        "of 1.5).",
        "column": "is the judge's score, higher where the judge approves more",
        "outcome column": "is 1 where people approve",
    },
    far={"over": "The judge is far too lenient", "under": "The judge is far too strict"},
    ranked="the judge ranks answers that people approve {} those that they reject",
    pairs="in pairs of an answer that people approve and one that they reject, the first has the higher score",
    they="they",
    subject="answers are",
    predicate="approved",
    in_group="{rows} {are} approved",
    of_group="{rows} are approved",
    label="approved",
    promise="On {rows} the judge says {probability}, and people approve {rate} ({n} rows).",
    elsewhere="On {rows} people approve {rate}, at equal judge score elsewhere {expected} ({n} rows).",
    cases="answers",
    acted="accepted",
    come_true="are approved by people",
    place="",
)

_BY_KIND = {one.kind: one for one in (_ANSWERS, _EVENTS, _JUDGES)}


def check_kind(kind: str) -> Kind:
    """Return a kind of probability, or say which there are."""
    if kind not in _BY_KIND:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}; got {kind!r}")
    return _BY_KIND[kind].kind


def vocabulary(kind: Kind) -> Vocabulary:
    """Return the words of a kind of probability.

    >>> words = vocabulary("answer")
    >>> words.often_beside("over")
    'right less often than rows of equal confidence'
    """
    return _BY_KIND[kind]
