"""Compute how much hidden miscalibration would be claimed where nobody knows beforehand which inputs it affects.

What `detectable` says (:mod:`miscal.evidence.power`) presumes a field that has its signs right. Here the place is one
that the inputs themselves suggest, and the test has to find it:

    halves    the inputs are split at the median of a random direction, and the rate is up in one half and down in the
              other, by the same size on all rows
    cluster   the rate is up, or down, in one of ten k-means clusters of the inputs, that of a random row, and nowhere
              else; the partitions are others than those that the test sums by

The test is the kernel score alone, at the level that it needs if the test of the field says as much as chance: no model
is fitted. Its sums with something hidden are those of the planted residuals plus those of a shuffle, which stands for
the noise of the outcomes: new outcomes would have nearly this law, and the deflation of rows that hang together is in
both. Where the test of the field sees more or less than chance, the power of the claim is another one;
``benchmarks/learned_power.py`` plants such errors, fits the estimator, and prints how often they are claimed.

Cost: about 2 x 12 x 100 x rows x 336 x 2 operations, in single precision, and four k-means fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from miscal.base.document import Number, Part, Share
from miscal.estimators.auto.clusters import find_centres, nearest
from miscal.evidence.blocks import surprise_among
from miscal.evidence.kernel_score import SmoothedResiduals
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class DetectablePlace(Part):
    """Hidden miscalibration that would be claimed with 80 % power, on average over the places that it may have.

    Attributes
    ----------
    place : {"halves", "cluster"}
        Halves of the inputs, of opposite sign, or a cluster of them.
    share : float in (0, 1]
        Of the rows that are affected, on average: 1 for halves.
    size : float in [0, 1], or None
        How far the rate of an affected row is off on average, in either direction; less on rows whose rate leaves less
        room. None where even the largest size would be claimed more seldom.
    average : float in [0, 1], or None
        Mean absolute hidden miscalibration of all rows: what of the size no function of the confidence shows.
    """

    place: Literal["halves", "cluster"]
    share: Share
    size: Number
    average: Number


def detectable_places(
    rows: SmoothedResiduals,
    level: float,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    random_state: int | np.random.Generator = 0,
) -> tuple[DetectablePlace, ...]:
    """Sizes of hidden miscalibration that are claimed with 80 % power on average over unknown places.

    Takes level: what its p-value must be below. Returns tuple of DetectablePlace: For halves, and for a cluster.

    Examples
    --------
    >>> from miscal.evidence.kernel_score import smoothed_residuals
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(1000, 3)), rng.uniform(0.3, 0.7, 1000)
    >>> rows = smoothed_residuals(X, (rng.random(1000) < f).astype(float), f, f)
    >>> for found in detectable_places(rows, 0.05):
    ...     print(found.place, round(found.size, 2), round(found.average, 3))
    halves 0.06 0.056
    cluster 0.27 0.046
    """
    rng = np.random.default_rng(random_state)
    test = _Test.of(rows, settings, rng)
    return (
        _detectable("halves", halves(rows, settings, rng), test, level, settings),
        _detectable("cluster", clusters(rows, settings, rng), test, level, settings),
    )


def _detectable(
    place: Literal["halves", "cluster"], signs: Singles, test: _Test, level: float, settings: EvidenceSettings
) -> DetectablePlace:
    """Find the size by bisection; `signs`, (places, n), say where each place is, and in which direction it is off."""
    rows, wanted = test.rows, ndtr(settings.z_power)
    mass = np.broadcast_to(rows.mass, signs.shape)
    # rounding may carry the mean of ones past 1
    share = min(1.0, float(np.average(signs != 0, weights=mass)))
    low, high = 0.0, 1.0
    if test.power(planted(rows, signs, high), level) < wanted:
        return DetectablePlace(place=place, share=share, size=None, average=None)
    for _ in range(settings.planted_halvings):
        middle = (low + high) / 2
        enough = test.power(planted(rows, signs, middle), level) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    off = planted(rows, signs, high)
    size = float(np.average(np.abs(off), weights=(signs != 0) * mass))
    average = float(np.average(np.abs(_hidden_part(rows, off)), weights=mass))
    return DetectablePlace(place=place, share=share, size=size, average=average)


def halves(rows: SmoothedResiduals, settings: EvidenceSettings, rng: np.random.Generator) -> Singles:
    """Sign of each row on either side of the median of random directions."""
    direction = rng.standard_normal((settings.planted_places, rows.places.shape[1])).astype(np.float32)
    along = direction @ rows.places.T
    return np.where(along > np.median(along, axis=1, keepdims=True), 1, -1).astype(np.float32)


def clusters(rows: SmoothedResiduals, settings: EvidenceSettings, rng: np.random.Generator) -> Singles:
    """One sign on the cluster of a random row, 0 elsewhere, by several partitions."""
    n, seeds = len(rows.places), rng.integers(2**31, size=settings.planted_partitions).tolist()
    parts = [nearest(rows.places, find_centres(rows.places, (settings.planted_clusters,), seed)[0]) for seed in seeds]
    cluster = np.repeat(parts, settings.planted_places // len(parts), axis=0)
    own = cluster[np.arange(len(cluster)), rng.integers(n, size=len(cluster))]
    return ((cluster == own[:, None]) * rng.choice([-1, 1], (len(cluster), 1))).astype(np.float32)


def planted(rows: SmoothedResiduals, signs: Singles, size: float) -> Singles:
    """How far each row is off, (places, n): no rate leaves [0, 1]."""
    rate = rows.expected.astype(np.float32)
    return np.clip(rate + np.float32(size) * signs, 0, 1) - rate


def _hidden_part(rows: SmoothedResiduals, off: Singles) -> Floats:
    """Subtract from how far rows are off the mean of those of near-equal confidence."""
    first = np.flatnonzero(np.diff(rows.stratum, prepend=-1))
    mean = np.add.reduceat(off * rows.mass, first, axis=1) / np.add.reduceat(rows.mass, first)
    return off - mean[:, rows.stratum]


@dataclass(frozen=True, eq=False)
class _Test:
    """What the statistics of planted residuals are compared with.

    Attributes
    ----------
    rows : SmoothedResiduals
    null : (draws, k) float64
        Statistics of shuffles, each sorted.
    surprise : (draws,) float64
        How unlikely each shuffle is, sorted.
    noise : (repeats, m) float32
        Sums of shuffles that are added to those of every planted place.
    """

    rows: SmoothedResiduals
    null: Floats
    surprise: Floats
    noise: Singles

    @classmethod
    def of(cls, rows: SmoothedResiduals, settings: EvidenceSettings, rng: np.random.Generator) -> _Test:
        null = np.sort(shuffled := rows.statistics[1:], axis=0)
        noise = rows.sums[1 + rng.choice(len(null), settings.planted_noises, replace=False)]
        return cls(rows, null, np.sort(surprise_among(null, shuffled)), noise)

    def power(self, off: Singles, level: float) -> float:
        """Share of p-values below the level, where rows are off by (places, n)."""
        sums = (off @ self.rows.factors)[:, None] + self.noise
        surprise = surprise_among(self.null, self.rows.statistics_of(sums.reshape(-1, sums.shape[-1])))
        larger = len(self.surprise) - np.searchsorted(self.surprise, surprise, side="left")
        return float(np.mean((1 + larger) / (1 + len(self.surprise)) < level))
