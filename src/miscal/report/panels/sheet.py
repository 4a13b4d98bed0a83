"""The first printed sheet: the verdict, the findings, the regimes and one diagram."""

from typing import Any

from miscal.report.drawing import axes_of
from miscal.report.formatting import count
from miscal.report.panels.findings import finding_rows
from miscal.report.panels.regimes import regime_rows
from miscal.report.panels.verdict import headline
from miscal.report.source import Source

#: What fits on the sheet together with alarms and a long verdict.
MAX_FINDINGS = 6
MAX_ALARMS = 3
MAX_VERDICT = 900


def sheet(source: Source) -> dict[str, Any]:
    """Return the strongest of everything; `more` findings stand further on, `tested` groups were."""
    summary = source.summary
    findings, _ = finding_rows(source, MAX_FINDINGS)
    alarms = summary.alarms[:MAX_ALARMS]
    if (more := len(summary.alarms) - len(alarms)) > 0:
        alarms = (*alarms, f"{count(more)} more alarms follow.")
    return {
        "alarms": alarms,
        "sentence": summary.verdict,
        "longest": MAX_VERDICT,
        **headline(source),
        "findings": findings,
        "rise": any(row.rises for row in findings),
        "more": len(summary.findings) - len(findings),
        "tested": summary.findings_method.candidates if summary.findings_method else 0,
        **regime_rows(source),
        "drawn": [(axes, dots) for axes in axes_of(summary) if (dots := axes.dots(summary.curves.all.raw))],
    }
