"""The claim of a run: what the evaluation rows allow to be said of its field."""

from miscal.discovery.fitted_rows import FittedRows
from miscal.evidence.certificates import Certificate
from miscal.evidence.claim import Claim, claim
from miscal.evidence.combination import needed
from miscal.evidence.kernel_score import SmoothedResiduals, smoothed_residuals
from miscal.evidence.learned_power import detectable_places
from miscal.evidence.limits import NOTHING_CLAIMED
from miscal.evidence.settings import EVIDENCE_DEFAULTS


def claim_of(rows: FittedRows, *, seed: int) -> Claim:
    """Put the field to the test, with the rows and values that make the test exact.

    Where test rows are set apart they are tested, by the field of the others. Where all rows are evaluated, the test
    goes through the folds one after the other, each judged by a field that has learned from earlier folds only; the
    first folds only teach. K-fold values would not do: a row's field depends there on the outcomes of rows whose fields
    depend on its own, and a test that takes them as fixed rejects too often. The kernel score needs no field, and looks
    at all evaluation rows. Of fewer than 10 units nothing is claimed.
    """
    estimate, inside = rows.forward or rows.estimate, rows.evaluated if rows.block is None else rows.block >= 0
    blocks = {} if rows.block is None else {"block": rows.block}
    # the field as it was learned: whether the estimator would correct by it is no question of the test
    tested = rows.labelled(inside, estimate, hidden=estimate.ungated, **blocks)
    if rows.evaluation_rows.n_units < EVIDENCE_DEFAULTS.least_units:
        nothing = Certificate.of(NOTHING_CLAIMED, NOTHING_CLAIMED, n=len(tested), detectable=None)
        return Claim(bool(rows.model.structure_), nothing)
    structure, found = bool(rows.model.structure_), _smoothed(rows, seed)
    if found is None:
        return claim(tested, structure=structure, random_state=seed)
    # what the score needs to reject beside a field that says as much as chance
    level = needed(1 - EVIDENCE_DEFAULTS.field_weight, EVIDENCE_DEFAULTS.significance)
    return claim(
        tested,
        structure=structure,
        p_structure=found.p_value,
        detectable_learned=detectable_places(found, level, random_state=seed),
        random_state=seed,
    )


def _smoothed(rows: FittedRows, seed: int) -> SmoothedResiduals | None:
    """Smoothed residuals of all evaluation rows, for the kernel score."""
    evaluated, tested = rows.evaluated, rows.evaluation_rows
    places = rows.triples.lasting_places
    inputs = places if evaluated.all() else places[evaluated]
    known = tested.correct, tested.confidence, tested.expected
    return smoothed_residuals(inputs, *known, design=tested.design, random_state=seed)
