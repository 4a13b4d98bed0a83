"""Turn data into SVG coordinates: scales, ticks, bars and dots."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from miscal.base.document import Interval
from miscal.discovery.summary_parts import CurveNumbers
from miscal.report.legend import FIELD


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


@dataclass(frozen=True)
class Dot:
    """A bin of a reliability diagram: where it stands, its interval, its size."""

    x: float
    y: float
    low: float
    high: float
    radius: float
    confidence: float
    accuracy: float
    interval: tuple[float, float]
    n: int


def reliability_dots(curve: CurveNumbers | None, x: Scale, y: Scale) -> list[Dot]:
    """Return the bins of a curve that have rows, as dots whose area grows with their rows."""
    if curve is None:
        return []
    bins = zip(curve.confidence, curve.accuracy, curve.low, curve.high, curve.n, strict=False)
    bins = [values for values in bins if values[-1]]
    largest = max((values[-1] for values in bins), default=1)
    return [
        Dot(
            x=x.inside(confidence),
            y=y.inside(accuracy),
            low=y.inside(low),
            high=y.inside(high),
            radius=round(1.6 + 2.6 * math.sqrt(n / largest), 2),
            confidence=confidence,
            accuracy=accuracy,
            interval=(low, high),
            n=n,
        )
        for confidence, accuracy, low, high, n in bins
    ]


@dataclass(frozen=True)
class Bar:
    """One block of a stacked histogram."""

    kind: str
    x: float
    y: float
    width: float
    height: float


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
                bars.append(Bar(kind, x(left), top, round(x(right) - x(left), 2), round(base - top, 2)))
            total += rows
    return bars


def shade(value: float, limit: float, steps: int = len(FIELD)) -> int:
    """Which of the `steps` shades of the diverging scale a value of the field takes; 0 is the most over-confident.

    Examples
    --------
    >>> shade(-0.5, 0.3), shade(0.0, 0.3), shade(0.3, 0.3)
    (0, 4, 8)
    """
    share = (min(max(value / limit, -1.0), 1.0) + 1) / 2 if limit else 0.5
    return min(int(share * steps), steps - 1)
