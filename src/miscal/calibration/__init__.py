"""What depends on the confidence alone: maps of it (temperature, isotonic, ...) and the metrics of calibration.

Inputs x do not enter here: whatever looks at them belongs to :mod:`miscal.estimators` or above.
"""
