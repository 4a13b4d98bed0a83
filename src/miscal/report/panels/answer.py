"""The first screen: three lines, the curves of all rows and of the largest findings, and the groups, a row each."""

from __future__ import annotations

from typing import Any

from miscal.discovery.summary import Summary
from miscal.report.drawing import Scale
from miscal.report.groups import all_rows, curves_of, fitted_range, groups_of
from miscal.report.source import Source

SHOWN = 6
"""Groups of the first screen; the list below has all."""
STATES = {"raw": "as it is", "corrected": "corrected"}


def answer(source: Source) -> dict[str, Any]:
    """Return the three lines and both pictures."""
    return first_screen(source.summary)


def first_screen(summary: Summary) -> dict[str, Any]:
    """Return the three lines and both pictures of a run."""
    groups = groups_of(summary)
    shown = [one for one in (*groups[:SHOWN], all_rows(summary)) if one is not None]
    lead, _, rest = summary.answer.action.partition(":")
    return {
        "answer": summary.answer,
        "lead": lead if rest else "",
        "rest": rest or summary.answer.action,
        "curves": curves_of(summary, groups, (34.0, 352.0), (318.0, 10.0)),
        "rows": shown,
        "along": forest_axis(shown),
        "total": len(groups),
        "shown": min(SHOWN, len(groups)),
        "states": STATES,
    }


def forest_axis(groups: list[Any]) -> Scale:
    """Return the axis that holds every number of the groups."""
    return Scale(*fitted_range([end for one in groups for end in one.ends] or [0.0, 1.0]), 8.0, 392.0)
