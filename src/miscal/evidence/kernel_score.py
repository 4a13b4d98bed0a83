"""Do the inputs say anything of the outcomes that the confidence does not? A test that needs no fitted field.

If outcomes depend on the confidence alone, the residuals of rows of near-equal confidence may be dealt to these rows in
any other way. So the residuals e are shuffled within strata of the confidence, over all rows, and it is asked whether
they lie closer together in the inputs than shuffled ones do. Each of eight statistics is a sum of squares of smoothed
residuals, sum over j of w_j (sum over rows i of z_ij e_i)^2:

    linear        z_j the leading principal components of the inputs, w_j 1 or their variance
    local         z_j the weights exp(-d^2 / (s m)^2) of the rows around a landmark, d their distance, m the median
                  distance of two rows, s 1/2 and 1
    by cluster    z_j the rows of a k-means cluster over the root of their number, for 2, 4, 8 and 16 clusters

Of eight columns or more there is a ninth, for where one or few of them matter: the sum of the eighth powers of the
slopes of all columns and of their steps in the middle, each over its standard deviation under shuffles. It is all but
decided by the largest of them, and had more power than the largest alone where several columns matter. It counts as
much as the other eight together, since what one column of many says, they do not.

One set of shuffles serves all of them. The p-value of each statistic among the shuffles is known for the data and for
every shuffle alike, so the mean of their p^(-1/2) is too (a generalised mean: Vovk and Wang, Biometrika 107, 2020), and
its rank among those of the shuffles is an exact p-value: nothing is lost to testing several times. The exponent weighs
the smallest p-value against the agreement of several: on draws of eight worlds, the minimum had less power where most
statistics see something, and the product less where one alone does. (Each statistic is a variance component test, as
of Liu, Lin and Ghosh, Biometrics 63, 2007, whose law is shuffled.)

Rows that hang together make a sum vary more than shuffles of single rows show: each inner sum is then divided by the
root of its design effect, as in all tests of miscal. Rows that count unequally have their weight as a factor of z.

Cost: about rows x draws x (2 x 336 + 20) operations, in single precision; at most 50,000 rows (more are sampled) and
2e7 rows x draws (but no fewer than 399 draws), so never more than about 2e10 operations: some seconds. Memory: 336
numbers of 4 bytes a row, and some megabytes of shuffles at a time. Slopes and steps add two numbers for each column;
draws are then fewer, so that the operations are no more, but no fewer than 399.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import block_diag

from miscal.calibration.labelled_rows import LabelledRows
from miscal.estimators.auto.clusters import find_centres, nearest
from miscal.estimators.auto.inputs import fit_scaler
from miscal.estimators.kernel import median_distance
from miscal.evidence import settings
from miscal.evidence.blocks import rank_among_draws
from miscal.evidence.conditional import centred, given_count, shuffle_variances, strata

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]

_BLOCK_ROWS, _COLUMNS_AT_ONCE = 4_096, 32

_SAME = 1e-6
"""Standard deviation of confidences that are the same."""


@dataclass(frozen=True, eq=False)
class SmoothedResiduals:
    """Smoothed residuals of evaluation rows, and what they would be if the inputs said nothing.

    Attributes
    ----------
    sums : (1 + draws, m) float32
        Of the residuals, and of each shuffle of them.
    largest : (1 + draws, c) float64
        The ninth statistic, once for each time that it counts; c = 0 where there are few columns.
    factors : (n, m) float32
        What the residual of each row counts in each sum. Rows come in order of their confidence.
    weights : (m, k) float64 >= 0
        What the square of each sum counts in each of k statistics.
    places : (n, d) float32
        Components of the inputs.
    expected, mass : (n,) float64
        E[y | f], and how much each row counts, 1 on average.
    stratum : (n,) int64
        Of near-equal confidence.
    row : (n,) int64
        Number of the row in the data.
    """

    sums: Singles
    largest: Floats
    factors: Singles
    weights: Floats
    places: Singles
    expected: Floats
    mass: Floats
    stratum: Ints
    row: Ints

    @cached_property
    def statistics(self) -> Floats:
        """Statistics of the residuals and of each shuffle, (1 + draws, k + c)."""
        return np.concatenate([self.statistics_of(self.sums), self.largest], 1)

    def statistics_of(self, sums: Singles) -> Floats:
        """Statistics of sums, (draws, m), as (draws, k)."""
        return sums.astype(np.float64) ** 2 @ self.weights

    @cached_property
    def p_value(self) -> float:
        """P-value of the hypothesis that outcomes depend on the confidence alone, in (0, 1]."""
        return rank_among_draws(self.statistics)


def smoothed_residuals(
    X: NDArray[np.floating], rows: LabelledRows, random_state: int | np.random.Generator = 0
) -> SmoothedResiduals | None:
    """Smooth residuals in the inputs, to test whether outcomes depend on these given the confidence, without a field.

    Takes X (n, d): inputs of the rows. Returns: SmoothedResiduals, or None: None where there is nothing to compare,
    because no stratum has two different outcomes, or no input varies.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(1000, 3)), rng.uniform(0.3, 0.7, 1000)
    >>> found = smoothed_residuals(X, LabelledRows((rng.random(1000) < f).astype(float), f, f))
    >>> found.sums.shape, found.statistics.shape, found.p_value > 0.05
    ((2000, 289), (2000, 8), True)
    """
    rng = np.random.default_rng(random_state)
    most, at = min(settings.MOST_SCORE_ROWS, settings.MOST_SCORE_VALUES // max(1, X.shape[1])), np.arange(len(X))
    if len(X) > most:
        at = np.sort(rng.choice(len(X), most, replace=False))
    order = _order_by_values(inputs := X[at], rows.correct[at], rows.confidence[at])
    at, inputs = at[order], inputs[order]
    rows = rows.take(at)
    f, mass, stratum = rows.confidence, rows.mass, strata(rows.confidence, settings.SCORE_STRATUM_ROWS, rows.group)
    e = given_count(rows.correct, rows.expected, stratum)
    smoothers = smoothers_of(inputs, f, rng)
    if not e.any() or smoothers is None:
        return None
    columns, weights, places = smoothers
    factors, alone = (_factors(some, f, stratum, mass) for some in (columns, columns_alone(inputs)))
    scale, alone_scale = (_deflation(some, e, stratum, rows) for some in (factors, alone))
    alone = alone / _shuffled_deviation(alone, e, stratum)
    work = settings.SCORE_WORK // len(rows) * factors.shape[1] // (factors.shape[1] + alone.shape[1])
    draws = int(np.clip(work, settings.LEAST_SCORE_DRAWS, settings.N_DRAWS))
    single = e.astype(np.float32)[None]
    sums, largest = [single @ factors * scale], [_softly_largest(single @ alone * alone_scale)]
    for dealt in shuffles(e, stratum, draws, rng):
        sums.append(dealt @ factors)
        largest.append(_softly_largest(dealt @ alone))
    times = settings.COLUMN_WEIGHT if alone.shape[1] else 0
    most = np.repeat(np.concatenate(largest)[:, None], times, axis=1)
    # residuals that hang together say less: what else is summed counts as much less
    factors = factors * scale
    return SmoothedResiduals(np.concatenate(sums), most, factors, weights, places, rows.expected, mass, stratum, at)


def columns_alone(X: NDArray[np.floating]) -> Singles:
    """Slopes of columns, standardised, and their steps in the middle, (n, c); none of few columns, or of too many.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(50, 9))
    >>> columns_alone(X).shape, columns_alone(X[:, :3]).shape
    ((50, 18), (50, 0))
    """
    n, d = X.shape
    kinds = min(2, settings.MOST_COLUMN_VALUES // max(1, n * d))
    if d < settings.LEAST_COLUMNS or kinds == 0:
        return np.zeros((n, 0), dtype=np.float32)
    found = np.empty((n, kinds * d), dtype=np.float32)
    for start in range(0, d, _COLUMNS_AT_ONCE):
        some = X[:, start : start + _COLUMNS_AT_ONCE].astype(np.float64)
        place = slice(start, start + some.shape[1])
        found[:, place] = (some - some.mean(0)) / np.maximum(some.std(0), np.finfo(float).tiny)
        if kinds == 2:
            found[:, d + start : d + place.stop] = some > np.median(some, axis=0)
    return found


def _softly_largest(sums: Singles) -> Floats:
    """Sum of eighth powers of each draw, (draws,)."""
    fourth = np.square(np.square(sums))
    return np.einsum("ij,ij->i", fourth, fourth, dtype=np.float64)


def _shuffled_deviation(factors: Singles, e: Floats, stratum: Ints) -> Singles:
    """Return the standard deviation of each sum under shuffles, (m,); infinite where nothing varies."""
    first, rows = np.flatnonzero(np.diff(stratum, prepend=-1)), np.bincount(stratum)
    spread = np.bincount(stratum, e**2) - np.bincount(stratum, e) ** 2 / rows
    # permuting m rows gives sum e z the variance sum e^2 sum z^2 / (m - 1), both about their means
    share = spread / np.maximum(rows - 1, 1)
    squares = np.add.reduceat(factors**2, first) - np.add.reduceat(factors, first) ** 2 / rows[:, None]
    variance = share @ squares
    return np.where(variance > _SAME * variance.max(initial=0.0), np.sqrt(np.maximum(variance, 0)), np.inf).astype(
        np.float32
    )


def _order_by_values(X: NDArray[np.floating], correct: Floats, confidence: Floats) -> Ints:
    """Sort the rows by their own values, so that the result does not depend on the order of the rows in the data."""
    direction = np.cos(np.arange(X.shape[1]))
    # rows that agree in this number are equal, but for coincidences; in blocks, as double precision takes memory
    parts = [X[i : i + _BLOCK_ROWS].astype(np.float64) @ direction for i in range(0, len(X), _BLOCK_ROWS)]
    return np.lexsort((correct, np.concatenate(parts), confidence))


def smoothers_of(
    X: NDArray[np.floating], confidence: Floats, rng: np.random.Generator
) -> tuple[Singles, Floats, Singles] | None:
    """Smooth by components, around landmarks and by cluster; None where no input varies. No outcome is looked at.

    Returns factors of the residuals in m sums (n, m), what the square of each sum counts in each of k statistics
    (m, k), and the components of the inputs (n, d).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> columns, weights, _ = smoothers_of(rng.normal(size=(500, 3)), rng.random(500), rng)
    >>> columns.shape, weights.shape
    ((500, 289), (289, 8))
    """
    places = fit_scaler(X, confidence, rng)(X, confidence).components
    if places.shape[1] == 0:
        return None
    blocks = [(places, np.column_stack([np.ones(places.shape[1]), places.var(0, dtype=np.float64)]))]
    landmarks = places[np.sort(rng.choice(len(places), min(settings.SCORE_LANDMARKS, len(places)), replace=False))]
    # |x - l|^2 from products; rounding can make it negative
    squares = (places**2).sum(1)[:, None] + (landmarks**2).sum(1) - 2 * (places @ landmarks.T)
    near = -np.maximum(squares, 0) / np.float32(median_distance(places, rng) ** 2)
    blocks += [_alone(np.exp(near / np.float32(scale**2))) for scale in settings.SCORE_WIDTHS]
    for centres in find_centres(places, settings.SCORE_CLUSTERS, int(rng.integers(2**31))):
        member = np.eye(len(centres), dtype=np.float32)[nearest(places, centres)]
        blocks.append(_alone(member / np.sqrt(np.maximum(member.sum(0), 1))))
    columns, weights = zip(*blocks, strict=True)
    return np.concatenate(columns, 1), block_diag(*weights), places


def _alone(columns: Singles) -> tuple[Singles, Floats]:
    """Columns whose squares add up to one statistic."""
    return columns, np.ones((columns.shape[1], 1))


def _factors(columns: Singles, confidence: Floats, stratum: Ints, mass: Floats) -> Singles:
    """Columns less their regression on the confidence within strata, times what the rows count.

    Where few rows share a range of confidences, strata are wide, and inputs that follow the confidence would meet what
    a regression of the outcome on it has missed. Rows come stratum by stratum.
    """
    first = np.flatnonzero(np.diff(stratum, prepend=-1))
    mass = mass[:, None]

    def means(values: NDArray[np.floating]) -> NDArray[np.floating]:
        sums = np.add.reduceat(mass * values, first)
        return (sums / np.maximum(np.add.reduceat(mass, first), np.finfo(float).tiny))[stratum]

    along = confidence[:, None] - means(confidence[:, None])
    spread = means(along**2)
    # confidences that differ by rounding alone have no slope
    along = np.where(spread > _SAME**2, along / np.sqrt(np.maximum(spread, _SAME**2)), 0.0)
    factors = np.empty_like(columns)
    for part in range(0, columns.shape[1], _COLUMNS_AT_ONCE):
        some = columns[:, part : part + _COLUMNS_AT_ONCE].astype(np.float64)
        some -= means(some)
        factors[:, part : part + _COLUMNS_AT_ONCE] = mass * (some - along * means(along * some))
    return factors


def _deflation(factors: Singles, e: Floats, stratum: Ints, rows: LabelledRows) -> Singles:
    """Return what each inner sum is multiplied by, (m,): one over the root of its design effect."""
    if rows.group is None:
        return np.ones(factors.shape[1], dtype=np.float32)
    effects = []
    # one column after the other: all of them as float64 would take more memory than the rest of a run
    for column in (one.astype(np.float64) for one in factors.T):
        shuffled = float(shuffle_variances(centred(e, stratum), centred(column, stratum), stratum).sum())
        effects.append(rows.design.design_effect(column, rows.residual, rows.variance, independent=shuffled))
    return (1 / np.sqrt(effects)).astype(np.float32)


def shuffles(e: Floats, stratum: Ints, draws: int, rng: np.random.Generator) -> Iterator[Singles]:
    """Shuffle values within strata, some draws at a time, each (k, n).

    Examples
    --------
    >>> e, stratum = np.array([1.0, -1.0, 0.5, -0.5]), np.array([0, 0, 1, 1])
    >>> (drawn,) = shuffles(e, stratum, 4, np.random.default_rng(0))
    >>> drawn.shape, np.abs(drawn).tolist()[0]
    ((4, 4), [1.0, 1.0, 0.5, 0.5])
    """
    order, rows = np.argsort(stratum, kind="stable"), np.bincount(stratum)
    # strata of one size lie in one table, and are shuffled by one call
    tables = [order[(rows == size)[stratum[order]]].reshape(-1, size) for size in np.unique(rows[rows > 0])]
    single, step = e.astype(np.float32), max(1, settings.SHUFFLED_IN_MEMORY // len(e))
    for start in range(0, draws, step):
        dealt = np.empty((min(step, draws - start), len(e)), dtype=np.float32)
        for table in tables:
            dealt[:, table] = rng.permuted(np.broadcast_to(single[table], (len(dealt), *table.shape)), axis=2)
        yield dealt
