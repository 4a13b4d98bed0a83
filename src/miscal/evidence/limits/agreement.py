"""The limit of the total miscalibration, from how often outcomes agree with the sign of the field.

How far must the stated probabilities be wrong, on average, to explain that outcomes agree with s so often? The answer
is exact for every n, the worst case included, because the number of agreements is a sum of independent Bernoulli
variables whose probabilities are known under the hypothesis.

Where rows count unequally the number of agreements is a weighted sum, whose law is drawn. Among all probabilities of a
given weighted mean error the test takes those under which the variance of the sum is largest: with the mean of the sum
given by the error, that is what makes a large sum most likely (to the second order; where all rows count alike it is
the exact answer above). Raising pi_i adds w_i (1 - 2 pi_i) to the variance for each unit of error, so those with the
largest w_i (1 - 2 pi_i) are raised first, until it is kappa for all that were raised: pi_i = (1 - kappa / w_i) / 2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence import settings
from miscal.evidence.blocks import MID, spend
from miscal.evidence.conditional import ranked
from miscal.evidence.sums import bernoulli_sums, bernoulli_tail, has_steps, near_normal

Floats = NDArray[np.float64]
Tail = Callable[[Floats], float]


@dataclass(frozen=True)
class Bound:
    """A lower bound of a mean absolute miscalibration.

    Attributes
    ----------
    value : float in [-1, 1]
        Its estimate; may be negative where there is nothing to find.
    low : float in [0, 1]
        One-sided lower confidence limit: the number to quote. 0 where nothing is shown.
    p_value : float in [0, 1]
        One-sided, of the hypothesis named in :func:`miscal.evidence.certificates.certificate`.
    """

    value: float
    low: float
    p_value: float


NOTHING_CLAIMED = Bound(0.0, 0.0, 1.0)
"""The bound where the field claims nothing: there is nothing to test."""


_FARTHEST_SCORE = 8.0
"""Standard score of p-values near 0 or 1 in the search for a limit."""


def largest_rejected(
    p_value: Callable[[float], float], alpha: float, halvings: int, *, low: float = 0.0, high: float = 1.0
) -> float:
    """Find the size at which a test stops to reject, by false position on the scores of p-values (Illinois).

    Scores are nearly straight in the size, so that a few tests are enough; a bisection needs one for each halving.

    Takes p_value: of a size, rising with it; alpha: a size is rejected if its p-value is at most this, as that of `low`
    is taken to be; halvings: the answer is within (high - low) / 2 ** halvings. Returns float: The largest size found
    that is rejected, or `low`.

    Examples
    --------
    >>> round(largest_rejected(lambda size: size / 6, 0.05, 20), 5)
    0.3
    """
    least, reach = (high - low) / 2**halvings, float(ndtri(alpha))

    def score(size: float) -> float:
        with np.errstate(divide="ignore"):
            return float(np.clip(ndtri(p_value(size)), -_FARTHEST_SCORE, _FARTHEST_SCORE)) - reach

    below, beyond = score(low), score(high)
    if beyond <= 0:
        return high
    moved, slow = 0, False
    while (width := high - low) > least:
        # an end that stays counts half of its score, and after a step that gained little comes a halving
        share = 0.5 if slow else below / (below - beyond)
        size = min(max(low + share * width, low + least / 2), high - least / 2)
        now = score(size)
        if now <= 0:
            low, below, beyond = size, now, beyond / 2 if moved < 0 else beyond
        else:
            high, beyond, below = size, now, below / 2 if moved > 0 else below
        moved, slow = -1 if now <= 0 else 1, high - low > width / 2 and not slow
    return low


def tail_of(
    correct: Floats,
    weight: Floats,
    centre: Floats,
    rng: np.random.Generator,
    *,
    drawn: bool,
    tie: float = 1.0,
    missing: float = 0.0,
) -> Tail:
    """P(sum weight * (y - centre) >= observed) as a function of the probabilities of y.

    Takes correct (n,): y as observed; weight (n,): fixed before the outcomes; centre (n,): probabilities under the
    hypothesis; drawn: whether every row is drawn; tie: how much a draw that equals the observed sum counts as larger;
    missing: variance of the sum beyond that of independent outcomes of these probabilities: it is added, as a normal
    variable. Returns callable: From probabilities of shape (n,) to a number in [0, 1].

    Examples
    --------
    >>> y, half, one = np.r_[np.ones(60), np.zeros(40)], np.full(100, 0.5), np.ones(100)
    >>> tail = tail_of(y, one, half, np.random.default_rng(0), drawn=True)
    >>> bool(tail(half) < 0.05), bool(tail(np.full(100, 0.6)) > 0.4)
    (True, True)
    """
    observed, n_draws = float(weight @ (correct - centre)), settings.N_DRAWS
    # sums equal to the observed one must count as such, whatever the order of the additions
    rounding = 1e-9 * float(np.abs(weight).sum())
    if drawn:
        # every row is drawn, once for all probabilities; float32: up to 40 MB instead of 80
        uniform = rng.random((n_draws, len(weight)), dtype=np.float32)
        more = np.sqrt(missing) * rng.standard_normal(n_draws)

        def drawn_tail(p: Floats) -> float:
            sums = (uniform < p.astype(np.float32)) @ weight - weight @ centre + more
            return ranked(sums, observed, rounding, tie)

        return drawn_tail
    # one seed for every shift: common random numbers, as far as draws of rare outcomes can share them
    seed, stated = int(rng.integers(1 << 62)), weight**2 * centre * (1 - centre)
    steps = has_steps(weight, centre, missing)

    def tail(p: Floats) -> float:
        variance = weight**2 * p * (1 - p)
        # rows whose sum is near to normal need not be drawn; E|y - p|^3 = p (1 - p) (p^2 + (1 - p)^2)
        normal = near_normal(variance, np.abs(weight) * variance * (p**2 + (1 - p) ** 2))
        spread = float(np.sqrt(max(variance[normal].sum(), stated[normal].sum()) + missing))
        above = observed - float(weight @ (p - centre))
        if normal.all() and spread > 0:
            return float(ndtr((rounding - above) / spread))
        if not steps:
            more = spread**2 - variance[normal].sum()
            return bernoulli_tail(weight, p, above, max(0.0, float(more)))
        again = np.random.default_rng(seed)
        sums = bernoulli_sums(weight[~normal], p[~normal], n_draws, again)
        return ranked(sums + spread * again.standard_normal(n_draws), above, rounding, tie)

    return tail


class BlockAgreement:
    """How often the outcomes of one block agree with the sign of its field, and how rare that is under an error.

    `rows`: of the block, those included on which the field is 0. `stated`, (m,) float64 in [0, 1]: stated probability
    that the outcome agrees, for the rows on which the field is not 0. `agreed`: how many do. `effect`: design effect of
    their number, 1 where the rows are independent. `claims`: whether the field claims anything. `excess`: weighted
    agreements beyond those that were stated.
    """

    def __init__(self, rows: LabelledRows) -> None:
        sign, mass = np.sign(rows.delta), rows.mass
        counts = (sign != 0) & (mass > 0)
        up, y, f = sign[counts] > 0, rows.correct[counts], rows.confidence[counts]
        agreed = np.where(up, y, 1 - y)
        self.stated, self.agreed, self.weight = np.where(up, f, 1 - f), int(agreed.sum()), mass[counts]
        self.rows, self.claims = len(sign), bool(counts.any())
        self.excess = float(self.weight @ (agreed - self.stated))
        factor = sign * mass
        self.effect = 1.0 if rows.design is None else rows.design.design_effect(factor, rows.residual, rows.variance)
        self._outcomes, self._variance = agreed, float(factor**2 @ rows.variance)

    def p_value(self, error: float) -> float:
        """P-value of the hypothesis that the mean error over the rows is at most `error`; 1 where nothing is claimed.

        Half of the ties count as larger.
        """
        if not self.claims:
            return 1.0
        # the worst case: the smallest probabilities raised to a common height; the mean error rises with it in straight
        # lines between the probabilities
        ordered = np.sort(self.stated)
        errors = np.r_[0.0, np.cumsum(np.diff(np.r_[ordered, 1.0]) * np.arange(1, len(ordered) + 1))] / self.rows
        raised = np.maximum(self.stated, float(np.interp(error, errors, np.r_[ordered, 1.0])))
        at_least, above = (dependent_p_value(raised, self.agreed + more, self.effect) for more in (0, 1))
        return above + MID * (at_least - above)


class WeightedAgreement(BlockAgreement):
    """The same of rows that count unequally: a weighted sum, whose law is drawn; `tie`: how much a tie is larger."""

    def __init__(self, rows: LabelledRows, rng: np.random.Generator, *, drawn: bool, tie: float) -> None:
        super().__init__(rows)
        if self.claims:
            self._worst = WorstCase(self.stated, self.weight, self.rows)
            # variance of the weighted agreements that comes from rows that hang together
            known = {"drawn": drawn, "tie": tie, "missing": (self.effect - 1) * self._variance}
            self._tail = tail_of(self._outcomes, self.weight, self.stated, rng, **known)

    def p_value(self, error: float) -> float:
        """P-value of the hypothesis that the weighted mean error is at most `error`; 1 where nothing is claimed."""
        return self._tail(self._worst.probabilities(error)) if self.claims else 1.0


def agreement_bound(rows: LabelledRows, rng: np.random.Generator) -> Bound:
    """Bound the (weighted) mean of |delta| by the agreement of the outcomes with the sign of the field.

    ``value`` is the test mean of r s, s the sign of the field; ``p_value`` is of H0: y ~ Bernoulli(f). Several blocks
    are counted each for itself, and combined as :mod:`miscal.evidence.blocks` says.
    """
    parts, drawn, halvings = rows.in_turn(), len(rows) <= settings.DRAWN_ROWS, settings.HALVINGS
    if rows.weight is None:
        blocks = [BlockAgreement(part) for part in parts]
    else:
        # the p-values of several blocks are combined as normal scores, of which one of 1 would silence all others
        tie = MID if len(parts) > 1 else 1.0
        blocks = [WeightedAgreement(part, rng, drawn=drawn, tie=tie) for part in parts]
        halvings = settings.DRAWN_HALVINGS if drawn else halvings
    if not any(block.claims for block in blocks):
        return NOTHING_CLAIMED
    value, one = sum(block.excess for block in blocks) / len(rows), blocks[0]
    if len(blocks) > 1:
        budget = spend([block.rows for block in blocks], [block.claims for block in blocks])
        test = lambda error: budget.p_value([block.p_value(error) for block in blocks])  # noqa: E731
    elif rows.weight is None:
        low = agreement_limit(one.stated, one.agreed, effect=one.effect) * (len(one.stated) / one.rows)
        return Bound(value, low, dependent_p_value(one.stated, one.agreed, one.effect))
    else:
        test = one.p_value
    p_value, alpha = test(0.0), 1 - settings.CONFIDENCE_LEVEL
    return Bound(value, 0.0 if p_value >= alpha else largest_rejected(test, alpha, halvings), p_value)


def count_p_value(probability: Floats, count: int) -> float:
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
    width = settings.COUNT_DEVIATIONS * np.sqrt(variance) + settings.COUNT_MARGIN
    low, high = max(0, int(mean - width)), min(len(probability), int(np.ceil(mean + width)))
    if count <= low:
        return 1.0
    if count > high:
        return 0.0
    size = (high - low + 1) | 1  # odd, so that no frequency is pi, where a factor may vanish
    frequency = 2 * np.pi * np.arange(size // 2 + 1) / size
    transform = np.zeros(len(frequency), dtype=np.complex128)
    # |transform| <= exp(-2 variance sin^2): most frequencies of a wide law add nothing and need not be computed
    felt = 2 * variance * np.sin(frequency / 2) ** 2 < settings.COUNT_EXPONENT
    for j in np.flatnonzero(felt):
        # log(1 - p + p e^-it) of each row, with all digits for small p; the last term moves the window to start at 0
        factors = np.log1p(probability * np.expm1(-1j * frequency[j]))
        transform[j] = np.exp(factors.sum() + 1j * frequency[j] * low)
    # P(W = low), P(W = low + 1), ...; what lies outside the window wraps round into it, and is below 1e-14
    mass = np.fft.irfft(transform, n=size)
    return float(np.clip(mass[count - low :].sum(), 0.0, 1.0))


def dependent_p_value(probability: Floats, count: int, effect: float) -> float:
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
        return count_p_value(probability, count)
    mean = float(probability.sum())
    nearer = mean + (count - mean) / float(np.sqrt(effect))
    below = int(np.floor(nearer))
    at_least, above = (count_p_value(probability, below + more) for more in (0, 1))
    return float(at_least + (nearer - below) * (above - at_least))


def agreement_limit(probability: Floats, count: int, *, effect: float = 1.0) -> float:
    """Lower limit of the mean error of stated probabilities, from a count higher than they explain.

    If W = sum of B_i, B_i ~ Bernoulli(pi_i) independent, then the mean of |pi_i - probability_i| is at least this,
    at the usual confidence level. Among all pi of a given mean error the one with the smallest probabilities
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
    alpha = 1 - settings.CONFIDENCE_LEVEL
    if dependent_p_value(probability, count, effect) >= alpha:
        return 0.0

    def p_value(height: float) -> float:
        return dependent_p_value(np.maximum(probability, height), count, effect)

    low = largest_rejected(p_value, alpha, settings.HALVINGS, low=float(probability.min()))
    return float(np.mean(np.maximum(probability, low) - probability))


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
