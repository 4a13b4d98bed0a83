"""The claim of a run: what the rows that testify allow to be said of its field."""

from miscal.discovery.fitted_rows import FittedRows
from miscal.evidence.claim import Claim, claim


def claim_of(rows: FittedRows, *, seed: int) -> Claim:
    """Put the field to the test, with the rows and values that make the test exact.

    Where test rows are set apart they are tested, by the field of the others. Where all rows testify, the test goes
    through the folds one after the other, each judged by a field that has learned from earlier folds only; the first
    folds only teach. K-fold values would not do: a row's field depends there on the outcomes of rows whose fields
    depend on its own, and a test that takes them as fixed rejects too often.
    """
    tested = rows.testified if rows.block is None else rows.labelled(rows.block >= 0, rows.forward, block=rows.block)
    return claim(tested, structure=bool(rows.model.structure_), random_state=seed)
