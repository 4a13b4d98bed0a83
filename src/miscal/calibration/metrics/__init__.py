"""Calibration errors and scores: pure formulas of outcomes, confidences and weights.

Residuals are y - f: positive means under-confident. All functions take outcomes, confidences and the keyword
``sample_weight``; those that :mod:`miscal.metrics` offers call the first two ``y_true`` and ``y_prob``. In a value, a
weight of 2 is a row repeated and a weight of 0 a row dropped. In intervals, floors and p-values rows are the
independent units and weights say how much each matters; repeat rows to count them as several.

- One number: :func:`smece`, :func:`ece`, :func:`brier`, :func:`log_loss`; :func:`log_losses` of each row.
- With interval, noise floor and p-value: :func:`measure_smece`, :func:`measure_ece`, :func:`measure_gap`.
- All metrics, each with its interval: `METRICS`. A new one is a :class:`Metric` there.
- Slices: :func:`worst_slice_gap`, of regimes :func:`worst_slice`. Diagrams: :func:`reliability_curve`,
  :func:`smooth_reliability_curve`. Means: :func:`mean_interval`, :func:`wilson` for shares.
- Decisions at a threshold: :func:`implied_threshold`, :func:`net_benefit`, :func:`net_benefit_gain`; deferral of the
  least confident rows: :func:`risk_at_coverage`, :func:`risk_coverage_area`, :func:`deferral_gains`.
- Random draws of a calibrated model: :func:`smece_null`.
"""
