"""Several classes: an overview, the confusions that confidence hides, and the findings of each class."""

from typing import Any, NamedTuple

import numpy as np

from miscal.base.vocabulary import Vocabulary
from miscal.discovery.answer import confusion_sentence, words_of
from miscal.discovery.summary_parts import ClassEvent
from miscal.findings.ledger import Finding
from miscal.findings.verdict import fate_words
from miscal.report.drawing import LINEAR_AXES, Dot, ProbabilityAxes, log_odds_axes
from miscal.report.source import Source

RARE, LOWEST = 0.05, 1e-3
"""Mean probability below which a diagram is drawn in log-odds, as on linear axes its dots would lie in a corner; and
the probability at which such axes end at least."""

STATES = {"raw": "As given", "global map": "By the global map", "corrected": "Corrected"}


class ClassSection(NamedTuple):
    """A class that was looked at, its place on the page, and its findings, each with its fate in words."""

    event: ClassEvent
    place: int
    about: str
    findings: list[tuple[Finding, str]]
    axes: ProbabilityAxes
    diagrams: list[tuple[str, list[Dot]]]
    terms: Vocabulary


def classes(source: Source) -> dict[str, Any] | None:
    """Return what is shown of classes; None of a run that has none."""
    numbers = source.summary.classes
    if numbers is None:
        return None
    looked = [one for one in numbers.classes if one.looked_at]
    places = {one.name: place for place, one in enumerate(numbers.classes, start=1)}
    # classes with findings first, those with the strongest at the top
    ordered = sorted(looked, key=lambda one: min((found.p_adjusted for found in one.findings), default=2.0))
    return {
        "numbers": numbers,
        "looked_at": len(looked),
        "places": places,
        "example": confusion_sentence(numbers.confusions[0]) if numbers.confusions else "",
        "sections": [_section(one, places[one.name]) for one in ordered],
        "states": STATES,
    }


def _section(one: ClassEvent, place: int) -> ClassSection:
    curves = [] if one.curves is None else [("Before", one.curves.raw), ("After the correction", one.curves.corrected)]
    known = [(when, curve) for when, curve in curves if curve is not None]
    shown = [value for _, curve in known for value in (*curve.confidence, *curve.accuracy)]
    axes = log_odds_axes(np.clip(shown, LOWEST, 1 - LOWEST)) if one.probability < RARE else LINEAR_AXES
    many = len(one.findings)
    found = [(finding, fate_words(finding.fate, finding.units_needed)) for finding in one.findings]
    return ClassSection(
        event=one,
        place=place,
        about=f"{one.labels:,} labels, {f'{many} finding' + ('' if many == 1 else 's') if many else 'no finding'}",
        findings=found,
        axes=axes,
        diagrams=[(when, axes.dots(curve)) for when, curve in known],
        terms=words_of(one.name if len(one.name) <= 20 else f"{one.name[:19]}…"),
    )
