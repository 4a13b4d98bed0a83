"""What can raise an alarm: lines of outcomes, each against what the run itself measured, with bets that begin anew.

A line is a direction h in [-1, 1] of the rows: 1 for all rows, 1 inside a group and 0 outside, a feature, or the
confidence inside a group. With
residuals r = y - p of the corrected confidences p, the mean of h r tells by how much the log-odds of the outcomes are
off by d h; so d is the shift along the line.

No correction is exact, so that nothing is said of d itself: the hypothesis is that it is one number for all looks,
about what the run measured or about none, within the standard error of the run, and that looks differ from each other
by a little besides. A bet says that from a look on, d is another number. Its factor is the ratio of the likelihoods of
the sums of h r; that of the hypothesis is averaged over what d may be by the run and by the looks so far. So a change
is counted from what the run knew and from what earlier looks showed, and the error of the run is in the error of the
alarm: over runs and their new rows together, the capital is expected to be at most 1.

One line is not about residuals: the log loss of the corrected confidences less that of the raw ones. There the
hypothesis is that its mean is at most a bound, and the bet is on the mean of bounded values.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from miscal.calibration.metrics.scores import log_losses
from miscal.evidence.betting import (
    STAKES,
    Restarts,
    clipped_logit,
    log_evidence,
    mean_log_factors,
    variance_proxy,
)
from miscal.findings.conditions import Condition
from miscal.runs.monitor.new_rows import NewLabelled

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

GAIN, LEVEL, SLOPE, FEATURE = "gain", "level", "slope", "feature"
REGIME, FINDING, VALUE = "regime", "finding", "value"
GROUPS = (REGIME, FINDING, VALUE)
"""Lines of the rows of a group."""
RISE = "rise"
"""The line along the raw confidence within a group whose slope is a finding."""
WITHIN = (*GROUPS, RISE)
"""Lines that need to know which rows belong to a group."""

COLUMNS = (
    *("rows", "units", "right", "confidence", "corrected", "hidden"),
    *("moment", "information", "squares"),
)
"""What is kept of each line at each look: numbers of rows and of groups of rows; sums over rows of outcomes and
confidences; sums over groups of rows of the mean outcome less E[y | f], of h r, of its variance and of its square."""

FURTHEST = 1.0
"""Differences of the log loss of a row beyond this, in nats, count as this: one outcome may not win or lose everything.
"""
CHANGES = (0.2, 0.4, 0.7, 1.0)
"""Shifts in log-odds that are bet on, to both sides. Not tuned."""
REACH = 2.58
"""Standard errors by which the run may have measured too little log loss lost: a normal error of 0.5 %."""
LEAST_VARIANCE = 1e-8
"""Variance that is taken for none."""
WIDTH = 2.0
"""Standard deviations of a feature at which its direction reaches 1."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line of outcomes, and the capital that is bet on its having changed.

    Attributes
    ----------
    key, kind, label : str
    share : float
        Of the error.
    before, error : float
        Shift along the line that the run measured of its own rows, and its standard error; of the gain, log loss lost,
        in nats.
    ordinary : float >= 0
        Standard deviation of the shift that counts as no change, between the run and new rows and between looks.
    place : int or None
        Of a finding in the ledger, or of a feature among the coordinates.
    sign : str or None
        Of a regime or finding, as it was found: "over" or "under".
    condition : Condition or None
        Of a value of a column, which may be a finding too.
    about : (float, float)
        Mean and standard deviation of the log-odds of the corrected confidences, which the slope is along; within a
        group, of the raw ones.
    capital : Restarts
    course : tuple of float
        Logarithm of the capital after each look.
    crossed : int or None
        The look at which it reached its line, from 1.
    history : (looks, 9) float64
        `COLUMNS` of each look.
    """

    key: str
    kind: str
    label: str
    share: float
    before: float
    error: float
    ordinary: float
    capital: Restarts
    place: int | None = None
    sign: str | None = None
    condition: Condition | None = None
    about: tuple[float, float] = (0.0, 1.0)
    course: tuple[float, ...] = ()
    crossed: int | None = None
    history: Floats = field(default_factory=lambda: np.zeros((0, len(COLUMNS))))

    @staticmethod
    def bets(kind: str) -> int:
        """Return how many bets a line of a kind has: of the gain only that it is lost."""
        return len(STAKES) if kind == GAIN else 2 * len(CHANGES)

    @property
    def column(self) -> str | None:
        """The column of which this is a value; None for other lines."""
        return None if self.condition is None else self.condition.columns[0]

    @cached_property
    def history_by_column(self) -> dict[str, Floats]:
        """The history by name of its column: one value for each look, (looks,)."""
        return dict(zip(COLUMNS, self.history.T, strict=True))

    def log_line(self, alpha: float) -> float:
        """Logarithm of the capital at which the line is answered by itself."""
        return -float(np.log(alpha * self.share))

    def after(self, rows: NewLabelled, z: Floats, inside: Mask | None, alpha: float) -> Line:
        """Bet on a look.

        Parameters
        ----------
        rows : NewLabelled
        z : (n, k + 1) float64
            Coordinates of the rows.
        inside : (n,) bool or None
            The rows of a group; None for other lines.
        alpha : float
            Error of all lines together.

        Returns
        -------
        Line
        """
        seen = Along.of(self, rows, z, inside)
        factors = self._lost(seen) if self.kind == GAIN else self._shifted(seen)
        capital = self.capital.after(factors)
        value, crossed = float(capital.log_value), self.crossed
        if crossed is None and value >= self.log_line(alpha):
            crossed = len(self.course) + 1
        history = np.vstack([self.history, seen.sums(rows)])
        course = (*self.course, value)
        return replace(self, capital=capital, course=course, crossed=crossed, history=history)

    @property
    def most_lost(self) -> float:
        """Mean log loss of the gain that the hypothesis allows: what the run cannot tell from none."""
        return max(0.0, self.before + REACH * self.error)

    @property
    def changes(self) -> Floats:
        """Shifts that are bet on: away from none, and from what the run measured if that is further away."""
        away = np.array(CHANGES)
        return np.r_[max(self.before, 0.0) + away, min(self.before, 0.0) - away]

    @property
    def precision(self) -> float:
        """Precision with which the shift of new rows is known from the run."""
        return 1 / max(self.error**2 + self.ordinary**2, LEAST_VARIANCE)

    def normal_sums(self) -> tuple[Floats, Floats]:
        """Moments and information of the looks so far, with which sums are as good as normal.

        Returns
        -------
        (looks,) float64, (looks,) float64
        """
        moment, information = self.history_by_column["moment"], self.history_by_column["information"]
        if self.kind == GAIN:
            spread = max(float(self.history_by_column["squares"].sum() / max(information.sum(), 1.0)), LEAST_VARIANCE)
            return moment / spread, information / spread
        return between_looks(moment, information, self.ordinary)

    def _lost(self, seen: Along) -> Floats:
        return mean_log_factors(seen.moment - self.most_lost, FURTHEST + self.most_lost).sum(0)

    def _shifted(self, seen: Along) -> Floats:
        past_moment, past_information = (values.sum() for values in self.normal_sums())
        moment, information = between_looks(seen.moment.sum(), seen.information.sum(), self.ordinary)
        return shift_factors(
            moment, information, past_moment, past_information, self.changes, self.before, self.precision
        )


def shift_factors(
    moment: Floats,
    information: Floats,
    past_moment: Floats,
    past_information: Floats,
    changes: Floats,
    before: Floats | float,
    precision: Floats | float,
) -> Floats:
    """Logarithms of the factors of bets that a shift has changed.

    Parameters
    ----------
    moment, information : (...) float64
        Of a look.
    past_moment, past_information : (...) float64
        Of all looks before it.
    changes : (..., k) float64
        Shifts that are bet on.
    before, precision : (...) float64
        What the run measured of the shift. As likely as there, it is about none: a correction that is better than the
        run could show has not changed for the worse.

    Returns
    -------
    (..., k) float64
    """
    moment, information = np.asarray(moment), np.asarray(information)
    so_far = log_unchanged(past_moment, past_information, before, precision)
    hypothesis = log_unchanged(past_moment + moment, past_information + information, before, precision) - so_far
    return changes * moment[..., None] - changes**2 * information[..., None] / 2 - hypothesis[..., None]


def log_unchanged(moment: Floats, information: Floats, before: Floats | float, precision: Floats | float) -> Floats:
    """Logarithm of the likelihood of sums where the shift is one of those that count as no change.

    Parameters
    ----------
    moment, information : (...) float64
    before, precision : (...) float64
        As for :func:`shift_factors`.

    Returns
    -------
    (...) float64
        Relative to that of no shift.
    """
    about_before = log_evidence(moment, information, before, precision)
    about_none = log_evidence(moment, information, 0.0, precision)
    return np.logaddexp(about_before, about_none) - np.log(2)


def between_looks(moment: Floats, information: Floats, ordinary: float) -> tuple[Floats, Floats]:
    """Allow for looks that differ from each other: less weight to a look that would show differences so small."""
    shrunk = 1 + ordinary**2 * information
    return moment / shrunk, information / shrunk


@dataclass(frozen=True, eq=False)
class Along:
    """The rows of a look along a line; rows that depend on each other are one.

    Attributes
    ----------
    inside : (n,) bool
        Rows of the line.
    unit : (m,) int64
        Number of the group of each of them, from 0.
    moment, information : (units,) float64
        Means over each unit of h r and of the square of h, times the variance of the outcome.
    """

    inside: Mask
    unit: NDArray[np.int64]
    moment: Floats
    information: Floats

    @staticmethod
    def of(line: Line, rows: NewLabelled, z: Floats, inside: Mask | None) -> Along:
        """Take the rows along a line."""
        every = np.ones(len(rows), bool) if inside is None else inside
        unit = np.unique(rows.unit[every], return_inverse=True)[1]
        if line.kind == GAIN:
            lost = log_losses(rows.correct, rows.corrected) - log_losses(rows.correct, rows.confidence)
            moment, information = np.clip(lost, -FURTHEST, FURTHEST), np.ones(len(rows))
        else:
            h = _direction(line, rows, z)
            moment = h * (rows.correct - rows.corrected)
            information = h**2 * variance_proxy(rows.corrected)
        many = np.maximum(np.bincount(unit), 1)
        return Along(every, unit, np.bincount(unit, moment[every]) / many, np.bincount(unit, information[every]) / many)

    def sums(self, rows: NewLabelled) -> Floats:
        """Return the columns of the history."""
        at, many = self.inside, np.bincount(self.unit)
        hidden = np.bincount(self.unit, (rows.correct - rows.visible)[at]) / np.maximum(many, 1)
        sums = [np.count_nonzero(at), len(many)]
        sums += [values[at].sum() for values in (rows.correct, rows.confidence, rows.corrected)]
        return np.array(
            [*sums, hidden.sum(), self.moment.sum(), self.information.sum(), (self.moment**2).sum()], dtype=np.float64
        )


def _direction(line: Line, rows: NewLabelled, z: Floats) -> Floats:
    if line.kind == FEATURE:
        along = z[:, line.place or 0]
    elif line.kind == SLOPE:
        along = (clipped_logit(rows.corrected) - line.about[0]) / line.about[1]
    elif line.kind == RISE:
        along = (clipped_logit(rows.confidence) - line.about[0]) / line.about[1]
    else:
        return np.ones(len(rows))
    return np.clip(along / WIDTH, -1.0, 1.0)


def shift_of(moment: float, information: float, squares: float) -> tuple[float, float] | None:
    """Shift along a line, and its standard error.

    Parameters
    ----------
    moment, information, squares : float
        Sums over rows.

    Returns
    -------
    (float, float) or None
        None where nothing is known.

    Examples
    --------
    >>> shift_of(2.0, 10.0, 10.0)
    (0.2, 0.31622776601683794)
    """
    if information <= 0:
        return None
    return float(moment / information), float(np.sqrt(squares) / information)
