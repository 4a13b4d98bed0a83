"""Rows that hang together or count unequally, and how much that adds to the variance of a sum of their residuals.

Several answers to one question, or several visits of one patient, say less than as many independent rows. If the
residuals of one group correlate by rho (the intra-class correlation), a sum of a_i e_i has, in place of the variance
sum a_i^2 v_i of independent rows,

    (1 - rho) sum a_i^2 v_i  +  rho sum over groups of (sum of a_i sqrt(v_i))^2.

The ratio of the two is the design effect (Kish, "Survey Sampling", 1965): n rows count for n over the design effect.
Every statement of miscal about outcomes allows for it in this one way: a sum is divided by its square root, or a number
of rows by itself.

rho is estimated from all rows at once, by moments (the sum of e_i e_j over the pairs of a group, over that of
sqrt(v_i v_j)). Groups need not be alike, though, so the variance that the groups' own sums show, sum over groups of
(sum of a_i e_i)^2 (the sandwich of Liang and Zeger, Biometrika 73, 1986), is taken where it is larger. Neither is known
well from few groups, so the design effect is multiplied by the squared ratio of Student's quantile, with one degree of
freedom less than there are groups, to the normal one (Korn and Graubard, Survey Methodology 24, 1998).

Rows may also stand for unequally many of the rows that a statement is about: survey weights, or importance weights. A
weight w_i then enters every sum as a factor of a_i. Only the ratios of weights matter: they do not say how often a row
was seen. n rows of unequal weight say less of a mean than n alike, by the design effect n sum w_i^2 / (sum w_i)^2
(Kish, 1965), or, where the rows that vary most have the largest weights, by more. Weights must not depend on the
outcome, given input and confidence.

Pairs of groups of two columns: which stand out by themselves, and beside both groups that they are of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Sums = Any
"""A number, or one for each of many sets of rows."""

PAIRS_SEEN = 2.0
"""Added to both sums over (ordered) pairs: one more pair that agrees wholly. Where wrong answers are so rare that
hardly any group could hold two, the groups cannot show that they do not hang together, and are taken to. Not tuned."""

_TWO_SIDED = 0.975
"""Probability of the quantiles whose ratio allows for few groups. A convention: that of intervals at 95 %."""


class SummedColumns(Protocol):
    """m columns of numbers, of which sums over rows are known."""

    def __len__(self) -> int: ...

    def squared_sums(self, values: Floats) -> Floats:
        """Return the sum of values (n,) over the rows, each times the squared number of the column, (m,)."""
        ...

    def products(self, stratum: Ints, left: Floats, right: Floats, factor: Floats, *, squared: bool = False) -> Floats:
        """Add up over strata a factor (s,) times the product of the columns' sums of `left` and of `right`, (m,)."""
        ...


@dataclass(frozen=True, eq=False)
class SurveyDesign:
    """Rows in groups, how strongly the outcomes of a group hang together, and how much each row counts.

    Attributes
    ----------
    group : (n,) int64, or None
        Number of each row's group; None: all rows are independent.
    correlation : float in [0, 1]
        Intra-class correlation of the residuals.
    weight : (n,) float64 >= 0, or None
        For how many rows each stands, up to a common factor; None: for equally many.
    factor : float >= 1
        Of every standard error, where groups hang together, too, as weeks do where days are the groups.
    """

    group: Ints | None
    correlation: float
    weight: Floats | None = None
    factor: float = 1.0

    @classmethod
    def of(
        cls,
        group: NDArray | None,
        residual: Floats,
        variance: Floats,
        weight: NDArray | None = None,
        factor: float = 1.0,
    ) -> SurveyDesign | None:
        """Estimate how strongly the rows of a group hang together.

        Takes group (n,): equal values: one group; residual (n,): outcome less its rate; variance (n,): of the
        outcome, given its rate p: p (1 - p); weight (n,): how much each row counts. Returns: SurveyDesign or None:
        None where every group has one row and all weights are equal.

        Examples
        --------
        >>> e = np.repeat([0.5, -0.5, 0.5, -0.5], 50)
        >>> one = SurveyDesign.of(np.arange(200) // 2, e, np.full(200, 0.25))
        >>> one.correlation, SurveyDesign.of(np.arange(200), e, np.full(200, 0.25)) is None
        (1.0, True)
        """
        weight = None if weight is None or len(weight) == 0 or np.ptp(weight) == 0 else np.asarray(weight, np.float64)
        number = None if group is None else np.unique(group, return_inverse=True)[1].astype(np.int64)
        if number is None or len(number) == 0 or number.max() + 1 == len(number):
            return None if weight is None else cls(None, 0.0, weight)
        pairs = _squares(number, residual) - float(residual @ residual)
        most = _squares(number, np.sqrt(variance)) - float(variance.sum())
        correlation = float(np.clip((pairs + PAIRS_SEEN) / (most + PAIRS_SEEN), 0.0, 1.0))
        return cls(number, correlation, weight, factor)

    def take(self, rows: NDArray) -> SurveyDesign:
        """Return the groups and weights of some rows, by number or by a boolean mask; the correlation stays."""
        parts = {name: None if (v := getattr(self, name)) is None else v[rows] for name in ("group", "weight")}
        return replace(self, **parts)

    def design_effect(
        self, weight: Floats, residual: Floats, variance: Floats, *, independent: float | None = None
    ) -> float:
        """Variance of sum weight * residual, over what it would be if the rows were independent; at least 1.

        Takes weight (n,): factor of each residual in the sum, fixed before the outcomes; residual (n,): outcome less
        its rate; variance (n,): of each residual; independent: what the caller takes for the variance under
        independence.

        Examples
        --------
        >>> pairs = SurveyDesign(np.arange(1000) // 2, 0.3)
        >>> e = np.tile([0.5, 0.5, 0.5, -0.5, -0.5, -0.5, -0.5, 0.5], 125)
        >>> round(pairs.design_effect(np.ones(1000), e, np.full(1000, 0.25)), 2)
        1.31
        """
        base = float(weight**2 @ variance) if independent is None else independent
        if self.group is None or base <= 0:
            return 1.0
        scaled = weight * np.sqrt(variance)
        own, together = float(scaled @ scaled), _squares(self.group, scaled)
        groups = float(equal_parts(np.bincount(self.group, scaled**2)))
        return float(self._effect(own, together, _squares(self.group, weight * residual), base, groups))

    def design_effects(self, columns: SummedColumns, residual: Floats, variance: Floats) -> Floats:
        """Design effects of the sums over many columns of numbers times residuals, (m,).

        As in :meth:`design_effect`, what a row counts must be a factor of its residual.
        """
        if self.group is None:
            return np.ones(len(columns))
        return self.effects_of(
            columns, self.group, columns.squared_sums(variance), variance, np.sqrt(variance), residual
        )

    def effects_of(
        self, columns: SummedColumns, group: Ints, known: Floats, variance: Floats, spread: Floats, residual: Floats
    ) -> Floats:
        """Return the same of columns of rows in groups, whose sums have the `known` variance (m,) if independent."""
        each = np.ones(int(group.max()) + 1)
        # as of one sum: rows whose outcomes cannot vary have nothing in common
        base = np.where(known > 0, known, 1.0)
        parts = columns.products(group, variance, variance, each, squared=True)
        groups = base**2 / np.maximum(parts, np.finfo(float).tiny)
        together, seen = (columns.products(group, values, values, each) for values in (spread, residual))
        return np.where(known > 0, self._effect(base, together, seen, base, groups), 1.0)

    def _effect(self, own: Sums, together: Sums, seen: Sums, base: Sums, groups: Sums) -> Sums:
        """Larger of the two variances over that of independent rows, `base`, made larger where groups are few.

        `own` and `together` are the two sums of the model, `seen` the squares of the groups' sums, and `groups` as many
        groups of equal parts of the variance as say as much.
        """
        model = (1 - self.correlation) * own + self.correlation * together
        return np.maximum(1.0, np.maximum(model, seen) / base * fewness(np.maximum(groups, 1.0))) * self.factor**2


def shares(weight: Floats | None, n: int) -> Floats:
    """Return weights that sum to 1; equal ones where none are given, or all are 0.

    Examples
    --------
    >>> shares(np.array([1.0, 3.0]), 2).tolist(), shares(None, 2).tolist()
    ([0.25, 0.75], [0.5, 0.5])
    """
    if weight is None or not weight.any():
        return np.full(n, 1 / n)
    return weight / weight.sum()


def average(values: Floats, weight: Floats | None) -> float:
    """Return the mean of some rows, weighted if weights are given that are not all 0.

    Examples
    --------
    >>> average(np.array([0.0, 1.0]), None), average(np.array([0.0, 1.0]), np.array([1.0, 3.0]))
    (0.5, 0.75)
    """
    if weight is None:
        return float(values.mean())
    # rounding must not take a mean beyond what it is of: a share of more than 1 would be refused
    return float(np.clip(shares(weight, len(values)) @ values, values.min(), values.max()))


def spread(values: Floats, weight: Floats | None) -> float:
    """Return the standard deviation of some rows, weighted if weights are given.

    Examples
    --------
    >>> spread(np.array([0.0, 1.0]), None), spread(np.array([0.0, 2.0, 2.0]), np.array([2.0, 1.0, 1.0]))
    (0.5, 1.0)
    """
    return average((values - average(values, weight)) ** 2, weight) ** 0.5


def correlation(a: Floats, b: Floats, weight: Floats | None = None) -> float | None:
    """Pearson correlation, None where one side is constant up to rounding.

    Takes a, b (n,): values; weight (n,): how much each row counts. Returns float or None: In [-1, 1].

    Examples
    --------
    >>> correlation(np.array([0.0, 1.0]), np.array([2.0, 4.0])), correlation(np.zeros(2), np.arange(2.0))
    (1.0, None)
    """
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    spreads = spread(a, weight), spread(b, weight)
    if min(spreads) < 1e-12:
        return None
    together = average((a - average(a, weight)) * (b - average(b, weight)), weight)
    return float(np.clip(together / (spreads[0] * spreads[1]), -1.0, 1.0))


def kish(weight: Floats, variance: Floats, squares: Floats | None = None, rows: int = 0) -> float:
    """Design effect of a mean of independent rows of unequal weight.

    Takes weight (n,): sums to 1; variance (n,): of each outcome, up to a common factor. Of cells, squares (n,): sums of
    the squared weights of their rows, and how many rows they are. Returns float >= 1: n sum w^2 (Kish, 1965), or n sum
    w^2 v / sum w v, if that is more.

    Examples
    --------
    >>> kish(np.array([0.25, 0.75]), np.ones(2)), kish(np.full(2, 0.5), np.array([0.1, 0.2]))
    (1.25, 1.0)
    """
    if squares is None:
        if np.ptp(weight) == 0:
            return 1.0
        squares, rows = weight**2, len(weight)
    mean = float(weight @ variance)
    return rows * max(float(squares.sum()), float(squares @ variance) / mean if mean > 0 else 0.0)


def effect_of_groups(residual: Floats, groups: NDArray | None, weight: Floats | None = None) -> float:
    """Design effect of a mean, as the residuals of the rows show it by themselves; 1 where no groups are given.

    Takes residual (n,): what is left of each row's value: it adds up to about 0; groups (n,): equal values: one
    group; weight (n,): of the rows in the mean. Of 0 and 1 that are rare, `effect_of_mean` of their expected rates is
    meant. Returns float >= 1: What the groups add: the mean of independent rows
    of the same weights has design effect 1.

    Examples
    --------
    >>> effect_of_groups(np.tile([0.5, 0.5, -0.5, -0.5], 250), None)
    1.0
    >>> round(effect_of_groups(np.tile([0.5, 0.5, -0.5, -0.5], 250), np.arange(1000) // 2), 1)
    2.0
    """
    known = SurveyDesign.of(groups, residual, residual**2)
    if known is None:
        return 1.0
    return known.design_effect(np.ones(len(residual)) if weight is None else weight, residual, residual**2)


def fewness(groups: NDArray | float) -> NDArray | float:
    """Squared ratio of Student's quantile to the normal one: what few groups cost.

    Examples
    --------
    >>> fewness(np.array([15.0, 1000.0])).round(2).tolist()
    [1.2, 1.0]
    """
    from scipy.special import ndtri, stdtrit

    return (stdtrit(np.maximum(np.asarray(groups) - 1.0, 1.0), _TWO_SIDED) / ndtri(_TWO_SIDED)) ** 2


def equal_parts(part: Sums) -> Sums:
    """Return of how many equal parts, (m,) or (m, k) of which not all are 0, the sum would vary as this one does.

    Examples
    --------
    >>> float(equal_parts(np.array([1.0, 1.0, 2.0, 0.0])))
    2.6666666666666665
    """
    return np.sum(part, axis=0) ** 2 / np.maximum(np.sum(part**2, axis=0), np.finfo(float).tiny)


def deflated(p_value: float, effect: float) -> float:
    """Two-sided p-value whose normal score is divided by the root of the design effect.

    Examples
    --------
    >>> round(deflated(0.01, 2.0), 3), deflated(0.01, 1.0)
    (0.069, 0.01)
    """
    from scipy.special import ndtr, ndtri

    return p_value if effect == 1.0 else float(2 * ndtr(ndtri(p_value / 2) / np.sqrt(effect)))


def units_of(group: Ints | None, confidence: Floats) -> tuple[Ints, Ints]:
    """Find the rows that say as much of the confidence as they do once: equal confidences of one group.

    Takes group (n,) int64: none: every row is a unit of its own; confidence (n,). Returns first : (u,) int64: A row
    of each unit; unit : (n,) int64: Unit of each row.

    Examples
    --------
    >>> first, unit = units_of(np.array([0, 0, 1, 1]), np.array([0.5, 0.5, 0.5, 0.7]))
    >>> first.tolist(), unit.tolist()
    ([0, 2, 3], [0, 0, 1, 2])
    """
    if group is None:
        every = np.arange(len(confidence))
        return every, every
    both = np.column_stack([group.astype(np.float64), confidence])
    _, first, unit = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return first, unit.ravel()


def _squares(group: Ints, values: Floats) -> float:
    """Sum over groups of the square of the sum of their values."""
    sums = np.bincount(group, values)
    return float(sums @ sums)


def intraclass_score(residual: Floats, unit: Ints) -> float:
    """Score of the intraclass correlation, over its standard error where rows are independent.

    T = sum over units of (sum e)^2 - sum e^2 adds up the products of the residuals of two rows of a unit: the score of
    a random intercept for each unit (Jacqmin-Gadda and Commenges, Biometrics 51, 1995). Where rows are independent its
    variance is that of the products, 2 ((sum e^2)^2 - sum e^4) added up over units.

    Takes residual (n,): outcome less its rate, as units that do not hold the row have taught it; unit (n,) int64:
    number of each row's unit, from 0. Returns float: About standard normal where rows are independent.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(50), 20)
    >>> e = (rng.random(1000) < np.repeat(rng.uniform(0.2, 0.8, 50), 20)) - 0.5
    >>> bool(intraclass_score(e, day) > 6), bool(intraclass_score(e, rng.permutation(day)) < 3)
    (True, True)
    """
    sums, squares, fourth = (np.bincount(unit, residual**power) for power in (1, 2, 4))
    variance = float(2 * np.sum(squares**2 - fourth))
    return float(np.sum(sums**2 - squares)) / np.sqrt(variance) if variance > 0 else 0.0


def widening(residual: Floats, unit: Ints) -> float:
    """How many times as wide the interval of a mean is by units as by rows, as the residuals show it; 0 or more.

    Examples
    --------
    >>> widening(np.array([0.5, 0.5, -0.5, -0.5]), np.array([0, 0, 1, 1]))
    1.4142135623730951
    """
    sums = np.bincount(unit, residual)
    return float(np.sqrt(sums @ sums / max(float(residual @ residual), np.finfo(float).tiny)))


BESIDE = 2.5
"""Standard score that a pair of small groups needs beside both of them, less of larger ones: a group that is off takes
all of its pairs along, few of which say more than it does. Not tuned."""
_LEFT = 0.05
"""Share of a pair's variance that its groups must leave."""


def pair_scores(total: Floats, known: Floats, rising: tuple[bool, bool] = (False, False)) -> Floats:
    """Return the standard score of each pair against all other rows; 0 where it has none given both of its groups.

    `total, known`, (k1, k2): sums of residuals, and of their variances, over the rows of each cell of two columns, as
    if all rows were independent. `rising`: of which column a group is not a cell, but all cells from one on.

    Examples
    --------
    >>> pair_scores(np.array([[24.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.full((2, 3), 25.0)).round(1).tolist()
    [[4.4, 0.0, 0.0], [-0.9, 0.0, 0.0]]
    """
    every = known.sum()
    t, v = (
        [from_one_on(part, rising) for part in (some, some.sum(1, keepdims=True), some.sum(0, keepdims=True))]
        for some in (total - total.sum() / every * known, known)
    )
    # a pair is what its two groups share, so that its sum has their covariance, too
    own, one, two = (some * (1 - some / every) for some in v)
    both, left, right = v[0] - v[1] * v[2] / every, v[0] * (1 - v[1] / every), v[0] * (1 - v[2] / every)
    with np.errstate(divide="ignore", invalid="ignore"):
        a, b = (left * two - right * both) / (one * two - both**2), (right * one - left * both) / (one * two - both**2)
        rest = own - a * left - b * right
        z, beside = t[0] / np.sqrt(own), (t[0] - a * t[1] - b * t[2]) / np.sqrt(rest)
        return np.where((rest > _LEFT * own) & (beside * np.sign(z) >= BESIDE * np.sqrt(rest / own)), z, 0.0)


def from_one_on(sums: NDArray[Any], rising: tuple[bool, bool]) -> NDArray[Any]:
    """Add up sums from each cell of a column on, where it is rising.

    Examples
    --------
    >>> from_one_on(np.array([[1, 2], [3, 4]]), (False, True)).tolist()
    [[3, 2], [7, 4]]
    """
    for axis, asked in enumerate(rising):
        if asked and sums.shape[axis] > 1:
            back = (slice(None),) * axis + (slice(None, None, -1),)
            sums = sums[back].cumsum(axis)[back]
    return sums
