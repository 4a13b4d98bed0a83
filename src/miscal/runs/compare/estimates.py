"""Differences between two runs, of all rows and of named groups, with intervals: paired where the rows are the same.

Groups are named before any outcome is seen, and every p-value is adjusted for all of them, as in the ledger of one
run (most of the error for values of columns). So it holds for the groups of the two ledgers too, although these
were chosen by the very outcomes that are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from miscal.base.document import Measure, MeasureAgainstNull, interval, number
from miscal.base.folds import assign_folds, row_groups
from miscal.calibration.labelled_rows import take_rows
from miscal.calibration.metrics.gap import MIN_SLICE_ROWS
from miscal.calibration.survey_design import average, correlation
from miscal.evidence.conditional import centred, outcome_given_confidence
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.conditions.condition import Condition
from miscal.findings.ledger.groups import Groups, error_shares, named_groups
from miscal.findings.ledger.membership import CodedColumns, Columns, SideBySide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.runs.compare.compared_rows import RunRows, Sides
from miscal.runs.compare.document import GroupPair, GroupSide

Floats = NDArray[np.float64]
Members = tuple[Columns | None, Columns | None]

DRAWS = 1000
"""Draws of rows for the interval of a correlation. More cost time in proportion; its standard error is within 2 %."""
SPARE = 1.0
"""One row whose value is off by this much is added to the variance of values: they may agree by chance. Intervals are a
few percent wider for it where the values are large. Not tuned."""
TAIL = 0.975
"""The upper quantile of a 95 % interval."""
POWER = float(ndtri(0.8))
"""Standard errors beyond what is significant, of a difference that is told in four of five cases."""
FOLDS, DEALS = 5, 4
"""Folds of the regressions of outcomes on confidence, and how often the rows are dealt into them. More deals cost time
in proportion and make the numbers depend less on the deal; one deal covered less at 300 rows (92 % of draws where
nothing differs). Chosen by simulation, on worlds of which some are those of the slow test."""

# streams of the draws of rows, and of the deals into folds
_ROWS, _DEALS = 35, 36


@dataclass(frozen=True, eq=False)
class Means:
    """Means with standard errors and degrees of freedom, arrays of shape (m,); NaN where there are too few rows."""

    value: Floats
    error: Floats
    freedom: Floats

    def measure(self, k: int) -> Measure:
        """Mean k with Student's interval at 95 %, null where it is undefined."""
        half = stdtrit(self.freedom[k], TAIL) * self.error[k] if self.freedom[k] > 0 else np.nan
        return Measure(value=number(self.value[k]), interval=interval(self.value[k] - half, self.value[k] + half))

    def tested(self, k: int) -> MeasureAgainstNull:
        """Mean k with its interval and p-value."""
        return MeasureAgainstNull(**dict(self.measure(k)), p_value=float(self.p_value[k]))

    @property
    def p_value(self) -> Floats:
        """Two-sided, against 0; 1 where it is undefined."""
        with np.errstate(invalid="ignore", divide="ignore"):
            p = 2 * stdtr(np.maximum(self.freedom, 1e-9), -np.abs(self.value) / self.error)
        certain = (self.error == 0) & (self.value != 0)
        return np.where(certain, 0.0, np.where(np.isfinite(p) & (self.freedom > 0), p, 1.0))


def group_means(
    values: Floats,
    unit: np.ndarray,
    member: Columns | None = None,
    *,
    spare: float = SPARE,
    weight: Floats | None = None,
) -> Means:
    """Mean of the values (n,) of each group of `member`, or of all rows, rows of one `unit` (n,) counting as one.

    The variance is that of sums over units (Liang and Zeger, 1986). One row whose value is off by `spare` is added to
    it: rows that all agree do not prove that the next one would agree too. `weight` (n,) says how much each row counts.

    >>> values, pairs = np.repeat([0.0, 1.0, 2.0], 2), np.repeat([0, 1, 2], 2)
    >>> [group_means(values, unit, spare=0.0).error.round(3).tolist() for unit in (np.arange(6), pairs)]
    [[0.365], [0.577]]
    """
    every = np.ones(len(values))
    mass = every if weight is None else weight
    if member is None:
        member = CodedColumns.of(len(values), [np.arange(len(values))])
    rows, n = member.sums(every), member.sums(mass)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = member.sums(mass * values) / n
        # sums over units of (sum of values)^2, of that sum times their mass, and of mass^2
        if len(unit) == 0 or unit.max() + 1 == len(unit):  # every row is a unit
            total, products, size = (member.sums(one) for one in ((mass * values) ** 2, mass**2 * values, mass**2))
        else:
            each = np.ones(int(unit.max()) + 1)
            pairs = (mass * values, mass * values), (mass * values, mass), (mass, mass)
            total, products, size = (member.products(unit, *both, each) for both in pairs)
        # sum over units of (sum of values - mean * rows)^2
        deviations = np.maximum(total - 2 * mean * products + mean**2 * size, 0.0) + (spare * n / rows) ** 2
        units = n**2 / size  # as many units of equal size would say as much
        variance = deviations / n**2 * units / (units - 1)
    usable = np.isfinite(variance) & (units > 1 + 1e-9)
    error = np.where(usable, np.sqrt(np.where(usable, variance, 0.0)), np.nan)
    return Means(mean, error, np.where(usable, units - 1, 0.0))


def minus(a: Means, b: Means) -> Means:
    """Difference of means of independent samples (Welch, 1947).

    Examples
    --------
    >>> same = Means(np.array([0.5]), np.array([0.3]), np.array([10.0]))
    >>> found = minus(same, same)
    >>> found.value.tolist(), found.freedom.round().tolist()
    ([0.0], [20.0])
    """
    squares = a.error**2, b.error**2
    with np.errstate(invalid="ignore", divide="ignore"):
        freedom = (squares[0] + squares[1]) ** 2 / (squares[0] ** 2 / a.freedom + squares[1] ** 2 / b.freedom)
    return Means(a.value - b.value, np.sqrt(squares[0] + squares[1]), np.where(np.isfinite(freedom), freedom, 0.0))


def difference(sides: Sides, a: Floats, b: Floats, members: Members = (None, None), *, spare: float = SPARE) -> Means:
    """Difference of the means of `a` and `b` in each group, or over all rows compared; `spare` as in `group_means`."""
    if not sides.paired:
        return minus(*side_means(sides, a, b, members, spare=spare))
    # where nothing differs, there is nothing to allow for
    spare = 0.0 if np.array_equal(a, b) else spare
    return group_means(a - b, sides.a.unit, members[0], spare=spare, weight=sides.a.weight)


def side_means(
    sides: Sides, a: Floats, b: Floats, members: Members = (None, None), *, spare: float = SPARE
) -> tuple[Means, Means]:
    """Means of `a` and of `b` in each group, or over all rows compared; `spare` as in `group_means`."""
    each = zip((a, b), (sides.a, sides.b), members, strict=True)
    one, two = (group_means(values, side.unit, of, spare=spare, weight=side.weight) for values, side, of in each)
    return one, two


def nearer_mean(sides: Sides) -> tuple[float, float | None]:
    """Test whether the mean residual of one side is nearer to 0, and say how much farther would be told.

    It is where the difference of the means and their sum are known not to be 0: the p-value is the larger one,
    two-sided of the difference, one-sided of the sum, which matters once the sign of the difference is known. Of means
    of one size, either is taken for the nearer one in one case of twenty at most, whatever their signs. The second
    number is told in four of five cases if the nearer mean is 0; None where it is undefined.
    """
    a, b = sides.a.residual, sides.b.residual
    apart, total = (difference(sides, a, sign * b) for sign in (1, -1))
    p_value = max(float(apart.p_value[0]), float(total.p_value[0]) / 2)
    step = max(float((ndtri(TAIL) + POWER) * apart.error[0]), float((ndtri(2 * TAIL - 1) + POWER) * total.error[0]))
    return p_value, number(step)


def recalibration_saving(side: RunRows, seed: int) -> Floats:
    """Brier score that recalibration by the confidence alone would save, row by row: the calibration error.

    Its mean estimates E[(E[y | f] - f)^2], the reliability term of the Brier score (Murphy, 1973). With g = mu - f for
    an estimate mu of E[y | f], the efficient estimate is the mean of g^2 + 2 g (y - mu) = (y - f)^2 - (y - mu)^2, which
    falls short by the squared error of mu. Here two estimates learned from different rows, neither from the row's own
    fold, take the place of mu: g1 g2 + g1 (y - mu2) + g2 (y - mu1) falls short by the product of their errors only,
    which is 0 on average but for what they share (Newey and Robins, 2018, call this double cross-fitting). So it is not
    larger for being noisy, as sums of absolute values are, and differences between runs have Student's interval.

    Rows of one unit, or with equal inputs, are never on both sides of a fit. Returned are (n,) means over the deals,
    negative where recalibration would harm the row; NaN where the rows are fewer than 30, or make up fewer than five
    units.
    """
    equal, correct, confidence = equal_units(side), side.correct, side.confidence
    if len(side) < MIN_SLICE_ROWS or len(np.unique(equal)) < FOLDS:
        return np.full(len(side), np.nan)
    unit = None if side.unit.max() + 1 == len(side) else side.unit

    def learned(rows: np.ndarray, f: Floats) -> Floats:
        group, weight = take_rows(unit, rows), take_rows(side.weight, rows)
        return outcome_given_confidence(correct[rows], confidence[rows], f, group=group, weight=weight)

    rng = np.random.default_rng((seed, _DEALS))
    saved = np.zeros(len(side))
    for _ in range(DEALS):
        fold = assign_folds(equal, FOLDS, rng)
        for k in np.unique(fold):
            inside, others = fold == k, [j for j in np.unique(fold) if j != k]
            y, f = correct[inside], confidence[inside]
            one, two = (learned(np.isin(fold, some), f) for some in (others[::2], others[1::2]))
            saved[inside] += (one - f) * (two - f) + (one - f) * (y - two) + (two - f) * (y - one)
    return saved / DEALS


def equal_units(side: RunRows) -> np.ndarray:
    """Give rows of one unit, or with equal inputs where each row is a unit, one number; (n,) of int."""
    if side.group is not None or len(np.unique(side.unit)) < len(side):
        return side.unit
    inputs = row_groups(side.X)
    # inputs of so few different values are no copies of each other
    return inputs if len(np.unique(inputs)) >= FOLDS else side.unit


def correlation_with_interval(
    a: Floats, b: Floats, unit: np.ndarray, seed: int, weight: Floats | None = None
) -> Measure:
    """Pearson correlation of two values (n,) of the same rows, with the central 95 % of draws of units of rows.

    It is null where a or b is constant.

    >>> correlation_with_interval(np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 5.0]), np.arange(3), seed=0).value
    1.0
    >>> correlation_with_interval(np.zeros(3), np.arange(3.0), np.arange(3), seed=0)
    Measure(value=None, interval=None)
    """
    every = np.ones(len(a)) if weight is None else weight
    value = correlation(a, b, every)
    if value is None:
        return Measure(value=None)
    rng, count = np.random.default_rng((seed, _ROWS)), int(unit.max()) + 1
    times_drawn = (np.bincount(rng.integers(count, size=count), minlength=count)[unit] for _ in range(DRAWS))
    found = [correlation(a, b, every * times.astype(np.float64)) for times in times_drawn]
    known = np.array([one for one in found if one is not None])
    low, high = np.quantile(known, [1 - TAIL, TAIL]).tolist()
    return Measure(value=value, interval=(min(low, value), max(high, value)))


# --- named groups -------------------------------------------------------------------------------------------------

MAX_DIFFERENCES = 20
"""Groups at most in the ledger of differences: each costs a pass over all candidates."""


class ComparedGroups:
    """Groups of both runs: those that both can name, and findings of one that only its own rows define.

    Attributes
    ----------
    conditions, also : lists, as in :class:`~miscal.findings.ledger.groups.Groups`
    kinds : int array of shape (m,)
    members : pair of SideBySide
        m columns of the rows of either run: 1 where a row is in a group.
    found : dict of int to tuple of str
        Groups of the ledgers: place among the candidates, and which of "a" and "b" list it.
    not_found : tuple of str
        Descriptions of the findings whose rows the data do not give.
    residual, hidden : tuples of three Means
        Of the first run, of the second, and of their difference.
    """

    def __init__(self, sides: Sides) -> None:
        """Name the groups of the rows compared, and place the findings of both ledgers among them."""
        self.sides = sides
        shared = _named(sides.columns()[0], sides.text(), len(sides.a) + (0 if sides.paired else len(sides.b)))
        place, self.conditions, kinds = dict(shared.places), list(shared.conditions), shared.kinds.tolist()
        self.found: dict[int, tuple[str, ...]] = {}
        more: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
        lost: dict[str, None] = {}
        for name, side in (("a", sides.a), ("b", sides.b)):
            own = None
            for finding in side.run.summary.findings:
                condition = finding.condition
                if condition not in place:
                    # as its own run names it: of matched rows both runs have it, of two sets only that run
                    own = own or _named(side.whole.columns, side.whole.text, len(side.whole))
                    at = own.places.get(condition)
                    if at is None:
                        lost[finding.description] = None
                        continue
                    inside = np.flatnonzero(own.rows(at)[side.at])
                    for rows, one in zip(more, (sides.a, sides.b), strict=True):
                        rows.append(inside if sides.paired or one is side else inside[:0])
                    place[condition] = len(self.conditions)
                    self.conditions.append(condition)
                    kinds.append(int(own.kinds[at]))
                self.found[place[condition]] = (*self.found.get(place[condition], ()), name)
        both = shared.member
        cut = [both, both] if sides.paired else map(both.chosen, np.split(np.arange(both.n), [len(sides.a)]))
        a, b = (half.beside(CodedColumns.of(half.n, rows)) for half, rows in zip(cut, more, strict=True))
        self.members, self.kinds, self.not_found = (a, b), np.array(kinds, int), tuple(lost)
        self.also = [*shared.also, *([()] * len(more[0]))]
        self.share_of_error = error_shares(self.kinds) if kinds else np.ones(0)
        self.counts = a.counts(), b.counts()
        self.comparable = np.minimum(*self.counts) >= LEDGER_DEFAULTS.min_rows

    def __len__(self) -> int:
        return len(self.conditions)

    @cached_property
    def residual(self) -> tuple[Means, Means, Means]:
        """Mean residuals of both runs, and their differences."""
        return self._means(self.sides.a.residual, self.sides.b.residual)

    @cached_property
    def hidden(self) -> tuple[Means, Means, Means]:
        """Mean hidden residuals of both runs, and their differences."""
        return self._means(self.sides.a.hidden, self.sides.b.hidden)

    def _means(self, a: Floats, b: Floats) -> tuple[Means, Means, Means]:
        return *side_means(self.sides, a, b, self.members), difference(self.sides, a, b, self.members)

    @cached_property
    def both(self) -> list[str | None]:
        """Groups that both runs miss in one direction: each has it in its ledger, or shows it after adjustment."""
        one, two, _ = self.hidden
        with np.errstate(invalid="ignore"):
            certain = one.value * two.value > 0
        for name, means in (("a", one), ("b", two)):
            listed = np.array([name in self.found.get(k, ()) for k in range(len(self))], bool)
            certain &= listed | (self.adjusted(means.p_value) <= SIGNIFICANCE)
        return [None if not yes else "over" if one.value[k] < 0 else "under" for k, yes in enumerate(certain)]

    def adjusted(self, p: Floats) -> Floats:
        """Adjust p-values for all candidates, weighted by their kinds; 1 where a group is too small in a run."""
        return np.where(self.comparable, np.minimum(1.0, p / self.share_of_error), 1.0)

    def pair(self, k: int, p_adjusted: float | None = None, aliases: tuple[Condition, ...] = ()) -> GroupPair:
        """Write down a candidate; `p_adjusted` where another test than that of its mean alone chose it."""
        sides, condition = (self.sides.a, self.sides.b), self.conditions[k]
        inside = [member.dense(k) for member in self.members]
        # share of the rows compared, of both runs where these are two sets
        of = slice(1 if self.sides.paired else 2)
        weight = None if sides[0].weight is None else np.concatenate([side.weight for side in sides[of]])

        def numbers(place: int) -> GroupSide | None:
            side, rows = sides[place], inside[place] > 0
            if not rows.any():
                return None
            weight = take_rows(side.weight, rows)
            return GroupSide(
                n=int(rows.sum()),
                accuracy=average(side.correct[rows], weight),
                confidence=average(side.confidence[rows], weight),
                residual=self.residual[place].measure(k),
                hidden=self.hidden[place].measure(k),
            )

        known = bool(self.comparable[k])
        p = float(self.adjusted(self.hidden[2].p_value)[k]) if p_adjusted is None else p_adjusted
        return GroupPair(
            description=condition.words,
            condition=condition,
            columns=condition.columns,
            found_in=self.found.get(k, ()),
            share=average(np.concatenate(inside[of]), weight),
            a=numbers(0),
            b=numbers(1),
            residual=self.residual[2].tested(k) if known else None,
            hidden=self.hidden[2].tested(k) if known else None,
            p_adjusted=p if known else None,
            both=self.both[k],
            aliases=tuple(one.words for one in (*self.also[k], *aliases)),
        )

    def side_by_side(self) -> tuple[GroupPair, ...]:
        """List the findings of both ledgers, the largest hidden residual of either run first."""
        size = np.fmax(*(np.abs(means.value) for means in self.hidden[:2])) if self.found else ()
        return tuple(self.pair(k) for k in sorted(self.found, key=lambda k: -size[k]))

    def differing(self) -> tuple[GroupPair, ...]:
        """Ledger of the difference: groups whose hidden residuals differ between the runs, strongest first.

        A group is chosen by the difference of its mean hidden residuals, both centred within strata of near-equal
        confidence, and by two tests at once: Student's in the group, which allows for its own spread, and a normal one
        with the spread of all rows, which allows for small groups that happen to agree. The larger p-value counts,
        Bonferroni over all candidates. Once chosen, the group is regressed out, so that a later one is tested given
        those before it. With nothing different it is empty in at least 95 % of comparisons.
        """
        sides = (self.sides.a, self.sides.b)
        if not self.comparable.any() or self.sides.same_answers:
            return ()
        values = [centred(side.hidden, side.stratum, side.weight) for side in sides]
        left, chosen = values, []
        for _ in range(MAX_DIFFERENCES):
            taken = [k for k, *_ in chosen]
            if taken:
                left = [
                    _without(value, member.sparse(taken).toarray(), side)
                    for value, member, side in zip(values, self.members, sides, strict=True)
                ]
            p = self._p_values(*left)
            p[taken] = 1.0
            adjusted = self.adjusted(p)
            if adjusted.min() > SIGNIFICANCE:
                break
            best, aliases = self._named_best(adjusted, int(np.argmin(adjusted)))
            chosen.append((best, float(adjusted[best]), aliases))
        return tuple(self.pair(*one) for one in sorted(chosen, key=lambda one: one[1]))

    def _p_values(self, a: Floats, b: Floats) -> Floats:
        """Larger p-value of both tests, for every candidate."""
        within = difference(self.sides, a, b, self.members)
        each = [(a, self.members[0], self.sides.a), (b, self.members[1], self.sides.b)]
        if self.sides.paired:
            each = [(a - b, self.members[0], self.sides.a)]
        variance = np.zeros(len(self))
        for values, member, side in each:
            units = group_means(np.zeros(len(side)), side.unit, member, weight=side.weight).freedom + 1
            variance += average(values**2, side.weight) / np.maximum(units, 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            whole = 2 * ndtr(-np.abs(within.value) / np.sqrt(variance))
        return np.maximum(within.p_value, np.where(np.isfinite(whole), whole, 1.0))

    def _named_best(self, adjusted: Floats, strongest: int) -> tuple[int, tuple[Condition, ...]]:
        """Return the best name for the strongest group, and other names of nearly the same rows of both runs."""
        shared = np.sum([member.sums(member.dense(strongest)) for member in self.members], axis=0)
        size = np.sum(self.counts, axis=0)
        overlap = shared / np.maximum(size + size[strongest] - shared, 1)
        alike = np.flatnonzero(overlap >= LEDGER_DEFAULTS.alias_overlap).tolist()
        near = [k for k in alike if adjusted[k] <= SIGNIFICANCE and self.kinds[k] < self.kinds[strongest]]
        best = min(near, key=lambda k: (self.kinds[k], adjusted[k]), default=strongest)
        others = [self.conditions[k] for k in alike if k != best]
        return best, tuple(others[: LEDGER_DEFAULTS.max_aliases])


def _named(columns: dict[str, np.ndarray], text: tuple[str, ...] | None, n: int) -> Groups:
    if not columns and text is None:
        return Groups((), (), np.zeros(0, int), SideBySide(n))
    return named_groups(columns, text)


def _without(values: Floats, indicators: Floats, side: RunRows) -> Floats:
    """Regress indicators, centred within strata as the values are, out of the values, by weighted least squares."""
    design = np.column_stack([centred(column, side.stratum, side.weight) for column in indicators.T])
    root = np.ones(len(side)) if side.weight is None else np.sqrt(side.weight)
    return values - design @ np.linalg.lstsq(root[:, None] * design, root * values, rcond=1e-10)[0]
