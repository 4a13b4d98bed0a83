"""The words of a study: one object for pairs of answers, one for pairs of events, and one where a study holds both.

No figure, table or claim asks which kind its pairs are of: it takes its words from :func:`vocabulary_of`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import polars as pl

from miscal.base.arrays import counted
from miscal.base.vocabulary import ANSWER, EVENT, vocabulary

BEYOND_CHANCE = "by a 95 % interval that excludes 0, not adjusted for the number of pairs"
"""What counts as beyond chance where pairs are counted by their intervals."""


def of_pairs(k: int, n: int) -> str:
    """Write how many of some pairs.

    >>> of_pairs(3, 40), of_pairs(1, 1)
    ('3 of 40 pairs', '1 of 1 pair')
    """
    return f"{k} of {counted(n, 'pair')}"


@dataclass(frozen=True)
class StudyVocabulary:
    """Words of the pairs of a study, each as it stands within a sentence.

    Attributes
    ----------
    probability, probabilities : str
        What models state.
    rate, rate_meaning : str
        How often it comes true, and what that is, for the heading of a column.
    over, under : str
        Of probabilities that are higher, or lower, than how often they come true.
    error : str
        What is so of probabilities in which something is hidden, with its verb.
    row, rows, judged : str
        What the models of a data set share, and what two models did with it.
    left : str
        What deferral leaves to somebody else.
    errors : str
        What is counted among the rows that deferral leaves with the model.
    """

    probability: str
    probabilities: str
    rate: str
    rate_meaning: str
    over: str
    under: str
    error: str
    row: str
    rows: str
    judged: str
    left: str
    errors: str

    def fill(self, sentence: str) -> str:
        """Put words in the places of a sentence that name them in braces.

        >>> EVENTS.fill("Points left of the line are {over} on average.")
        'Points left of the line are over-predicted on average.'
        """
        return sentence.format_map(asdict(self))

    def regime(self, name: str) -> str:
        """Return what a regime is called."""
        return getattr(self, name, "well calibrated")


_ANSWER, _EVENT = vocabulary(ANSWER), vocabulary(EVENT)
_WORDS = {
    "probability": (_ANSWER.probability, _EVENT.probability, "probability"),
    "probabilities": (_ANSWER.probabilities, _EVENT.probabilities, "probabilities"),
    "rate": (_ANSWER.rate, _EVENT.rate, "accuracy or event rate"),
    "rate_meaning": ("share of right answers", "how often the event happens",
                     "share of right answers; where marked, how often the event happens"),
    "over": (_ANSWER.over, _EVENT.over, f"{_ANSWER.over} or {_EVENT.over}"),
    "under": (_ANSWER.under, _EVENT.under, f"{_ANSWER.under} or {_EVENT.under}"),
    "error": ("the confidence is wrong", "the predicted risk is off", "the probability is wrong"),
    "row": ("question", "row", "question"),
    "rows": ("questions", "rows", "questions"),
    "judged": ("answered", "predicted", "judged"),
    "left": ("answers", "rows", "answers or forecasts"),
    "errors": ("risk", "failed forecasts", "risk"),
}  # fmt: skip
"""Words of answers, of events, and of both."""

ANSWERS, EVENTS, BOTH = (StudyVocabulary(*own) for own in zip(*_WORDS.values(), strict=True))


def vocabulary_of(pairs: pl.DataFrame) -> StudyVocabulary:
    """Return the words for rows of the table ``pairs``, whose column ``outcome`` says what each is of.

    >>> vocabulary_of(pl.DataFrame({"outcome": ["event", "event"]})).rate
    'event rate'
    >>> vocabulary_of(pl.DataFrame({"outcome": ["event", "answer"]})).rate
    'accuracy or event rate'
    """
    events = pairs["outcome"] == EVENT
    if pairs.height and events.all():
        return EVENTS
    return BOTH if events.any() else ANSWERS
