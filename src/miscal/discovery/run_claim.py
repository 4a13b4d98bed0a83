"""The claim of a run: what the rows that testify allow to be said of its field."""

from miscal.calibration.metrics.rows import take_groups
from miscal.discovery.estimating import HonestRows
from miscal.evidence.claim import Claim, claim
from miscal.evidence.kernel_score import kernel_score


def claim_of(rows: HonestRows, *, seed: int) -> Claim:
    """Put the field to the test, with the rows and values that make the test exact.

    Where test rows are set apart they are tested, by the field of the others. Where all rows testify, the test goes
    through the folds one after the other, each judged by a field that has learned from earlier folds only; the first
    folds only teach. K-fold values would not do: a row's field depends there on the outcomes of rows whose fields
    depend on its own, and a test that takes them as fixed rejects too often. The kernel score needs no field, and looks
    at all rows that testify.

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
        estimate.ungated[tested],
        structure=bool(rows.model.structure_),
        expected=rows.expected[tested],
        block=None if block is None else block[tested],
        groups=take_groups(triples.group, tested),
        weights=take_groups(triples.weight, tested),
        p_structure=_structure(rows, seed),
        random_state=seed,
    )


def _structure(rows: HonestRows, seed: int) -> float | None:
    """P-value of the kernel score of all rows that testify."""
    triples, testify = rows.triples, rows.testifies
    inputs = triples.X if testify.all() else triples.X[testify]
    known = (values[testify] for values in (triples.correct, triples.confidence, rows.expected))
    return kernel_score(inputs, *known, design=rows.design, random_state=seed)
