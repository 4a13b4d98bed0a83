"""The ledger of findings: which groups that can be named are right more or less often than rows of equal confidence.

Groups are named before any outcome is seen (`groups`), tested together (`scan`) and described (`ledger`).
"""

from miscal.findings.ledger.groups import IN_TEXT, TEXT, NamedGroups, named_groups, with_features
from miscal.findings.ledger.ledger import ADJUSTMENT, Finding, Witnesses, find
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

__all__ = [
    "ADJUSTMENT",
    "IN_TEXT",
    "LEDGER_DEFAULTS",
    "TEXT",
    "Finding",
    "LedgerSettings",
    "NamedGroups",
    "Witnesses",
    "find",
    "named_groups",
    "with_features",
]
