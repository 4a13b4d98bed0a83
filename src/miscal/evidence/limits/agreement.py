"""The limit of the total miscalibration, from how often outcomes agree with the sign of the field.

How far must the stated probabilities be wrong, on average, to explain that outcomes agree with s so often? The answer
is exact for every n, the worst case included, because the number of agreements is a sum of independent Bernoulli
variables whose probabilities are known under the hypothesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.blocks import MID, spend
from miscal.evidence.limits.protocol import NOTHING_CLAIMED, Bound, largest_rejected
from miscal.evidence.limits.weighted import weighted_agreement_bound
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often the outcomes of one block agree with the sign of its field.

    Attributes
    ----------
    stated : (m,) float64 in [0, 1]
        Stated probability that the outcome agrees, for the rows on which the field is not 0.
    agreed : int
        How many do.
    rows : int
        Rows of the block, those included on which the field is 0.
    effect : float >= 1
        Design effect of their number: 1 where the rows are independent.
    """

    stated: Floats
    agreed: int
    rows: int
    effect: float = 1.0

    @classmethod
    def of(cls, rows: LabelledRows) -> Agreement:
        """Count the agreements of a block."""
        sign = np.sign(rows.delta)
        claimed = sign != 0
        up, y, f = sign[claimed] > 0, rows.correct[claimed], rows.confidence[claimed]
        effect = 1.0
        if rows.design is not None:
            effect = rows.design.design_effect(sign, rows.residual, rows.variance)
        return cls(np.where(up, f, 1 - f), int(np.sum(np.where(up, y, 1 - y))), len(sign), effect)

    @property
    def claims(self) -> bool:
        """Whether the field claims anything."""
        return len(self.stated) > 0

    @property
    def excess(self) -> float:
        """Agreements beyond those that were stated."""
        return self.agreed - float(self.stated.sum())


def agreement_bound(rows: LabelledRows, settings: EvidenceSettings, rng: np.random.Generator) -> Bound:
    """Bound E|delta| by the agreement of the outcomes with the sign of the field (see `Limit`).

    ``value`` is the test mean of r s, s the sign of the field; ``p_value`` is of H0: y ~ Bernoulli(f). Several blocks
    are counted each for itself, and combined as :mod:`miscal.evidence.blocks` says. Where
    rows count unequally, :func:`~miscal.evidence.limits.weighted.weighted_agreement_bound` answers.
    """
    if rows.weight is not None:
        return weighted_agreement_bound(rows, settings, rng)
    blocks = [Agreement.of(part) for part in rows.in_turn()]
    if not any(block.claims for block in blocks):
        return NOTHING_CLAIMED
    value = sum(block.excess for block in blocks) / len(rows.correct)
    if len(blocks) == 1:
        (one,) = blocks
        low = agreement_limit(one.stated, one.agreed, settings=settings, effect=one.effect)
        p_value = dependent_p_value(one.stated, one.agreed, one.effect, settings)
        return Bound(value, low * (len(one.stated) / one.rows), p_value)
    return Bound(value, *_combined(blocks, settings))


def _combined(blocks: Sequence[Agreement], settings: EvidenceSettings) -> tuple[float, float]:
    """Lower limit and p-value of several blocks."""
    budget = spend([block.rows for block in blocks], [block.claims for block in blocks])
    alpha = 1 - settings.confidence_level

    def together(size: float) -> float:
        return budget.p_value([_size_p_value(block, size, settings) for block in blocks])

    p_value = together(0.0)
    if p_value >= alpha:
        return 0.0, p_value
    return largest_rejected(lambda size: together(size) < alpha, settings.halvings), p_value


def _size_p_value(block: Agreement, size: float, settings: EvidenceSettings) -> float:
    """P-value of the hypothesis that the mean error over the rows of a block is at most `size`."""
    if not block.claims:
        return 1.0
    # the worst case: the smallest probabilities raised to a common height; the mean error rises with it in straight
    # lines between the probabilities
    ordered = np.sort(block.stated)
    error = np.r_[0.0, np.cumsum(np.diff(np.r_[ordered, 1.0]) * np.arange(1, len(ordered) + 1))] / block.rows
    height = float(np.interp(size, error, np.r_[ordered, 1.0]))
    raised = np.maximum(block.stated, height)
    at_least, above = (dependent_p_value(raised, block.agreed + more, block.effect, settings) for more in (0, 1))
    return above + MID * (at_least - above)


def count_p_value(probability: Floats, count: int, *, settings: EvidenceSettings = EVIDENCE_DEFAULTS) -> float:
    """P(W >= count) for W a sum of independent Bernoulli variables (the Poisson-binomial law).

    By Fourier inversion over a window of at least 8 standard deviations and 32 counts on both sides of the mean, so
    correct to about 1e-14.

    Takes probability (n,). Returns float in [0, 1].

    Examples
    --------
    >>> round(count_p_value(np.full(10, 0.5), 8), 6)  # 56 / 1024
    0.054687
    """
    mean, variance = float(probability.sum()), float(np.sum(probability * (1 - probability)))
    width = settings.count_deviations * np.sqrt(variance) + settings.count_margin
    low, high = max(0, int(mean - width)), min(len(probability), int(np.ceil(mean + width)))
    if count <= low:
        return 1.0
    if count > high:
        return 0.0
    size = (high - low + 1) | 1  # odd, so that no frequency is pi, where a factor may vanish
    frequency = 2 * np.pi * np.arange(size // 2 + 1) / size
    transform = np.zeros(len(frequency), dtype=np.complex128)
    # |transform| <= exp(-2 variance sin^2): most frequencies of a wide law add nothing and need not be computed
    felt = 2 * variance * np.sin(frequency / 2) ** 2 < settings.count_exponent
    for j in np.flatnonzero(felt):
        # log(1 - p + p e^-it) of each row, with all digits for small p; the last term moves the window to start at 0
        factors = np.log1p(probability * np.expm1(-1j * frequency[j]))
        transform[j] = np.exp(factors.sum() + 1j * frequency[j] * low)
    # P(W = low), P(W = low + 1), ...; what lies outside the window wraps round into it, and is below 1e-14
    mass = np.fft.irfft(transform, n=size)
    return float(np.clip(mass[count - low :].sum(), 0.0, 1.0))


def dependent_p_value(
    probability: Floats, count: int, effect: float, settings: EvidenceSettings = EVIDENCE_DEFAULTS
) -> float:
    """P(W >= count) for a sum of Bernoulli variables that hang together.

    The distance of the count from its mean is divided by the root of the design effect, and the law of independent
    variables is read off there, in a straight line between whole numbers.

    Takes probability (n,); effect: 1: independent, and the answer is exact. Returns float in [0, 1].

    Examples
    --------
    >>> half = np.full(100, 0.5)
    >>> [round(dependent_p_value(half, 60, effect), 3) for effect in (1.0, 4.0)]
    [0.028, 0.184]
    """
    if effect == 1.0:
        return count_p_value(probability, count, settings=settings)
    mean = float(probability.sum())
    nearer = mean + (count - mean) / float(np.sqrt(effect))
    below = int(np.floor(nearer))
    at_least, above = (count_p_value(probability, below + more, settings=settings) for more in (0, 1))
    return float(at_least + (nearer - below) * (above - at_least))


def agreement_limit(
    probability: Floats, count: int, *, settings: EvidenceSettings = EVIDENCE_DEFAULTS, effect: float = 1.0
) -> float:
    """Lower limit of the mean error of stated probabilities, from a count higher than they explain.

    If W = sum of B_i, B_i ~ Bernoulli(pi_i) independent, then the mean of |pi_i - probability_i| is at least this,
    at the confidence level of the settings. Among all pi of a given mean error the one with the smallest probabilities
    raised to a common height makes a high count most likely (it is majorised by all others: Gleser, Annals of
    Probability 1975, for counts at least 2 above the mean); the limit is the mean error at which even that has
    P(W >= count) = alpha = 1 - confidence level.

    Takes probability (n,): P(B_i = 1) as stated; count: observed W; effect: design effect, where the B_i hang
    together: the answer is then approximate. Returns float in [0, 1]: 0 if the count is not significantly high.

    Examples
    --------
    >>> round(agreement_limit(np.full(1000, 0.5), 600), 3)  # the lower Clopper-Pearson limit, less 0.5
    0.074
    >>> agreement_limit(np.full(1000, 0.5), 510)
    0.0
    """
    alpha = 1 - settings.confidence_level
    if dependent_p_value(probability, count, effect, settings) >= alpha:
        return 0.0

    def rejects(height: float) -> bool:
        return dependent_p_value(np.maximum(probability, height), count, effect, settings) < alpha

    low = largest_rejected(rejects, settings.halvings, low=float(probability.min()))
    return float(np.mean(np.maximum(probability, low) - probability))
