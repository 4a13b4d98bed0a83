"""The limit of the hidden miscalibration, from the covariance of outcome and field among rows of like confidence.

The outcome is centred by mu(f), which other rows gave, and s in [-1, 1] by its mean among rows of near-equal
confidence; errors of the two enter only as their product. Two s are tried, and neither sees an outcome: the sign of the
field on the rows where it is worth their noise (:func:`counted`), which says most where the field is right, and the
field by its size (:func:`by_size`), which says most where it is noisy. The limit inverts a simulated test of each, and
takes their p-values together at every size (:func:`common_limit`). Where the field is strong, and of over 5,000 rows,
only the first is tried (:func:`_weighings`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence import conditional, settings
from miscal.evidence.blocks import MID, either, spend
from miscal.evidence.limits.agreement import NOTHING_CLAIMED, Bound, largest_rejected, tail_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_LEAST_WINDOW, _WINDOWS, _MOST_REGAINED = 64, 16, 2.0
"""Rows over which weights are averaged by confidence, at least, and as a part of all rows; and the factor of a stratum
at most. Not tuned."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """Rows of one block, ready to be compared with rows of like confidence.

    Attributes
    ----------
    rows : LabelledRows
    field : (n,) float64
        The hidden field less its own regression on the confidence (where rows count unequally, less its mean in the
        stratum too, and times what the row counts).
    stratum : (n,) int64
        Of near-equal confidence.
    weight : (n,) float64
        Sign of the field on the rows that count, less its mean in the stratum, times what the row counts; all 0 where
        nothing is claimed.
    sized : (n,) float64
        The same, of the field by its size.
    gain, variance : float, default 0
        Of the rows that count: by how much the field moves their rates, and the variance of their outcomes, both added
        up.
    """

    rows: LabelledRows
    field: Floats
    stratum: Ints
    weight: Floats
    sized: Floats
    gain: float = 0.0
    variance: float = 0.0

    @property
    def missing_variance(self) -> float:
        """Variance of sum weight * outcome beyond `expected`: rows hang together, or were not split at random."""
        stated, residual, design = self.rows.variance, self.rows.residual, self.rows.design
        expected, shown = float(self.weight**2 @ stated), float(self.weight**2 @ residual**2)
        effect = 1.0 if design is None else design.design_effect(self.weight, residual, stated)
        return max(0.0, shown - expected, (effect - 1) * expected)

    @property
    def claims(self) -> bool:
        """Whether the field claims anything that the confidence does not say."""
        return bool(np.abs(self.weight).max() > 1e-12)


def covariance_bound(rows: LabelledRows, rng: np.random.Generator) -> Bound:
    """Bound E|h| by the covariance of outcome and field given the confidence.

    ``p_value`` is of H0: y independent of x given f, by shuffling the field within strata. Above 1 - confidence level
    ``low`` is 0: a limit is given only where that test rejects too. Several blocks are weighed, shuffled and drawn
    each for itself, and combined as :mod:`miscal.evidence.blocks` says.
    """
    blocks = [weigh(part) for part in rows.in_turn()]
    if not any(block.claims for block in blocks):
        return NOTHING_CLAIMED
    p_value = _p_value(blocks, rng)
    rejected = p_value <= 1 - settings.CONFIDENCE_LEVEL
    low = common_limit(blocks, rng=rng) if rejected else 0.0
    return Bound(float(np.clip(_estimate(blocks), -1, 1)), min(1.0, low), p_value)


def _weighings(blocks: Sequence[Weighed]) -> Sequence[Sequence[Weighed]]:
    """Return the blocks with the weights that are tried; no outcome is looked at.

    The sign alone, where even half of the field would give it a limit above 0 with 80 % power: what is learned from few
    rows overstates itself, and a second test has its price. Of many rows too, as other weights would take long to draw.
    """
    gain, variance = (sum(getattr(block, name) for block in blocks) for name in ("gain", "variance"))
    needed = (ndtri(settings.CONFIDENCE_LEVEL) + settings.Z_POWER) * np.sqrt(variance)
    if settings.BELIEVED_SHARE * gain > needed or not _drawn(blocks):
        return [blocks]
    return [blocks, [replace(block, weight=block.sized) for block in blocks]]


def _drawn(blocks: Sequence[Weighed]) -> bool:
    return sum(len(block.rows) for block in blocks) <= settings.DRAWN_ROWS


def _estimate(blocks: Sequence[Weighed]) -> float:
    """Mean of weight * residual over all rows, with the weights that make it larger."""
    return max(
        float(np.mean(np.concatenate([block.weight * block.rows.residual for block in weighing])))
        for weighing in _weighings(blocks)
    )


def weigh(rows: LabelledRows) -> Weighed:
    """Choose the rows of a block that count, and give them their weights; no outcome is looked at."""
    group, mass = rows.group, rows.mass
    stratum = conditional.strata(rows.confidence, settings.STRATUM_ROWS, group)
    kept = counted(rows.hidden, rows.expected, mass=mass)
    gain, variance = _gain_and_variance(rows.hidden, rows.expected, mass)
    sign = np.sign(rows.hidden) * kept
    regained = mass * _regained(mass, stratum, rows.confidence)
    weight, sized = (regained * conditional.centred(s, stratum, mass) for s in (sign, by_size(rows.hidden)))
    field = conditional.beyond_confidence(rows.hidden, rows.confidence, settings.SMOOTHED_ROWS, group)
    if rows.weight is not None:
        field = mass * conditional.centred(field, stratum, mass)
    told = float(gain[kept].sum()), float(variance[kept].sum())
    return Weighed(rows, field, stratum, weight, sized, *told)


def _regained(mass: Floats, stratum: Ints, confidence: Floats) -> Floats:
    """Make up for what centring within strata takes from a covariance: n / (n - 1), (n,), where n rows count alike.

    Where they do not, the covariance of a stratum of n rows is the sum over its pairs of the product of their weights
    and differences, over n - 1 times the mean weight at its confidence. That mean is of many strata: with the stratum's
    own in its place, a weight that goes with the sign of the field would make the covariance too large.
    """
    rows, total = np.bincount(stratum), np.bincount(stratum, mass)
    usual = mass
    if np.ptp(mass) > 0:
        wide = max(_LEAST_WINDOW, len(mass) // _WINDOWS)
        usual = mass - conditional.beyond_confidence(mass, confidence, wide)
    mean = np.maximum(np.bincount(stratum, usual) / rows, np.finfo(float).tiny)
    # rows of one stratum that by chance have far more weight than their confidence lets expect say no more for it
    return np.minimum(total / (np.maximum(rows - 1, 1) * mean), _MOST_REGAINED)[stratum]


def _p_value(blocks: Sequence[Weighed], rng: np.random.Generator) -> float:
    # outcomes less their rates, given how many rows of their stratum are right
    surprises = [conditional.given_count(block.rows.correct, block.rows.expected, block.stratum) for block in blocks]
    if len(blocks) == 1:
        return _shuffled(blocks[0], surprises[0], rng)
    # shuffles keep the outcomes of each stratum, so whether a block has anything to shuffle may decide its share
    claims = [
        block.claims and conditional.comparable(surprise, block.field, block.stratum)
        for block, surprise in zip(blocks, surprises, strict=True)
    ]
    if not any(claims):
        return 1.0
    asked = zip(blocks, surprises, claims, strict=True)
    p_values = [_shuffled(block, surprise, rng, MID) if claimed else 1.0 for block, surprise, claimed in asked]
    return spend([len(block.rows) for block in blocks], claims).p_value(p_values)


def _shuffled(block: Weighed, surprise: Floats, rng: np.random.Generator, tie: float = 1.0) -> float:
    """P-value of one block, by shuffling its field; where rows hang together, by their design effect."""
    rows, effect = block.rows, 1.0
    if rows.design is not None:
        a = conditional.centred(block.field, block.stratum)
        independent = float(
            conditional.shuffle_variances(conditional.centred(surprise, block.stratum), a, block.stratum).sum()
        )
        effect = rows.design.design_effect(a, rows.residual, rows.variance, independent=independent)
    return conditional.permutation_p_value(surprise, block.field, block.stratum, rng=rng, tie=tie, effect=effect)


def counted(field: Floats, expected: Floats, *, mass: Floats | None = None) -> NDArray[np.bool_]:
    """Choose the rows on which a lower limit is best sought, by field and rate alone: no test outcome is looked at.

    Rows are added in falling order of gain / variance. The gain is what the field adds to the rate (within [0, 1]);
    the variance is that of the outcome with or without the field, whichever is larger. If the field is right, the limit
    from the first m rows is sum gain - z sqrt(sum variance) on average, z the normal quantile of the confidence level,
    and with probability 80 % it is above the same expression with z + 0.84. The m that makes the latter largest is
    taken, or, where none makes it positive, the m with the largest ratio of sum gain to that root.

    Takes field (n,): estimated hidden field; expected (n,): E[y | f]; mass (n,): how much each row counts: gains are
    multiplied by it, variances by its square. Returns (n,) bool.

    Examples
    --------
    >>> counted(np.r_[np.full(50, 0.3), np.full(950, 0.001)], np.full(1000, 0.4)).sum()
    np.int64(50)
    >>> counted(np.full(1000, 0.1), np.full(1000, 0.4)).all()
    np.True_
    """
    gain, variance = _gain_and_variance(field, expected, 1.0 if mass is None else mass)
    ratio = gain / np.maximum(variance, np.finfo(float).tiny)
    order = np.argsort(-ratio, kind="stable")
    gains, noise = np.cumsum(gain[order]), np.sqrt(np.cumsum(variance[order]))
    reached = gains - (ndtri(settings.CONFIDENCE_LEVEL) + settings.Z_POWER) * noise
    best = reached if reached.max() > 0 else gains / np.maximum(noise, np.finfo(float).tiny)
    # by the ratio, not by the place: rows that tie with the last one taken are taken too, in whatever order they come
    return ratio >= ratio[order[np.argmax(best)]]


def _gain_and_variance(field: Floats, expected: Floats, mass: Floats | float) -> tuple[Floats, Floats]:
    """By how much a field moves the rates, and the variance of the outcomes with or without it, the larger."""
    rate = np.clip(expected + field, 0.0, 1.0)
    return mass * np.abs(rate - expected), mass**2 * np.maximum(expected * (1 - expected), rate * (1 - rate))


def by_size(field: Floats) -> Floats:
    """Scale a field to [-1, 1], its largest values alike: field / q, clipped, q the 95 % quantile of its size.

    A field that was learned from few rows has noise on every row. Its sign counts a row on which it is next to nothing
    as much as one on which it is sure, or, where rows are left out, the noise decides which.

    Takes field (n,). Returns (n,) float64 in [-1, 1]: The sign, where so few rows have a field at all that the
    quantile is 0.

    Examples
    --------
    >>> by_size(np.array([0.0, 0.05, -0.1, 0.1])).round(2).tolist()
    [0.0, 0.5, -1.0, 1.0]
    """
    largest = float(np.quantile(np.abs(field), settings.SIZE_QUANTILE))
    return np.clip(field, -largest, largest) / largest if largest > 0 else np.sign(field)


def common_limit(blocks: Sequence[Weighed], *, rng: np.random.Generator) -> float:
    """Lower limit of E|h|: the largest size that is rejected.

    Whatever the weights of a block, its mean of weight * (p - expected) is at most E|h|. So a size is put to the test
    by shifting the probabilities of every block, in the direction of its weights, until that mean is as large (or as
    large as it can be). The p-value is that of a sum as large as the observed one, by simulation; where the outcomes
    vary more than `expected` says, or hang together, with their variance. Several blocks are combined as
    :mod:`miscal.evidence.blocks` says. (A common shift of the probabilities would not do: where fields count different
    shares of the rows, the same shift means different sizes, and their mean may be above E|h|.) The p-values of the two
    weights are combined by :func:`~miscal.evidence.blocks.either`, as each is blind to sizes beyond its reach.

    Above 5,000 rows, rows whose sum is near enough to normal (:func:`~miscal.evidence.sums.near_normal`) are taken as
    normal, with the variance under the shift or that under `expected`, the larger (where p is spread around it, that
    under `expected` is). The tail is then read off the saddlepoint; where few rows decide the sum, the others are
    drawn.

    The same random numbers serve every size that is tried (common random numbers). With a uniform number for each row,
    every outcome is monotone in the shift, so the estimated tail is too and the search finds its one crossing. With
    fresh numbers at each step, noise would decide every step near the crossing. Above 5,000 rows draws start from the
    same seed, which keeps most of that.

    Takes blocks: in the order in which they were tested. Returns float >= 0: 0 if it is not rejected that there is
    nothing.

    Examples
    --------
    >>> y, sign, half = np.r_[np.ones(60), np.zeros(40)], np.ones(100), np.full(100, 0.5)
    >>> rows = Weighed(LabelledRows(y, half, half), sign, np.zeros(100, dtype=int), weight=sign, sized=sign)
    >>> low = common_limit([rows], rng=np.random.default_rng(0))
    >>> bool(0.0 < low < 0.04)
    True
    """
    alpha, drawn = 1 - settings.CONFIDENCE_LEVEL, _drawn(blocks)
    tests = [_size_test(weighing, rng, drawn=drawn) for weighing in _weighings(blocks)]

    def together(size: float) -> float:
        return either([test(size) for test in tests])

    if together(0.0) > alpha:
        return 0.0
    halvings = settings.DRAWN_HALVINGS if drawn else settings.HALVINGS
    # no size above the estimate is rejected, and the steps are small where that is
    return largest_rejected(together, alpha, halvings, high=max(0.0, _estimate(blocks)))


def _size_test(blocks: Sequence[Weighed], rng: np.random.Generator, *, drawn: bool) -> Callable[[float], float]:
    """P-value of a size, by all blocks together."""
    budget = spend([len(block.rows) for block in blocks], [block.claims for block in blocks])
    options = {"drawn": drawn, "tie": 1.0 if len(blocks) == 1 else MID}
    tests = [_shifted(block, rng, **options) for block in blocks]
    return lambda size: budget.p_value([test(size) for test in tests])


def _shifted(block: Weighed, rng: np.random.Generator, **options: Any) -> Callable[[float], float]:
    """P-value of one block, given a size of the mean of weight * (p - expected)."""
    weight, centre = block.weight, block.rows.expected
    tail = tail_of(block.rows.correct, weight, centre, rng, missing=block.missing_variance, **options)
    room = np.where(weight > 0, 1 - centre, centre)
    # the size rises in straight lines between the shifts at which one more row meets its bound
    order = np.argsort(room, kind="stable")
    slope = np.cumsum(np.abs(weight[order])[::-1])[::-1] / len(room)
    shifts = np.r_[0.0, room[order]]
    sizes = np.r_[0.0, np.cumsum(slope * np.diff(shifts))]
    # sizes that cannot be reached are tested at the largest shift, where np.interp ends
    return lambda size: tail(np.clip(centre + float(np.interp(size, sizes, shifts)) * np.sign(weight), 0.0, 1.0))
