"""Maps that correct a confidence without looking at the input, and metrics of how well calibrated it is.

- To measure: :mod:`miscal.calibration.metrics`, for instance ``smece(correct, confidence)`` for the number alone,
  ``measure_smece`` for its interval and p-value; `METRICS` has every metric by name.
- To correct by the confidence: :mod:`miscal.calibration.calibrators`, for instance
  ``Isotonic().fit(correct, confidence).predict(confidence)``; `CALIBRATORS` has every map by name.
- To choose a map: :mod:`miscal.calibration.global_map`, which takes the simplest that no other one clearly beats.

To add a metric, write its function and its entry in :mod:`miscal.calibration.metrics.inference`; to add a map, its
class in `calibrators.py` and its name in `CALIBRATORS`. Inputs X do not enter here: whatever looks at them belongs to
:mod:`miscal.estimators` or above.

Examples
--------
>>> from miscal.calibration.metrics.scores import brier
>>> round(brier([1, 0, 1], [0.9, 0.2, 0.6]), 2)
0.07
"""
