"""Certificates: how much miscalibration there is at least, shown on rows that nothing was learned from.

Total. For any s(x) in [-1, 1] fixed before the test labels, E[r s] = E[delta s] <= E|delta|. With s the sign of the
estimated field (0 where it is 0) the test mean of r s estimates a lower bound of the mean absolute miscalibration.

Hidden. s is the sign of the hidden field where that is large enough to be worth the noise of its rows, else 0: a rare
regime is not drowned by the rows around it, on which the field is next to nothing (:func:`counted`). With
h = E[y | x, f] - E[y | f], E[(y - mu(f)) (s - t(f))] = E[h s] + E[(E[y|f] - mu(f)) (E[s|f] - t(f))], and
E[h s] <= E|h| for any s in [-1, 1]. mu is fitted off the test rows. t is the mean of s over the test rows of near-equal
confidence: it uses no label, and it must be that of the very s that is tested (honest fields of other rows come from
other fits, whose signs follow f differently). s of a row must not depend on the fields of those rows: it would be
correlated with t, and the limit too high. A limit above 0 is given only where the permutation test rejects too.

Both limits are of the mean over the test rows, which are taken to be independent given inputs and confidences. That of
the total is exact for any n, worst case included; that of the hidden part is inverted from a simulated test and leans
on mu. Above 5,000 rows what is near to normal is not simulated: see :mod:`miscal.evidence.limits` and, for what counts
as near, :mod:`miscal.evidence.sums`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from miscal.base.checks import check_confidence, check_correct, check_lengths
from miscal.base.errors import InputError
from miscal.evidence.conditional import centred, outcome_given_confidence, permutation_p_value, strata
from miscal.evidence.limits import agreement_limit, count_p_value, shift_limit

Floats = NDArray[np.float64]

_Z_TEST, _Z_POWER = 1.6449, 0.8416  # one-sided 5 %, power 80 %


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
        One-sided, of the hypothesis named in :func:`certificate`.
    """

    value: float
    low: float
    p_value: float

    @property
    def interval(self) -> tuple[float, float]:
        """``(low, 1)``."""
        return self.low, 1.0


_NOTHING = Bound(0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Certificate:
    """What unseen rows prove about a field.

    Attributes
    ----------
    total, hidden : Bound
        Of E|delta| and of E|h|, h the part no reliability diagram can show.
    detectable : float
        The hidden miscalibration that a field with the right sign everywhere would have shown at 5 % with
        probability 80 % on these rows.
    n : int
        Test rows.
    """

    total: Bound
    hidden: Bound
    detectable: float
    n: int

    def to_dict(self) -> dict[str, object]:
        """Return the ``certificate`` entry of a run's summary."""
        return {
            "lower_bound_total": {"value": self.total.value, "interval": list(self.total.interval)},
            "lower_bound_hidden": {"value": self.hidden.value, "interval": list(self.hidden.interval)},
            "p_value": self.hidden.p_value,
            "p_value_total": self.total.p_value,
        }


def certificate(
    correct: ArrayLike,
    confidence: ArrayLike,
    delta: ArrayLike,
    hidden: ArrayLike,
    *,
    fit_correct: ArrayLike,
    fit_confidence: ArrayLike,
    level: float = 0.95,
    n_draws: int = 1_999,
    random_state: int | np.random.Generator = 0,
) -> Certificate:
    """Certify a field on test rows.

    Parameters
    ----------
    correct : (n,) in {0, 1}
        Test outcomes, unseen by whatever made `delta` and `hidden`.
    confidence : (n,) float in [0, 1]
        Test confidences.
    delta : (n,) float in [-1, 1]
        Estimated field on the test rows; > 0 means under-confident. All 0: no structure claimed.
    hidden : (n,) float in [-1, 1]
        Its hidden part, delta minus what the global map says; same sign convention. All 0: nothing claimed.
    fit_correct, fit_confidence : (m,) in {0, 1}; (m,) float in [0, 1]
        Rows outside the test set, for E[y | f].
    level : float in (0, 1), default 0.95
    n_draws : int, default 1999
        Draws behind the hidden limit and p-value; above 5,000 rows there are none where the normal law is near enough.
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    Certificate
        ``total.value`` is the test mean of r s, s the sign of `delta`; ``hidden.value`` likewise, over the rows that
        :func:`counted` keeps. ``total.p_value``: H0 y ~ Bernoulli(f), by the exact law of the number of outcomes that
        agree with s; below 1 - level if and only if ``total.low`` > 0. ``hidden.p_value``: H0 y independent of x given
        f, by :func:`~miscal.evidence.conditional.permutation_p_value`; it uses the size of the hidden field besides its
        sign, for power; above 1 - level ``hidden.low`` is 0. Where nothing is claimed: value 0, low 0, p 1.

    Raises
    ------
    InputError
        If lengths differ, a field is not finite or outside [-1, 1], or values are not confidences and outcomes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x, f = rng.choice([-1, 1], 5000), rng.uniform(0.3, 0.7, 5000)
    >>> y = (rng.random(5000) < f + 0.2 * x).astype(float)
    >>> fit, test = slice(0, 4000), slice(4000, None)
    >>> shown = certificate(y[test], f[test], 0.2 * x[test], 0.2 * x[test], fit_correct=y[fit], fit_confidence=f[fit])
    >>> bool(0.1 < shown.hidden.low < shown.hidden.value), shown.hidden.p_value
    (True, 0.0005)
    """
    n = check_lengths(correct=correct, confidence=confidence, delta=delta, hidden=hidden)
    check_lengths(fit_correct=fit_correct, fit_confidence=fit_confidence)
    y, f = check_correct(correct), check_confidence(confidence)
    field, hidden_field = _check_field(delta, "delta"), _check_field(hidden, "hidden")
    fit_y = check_correct(fit_correct, name="fit_correct")
    fit_f = check_confidence(fit_confidence, name="fit_confidence")
    expected = outcome_given_confidence(fit_f, fit_y, f)
    return Certificate(
        total=_total(y, f, np.sign(field), level),
        hidden=_hidden(y, f, hidden_field, expected, level, n_draws, np.random.default_rng(random_state)),
        detectable=float((_Z_TEST + _Z_POWER) * np.sqrt(np.mean(expected * (1 - expected)) / n)),
        n=n,
    )


def _total(y: Floats, f: Floats, sign: Floats, level: float) -> Bound:
    claimed = sign != 0
    if not claimed.any():
        return _NOTHING
    n, up = len(y), sign[claimed] > 0
    agreed = int(np.sum(np.where(up, y[claimed], 1 - y[claimed])))
    stated = np.where(up, f[claimed], 1 - f[claimed])
    return Bound(
        value=float((agreed - stated.sum()) / n),
        low=agreement_limit(stated, agreed, level=level) * float(claimed.mean()),
        p_value=count_p_value(stated, agreed),
    )


def _hidden(
    y: Floats, f: Floats, field: Floats, expected: Floats, level: float, n_draws: int, rng: np.random.Generator
) -> Bound:
    stratum = strata(f)
    rows = np.bincount(stratum)[stratum]
    sign = np.sign(field) * counted(field, expected, level)
    # Centring within n rows shrinks a covariance by (n - 1) / n.
    weight = centred(sign, stratum) * rows / np.maximum(rows - 1, 1)
    if not np.abs(weight).max() > 1e-12:
        return _NOTHING
    p_value = permutation_p_value(y - expected, field, stratum, n_draws=n_draws, rng=rng)
    limit = shift_limit(weight, expected, y, level=level, n_draws=n_draws, rng=rng) if p_value <= 1 - level else 0.0
    return Bound(float(np.clip(np.mean(weight * (y - expected)), -1, 1)), min(1.0, limit), p_value)


def counted(field: Floats, expected: Floats, level: float = 0.95) -> NDArray[np.bool_]:
    """Choose the rows on which a lower limit is best sought, by field and rate alone: no test outcome is looked at.

    Rows come in by falling gain / variance: the gain is what the field adds to the rate (within [0, 1]), the variance
    that of the outcome with or without it, the larger. If the field is right, the limit from the first m rows is
    sum gain - z sqrt(sum variance) on average, z the quantile of `level`, and with probability 80 % above the same with
    z + 0.84. The m with the largest such value is taken, or where none is positive the m with the largest ratio of
    sum gain to that root.

    Parameters
    ----------
    field : (n,) float64 in [-1, 1]
        Estimated hidden field.
    expected : (n,) float64 in [0, 1]
        E[y | f].
    level : float in (0, 1), default 0.95

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
    ratio = gain / np.maximum(variance, np.finfo(float).tiny)
    order = np.argsort(-ratio, kind="stable")
    gains, noise = np.cumsum(gain[order]), np.sqrt(np.cumsum(variance[order]))
    reached = gains - (ndtri(level) + _Z_POWER) * noise
    best = reached if reached.max() > 0 else gains / np.maximum(noise, np.finfo(float).tiny)
    return ratio >= ratio[order[np.argmax(best)]]


def _check_field(values: ArrayLike, name: str) -> Floats:
    field = np.asarray(values, dtype=np.float64)
    bad = ~(np.abs(field) <= 1)  # NaN too
    if field.ndim != 1 or bad.any():
        raise InputError(
            f"{name} must be one finite number in [-1, 1] per row; {int(bad.sum())} of {field.size} are not "
            f"(rows {np.flatnonzero(bad)[:5].tolist()})"
        )
    return field
