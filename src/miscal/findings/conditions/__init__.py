"""Conditions: a group of rows as a value, which says what rows of any table belong to it.

A finding is stored as such a value; every sentence about it is written from the value, and no code reads a sentence.
A new kind is one class, beside the others in `column_kinds` or `other_kinds`, and its name here; what proposes such
groups is in :mod:`miscal.findings.ledger.groups`.
"""

from miscal.findings.conditions.column_kinds import Cycle, Levels, Missing, Period, Span, Trend, Value
from miscal.findings.conditions.condition import KINDS, TEXT, Condition, Frame, Stored, read_condition
from miscal.findings.conditions.other_kinds import (
    Alike,
    AnyOf,
    Both,
    Cluster,
    Mixed,
    Mostly,
    NoneOf,
    Several,
    Term,
    TermShare,
)

__all__ = [
    "KINDS",
    "TEXT",
    "Alike",
    "AnyOf",
    "Both",
    "Cluster",
    "Condition",
    "Cycle",
    "Frame",
    "Levels",
    "Missing",
    "Mixed",
    "Mostly",
    "NoneOf",
    "Period",
    "Several",
    "Span",
    "Stored",
    "Term",
    "TermShare",
    "Trend",
    "Value",
    "read_condition",
]
