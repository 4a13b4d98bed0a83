"""The limit of the total miscalibration where rows count unequally, from the weighted number that agree with the field.

As in :mod:`~miscal.evidence.limits.agreement`, the question is how far the stated probabilities must be wrong, on
average, to explain that outcomes agree with the sign of the field so often. The number of agreements is now a weighted
sum, whose law is drawn, and among all probabilities of a given weighted mean error the test takes those under which the
variance of the sum is largest: with the mean of the sum given by the error, that is what makes a large sum most likely
(to the second order; where all rows count alike it is the exact answer of the unweighted limit). Raising pi_i adds
w_i (1 - 2 pi_i) to the variance for each unit of error, so those with the largest w_i (1 - 2 pi_i) are raised first,
until it is kappa for all that were raised: pi_i = (1 - kappa / w_i) / 2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.blocks import MID, spend
from miscal.evidence.limits.protocol import NOTHING_CLAIMED, Bound, largest_rejected
from miscal.evidence.limits.tail import tail_of
from miscal.evidence.settings import EvidenceSettings

Floats = NDArray[np.float64]


class WorstCase:
    """Probabilities of a given weighted mean error under which a large sum of outcomes is most likely.

    Parameters
    ----------
    stated : (m,) float64 in [0, 1]
        Probabilities that an outcome is 1, which the error is counted from.
    weight : (m,) float64 > 0
        How much each counts.
    rows : int
        Rows of the mean: the `m` given, and others that have no error.

    Examples
    --------
    >>> alike = WorstCase(np.array([0.2, 0.6]), np.ones(2), 2)
    >>> alike.probabilities(0.1).round(6).tolist(), alike.probabilities(0.4).round(6).tolist()
    ([0.4, 0.6], [0.8, 0.8])
    """

    def __init__(self, stated: Floats, weight: Floats, rows: int) -> None:
        self._stated, self._weight = stated, weight
        # In t = -kappa a probability begins to rise at -w (1 - 2 p) and is 1 at w. Until then w pi rises by t / 2
        # whatever its weight, so the error is piecewise linear in t.
        at = np.r_[-weight * (1 - 2 * stated), weight]
        order = np.argsort(at, kind="stable")
        rising = np.cumsum(np.r_[np.ones(len(stated)), -np.ones(len(stated))][order])
        self._t = at[order]
        self._error = np.r_[0.0, np.cumsum(rising[:-1] * np.diff(self._t) / 2)] / rows

    def probabilities(self, error: float) -> Floats:
        """Return the probabilities, (m,); all are 1 where no larger error is possible."""
        t = float(np.interp(error, self._error, self._t))
        return np.clip((1 + t / self._weight) / 2, self._stated, 1.0)


class _Block:
    """Weighted agreements of one block, and how rare they are under errors of a given size."""

    def __init__(
        self, rows: LabelledRows, rng: np.random.Generator, settings: EvidenceSettings, *, drawn: bool, tie: float
    ) -> None:
        sign, mass = np.sign(rows.delta), rows.mass
        counts = (sign != 0) & (mass > 0)
        up, y, f = sign[counts] > 0, rows.correct[counts], rows.confidence[counts]
        stated, agreed = np.where(up, f, 1 - f), np.where(up, y, 1 - y)
        self.rows, self.claims = len(sign), bool(counts.any())
        self.excess = float(mass[counts] @ (agreed - stated))
        if not self.claims:
            return
        self._worst = WorstCase(stated, mass[counts], self.rows)
        self._tail = tail_of(
            agreed,
            mass[counts],
            stated,
            rng,
            settings,
            drawn=drawn,
            tie=tie,
            missing=_missing_variance(rows, sign * mass),
        )

    def p_value(self, error: float) -> float:
        """P-value of the hypothesis that the weighted mean error is at most `error`; 1 where nothing is claimed."""
        return self._tail(self._worst.probabilities(error)) if self.claims else 1.0


def _missing_variance(rows: LabelledRows, factor: Floats) -> float:
    """Variance of sum factor * outcome that comes from rows that hang together."""
    if rows.design is None:
        return 0.0
    effect = rows.design.design_effect(factor, rows.residual, rows.variance)
    return (effect - 1) * float(factor**2 @ rows.variance)


def weighted_agreement_bound(rows: LabelledRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
    """Bound the weighted mean of |delta| by the agreement of the outcomes with the sign of the field (see `Limit`).

    ``value`` is the weighted test mean of r s, s the sign of the field; ``p_value`` is of H0: y ~ Bernoulli(f).
    """
    drawn, parts = len(rows.correct) <= settings.drawn_rows, rows.in_turn()
    # the p-values of several blocks are combined as normal scores, of which one of 1 would silence all others
    tie = MID if len(parts) > 1 else 1.0
    blocks = [_Block(part, rng, settings, drawn=drawn, tie=tie) for part in parts]
    if not any(block.claims for block in blocks):
        return NOTHING_CLAIMED
    test = _together(blocks)
    value, p_value = sum(block.excess for block in blocks) / len(rows.correct), test(0.0)
    alpha = 1 - settings.confidence_level
    if p_value >= alpha:
        return Bound(value, 0.0, p_value)
    halvings = settings.drawn_halvings if drawn else settings.halvings
    return Bound(value, largest_rejected(lambda error: test(error) < alpha, halvings), p_value)


def _together(blocks: list[_Block]) -> Callable[[float], float]:
    """Test of a size by all blocks, combined as :mod:`miscal.evidence.blocks` says."""
    if len(blocks) == 1:
        return blocks[0].p_value
    budget = spend([block.rows for block in blocks], [block.claims for block in blocks])
    return lambda error: budget.p_value([block.p_value(error) for block in blocks])
