"""The first screen: three lines, the curves of all rows and of the largest findings, and the groups, a row each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from miscal.discovery.summary import Summary
from miscal.report.drawing import Scale
from miscal.report.groups import Group, all_rows, curves_of, first_groups, fitted_range
from miscal.report.opening import opening
from miscal.report.source import Source
from miscal.report.texts import few_words

SHOWN, LEAST = 6, 3
"""Groups of the first screen at most, and at least; the list below has all."""
NAME_WORDS, ALL_WORDS, LINE_WORDS, GIVEN = 8, 22, 72, 3
"""Words of a group's name there, and of all names where the three lines have 72: the screen holds 200 with everything
else. Of the words that the lines leave, a third are given to names, since each name brings numbers."""
CHANGED = 0.0005
"""A correction that moves no group by as much has no column and no switch."""
STATES = {"raw": "as it is", "corrected": "corrected"}


def answer(source: Source) -> dict[str, Any]:
    """Return the three lines and both pictures."""
    return first_screen(source.summary)


def first_screen(summary: Summary) -> dict[str, Any]:
    """Return the three lines and both pictures of a run."""
    groups = first_groups(summary)
    first = [replace(one, name=few_words(one.name, NAME_WORDS)) for one in groups[:SHOWN]]
    lines = (summary.answer.headline, summary.answer.reason, summary.answer.action)
    words = ALL_WORDS + max(0, LINE_WORDS - sum(len(one.split()) for one in lines)) // GIVEN
    while len(first) > LEAST and sum(len(one.name.split()) for one in first) > words:
        first.pop()
    rows = [one for one in (all_rows(summary), *first) if one is not None]
    changed = any(one.corrected is not None and abs(one.corrected - one.predicted) >= CHANGED for one in rows)
    rows = rows if changed else [replace(one, corrected=None) for one in rows]
    curves = curves_of(summary, groups, (46.0, 352.0), (318.0, 10.0))
    return {
        **opening(summary.answer),
        "curves": curves,
        "several": curves is not None and len(curves.states["raw"]) > 1,
        "rows": rows,
        # all rows alone look far off on an axis of their own
        "along": forest_axis(rows, () if curves is None or groups else (curves.x.low, curves.x.high)),
        "total": len(groups),
        "shown": len(first),
        "listed_at": "findings" if summary.findings else "classes",
        "changed": changed,
        "states": STATES,
    }


def forest_axis(groups: Sequence[Group], more: Sequence[float] = ()) -> Scale:
    """Return the axis that holds every number of the groups, and `more`."""
    ends = [*more, *(end for one in groups for end in one.ends)]
    return Scale(*fitted_range(ends or [0.0, 1.0]), 8.0, 392.0)
