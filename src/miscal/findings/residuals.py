"""Whether the mean residual of a slice is zero, exactly; the band of a field that counts as none; Holm's adjustment."""

from collections.abc import Mapping

import numpy as np

from miscal.base.document import Interval, Measure, MeasureAgainstNull
from miscal.base.vocabulary import Kind
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import average

EPSILON = 0.05
"""Default least size of a field that counts as miscalibrated: small errors called miscalibrated against errors passed
over. The paper's number; each run may choose another, and ``miscal audit`` shows how much depends on it."""

RELATIVE: Mapping[Kind, float] = {"event": 0.5}
"""The default is no more than this share of the mean probability, or of what is missing to 1, where that is less: five
points are no small error of a risk of one in a hundred. A convention, not tuned: with it a risk of 2 in 1,000 counts as
well calibrated where the event happens in 1 to 3 of 1,000. It meets the usual band at mean risks of 10 and 90 %."""


def default_epsilon(kind: Kind, mean: float) -> float:
    """Return the default half-width of the band of the field that counts as well calibrated.

    `mean`: mean probability that the model states, in [0, 1]. No outcome takes part in the choice.

    Examples
    --------
    >>> default_epsilon("event", 0.3), default_epsilon("event", 0.00374), default_epsilon("answer", 1.0)
    (0.05, 0.0019, 0.05)
    """
    relative = RELATIVE.get(kind, 0.0) * min(mean, 1 - mean)
    # two digits are enough, and can be read
    return EPSILON if relative >= EPSILON or relative == 0 else float(f"{relative:.1e}")


def binomial_residual(
    correct: np.ndarray, confidence: np.ndarray, *, effect: float = 1.0, weight: np.ndarray | None = None
) -> MeasureAgainstNull:
    """Test by the binomial law whether a slice is right as often as its confidences say.

    Given the inputs and the confidences, the number of right answers is a sum of independent Bernoulli draws of mean
    n q, q the mean confidence, if the mean of delta is zero. The tails of such a sum are no heavier than those of
    Binomial(n, q) (Hoeffding, "On the distribution of the number of successes in independent trials", 1956), so the
    binomial test and the interval of Clopper and Pearson (1934) hold at every n, however few rows there are and
    however close to 0 or 1 their confidences, at the price of some width where confidences differ much.

    `correct`, (n,): outcomes that had no part in choosing the slice. `confidence`, (n,): confidences. `effect`: design
    effect, where rows hang together (:mod:`miscal.calibration.survey_design`): n rows count for n over it (Korn and
    Graubard, Survey Methodology 24, 1998), and the test is no longer exact. The same where they count unequally.
    `weight`, (n,): how much each row counts; all alike by default. Returns mean of ``correct - confidence``, its 95 %
    interval, and the two-sided p-value (twice the smaller tail).

    Examples
    --------
    >>> result = binomial_residual(np.zeros(20), np.full(20, 0.5))
    >>> result.value, result.p_value < 1e-4, result.interval[1] < -0.3
    (-0.5, True, True)
    >>> binomial_residual(np.array([]), np.array([])).value is None
    True
    """
    if len(correct) == 0:
        return MeasureAgainstNull(value=None)
    accuracy, expected = average(correct, weight), average(confidence, weight)
    return proportion_residual(accuracy, len(correct) / effect, expected)


def proportion_residual(share: float, n: float, confidence: float) -> MeasureAgainstNull:
    """Test by the binomial law whether a share of `n` rows is what the confidence says.

    `share`: share of right answers, in [0, 1]. `n`: rows that it rests on, above 0; not necessarily a whole number,
    where they count for different weights. `confidence`: what the share should be, in [0, 1]. Returns ``share -
    confidence``, its interval (Clopper and Pearson, 1934) and p-value (twice the smaller tail); tails and interval are
    those of the beta law, which continues them to numbers that are not whole.

    Examples
    --------
    >>> proportion_residual(0.25, 40.0, 0.5).p_value < 0.01, proportion_residual(0.45, 40.5, 0.5).p_value > 0.3
    (True, True)
    """
    from scipy.special import betainc

    hits, expected = _hits(share, n), min(1.0, confidence)
    # P(hits or fewer) and P(hits or more): the count seen belongs to both tails
    fewer = betainc(n - hits, hits + 1, 1.0 - expected) if hits < n else 1.0
    more = betainc(hits, n - hits + 1, expected) if hits > 0 else 1.0
    low, high = proportion_interval(share, n, 1 - CONFIDENCE_LEVEL)
    p_value = min(1.0, 2.0 * float(min(fewer, more)))
    return MeasureAgainstNull(value=share - expected, interval=(low - expected, high - expected), p_value=p_value)


def observed_share(share: float, expected: float, interval: Interval) -> Measure:
    """How often the outcome was 1, with the interval of its distance from what was expected, held in [0, 1].

    Examples
    --------
    >>> [round(end, 3) for end in observed_share(0.15, 0.1, (-0.2, 0.08)).interval]
    [0.0, 0.18]
    """
    if interval is None or interval[0] is None or interval[1] is None:
        return Measure(value=share)
    return Measure(value=share, interval=(max(0.0, expected + interval[0]), min(1.0, expected + interval[1])))


def observed_over_expected(expected: float, residual: float, interval: Interval) -> Measure:
    """How many times as many events happened as were predicted.

    `expected`: mean probability of some rows, in [0, 1]. `residual`: mean outcome less `expected`. `interval`, (float,
    float) or None: of the residual; what is expected is known. Returns (expected + residual) / expected, at least 0;
    undefined where nothing is expected.

    Examples
    --------
    >>> found = observed_over_expected(0.1, 0.05, (0.02, 0.08))
    >>> round(found.value, 3), [round(end, 3) for end in found.interval]
    (1.5, [1.2, 1.8])
    """
    if expected <= 0:
        return Measure(value=None)
    ends = None if interval is None or None in interval else tuple(max(0.0, 1 + end / expected) for end in interval)
    return Measure(value=1 + residual / expected, interval=ends)


def proportion_interval(share: float, n: float, level: float) -> tuple[float, float]:
    """Interval of Clopper and Pearson (1934) of the share of right answers.

    `share`: share of right answers among the rows, in [0, 1]. `n`: rows that it rests on, above 0; not necessarily a
    whole number. `level`: how often it may miss, two-sided, in (0, 1). The result is in [0, 1].

    Examples
    --------
    >>> [round(end, 3) for end in proportion_interval(0.95, 40.0, 0.05)]
    [0.831, 0.994]
    """
    from scipy.special import betaincinv

    hits = _hits(share, n)
    low = float(betaincinv(hits, n - hits + 1, level / 2)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, n - hits, 1 - level / 2)) if hits < n else 1.0
    return low, high


def _hits(share: float, n: float) -> float:
    # a mean of ones can exceed 1 by rounding, and n times a share of whole numbers can miss a whole one
    return min(n, round(n * share, 9))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Adjust p-values so that, at 0.05, at most one run in twenty has any false rejection (Holm 1979).

    `p_values`, (m,): in [0, 1]. Returns (m,): adjusted, in [0, 1], never smaller than they were.

    Examples
    --------
    >>> holm(np.array([0.01, 0.04, 0.03]))
    array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p_values, kind="stable")
    steps = (len(order) - np.arange(len(order))) * np.asarray(p_values, float)[order]
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(steps)) if len(order) else steps
    return adjusted
