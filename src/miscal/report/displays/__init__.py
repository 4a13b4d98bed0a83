"""Drawings on matplotlib axes, which is imported when something is drawn, and not before.

In: finished values.
Out: objects with `plot` and `alt_text`.
"""

from miscal.report.displays.findings import FindingsDisplay, OverviewDisplay
from miscal.report.displays.reliability import ReliabilityDisplay

__all__ = ["FindingsDisplay", "OverviewDisplay", "ReliabilityDisplay"]
