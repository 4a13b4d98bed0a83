"""The paper's bootstrap of the worst slice: field and regimes fixed, test rows or groups drawn with replacement.

Its percentiles show how far the numbers move from sample to sample. They are not confidence intervals of the
population gap, because the smooth calibration error of resampled rows is biased upwards;
:func:`miscal.calibration.metrics.measure_gap` gives such an interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from miscal.base.checks import check_weight
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import MIN_SLICE_ROWS, worst_slice
from miscal.calibration.metrics.checked_rows import check_rows, drawn_counts
from miscal.calibration.metrics.confidence_cells import ConfidenceCells, merge, simulate, smece_statistic
from miscal.calibration.survey_design import SurveyDesign
from miscal.evidence.settings import EVIDENCE_DEFAULTS


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
    correct: ArrayLike,
    confidence: ArrayLike,
    regime: ArrayLike,
    *,
    min_rows: int = MIN_SLICE_ROWS,
    groups: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    factor: float = 1.0,
    n_draws: int = EVIDENCE_DEFAULTS.bootstrap_draws,
    random_state: int | np.random.Generator = 0,
) -> SliceBootstrap:
    """Bootstrap gap and size of the slice that is worst on the data.

    Takes correct (n,); confidence (n,); regime (n,): "over", "under", anything else or None: as cut from a field that
    saw none of these outcomes; min_rows: rows that a slice needs; groups (n,): rows of equal value may hang together,
    and are drawn together; weights (n,): how much each row counts; factor: of the
    deviations of the draws from their mean, as of a survey design.

    Examples
    --------
    >>> found = slice_bootstrap([0, 1] * 100, [0.5] * 200, ["over", "under"] * 100, n_draws=200)
    >>> found.gap.low < found.gap.value and found.share.low < 0.5 < found.share.high
    True
    """
    observed = worst_slice(correct, confidence, regime, min_rows=min_rows, sample_weight=weights)
    if observed.worst is None or observed.value is None:
        return SliceBootstrap(None, None, None)
    rows = check_rows(correct, confidence, groups=groups)
    inside = np.asarray(regime, dtype=object) == observed.worst
    rng = np.random.default_rng(random_state)
    alone = rows.group is None or rows.group.max() + 1 == len(rows)
    if alone and weights is None:
        gaps, shares = _of_rows(rows, inside, n_draws, rng)
    else:
        weight = check_weight(weights, len(rows), name="weights")
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
