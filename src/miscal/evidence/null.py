"""What the whole pipeline finds where there is nothing to find.

A resampler draws outcomes for a world without the structure in question; the statistic refits everything on them and
measures the result. Three hypotheses, kept apart because they differ:

* ``calibrated``: y ~ Bernoulli(f). Nothing is miscalibrated; the whole field is flat.
* ``visible``: y ~ Bernoulli(g(f)), g an estimate of E[y | f] of any shape, so that a curve which no simple map follows
  is in the draws too. What a diagram shows is kept; the hidden field is flat.
* ``permuted``: y permuted among the rows of each learning split, test rows as they are (the paper's audit). The truth
  is then "base rate - f", which is not flat: it asks whether confidence and inputs tell anything about y.

Rows of a group hang together in the data, and have to in the draws, or these are too quiet and p-values too small. An
outcome is 1 where a uniform number is below its rate. Each row of a group takes the group's number with one chance, and
a number of its own otherwise, so that it keeps its rate whatever the other rates are. Two rows that take the group's
number have the covariance min(p, q) - p q, the largest that their rates allow. The chance is such that the covariances
of all pairs add up to what the correlation makes of them, as they do where it is estimated. A Gaussian copula would
need a root for every pair of rates to do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.base.checks import check_confidence, check_correct, check_lengths
from miscal.base.errors import InputError
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.settings import EVIDENCE_DEFAULTS

Floats = NDArray[np.float64]
Resampler = Callable[[np.random.Generator], Floats]
Statistics = Callable[[Floats], Mapping[str, float]]


@dataclass(frozen=True)
class NullStatistic:
    """One statistic, as observed and under the null.

    Attributes
    ----------
    observed : float
    draws : tuple of float
    mean, std : float
        Of the draws; the standard deviation divides by n - 1 (0 for one draw).
    p_value : float
        (1 + number of draws at least as large) / (1 + number of draws).
    """

    observed: float
    draws: tuple[float, ...]
    mean: float
    std: float
    p_value: float


def bernoulli_outcomes(probability: Floats, design: SurveyDesign | None = None) -> Resampler:
    """Outcomes y ~ Bernoulli(probability): the calibrated null with f, the visible null with g(f).

    Takes probability (n,); design: which rows hang together, and how strongly. Returns callable: Takes a
    numpy.random.Generator, returns (n,) float64 of 0 and 1.

    Examples
    --------
    >>> bernoulli_outcomes([0.0, 1.0])(np.random.default_rng(0)).tolist()
    [0.0, 1.0]
    >>> pairs = SurveyDesign(np.array([0, 0, 1, 1]), 1.0)
    >>> bernoulli_outcomes(np.full(4, 0.5), pairs)(np.random.default_rng(1)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    rate = check_confidence(probability, name="probability")
    uniform = _uniform(len(rate), design, 0.0 if design is None else _both_join(rate, design))
    return lambda rng: (uniform(rng) < rate).astype(np.float64)


def permuted_outcomes(correct: Floats, split: NDArray[np.str_], design: SurveyDesign | None = None) -> Resampler:
    """Outcomes permuted among the train rows and among the validation rows; test outcomes stay (the paper's audit).

    Takes correct (n,); split (n,); design: which rows hang together, and how strongly. Returns callable: Takes a
    numpy.random.Generator, returns (n,) float64 of 0 and 1.

    Examples
    --------
    >>> draw = permuted_outcomes([0, 1, 1, 0, 1], ["train", "train", "train", "test", "test"])
    >>> y = draw(np.random.default_rng(0))
    >>> y[:3].sum(), y[3:].tolist()
    (np.float64(2.0), [0.0, 1.0])
    """
    check_lengths(correct=correct, split=split)
    y, names = check_correct(correct), np.asarray(split)
    parts = [np.flatnonzero(names == name) for name in ("train", "val")]
    dealt = [_dealt(y[rows], None if design is None else design.take(rows)) for rows in parts]

    def draw(rng: np.random.Generator) -> Floats:
        drawn = y.copy()
        for rows, deal in zip(parts, dealt, strict=True):
            drawn[rows] = deal(rng)
        return drawn

    return draw


def _dealt(correct: Floats, design: SurveyDesign | None) -> Resampler:
    """Permutations of outcomes: all alike, or those likelier that give rows of a group the same."""
    if design is None or design.correlation == 0:
        return lambda rng: rng.permutation(correct)
    # all rates are one, so two rows of a group take its number as often as they correlate
    uniform, falling = _uniform(len(correct), design, design.correlation), np.sort(correct)[::-1]

    def draw(rng: np.random.Generator) -> Floats:
        drawn = np.empty(len(correct))
        drawn[np.lexsort((rng.random(len(correct)), uniform(rng)))] = falling
        return drawn

    return draw


def _uniform(n: int, design: SurveyDesign | None, both: float) -> Resampler:
    """Uniform numbers, (n,): two rows of a group have the same one with the chance `both`."""
    if design is None or both == 0:
        return lambda rng: rng.random(n)
    size = np.bincount(design.group)
    with_others = size[design.group] > 1

    def draw(rng: np.random.Generator) -> Floats:
        # numbers of groups come from a stream of their own, so that rows without others draw what they always drew
        own, apart = rng.random(n), rng.spawn(1)[0]
        joins = with_others & (apart.random(n) < np.sqrt(both))
        return np.where(joins, apart.random(len(size))[design.group], own)

    return draw


def _both_join(rate: Floats, design: SurveyDesign) -> float:
    """Chance that two rows of a group both take its number, for their outcomes to correlate as they should.

    Over ordered pairs of a group, the sum of the covariances min(p, q) - p q, times this chance, is the sum of
    sqrt(p (1 - p) q (1 - q)), times the correlation. Where confidences of a group differ much, that may take more than
    certainty: then all rows take it, and no outcomes of these rates hang together more closely.
    """
    order = np.lexsort((rate, design.group))
    group, rising = design.group[order], rate[order]
    size = np.bincount(group)
    larger = np.cumsum(size)[group] - 1 - np.arange(len(group))
    spread = np.sqrt(rising * (1 - rising))
    # each row has the smaller rate of as many pairs as rows of its group come after it
    most = 2 * float(larger @ rising) - _pairs(group, rising)
    return min(1.0, design.correlation * _pairs(group, spread) / most) if most > 0 else 0.0


def _pairs(group: NDArray[np.int64], values: Floats) -> float:
    """Sum of the products of two values over ordered pairs of rows of a group."""
    sums = np.bincount(group, values)
    return float(sums @ sums - values @ values)


def null_audit(
    statistics: Statistics,
    resample: Resampler,
    correct: Floats,
    *,
    n_draws: int = EVIDENCE_DEFAULTS.null_draws,
    random_state: int | np.random.Generator = 0,
) -> dict[str, NullStatistic]:
    """Compare statistics of the data with those of draws from a null.

    Takes statistics: takes outcomes (n,), does all that was done to the data with them, and returns named finite
    numbers; resample: takes a numpy.random.Generator and returns outcomes (n,) of the null; correct (n,): the
    outcomes of the data; n_draws: refits.

    Examples
    --------
    >>> f = np.full(100, 0.5)
    >>> found = null_audit(lambda y: {"excess": y.mean() - 0.5}, bernoulli_outcomes(f), np.ones(100), n_draws=99)
    >>> found["excess"].p_value
    0.01
    """
    if n_draws < 1:
        raise InputError(f"n_draws must be at least 1; got {n_draws}")
    rng = np.random.default_rng(random_state)
    observed = _finite(statistics(check_correct(correct)))
    drawn = [_finite(statistics(resample(rng))) for _ in range(n_draws)]
    return {name: _compare(value, np.array([draw[name] for draw in drawn])) for name, value in observed.items()}


def _compare(observed: float, draws: Floats) -> NullStatistic:
    return NullStatistic(
        observed=observed,
        draws=tuple(draws.tolist()),
        mean=float(draws.mean()),
        std=float(draws.std(ddof=1)) if len(draws) > 1 else 0.0,
        # the data count as one of the draws, or the test would reject too often (Phipson & Smyth, 2010)
        p_value=(1 + int(np.sum(draws >= observed))) / (1 + len(draws)),
    )


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    if bad:
        raise InputError(f"every statistic must be a finite number; these are not: {', '.join(bad)}")
    return {name: float(value) for name, value in values.items()}
