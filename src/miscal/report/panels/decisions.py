"""What acting at a threshold leads to: a slider over the thresholds that the run computed."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import Vocabulary
from miscal.discovery.summary import Summary
from miscal.findings.decisions import BrokenPromise, Decision, Promise, ends, gain_in_words
from miscal.report.drawing import Chart, Mark, Scale, path
from miscal.report.formatting import THIN
from miscal.report.source import Source
from miscal.report.texts import begin, short

#: Of each of the two drawings, in units of its view box.
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 360, 44, 10, 12, 170
#: Width of a character of a label, and of what keeps it apart from the next one, in the same units.
CHARACTER = 7
#: Labels of thresholds that fit side by side.
MOST_LABELS = 7
#: Upper ends that the axis of rates may have.
ROUND = (0.001, 0.002, 0.004, 0.01, 0.02, 0.04, 0.1, 0.2, 0.4, 0.6, 0.8)
STATES = {"before": "before the correction", "after": "after the correction"}


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
            for state, when in STATES.items()
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
            for state, when in STATES.items()
        ],
        groups=[(short(begin(summary.findings[one.finding].condition.phrase), 300), one) for one in decision.findings],
        benefit="" if benefit is None else begin(gain_in_words(benefit, decision.threshold, words)),
        benefits=[f"{1000 * v:.1f}" for v in (benefit.before, benefit.after, benefit.all)] if benefit else [],
    )
