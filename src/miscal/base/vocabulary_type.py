"""What each kind of probability is told by: its words, as one object.

The words themselves are in :mod:`miscal.base.vocabulary`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from miscal.base.number_wording import percent

Kind = Literal["answer", "event", "judge"]
"""What a probability is of: that the answer given is right, that an event happens, or that people approve of an answer
that a judge scored."""

KINDS: tuple[Kind, ...] = get_args(Kind)
ANSWER, EVENT, JUDGE = KINDS

LESS_OR_MORE = {"over": "less often", "under": "more often"}
"""How often the outcome is 1 in a group, by its sign."""


@dataclass(frozen=True)
class Vocabulary:
    """The words of one kind of probability, each as it stands within a sentence.

    Attributes
    ----------
    kind : {"answer", "event", "judge"}
    about : str
        What the probability is of, with an article.
    columns : tuple of str
        The options and arguments that name the columns of probability and outcome.
    probability, probabilities, brief : str
        What the model states: one, several of them, and in a narrow heading.
    rate : str
        How often it comes true: the mean of the outcomes.
    heads : tuple of str
        Rate and probability as short headings.
    digits : int
        Decimals of both, in per cent, in sentences: rates of events are often small.
    ratio : str
        Heading of rate over probability; empty where nobody looks at it.
    outcome : str
        What is 1 or 0 of each row, as a heading.
    one, other, unknown : str
        What is told of a row whose outcome is 1, 0, or not known.
    expected : str
        How often it comes true in rows of equal probability, beside one of them.
    told : str
        How the outcome of a row is told after its probability: ``{}`` stands for `one` or `other`.
    outcomes : str
        Those of all rows.
    over, under, over_and_under, over_or_under : str
        Of a probability that is higher, or lower, than how often it comes true; and both side by side.
    judged : str
        What is over or under, with its verb.
    telling : mapping of str to str
        By sign, the rows by which it is best seen, and their order.
    how_often : str
        The rate, as a clause.
    chance, odds : str
        Probability and odds of the outcome, by whatever model.
    predicted : str
        What inputs help to predict.
    averages : str
        A sentence with both means; ``{probability}`` and ``{rate}`` stand for them.
    both_averages, of_both, of_run : str
        The same of two runs, a and b, and beginnings of sentences on both and on one of them.
    under_both, both_more : str
        Two such beginnings side by side, where the runs have no names.
    often_of_both : mapping of str to str
        By sign, a label of groups that are so under both.
    off : str
        Of probabilities that do not hold.
    alike : str
        Beginning of a question: whether outcomes are as often 1 in rows of equal probability.
    as_said : str
        That a hidden field of a run is borne out by new rows.
    sharpness : str
        What proper scores reward beside calibration.
    group_rate : str
        Of a group: ``{}`` stands for its rate.
    stated : str
        What may be so of probabilities that are round numbers; a sentence that goes on.
    unequal : mapping of str to str
        By sign, what rows of a hidden regime are called, after the word "rows".
    meanings : mapping of str to str
        Entries of a glossary, and what the two columns hold.
    together : str
        Rows that depend on each other, for example.
    far : mapping of str to str
        By sign, a sentence on a level that is far off.
    ranked : str
        How the probability ranks rows; ``{}`` stands for "above" or "below".
    pairs : str
        Where a ranking of pairs is right.
    case, cases : str
        What a decision is made about.
    acted : str
        What is done with it at or above a threshold.
    come_true : str
        What is said of cases whose outcome is 1.
    missed, needless : str
        A case below the threshold whose outcome is 1, and one at or above it whose outcome is 0.
    two_levels : str
        How often it comes true where the probability is high, and where it is low: ``{}`` stands for probability and
        rate of the first, and then of the second.
    they : str
        Rows spoken of just before, for :meth:`of_rows`.
    subject, predicate, in_group, of_group, of_no_group, label, place, on : str
        What the methods put together.

    Examples
    --------
    >>> from miscal.base.vocabulary import vocabulary
    >>> words = vocabulary("event")
    >>> words.rate, words.over, words.comes_true("still")
    ('event rate', 'over-predicted', 'the event still happens')
    """

    kind: Kind
    about: str
    columns: tuple[str, str]
    probability: str
    probabilities: str
    brief: str
    rate: str
    heads: tuple[str, str]
    digits: int
    ratio: str
    outcome: str
    one: str
    other: str
    unknown: str
    expected: str
    told: str
    outcomes: str
    over: str
    under: str
    over_and_under: str
    over_or_under: str
    judged: str
    telling: Mapping[str, str]
    how_often: str
    chance: str
    odds: str
    predicted: str
    averages: str
    both_averages: str
    of_both: str
    of_run: str
    under_both: str
    both_more: str
    often_of_both: Mapping[str, str]
    off: str
    alike: str
    as_said: str
    sharpness: str
    group_rate: str
    stated: str
    unequal: Mapping[str, str]
    meanings: Mapping[str, str]
    together: str
    far: Mapping[str, str]
    ranked: str
    pairs: str
    they: str
    case: str
    cases: str
    acted: str
    come_true: str
    missed: str
    needless: str
    two_levels: str
    subject: str
    predicate: str
    in_group: str
    of_group: str
    of_no_group: str
    label: str
    place: str
    on: str

    def percent(self, share: float) -> str:
        """Write a rate or a probability in a sentence."""
        return percent(share, self.digits)

    def comes_true(self, adverb: str = "") -> str:
        """Say that the outcome is 1, for a sentence that goes on: "the model is right", "the event still happens"."""
        return f"{self.subject} {self.true(adverb)}"

    def true(self, adverb: str = "") -> str:
        """Return the end of that clause: "right", "still happens"."""
        return f"{adverb} {self.predicate}" if adverb else self.predicate

    def in_rows(self, rows: str, *, one: bool = False) -> str:
        """Say where the outcome is 1: "the test rows are right", "in the test rows the event happens"."""
        return self.in_group.format(rows=rows, are="is" if one else "are")

    def of_rows(self, rows: str, *, one: bool = False) -> str:
        """Say so within a sentence, after "how often": "a group is right", "the event happens in a group"."""
        return self.of_group.format(rows=rows, are="is" if one else "are")

    def in_none_of(self, rows: str) -> str:
        """Say that it is so in none: "not one of them is right", "in none of them does the event happen"."""
        return self.of_no_group.format(rows=rows)

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
