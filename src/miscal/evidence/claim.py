"""Decide what may be claimed of a field after one look at rows that nothing was learned from.

Hidden miscalibration is claimed where the p-value of the certificate is below 0.05, and by nothing else: whether the
estimator takes what it learned for more than noise decides what is corrected, not what is claimed, and the lower limit
says how much there is at least, not whether there is any. The p-value is of two tests of one hypothesis, that the
outcome depends on the confidence alone. Where they reject together but the test of the field does not by itself, there
is something, and the field does not say where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.certificates import Certificate, certificate
from miscal.evidence.learned_power import DetectablePlace
from miscal.evidence.settings import EVIDENCE_DEFAULTS, SIGNIFICANCE, EvidenceSettings


@dataclass(frozen=True)
class Claim:
    """What unseen rows allow to be said of a field.

    Attributes
    ----------
    structure : bool
        Whether the estimator corrects by a local structure, that is, one that no function of the confidence gives.
    certificate : Certificate
        What the unseen rows prove.
    significance : float
        What the p-value must be below.
    """

    structure: bool
    certificate: Certificate
    significance: float = field(default=SIGNIFICANCE, kw_only=True)

    @property
    def detectable(self) -> float | None:
        """What these rows would have detected: see :class:`~miscal.evidence.certificates.Certificate`."""
        return self.certificate.detectable

    @property
    def confirmed(self) -> bool:
        """Whether hidden miscalibration is claimed: whether the p-value of both tests together is below 0.05."""
        return self.certificate.p_value < self.significance

    @property
    def located(self) -> bool:
        """Whether the field says where what is claimed lies: whether its own p-value is below 0.05 too.

        Both p-values are of one hypothesis, so this second look at the field needs no adjustment (closed testing).
        """
        return self.confirmed and self.certificate.p_field < self.significance


def claim(
    rows: LabelledRows,
    *,
    structure: bool,
    p_structure: float | None = None,
    detectable_learned: Sequence[DetectablePlace] = (),
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    random_state: int | np.random.Generator = 0,
) -> Claim:
    """Put an estimated field to the test.

    Takes rows: with `delta` and `hidden`; structure: whether the estimator corrects by a local structure;
    p_structure: P-value of :func:`~miscal.evidence.kernel_score.kernel_score`, of these rows and any other evaluation
    rows; detectable_learned: what the kernel score would have detected:
    :func:`~miscal.evidence.learned_power.detectable_places`; settings: significance, confidence level, limits and
    draws. Returns: Claim: The same for the same rows and seed.

    Examples
    --------
    >>> from miscal.evidence.certificates import unseen_rows
    >>> from miscal.evidence.conditional import outcome_given_confidence
    >>> rng = np.random.default_rng(0)
    >>> x, f = rng.choice([-1, 1], 5000), rng.uniform(0.3, 0.7, 5000)
    >>> y = (rng.random(5000) < f + 0.2 * x).astype(float)
    >>> fit, test = slice(0, 4000), slice(4000, None)
    >>> expected = outcome_given_confidence(y[fit], f[fit], f[test])
    >>> rows = unseen_rows(y[test], f[test], 0.2 * x[test], 0.2 * x[test], expected=expected)
    >>> found = claim(rows, structure=True)
    >>> found.confirmed, round(found.detectable, 3)
    (True, 0.041)
    """
    proof = certificate(
        rows,
        p_structure=p_structure,
        detectable_learned=detectable_learned,
        settings=settings,
        random_state=random_state,
    )
    return Claim(bool(structure), proof, significance=settings.significance)
