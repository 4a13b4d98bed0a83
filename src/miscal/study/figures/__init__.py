"""Figures of a study. To add one: a module with a ``FIGURE`` here, and its line in :data:`FIGURES`."""

from __future__ import annotations

from miscal.study.figures import (
    corrections_elsewhere,
    deferral,
    examples,
    fields,
    gains,
    gaps,
    improvements,
    layouts,
    nulls,
    proxies,
    purity,
    raw_fields,
    raw_gaps,
    sizes,
    transfer,
)
from miscal.study.figures.figure import StudyFigure

FIGURES: tuple[StudyFigure, ...] = (
    gaps.FIGURE,
    fields.FIGURE,
    examples.FIGURE,
    improvements.FIGURE,
    gains.FIGURE,
    sizes.FIGURE,
    raw_fields.FIGURE,
    raw_gaps.FIGURE,
    nulls.FIGURE,
    proxies.FIGURE,
    layouts.FIGURE,
    purity.FIGURE,
    deferral.FIGURE,
    transfer.FIGURE,
    corrections_elsewhere.FIGURE,
)
"""All figures, in the order of the page."""
