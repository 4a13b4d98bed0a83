"""Findings over several models that answered the same questions: where they err together, and where they differ."""

from miscal.findings.shared.model_tests import ModelEffect, ModelTests
from miscal.findings.shared.shared_findings import (
    DIFFERING,
    SHARED,
    ModelAnswers,
    SharedFinding,
    Stacked,
    find_shared,
    shared_columns,
    stacked,
)

__all__ = [
    "DIFFERING",
    "SHARED",
    "ModelAnswers",
    "ModelEffect",
    "ModelTests",
    "SharedFinding",
    "Stacked",
    "find_shared",
    "shared_columns",
    "stacked",
]
