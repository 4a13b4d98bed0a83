"""Conditions: a group of rows as a value, which says what rows of any table belong to it.

A finding is stored as such a value; every sentence about it is written from the value, and no code reads a sentence.
The interface is in `condition`. A new kind is one class in `column_kinds` or `other_kinds`: both are read here, so that
every kind is known. What proposes such groups is in :mod:`miscal.findings.ledger.groups`.
"""

from miscal.findings.conditions import column_kinds, other_kinds  # noqa: F401
