"""Drawings on matplotlib axes, alike: made of finished values, drawn by `plot`, and described by `alt_text`.

matplotlib is imported when something is drawn, and not before; ``pip install "miscal[plot]"`` brings it.
"""

from miscal.report.displays.findings import FindingsDisplay, OverviewDisplay
from miscal.report.displays.reliability import ReliabilityDisplay

__all__ = ["FindingsDisplay", "OverviewDisplay", "ReliabilityDisplay"]
