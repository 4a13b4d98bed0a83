"""Field and findings over time: what each period promised, what came true, and what is hidden before and after."""

from collections.abc import Sequence
from typing import Any

from miscal.base.document import Measure
from miscal.discovery.summary import PeriodNumbers
from miscal.report.drawing import Chart, Mark, Scale, path, round_ticks
from miscal.report.formatting import count, points, signed
from miscal.report.panels.findings import SHOWN
from miscal.report.source import Source

WIDE, SMALL = (680.0, 190.0), (260.0, 130.0)
LEFT, RIGHT, TOP, BOTTOM, INSET = 40.0, 8.0, 8.0, 22.0, 10.0
FINE = 0.02
"""Reach of a scale below which its ticks have a decimal."""
APART = 2.5
"""Distance of the two dots of a period from its middle."""


def over_time(source: Source) -> dict[str, Any] | None:
    """Return two charts of all rows, and a small one of each of the strongest findings.

    None where no times are known, or all rows are of one period.
    """
    summary, found = source.summary, source.summary.over_time
    if found is None or len(found.periods) < 2:
        return None
    starts = [one.start for one in found.periods]
    shown = [one for one in found.findings if one.finding <= min(SHOWN, len(summary.findings))]
    reach = _reach([one for finding in shown for one in finding.periods])
    return {
        "period": found.period,
        "column": "time" if found.column is None else found.column,
        "level": _levels(found.periods, starts),
        "hidden": _hidden(found.periods, starts, WIDE, _reach(found.periods)),
        "findings": [
            (_hidden(one.periods, starts, SMALL, reach), one.finding, summary.findings[one.finding - 1].description)
            for one in shown
        ],
        "blocks": found.blocks,
    }


def _reach(periods: Sequence[PeriodNumbers]) -> float:
    """Return how far the scale reaches from zero: a little farther than all means, and than half of the intervals."""
    ends = [abs(end) for one in periods for part in (one.hidden, one.after) for end in part.interval or () if end]
    values = [abs(part.value) for one in periods for part in (one.hidden, one.after) if part.value]
    return max(0.01, 1.2 * max(values, default=0.0), sorted(ends)[len(ends) // 2] if ends else 0.0)


def _levels(periods: Sequence[PeriodNumbers], starts: Sequence[str]) -> Chart:
    ends = [one.confidence + end for one in periods for end in one.residual.interval or () if end is not None]
    values = [value for one in periods for value in (one.accuracy, one.confidence, one.corrected)]
    low, high = max(0.0, min([*ends, *values])), min(1.0, max([*ends, *values]))
    # one rate in all periods, and none of it in doubt
    high = max(high, low + 0.01)
    x, y = _scales(starts, WIDE, low, high)
    at = [x(starts.index(one.start)) for one in periods]
    marks = [
        _mark(place, y, one.accuracy, one.residual, one, f"{100 * one.accuracy:.1f} %", "right")
        for place, one in zip(at, periods, strict=True)
    ]
    lines = [
        (kind, path((place, y(getattr(one, name))) for place, one in zip(at, periods, strict=True)))
        for name, kind in (("confidence", "promised"), ("corrected", "diagonal"))
    ]
    ticks = [(y(value), f"{100 * value:g}") for value in round_ticks(low, high)]
    return _chart(WIDE, x, y, ticks, marks, starts, lines)


def _hidden(periods: Sequence[PeriodNumbers], starts: Sequence[str], size: tuple[float, float], reach: float) -> Chart:
    x, y = _scales(starts, size, -reach, reach)
    marks = []
    for one in periods:
        at = x(starts.index(one.start))
        for part, when, side, kind in ((one.hidden, "before", -APART, "right"), (one.after, "after", APART, "sure")):
            if part.value is not None:
                text = f"{points(part.value)} points {when} the correction"
                marks.append(_mark(at + side, y, part.value, part, one, text, kind))
    digits = 0 if reach > FINE else 1
    values = round_ticks(-reach, reach, 4)
    ticks = [(y(value), signed(100 * value, digits) if value else "0") for value in values]
    return _chart(size, x, y, ticks, marks, starts, signed=True)


def _scales(starts: Sequence[str], size: tuple[float, float], low: float, high: float) -> tuple[Scale, Scale]:
    width, height = size
    across = Scale(0.0, max(1.0, len(starts) - 1.0), LEFT + INSET, width - RIGHT - INSET)
    return across, Scale(low, high, height - BOTTOM, TOP)


def _mark(x: float, y: Scale, value: float, part: Measure, one: PeriodNumbers, text: str, kind: str) -> Mark:
    at = y.inside(value)
    whisker = y.whisker(part.interval, origin=value - part.value)
    return Mark(round(x, 2), at, whisker, f"{one.start}: {count(one.n)} rows, {text}", kind)


def _chart(
    size: tuple[float, float],
    x: Scale,
    y: Scale,
    ticks: Sequence[tuple[float, str]],
    marks: Sequence[Mark],
    starts: Sequence[str],
    lines: Sequence[tuple[str, str]] = (),
    *,
    signed: bool = False,
) -> Chart:
    last, small = len(starts) - 1, size == SMALL
    places = [0, last] if small or last < 4 else [0, last // 2, last]
    anchors = {0: "start", last: "end"}
    labels = [(x(place), starts[place], anchors.get(place, "middle")) for place in places]
    radius = 2.2 if small else 3.0
    return Chart(*size, x, y, labels, ticks, marks, lines, radius=radius, inset=INSET, signed=signed)
