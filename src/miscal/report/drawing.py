"""Turn data into SVG coordinates: scales, ticks, bars, dots and charts.

Axes of probability are linear, or in log-odds, which tells probabilities near 0 and 1 apart. A page draws both, one of
which is seen; a switch on the page changes them. The first one is in log-odds where most rows lie below 2 %
or above 98 %.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from miscal.base.document import Interval, Measure
from miscal.base.vocabulary import Vocabulary
from miscal.calibration.metrics.curve import CurveNumbers
from miscal.discovery.summary import Summary
from miscal.report.formatting import bounds, points

LINEAR, LOG_ODDS = "linear", "log-odds"
MOST_EXTREME = 0.5
"""Share of rows with a probability near 0 or 1 above which axes are in log-odds at first: most rows."""

_LOW = sorted(float(f"{digit}e-{power}") for power in range(1, 7) for digit in (1, 2, 5))
_MARKS = (*_LOW, *(1 - mark for mark in reversed(_LOW[:-1])))
"""Places of ticks: 0.000001 to 0.5, and what they leave to 1."""
_MOST_TICKS = 6


@dataclass(frozen=True)
class Scale:
    """A linear map from the data range [low, high] to the drawing range [start, stop].

    Examples
    --------
    >>> Scale(0, 1, 10, 110)(0.25)
    35.0
    """

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the position of the value, to a hundredth."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return round(self.start + share * (self.stop - self.start), 2)

    def inside(self, value: float) -> float:
        """Return the position of the value, kept inside the range."""
        return self(min(max(value, min(self.low, self.high)), max(self.low, self.high)))

    def whisker(self, interval: Interval, origin: float = 0.0) -> tuple[float, float] | None:
        """Return where an interval starts and ends, counted from `origin`; None where it is undefined.

        Examples
        --------
        >>> Scale(0, 1, 0, 100).whisker((-0.1, 0.2), origin=0.5), Scale(0, 1, 0, 100).whisker((None, 0.2))
        ((40.0, 70.0), None)
        """
        low, high = interval or (None, None)
        return None if low is None or high is None else (self.inside(origin + low), self.inside(origin + high))


def reach_of(measures: Iterable[Measure], least: float) -> float:
    """Return how far from zero measures and their intervals go, or `least` where that is farther."""
    ends = [end for one in measures for end in (one.value, *(one.interval or ()))]
    return max([least, *(abs(end) for end in ends if end is not None)])


def round_ticks(low: float, high: float, target: int = 5) -> list[float]:
    """Round values inside [low, high], about `target` of them.

    Examples
    --------
    >>> round_ticks(-0.32, 0.27)
    [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2]
    """
    span = high - low
    if not span > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(span / target))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(span / s - target))
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(i * step, 12) + 0.0 for i in range(first, last + 1)]


class Mark(NamedTuple):
    """A dot of a chart: where it stands, where its whisker ends, what is said of it, and its style."""

    x: float
    y: float
    whisker: tuple[float, float] | None
    title: str
    kind: str = "dot"
    radius: float | None = None


@dataclass(frozen=True)
class Chart:
    """Dots and lines between an axis across and one up.

    Ticks are places with labels, those across with the anchor of the label; lines are styles with paths. The grid goes
    `inset` further to either side than the axis across.
    """

    width: float
    height: float
    x: Scale = Scale(0, 1, 0, 0)
    y: Scale = Scale(0, 1, 0, 0)
    x_ticks: Sequence[tuple[float, str, str]] = ()
    y_ticks: Sequence[tuple[float, str]] = ()
    marks: Sequence[Mark] = ()
    lines: Sequence[tuple[str, str]] = ()
    titles: tuple[str, str] = ("", "")
    radius: float = 3.5
    inset: float = 0.0
    style: str = ""
    signed: bool = False


def course_chart(
    course: Sequence[Measure], allowed: tuple[float | None, float], reach: float, *, first: int, small: bool = False
) -> Chart:
    """Draw differences of rates with their intervals, one after the other, before the zone that is allowed.

    `first`: number of the first one. `small`: whether it stands in a line of a table.
    """
    left, right, top, bottom = (30.0, 252.0, 4.0, 48.0) if small else (44.0, 360.0, 12.0, 306.0)
    x, y = Scale(0, max(len(course), 1), left, right), Scale(-reach, reach, bottom, top)
    low, high = (-math.inf if allowed[0] is None else allowed[0]), allowed[1]
    marks = [
        Mark(
            x(place + 0.5),
            y.inside(one.value),
            ends,
            f"look {first + place}: {points(one.value)} points ({bounds(one.interval)})",
            "off" if off else "dot",
        )
        for place, one in enumerate(course)
        if one.value is not None and (ends := y.whisker(one.interval))
        for off in [min(one.interval) > high or max(one.interval) < low]
    ]
    ends = [(left, f"look {first}", "start"), (right, f"look {first + len(course) - 1}", "end")]
    ticks = round_ticks(-reach, reach, 3 if small else 5)
    zone = f"M{left} {y.inside(high)}H{right}V{y.inside(low)}H{left}Z"
    return Chart(
        *(260, 66) if small else (372, 330),
        x,
        y,
        x_ticks=ends if len(course) > 1 else ends[:1],
        y_ticks=[(y(tick), points(tick, 0)) for tick in ticks],
        marks=marks,
        lines=[("allowed", zone)],
        radius=2.6 if small else 4.0,
        style="course",
        signed=True,
    )


def beside_zero(measures: Mapping[str, Measure], axis: Scale, digits: int = 0) -> Chart:
    """Draw differences of rates with their intervals beside zero, each in its colour and below the one before."""
    lines, marks = [("zero", f"M{axis(0.0)} 2V32")], []
    for place, (colour, one) in enumerate(measures.items()):
        y = 10.0 + 14.0 * place
        if ends := axis.whisker(one.interval):
            lines.append((f"whisker {colour}", f"M{ends[0]} {y}H{ends[1]}"))
        said = f"{points(one.value)} ({bounds(one.interval)})"
        marks.append(Mark(axis.inside(one.value or 0.0), y, None, said, colour))
    ticks = [(axis(tick), points(tick, digits), "middle") for tick in round_ticks(axis.low, axis.high)]
    return Chart(260, 46, axis, Scale(0, 1, 32, 2), ticks, (), marks, lines, radius=4.5, style="beside-zero")


WIDE, HIGH = 150, 28
SIDES = 4.0, WIDE - 4.0
"""Size of a picture that stands beside a line, and where its axis across starts and stops."""


def glance(lines: Sequence[tuple[str, str]], marks: Sequence[Mark] = ()) -> Chart:
    """Return a picture that stands beside a line, which says the same."""
    return Chart(WIDE, HIGH, marks=marks, lines=lines, radius=3, style="glance")


def path(places: Iterable[tuple[float, float]]) -> str:
    """Return a line through places; empty where there are none.

    Examples
    --------
    >>> path([(0.0, 1.0), (2.5, 3.0)]), path([])
    ('M0.0 1.0L2.5 3.0', '')
    """
    return "".join(f"{'L' if n else 'M'}{x} {y}" for n, (x, y) in enumerate(places))


#: Regimes from the bottom of a bar to its top.
ORDER = ("good", "over", "under")
#: The same drawing for wide and for narrow screens, so that its letters keep their size.
WIDTHS = {"wide": 660, "narrow": 350}

Bar = tuple[str, float, float, float, float]
"""One block of a stacked histogram: its kind, where it stands, its width and its height."""


def stacked_bars(
    edges: Sequence[float], counts: Mapping[str, Sequence[float]], order: Sequence[str], x: Scale, y: Scale
) -> list[Bar]:
    """Blocks of a histogram whose kinds stand on each other in the given order."""
    bars = []
    for index, (left, right) in enumerate(pairwise(edges)):
        total = 0.0
        for kind in order:
            rows = counts[kind][index]
            if rows:
                top, base = y(total + rows), y(total)
                bars.append((kind, x(left), top, round(x(right) - x(left), 2), round(base - top, 2)))
            total += rows
    return bars


def histograms(
    edges: Sequence[float], counts: Mapping[str, Sequence[float]], epsilon: float
) -> tuple[list[tuple[Chart, list[Bar]]], Chart]:
    """Draw the histogram in each width with its blocks, and the picture that stands beside its line."""
    highest, plots = max(map(sum, zip(*counts.values(), strict=True))), []
    for kind, width in WIDTHS.items():
        x, y = Scale(edges[0], edges[-1], 46, width - 12), Scale(0.0, highest, 200.0, 26.0)
        chart = Chart(
            *(width, 246, x, y),
            x_ticks=[(x(v), points(v, 0), "middle") for v in round_ticks(edges[0], edges[-1], width // 80)],
            y_ticks=[(y(v), f"{v:,.0f}") for v in round_ticks(0, highest, 4) if v == int(v)],
            marks=(),
            lines=[("threshold", f"M{x(v)} 20V200") for v in (-epsilon, epsilon) if v and edges[0] < v < edges[-1]],
            titles=("estimated field, percentage points", ""),
            style=f"histogram {kind}",
        )
        plots.append((chart, stacked_bars(edges, counts, ORDER, x, y)))
    across, up = Scale(edges[0], edges[-1], *SIDES), Scale(0, highest, HIGH - 3, 3)
    strokes: dict[str, str] = defaultdict(str)
    for kind, left, top, wide, high in stacked_bars(edges, counts, ("over", "good", "under"), across, up):
        strokes[f"bin {kind}"] += f"M{round(left + wide / 2, 2)} {round(top + high, 2)}V{top}"
    return plots, glance(list(strokes.items()))


@dataclass(frozen=True)
class LogOddsScale(Scale):
    """A map from probabilities in [low, high] to the drawing range [start, stop], linear in log-odds.

    Examples
    --------
    >>> scale = LogOddsScale(0.01, 0.99, 0, 100)
    >>> scale(0.5), scale.inside(0.0), scale.whisker((-0.4, 0.1), origin=0.5)
    (50.0, 0.0, (26.09, 54.41))
    """

    def __call__(self, value: float) -> float:
        """Return the position of a probability, kept inside the range, to a hundredth."""
        low, high, at = (
            math.log(one / (1 - one)) for one in (self.low, self.high, min(max(value, self.low), self.high))
        )
        return round(self.start + (at - low) / (high - low) * (self.stop - self.start), 2)


def bins_of(curve: CurveNumbers) -> list[tuple[float, float, float, float, int]]:
    """Return the bins of a curve that have rows: confidence, accuracy, the ends of its interval, how many."""
    every = zip(curve.confidence, curve.accuracy, curve.low, curve.high, curve.n, strict=True)
    return [values for values in every if values[-1]]


@dataclass(frozen=True)
class ProbabilityAxes:
    """The two axes of a reliability diagram, and the one along a line of a table.

    Marks are probabilities with a tick, and their labels in per cent.
    """

    name: str
    x: Scale
    y: Scale
    along: Scale
    marks: tuple[tuple[float, str], ...]

    def diagram(
        self,
        curve: CurveNumbers | None,
        terms: Vocabulary,
        said: Callable[..., str],
        *,
        style: str = "",
        joined: bool = False,
    ) -> Chart | None:
        """Draw the bins of a curve that have rows, as dots whose area grows with their rows; None without any.

        `said` makes the title of a dot of its confidence, its accuracy, the ends of its interval and its rows; dots may
        be `joined` on linear axes: where 0 and 1 have no place of their own, a line would lead to the ends.
        """
        bins = [] if curve is None else bins_of(curve)
        if not bins:
            return None
        x, y, largest = self.x, self.y, max(values[-1] for values in bins)
        marks = [
            Mark(x.inside(f), y.inside(rate), (y.inside(low), y.inside(high)), said(f, rate, (low, high), n),
                 radius=round(1.6 + 2.6 * math.sqrt(n / largest), 2))
            for f, rate, low, high, n in bins
        ]  # fmt: skip
        lines = [
            ("grid", "".join(f"M{x(mark)} {y.start}V{y.stop}" for mark, _ in self.marks)),
            ("diagonal", f"M{x.start} {y.start}L{x.stop} {y.stop}"),
            *([("curve", path((mark.x, mark.y) for mark in marks))] if joined and self.name == LINEAR else []),
        ]
        titles = f"{terms.probability}, %", f"{terms.rate}, %"
        across = [(x(mark), label, "middle") for mark, label in self.marks]
        up = [(y(mark), label) for mark, label in self.marks]
        return Chart(256, 256, x, y, across, up, marks, lines, titles, style=style)

    def line(self, accuracy: float | None, against: float | None, drawn: Measure) -> Chart:
        """Draw what the accuracy is compared with (a circle), the interval of the difference, and the accuracy."""
        axis = self.along
        lines = [("grid", "".join(f"M{axis(mark)} 2V22" for mark, _ in self.marks))]
        if accuracy is not None and against is not None:
            lines.append(("gap", f"M{axis.inside(against)} 12H{axis.inside(accuracy)}"))
        if against is not None and (ends := axis.whisker(drawn.interval, against)):
            lines.append(("whisker", f"M{ends[0]} 12H{ends[1]}M{ends[0]} 8v8M{ends[1]} 8v8"))
        marks = [
            Mark(axis.inside(value), 12, None, "", kind, radius)
            for value, kind, radius in ((against, "sure", 4), (accuracy, "right", 4.5))
            if value is not None
        ]
        ticks = [(axis(mark), label, "middle") for mark, label in self.marks]
        return Chart(260, 34, axis, Scale(0, 1, 19, 2), ticks, (), marks, lines, style=f"axes-{self.name}")


ACROSS, UP, ALONG = (38.0, 248.0), (220.0, 10.0), (8.0, 252.0)
"""Where axes start and stop, in units of their drawings."""

LINEAR_AXES = ProbabilityAxes(
    LINEAR,
    *(Scale(0.0, 1.0, *ends) for ends in (ACROSS, UP, ALONG)),
    marks=tuple((share, f"{100 * share:.0f}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
)


def axes_of(summary: Summary) -> tuple[ProbabilityAxes, ProbabilityAxes]:
    """Return the axes of a run, linear and in log-odds; the second reach as far as its numbers do."""
    pairs = (summary.curves.all, summary.curves.over, summary.curves.under)
    curves = [curve for pair in pairs for curve in (pair.raw, pair.corrected) if curve is not None]
    shown = [value for curve in curves for value in (*curve.confidence, *curve.accuracy)]
    regimes = [one for one in (*summary.regimes, *summary.hidden_regimes) if one.n]
    shown += [value for one in regimes for value in (one.accuracy, one.confidence) if value is not None]
    return LINEAR_AXES, log_odds_axes(shown)


def log_odds_axes(shown: Iterable[float]) -> ProbabilityAxes:
    """Return axes in log-odds that hold the probabilities shown; 0 and 1 stand at their ends.

    Examples
    --------
    >>> [label for _, label in log_odds_axes([0.0, 0.0015, 0.04]).marks]
    ['0.1', '0.2', '0.5', '1', '2', '5']
    """
    known = [value for value in shown if 0 < value < 1] or [0.01, 0.99]
    low = max((mark for mark in _MARKS if mark <= min(known)), default=_MARKS[0])
    high = min((mark for mark in _MARKS if mark >= max(known)), default=_MARKS[-1])
    if low == high:
        low, high = 0.5 * low, 0.5 * (1 + high)
    inside = [mark for mark in _MARKS if low <= mark <= high]
    inside = inside if len(inside) > 1 else [low, *inside, high]
    while len(inside) > _MOST_TICKS:
        # powers of ten and one half alone, or every second between the ends
        known = [mark for mark in inside if mark == 0.5 or _is_power(mark) or _is_power(1 - mark)]
        inside = known if 2 < len(known) < len(inside) else [*inside[:-1:2], inside[-1]]
    scales = (LogOddsScale(low, high, *ends) for ends in (ACROSS, UP, ALONG))
    return ProbabilityAxes(LOG_ODDS, *scales, marks=tuple((mark, f"{100 * mark:.6g}") for mark in inside))


def _is_power(mark: float) -> bool:
    return abs(math.log10(mark) - round(math.log10(mark))) < 1e-9


def shown_first(summary: Summary) -> str:
    """Return the name of the axes that a page shows at first."""
    extreme = summary.share_extreme
    return LOG_ODDS if extreme is not None and extreme > MOST_EXTREME else LINEAR
