"""The verdict: one plain sentence on hidden miscalibration, and what a test of this size can see at all.

The sentence claims hidden structure only when two things agree: the estimator claims it, from train and validation
rows, and the certificate confirms it on test rows. It never says "there is none".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

LEVEL = 0.05
POWER = 0.8
_STEPS = 14  # halvings of [0, 1]: the answer is good to 0.0001, far below the noise of the draws
_DRAWN_VALUES = 2_000_000


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
        The smallest mean hidden miscalibration that would have been certified; None if nothing up to 1 would.
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
    residual : float
        Mean of y - f over its test rows: negative means over-confident.
    """

    name: str
    residual: float


def detectable(
    visible_rate: ArrayLike,
    limit: Callable[[np.ndarray], float],
    *,
    n_draws: int | None = None,
    power: float = POWER,
    random_state: int | np.random.Generator = 0,
) -> float | None:
    """Return the smallest mean hidden miscalibration that a test of this size would certify.

    Parameters
    ----------
    visible_rate : array_like of float, shape (n,)
        mu(f), the rate of y given f alone at each test row, in [0, 1].
    limit : callable
        Lower limit of the mean of an array of n values in [-1, 1]: the one the certificate uses.
    n_draws : int, optional
        Simulated test sets for each size; by default 100, fewer (down to 20) from 20,000 rows on.
    power : float, default 0.8
        Share of the simulated test sets in which the limit has to exceed 0.
    random_state : int or Generator, default 0
        Source of the simulated outcomes.

    Returns
    -------
    float or None
        Y in [0, 1], to about 0.0001 and the noise of the draws (which are the same for every size); None if not even
        the largest possible miscalibration would be certified, as with very few rows.

    Notes
    -----
    A world with hidden miscalibration of mean size Y: half the rows, at random, under-confident by Y and half
    over-confident (where mu leaves no room for Y, by what room there is, and Y is the mean of what there was). Then
    s = +1 or -1 is the true sign, y ~ Bernoulli(mu + s h), and the certificate's statistic is the mean of
    (y - mu) s, which estimates the mean of h. Y is found by bisection as the smallest size for which `limit`
    exceeds 0 in a share `power` of the draws.

    This is the power of the test alone: it takes the signs of the field as right. A field that finds only part of
    the structure needs more.

    Examples
    --------
    >>> def normal_limit(z):
    ...     return z.mean() - 1.645 * z.std() / len(z) ** 0.5
    >>> few, many = (detectable(np.full(n, 0.7), normal_limit) for n in (100, 10_000))
    >>> 0.08 < few < 0.15, 0.008 < many < 0.015
    (True, True)
    """
    rate = np.clip(np.asarray(visible_rate, dtype=np.float64), 0.0, 1.0)
    if rate.size == 0:
        return None
    n_draws = n_draws or int(np.clip(_DRAWN_VALUES // rate.size, 20, 100))
    rng = np.random.default_rng(random_state)
    signs = np.where(rng.random((n_draws, rate.size)) < 0.5, 1.0, -1.0)
    uniform = rng.random((n_draws, rate.size))
    size = _smallest(lambda h: _power(h, rate, signs, uniform, limit) >= power)
    return None if size is None else float(np.mean(_room(size, rate, signs)))


def _smallest(enough: Callable[[float], bool]) -> float | None:
    low, high = 0.0, 1.0
    if not enough(high):
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _room(h: float, rate: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return np.minimum(h, np.where(signs > 0, 1.0 - rate, rate))


def _power(h: float, rate: np.ndarray, signs: np.ndarray, uniform: np.ndarray, limit: Callable) -> float:
    y = uniform < rate + signs * _room(h, rate, signs)
    return float(np.mean([limit(row) > 0.0 for row in (y - rate) * signs]))


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
    >>> print(sentence(found, [Place('"law, court"', -0.21), Place('"sums"', 0.08)]))
    Hidden miscalibration: at least 0.042 on average (95 % limit, 1,000 test rows), where: over-confident on "law,
    court" (-0.21); under-confident on "sums" (+0.08).
    >>> nothing = Claim(structure=False, lower_limit=0.0, p_value=1.0, n_test=1000, detectable=0.03)
    >>> print(sentence(nothing))
    Hidden miscalibration: none found; with these 1,000 test rows hidden miscalibration above 0.030 on average would
    have been (80 % power, if the field had its signs right).
    """
    return f"Hidden miscalibration: {_found(claim, places) if claim.confirmed else _not_found(claim)}."


def _found(claim: Claim, places: Sequence[Place]) -> str:
    return f"at least {_size(claim.lower_limit)} on average (95 % limit, {claim.n_test:,} test rows), {_where(places)}"


def _not_found(claim: Claim) -> str:
    return f"none found; {_sight(claim)}{_doubt(claim)}"


def _size(value: float) -> str:
    # a limit is rounded down, so that the words never promise more than the number
    return f"{np.floor(value * 1000) / 1000:.3f}" if value >= 0.001 else f"{value:.1g}"


def _where(places: Sequence[Place]) -> str:
    if not places:
        return "spread so that no single part of it could be confirmed by itself"
    return "where: " + "; ".join(
        f"{'over' if place.residual < 0 else 'under'}-confident on {place.name} ({place.residual:+.2f})"
        for place in places[:3]
    )


def _doubt(claim: Claim) -> str:
    if not claim.structure:
        return ""
    return f"; the estimator sees some, which the test rows do not confirm (p = {claim.p_value:.2g})"


def _sight(claim: Claim) -> str:
    if claim.detectable is None:
        return (
            f"with these {claim.n_test:,} test rows hidden miscalibration of no size would have been: they are too few"
        )
    return (
        f"with these {claim.n_test:,} test rows hidden miscalibration above {claim.detectable:.3f} on average would "
        "have been (80 % power, if the field had its signs right)"
    )
