"""From a run folder to one self-contained page; computes nothing, everything comes from the summary."""

from miscal.report.page import render

__all__ = ["render"]
