"""From an estimate to a claim: what may be said of a field after one look at rows that nothing was learned from.

Hidden miscalibration is claimed only when three things agree: the estimator claims local structure, from the rows it
learned from; on unseen rows a test rejects that the outcome depends on the confidence alone; and the certificate's
lower limit is above zero.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    detectable : float or None
        The mean absolute hidden miscalibration that these rows would have detected with 80 % power, presuming a field
        with the right sign on every row; None where no outcomes could show so much.
    significance : float
        What the p-value must be below.
    """

    structure: bool
    certificate: Certificate
    detectable: float | None
    significance: float = SIGNIFICANCE

    @property
    def rejected(self) -> bool:
        """Whether a test rejects that the outcome depends on the confidence alone."""
        return self.certificate.hidden.p_value < self.significance

    @property
    def confirmed(self) -> bool:
        """Whether hidden miscalibration is claimed: structure, p-value below 0.05 and a limit above 0, all three."""
        return self.structure and self.rejected and self.certificate.hidden.low > 0.0


def claim(
    correct: ArrayLike,
    confidence: ArrayLike,
    delta: ArrayLike,
    hidden: ArrayLike,
    *,
    structure: bool,
    fit_correct: ArrayLike,
    fit_confidence: ArrayLike,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    random_state: int | np.random.Generator = 0,
) -> Claim:
    """Put an estimated field to the test.

    Parameters
    ----------
    correct : (n,) in {0, 1}
        Outcomes unseen by whatever made `delta` and `hidden`.
    confidence : (n,) float in [0, 1]
    delta : (n,) float in [-1, 1]
        Estimated field; positive: under-confident.
    hidden : (n,) float in [-1, 1]
        Its hidden part, `delta` less what a map of the confidence alone gives; same sign convention.
    structure : bool
        Whether the estimator claims local structure; where it does not, nothing hidden is tested.
    fit_correct, fit_confidence : (m,) in {0, 1}; (m,) float in [0, 1]
        Other rows, for E[y | f].
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
    >>> rng = np.random.default_rng(0)
    >>> x, f = rng.choice([-1, 1], 5000), rng.uniform(0.3, 0.7, 5000)
    >>> y = (rng.random(5000) < f + 0.2 * x).astype(float)
    >>> fit, test = slice(0, 4000), slice(4000, None)
    >>> found = claim(y[test], f[test], 0.2 * x[test], 0.2 * x[test], structure=True,
    ...     fit_correct=y[fit], fit_confidence=f[fit])
    >>> found.confirmed, round(found.detectable, 3)
    (True, 0.038)
    """
    claimed = np.asarray(hidden, dtype=np.float64)
    proof = certificate(
        correct,
        confidence,
        delta,
        claimed if structure else np.zeros_like(claimed),
        fit_correct=fit_correct,
        fit_confidence=fit_confidence,
        settings=settings,
        random_state=random_state,
    )
    # f plus the visible part, which is delta less its hidden part
    rate = np.clip(np.asarray(confidence) + np.asarray(delta) - claimed, 0.0, 1.0)
    return Claim(bool(structure), proof, attainable(proof.detectable, rate), settings.significance)


def attainable(size: float, visible_rate: NDArray[np.float64]) -> float | None:
    """Return a size of hidden miscalibration, or None if no outcomes could show so much.

    Parameters
    ----------
    size : float
        A mean absolute hidden miscalibration, not negative.
    visible_rate : (n,) float64 in [0, 1]
        mu(f), the rate of y given f alone at each unseen row.

    Returns
    -------
    float or None
        `size`, unless it exceeds the mean of 2 mu (1 - mu), which is reached where x decides every outcome.

    Examples
    --------
    >>> attainable(0.1, np.array([0.5, 0.5])), attainable(0.6, np.array([0.5, 0.5]))
    (0.1, None)
    """
    return size if size <= np.mean(2.0 * visible_rate * (1.0 - visible_rate)) else None
