"""Name the lines and questions that raised the alarm of a monitor, and date when their change began."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from miscal.base.json_values import clean_text
from miscal.evidence.betting import log_of_several
from miscal.runs.monitor.bets import Watch
from miscal.runs.monitor.dating import likely_starts
from miscal.runs.monitor.document import AlarmNumbers
from miscal.runs.monitor.lines import Line, shift_of
from miscal.runs.monitor.questions import CHANGE, MonitorQuestion

VALUES = "values"
"""Kind of an alarm by the values of a column together."""
MOST_OF = 0.5
"""Share of the evidence that lines which do not prove it alone are named for. A convention."""


def alarms_of(watch: Watch) -> tuple[AlarmNumbers, ...]:
    """List the lines and questions that raised the alarm of a monitor, and those that were proven after it.

    Parameters
    ----------
    watch : Watch

    Returns
    -------
    tuple of AlarmNumbers
        In the order of the looks, then by evidence; none without an alarm.
    """
    if watch.crossed is None:
        return ()
    every: list[Line | MonitorQuestion] = [*watch.lines, *(one for one in watch.questions if one.side == CHANGE)]
    alarms = [_alarm(one, one.crossed, proven=True) for one in every if one.crossed is not None]
    if all(one.raised > watch.crossed for one in alarms):
        alarms += _together(watch, every, watch.crossed)
    strength = {one.key: one.course[-1] for one in every}
    return tuple(sorted(alarms, key=lambda one: (one.raised, -strength.get(one.key, 0.0))))


def _together(watch: Watch, every: Sequence[Line | MonitorQuestion], at: int) -> list[AlarmNumbers]:
    """Tell the lines that brought most of the evidence at the look of the alarm, the strongest first."""
    held = [(log(one.share or 1.0) + one.course[at - 1], one) for one in every]
    for column, share in watch.together.items():
        values = [one for one in watch.lines if one.column == column]
        held.append((log(share) + log_of_several(np.array([one.course[at - 1] for one in values])), values))
    held.sort(key=lambda pair: -pair[0])
    weight = np.exp(np.array([height for height, _ in held]) - held[0][0])
    many = int(np.searchsorted(np.cumsum(weight), MOST_OF * weight.sum())) + 1
    return [_column(one, at) if isinstance(one, list) else _alarm(one, at, proven=False) for _, one in held[:many]]


def _alarm(one: Line | MonitorQuestion, at: int, *, proven: bool) -> AlarmNumbers:
    known = AlarmNumbers(key=one.key, kind=one.kind, about=clean_text(one.label), raised=at, proven=proven)
    return known if isinstance(one, MonitorQuestion) else _dated(known, [one], at)


def _column(values: list[Line], at: int) -> AlarmNumbers:
    column = str(values[0].column)
    known = AlarmNumbers(key=f"{VALUES}:{column}", kind=VALUES, about=clean_text(column), raised=at, proven=False)
    return _dated(known, values, at)


def _dated(known: AlarmNumbers, lines: list[Line], at: int) -> AlarmNumbers:
    first, last, start = likely_starts(lines, at)
    names = ("rows", "right", "corrected", "moment", "information", "squares")
    rows, right, corrected, *sums = (
        sum(one.history_by_column[name][start - 1 : at].sum() for one in lines) for name in names
    )
    shift = shift_of(*sums) if len(lines) == 1 else None
    return known.model_copy(
        update={
            "since": (first, last),
            "start": start,
            "n": int(rows),
            "accuracy": float(right / rows) if rows else None,
            "corrected": float(corrected / rows) if rows else None,
            "shift": None if shift is None else shift[0],
            "before": lines[0].before if len(lines) == 1 else None,
        }
    )
