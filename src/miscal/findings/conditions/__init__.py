"""Conditions: a group of rows as a value, which says what rows of any table belong to it.

A finding is stored as such a value; every sentence about it is written from the value, and no code reads a sentence.
To add a kind, put a module into :mod:`miscal.findings.conditions.kinds`; it is found there.
"""

from miscal.findings.conditions.composition import Alike, Composition, Mixed, Mostly, TermShare, described, phrase
from miscal.findings.conditions.condition import Condition, Stored, TermNumbers, kinds, read_condition
from miscal.findings.conditions.frame import TEXT, Frame

__all__ = [
    "TEXT",
    "Alike",
    "Composition",
    "Condition",
    "Frame",
    "Mixed",
    "Mostly",
    "Stored",
    "TermNumbers",
    "TermShare",
    "described",
    "kinds",
    "phrase",
    "read_condition",
]
