"""The worst-slice gap: how much the smECE of the worse regime exceeds that of all rows.

It is a difference and can be negative, where all rows together are further off than those of either regime. Where the
residual curves seen have a gap above 0, its interval is found by `invert`. Below 0, `invert` is no guide: it tries the
curves seen, all scaled alike and clipped to [0, 1], so that a gap further from 0 than the one seen may not occur, and
the errors of the slices and of all rows vary only together. There the interval is combined from the intervals of the
slices and of all rows. So is the lower end wherever all rows together are not calibrated: scaled down, the curves lose
the error that they have in common, whose noise makes the worse of two slices look worse than all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from miscal.base.checks import check_lengths
from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows, check_predictions, check_rows, check_slices
from miscal.calibration.metrics import inference
from miscal.calibration.metrics.confidence_cells import (
    ConfidenceCells,
    Statistic,
    expected,
    merge,
    observed,
    smece_statistic,
    smooth_residual,
)
from miscal.calibration.metrics.smooth import smece_of_residuals

SIDES = ("over", "under")
"""The regimes that count as slices; all other rows count only towards the whole."""

MIN_SLICE_ROWS = 30
"""Rows that a slice needs. The noise floor of smECE is about 0.3 n^(-1/3), that is 0.1 for 30 rows: with fewer, a gap
would say more about chance than about the slice. Not tuned."""


class GapNumbers(inference.ErrorEstimate):
    """Worst-slice SmoothECE gap; ``worst`` names the slice."""

    worst: str | None = None


class GapEstimate(GapNumbers):
    """The slice that is worst calibrated, and by how much more than all rows.

    `value`: max(smECE of over, smECE of under) - smECE of all; None if both slices are too small, and exactly 0 where a
        slice holds all rows.
    `smece, slices`: smECE of all rows, and of each slice that has enough rows.
    `interval`: at 95 %; None, as what follows, where it was not asked for or there is no gap. Where the curves seen
        have a gap above 0, it comes from inverting a test among gaps of at least 0. Where that test does not exclude 0,
        or the interval of all rows does, the lower end is combined from the intervals of slices and of all rows, which
        covers more than 95 %; where the curves have no gap above 0, both ends are. (0, 0) where a slice holds all rows.
    `floor`: the mean gap of a calibrated model with these confidences and slices.
    `p_value`: of the hypothesis that the model is calibrated: the share of draws y* ~ Bernoulli(f), with the same
        slices, whose gap is at least this large.
    """

    smece: float
    slices: dict[str, float]


def clipped(gap: float | None) -> float:
    """Cut a gap off at 0, as the paper appears to report it: no lower end in its Table 5 is negative.

    Takes gap: signed. Returns float: max(0, gap).

    Examples
    --------
    >>> clipped(-0.1), clipped(None), clipped(0.1)
    (0.0, 0.0, 0.1)
    """
    return max(0.0, gap or 0.0)


def worst_slice(
    correct: Any, confidence: Any, regime: Any, *, min_rows: int = MIN_SLICE_ROWS, sample_weight: Any = None
) -> GapEstimate:
    """Find the worse calibrated regime, and by how much its smECE exceeds that of all rows.

    Takes correct (n,): outcomes, 0 or 1; confidence (n,): confidences in [0, 1]; regime (n,): "over" or "under";
    min_rows: rows of positive weight that a slice needs; sample_weight (n,): non-negative. Returns: GapEstimate: With
    value None where neither slice has `min_rows` rows.

    Examples
    --------
    >>> gap = worst_slice([0, 1] * 30, [0.5] * 60, ["over", "under"] * 30)
    >>> round(gap.value, 4), round(gap.smece, 4)
    (0.5, 0.0)
    """
    return _worst_slice(*_check(correct, confidence, regime, sample_weight), min_rows)


def worst_slice_gap(
    y_true: Any, y_prob: Any, *, slices: Any, min_rows: int = MIN_SLICE_ROWS, sample_weight: Any = None
) -> float:
    """Return by how much the smECE of the worst slice exceeds that of all rows.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    y_prob : array-like of shape (n,)
        Confidences in [0, 1].
    slices : array-like of shape (n,)
        The slice of each row: any values, of which equal ones are one slice. Rows without one (None, NaN) count only
        towards the whole.
    min_rows : int, default 30
        Rows of positive weight that a slice needs, because the noise floor of few rows exceeds most gaps.
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.

    Returns
    -------
    float
        In [-1, 1]; lower is better. Negative where all rows together are further off than each slice.

    Raises
    ------
    InputError
        If no slice has `min_rows` rows, an array is empty, not finite or out of range, or lengths differ.

    Examples
    --------
    >>> round(worst_slice_gap([0, 1] * 30, [0.5] * 60, slices=["a", "b"] * 30), 4)
    0.5
    """
    check_lengths(y_true=y_true, y_prob=y_prob, slices=slices, sample_weight=sample_weight)
    rows = check_predictions(y_true, y_prob, sample_weight)
    names = check_slices(slices, sample_weight)
    # pandas' own sign for a missing value is neither equal to itself nor not
    known = np.array([name is not None and (name == name) is True for name in names.tolist()])
    found, number = np.unique(names[known].astype(str), return_inverse=True)
    label = np.full(len(names), len(found))
    label[known] = number
    value = _worst_slice(rows, label, min_rows, found.tolist()).value
    if value is None:
        raise InputError(f"no slice has {min_rows} rows or more: give larger slices, or a smaller min_rows")
    return value


def _worst_slice(rows: LabelledRows, label: np.ndarray, min_rows: int, names: Sequence[str] = SIDES) -> GapEstimate:
    if min_rows != int(min_rows) or min_rows < 1:
        raise InputError(f"min_rows must be a whole number of at least 1; got {min_rows!r}")
    weight, value = rows.shares, rows.shares * (rows.correct - rows.confidence)
    whole = smece_of_residuals(rows.confidence, value)
    slices = {}
    for code, name in enumerate(names):
        inside = label == code
        if inside.sum() < min_rows:
            continue
        # a slice of all rows differs from them in nothing, not even by rounding
        slices[name] = whole
        if not inside.all():
            # weights sum to 1 over all rows, and must again within the slice
            slices[name] = smece_of_residuals(rows.confidence[inside], value[inside] / weight[inside].sum())
    if not slices:
        return GapEstimate(value=None, smece=whole, slices={})
    worst = max(slices, key=lambda name: slices[name])
    return GapEstimate(value=slices[worst] - whole, worst=worst, smece=whole, slices=slices)


def slice_number(regime: Any) -> np.ndarray:
    """Give each row the number of its slice, and those of neither the number after the last.

    Examples
    --------
    >>> slice_number(["over", "under", "good", None]).tolist()
    [0, 1, 2, 2]
    """
    names = np.asarray(regime, dtype=object)
    label = np.full(len(names), len(SIDES))
    for code, name in enumerate(SIDES):
        label[names == name] = code
    return label


def _check(
    correct: Any, confidence: Any, regime: Any, sample_weight: Any, groups: Any = None
) -> tuple[LabelledRows, np.ndarray]:
    check_lengths(correct=correct, confidence=confidence, regime=regime, sample_weight=sample_weight)
    rows = check_rows(correct, confidence, sample_weight, groups)
    return rows, slice_number(check_slices(regime, sample_weight, name="regime"))


def _gap_statistic(cells: ConfidenceCells, names: list[str]) -> Statistic:
    whole = smece_statistic(cells)
    parts = [smece_statistic(cells, cells.label == SIDES.index(name)) for name in names]

    def statistic(residual: np.ndarray, mass: np.ndarray) -> np.ndarray:
        return np.max([part(residual, mass) for part in parts], axis=0) - whole(residual, mass)

    return statistic


def _sliced_shape(cells: ConfidenceCells) -> np.ndarray:
    """Return each slice's residual curve, smoothed at the smECE of the slice; the other rows count as a slice here."""
    shape = np.zeros(len(cells.location))
    for code in np.unique(cells.label):
        rows = cells.label == code
        own = {name: getattr(cells, name)[rows] for name in ("location", "count", "ones", "label")}
        # masses of the slice alone, which sum to 1
        part = ConfidenceCells(**own, weight=cells.weight[rows] / cells.mass[rows].sum(), n_cells=cells.n_cells)
        sigma = observed(part, smece_statistic(part))
        shape[rows] = smooth_residual(part, sigma)
    return shape


def measure_gap(
    correct: Any, confidence: Any, regime: Any, *, sample_weight: Any = None, groups: Any = None, **options: Any
) -> GapEstimate:
    """Gap with interval, floor and p-value; the options are those of :func:`gap_of`.

    Takes groups (n,): rows of equal value may hang together.

    Examples
    --------
    >>> gap = measure_gap([0, 1] * 30, [0.5] * 60, ["over", "under"] * 30, n_draws=100)
    >>> gap.p_value < 0.05, gap.interval[0] > 0.3
    (True, True)
    """
    rows, label = _check(correct, confidence, regime, sample_weight, groups)
    return gap_of(rows, label, **options)


def gap_of(
    rows: LabelledRows,
    label: np.ndarray,
    *,
    min_rows: int = MIN_SLICE_ROWS,
    n_draws: int = inference.DRAWS,
    random_state: inference.RandomState = 0,
    known: Mapping[str, tuple[float, float]] | None = None,
) -> GapEstimate:
    """Measure the gap of rows, with interval, floor and p-value.

    Takes label (n,): number of each row's slice (`slice_number`); n_draws: draws for floor and p-value; random_state:
    source of randomness; known: intervals of smECE that were found before, of the slices (``"over"``, ``"under"``)
    and of all rows (``"all"``): those that are needed and missing are found here, by `smece_ends`.
    """
    found = _worst_slice(rows, label, min_rows)
    if found.value is None:
        return found
    in_slice = {name: label == SIDES.index(name) for name in found.slices}
    if any(inside.all() for inside in in_slice.values()):
        # whatever the outcomes are
        return found.model_copy(update={"interval": (0.0, 0.0), "floor": 0.0, "p_value": 1.0})
    parts = {name: rows.take(inside) for name, inside in in_slice.items()}
    cells = merge(rows, label, effect=max(map(inference.effect_given_confidence, (rows, *parts.values()))))
    statistic = _gap_statistic(cells, list(found.slices))
    null = inference.null_draws(cells, statistic, n_draws, random_state)
    shape, n_draws = _sliced_shape(cells), min(n_draws, inference.INTERVAL_DRAWS)
    tested = None
    if expected(cells, statistic, np.clip(cells.location + shape, 0.0, 1.0)) > 0:
        # no smECE is below its |mean residual|, so neither is a slice's upper end
        least_high = max(map(inference.mean_limit, parts.values())) - found.smece
        tested = inference.invert(cells, statistic, shape, least_high, n_draws, random_state)
    ends = {
        name: (known or {}).get(name) or inference.smece_ends(part, n_draws, random_state)
        for name, part in {**parts, "all": rows}.items()
    }
    # the least and the largest gap that the intervals of the slices and of all rows allow
    low, high = np.max([interval for name, interval in ends.items() if name != "all"], axis=0).tolist()
    interval = low - ends["all"][1], high - ends["all"][0]
    if tested:
        # the test excludes a gap of 0 where nothing is wrong, which says nothing where all rows together are off
        low = interval[0] if ends["all"][0] > 0 else tested[0] or min(0.0, interval[0])
        interval = low, tested[1]
    p_value = inference.p_value_of(null, observed(cells, statistic))
    return found.model_copy(update={"interval": interval, "floor": float(null.mean()), "p_value": p_value})
