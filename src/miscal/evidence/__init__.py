"""What rows that nothing was learned from prove about a field: the claim, its certificates, and the audits of a run.

What enters is :class:`~miscal.calibration.labelled_rows.LabelledRows` or arrays (or functions that return them); what
leaves is a frozen result. Nothing here trains a model. Its constants are in :mod:`miscal.evidence.settings`.
A new lower limit goes in `limits/`.
"""
