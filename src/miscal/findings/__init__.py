"""Describe a field: its regimes, their named parts, findings, and the verdict.

What enters is :class:`~miscal.calibration.labelled_rows.LabelledRows` and a
:class:`~miscal.evidence.certificates.Certificate`; what leaves is frozen results and sentences. Parts, enrichment,
naming and residuals are formulas; judging tests regions; subregimes and verdict put them together.
"""

from miscal.findings.judging import Confirmed, Judged, Place, judge_regimes, places
from miscal.findings.residuals import binomial_residual
from miscal.findings.settings import EPSILON, default_epsilon
from miscal.findings.subregimes import Subregime, Subregimes, find_subregimes
from miscal.findings.verdict import averages, verdict

__all__ = [
    "EPSILON",
    "Confirmed",
    "Judged",
    "Place",
    "Subregime",
    "Subregimes",
    "averages",
    "binomial_residual",
    "default_epsilon",
    "find_subregimes",
    "judge_regimes",
    "places",
    "verdict",
]
