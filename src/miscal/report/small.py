"""A small picture beside the line of a folded section: what it holds, at a glance."""

from __future__ import annotations

from typing import NamedTuple

from miscal.findings.ledger.values import FINDING
from miscal.report.drawing import Scale, path
from miscal.report.source import Source

WIDE, HIGH = 150.0, 28.0
_ACROSS = 4.0, WIDE - 4.0
_MOST_VALUES = 300
"""Values of columns that a strip shows: those of most rows."""
_LEAST_REACH = 0.05


class Small(NamedTuple):
    """Lines and dots, each with how it looks: paths with their data, and dots with their places."""

    lines: tuple[tuple[str, str], ...] = ()
    dots: tuple[tuple[str, float, float], ...] = ()


def columns(source: Source) -> Small | None:
    """Draw what is hidden at every value of the columns, beside zero; findings have the colours of their sign."""
    values = [one for table in source.columns.values() for one in table if one.hidden.value is not None]
    if not values:
        return None
    values = sorted(sorted(values, key=lambda one: -one.n)[:_MOST_VALUES], key=lambda one: one.mark == FINDING)
    reach = max(_LEAST_REACH, *(abs(one.hidden.value or 0.0) for one in values))
    across = Scale(-reach, reach, *_ACROSS)
    dots = []
    for one in values:
        size = one.hidden.value or 0.0
        kind = "other" if one.mark != FINDING else "under" if size > 0 else "over"
        dots.append((kind, across(size), HIGH / 2))
    return Small(lines=(("zero", f"M{across(0)} 3V25"),), dots=tuple(dots))


def decisions(source: Source) -> Small | None:
    """Draw what is promised (dashed) and observed at each threshold."""
    sides = [one.before for one in source.summary.decisions if one.before.n]
    if len(sides) < 2:
        return None
    ends = [end for one in sides for end in (one.promised or 0.0, one.observed.value or 0.0)]
    across, up = Scale(0, len(sides) - 1, *_ACROSS), Scale(min(ends), max(ends), HIGH - 4, 4)
    promised = path((across(place), up(one.promised or 0.0)) for place, one in enumerate(sides))
    observed = path((across(place), up(one.observed.value or 0.0)) for place, one in enumerate(sides))
    return Small(lines=(("diagonal", promised), ("curve", observed)))


def corrections(source: Source) -> Small | None:
    """Draw the log loss before and after as bars from zero."""
    raw, ours = (source.summary.correction.get(name) for name in ("raw", "miscal"))
    if raw is None or ours is None or raw.all.log_loss is None or ours.all.log_loss is None:
        return None
    before, after = raw.all.log_loss, ours.all.log_loss
    across = Scale(0.0, max(before, after) or 1.0, *_ACROSS)
    kinds = {9: ("bar other", before), 19: ("bar better" if after < before else "bar", after)}
    return Small(lines=tuple((kind, f"M{across.start} {y}H{across(loss)}") for y, (kind, loss) in kinds.items()))


def histogram(source: Source) -> Small | None:
    """Draw the estimated errors as bars."""
    counted = source.summary.histogram
    kinds = {"over": counted.over, "good": counted.good, "under": counted.under}
    tallest = max((sum(bins) for bins in zip(*kinds.values(), strict=True)), default=0)
    if not tallest or counted.edges[0] == counted.edges[-1]:
        return None
    across, up = Scale(counted.edges[0], counted.edges[-1], *_ACROSS), Scale(0, tallest, HIGH - 3, 3)
    middles = [(low + high) / 2 for low, high in zip(counted.edges, counted.edges[1:], strict=False)]
    lines, below = [], [0] * len(middles)
    for kind, bins in kinds.items():
        bars = [(x, y, n) for x, y, n in zip(middles, below, bins, strict=True) if n]
        if bars:
            lines.append((f"bin {kind}", "".join(f"M{across(x)} {up(y)}V{up(y + n)}" for x, y, n in bars)))
        below = [y + n for y, n in zip(below, bins, strict=True)]
    return Small(lines=tuple(lines))
