"""Numbers of many pairs, computed from the tables of a study alone; figures and pages draw and print them."""

from miscal.study.numbers.association import Association
from miscal.study.numbers.audits import null_numbers, seed_numbers
from miscal.study.numbers.corrections import HeterogeneityGain, heterogeneity_gain, improvements
from miscal.study.numbers.deferral import deferral_numbers
from miscal.study.numbers.gaps import (
    LARGE_GAP,
    GapNumbers,
    RawAgainstLearned,
    gap_numbers,
    raw_against_learned,
    size_trends,
)
from miscal.study.numbers.thresholds import (
    Correlated,
    ThresholdCorrelations,
    threshold_correlations,
    threshold_numbers,
)

__all__ = [
    "LARGE_GAP",
    "Association",
    "Correlated",
    "GapNumbers",
    "HeterogeneityGain",
    "RawAgainstLearned",
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
