"""The verdict: one plain sentence on hidden miscalibration, and what a test of this size can see at all.

The sentence claims hidden structure only when three things agree: the estimator claims it, from train and validation
rows; on test rows a test rejects that the outcome depends on the confidence alone; and the certificate's limit is above
zero. It never says "there is none".
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.05


@dataclass(frozen=True)
class Claim:
    """What decides the verdict.

    Attributes
    ----------
    structure : bool
        Whether the estimator claims a local structure.
    lower_limit : float
        One-sided 95 % lower limit of the mean absolute hidden miscalibration, from the certificate.
    p_value : float
        Of the hypothesis that y does not depend on x given f.
    n_test : int
        Test rows.
    detectable : float or None
        The mean hidden miscalibration that a field with the right sign everywhere would have shown at 5 % with 80 %
        power on these rows (:attr:`miscal.evidence.certificates.Certificate.detectable`); None if no outcomes could.
    """

    structure: bool
    lower_limit: float
    p_value: float
    n_test: int
    detectable: float | None

    @property
    def confirmed(self) -> bool:
        """Whether hidden miscalibration is claimed: structure, p-value below 0.05 and a limit above 0, all three."""
        return self.structure and self.p_value < LEVEL and self.lower_limit > 0.0


@dataclass(frozen=True)
class Place:
    """A region to name in the verdict.

    Attributes
    ----------
    name : str
        What the region is called, with quotation marks if it is a name.
    hidden : float
        Mean of y - mu(f) over its test rows: negative where they are less often right than rows of like confidence.
    """

    name: str
    hidden: float


def visible_size(size: float, visible_rate: np.ndarray) -> float | None:
    """Return a size of hidden miscalibration, or None if no outcomes could show so much.

    Parameters
    ----------
    size : float
        A mean absolute hidden miscalibration, not negative.
    visible_rate : ndarray of float64, shape (n,)
        mu(f), the rate of y given f alone at each test row, in [0, 1].

    Returns
    -------
    float or None
        `size`, unless it exceeds the mean of 2 mu (1 - mu): what there is if x decides every outcome.

    Examples
    --------
    >>> visible_size(0.1, np.array([0.5, 0.5])), visible_size(0.6, np.array([0.5, 0.5]))
    (0.1, None)
    """
    return size if size <= np.mean(2.0 * visible_rate * (1.0 - visible_rate)) else None


def sentence(claim: Claim, places: Sequence[Place] = ()) -> str:
    """Say in one sentence what was found.

    Parameters
    ----------
    claim : Claim
        The numbers that decide.
    places : sequence of Place
        The regions that were confirmed, strongest first; three at most are named.

    Returns
    -------
    str
        The verdict.

    Examples
    --------
    >>> found = Claim(structure=True, lower_limit=0.042, p_value=0.001, n_test=1000, detectable=0.03)
    >>> print(sentence(found, [Place('"law, court"', -0.15), Place('"sums"', 0.09)]))
    Hidden miscalibration: at least 0.042 on average (95 % limit, 1,000 test rows); against rows of like
    confidence, less often right on "law, court" (-0.15), more often right on "sums" (+0.09).
    >>> nothing = Claim(structure=False, lower_limit=0.0, p_value=1.0, n_test=1000, detectable=0.03)
    >>> print(sentence(nothing))
    Hidden miscalibration: none found; with these 1,000 test rows hidden miscalibration above 0.030 on average would
    have been (80 % power, if the field had its signs right).
    """
    return f"Hidden miscalibration: {_found(claim, places) if claim.confirmed else _not_found(claim)}."


def _found(claim: Claim, places: Sequence[Place]) -> str:
    return f"at least {_size(claim.lower_limit)} on average (95 % limit, {claim.n_test:,} test rows){_where(places)}"


def _not_found(claim: Claim) -> str:
    return f"none found; {_sight(claim)}{_doubt(claim)}"


def _size(value: float) -> str:
    # a limit is rounded down, so that the words never promise more than the number
    return f"{np.floor(value * 1000) / 1000:.3f}" if value >= 0.001 else f"{value:.1g}"


def _where(places: Sequence[Place]) -> str:
    if not places:
        return ", spread so that no single part of it could be confirmed by itself"
    return "; against rows of like confidence, " + ", ".join(
        f"{'less' if place.hidden < 0 else 'more'} often right on {place.name} ({place.hidden:+.2f})"
        for place in places[:3]
    )


def _doubt(claim: Claim) -> str:
    if not claim.structure:
        return ""
    # a p-value below 0.05 and a limit of 0 can come together: the limit counts fewer rows, chosen before
    limit = ", but a lower limit of 0" if claim.p_value < LEVEL else ""
    return f"; the estimator sees some, which the test rows do not confirm (p = {claim.p_value:.2g}{limit})"


def _sight(claim: Claim) -> str:
    if claim.detectable is None:
        return (
            f"with these {claim.n_test:,} test rows hidden miscalibration of no size would have been: they are too few"
        )
    return (
        f"with these {claim.n_test:,} test rows hidden miscalibration above {claim.detectable:.3f} on average would "
        "have been (80 % power, if the field had its signs right)"
    )
