"""Compute how much hidden miscalibration a set of rows could have detected.

A field leads to a claim if shuffling it within strata of near-equal confidence gives a small p-value. The power of
that is by the normal law. It counts what the test loses: centring within a stratum of m rows costs one row in m, and
blocks that learn from few rows count less.

What is presumed: the inputs are wrong in either direction as often, by the same size on every row (less where the rate
leaves less room), and the estimated field has the right sign and, relative to one another, the right sizes on every
row. A field with wrong sizes needs more: the p-value weighs the rows by the sizes that the field gives them.

That presumes a field that has its signs right. :func:`detectable_places` says what is found where nobody knows
beforehand which inputs are affected. There the place is one that the inputs suggest, and the test has to find it:

    halves    the inputs are split at the median of a random direction, and the rate is up in one half and down in the
              other, by the same size on all rows
    cluster   the rate is up, or down, in one of ten k-means clusters of the inputs, that of a random row, and nowhere
              else; the partitions are others than those that the test sums by

The test is the kernel score alone, at the level that it needs if the test of the field says as much as chance: no model
is fitted. Its sums with something hidden are those of the planted residuals plus those of a shuffle, which stands for
the noise of the outcomes: new outcomes would have nearly this law, and the deflation of rows that hang together is in
both. ``benchmarks/small.py`` plants such errors, fits the estimator, and prints how often they are claimed.

Cost: about 2 x 12 x 100 x rows x 336 x 2 operations, in single precision, and four k-means fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from miscal.base.document import Number, Part, Share
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, worst_slice
from miscal.calibration.metrics.scores import brier
from miscal.estimators.auto.clusters import find_centres, nearest
from miscal.evidence import settings
from miscal.evidence.blocks import spend, surprise_among
from miscal.evidence.conditional import strata
from miscal.evidence.kernel_score import SmoothedResiduals

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Block = tuple[Floats, Floats, Floats, float]


def detectable_size(rows: LabelledRows, level: float = settings.SIGNIFICANCE) -> float | None:
    """Mean absolute hidden miscalibration that is claimed with 80 % power.

    Takes rows: whose outcomes are not looked at; level: what the p-value of the field must be below. Returns float or
    None: None where not even the largest size that the rates leave room for would be detected.

    Examples
    --------
    >>> half = np.full(800, 0.5)
    >>> rows = LabelledRows(half, np.linspace(0.1, 0.9, 800), half)
    >>> round(detectable_size(rows), 3), detectable_size(rows.take(slice(3)))
    (0.047, None)
    """
    blocks = [_before_outcomes(part) for part in rows.in_turn()]
    low, high = 0.0, 0.5
    if _surplus(blocks, high, level) < 0:
        return None
    for _ in range(settings.HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if _surplus(blocks, middle, level) >= 0 else (middle, high)
    return float(np.mean(np.concatenate([mass * _hidden(expected, high) for expected, mass, *_ in blocks])))


def _before_outcomes(rows: LabelledRows) -> Block:
    """Return E[y | f], how much rows count, which part of their variance strata leave, and the design effect."""
    stratum, effect = strata(rows.confidence, settings.STRATUM_ROWS, rows.group), 1.0
    if rows.design is not None:
        # what a field would meet that is alike in all rows of a group
        effect = rows.design.design_effect(rows.mass, np.zeros(len(rows)), rows.variance)
    # a row of m keeps (m - 1) / m of its variance when the stratum is centred
    return rows.expected, rows.mass, 1 - 1 / np.bincount(stratum)[stratum], effect


def _hidden(expected: Floats, size: float) -> Floats:
    """Size of what is hidden: the same on every row, or what the rate leaves room for in both directions."""
    return np.minimum(size, np.minimum(expected, 1 - expected))


def _surplus(blocks: Sequence[Block], size: float, level: float) -> float:
    """By how many standard deviations the expected sum is above what 80 % power takes."""
    weight = spend([len(expected) for expected, *_ in blocks], [True] * len(blocks)).weight
    mean, variance = 0.0, 0.0
    for (expected, mass, left, effect), w in zip(blocks, weight, strict=True):
        hidden, stated = _hidden(expected, size), expected * (1 - expected)
        kept = (mass * hidden) ** 2 * left
        null = effect * float(kept @ stated)
        if null > 0:
            mean += w * float(left * mass * hidden @ hidden) / np.sqrt(null)
            # what is hidden is no noise
            variance += w**2 * effect * float(kept @ (stated - hidden**2)) / null
    return mean + float(ndtri(level)) - settings.Z_POWER * float(np.sqrt(max(variance, 0.0)))


@dataclass(frozen=True)
class Threshold:
    """The regimes at one epsilon, on test rows.

    Attributes
    ----------
    epsilon : float
    share_over, share_under : float
        Shares of all rows, in [0, 1].
    gap : float or None
        smECE of the worst slice less that of all rows; None where both slices are too small.
    worst : str or None
        "over" or "under", the slice with the larger score.
    share_worst : float or None
        Share of all rows in that slice.
    brier_gap : float or None
        Brier score of that slice less that of all rows.
    """

    epsilon: float
    share_over: float
    share_under: float
    gap: float | None
    worst: str | None
    share_worst: float | None
    brier_gap: float | None


def threshold_sensitivity(
    correct: Floats,
    confidence: Floats,
    cut: Callable[[float], ArrayLike],
    *,
    epsilons: Sequence[float] = settings.EPSILONS,
    min_rows: int = MIN_SLICE_ROWS,
    by: Literal["smece", "brier"] = "smece",
    weights: Floats | None = None,
) -> tuple[Threshold, ...]:
    """Cut the same field at several epsilons.

    Takes correct (n,); confidence (n,); cut: takes an epsilon and returns the regime of each row, (n,): "over",
    "under", anything else or None; min_rows: rows that a slice needs; by: the score that says which slice is worst;
    weights (n,): how much each row counts. Returns tuple of Threshold: One for each epsilon, in order.

    Examples
    --------
    >>> y, f, delta = np.tile([1.0, 0.0], 50), np.full(100, 0.5), np.tile([0.3, -0.08], 50)
    >>> def cut(epsilon):
    ...     return np.select([delta < -epsilon, delta > epsilon], ["over", "under"], "good")
    >>> [(t.share_over, t.share_under) for t in threshold_sensitivity(y, f, cut, epsilons=(0.05, 0.1))]
    [(0.5, 0.5), (0.0, 0.5)]
    """
    weight = np.ones(len(correct)) if weights is None else weights
    whole, found = brier(correct, confidence, sample_weight=weight), []
    for epsilon in epsilons:
        regime = np.asarray(cut(epsilon), dtype=object)
        parts = {name: regime == name for name in ("over", "under")}
        shares = {f"share_{name}": float(np.average(rows, weights=weight)) for name, rows in parts.items()}
        slices = worst_slice(correct, confidence, regime, min_rows=min_rows, sample_weight=weight)
        briers = {
            name: brier(correct[parts[name]], confidence[parts[name]], sample_weight=weight[parts[name]])
            for name in slices.slices
        }
        known = {"worst": None, "gap": None, "share_worst": None, "brier_gap": None}
        if scores := briers if by == "brier" else slices.slices:
            worst = max(scores, key=scores.__getitem__)
            gap, share = slices.slices[worst] - slices.smece, shares[f"share_{worst}"]
            known = {"worst": worst, "gap": gap, "share_worst": share, "brier_gap": briers[worst] - whole}
        found.append(Threshold(float(epsilon), **shares, **known))
    return tuple(found)


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
    rows: SmoothedResiduals, level: float, random_state: int | np.random.Generator = 0
) -> tuple[DetectablePlace, ...]:
    """Sizes of hidden miscalibration that are claimed with 80 % power on average over unknown places.

    Takes level: what its p-value must be below. Returns tuple of DetectablePlace: For halves, and for a cluster.

    Examples
    --------
    >>> from miscal.evidence.kernel_score import smoothed_residuals
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(1000, 3)), rng.uniform(0.3, 0.7, 1000)
    >>> rows = smoothed_residuals(X, LabelledRows((rng.random(1000) < f).astype(float), f, f))
    >>> for found in detectable_places(rows, 0.05):
    ...     print(found.place, round(found.size, 2), round(found.average, 3))
    halves 0.06 0.056
    cluster 0.27 0.046
    """
    rng = np.random.default_rng(random_state)
    null = np.sort(shuffled := rows.statistics[1:], axis=0)
    usual = np.sort(surprise_among(null, shuffled))
    # sums of a few shuffles are added to those of every planted place; what single columns say in these shuffles
    # stands for what they say of a planted place, which is more
    some = 1 + rng.choice(len(null), settings.PLANTED_NOISES, replace=False)

    def power(off: Singles) -> float:
        """Share of p-values below the level, where rows are off by (places, n)."""
        sums = (off @ rows.factors)[:, None] + rows.sums[some]
        smoothed = rows.statistics_of(sums.reshape(-1, sums.shape[-1]))
        surprise = surprise_among(null, np.column_stack([smoothed, np.tile(rows.largest[some], (len(off), 1))]))
        larger = len(usual) - np.searchsorted(usual, surprise, side="left")
        return float(np.mean((1 + larger) / (1 + len(usual)) < level))

    return (
        _detectable("halves", halves(rows, rng), rows, power),
        _detectable("cluster", clusters(rows, rng), rows, power),
    )


def _detectable(
    place: Literal["halves", "cluster"], signs: Singles, rows: SmoothedResiduals, power: Callable[[Singles], float]
) -> DetectablePlace:
    wanted = ndtr(settings.Z_POWER)
    mass = np.broadcast_to(rows.mass, signs.shape)
    # rounding may carry the mean of ones past 1
    share = min(1.0, float(np.average(signs != 0, weights=mass)))
    low, high = 0.0, 1.0
    if power(planted(rows, signs, high)) < wanted:
        return DetectablePlace(place=place, share=share, size=None, average=None)
    for _ in range(settings.PLANTED_HALVINGS):
        middle = (low + high) / 2
        enough = power(planted(rows, signs, middle)) >= wanted
        low, high = (low, middle) if enough else (middle, high)
    off = planted(rows, signs, high)
    size = float(np.average(np.abs(off), weights=(signs != 0) * mass))
    average = float(np.average(np.abs(_hidden_part(rows, off)), weights=mass))
    return DetectablePlace(place=place, share=share, size=size, average=average)


def halves(rows: SmoothedResiduals, rng: np.random.Generator) -> Singles:
    """Sign of each row on either side of the median of random directions."""
    direction = rng.standard_normal((settings.PLANTED_PLACES, rows.places.shape[1])).astype(np.float32)
    along = direction @ rows.places.T
    return np.where(along > np.median(along, axis=1, keepdims=True), 1, -1).astype(np.float32)


def clusters(rows: SmoothedResiduals, rng: np.random.Generator) -> Singles:
    """One sign on the cluster of a random row, 0 elsewhere, by several partitions."""
    n, seeds = len(rows.places), rng.integers(2**31, size=settings.PLANTED_PARTITIONS).tolist()
    parts = [nearest(rows.places, find_centres(rows.places, (settings.PLANTED_CLUSTERS,), seed)[0]) for seed in seeds]
    cluster = np.repeat(parts, settings.PLANTED_PLACES // len(parts), axis=0)
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
