"""The ledger of findings: which groups of rows are right more or less often than rows of equal confidence.

Groups are named (`groups`) or clustered (`clusters`) before any outcome is seen, and tested together (`scan`). What is
found is described (`describe`, `ledger`).
"""

from miscal.findings.ledger.blocks import value_cells
from miscal.findings.ledger.clusters import clusters_of
from miscal.findings.ledger.frames import readable, with_features
from miscal.findings.ledger.groups import Groups, column_groups, named_groups, with_clusters
from miscal.findings.ledger.ledger import ADJUSTMENT, FOUND, NAMED, Finding, FindingsMethod, Ledger, find
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.values import ColumnValue, value_words

__all__ = [
    "ADJUSTMENT",
    "FOUND",
    "LEDGER_DEFAULTS",
    "NAMED",
    "ColumnValue",
    "Finding",
    "FindingsMethod",
    "Groups",
    "Ledger",
    "LedgerSettings",
    "clusters_of",
    "column_groups",
    "find",
    "named_groups",
    "readable",
    "value_cells",
    "value_words",
    "with_clusters",
    "with_features",
]
