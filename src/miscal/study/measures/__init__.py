"""Numbers of one pair: every module has a function `measure` that returns rows of the study's tables."""

from miscal.study.measures import layouts, purity

MEASURES = ()
"""Measures of every pair."""

INTERPRETING = (purity.measure, layouts.measure)
"""Measures of the pairs that a plan asks to interpret: they cost as much as the rest of a pair."""
