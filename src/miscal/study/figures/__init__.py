"""Figures of a study. To add one: a ``FIGURE`` in a module here, and its line in :data:`FIGURES`."""

from __future__ import annotations

from miscal.study.figures import (
    deferral,
    examples,
    fields,
    gaps,
    improvements,
    layouts,
    nulls,
    proxies,
    purity,
    sizes,
    transfer,
)
from miscal.study.figures.figure import StudyFigure

FIGURES: tuple[StudyFigure, ...] = (
    gaps.FIGURE,
    fields.FIGURE,
    examples.FIGURE,
    improvements.FIGURE,
    improvements.GAINS_FIGURE,
    sizes.FIGURE,
    fields.RAW_FIGURE,
    gaps.RAW_FIGURE,
    nulls.FIGURE,
    proxies.FIGURE,
    layouts.FIGURE,
    purity.FIGURE,
    deferral.FIGURE,
    transfer.FIGURE,
    transfer.CORRECTIONS_FIGURE,
)
"""All figures, in the order of the page."""
