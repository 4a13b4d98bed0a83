"""What rows that nothing was learned from prove about a field: the claim, its certificates, and the audits of a run.

What enters is :class:`~miscal.calibration.labelled_rows.LabelledRows` or arrays (or functions that return them) and a
frozen :class:`~miscal.evidence.settings.EvidenceSettings`; what leaves is a frozen result. Nothing here trains a model.
A new lower limit goes in `limits/`.
"""
