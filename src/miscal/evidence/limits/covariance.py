"""The limit of the hidden miscalibration, from the covariance of outcome and field among rows of like confidence.

The outcome is centred by mu(f), which other rows gave, and the sign of the field by its mean among rows of near-equal
confidence; errors of the two enter only as their product. s is counted only on the rows where the field is worth their
noise (:func:`counted`). The limit inverts a simulated test of the size of a shift (:func:`shift_limit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.blocks import MID, spend
from miscal.evidence.conditional import (
    beyond_confidence,
    centred,
    comparable,
    given_count,
    permutation_p_value,
    shuffle_variances,
    strata,
)
from miscal.evidence.limits.bisection import largest_rejected
from miscal.evidence.limits.protocol import NOTHING_CLAIMED, Bound
from miscal.evidence.limits.tail import Tail, tail_of
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

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
    correct, expected, field : (n,) float64
        Outcome, its rate given the confidence, and the hidden field less its own regression on the confidence (where
        rows count unequally, less its mean in the stratum too, and times what the row counts).
    stratum : (n,) int64
        Of near-equal confidence.
    weight : (n,) float64
        Sign of the field on the rows that count, less its mean in the stratum, times what the row counts; all 0 where
        nothing is claimed.
    design : SurveyDesign, or None
        Rows whose outcomes hang together.
    """

    correct: Floats
    expected: Floats
    field: Floats
    stratum: Ints
    weight: Floats
    design: SurveyDesign | None = None

    @property
    def residual(self) -> Floats:
        """Outcome less its rate."""
        return self.correct - self.expected

    @property
    def surprise(self) -> Floats:
        """Outcome less its rate, given how many rows of its stratum are right."""
        return given_count(self.correct, self.expected, self.stratum)

    @property
    def effect(self) -> float:
        """Design effect of the sum that is shuffled: 1 where the rows are independent."""
        if self.design is None:
            return 1.0
        a = centred(self.field, self.stratum)
        shuffled = float(shuffle_variances(centred(self.surprise, self.stratum), a, self.stratum).sum())
        variance = self.expected * (1 - self.expected)
        return self.design.design_effect(a, self.residual, variance, independent=shuffled)

    @property
    def missing_variance(self) -> float:
        """Variance of sum weight * outcome that `expected` does not account for."""
        return _missing_variance(self.correct, self.weight, self.expected, self.design)

    @property
    def claims(self) -> bool:
        """Whether the field claims anything that the confidence does not say."""
        return bool(np.abs(self.weight).max() > 1e-12)


def covariance_bound(rows: LabelledRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
    """Bound E|h| by the covariance of outcome and field given the confidence (see `Limit`).

    ``p_value`` is of H0: y independent of x given f, by shuffling the field within strata. Above 1 - confidence level
    ``low`` is 0: a limit is given only where that test rejects too. Several blocks are weighed, shuffled and drawn
    each for itself, and combined as :mod:`miscal.evidence.blocks` says.
    """
    blocks = [weigh(part, settings) for part in rows.in_turn()]
    if not any(block.claims for block in blocks):
        return NOTHING_CLAIMED
    p_value = _p_value(blocks, settings, rng)
    rejected = p_value <= 1 - settings.confidence_level
    low = _limit(blocks, settings, rng) if rejected else 0.0
    value = np.mean(np.concatenate([block.weight * block.residual for block in blocks]))
    return Bound(float(np.clip(value, -1, 1)), min(1.0, low), p_value)


def weigh(rows: LabelledRows, settings: EvidenceSettings = EVIDENCE_DEFAULTS) -> Weighed:
    """Choose the rows of a block that count, and give them their weights; no outcome is looked at.

    Parameters
    ----------
    rows : LabelledRows
        Of one block.
    settings : EvidenceSettings, optional
        Of which the rows of a stratum, confidence level and power are used.

    Returns
    -------
    Weighed
    """
    group, mass = rows.group, rows.mass
    stratum = strata(rows.confidence, settings.stratum_rows, group)
    sign = np.sign(rows.hidden) * counted(rows.hidden, rows.expected, settings, mass=mass)
    weight = mass * centred(sign, stratum, mass) * _regained(mass, stratum, rows.confidence)
    field = beyond_confidence(rows.hidden, rows.confidence, settings.smoothed_rows, group)
    if rows.weight is not None:
        field = mass * centred(field, stratum, mass)
    return Weighed(rows.correct, rows.expected, field, stratum, weight, rows.design)


def _missing_variance(correct: Floats, weight: Floats, centre: Floats, design: SurveyDesign | None) -> float:
    """Variance by which outcomes vary more than `centre` says: rows hang together, or were not split at random."""
    stated = centre * (1 - centre)
    expected, shown = float(weight**2 @ stated), float(weight**2 @ (correct - centre) ** 2)
    effect = 1.0 if design is None else design.design_effect(weight, correct - centre, stated)
    return max(0.0, shown - expected, (effect - 1) * expected)


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
        usual = mass - beyond_confidence(mass, confidence, wide)
    mean = np.maximum(np.bincount(stratum, usual) / rows, np.finfo(float).tiny)
    # rows of one stratum that by chance have far more weight than their confidence lets expect say no more for it
    return np.minimum(total / (np.maximum(rows - 1, 1) * mean), _MOST_REGAINED)[stratum]


def _p_value(blocks: Sequence[Weighed], settings: EvidenceSettings, rng: np.random.Generator) -> float:
    if len(blocks) == 1:
        (one,) = blocks
        return permutation_p_value(one.surprise, one.field, one.stratum, rng=rng, settings=settings, effect=one.effect)
    # shuffles keep the outcomes of each stratum, so whether a block has anything to shuffle may decide its share
    claims = [block.claims and comparable(block.surprise, block.field, block.stratum) for block in blocks]
    if not any(claims):
        return 1.0
    p_values = [
        _mid_p_value(one, settings, rng) if claimed else 1.0 for one, claimed in zip(blocks, claims, strict=True)
    ]
    return spend([len(block.correct) for block in blocks], claims).p_value(p_values)


def _mid_p_value(block: Weighed, settings: EvidenceSettings, rng: np.random.Generator) -> float:
    return permutation_p_value(
        block.surprise, block.field, block.stratum, rng=rng, settings=settings, tie=MID, effect=block.effect
    )


def _limit(blocks: Sequence[Weighed], settings: EvidenceSettings, rng: np.random.Generator) -> float:
    if len(blocks) == 1:
        (one,) = blocks
        return shift_limit(one.correct, one.weight, one.expected, rng=rng, settings=settings, design=one.design)
    return common_limit(blocks, rng=rng, settings=settings)


def counted(
    field: Floats, expected: Floats, settings: EvidenceSettings = EVIDENCE_DEFAULTS, *, mass: Floats | None = None
) -> NDArray[np.bool_]:
    """Choose the rows on which a lower limit is best sought, by field and rate alone: no test outcome is looked at.

    Rows are added in falling order of gain / variance. The gain is what the field adds to the rate (within [0, 1]);
    the variance is that of the outcome with or without the field, whichever is larger. If the field is right, the limit
    from the first m rows is sum gain - z sqrt(sum variance) on average, z the normal quantile of the confidence level,
    and with probability 80 % it is above the same expression with z + 0.84. The m that makes the latter largest is
    taken, or, where none makes it positive, the m with the largest ratio of sum gain to that root.

    Parameters
    ----------
    field : (n,) float64 in [-1, 1]
        Estimated hidden field.
    expected : (n,) float64 in [0, 1]
        E[y | f].
    settings : EvidenceSettings, optional
        Of which the confidence level and the power are used.
    mass : (n,) float64 >= 0, optional
        How much each row counts: gains are multiplied by it, variances by its square.

    Returns
    -------
    (n,) bool

    Examples
    --------
    >>> counted(np.r_[np.full(50, 0.3), np.full(950, 0.001)], np.full(1000, 0.4)).sum()
    np.int64(50)
    >>> counted(np.full(1000, 0.1), np.full(1000, 0.4)).all()
    np.True_
    """
    rate = np.clip(expected + field, 0.0, 1.0)
    gain = np.abs(rate - expected)
    variance = np.maximum(expected * (1 - expected), rate * (1 - rate))
    if mass is not None:
        gain, variance = mass * gain, mass**2 * variance
    ratio = gain / np.maximum(variance, np.finfo(float).tiny)
    order = np.argsort(-ratio, kind="stable")
    gains, noise = np.cumsum(gain[order]), np.sqrt(np.cumsum(variance[order]))
    reached = gains - (ndtri(settings.confidence_level) + settings.z_power) * noise
    best = reached if reached.max() > 0 else gains / np.maximum(noise, np.finfo(float).tiny)
    # by the ratio, not by the place: rows that tie with the last one taken are taken too, in whatever order they come
    return ratio >= ratio[order[np.argmax(best)]]


def shift_limit(
    correct: Floats,
    weight: Floats,
    centre: Floats,
    *,
    rng: np.random.Generator,
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
    design: SurveyDesign | None = None,
) -> float:
    """Lower limit of the mean of weight * (p - centre), where y ~ Bernoulli(p).

    The smallest shift of the probabilities from `centre` in the direction of the weights under which a sum as large as
    the observed one is no longer rare, by simulation; where the outcomes vary more than `centre` says, or hang
    together, with their variance. Above 5,000 rows only those are drawn whose sum is not near
    enough to normal (:func:`~miscal.evidence.sums.near_normal`); the sum of the others is taken as normal, its variance
    that under the shift or that under `centre`, the larger (where p is spread around `centre`, that under `centre` is).

    The same random numbers serve every shift that the bisection tries (common random numbers). With a uniform number
    for each row, every outcome is monotone in the shift, so the estimated tail is too and the bisection finds its one
    crossing. With fresh numbers at each step, noise would decide every step near the crossing. Above 5,000 rows the
    draws start from the same seed, which keeps most of that.

    Parameters
    ----------
    correct : (n,) float64, 0 or 1
    weight : (n,) float64
        Fixed before the outcomes.
    centre : (n,) float64 in [0, 1]
        Probabilities that the shifts are counted from.
    rng : numpy.random.Generator
    settings : EvidenceSettings, optional
        Of which the confidence level and the draws are used.
    design : SurveyDesign, optional
        Rows whose outcomes hang together.

    Returns
    -------
    float >= 0
        0 if the sum is not significantly large.

    Examples
    --------
    >>> y, sign, half = np.r_[np.ones(60), np.zeros(40)], np.ones(100), np.full(100, 0.5)
    >>> low = shift_limit(y, sign, half, rng=np.random.default_rng(0))
    >>> bool(0.0 < low < 0.04)
    True
    """
    drawn, alpha = len(weight) <= settings.drawn_rows, 1 - settings.confidence_level
    missing = _missing_variance(correct, weight, centre, design)
    tail = tail_of(correct, weight, centre, rng, settings, drawn=drawn, missing=missing)

    def shifted(size: float) -> Floats:
        return np.clip(centre + size * np.sign(weight), 0.0, 1.0)

    if tail(shifted(0.0)) > alpha:
        return 0.0
    halvings = settings.drawn_halvings if drawn else settings.halvings
    low = largest_rejected(lambda size: tail(shifted(size)) <= alpha, halvings)
    return float(np.mean(weight * (shifted(low) - centre)))


def common_limit(
    blocks: Sequence[Weighed], *, rng: np.random.Generator, settings: EvidenceSettings = EVIDENCE_DEFAULTS
) -> float:
    """Lower limit of E|h| from several blocks: the largest size that the blocks together reject.

    Whatever the field of a block, its mean of weight * (p - centre) is at most E|h|. So a size is put to the test by
    shifting the probabilities of every block until that mean is as large (or as large as it can be), and the blocks'
    tails are combined as :mod:`miscal.evidence.blocks` says. (A common shift of the probabilities would not do: where
    fields count different shares of the rows, the same shift means different sizes, and their mean may be above E|h|.)

    Parameters
    ----------
    blocks : sequence of Weighed
        In the order in which they were tested.
    rng : numpy.random.Generator
    settings : EvidenceSettings, optional
        Of which the confidence level and the draws are used.

    Returns
    -------
    float >= 0
        0 if the blocks together do not reject that there is nothing.
    """
    rows, claims = [len(block.correct) for block in blocks], [block.claims for block in blocks]
    budget, alpha = spend(rows, claims), 1 - settings.confidence_level
    drawn = sum(rows) <= settings.drawn_rows
    tests = [
        _SizeTest(
            b.weight,
            b.expected,
            tail_of(b.correct, b.weight, b.expected, rng, settings, drawn=drawn, tie=MID, missing=b.missing_variance),
        )
        for b in blocks
    ]

    def together(size: float) -> float:
        return budget.p_value([test.p_value(size) for test in tests])

    if together(0.0) > alpha:
        return 0.0
    halvings = settings.drawn_halvings if drawn else settings.halvings
    return largest_rejected(lambda size: together(size) <= alpha, halvings)


class _SizeTest:
    """Test of one block whether the mean of weight * (p - centre) is so large: its p-value given a size."""

    def __init__(self, weight: Floats, centre: Floats, tail: Tail) -> None:
        self._weight, self._centre, self._tail = weight, centre, tail
        room = np.where(weight > 0, 1 - centre, centre)
        # the size rises in straight lines between the shifts at which one more row meets its bound
        order = np.argsort(room, kind="stable")
        slope = np.cumsum(np.abs(weight[order])[::-1])[::-1] / len(room)
        self._shift = np.r_[0.0, room[order]]
        self._size = np.r_[0.0, np.cumsum(slope * np.diff(self._shift))]

    def p_value(self, size: float) -> float:
        # sizes that cannot be reached are tested at the largest shift, where np.interp ends
        shift = float(np.interp(size, self._size, self._shift))
        return self._tail(np.clip(self._centre + shift * np.sign(self._weight), 0.0, 1.0))
