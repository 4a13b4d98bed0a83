"""What documents store of some rows, of several classes, and of a judge."""

from __future__ import annotations

from pydantic import ConfigDict, FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, Number, Part, Probability, Share, Text
from miscal.evidence.judged_rows import Agreement, Rate
from miscal.findings.ledger.ledger import Finding


class Score(Part):
    """How one correction does on one slice of the test rows; metrics registered beyond these three are numbers too."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number]

    smece: Number
    brier: Number
    log_loss: Number
    n: NonNegativeInt


class CurveNumbers(Part):
    """A reliability curve with its 95 % band, one entry per bin.

    `low, high`: ends of the band.
    """

    confidence: tuple[FiniteFloat, ...]
    accuracy: tuple[FiniteFloat, ...]
    low: tuple[FiniteFloat, ...]
    high: tuple[FiniteFloat, ...]
    n: tuple[NonNegativeInt, ...]


class CurvePair(Part):
    """Reliability before and after the correction.

    `raw`: before; null where the rows are too few for a curve.
    """

    raw: CurveNumbers | None
    corrected: CurveNumbers | None


class ClassEvent(Document):
    """A class as an event of its own: the probability that the model gives it, and whether it is the label.

    Numbers are of the evaluation rows. ``labels`` counts the rows that have it, ``predicted`` those where it is the
    likeliest; ``probability`` is its mean probability, ``rate`` the share of rows that have it. ``raw`` and
    ``corrected`` score these probabilities. ``findings`` are groups in which the class is the label more or less often
    than in rows of equal probability of it; they were only looked for where ``looked_at`` is true.
    """

    name: Text
    labels: NonNegativeInt
    predicted: NonNegativeInt
    probability: Share
    rate: Share
    raw: Score
    corrected: Score
    looked_at: bool
    findings: tuple[Finding, ...] = ()
    curves: CurvePair | None = None


class Confusion(Part):
    """A class that is the label more or less often than its probability says, where another is predicted.

    ``finding`` is its place among the findings of the class ``label``, from 1; ``rate`` and ``probability`` are of the
    class ``label`` in the ``n`` rows where ``predicted`` is the likeliest.

    `after`: what the correction leaves of `hidden`.
    """

    label: Text
    predicted: Text
    finding: NonNegativeInt
    n: NonNegativeInt
    probability: Share
    rate: Share
    hidden: Measure
    after: Measure
    fate: str | None
    sign: str
    p_adjusted: FiniteFloat


class ClassNumbers(Part):
    """All classes of a run.

    ``error_top_label`` and ``error_class`` are the shares of the family-wise error that the findings of the top label,
    and those of each class looked at, may spend; together they are 1 at most. ``candidates`` counts the groups tested
    of each class. ``log_loss`` and ``accuracy`` of ``raw``, ``global map`` and ``corrected`` probabilities are of all
    classes, on the evaluation rows; ``saved`` is the log loss that the correction saves. ``correction`` names the
    way that was chosen for the correction that is saved.

    `label`: column of the class that each row has. `predicted_column`: what the predicted class is called in findings.
    `classes`: each as an event of its own. `confusions`: classes that are the label where another is predicted.
    """

    label: Text | None
    predicted_column: Text
    error_top_label: FiniteFloat
    error_class: FiniteFloat
    candidates: NonNegativeInt
    correction: str
    log_loss: dict[str, Number]
    accuracy: dict[str, Number]
    saved: Measure
    classes: tuple[ClassEvent, ...]
    confusions: tuple[Confusion, ...] = ()

    @property
    def findings(self) -> tuple[tuple[str, Finding], ...]:
        """All findings with their class, class by class."""
        return tuple((one.name, finding) for one in self.classes for finding in one.findings)


class GroupRate(Part):
    """How often people would approve the answers of a group, beside what the judge says.

    ``name`` says what the group is; ``column`` and ``value`` name it where it is a value of a column, ``finding`` is
    its place among the findings, from 1. ``rate`` is of prediction-powered inference, ``judge`` the mean of the judge's
    scores. ``agreement`` compares what the judge passes with what people approve.
    """

    name: Text
    column: Text | None = None
    value: Text | None = None
    finding: NonNegativeInt | None = None
    rate: Rate
    judge: Rate
    agreement: Agreement | None = None


class ScalePoint(Part):
    """A score of the judge, and how often people approve at it.

    `score`: as it stands. `approval`: from 0 to 1.
    """

    score: Text
    approval: Probability


class JudgeNumbers(Part):
    """The judge of a run.

    ``scale`` is empty where its scores are probabilities. ``n_unjudged`` rows have no verdict of people. ``groups`` are
    the findings, and the values of columns with few of them.

    `whole`: all rows.
    """

    scale: tuple[ScalePoint, ...] = ()
    n_unjudged: NonNegativeInt
    whole: GroupRate
    groups: tuple[GroupRate, ...] = ()


class Answer(Part):
    """A run in three lines, each a sentence or two.

    ``headline`` says in at most 20 words what is wrong and how large it is, ``reason`` in at most 25 words where most,
    and ``action`` in at most 25 words what to do.
    """

    headline: Text
    reason: Text
    action: Text


class PlainFacts(Part):
    """What all rows show before anything is learned.

    ``ranking`` is the area under the ROC curve of the probability; ``far`` says that its mean is so far from the
    outcomes that another column may have been taken for it, ``verdicts`` that it is 0 or 1 in every row. ``usual`` is
    the probability that most rows have, ``usual_share`` their share. ``one_answer`` is what the model answers far more
    often than this can be right, in ``one_answer_n`` rows, if anything. ``copies`` is how often each row is held.
    """

    ranking: Measure
    far: bool
    verdicts: bool
    usual: Share
    usual_share: Share
    one_answer: Text | None = None
    one_answer_n: NonNegativeInt = 0
    copies: NonNegativeInt = 1
