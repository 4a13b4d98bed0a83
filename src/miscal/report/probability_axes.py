"""Axes of probability: linear, and in log-odds, which tells probabilities near 0 and 1 apart.

A page draws both, one of which is seen; a switch on the page changes them. The first one is in log-odds where most rows
lie below 2 % or above 98 %.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from miscal.base.document import Interval
from miscal.discovery.summary import Summary
from miscal.report.drawing import Dot, Scale, reliability_dots

LINEAR, LOG_ODDS = "linear", "log-odds"
MOST_EXTREME = 0.5
"""Share of rows with a probability near 0 or 1 above which axes are in log-odds at first: most rows."""

_LOW = sorted(float(f"{digit}e-{power}") for power in range(1, 7) for digit in (1, 2, 5))
_MARKS = (*_LOW, *(1 - mark for mark in reversed(_LOW[:-1])))
"""Places of ticks: 0.000001 to 0.5, and what they leave to 1."""
_MOST_TICKS = 6


@dataclass(frozen=True)
class LogOddsScale:
    """A map from probabilities in [low, high] to the drawing range [start, stop], linear in log-odds.

    Examples
    --------
    >>> scale = LogOddsScale(0.01, 0.99, 0, 100)
    >>> scale(0.5), scale.inside(0.0), scale.whisker((-0.4, 0.1), origin=0.5)
    (50.0, 0.0, (26.09, 54.41))
    """

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        """Return the position of a probability, kept inside the range, to a hundredth."""
        low, high, at = (_logit(one) for one in (self.low, self.high, min(max(value, self.low), self.high)))
        return round(self.start + (at - low) / (high - low) * (self.stop - self.start), 2)

    def inside(self, value: float) -> float:
        """Return the same: what lies outside stands at the end."""
        return self(value)

    def whisker(self, interval: Interval, origin: float = 0.0) -> tuple[float, float] | None:
        """Return where an interval starts and ends, counted from `origin`; None where it is undefined."""
        low, high = interval or (None, None)
        return None if low is None or high is None else (self(origin + low), self(origin + high))


@dataclass(frozen=True)
class ProbabilityAxes:
    """The two axes of a reliability diagram, and the one of a table.

    Attributes
    ----------
    name : {"linear", "log-odds"}
    x, y, along : Scale or LogOddsScale
        Across and up a diagram; along a line of a table.
    marks : tuple of (float, str)
        Probabilities with a tick, and their labels in per cent.
    """

    name: str
    x: Scale | LogOddsScale
    y: Scale | LogOddsScale
    along: Scale | LogOddsScale
    marks: tuple[tuple[float, str], ...]

    @property
    def ticks(self) -> tuple[tuple[float, float, str], ...]:
        """Places of ticks across and up, with labels."""
        return tuple((self.x(mark), self.y(mark), label) for mark, label in self.marks)

    @property
    def along_ticks(self) -> tuple[tuple[float, str], ...]:
        """Places of ticks along a line, with labels."""
        return tuple((self.along(mark), label) for mark, label in self.marks)

    @property
    def joined(self) -> bool:
        """Whether dots are joined by a line: where 0 and 1 have no place of their own, it would lead to the ends."""
        return self.name == LINEAR

    def dots(self, curve: object) -> list[Dot]:
        """Return the bins of a curve as dots."""
        return reliability_dots(curve, self.x, self.y)


ACROSS, UP, ALONG = (38.0, 248.0), (220.0, 10.0), (8.0, 252.0)
"""Where axes start and stop, in units of their drawings."""

LINEAR_AXES = ProbabilityAxes(
    LINEAR,
    *(Scale(0.0, 1.0, *ends) for ends in (ACROSS, UP, ALONG)),
    marks=tuple((share, f"{100 * share:.0f}") for share in (0.0, 0.25, 0.5, 0.75, 1.0)),
)


def axes_of(summary: Summary) -> tuple[ProbabilityAxes, ProbabilityAxes]:
    """Return the axes of a run, linear and in log-odds; the second reach as far as its numbers do."""
    curves = [
        one
        for pair in (summary.curves.all, summary.curves.over, summary.curves.under)
        for one in (pair.raw, pair.corrected)
    ]
    shown = [value for curve in curves if curve is not None for value in (*curve.confidence, *curve.accuracy)]
    regimes = [*summary.regimes, *summary.hidden_regimes]
    shown += [value for one in regimes if one.n for value in (one.accuracy, one.confidence) if value is not None]
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
    while len(inside) > _MOST_TICKS:
        inside = _fewer(inside)
    scales = (LogOddsScale(low, high, *ends) for ends in (ACROSS, UP, ALONG))
    return ProbabilityAxes(LOG_ODDS, *scales, marks=tuple((mark, f"{100 * mark:.6g}") for mark in inside))


def _fewer(marks: Sequence[float]) -> list[float]:
    """Leave out every second mark between the ends, or all but powers of ten and one half."""
    round_ones = [mark for mark in marks if _is_power(mark) or _is_power(1 - mark) or mark == 0.5]
    return round_ones if 2 < len(round_ones) < len(marks) else [*marks[:-1:2], marks[-1]]


def _is_power(mark: float) -> bool:
    return abs(math.log10(mark) - round(math.log10(mark))) < 1e-9


def _logit(value: float) -> float:
    return math.log(value / (1 - value))


def shown_first(summary: Summary) -> str:
    """Return the name of the axes that a page shows at first."""
    extreme = summary.share_extreme
    return LOG_ODDS if extreme is not None and extreme > MOST_EXTREME else LINEAR
