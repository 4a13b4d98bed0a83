"""The claim of a run: what the rows that testify allow to be said of its field."""

from miscal.calibration.metrics.rows import take_groups
from miscal.discovery.estimating import HonestRows
from miscal.evidence.claim import Claim, claim


def claim_of(rows: HonestRows, *, seed: int) -> Claim:
    """Put the field to the test, with the rows and values that make the test exact.

    Where test rows are set apart they are tested, by the field of the others. Where all rows testify, the test goes
    through the folds one after the other, each judged by a field that has learned from earlier folds only; the first
    folds only teach. K-fold values would not do: a row's field depends there on the outcomes of rows whose fields
    depend on its own, and a test that takes them as fixed rejects too often.

    Parameters
    ----------
    rows : HonestRows
    seed : int
        Of the draws.

    Returns
    -------
    Claim
    """
    triples, estimate, block = rows.triples, rows.forward or rows.estimate, rows.block
    tested = rows.testifies if block is None else block >= 0
    return claim(
        triples.correct[tested],
        triples.confidence[tested],
        estimate.delta[tested],
        estimate.hidden[tested],
        structure=bool(rows.model.structure_),
        expected=rows.expected[tested],
        block=None if block is None else block[tested],
        groups=take_groups(triples.group, tested),
        weights=take_groups(triples.weight, tested),
        random_state=seed,
    )
