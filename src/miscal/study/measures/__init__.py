"""The numbers of one pair: each module fills the tables that it names from what a discovery found."""

from collections.abc import Callable

from miscal.study.measures import corrections, curves, deferral, histograms, layouts, pairs, purity, thresholds
from miscal.study.studied import Rows, Studied

MEASURES: tuple[Callable[[Studied], Rows], ...] = (
    pairs.measure,
    corrections.measure,
    thresholds.measure,
    curves.measure,
    histograms.measure,
    deferral.measure,
)
"""What is measured of every pair."""

INTERPRETING: tuple[Callable[[Studied], Rows], ...] = (purity.measure, layouts.measure)
"""What costs much, and is measured of the pairs that a plan names under ``interpret``."""
