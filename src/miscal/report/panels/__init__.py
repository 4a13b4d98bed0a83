"""The parts of the page, in order.

A panel is a function that returns what it shows, its template in ``assets/panels``, and its line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from miscal.report.panels.classes import classes
from miscal.report.panels.columns import columns
from miscal.report.panels.decisions import decisions
from miscal.report.panels.field import atlas, histogram
from miscal.report.panels.findings import findings
from miscal.report.panels.judge import judge
from miscal.report.panels.making import glossary, making
from miscal.report.panels.over_time import over_time
from miscal.report.panels.regimes import regimes
from miscal.report.panels.reliability import corrections, reliability
from miscal.report.panels.sheet import sheet
from miscal.report.panels.subregimes import subregimes
from miscal.report.panels.verdict import alarms, verdict, warnings
from miscal.report.source import Source


@dataclass(frozen=True)
class Panel:
    """A section of the page.

    `name` is its anchor, and the name of its template; `view` returns what this reads of a run, None where the section
    is left off. The template also reads what the evaluation rows are called as ``words``, the words of the run's kind
    of probability as ``terms``, and how many decimals points and per cents have as ``decimals``, and in brief as
    ``digits``; all that it prints is escaped. In `title`, ``{judged}``, ``{over_and_under}`` and ``{probabilities}``
    stand for words of the run; `contents` is its entry in the page's contents, if any.
    """

    name: str
    title: str
    view: Callable[[Source], Mapping[str, Any] | None]
    contents: str = ""


PANELS = (
    Panel("sheet", "In one page", sheet),
    Panel("alarms", "Alarm", alarms),
    Panel("verdict", "Verdict", verdict),
    Panel("warnings", "Before you read on", warnings),
    Panel("judge", "How often people would approve", judge, "People"),
    Panel("findings", "Findings: groups that no reliability diagram shows", findings, "Findings"),
    Panel("classes", "The classes, one by one", classes, "Classes"),
    Panel("columns", "The columns, value by value", columns, "Columns"),
    Panel("decisions", "Decisions at a threshold", decisions, "Decisions"),
    Panel("regimes", "Where {judged} {over_and_under}", regimes, "Regimes"),
    Panel("over-time", "Over time", over_time, "Over time"),
    Panel("reliability", "Reliability before and after correction", reliability, "Reliability"),
    Panel("histogram", "How large the errors are estimated to be", histogram, "Field"),
    Panel("atlas", "Map of the inputs", atlas, "Map"),
    Panel("subregimes", "What parts of the regimes have in common", subregimes, "Subregimes"),
    Panel("corrections", "Corrected {probabilities}", corrections, "Corrections"),
    Panel("making", "How this report was made", making, "Method"),
    Panel("glossary", "Words and signs", glossary, "Glossary"),
)
