"""Uncertainty of a calibration error, by noise floor, p-value and an interval that covers; and the list of metrics.

SmoothECE and binned ECE are sums of absolute values, so noise makes them larger on average.
Percentile intervals of the bootstrap add the noise a second time: for a calibrated model they never cover 0. The
intervals here invert a test instead. Let m(f) be the residual curve seen in the data, smoothed at its own smECE. For a
scale s >= 0, draw rows with replacement and outcomes y* ~ Bernoulli(clip(f + s m(f), 0, 1)). The true error is then
known, say theta(s), and so are the quantiles of the error that such draws show. The interval consists of the theta(s)
for which the error seen in the data lies between the 2.5 % and the 97.5 % quantile. At s = 0 this is the test of
"calibrated", so an interval that starts at 0 says that the data do not exclude calibration. Two rules keep the upper
end from being too low. An error seen that is below the median of the calibrated draws is luck, and is replaced by that
median. And since a calibration error is never less than the absolute mean residual, the upper end is never below that
of the interval of the mean residual.

Whatever computes or shows metrics goes through `METRICS`. To add one, write its function beside those like it
(`scores.py` for means over rows) and its entry there. It then appears under ``global`` in ``summary.json`` and, if it
says which of two values is `better`, in the tables that compare corrections, those of the report included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from miscal.base.document import MeasureAgainstNull, Number
from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows, check_predictions
from miscal.calibration.metrics import scores
from miscal.calibration.metrics.confidence_cells import (
    ConfidenceCells,
    Statistic,
    expected,
    merge,
    observed,
    simulate,
    smece_statistic,
    smooth_residual,
)
from miscal.calibration.metrics.smooth import smece_of_residuals, smece_value
from miscal.calibration.survey_design import effect_of_groups, kish

RandomState = int | np.random.Generator

DRAWS = 1000
"""Draws of a calibrated model, for floors and p-values. More cost time in proportion; at 1000 a p-value of 0.05 has a
standard error of 0.007, and none can be below 1 / 1001. A convention, not tuned."""

INTERVAL_DRAWS = 300
"""Draws at each scale of an interval. More cost time in proportion; at 300 the share in a tail, 0.025, has a standard
error of 0.009. `test_intervals_cover` (slow) shows that the intervals cover with it. Not tuned beyond that."""

_DOWN = (0.25, 0.45, 0.7, 1.0, 1.5)
_UP = (0.25, 0.45, 0.7, 1.0, 1.5, 2.5)
"""Where the scales lie below and above 1, in widths of the central 95 % of the draws at scale 1, over their error. An
end lies about half a width from 1, so the grid is densest there and interpolation does the rest; a finer grid costs
draws. Only the scales on either side of an end are tried. Not tuned."""

_WIDEST = 0.65
"""Widths below 1 count as no more than this: with the outermost of `_DOWN`, 1.5, the least scale is 0.025, just above
the 0 that is tried in any case."""

_LEAST_WIDTH = 8
"""In rows: where all draws are equal, the grid is still this wide, so that it can leave the value seen. Not tuned."""

_TIE = 1e-9
"""A quantile that equals the value seen to this much is a tie, whatever rounding did to either."""

_BINS, _GROUPS_PER_BIN = 15, 20
"""Outcomes are centred within bins of equal width before their dependence is measured: those of ECE, or fewer, so that
a bin has 20 groups on average. Centring within few groups would take away what they have in common. Not tuned."""

_DOUBLINGS = 8
"""Times that the largest scale may be doubled until it brackets the upper end, so that the search ends. Not tuned."""


class ErrorEstimate(MeasureAgainstNull):
    """A calibration error: ``floor`` is what a calibrated model shows on as many rows; ``p_value`` tests calibration.

    The interval starts at 0 where the data do not exclude that the model is calibrated.
    """

    floor: Number = None

    @property
    def distinguishable(self) -> bool:
        """Whether the p-value is at most 0.05."""
        return self.p_value is not None and self.p_value <= 1 - scores.CONFIDENCE_LEVEL

    def __str__(self) -> str:
        """Return the estimate in words, if all of it is known."""
        if self.interval is None or None in (self.value, self.floor, self.p_value):
            return repr(self)
        low, high = self.interval
        text = f"{self.value:.4f} [{low:.4f}, {high:.4f}], floor {self.floor:.4f}, p = {self.p_value:.3g}"
        return text if self.distinguishable else text + "; not distinguishable from calibrated"


def null_draws(cells: ConfidenceCells, statistic: Statistic, n_draws: int, random_state: RandomState) -> np.ndarray:
    """Return the statistic of draws y* ~ Bernoulli(f) for the same rows, float64 of shape (n_draws,)."""
    return simulate(cells, cells.location, statistic, n_draws, generator(random_state), resample=False)


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the generator of a seed, or the generator given.

    Examples
    --------
    >>> generator(0).integers(100)
    np.int64(85)
    """
    seeded = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool) and random_state >= 0
    if seeded or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    raise InputError(f"random_state must be a whole number of at least 0 or a numpy Generator; got {random_state!r}")


def p_value_of(null: np.ndarray, value: float) -> float:
    """Return the share of draws that are at least as large as the value seen, which counts as a draw itself: never 0.

    Examples
    --------
    >>> p_value_of(np.array([0.1, 0.2, 0.3]), 0.25)
    0.5
    """
    # a draw equal to the value seen counts, whatever rounding did to either
    return float((1 + (null >= value - 1e-12).sum()) / (1 + len(null)))


def smece_ends(rows: LabelledRows, n_draws: int, random_state: RandomState) -> tuple[float, float]:
    """Interval of the true smECE of rows at 95 %, by inversion of a test (see the description of the module).

    A low end of 0 says that the model is not distinguishable from a calibrated one (at 2.5 %, one-sided).
    """
    cells = merge(rows, effect=effect_given_confidence(rows))
    statistic = smece_statistic(cells)
    shape = smooth_residual(cells, observed(cells, statistic))
    return invert(cells, statistic, shape, mean_limit(rows), n_draws, random_state)


def effect_given_confidence(rows: LabelledRows) -> float:
    """Design effect of the outcomes less their averages over bins of confidence; 1 where there are no groups.

    Examples
    --------
    >>> y, f = np.tile([1.0, 1.0, 0.0, 0.0], 250), np.full(1000, 0.9)
    >>> groups = (None, np.arange(1000) // 2)
    >>> [round(effect_given_confidence(check_predictions(y, f, groups=one)), 1) for one in groups]
    [1.0, 2.0]
    """
    if rows.group is None:
        return 1.0
    residual = rows.correct - rows.confidence
    n_bins = int(np.clip(len(np.unique(rows.group)) // _GROUPS_PER_BIN, 1, _BINS))
    index = scores.bin_index(rows.confidence, n_bins, "width", np.full(len(rows), 1 / len(rows)))
    mean = np.bincount(index, residual) / np.maximum(np.bincount(index), 1)
    return effect_of_groups(residual - mean[index], rows.group, rows.shares) * rows.factor**2


def measure_smece(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    n_draws: int = DRAWS,
    random_state: RandomState = 0,
) -> ErrorEstimate:
    """Measure smECE with interval, floor and p-value, which share their draws.

    `groups`, array-like of shape (n,), says which rows may hang together: those of equal value. The noise of the draws
    is then larger by the root of the design effect (:mod:`miscal.calibration.survey_design`).

    Examples
    --------
    >>> estimate = measure_smece([1, 0, 0, 0] * 50, [0.75] * 200)
    >>> round(estimate.value, 4), estimate.distinguishable
    (0.5, True)
    """
    return smece_of(check_predictions(y_true, y_prob, sample_weight, groups), n_draws, random_state)


def smece_of(rows: LabelledRows, n_draws: int, random_state: RandomState) -> ErrorEstimate:
    """Measure smECE of rows, as :func:`measure_smece` does."""
    cells = merge(rows, effect=effect_given_confidence(rows))
    value = smece_of_residuals(rows.confidence, rows.shares * (rows.correct - rows.confidence))
    return _measured(value, cells, smece_statistic(cells), mean_limit(rows), n_draws, random_state)


def measure_ece(
    y_true: Any,
    y_prob: Any,
    n_bins: int = 15,
    strategy: str = "width",
    *,
    sample_weight: Any = None,
    groups: Any = None,
    n_draws: int = DRAWS,
    random_state: RandomState = 0,
) -> ErrorEstimate:
    """Measure binned ECE with interval, floor and p-value, found as for smECE; all draws use the bins of the data.

    Examples
    --------
    >>> estimate = measure_ece([1, 0, 0, 0] * 50, [0.75] * 200)
    >>> round(estimate.value, 4), estimate.distinguishable
    (0.5, True)
    """
    rows = check_predictions(y_true, y_prob, sample_weight, groups)
    return binned_error_of(rows, n_draws, random_state, n_bins, strategy)


def binned_error_of(
    rows: LabelledRows, n_draws: int, random_state: RandomState, n_bins: int = 15, strategy: str = "width"
) -> ErrorEstimate:
    """Measure the binned ECE of rows, as :func:`measure_ece` does."""
    index = scores.bin_index(rows.confidence, n_bins, strategy, rows.shares)
    cells = merge(rows, index, effect=effect_given_confidence(rows))
    statistic = _ece_statistic(cells)
    return _measured(observed(cells, statistic), cells, statistic, mean_limit(rows), n_draws, random_state)


def _measured(
    value: float, cells: ConfidenceCells, statistic: Statistic, limit: float, n_draws: int, random_state: RandomState
) -> ErrorEstimate:
    """Give a value its interval, floor and p-value; intervals of all errors move along the same smooth residual."""
    null = null_draws(cells, statistic, n_draws, random_state)
    shape = smooth_residual(cells, observed(cells, smece_statistic(cells)))
    interval = invert(cells, statistic, shape, limit, min(n_draws, INTERVAL_DRAWS), random_state)
    p_value = p_value_of(null, observed(cells, statistic))
    return ErrorEstimate(value=value, interval=interval, p_value=p_value, floor=float(null.mean()))


def _ece_statistic(cells: ConfidenceCells) -> Statistic:
    # (G, bins) of 0 and 1: one product sums the bins of all draws
    member = (cells.label[:, None] == np.arange(cells.label.max() + 1)).astype(np.float64)

    def statistic(residual: np.ndarray, mass: np.ndarray) -> np.ndarray:
        return np.abs(residual @ member).sum(axis=1) / mass.sum(axis=1)

    return statistic


def mean_limit(rows: LabelledRows) -> float:
    """Return the largest absolute value in the interval of the mean residual; 1 where there is no interval."""
    interval = scores.mean_residual(rows).interval
    return 1.0 if interval is None else max(abs(end) for end in interval)


def invert(
    cells: ConfidenceCells,
    statistic: Statistic,
    shape: np.ndarray,
    least_high: float,
    n_draws: int,
    random_state: RandomState,
) -> tuple[float, float]:
    """Invert the test along f + s shape(f).

    Scales are tried in units of the one that gives the error seen (before clipping), on a grid as wide as its draws. A
    quantile increases with the scale, so of the grid it takes only the two neighbours between which it crosses the
    value seen: about six scales of thirteen.

    Takes statistic: its value for the curve seen must be above 0; shape: the residual curve seen; least_high: the
    upper end is never below this; n_draws: draws per scale.
    """
    rng = generator(random_state)
    seen = observed(cells, statistic)
    full = expected(cells, statistic, np.clip(cells.location + shape, 0.0, 1.0))
    if full <= 0:  # no error is seen, so `least_high` alone says how large it may be
        return 0.0, max(0.0, least_high)
    # an error seen of 0 must not make all scales alike, and the scale 1 must not move any rate by more than 1
    unit = min(max(seen, 1 / cells.count.sum()) / full, 1 / np.abs(shape).max())
    points: dict[float, list[float]] = {}

    def visit(scale: float) -> list[float]:
        if scale not in points:
            rate = np.clip(cells.location + scale * unit * shape, 0.0, 1.0)
            draws = simulate(cells, rate, statistic, n_draws, rng, resample=True)
            quantiles = np.quantile(draws, [(1 - scores.CONFIDENCE_LEVEL) / 2, 0.5, (1 + scores.CONFIDENCE_LEVEL) / 2])
            points[scale] = [expected(cells, statistic, rate), *quantiles.tolist()]
        return points[scale]

    truth, lower_tail, _, upper_tail = visit(1.0)
    width = max(upper_tail - lower_tail, _LEAST_WIDTH / float(cells.count.sum())) / max(truth, 1e-12)
    _, _, typical, upper_tail = visit(0.0)
    target = max(seen, typical)
    # where the error seen is within what calibrated rows show, the low end is 0, whatever lies between
    if upper_tail < seen - _TIE:
        _walk([1 - min(width, _WIDEST) * share for share in _DOWN], lambda scale: visit(scale)[3] < seen - _TIE)
    _walk([1 + width * share for share in _UP], lambda scale: visit(scale)[1] > target + _TIE)
    for _ in range(_DOUBLINGS):
        last, before = sorted(points)[-1], sorted(points)[-2]
        if points[last][1] > target + _TIE or points[last][0] <= points[before][0]:  # bracketed, or clipped everywhere
            break
        visit(2 * last)
    # quantiles of few draws can dip between scales; made monotone, each has one crossing
    theta, tail_low, _, tail_high = np.maximum.accumulate(np.array([points[s] for s in sorted(points)]), axis=0).T
    return _crossing(tail_high, theta, seen, "left"), max(_crossing(tail_low, theta, target, "right"), least_high)


def _walk(scales: Sequence[float], beyond: Callable[[float], bool]) -> None:
    """Try scales, given from the middle outwards, until the two neighbours between which an end lies have been tried.

    An end mostly lies next to the second scale, so the walk starts there.
    """
    if beyond(scales[1]):
        beyond(scales[0])
    else:
        next((scale for scale in scales[2:] if beyond(scale)), None)


def _crossing(tail: np.ndarray, theta: np.ndarray, seen: float, side: Literal["left", "right"]) -> float:
    """Return the theta where a quantile, which increases with it, reaches ("left") or passes ("right") the value seen.

    Between scales it is interpolated. For few rows, however, the quantile moves in steps; where a step equals the value
    seen, the crossing can lie anywhere up to the next scale outwards, and that scale is taken, which errs on the safe
    side.
    """
    after = int(np.searchsorted(tail, seen + (_TIE if side == "right" else -_TIE), side=side))
    if after == 0:
        return float(max(theta[0], 0.0))
    if after == len(tail):
        return float(theta[-1])
    if side == "right" and seen - tail[after - 1] <= _TIE:
        return float(theta[after])
    if side == "left" and tail[after] - seen <= _TIE:
        return float(theta[after - 1])
    share = (seen - tail[after - 1]) / (tail[after] - tail[after - 1])
    return float(theta[after - 1] + share * (theta[after] - theta[after - 1]))


RowValues = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From outcomes and confidences of shape (n,) to one value per row."""


@dataclass(frozen=True)
class Metric:
    """One number of a set of rows.

    `name`: its key in ``summary.json``. `label`: what tables call it. `value_of`: ``value_of(rows)`` gives the number
    alone. `estimate_of`: ``estimate_of(rows, n_draws, random_state)`` gives it with its interval. `better`: ``"lower"``
    or ``"higher"`` where tables that compare corrections have a column of it: which of two corrections it prefers.
    """

    name: str
    label: str
    value_of: Callable[[LabelledRows], float]
    estimate_of: Callable[[LabelledRows, int, RandomState], MeasureAgainstNull]
    better: Literal["lower", "higher"] | None = None


def _mean_of(values: RowValues, rows: LabelledRows, *_draws: Any, low: float = -np.inf, high: float = np.inf) -> Any:
    """Estimate the mean of a value of each row, with Student's interval, cut to where the mean can lie.

    One row whose outcome turns out otherwise is added to the variance: rows that are all right, or nearly all, say
    little of how much the next one may lose.
    """
    y, f = rows.correct, rows.confidence
    value = values(y, f)
    flipped = float(np.sqrt(rows.shares @ np.square(values(1 - y, f) - value)))
    found = scores.mean_of_values(rows, value, unit=flipped)
    ends = found.interval and (max(found.interval[0], low), min(found.interval[1], high))
    return found.model_copy(update={"interval": ends})


def _accuracy(rows: LabelledRows, *_draws: Any) -> MeasureAgainstNull:
    """Estimate the share of right answers, with Wilson's interval."""
    share = float(rows.shares @ rows.correct)
    left = rows.correct - share
    effect = kish(rows.shares, left**2) * effect_of_groups(left, rows.group, rows.shares) * rows.factor**2
    low, high = scores.wilson(np.clip(share, 0.0, 1.0), len(rows) / effect)
    return MeasureAgainstNull(value=share, interval=(float(low), float(high)))


def _mean(
    name: str, label: str, values: RowValues, better: Literal["lower", "higher"] | None = None, **ends: float
) -> Metric:
    return Metric(name, label, partial(scores.mean_value, values=values), partial(_mean_of, values, **ends), better)


METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("accuracy", "Accuracy", partial(scores.mean_value, values=lambda y, f: y), _accuracy),
        _mean("confidence", "Mean confidence", lambda y, f: f, low=0.0, high=1.0),
        Metric("smece", "smECE", smece_value, smece_of, "lower"),
        Metric("ece", "ECE", scores.ece_of, binned_error_of),
        _mean("brier", "Brier", scores.squared_errors, "lower", low=0.0, high=1.0),
        _mean("log_loss", "Log loss", scores.log_losses, "lower"),
    )
}
"""Every metric by name, in the order in which tables list them."""


def correction_metrics() -> list[Metric]:
    """Return the metrics by which corrections are compared, in the order of their columns.

    Examples
    --------
    >>> [metric.label for metric in correction_metrics()][:3]
    ['smECE', 'Brier', 'Log loss']
    """
    return [metric for metric in METRICS.values() if metric.better is not None]
