"""What depends on the confidence alone, never on the inputs: maps of it, metrics, `LabelledRows`.

In: outcomes, confidences, weights and units of rows.
Out: fitted maps, numbers with intervals, and the rows that all rooms above are handed.

To measure, see :mod:`miscal.calibration.metrics`; to correct, :mod:`miscal.calibration.calibrators`, from which
:mod:`miscal.calibration.global_map` takes the simplest map that no other one clearly beats.

Examples
--------
>>> from miscal.calibration.metrics.scores import brier
>>> round(brier([1, 0, 1], [0.9, 0.2, 0.6]), 2)
0.07
"""
