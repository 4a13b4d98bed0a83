"""The words of a study: of pairs of answers, of pairs of events, and of both.

No figure, table or claim asks which kind its pairs are of: it takes its words from :func:`vocabulary_of`.
"""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from miscal.base.vocabulary import ANSWER, EVENT, vocabulary

Words = Mapping[str, str]
"""Words by what they stand for, each as it stands within a sentence.

`probability` is what models state, `rate` how often it comes true, `rate_meaning` the heading of its column; `over` and
`under` are said of probabilities that are higher, or lower, than how often they come true; `error` is what is so of
probabilities in which something is hidden, with its verb. `row` is what the models of a data set share, `judged` what
they did with it, `left` what deferral leaves to somebody else, and `errors` what is counted among the rows that it
leaves with the model. `model` and `models` are what is compared: the values of the column that a plan was made by.
"""

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
    "model": ("model", "model", "model"),
    "models": ("models", "models", "models"),
}  # fmt: skip
"""Words of answers, of events, and of both."""

ANSWERS, EVENTS, BOTH = ({name: words[kind] for name, words in _WORDS.items()} for kind in range(3))


def vocabulary_of(pairs: pl.DataFrame, by: str = "model") -> Words:
    """Return the words for rows of the table ``pairs``, whose column ``outcome`` says what each is of.

    `by` is the name of the column whose values are compared.

    >>> vocabulary_of(pl.DataFrame({"outcome": ["event", "event"]}))["rate"]
    'event rate'
    >>> words = vocabulary_of(pl.DataFrame({"outcome": ["event", "answer"]}), "origin")
    >>> words["rate"], words["models"]
    ('accuracy or event rate', 'origins')
    """
    events = pairs["outcome"] == EVENT
    words = EVENTS if pairs.height and events.all() else BOTH if events.any() else ANSWERS
    return words | {"model": by, "models": f"values of {by}" if by.endswith(("s", "x", "h", "y")) else f"{by}s"}
