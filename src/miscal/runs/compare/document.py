"""What a comparison holds, as in ``compare.json``.

Every interval is ``[low, high]`` at 95 %. Residuals are ``y - f``: positive means under-confident. A difference is the
value of `a` minus that of `b`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, MeasureAgainstNull, Number, Part, Probability, Share, Text
from miscal.base.vocabulary import ANSWER, Kind
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.discovery.summary import Global
from miscal.evidence.certificates import Certificate
from miscal.findings.conditions.condition import Stored

COMPARISON_VERSION = 5
"""Version of the layout of ``compare.json``; raised whenever a key changes its meaning or is removed."""


class RunNumbers(Part):
    """One run: its source, and its numbers on all of its rows.

    ``path`` is its folder, None where it has none; ``certificate`` and ``findings`` (how many) are those of its own
    summary.

    `data, where`: the file, and which of its rows.
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

    ``p_adjusted`` allows, by Holm's method, for calibration error, Brier score and log loss, which say together whether
    a run is better calibrated. Those of the mean residual, of which the null is that both are equally far from 0, of
    the accuracy of answers and of the corrected log loss are not adjusted: each answers a question of its own. It is
    null for other measures. The difference of smECE has no interval: noise makes smECE larger, by a different amount in
    each run. ``alone`` is the share of rows that each may decide alone at the ``accepted_error`` of the comparison.

    `difference`: that of the first minus that of the second.
    """

    a: Measure
    b: Measure
    difference: MeasureAgainstNull
    p_adjusted: Probability = None
    better: Literal["a", "b"] | None = None


class FieldAgreement(Part):
    """Correlations of the two fields over the shared rows; null where one of them is constant.

    `delta`: of the field.
    """

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


class ComparedRuns(Document):
    """Two runs beside each other; differences are paired where ``same_rows`` is true."""

    schema_version: int = COMPARISON_VERSION
    seed: int
    level: Annotated[float, Field(gt=0.0, lt=1.0)]
    kind: Kind = ANSWER
    epsilon: float | None = None
    runs: tuple[RunNumbers, RunNumbers]
    a: str
    b: str
    same_rows: bool
    matched_by: str
    same_answers: bool
    n_a: NonNegativeInt
    n_b: NonNegativeInt
    left_out_a: NonNegativeInt
    left_out_b: NonNegativeInt
    measures: dict[str, MeasurePair]
    accepted_error: Share | None = None
    step: Number = None
    curves: CurveSides
    fields: FieldAgreement | None
    candidates: NonNegativeInt
    differences: tuple[GroupPair, ...]
    groups: tuple[GroupPair, ...]
    not_found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str]

    def closer(self, group: GroupPair) -> Literal["a", "b"] | None:
        """Return the run whose probabilities are nearer to the outcomes of a group; None where that is not known."""
        if group.a is None or group.b is None or group.a.residual.value is None or group.b.residual.value is None:
            return None
        a, b = (abs(side.residual.value) for side in (group.a, group.b))
        return None if a == b else "a" if a < b else "b"

    @property
    def better(self) -> Literal["a", "b"] | None:
        """The run that is better calibrated on all rows: by its error or, where that does not tell, by its mean."""
        return self.measures["calibration_error"].better or self.measures["residual"].better
