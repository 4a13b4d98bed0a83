"""Test for each region whether its mean residual, its visible part and its hidden part are zero; choose what is named.

The residual of a region, mean of y - f, is the sum of what a reliability diagram shows of its rows, mean of
E[y | f] - f, and of what none shows, mean of y - E[y | f]. Each is tested against zero, over all regions of a family.
The verdict names regions that are right more or less often than rows of equal confidence. This differs from being over-
or under-confident: where all rows are over-confident, a region that is exactly as over-confident as the others hides
nothing, and a region that is less so does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from miscal.base.document import MeasureAgainstNull, Part
from miscal.calibration.labelled_rows import LabelledRows, effect_of_mean
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL
from miscal.calibration.survey_design import average, deflated, kish, shares
from miscal.data.triples import Triples
from miscal.evidence.conditional import centred, shuffle_thirds, shuffle_variances, strata
from miscal.evidence.settings import SIGNIFICANCE, STRATUM_ROWS
from miscal.evidence.sums import near_normal
from miscal.findings.enrichment import encode, enrich, keywords
from miscal.findings.ledger.blocks import exact_p_value
from miscal.findings.residuals import binomial_residual, holm, proportion_residual

REGIMES = ("over", "good", "under")
"""Names of the regimes, in the order of tables."""

SIGNS = {"over": -1, "under": 1}
"""Sign of the residual that confirms a regime; a regime without an entry claims nothing that could be confirmed."""

MOST_TEXTS = 20_000
"""Rows that keywords are counted in (time and memory against rare words). Like the next ones, not tuned."""
EXEMPLARS, EXEMPLAR_POOL = 5, 500
"""Exemplars of a regime, and rows nearest the mean field that they are chosen from (typical against different)."""
TEXT_START = 80
"""Texts begin alike if so many first characters are the same."""

_NOTHING = MeasureAgainstNull(value=None)
_MEASURES, _PARTS = ("residual", "visible", "hidden"), ("total", "visible", "hidden")


class Confirmed(Part):
    """Whether a residual, its visible part and its hidden part each differ from zero, in the direction of the cut.

    `total`: the residual.
    """

    total: bool = False
    visible: bool = False
    hidden: bool = False


def judge(rows: LabelledRows, regions: Sequence[np.ndarray], signs: Sequence[int]) -> list[dict[str, Any]]:
    """Test the residual of every region, its visible and its hidden part.

    `rows`: their outcomes had no part in choosing the regions they are in. `regions`, bool (n,): which rows are in each
    region. `signs`: what each region claims: -1 over-confident, +1 under-confident, 0 nothing (it is measured, but
    belongs to no family and is never confirmed).

    Returns for each region, in their order, `residual`, `visible` and `hidden`: means over its rows of ``y - f``, of
    ``E[y | f] - f`` and of ``y - E[y | f]``, of which the first is the sum of the others, negative where
    over-confident. Intervals and p-values are raw: not adjusted for the number of regions. `confirmed`: whether each
    p-value, adjusted by Holm over all regions that claim something, each of the three in a family of its own, is at
    most 0.05, and its mean has the sign that was claimed.

    The residual is tested by the binomial law (:func:`~miscal.findings.residuals.binomial_residual`), the hidden part
    given the confidence (:func:`hidden_residual`). The visible part is a mean of rates, each of which rests on the rows
    of near-equal confidence: it is tested as a share of as many rows as would give that mean the same variance (Kish,
    "Survey Sampling", 1965).

    Examples
    --------
    >>> inside = np.arange(800) % 2 == 0
    >>> y, half = inside * (np.arange(800) % 10 < 8).astype(float), np.full(800, 0.5)
    >>> [judged] = judge(LabelledRows(y, half, np.full(800, 0.4)), [inside], [1])
    >>> [round(judged[part].value, 2) for part in ("residual", "visible", "hidden")]
    [0.3, -0.1, 0.4]
    >>> judged["confirmed"]
    Confirmed(total=True, visible=False, hidden=True)
    """
    stratum = strata_of(rows)
    found = []
    for inside in regions:
        own, effect = rows.take(inside), effect_of_mean(rows, inside)
        total = binomial_residual(own.correct, own.confidence, effect=effect, weight=own.weight)
        found.append((total, _visible(rows, inside, stratum, effect), hidden_residual(rows, inside, stratum)))
    p_values = np.ones((len(found), 3))
    family = np.flatnonzero(signs)
    for at in range(3):
        raw = (found[place][at].p_value for place in family)
        p_values[family, at] = holm(np.array([1.0 if one is None else one for one in raw]))
    judged = []
    for parts, adjusted, sign in zip(found, p_values.tolist(), signs, strict=True):
        confirmed = {
            name: bool(p_value <= SIGNIFICANCE and sign and sign * one.value > 0)
            for name, one, p_value in zip(_PARTS, parts, adjusted, strict=True)
        }
        judged.append(dict(zip(_MEASURES, parts, strict=True)) | {"confirmed": Confirmed(**confirmed)})
    return judged


def judge_regimes(rows: LabelledRows, regime: np.ndarray) -> dict[str, dict[str, Any]]:
    """Test whole regimes, those of the total field or those of the hidden one.

    `regime`, object (n,): name of each row's regime, or None. Only ``"over"`` and ``"under"`` claim something; they are
    one family. Returns by name of the regime: over, good, under.

    Examples
    --------
    >>> rows = LabelledRows(np.zeros(100), np.full(100, 0.6), np.zeros(100))
    >>> found = judge_regimes(rows, np.full(100, "over", dtype=object))
    >>> found["over"]["confirmed"], found["under"]["residual"].value
    (Confirmed(total=True, visible=True, hidden=False), None)
    """
    regions, signs = [regime == name for name in REGIMES], [SIGNS.get(name, 0) for name in REGIMES]
    return dict(zip(REGIMES, judge(rows, regions, signs), strict=True))


def strata_of(rows: LabelledRows) -> np.ndarray:
    """Cut rows into strata of near-equal confidence, in which rows of one group and one confidence count once."""
    return strata(rows.confidence, STRATUM_ROWS, rows.group)


def _visible(rows: LabelledRows, inside: np.ndarray, stratum: np.ndarray, effect: float) -> MeasureAgainstNull:
    if not inside.any():
        return _NOTHING
    own = rows.take(inside)
    weight = shares(own.weight, len(own))
    every = np.ones(len(rows)) if rows.weight is None else rows.weight
    share, total = np.bincount(stratum[inside], weight, minlength=stratum.max() + 1), np.bincount(stratum, every)
    # var(mean) = sum share^2 / size times the variance of an outcome, size the effective number of rows of a stratum;
    # what unequal weights take from the region itself is a part of that, and of its design effect
    size = total**2 / np.maximum(np.bincount(stratum, every**2), np.finfo(float).tiny)
    within = kish(weight, own.variance)
    used = share > 0
    effective = 1.0 / float(np.sum(share[used] ** 2 / size[used])) / (effect / within)
    rate, sure = average(own.expected, own.weight), average(own.confidence, own.weight)
    return proportion_residual(rate, effective, sure)


def hidden_residual(rows: LabelledRows, inside: np.ndarray, stratum: np.ndarray) -> MeasureAgainstNull:
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

    `inside`, bool (n,): the region. `stratum`, int (n,): from :func:`miscal.evidence.conditional.strata`. Returns mean
    of ``y - E[y | f]``, its 95 % interval, and a two-sided p-value.

    Examples
    --------
    >>> inside, y = np.arange(400) < 200, (np.arange(400) % 4 < 1 + 2 * (np.arange(400) < 200)).astype(float)
    >>> found = hidden_residual(LabelledRows(y, y, np.full(400, 0.5)), inside, np.zeros(400, int))
    >>> found.value, found.p_value < 1e-9
    (0.25, True)
    """
    if not inside.any():
        return _NOTHING
    own, effect = rows.take(inside), effect_of_mean(rows, inside)
    taken_as_known = binomial_residual(own.correct, own.expected, effect=effect, weight=own.weight)
    excess, p_value = _shuffled(rows, inside, stratum)
    # an error of E[y | f] can turn the sign of the mean, and then it shows nothing
    agrees = excess * taken_as_known.value > 0
    p_value = max(p_value, taken_as_known.p_value) if agrees else 1.0
    interval = taken_as_known.interval
    if interval is not None and p_value > 1 - CONFIDENCE_LEVEL:
        interval = min(interval[0], 0.0), max(interval[1], 0.0)
    return taken_as_known.model_copy(update={"interval": interval, "p_value": p_value})


def _shuffled(rows: LabelledRows, inside: np.ndarray, stratum: np.ndarray) -> tuple[float, float]:
    """Sum of the centred outcomes of the region, and its two-sided p-value under shuffles within strata."""
    size, within = np.bincount(stratum), np.bincount(stratum, inside)
    right = np.bincount(stratum, rows.correct)
    telling = ((right > 0) & (right < size) & (within > 0) & (within < size))[stratum]
    if not telling.any():
        return 0.0, 1.0
    stratum = np.unique(stratum[telling], return_inverse=True)[1]
    rows, member = rows.take(telling), inside[telling].astype(np.float64)
    e = centred(rows.residual, stratum)
    a = centred(member, stratum) if rows.weight is None else rows.weight * centred(member, stratum, rows.weight)
    variances = shuffle_variances(e, a, stratum)
    excess, effect = float(e @ a), 1.0
    if rows.design is not None:
        effect = rows.design.design_effect(a, rows.residual, rows.variance, independent=float(variances.sum()))
    normal = max(float(2.0 * ndtr(-abs(excess) / np.sqrt(effect * variances.sum()))), np.finfo(float).tiny)
    if near_normal(variances, shuffle_thirds(e, a, stratum)).all():
        return excess, normal
    # the exact law knows nothing of a trend of E[y | f] within a stratum, the normal one nothing of rare outcomes
    return excess, max(normal, deflated(exact_p_value(rows.correct, member > 0, stratum), effect))


def contents_of(
    triples: Triples, delta: np.ndarray, regime: np.ndarray, inside: np.ndarray, *, seed: int
) -> dict[str, dict[str, Any]]:
    """Say of the over and the under regime what is more common in it than elsewhere, and show rows of it.

    Outcomes take no part. `delta`, (n,): the field. `regime`, object (n,): as
    :func:`miscal.estimators.registry.regimes_of` gives it. `inside`, bool (n,): the rows that are looked at. `seed`: of
    the texts that are counted, where there are more than 20,000. Returns ``metadata``, ``keywords`` and ``exemplars``
    of each by the name of the regime: at most five rows whose field is nearest its mean, with distinct texts, or
    without texts with distinct inputs.

    Examples
    --------
    >>> law = np.arange(200) % 2 == 0
    >>> triples = Triples(np.zeros((200, 0)), law * 0.4, law * 1.0, metadata={"subject": np.where(law, "law", "art")})
    >>> found = contents_of(triples, np.where(law, -0.2, 0.0), np.where(law, "over", "good"), law | True, seed=0)
    >>> [one.words for one in found["over"]["metadata"]], found["under"]["exemplars"]
    (['subject = law'], ())
    """
    at, names = np.flatnonzero(inside), list(SIGNS)
    parts = [regime[at] == name for name in names]
    encoded = [encode(name, values[at]) for name, values in triples.metadata.items()]
    enriched = enrich([column for column in encoded if column is not None], parts)
    words: list[tuple[str, ...]] = [()] * len(names)
    if triples.text is not None:
        some = np.sort(np.random.default_rng(seed).permutation(len(at))[:MOST_TEXTS])
        words = keywords([triples.text[i] for i in at[some]], [inside[some] for inside in parts])
    return {
        name: {"metadata": items, "keywords": terms, "exemplars": _exemplars(triples, delta, at[inside])}
        for name, inside, items, terms in zip(names, parts, enriched, words, strict=True)
    }


def _exemplars(triples: Triples, delta: np.ndarray, at: np.ndarray) -> tuple[int, ...]:
    """Row numbers of typical rows: texts that begin differently, then texts that differ."""
    if not len(at):
        return ()
    order = at[np.lexsort((triples.row[at], np.abs(delta[at] - delta[at].mean())))][:EXEMPLAR_POOL]
    if triples.text is None:
        # numbers of the inputs stand for texts: equal ones count once
        plain = list(map(str, np.unique(triples.X[order], axis=0, return_inverse=True)[1].ravel()))
    else:
        # what a person overlooks is no difference: space and case
        plain = [" ".join(str(triples.text[i]).split()).casefold() for i in order]
    chosen: list[int] = []
    for length in (TEXT_START, None):
        seen = {plain[place][:length] for place in chosen}
        for place, text in enumerate(plain):
            if text[:length] not in seen and len(chosen) < EXEMPLARS:
                seen.add(text[:length])
                chosen.append(place)
    return tuple(triples.row[order[chosen]].tolist())
