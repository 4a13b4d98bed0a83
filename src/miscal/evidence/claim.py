"""From an estimate to a claim: what may be said of a field after one look at rows that nothing was learned from.

Hidden miscalibration is claimed only when three things agree: the estimator claims local structure, from the rows it
learned from; on unseen rows a test rejects that the outcome depends on the confidence alone; and the certificate's
lower limit is above zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.certificates import Certificate, certificate
from miscal.evidence.settings import EVIDENCE_DEFAULTS, SIGNIFICANCE, EvidenceSettings


@dataclass(frozen=True)
class Claim:
    """What unseen rows allow to be said of a field.

    Attributes
    ----------
    structure : bool
        Whether the estimator claims a local structure, that is, one that no function of the confidence gives.
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
    def rejected(self) -> bool:
        """Whether a test rejects that the outcome depends on the confidence alone."""
        return self.certificate.hidden.p_value < self.significance

    @property
    def confirmed(self) -> bool:
        """Whether hidden miscalibration is claimed: structure, p-value below 0.05 and a limit above 0, all three."""
        return self.structure and self.rejected and self.certificate.hidden.low > 0.0


def claim(
    rows: LabelledRows,
    *,
    structure: bool,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    random_state: int | np.random.Generator = 0,
) -> Claim:
    """Put an estimated field to the test.

    Parameters
    ----------
    rows : LabelledRows
        With `delta` and `hidden`; :func:`~miscal.evidence.certificates.unseen_rows` checks arrays.
    structure : bool
        Whether the estimator claims local structure; where it does not, nothing hidden is tested.
    settings : EvidenceSettings, optional
        Significance, confidence level, limits and draws.
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    Claim
        The same for the same rows and seed.

    Raises
    ------
    InputError
        As :func:`miscal.evidence.certificates.certificate`.

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
    (True, 0.043)
    """
    claimed = rows if structure else replace(rows, hidden=np.zeros(len(rows)))
    proof = certificate(claimed, settings=settings, random_state=random_state)
    return Claim(bool(structure), proof, significance=settings.significance)
