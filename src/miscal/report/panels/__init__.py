"""The parts of the page, in order.

A panel is one module with its :class:`~miscal.report.panel.Panel`, template and all, and its line here.
"""

from miscal.report.panel import Panel
from miscal.report.panels import (
    alarms,
    atlas,
    classes,
    columns,
    corrections,
    decisions,
    findings,
    glossary,
    histogram,
    judge,
    making,
    onepage,
    over_time,
    regimes,
    reliability,
    subregimes,
    verdict,
    warnings,
)

PANELS: tuple[Panel, ...] = (
    onepage.PANEL,
    alarms.PANEL,
    verdict.PANEL,
    warnings.PANEL,
    judge.PANEL,
    findings.PANEL,
    classes.PANEL,
    columns.PANEL,
    decisions.PANEL,
    regimes.PANEL,
    over_time.PANEL,
    reliability.PANEL,
    histogram.PANEL,
    atlas.PANEL,
    subregimes.PANEL,
    corrections.PANEL,
    making.PANEL,
    glossary.PANEL,
)
