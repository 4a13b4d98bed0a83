"""The parts of the page, in order.

A panel is a function that returns the blocks that it shows, or what its template in ``assets/panels`` reads, and its
line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from miscal.report import lines
from miscal.report.panels.alone import alone, decisions
from miscal.report.panels.field import atlas, corrections, histogram, over_time, regimes, reliability
from miscal.report.panels.groups import answer, columns, findings
from miscal.report.panels.making import glossary, making
from miscal.report.panels.verdict import classes, judge, notes, verdict
from miscal.report.source import Source


@dataclass(frozen=True)
class Panel:
    """A section of the page.

    `name` is its anchor; `view` returns what it holds of a run, None where the section is left off: blocks, as those of
    a fold of a sheet, or what the template of its name reads. The template also reads what the evaluation rows are
    called as ``words``, the words of the run's kind of probability as ``terms``, and how many decimals points and per
    cents have as ``decimals``, and in brief as ``digits``; all that it prints is escaped. In `title`, ``{judged}``,
    ``{over_and_under}`` and ``{probabilities}`` stand for words of the run. A section with a `line` is folded: the line
    says what it holds, a `picture` shows it, and a press opens it.
    """

    name: str
    title: str
    view: Callable[[Source], Mapping[str, Any] | list[Any] | None]
    line: Callable[[Source], str] | None = None
    picture: Callable[[Source], lines.Small | None] | None = None


PANELS = (
    Panel("answer", "", answer),
    Panel("findings", "All groups", findings),
    Panel("notes", "Before you trust this", notes, lines.notes),
    Panel("verdict", "How certain this is", verdict, lines.verdict),
    Panel("judge", "How often people would approve", judge, lines.judge),
    Panel("classes", "Classes", classes, lines.classes),
    Panel("columns", "Columns, value by value", columns, lines.columns, lines.draw_columns),
    Panel("alone", "Decided alone", alone, lines.alone, lines.draw_alone),
    Panel("decisions", "Decisions at a threshold", decisions, lines.decisions),
    Panel("over-time", "Over time", over_time, lines.over_time),
    Panel("atlas", "Map", atlas, lines.atlas),
    Panel("corrections", "Correction", corrections, lines.corrections, lines.draw_corrections),
    Panel("reliability", "Reliability", reliability, lines.reliability),
    Panel("regimes", "Where {judged} {over_and_under}", regimes, lines.regimes),
    Panel("histogram", "Size of the errors", histogram, lines.histogram, lines.draw_histogram),
    Panel("making", "How this was found", making, lines.making),
    Panel("glossary", "Words and signs", glossary, lines.glossary),
)
