"""How certain it is what was found; alarms and warnings; judges, several classes, and decisions at a threshold."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from miscal.base.document import Measure
from miscal.base.number_wording import lower_limit, percent, rate, threshold_text
from miscal.base.vocabulary import Vocabulary
from miscal.discovery.answer import LACKING, confusion_sentence, rate_sentence, scale_sentence, words_of
from miscal.discovery.summary import Summary
from miscal.discovery.summary_parts import ClassEvent, GroupRate
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.decisions import BrokenPromise, Decision, Promise, ends, gain_in_words
from miscal.findings.ledger.ledger import Finding
from miscal.findings.verdict import fate_words
from miscal.report.drawing import LINEAR_AXES, Chart, Dot, Mark, ProbabilityAxes, Scale, log_odds_axes, path
from miscal.report.formatting import DASH, THIN, count
from miscal.report.sheet import Cell, Column, Part, Table
from miscal.report.source import Source
from miscal.report.texts import begin, first_sentence, short


@dataclass(frozen=True)
class Limit:
    """A certificate as shown: its lower limit, its p-value, and whether that alone proves something."""

    label: str
    quantity: str
    low: float | None
    p_value: float | None
    proven: bool

    @property
    def size(self) -> str:
        """The limit in points, where it is above zero and what it limits is proven; else empty."""
        return lower_limit(self.low) if self.proven and self.low else ""


def notes(source: Source) -> dict[str, Any] | None:
    """Return the alarms, each its first sentence and the rest, and the warnings; None where there are none."""
    summary = source.summary
    alarms = [first_sentence(text) for text in summary.alarms if text.strip()]
    warnings = [text for text in summary.warnings if text.strip() and text not in summary.alarms]
    return {"alarms": alarms, "warnings": warnings} if alarms or warnings else None


def verdict(source: Source) -> dict[str, Any]:
    """Return limits, and the scores before and after the correction."""
    return {"summary": source.summary, **headline(source)}


def headline(source: Source) -> dict[str, Any]:
    """Return both limits, and the scores of all evaluation rows before and after the correction, None where unknown."""
    summary, terms = source.summary, source.terms
    proof, smece = summary.certificate, summary.global_.smece
    total = lower_end(proof.lower_bound_total)
    # the field may have nothing to say of an error that smECE shows: one question has one answer
    by_smece = total == 0 and smece.p_value is not None and smece.p_value < SIGNIFICANCE
    limits = (
        Limit(
            label="Miscalibration",
            quantity=f"mean absolute difference between the {terms.probability} and the {terms.chance}",
            low=total,
            p_value=smece.p_value if by_smece else proof.p_value_total,
            proven=by_smece or bool(total),
        ),
        Limit(
            label="Hidden miscalibration",
            quantity=f"mean absolute miscalibration that the {terms.probability} alone does not explain",
            low=lower_end(proof.lower_bound_hidden),
            p_value=proof.p_value,
            proven=proof.claims_hidden,
        ),
    )
    before, after = (summary.correction[name].all if name in summary.correction else None for name in ("raw", "miscal"))
    return {"limits": limits, "before": before, "after": after}


def lower_end(bound: Measure) -> float | None:
    """Return a lower limit; None where there is none.

    Examples
    --------
    >>> lower_end(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.0949
    """
    return bound.interval[0] if bound.interval else None


HEADS = {"rate": "People would approve", "judge": "The judge says"}
"""Estimates of a row by their names, with their headings."""


def judge(source: Source) -> list[Any] | None:
    """Return tables of all answers, of findings and of values of columns; None of a run that has no judge."""
    numbers = source.summary.judge
    if numbers is None:
        return None
    findings = [one for one in numbers.groups if one.finding is not None]
    others = [one for one in numbers.groups if one.finding is None]
    titled = {"All answers": [numbers.whole], "Where the judge errs": findings, "By value of a column": others}
    rates = [getattr(row, name) for rows in titled.values() for row in rows for name in HEADS]
    lacking = sorted({LACKING[rate.lacking] for rate in rates if rate is not None and rate.lacking is not None})
    options = source.summary.settings.get("source", {}).get("options", {})
    given = ", with the probabilities that were given" if options.get("labelling_probability") else ""
    columns = [
        Column("answers", "name"),
        Column("how many", "rate.n", count),
        Column("judged by people", "rate.n_labelled", count),
        *(Column(head, partial(_estimate, name)) for name, head in HEADS.items()),
    ]
    return [
        f"{rate_sentence(numbers)} {scale_sentence(numbers)}".strip(),
        *(Part(title, Table(columns, rows, sortable=True)) for title, rows in titled.items() if rows),
        "People would approve: prediction-powered inference on the corrected judge (Angelopoulos et al., 2023), which "
        "uses the verdicts of people where there are some and the judge everywhere. It holds whatever the judge is "
        f"worth, if the answers that people have judged were chosen at random{given}. Intervals are at 95 %, each for "
        "its own row. The judge's own rate is right only where the judge is."
        f"{''.join(f' A dash in place of an interval: {reason}.' for reason in lacking)}",
    ]


def _estimate(name: str, row: GroupRate) -> Cell:
    """Write an estimate of a row, and its interval below it."""
    rate = getattr(row, name)
    if rate is None or rate.estimate is None:
        return Cell(DASH, key=-1)
    low, high = (percent(end, 1) for end in rate.interval) if rate.interval else ("", "")
    interval = f"{low.removesuffix(' %')} to {high}" if rate.interval else DASH
    return Cell(percent(rate.estimate, 1), interval, key=rate.estimate)


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


#: Of each of the two drawings, in units of its view box.
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 360, 44, 10, 12, 170
#: Width of a character of a label, and of what keeps it apart from the next one, in the same units.
CHARACTER = 7
#: Labels of thresholds that fit side by side.
MOST_LABELS = 7
#: Upper ends that the axis of rates may have.
ROUND = (0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8)
SIDES = {"before": "before the correction", "after": "after the correction"}


class Threshold(NamedTuple):
    """A threshold, where it comes from, and in words what acting at it is worth, in all and per 1,000 rows.

    A side is its heading, which stands for two lines, when it is measured, and what is promised and observed. A group
    is the phrase of a finding whose promise is broken here, and by how much.
    """

    decision: Decision
    label: str
    origin: str
    sides: list[tuple[str, str, Promise]]
    groups: list[tuple[str, BrokenPromise]]
    benefit: str
    benefits: list[str]


def decisions(source: Source) -> dict[str, Any] | None:
    """Return every threshold, which one is shown first and why, and drawings; None of a run without thresholds."""
    summary = source.summary
    found, words = summary.decisions, source.terms
    if not found:
        return None
    start = next((place for place, one in enumerate(found) if one.start), 0)
    x, y = Scale(0, max(1, len(found) - 1), LEFT, WIDTH - RIGHT), Scale(0, _highest(found), BOTTOM, TOP + 4)
    places = range(0, len(found), -(-len(found) // MOST_LABELS))
    labels = [(place, threshold_text(found[place].threshold)) for place in places]
    x_ticks = [(x(place), label, "middle") for place, label in apart(labels, x)]
    y_ticks = [(y(share * y.high), rate(share * y.high)) for share in (0, 0.25, 0.5, 0.75, 1)]
    return {
        "rows": [_threshold(one, summary, words) for one in found],
        "start": start,
        "ends": ends,
        "why": _why(found[start], words),
        "plots": {
            when: Chart(
                *(WIDTH, 214, x, y, x_ticks, y_ticks, marks),
                lines=[("diagonal", promised)],
                titles=("threshold", ""),
                radius=3.0,
            )
            for state, when in SIDES.items()
            for marks, promised in [_drawn(found, state, x, y)]
        },
    }


def apart(labels: Sequence[tuple[int, str]], x: Scale) -> list[tuple[int, str]]:
    """Leave out the labels that would overlap the one before them.

    Examples
    --------
    >>> apart([(0, "35 %"), (5, "99.967 %"), (6, "99.9986 %")], Scale(0, 6, 0.0, 300.0))
    [(0, '35 %'), (5, '99.967 %')]
    """
    shown: list[tuple[int, str]] = []
    end = -math.inf
    for place, label in labels:
        half = len(label) * CHARACTER / 2
        if x(place) - half > end:
            shown.append((place, label))
            end = x(place) + half
    return shown


def _why(start: Decision, words: Vocabulary) -> str:
    """Say why a threshold is shown first."""
    reasons = {
        "cost": "The threshold shown first is the one that the costs imply.",
        "given": "The threshold shown first is the first one that was asked for.",
        "grid": f"The threshold shown first is the one at which the correction changes what is done with most "
        f"{words.cases}; those that it changes by less than the band of good calibration do not count.",
    }
    return reasons[start.source]


def _highest(decisions: tuple[Decision, ...]) -> float:
    """Upper end of the axis of rates: the least of some round ones that holds all that is drawn."""
    highest = max(_top(side) for one in decisions for side in (one.before, one.after))
    return next((end for end in ROUND if highest <= end), 1.0)


def _top(side: Promise) -> float:
    """Highest rate that is drawn of a side: intervals of few rows may leave the drawing."""
    return max(side.promised or 0.0, side.observed.value or 0.0, side.high if side.n >= 30 else 0.0)


def _drawn(decisions: tuple[Decision, ...], state: str, x: Scale, y: Scale) -> tuple[list[Mark], str]:
    """Return the observed rates as dots, and the promised ones as a line."""
    sides: list[tuple[int, Promise]] = [(n, side) for n, one in enumerate(decisions) if (side := getattr(one, state)).n]
    marks = [
        Mark(
            x(place),
            y.inside(one.observed.value or 0.0),
            (y.inside(one.low), y.inside(one.high)),
            f"threshold {threshold_text(decisions[place].threshold)}: {one.n:,} rows, observed "
            f"{rate(one.observed.value or 0.0)} ({ends(one)}), promised {rate(one.promised or 0.0)}",
        )
        for place, one in sides
    ]
    return marks, path((x(place), y(one.promised or 0.0)) for place, one in sides)


def _threshold(decision: Decision, summary: Summary, words: Vocabulary) -> Threshold:
    headings = {"": words.acted.capitalize(), "_below": f"Not {words.acted}"}
    benefit, origin = decision.net_benefit, "asked for" if decision.source == "given" else ""
    if decision.source == "cost" and (cost := summary.settings.get("cost")):
        origin = f"implied by the costs: {cost[0]:g} of {words.missed}, {cost[1]:g} of {words.needless}"
    return Threshold(
        decision=decision,
        label=threshold_text(decision.threshold).replace(" ", THIN),
        origin=origin,
        sides=[
            (heading if state == "before" else "", when, getattr(decision, state + side))
            for side, heading in headings.items()
            for state, when in SIDES.items()
        ],
        groups=[(short(begin(summary.findings[one.finding].condition.phrase), 300), one) for one in decision.findings],
        benefit="" if benefit is None else begin(gain_in_words(benefit, decision.threshold, words)),
        benefits=[f"{1000 * v:.1f}" for v in (benefit.before, benefit.after, benefit.all)] if benefit else [],
    )
