"""What acting at a threshold leads to: a slider over the thresholds that the run computed."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.summary import Summary
from miscal.findings.decision_wording import ends, gain_in_words
from miscal.findings.decisions import BrokenPromise, Decision, Promise
from miscal.report.drawing import Chart, Mark, Scale, path
from miscal.report.formatting import DASH, THIN
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


class Side(NamedTuple):
    """The rows on one side of a threshold, before or after the correction, as text; `heading` is that of two lines."""

    heading: str
    state: str
    n: int
    share: str
    promised: str
    observed: str
    interval: str
    broken: bool

    @property
    def mark(self) -> str:
        """Whether the promise is kept, in words."""
        return DASH if self.n == 0 else "broken" if self.broken else "kept, within chance"


class ThresholdRow(NamedTuple):
    """What is said of one threshold: both sides of it, and each finding whose promise is broken there, as text.

    A finding is its phrase, what is done with its rows, their numbers, and what the correction makes of that.
    """

    decision: Decision
    label: str
    origin: str
    sides: tuple[Side, ...]
    groups: tuple[tuple[str, str, Side, str], ...]
    benefit: str
    benefits: tuple[str, ...]


def decisions(source: Source) -> dict[str, Any] | None:
    """Return every threshold, which one is shown first and why, and drawings; None of a run without thresholds."""
    summary = source.summary
    found, words = summary.decisions, vocabulary(summary.kind)
    if not found:
        return None
    start = next((place for place, one in enumerate(found) if one.start), 0)
    x, y = Scale(0, max(1, len(found) - 1), LEFT, WIDTH - RIGHT), Scale(0, _highest(found), BOTTOM, TOP + 4)
    places = range(0, len(found), -(-len(found) // MOST_LABELS))
    labels = [(place, threshold_text(found[place].threshold)) for place in places]
    x_ticks = [(x(place), label, "middle") for place, label in apart(labels, x)]
    y_ticks = [(y(share * y.high), rate(share * y.high)) for share in (0, 0.25, 0.5, 0.75, 1)]
    return {
        "rows": [_row(one, summary, words) for one in found],
        "start": start,
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


def _row(decision: Decision, summary: Summary, words: Vocabulary) -> ThresholdRow:
    headings = {"": words.acted.capitalize(), "_below": f"Not {words.acted}"}
    sides = tuple(
        _side(getattr(decision, state + side), heading if state == "before" else "", STATES[state])
        for side, heading in headings.items()
        for state in STATES
    )
    known = decision.net_benefit
    return ThresholdRow(
        decision=decision,
        label=_unbroken(threshold_text(decision.threshold)),
        origin=_origin(decision, summary, words),
        sides=sides,
        groups=tuple(_group(one, summary, words) for one in decision.findings),
        benefit="" if known is None else begin(gain_in_words(known, decision.threshold, words)),
        # per 1,000 rows
        benefits=() if known is None else tuple(f"{1000 * v:.1f}" for v in (known.before, known.after, known.all)),
    )


def _origin(decision: Decision, summary: Summary, words: Vocabulary) -> str:
    if decision.source == "cost" and (cost := summary.settings.get("cost")):
        return f"implied by the costs: {cost[0]:g} of {words.missed}, {cost[1]:g} of {words.needless}"
    return "asked for" if decision.source == "given" else ""


def _side(one: Promise, heading: str, state: str) -> Side:
    return Side(
        heading=heading,
        state=state,
        n=one.n,
        share=_unbroken(rate(one.share)),
        promised=DASH if one.promised is None else _unbroken(rate(one.promised)),
        observed=DASH if one.observed.value is None else _unbroken(rate(one.observed.value)),
        interval=ends(one) if one.n else "",
        broken=one.broken,
    )


def _group(broken: BrokenPromise, summary: Summary, words: Vocabulary) -> tuple[str, str, Side, str]:
    if broken.after is None:
        after = f"By corrected {words.probability}, fewer than 30 are."
    else:
        own = _side(broken.after, "", "")
        after = (
            f"By corrected {words.probability}: {own.n:,}, of which {own.observed} ({own.interval}); promised: "
            f"{own.promised}."
        )
    phrase = short(begin(summary.findings[broken.finding].phrase), 300)
    return phrase, f"{'not ' if broken.below else ''}{words.acted}", _side(broken.before, "", ""), after


def _unbroken(text: str) -> str:
    """Keep a number and its unit on one line."""
    return text.replace(" ", THIN)
