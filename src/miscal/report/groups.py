"""Groups as every picture and table of a run shows them: promised, happened, corrected; and curves of the largest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from miscal.base.document import Measure
from miscal.base.shown import brief_names
from miscal.calibration.metrics.curve import CurveNumbers, CurvePair
from miscal.discovery.answer import group_name, harmed, named_first
from miscal.discovery.summary import Summary
from miscal.findings.ledger.document import Finding
from miscal.findings.ledger.sizes import NOT_KNOWN, holds_zero
from miscal.report.drawing import Scale, bins_of, path, round_ticks

STATES = ("raw", "corrected")
CURVES = 3
"""Findings with a curve of their own beside that of all rows."""
NAMED = 30
"""Characters of a curve's name."""
LETTER, CLEAR = 6.6, 13.0
"""Width of a letter of it, and how far it stands from lines and other names at best, in units of the drawing."""
NARROW = 0.5
"""Range of the probabilities, as a part of that of the outcomes, up to which each has an axis of its own."""
FEW = 20
"""Rows of a bin below which a curve passes it over."""
STROKE = 4.0
"""Half the width of a curve of one bin."""


@dataclass(frozen=True)
class Group:
    """A finding, or all rows: what was promised, what happened, what the correction says.

    `number` is the finding's, from 1, and 0 of all rows and of single classes; `hidden` is the number by which it was
    found. `colour` is that of its curve, empty where it has none. `equal` is what happened in rows of equal
    probability. `note` stands beside its name. `unsure`: whether it is not known what the correction makes of it.
    `curves`: its own, where it has enough rows for them.
    """

    number: int
    name: str
    n: int
    predicted: float
    happened: Measure
    corrected: float | None
    hidden: Measure
    colour: str
    equal: float | None = None
    note: str = ""
    unsure: bool = False
    curves: CurvePair | None = None

    @property
    def ends(self) -> list[float]:
        """Every number that a picture has to hold."""
        known = (self.predicted, self.happened.value, self.corrected, self.equal, *(self.happened.interval or ()))
        return [one for one in known if one is not None]


def groups_of(summary: Summary, most: int | None = None) -> list[Group]:
    """Return the findings of a run in their order, the first with colours of their own."""
    found, first = summary.findings[:most], named_first(summary)
    # a run of before has none
    curves = dict(enumerate(pair if pair.raw is not None else None for pair in summary.curves.findings))
    # the group that the three lines name has a curve
    places = sorted(range(len(found)), key=lambda place: found[place] != first)
    drawn = [place for place in places if curves.get(place) is not None][:CURVES]
    colours = {place: f"g{rank}" for rank, place in enumerate(drawn, start=1)}
    return [group_of(one, at + 1, group_name(one), colours.get(at, ""), curves.get(at)) for at, one in enumerate(found)]


def first_groups(summary: Summary) -> list[Group]:
    """Return the group that the three lines name, then the findings by how far they are off, and those of classes.

    Findings are beside rows of equal probability.
    """
    first, found = named_first(summary), groups_of(summary)
    named = [one for one in found if summary.findings[one.number - 1] == first]
    if first is not None and not named:
        named = [group_of(first, 0, group_name(first))]
    others = sorted((one for one in found if one not in named), key=lambda one: -abs(one.hidden.value or 0.0))
    of_classes = [] if summary.classes is None else sorted(summary.classes.findings, key=lambda one: one[1].p_adjusted)
    return [*named, *others, *(group_of(one, 0, f"class {name}: {group_name(one)}") for name, one in of_classes)]


def off_by_themselves(groups: Sequence[Group]) -> list[Group]:
    """Leave out what may not be off by itself, and shows beside others alone; the first group stays."""
    off = [one.hidden.interval is None or not holds_zero(one.hidden) for one in groups]
    return [one for at, one in enumerate(groups) if at == 0 or off[at]]


def group_of(one: Finding, number: int, name: str, colour: str = "", curves: CurvePair | None = None) -> Group:
    """Return a finding as it is shown."""
    return Group(
        number=number,
        name=name,
        n=one.n,
        predicted=one.confidence,
        happened=one.happened,
        corrected=one.corrected,
        hidden=one.hidden,
        colour=colour,
        equal=one.expected,
        note="worse when corrected" if harmed(one) else "",
        unsure=one.fate == NOT_KNOWN,
        curves=curves,
    )


def all_rows(summary: Summary) -> Group | None:
    """Return all evaluated rows as a group; None where their means are not known."""
    whole, ours = summary.global_, summary.curves.all.corrected
    if whole.accuracy.value is None or whole.confidence.value is None:
        return None
    rows = 0 if ours is None else sum(ours.n)
    corrected = sum(f * n for f, n in zip(ours.confidence, ours.n, strict=True)) / rows if ours and rows else None
    measures = {"happened": whole.accuracy, "hidden": Measure(value=None)}
    said = {"predicted": whole.confidence.value, "corrected": corrected}
    return Group(number=0, name="all rows", n=rows or summary.n, colour="all", **measures, **said)


def fitted_range(values: Sequence[float]) -> tuple[float, float]:
    """Return a range within [0, 1] with round ends that holds the values, at least two points wide.

    Examples
    --------
    >>> fitted_range([0.012, 0.051]), fitted_range([0.31, 0.84]), fitted_range([0.97, 0.999])
    ((0.01, 0.06), (0.3, 0.9), (0.97, 1.0))
    """
    low, high, least = max(0.0, min(values)), min(1.0, max(values)), 0.02
    if high - low < least:
        low, high = max(0.0, (low + high - least) / 2), min(1.0, (low + high + least) / 2)
    ticks = round_ticks(low, high)
    step = round(ticks[1] - ticks[0], 12) if len(ticks) > 1 else least
    low = ticks[0] if ticks[0] <= low + 1e-9 else ticks[0] - step
    high = ticks[-1] if ticks[-1] >= high - 1e-9 else ticks[-1] + step
    return round(max(0.0, low), 12), round(min(1.0, high), 12)


@dataclass(frozen=True)
class Curve:
    """A reliability curve as drawn: its line, its band, and its name at its end."""

    colour: str
    name: str
    line: str
    band: str
    x: float
    y: float


@dataclass(frozen=True)
class Curves:
    """The curves of all rows and of the largest findings between two axes; the diagonal lies between `ends`."""

    x: Scale
    y: Scale
    x_ticks: tuple[float, ...]
    y_ticks: tuple[float, ...]
    ends: tuple[float, float]
    states: dict[str, tuple[Curve, ...]]


def curves_of(
    summary: Summary,
    groups: Sequence[Group],
    x: tuple[float, float] = (46.0, 352.0),
    y: tuple[float, float] = (318.0, 10.0),
) -> Curves | None:
    """Draw reliability curves before and after the correction; None where there is none of all rows."""
    named = [("all", "all rows", summary.curves.all)]
    named += [(one.colour, one.name, one.curves) for one in groups if one.colour and one.curves is not None]
    if summary.curves.all.raw is None:
        return None
    return drawn_curves([(colour, name, dict(pair)) for colour, name, pair in named], x, y)


def drawn_curves(
    named: Sequence[tuple[str, str, Mapping[str, CurveNumbers | None]]], x: tuple[float, float], y: tuple[float, float]
) -> Curves:
    """Draw reliability curves, each with its colour, its name and what it is in each state, on axes that fit them."""
    shown = [curve for _, _, pair in named for curve in pair.values() if curve is not None]
    says = fitted_range([end for one in shown for end in one.confidence])
    comes = fitted_range([end for one in shown for end in one.accuracy])
    if says[1] - says[0] > NARROW * (comes[1] - comes[0]):
        # one range for both, in which the diagonal goes from corner to corner
        says = comes = fitted_range([*says, *comes])
    across, up = Scale(*says, *x), Scale(*comes, *y)
    names = brief_names([name for _, name, _ in named], NAMED)
    named = [(colour, name, pair) for name, (colour, _, pair) in zip(names, named, strict=True)]
    states = {}
    for state in STATES:
        known = [(colour, name, curve) for colour, name, pair in named if (curve := pair.get(state)) is not None]
        states[state] = _placed(known, across, up)
    ends = max(says[0], comes[0]), min(says[1], comes[1])
    return Curves(across, up, tuple(round_ticks(*says, 4)), tuple(round_ticks(*comes, 4)), ends, states)


def _line(curve: CurveNumbers, x: Scale, y: Scale) -> tuple[list[tuple[float, float]], str]:
    """Return the places of a curve, and its band."""
    every = bins_of(curve)
    # a value that few rows have would be drawn as a spike
    bins = known if len(known := [one for one in every if one[-1] >= FEW]) > 1 else every
    # one value alone is a short stroke: a path of one place shows nothing
    apart = (-STROKE, STROKE) if len(bins) == 1 else (0,)
    points, low, high = (
        [(round(x.inside(one[0]) + by, 2), y.inside(one[side])) for one in bins for by in apart] for side in (1, 2, 3)
    )
    return points, f"{path([*low, *reversed(high)])}Z"


def _placed(known: Sequence[tuple[str, str, CurveNumbers]], x: Scale, y: Scale) -> tuple[Curve, ...]:
    """Draw curves, each with its name where it is clear of all curves and of the names before it."""
    lines = [_line(curve, x, y) for _, _, curve in known]
    placed: list[Curve] = []
    for (colour, name, _), (points, band) in zip(known, lines, strict=True):
        wide, free = LETTER * len(name) / 2, []
        # from the right, where a reader looks for a name
        for at, (across, up) in enumerate(reversed(points)):
            beside = wide + 7
            for right, below in ((0, -8), (0, 15), (beside, 4), (-beside, 4)):
                middle = min(max(across + right, x.start + wide), x.stop - wide)
                height = min(max(up + below, y.stop + 4), y.start - 3)
                near = (one for one in placed if abs(one.x - middle) < wide + LETTER * len(one.name) / 2)
                clear = (_clear(other, middle, height - 4, wide) for other, _ in lines)
                free.append((min(*clear, *(abs(one.y - height) for one in near), CLEAR), -at, middle, height))
        _, _, across, up = max(free)
        placed.append(Curve(colour, name, path(points), band, round(across, 1), round(up, 1)))
    return tuple(placed)


def _clear(points: Sequence[tuple[float, float]], x: float, y: float, wide: float) -> float:
    """Return the least distance in height of a line from a name that is centred at x and y."""
    places = np.linspace(x - wide, x + wide, 9)
    inside = places[(places >= points[0][0]) & (places <= points[-1][0])]
    heights = np.interp(inside, *np.array(points).T)
    return float(np.abs(heights - y).min(initial=CLEAR))


def forest_axis(groups: Sequence[Group], more: Sequence[float] = ()) -> Scale:
    """Return the axis that holds every number of the groups, and `more`."""
    ends = [*more, *(end for one in groups for end in one.ends)]
    return Scale(*fitted_range(ends or [0.0, 1.0]), 8.0, 392.0)
