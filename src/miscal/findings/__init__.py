"""Formulas and sentences about a field that is estimated: regimes, named groups, decisions.

In: `LabelledRows` and a certificate.
Out: regimes, a ledger of findings, and what may be decided alone.
"""
