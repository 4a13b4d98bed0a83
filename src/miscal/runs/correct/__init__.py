"""Corrections of new rows, any number of them: piece by piece, resumable, on one machine or many."""

from miscal.runs.correct.command import Corrected, calibrate_file

__all__ = ["Corrected", "calibrate_file"]
