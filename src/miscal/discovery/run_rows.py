"""The rows of a run with everything that was found of them: what tables and summary are written from."""

from dataclasses import dataclass

import numpy as np

from miscal.discovery.estimating import HonestRows
from miscal.discovery.findings import Ledger
from miscal.findings import Subregime, Subregimes


@dataclass(frozen=True, eq=False)
class DescribedRows:
    """Rows, their honest estimates, and what was found of them.

    Attributes
    ----------
    honest : HonestRows
        The rows, the field and its estimates.
    regime, hidden_regime : ndarray of object, shape (n,)
        ``"over"``, ``"good"``, ``"under"``, or None where the field is not supported: cut on the field, and on its
        hidden part.
    subregimes, hidden_subregimes : Subregimes
        Named parts of each.
    ledger : Ledger
        The findings.
    """

    honest: HonestRows
    regime: np.ndarray
    hidden_regime: np.ndarray
    subregimes: Subregimes
    hidden_subregimes: Subregimes
    ledger: Ledger

    @property
    def parts(self) -> tuple[Subregime, ...]:
        """The parts of both, those of the whole field first."""
        return self.subregimes.table + self.hidden_subregimes.table
