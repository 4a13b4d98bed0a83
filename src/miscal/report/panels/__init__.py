"""The parts of the page, in order: a function for each, which is named in `PANELS`.

In: a run.
Out: a `Fold` of the page, or nothing where there is nothing to say.
"""

from __future__ import annotations

from collections.abc import Callable

from miscal.report.panels.alone import alone, decisions
from miscal.report.panels.field import atlas, corrections, histogram, over_time, regimes, reliability
from miscal.report.panels.groups import answer, columns, findings
from miscal.report.panels.making import glossary, making
from miscal.report.panels.verdict import classes, judge, notes, verdict
from miscal.report.sheet import Fold
from miscal.report.source import Source

PANELS: tuple[Callable[[Source], Fold | None], ...] = (
    *(answer, findings, notes, verdict, judge, classes, columns, alone, decisions),
    *(over_time, atlas, corrections, reliability, regimes, histogram, making, glossary),
)
