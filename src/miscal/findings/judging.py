"""Judging regions: is the mean residual zero, is its visible part, and is its hidden part.

The residual of a region, mean of y - f, is the sum of what a reliability diagram shows of its rows, mean of
E[y | f] - f, and of what none shows, mean of y - E[y | f]. Each is tested against zero, over all regions of a family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from miscal.calibration.survey_design import SurveyDesign, average, deflated, effect_of_mean, kish, shares
from miscal.evidence.conditional import centred, shuffle_thirds, shuffle_variances, strata
from miscal.evidence.sums import near_normal
from miscal.findings.ledger.exact import exact_p_value
from miscal.findings.residuals import Residual, binomial_residual, holm, proportion_residual
from miscal.findings.settings import FINDINGS_DEFAULTS, FindingsSettings

SIGNS = {"over": -1, "under": 1}
"""Sign of the residual that confirms a regime; a regime without an entry claims nothing that could be confirmed."""

_NOTHING = Residual(None, None, None)


@dataclass(frozen=True)
class Judged:
    """A region's mean residual and its two parts. Positive: UNDER-confident; negative: over-confident.

    Attributes
    ----------
    residual, visible, hidden : Residual
        Means over its rows of ``y - f``, of ``E[y | f] - f`` and of ``y - E[y | f]``; the first is the sum of the
        others. Intervals and p-values are raw: not adjusted for the number of regions.
    p_values : dict of str to float
        For ``"total"``, ``"visible"`` and ``"hidden"``: adjusted by Holm over all regions that were tested with this
        one, each of the three in a family of its own; 1 where there are no rows, or where nothing was claimed.
    confirmed : dict of str to bool
        Whether each of them is at most 0.05 and its mean has the sign that was claimed.
    """

    residual: Residual
    visible: Residual
    hidden: Residual
    p_values: dict[str, float]
    confirmed: dict[str, bool]

    def to_dict(self) -> dict[str, Any]:
        """Return ``residual``, ``visible``, ``hidden`` and ``confirmed`` in the shape of ``summary.json``."""
        means = {name: getattr(self, name).to_dict() for name in ("residual", "visible", "hidden")}
        return {**means, "confirmed": dict(self.confirmed)}


def judge(
    correct: np.ndarray,
    confidence: np.ndarray,
    expected: np.ndarray,
    regions: Sequence[np.ndarray],
    signs: Sequence[int],
    settings: FindingsSettings = FINDINGS_DEFAULTS,
    *,
    design: SurveyDesign | None = None,
) -> list[Judged]:
    """Test the residual of every region, its visible and its hidden part.

    Parameters
    ----------
    correct, confidence : ndarray of float64, shape (n,)
        Outcomes (0 or 1), which had no part in choosing the regions they are in, and confidences (in [0, 1]).
    expected : ndarray of float64, shape (n,), in [0, 1]
        E[y | f] of every row, learned from other rows.
    regions : sequence of ndarray of bool, shape (n,)
        Which rows are in each region.
    signs : sequence of int
        What each region claims: -1 over-confident, +1 under-confident, 0 nothing (it is measured, but belongs to no
        family and is never confirmed).
    settings : FindingsSettings, optional
        Significance and confidence level.
    design : SurveyDesign, optional
        Which rows hang together, and how much each counts; by default none do, and all count alike.

    Returns
    -------
    list of Judged
        In the order of the regions. The residual is tested by the binomial law
        (:func:`~miscal.findings.residuals.binomial_residual`), the hidden part given the confidence
        (:func:`hidden_residual`). The visible part is a mean of rates, each of which rests on the rows of near-equal
        confidence: it is tested as a share of as many rows as would give that mean the same variance (Kish, "Survey
        Sampling", 1965).

    Examples
    --------
    >>> inside = np.arange(800) % 2 == 0
    >>> y, half = inside * (np.arange(800) % 10 < 8).astype(float), np.full(800, 0.5)
    >>> [judged] = judge(y, half, np.full(800, 0.4), [inside], [1])
    >>> [round(part.value, 2) for part in (judged.residual, judged.visible, judged.hidden)]
    [0.3, -0.1, 0.4]
    >>> judged.confirmed
    {'total': True, 'visible': False, 'hidden': True}
    """
    stratum = strata_of(confidence, design, settings)
    effects = [effect_of_mean(correct, expected, rows, design) for rows in regions]
    weights = [_weight(design, rows) for rows in regions]
    found = [
        (
            binomial_residual(correct[rows], confidence[rows], settings, effect=effect, weight=weight),
            _visible(confidence, expected, rows, stratum, effect, settings, design),
            hidden_residual(correct, expected, rows, stratum, settings, design=design),
        )
        for rows, effect, weight in zip(regions, effects, weights, strict=True)
    ]
    adjusted = [_adjusted([parts[i] for parts in found], signs) for i in range(3)]
    return [
        _judged(parts, [float(values[at]) for values in adjusted], sign, settings)
        for at, (parts, sign) in enumerate(zip(found, signs, strict=True))
    ]


def judge_regimes(
    correct: np.ndarray,
    confidence: np.ndarray,
    expected: np.ndarray,
    regime: np.ndarray,
    names: Sequence[str] = ("over", "good", "under"),
    settings: FindingsSettings = FINDINGS_DEFAULTS,
    *,
    design: SurveyDesign | None = None,
) -> dict[str, Judged]:
    """Test whole regimes, those of the total field or those of the hidden one.

    Parameters
    ----------
    correct, confidence, expected : ndarray of float64, shape (n,)
        As for :func:`judge`.
    regime : ndarray of object, shape (n,)
        Name of each row's regime, or None.
    names : sequence of str
        The regimes to measure. Only ``"over"`` and ``"under"`` claim something; they are one family.
    settings : FindingsSettings, optional
        Significance and confidence level.
    design : SurveyDesign, optional
        As for :func:`judge`.

    Returns
    -------
    dict of str to Judged
        By name of the regime.

    Examples
    --------
    >>> y, f = np.zeros(100), np.full(100, 0.6)
    >>> found = judge_regimes(y, f, np.zeros(100), np.full(100, "over", dtype=object))
    >>> found["over"].confirmed, found["under"].residual.value
    ({'total': True, 'visible': True, 'hidden': False}, None)
    """
    regions, signs = [regime == name for name in names], [SIGNS.get(name, 0) for name in names]
    judged = judge(correct, confidence, expected, regions, signs, settings, design=design)
    return dict(zip(names, judged, strict=True))


def strata_of(
    confidence: np.ndarray, design: SurveyDesign | None, settings: FindingsSettings = FINDINGS_DEFAULTS
) -> np.ndarray:
    """Cut rows into strata of near-equal confidence, in which rows of one group and one confidence count once."""
    return strata(confidence, settings.stratum_rows, None if design is None else design.group)


def _weight(design: SurveyDesign | None, rows: np.ndarray) -> np.ndarray | None:
    """Weights of some rows, None where all rows count alike."""
    return None if design is None or design.weight is None else design.weight[rows]


def _adjusted(residuals: Sequence[Residual], signs: Sequence[int]) -> np.ndarray:
    """Adjust the p-values of the regions that claim something; 1 elsewhere."""
    p_values, family = np.ones(len(signs)), np.array(signs, int) != 0
    raw = np.array([1.0 if one.p_value is None else one.p_value for one in residuals])
    p_values[family] = holm(raw[family])
    return p_values


def _judged(
    parts: tuple[Residual, Residual, Residual], p_values: Sequence[float], sign: int, settings: FindingsSettings
) -> Judged:
    names = ("total", "visible", "hidden")
    confirmed = {
        name: bool(p_value <= settings.significance and sign and sign * one.value > 0)
        for name, one, p_value in zip(names, parts, p_values, strict=True)
    }
    return Judged(*parts, dict(zip(names, p_values, strict=True)), confirmed)


def _visible(
    confidence: np.ndarray,
    expected: np.ndarray,
    rows: np.ndarray,
    stratum: np.ndarray,
    effect: float,
    settings: FindingsSettings,
    design: SurveyDesign | None,
) -> Residual:
    if not rows.any():
        return _NOTHING
    own, inside = _weight(design, rows), int(rows.sum())
    weight = shares(own, inside)
    every = np.ones(len(rows)) if own is None else design.weight
    share, total = np.bincount(stratum[rows], weight, minlength=stratum.max() + 1), np.bincount(stratum, every)
    # var(mean) = sum share^2 / size times the variance of an outcome, size the effective number of rows of a stratum;
    # what unequal weights take from the region itself is a part of that, and of its design effect
    size = total**2 / np.maximum(np.bincount(stratum, every**2), np.finfo(float).tiny)
    within = kish(weight, expected[rows] * (1 - expected[rows]))
    used = share > 0
    effective = 1.0 / float(np.sum(share[used] ** 2 / size[used])) / (effect / within)
    rate, sure = average(expected[rows], own), average(confidence[rows], own)
    return proportion_residual(rate, effective, sure, settings)


def hidden_residual(
    correct: np.ndarray,
    expected: np.ndarray,
    rows: np.ndarray,
    stratum: np.ndarray,
    settings: FindingsSettings = FINDINGS_DEFAULTS,
    *,
    design: SurveyDesign | None = None,
) -> Residual:
    """Test whether a region's rows are right as often as other rows of near-equal confidence.

    The p-value is that of the sum of y - E[y | f] over the region, both it and membership centred within strata of
    near-equal confidence, under shuffles within the strata, so that an error of E[y | f] counts only where it changes
    within a stratum together with membership. Strata with one outcome carry no information and are left out. The law
    of the sum is taken as normal, with the exact variance of the shuffles. Where it is not near enough to that
    (:func:`miscal.evidence.sums.near_normal`), the exact law of the number of right answers must reject as well. Where
    rows hang together, normal scores are divided by the root of the design effect. Where they count unequally, sum and
    means are weighted; the exact law is that of the rows themselves, which depends on the confidence alone under the
    same hypothesis.

    The interval takes E[y | f] as known. Interval and p-value never contradict each other: where the shuffles reject,
    but the binomial law of the interval does not, the p-value is that of the binomial law; where it is the other way
    round, the interval is extended to zero.

    Parameters
    ----------
    correct : ndarray of float64, shape (n,)
        Outcomes, 0 or 1.
    expected : ndarray of float64, shape (n,), in [0, 1]
        E[y | f], learned from other rows.
    rows : ndarray of bool, shape (n,)
        The region.
    stratum : ndarray of int, shape (n,)
        From :func:`miscal.evidence.conditional.strata`.
    settings : FindingsSettings, optional
        The confidence level of the interval.
    design : SurveyDesign, optional
        Which rows hang together, and how much each counts; by default none do, and all count alike.

    Returns
    -------
    Residual
        Mean of ``y - E[y | f]``, its 95 % interval, and a two-sided p-value.

    Examples
    --------
    >>> inside, y = np.arange(400) < 200, (np.arange(400) % 4 < 1 + 2 * (np.arange(400) < 200)).astype(float)
    >>> found = hidden_residual(y, np.full(400, 0.5), inside, np.zeros(400, int))
    >>> found.value, found.p_value < 1e-9
    (0.25, True)
    """
    if not rows.any():
        return _NOTHING
    effect = effect_of_mean(correct, expected, rows, design)
    weight = _weight(design, rows)
    taken_as_known = binomial_residual(correct[rows], expected[rows], settings, effect=effect, weight=weight)
    excess, p_value = _shuffled(correct, expected, rows, stratum, design)
    # an error of E[y | f] can turn the sign of the mean, and then it shows nothing
    agrees = excess * taken_as_known.value > 0
    p_value = max(p_value, taken_as_known.p_value) if agrees else 1.0
    low, high = taken_as_known.interval
    if p_value > 1 - settings.confidence_level:
        low, high = min(low, 0.0), max(high, 0.0)
    return Residual(taken_as_known.value, (low, high), p_value)


def _shuffled(
    correct: np.ndarray, expected: np.ndarray, rows: np.ndarray, stratum: np.ndarray, design: SurveyDesign | None
) -> tuple[float, float]:
    """Sum of the centred outcomes of the region, and its two-sided p-value under shuffles within strata."""
    size, inside = np.bincount(stratum), np.bincount(stratum, rows)
    right = np.bincount(stratum, correct)
    telling = ((right > 0) & (right < size) & (inside > 0) & (inside < size))[stratum]
    if not telling.any():
        return 0.0, 1.0
    stratum = np.unique(stratum[telling], return_inverse=True)[1]
    y, member, rate = correct[telling], rows[telling].astype(np.float64), expected[telling]
    weight = _weight(design, telling)
    e = centred(y - rate, stratum)
    a = centred(member, stratum) if weight is None else weight * centred(member, stratum, weight)
    variances = shuffle_variances(e, a, stratum)
    excess, effect = float(e @ a), 1.0
    if design is not None:
        known = design.take(telling)
        effect = known.design_effect(a, y - rate, rate * (1 - rate), independent=float(variances.sum()))
    normal = max(float(2.0 * ndtr(-abs(excess) / np.sqrt(effect * variances.sum()))), np.finfo(float).tiny)
    if near_normal(variances, shuffle_thirds(e, a, stratum)).all():
        return excess, normal
    # the exact law knows nothing of a trend of E[y | f] within a stratum, the normal one nothing of rare outcomes
    return excess, max(normal, deflated(exact_p_value(y, member > 0, stratum), effect))
