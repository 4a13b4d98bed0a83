"""The comparison of runs: one typed document, written as ``compare.json``.

Every interval is ``[low, high]`` at 95 %. Residuals are ``y - f``: positive means under-confident. A difference is the
value of `a` minus that of `b`.
"""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, MeasureAgainstNull, Part, Probability, Share, Text
from miscal.base.vocabulary import ANSWER, Kind
from miscal.discovery.summary import Global
from miscal.discovery.summary_parts import CurveNumbers
from miscal.evidence.certificates import Certificate
from miscal.findings.conditions import Stored

COMPARISON_VERSION = 3
"""Version of the layout of ``compare.json``; raised whenever a key changes its meaning or is removed."""


class RunNumbers(Part):
    """One run: its source, and its numbers on all of its rows.

    ``path`` is its folder, None where it has none; ``certificate`` and ``findings`` (how many) are those of its own
    summary.
    """

    name: str
    path: str | None
    data: str | None
    where: str | None
    method: str
    evidence: str
    n: NonNegativeInt
    global_: Global = Field(alias="global")
    certificate: Certificate
    findings: NonNegativeInt


class MeasurePair(Part):
    """A number of both runs; ``better`` is set where ``p_adjusted`` is at most 0.05.

    ``p_adjusted`` allows, by Holm's method, for all measures that can call a run better, in all pairs of runs; it is
    null for other measures. The difference of smECE has no interval: noise makes smECE larger, by a different amount in
    each run.
    """

    a: Measure
    b: Measure
    difference: MeasureAgainstNull
    p_adjusted: Probability = None
    better: Literal["a", "b"] | None = None


class FieldAgreement(Part):
    """Correlations of the two fields over the shared rows; null where one of them is constant."""

    delta: Measure
    hidden: Measure


class GroupSide(Part):
    """A named group under one run; ``residual`` = what a reliability diagram shows of it + ``hidden``."""

    n: NonNegativeInt
    accuracy: FiniteFloat
    confidence: FiniteFloat
    residual: Measure
    hidden: Measure


class GroupPair(Part):
    """A named group under both runs; ``condition`` says which rows belong to it.

    ``found_in`` names the ledgers that list it, ``"a"`` and ``"b"``. ``residual`` and ``hidden`` are the differences;
    ``p_adjusted`` is that of ``hidden``, and counts every group that was tested. ``both`` is ``"over"`` or ``"under"``
    where both runs are right less often, or more often, than rows of equal confidence. A side, and every difference, is
    null where the run has no such rows.
    """

    description: Text
    condition: Stored
    columns: tuple[Text, ...]
    found_in: tuple[Literal["a", "b"], ...] = ()
    share: Share
    a: GroupSide | None
    b: GroupSide | None
    residual: MeasureAgainstNull | None
    hidden: MeasureAgainstNull | None
    p_adjusted: Probability
    both: Literal["over", "under"] | None = None
    aliases: tuple[Text, ...] = ()


class CurveSides(Part):
    """Reliability of the compared rows under both runs."""

    a: CurveNumbers | None
    b: CurveNumbers | None


class RunPair(Part):
    """Two runs beside each other.

    ``same_rows`` says whether rows were matched, so that differences are paired; else all rows of both runs are
    compared as two samples. ``n_a`` and ``n_b`` are the rows compared, ``left_out_a`` and ``left_out_b`` those without
    a match. ``same_answers`` says that confidences and outcomes are equal row by row. ``differences`` is the ledger of
    groups in which the hidden residuals differ, strongest first; ``groups`` are the shifts of both ledgers.
    ``not_found`` are findings whose rows the data do not give.
    """

    a: str
    b: str
    verdict: tuple[str, ...]
    same_rows: bool
    matched_by: str
    same_answers: bool
    n_a: NonNegativeInt
    n_b: NonNegativeInt
    left_out_a: NonNegativeInt
    left_out_b: NonNegativeInt
    measures: dict[str, MeasurePair]
    curves: CurveSides
    fields: FieldAgreement | None
    candidates: NonNegativeInt
    differences: tuple[GroupPair, ...]
    groups: tuple[GroupPair, ...]
    not_found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class ConfidenceNumbers(Part):
    """One of several confidences of the same answers.

    ``log_loss_after`` is that of the corrected confidence, by fits that did not see the row. ``risk_coverage_area`` is
    the mean share of wrong answers over all numbers of rows kept, the most confident first. ``worst`` names the
    findings with the largest hidden residuals.
    """

    name: str
    log_loss: Measure
    log_loss_after: Measure
    risk_coverage_area: Measure
    smece: Measure
    findings: NonNegativeInt
    worst: tuple[Text, ...] = ()


class ConfidenceDifference(Part):
    """Numbers of one confidence minus those of another on the same rows; intervals hold for all pairs at once."""

    a: str
    b: str
    log_loss: Measure
    log_loss_after: Measure
    risk_coverage_area: Measure


class ComparedRuns(Document):
    """Runs beside each other, as in ``compare.json``."""

    schema_version: int = COMPARISON_VERSION
    seed: int
    level: Annotated[float, Field(gt=0.0, lt=1.0)]
    kind: Kind = ANSWER
    epsilon: float | None = None
    runs: tuple[RunNumbers, ...]
    pairs: tuple[RunPair, ...]
    confidences: tuple[ConfidenceNumbers, ...] = ()
    confidence_differences: tuple[ConfidenceDifference, ...] = ()
    left_out: NonNegativeInt = 0
    versions: dict[str, str]
