"""Means, counts and correlations over many pairs, computed from the tables of a study alone.

Figures and pages draw and print them.
"""

from miscal.study.aggregates.association import Association
from miscal.study.aggregates.audits import null_numbers, seed_numbers
from miscal.study.aggregates.corrections import HeterogeneityGain, deferral_numbers, heterogeneity_gain, improvements
from miscal.study.aggregates.gaps import (
    LARGE_GAP,
    Correlated,
    RawAgainstLearned,
    StudyGaps,
    ThresholdCorrelations,
    gap_numbers,
    raw_against_learned,
    size_trends,
    threshold_correlations,
    threshold_numbers,
)

__all__ = [
    "LARGE_GAP",
    "Association",
    "Correlated",
    "HeterogeneityGain",
    "RawAgainstLearned",
    "StudyGaps",
    "ThresholdCorrelations",
    "deferral_numbers",
    "gap_numbers",
    "heterogeneity_gain",
    "improvements",
    "null_numbers",
    "raw_against_learned",
    "seed_numbers",
    "size_trends",
    "threshold_correlations",
    "threshold_numbers",
]
