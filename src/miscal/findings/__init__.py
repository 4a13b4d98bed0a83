"""Describe a field: its regimes, their named parts, and findings.

What enters is :class:`~miscal.calibration.labelled_rows.LabelledRows` and a
:class:`~miscal.evidence.certificates.Certificate`; what leaves is frozen results and sentences. Parts, enrichment,
naming and residuals are formulas; judging tests regions.
"""

from miscal.findings.judging import Confirmed, Judged, judge_regimes
from miscal.findings.residuals import binomial_residual
from miscal.findings.settings import EPSILON, default_epsilon
from miscal.findings.subregimes import Subregime, Subregimes, find_subregimes

__all__ = [
    "EPSILON",
    "Confirmed",
    "Judged",
    "Subregime",
    "Subregimes",
    "binomial_residual",
    "default_epsilon",
    "find_subregimes",
    "judge_regimes",
]
