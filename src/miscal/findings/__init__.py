"""Describe a field: its regimes, what they are made of, and findings.

What enters is :class:`~miscal.calibration.labelled_rows.LabelledRows` and a
:class:`~miscal.evidence.certificates.Certificate`; what leaves is frozen results and sentences. Enrichment,
keywords and residuals are formulas; judging tests regions.
"""
