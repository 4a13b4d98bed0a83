"""Calibration errors and scores: pure formulas.

In: outcomes, confidences and ``sample_weight``, in which 2 is a row repeated and 0 a row dropped.
Out: a number, or a number with interval, noise floor and p-value, for which rows count once, whatever they weigh.

Residuals are y - f: positive means under-confident. Functions that :mod:`miscal.metrics` offers call outcomes and
confidences ``y_true`` and ``y_prob``.

- One number: :func:`smece`, :func:`ece`, :func:`brier`, :func:`log_loss`; :func:`log_losses` of each row.
- With interval, noise floor and p-value: :func:`measure_smece`, :func:`measure_ece`, :func:`measure_gap`.
- All metrics, each with its interval: `METRICS`. A new one is a :class:`Metric` there.
- Slices: :func:`worst_slice_gap`, of regimes :func:`worst_slice`. Diagrams: :func:`reliability_curve`,
  :func:`smooth_reliability_curve`. Means: :func:`mean_interval`, :func:`wilson` for shares.
- Decisions at a threshold: :func:`implied_threshold`, :func:`net_benefit`, :func:`net_benefit_gain`; deferral of the
  least confident rows: :func:`risk_at_coverage`, :func:`deferral_gains`.
"""
