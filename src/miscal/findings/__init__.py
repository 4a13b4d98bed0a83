"""Describe a field: its regimes, what they are made of, and findings.

What enters is :class:`~miscal.calibration.labelled_rows.LabelledRows` and a
:class:`~miscal.evidence.certificates.Certificate`; what leaves is frozen results and sentences. Enrichment,
keywords and residuals are formulas; judging tests regions.
"""

from miscal.findings.judging import Confirmed, Judged, contents_of, judge_regimes
from miscal.findings.residuals import EPSILON, binomial_residual, default_epsilon

__all__ = [
    "EPSILON",
    "Confirmed",
    "Judged",
    "binomial_residual",
    "contents_of",
    "default_epsilon",
    "judge_regimes",
]
