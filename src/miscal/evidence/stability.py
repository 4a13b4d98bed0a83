"""Whether other seeds find the same field, and the paper's bootstrap of its worst slice.

Its percentiles show how far the numbers move from sample to sample. They are not confidence intervals of the
population gap, because the smooth calibration error of resampled rows is biased upwards;
:func:`miscal.calibration.metrics.gap.measure_gap` gives such an interval.

Beside them: what the whole pipeline finds where there is nothing to find. A resampler draws outcomes for a world
without the structure in question; the statistic refits everything on them and measures the result. Three hypotheses,
kept apart because they differ:

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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows, drawn_counts, labelled
from miscal.calibration.metrics.confidence_cells import ConfidenceCells, merge, simulate, smece_statistic
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS, worst_slice
from miscal.calibration.survey_design import SurveyDesign, correlation
from miscal.evidence import settings

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
    >>> bernoulli_outcomes(np.array([0.0, 1.0]))(np.random.default_rng(0)).tolist()
    [0.0, 1.0]
    >>> pairs = SurveyDesign(np.array([0, 0, 1, 1]), 1.0)
    >>> bernoulli_outcomes(np.full(4, 0.5), pairs)(np.random.default_rng(1)).tolist()
    [1.0, 1.0, 0.0, 0.0]
    """
    uniform = _uniform(len(probability), design, 0.0 if design is None else _both_join(probability, design))
    return lambda rng: (uniform(rng) < probability).astype(np.float64)


def permuted_outcomes(correct: Floats, split: NDArray[np.str_], design: SurveyDesign | None = None) -> Resampler:
    """Outcomes permuted among the train rows and among the validation rows; test outcomes stay (the paper's audit).

    Takes correct (n,); split (n,); design: which rows hang together, and how strongly. Returns callable: Takes a
    numpy.random.Generator, returns (n,) float64 of 0 and 1.

    Examples
    --------
    >>> draw = permuted_outcomes(np.array([0.0, 1, 1, 0, 1]), np.array(["train"] * 3 + ["test"] * 2))
    >>> y = draw(np.random.default_rng(0))
    >>> y[:3].sum(), y[3:].tolist()
    (np.float64(2.0), [0.0, 1.0])
    """
    parts = [np.flatnonzero(split == name) for name in ("train", "val")]
    dealt = [_dealt(correct[rows], None if design is None else design.take(rows)) for rows in parts]

    def draw(rng: np.random.Generator) -> Floats:
        drawn = correct.copy()
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
    n_draws: int = settings.NULL_DRAWS,
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
    rng = np.random.default_rng(random_state)
    observed = _finite(statistics(correct))
    drawn = [_finite(statistics(resample(rng))) for _ in range(n_draws)]
    found = {}
    for name, value in observed.items():
        draws = [draw[name] for draw in drawn]
        some = spread(draws)
        # the data count as one of the draws, or the test would reject too often (Phipson & Smyth, 2010)
        p_value = (1 + sum(one >= value for one in draws)) / (1 + n_draws)
        found[name] = NullStatistic(value, tuple(draws), some.mean, some.std, p_value)
    return found


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    if bad:
        raise InputError(f"every statistic must be a finite number; these are not: {', '.join(bad)}")
    return {name: float(value) for name, value in values.items()}


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation of a number over repetitions; None if undefined.

    The standard deviation divides by n - 1, and is 0 for one value.
    """

    mean: float | None
    std: float | None


def spread(values: Sequence[float]) -> Spread:
    """Return mean and standard deviation.

    Examples
    --------
    >>> spread([1.0, 3.0]).mean, round(spread([1.0, 3.0]).std, 3), spread([]).mean
    (2.0, 1.414, None)
    """
    if not len(values):
        return Spread(None, None)
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0)


@dataclass(frozen=True)
class SeedPair:
    """Agreement of the fields of two seeds.

    Attributes
    ----------
    a, b : int
        Their numbers, from 0 in the order given; a < b.
    correlation : float or None
        Pearson; None where one of the fields is constant.
    sign_agreement : float
        Share of rows on which the two signs agree.
    sign_by_chance : float
        That share for unrelated fields with as many rows of each sign: more than half where one sign prevails.
    """

    a: int
    b: int
    correlation: float | None
    sign_agreement: float
    sign_by_chance: float


@dataclass(frozen=True)
class Stability:
    """Agreement of the fields of several seeds on the same test rows.

    Attributes
    ----------
    n_seeds : int
    correlation : Spread
        Pearson, over the pairs of seeds without a constant field; None where there is no such pair.
    sign_agreement : Spread
        Share of rows on which the two signs agree, over the same pairs; a field of 0 agrees only with another 0.
    field_std : Spread
        Standard deviation of the field, over seeds.
    gap : Spread
        Worst-slice gap, over seeds; None where no gaps are given.
    n_undefined : int
        Pairs with a constant field, which both leave out.
    pairs : tuple of SeedPair
        Every two seeds.
    """

    n_seeds: int
    correlation: Spread
    sign_agreement: Spread
    field_std: Spread
    gap: Spread
    n_undefined: int
    pairs: tuple[SeedPair, ...]


def seed_stability(fields: Sequence[Floats], *, gaps: Sequence[float] = ()) -> Stability:
    """Compare the fields that several seeds found.

    Takes fields (k, n): one field (positive: under-confident) per seed, on the same rows; gaps: the worst-slice gap
    of each seed's field.

    Examples
    --------
    >>> found = seed_stability([[0.1, -0.2, 0.3], [0.2, -0.4, 0.6]])
    >>> round(found.correlation.mean, 6), found.sign_agreement.mean
    (1.0, 1.0)
    """
    values = np.asarray(fields)
    pairs = tuple(_agreement(values, a, b) for a, b in combinations(range(len(values)), 2))
    defined = [pair for pair in pairs if pair.correlation is not None]
    return Stability(
        n_seeds=len(values),
        correlation=spread([pair.correlation for pair in defined]),
        # of the same pairs, so that both say something of the same fields
        sign_agreement=spread([pair.sign_agreement for pair in defined]),
        field_std=spread(values.std(axis=1).tolist()),
        gap=spread(list(gaps)),
        n_undefined=len(pairs) - len(defined),
        pairs=pairs,
    )


def _agreement(values: np.ndarray, a: int, b: int) -> SeedPair:
    signs = np.sign(values[[a, b]])
    # shares of rows that are negative, 0 and positive, in each of the two fields
    shares = np.stack([(signs == sign).mean(axis=1) for sign in (-1, 0, 1)])
    return SeedPair(
        a=a,
        b=b,
        correlation=correlation(values[a], values[b]),
        sign_agreement=float(np.mean(signs[0] == signs[1])),
        sign_by_chance=float(shares.prod(axis=1).sum()),
    )


@dataclass(frozen=True)
class Replicates:
    """A number on the data and on resampled rows.

    Attributes
    ----------
    value : float
        On the data.
    mean : float
        Of the replicates.
    mean_clipped : float
        Of max(0, replicate), as in the paper's Table 5, none of whose lower ends is negative.
    low, high : float
        2.5 % and 97.5 % quantiles of the replicates.
    """

    value: float
    mean: float
    mean_clipped: float
    low: float
    high: float


@dataclass(frozen=True)
class SliceBootstrap:
    """Bootstrap of the worst slice.

    Attributes
    ----------
    worst : str or None
        "over" or "under"; None where both slices are too small, and then so are the other two.
    gap : Replicates or None
        smECE of that slice less smECE of all rows.
    share : Replicates or None
        Share of all rows in it.
    """

    worst: str | None
    gap: Replicates | None
    share: Replicates | None


def slice_bootstrap(
    correct: Floats,
    confidence: Floats,
    regime: NDArray[np.object_],
    *,
    min_rows: int = MIN_SLICE_ROWS,
    groups: NDArray | None = None,
    weights: Floats | None = None,
    factor: float = 1.0,
    n_draws: int = settings.BOOTSTRAP_DRAWS,
    random_state: int | np.random.Generator = 0,
) -> SliceBootstrap:
    """Bootstrap gap and size of the slice that is worst on the data.

    Takes correct (n,); confidence (n,); regime (n,): "over", "under", anything else or None: as cut from a field that
    saw none of these outcomes; min_rows: rows that a slice needs; groups (n,): rows of equal value may hang together,
    and are drawn together; weights (n,): how much each row counts; factor: of the
    deviations of the draws from their mean, as of a survey design.

    Examples
    --------
    >>> y, regime = np.tile([0.0, 1.0], 100), np.tile(["over", "under"], 100)
    >>> found = slice_bootstrap(y, np.full(200, 0.5), regime, n_draws=200)
    >>> found.gap.low < found.gap.value and found.share.low < 0.5 < found.share.high
    True
    """
    observed = worst_slice(correct, confidence, regime, min_rows=min_rows, sample_weight=weights)
    if observed.worst is None or observed.value is None:
        return SliceBootstrap(None, None, None)
    rows, inside = labelled(correct, confidence, groups, None), regime == observed.worst
    rng = np.random.default_rng(random_state)
    alone = rows.group is None or rows.n_units == len(rows)
    if alone and weights is None:
        gaps, shares = _of_rows(rows, inside, n_draws, rng)
    else:
        weight = np.ones(len(rows)) if weights is None else weights
        rows = replace(rows, design=SurveyDesign(None if alone else rows.group, 0.0, weight))
        gaps, shares = _of_groups(rows, inside, n_draws, rng)
    if factor != 1.0:
        gaps, shares = (draws.mean() + factor * (draws - draws.mean()) for draws in (gaps, shares))
    share = float(np.average(inside, weights=weights))
    return SliceBootstrap(observed.worst, _replicates(observed.value, gaps), _replicates(share, shares.clip(0.0, 1.0)))


def _of_rows(
    rows: LabelledRows, inside: np.ndarray, n_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Gap and share of a slice in draws of rows, (n_draws,) each."""
    cells = merge(rows, inside.astype(np.int64))
    part, whole = smece_statistic(cells, cells.label == 1), smece_statistic(cells)
    # outcomes drawn at a cell's own rate have the law of rows that keep theirs, and whole cells are drawn at once
    gaps = simulate(cells, cells.rate, lambda r, m: part(r, m) - whole(r, m), n_draws, rng, resample=True)
    # how many of n rows drawn with replacement are inside
    return gaps, rng.binomial(len(rows), inside.mean(), size=n_draws) / len(rows)


def _of_groups(
    rows: LabelledRows, inside: np.ndarray, n_draws: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Gap and share of a slice in draws of whole groups, (n_draws,) each, at the cost of a smECE for each draw."""
    n, correct, confidence = len(rows), rows.correct, rows.confidence
    # rows of one cell are of several groups and weights, so that each row is a cell here
    n_cells = merge(rows).n_cells
    cells = ConfidenceCells(confidence, np.ones(n), correct, rows.shares, inside.astype(np.int64), n_cells)
    part, whole = smece_statistic(cells, inside), smece_statistic(cells)
    gaps, shares = [], []
    for counts in drawn_counts(n, rows.group, n_draws, rng):
        mass = counts * cells.weight
        residual = mass * (correct - confidence)
        gaps.append(part(residual, mass) - whole(residual, mass))
        shares.append(mass[:, inside].sum(axis=1) / mass.sum(axis=1))
    return np.concatenate(gaps), np.concatenate(shares)


def _replicates(value: float, draws: np.ndarray) -> Replicates:
    low, high = np.quantile(draws, [0.025, 0.975])
    return Replicates(float(value), float(draws.mean()), float(np.maximum(draws, 0.0).mean()), float(low), float(high))
