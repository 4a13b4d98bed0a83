"""The paper's claims: its number, ours over the pairs at hand, and whether the direction is the same here."""

from __future__ import annotations

from miscal.study.claims import audits, fields
from miscal.study.claims.claim import PaperClaim
from miscal.study.tables import Tables

__all__ = ["PaperClaim", "claims"]

_MAKERS = (
    fields.gaps, fields.spreads, fields.improved, fields.gains, fields.sizes, fields.raw, audits.nulls, audits.seeds,
    audits.thresholds, audits.correlations, fields.purity,
)  # fmt: skip


def claims(tables: Tables, method: str) -> list[PaperClaim]:
    """Compare every claim of the paper that these tables speak to.

    Parameters
    ----------
    tables : mapping of str to polars.DataFrame
        Tables of a study; all of them, each may be empty.
    method : {"paper", "auto"}

    Returns
    -------
    list of PaperClaim
        Only of claims for which there are rows.
    """
    return [claim for make in _MAKERS for claim in make(tables, method)]
