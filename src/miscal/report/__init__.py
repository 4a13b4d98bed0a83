"""From a run folder to one self-contained page; computes nothing, everything comes from the summary."""

from miscal.report.page import render
from miscal.report.run import write_run

__all__ = ["render", "write_run"]
