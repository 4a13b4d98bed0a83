"""Figures of a study. To add one: a module with a ``FIGURE`` here, and its line in :data:`FIGURES`."""

from __future__ import annotations

from miscal.study.figures.figure import StudyFigure

FIGURES: tuple[StudyFigure, ...] = ()
"""All figures, in the order of the page."""
