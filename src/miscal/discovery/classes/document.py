"""What the summary says of several classes."""

from __future__ import annotations

from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, Number, Part, Share, Text
from miscal.discovery.slice_numbers import CurvePair, Score
from miscal.findings.ledger import Finding


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
