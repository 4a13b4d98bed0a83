"""Certificates: how much miscalibration there is at least, shown on rows that nothing was learned from.

Total. For any s(x) in [-1, 1] fixed before the test labels, E[r s] = E[delta s] <= E|delta|. With s the sign of the
estimated field (0 where it is 0) the test mean of r s estimates a lower bound of the mean absolute miscalibration.

Hidden. s is the sign of the hidden field where that is large enough to be worth the noise of its rows, else 0, so that
a rare regime is not drowned by the rows around it, on which the field is next to nothing
(:func:`~miscal.evidence.limits.covariance.counted`). With h = E[y | x, f] - E[y | f],
E[(y - mu(f)) (s - t(f))] = E[h s] + E[(E[y|f] - mu(f)) (E[s|f] - t(f))], and E[h s] <= E|h| for any s in [-1, 1]. mu is
fitted off the test rows. t is the mean of s over the test rows of near-equal confidence: it uses no label, and it must
be that of the very s that is tested (honest fields of other rows come from other fits, whose signs follow f
differently). s of a row must not depend on the fields of those rows: it would be correlated with t, and the limit too
high. A limit above 0 is given only where the permutation test rejects too.

Both limits are of the mean over the test rows, which are taken to be independent given inputs and confidences. That of
the total (:mod:`miscal.evidence.limits.agreement`) is exact for any n, worst case included; that of the hidden part
(:mod:`miscal.evidence.limits.covariance`) is inverted from a simulated test and leans on mu. Above 5,000 rows what is
near to normal is not simulated (:mod:`miscal.evidence.sums` says what counts as near). The settings name the two
limits; :mod:`miscal.evidence.limits` says how to add one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from miscal.base.checks import check_confidence, check_correct, check_lengths
from miscal.base.errors import InputError
from miscal.evidence.conditional import outcome_given_confidence
from miscal.evidence.limits import LIMITS, Bound, Limit, UnseenRows
from miscal.evidence.settings import EVIDENCE_DEFAULTS, EvidenceSettings


@dataclass(frozen=True)
class Certificate:
    """What unseen rows prove about a field.

    Attributes
    ----------
    total, hidden : Bound
        Of E|delta| and of E|h|, h the part no reliability diagram can show.
    detectable : float
        The mean absolute hidden miscalibration that these rows would have detected at 5 % with 80 % power, presuming a
        field with the right sign on every row.
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
    settings: EvidenceSettings = EVIDENCE_DEFAULTS,
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
    settings : EvidenceSettings, optional
        The confidence level, which limits to use, and how many draws.
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    Certificate
        ``total.value`` is the test mean of r s, s the sign of `delta`; ``hidden.value`` likewise, over the rows that
        :func:`~miscal.evidence.limits.covariance.counted` keeps. ``total.p_value``: H0 y ~ Bernoulli(f), by the exact
        law of the number of outcomes that agree with s; below 1 - confidence level if and only if ``total.low`` > 0.
        ``hidden.p_value``: H0 y independent of x given f, by
        :func:`~miscal.evidence.conditional.permutation_p_value`; it uses the size of the hidden field besides its
        sign, for power; above 1 - confidence level ``hidden.low`` is 0. Where nothing is claimed: value 0, low 0, p 1.

    Raises
    ------
    InputError
        If lengths differ, a field is not finite or outside [-1, 1], values are not confidences and outcomes, or the
        settings name a limit that does not exist.

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
    fit_y = check_correct(fit_correct, name="fit_correct")
    fit_f = check_confidence(fit_confidence, name="fit_confidence")
    expected = outcome_given_confidence(fit_y, fit_f, f, settings)
    rows = UnseenRows(y, f, _check_field(delta, "delta"), _check_field(hidden, "hidden"), expected)
    rng = np.random.default_rng(random_state)
    # standard error of the mean of (y - mu) s with |s| = 1
    noise = float(np.sqrt(np.mean(expected * (1 - expected)) / n))
    return Certificate(
        total=_limit(settings.total_limit)(rows, settings, rng),
        hidden=_limit(settings.hidden_limit)(rows, settings, rng),
        # one-sided test at 5 %: an effect of (z_0.95 + z_0.80) standard errors is detected in 80 % of samples
        detectable=float((settings.z_significance + settings.z_power) * noise),
        n=n,
    )


def _limit(name: str) -> Limit:
    if name not in LIMITS:
        raise InputError(f"limit must be one of {', '.join(LIMITS)}; got {name!r}")
    return LIMITS[name]


def _check_field(values: ArrayLike, name: str) -> np.ndarray:
    field = np.asarray(values, dtype=np.float64)
    bad = ~(np.abs(field) <= 1)  # NaN too
    if field.ndim != 1 or bad.any():
        raise InputError(
            f"{name} must be one finite number in [-1, 1] per row; {int(bad.sum())} of {field.size} are not "
            f"(rows {np.flatnonzero(bad)[:5].tolist()})"
        )
    return field
