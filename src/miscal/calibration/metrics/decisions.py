"""Measure decisions that are made by a score: rows at or above a threshold are acted on, or a share of the rows is.

*At a threshold.* Answers at or above it are accepted, patients treated, transactions held. What acting is worth is the
net benefit (Vickers & Elkin, Medical Decision Making 26, 2006): the share of the rows that are acted on rightly, less
that of those acted on needlessly times the odds of the threshold. Whoever acts from a threshold t on says by it that
a needless action costs t / (1 - t) times what a missed one does.

*At a coverage.* Rows are ranked by a score, and the k of n rows with the largest are kept: a coverage of k / n. The
risk is the share of wrong answers among them (El-Yaniv & Wiener, JMLR 11, 2010). Which rows of equal score are kept is
left to chance, and the risk is its expectation: of a tie of g rows with e wrong answers, of which j are kept, e j / g
are wrong on average. So the expected number of wrong answers is linear within a tie, and no order of the rows favours
any score. The area under the curve is the mean risk over k = 1 .. n (Geifman, Uziel & El-Yaniv, ICLR 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from miscal.base.checks import check_lengths
from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows, check_predictions, check_rows, drawn_counts
from miscal.calibration.metrics.inference import DRAWS, RandomState, generator
from miscal.calibration.metrics.scores import CONFIDENCE_LEVEL, MeanEstimate, mean_of_values
from miscal.calibration.survey_design import fewness


def implied_threshold(cost: tuple[float, float]) -> float:
    """Probability from which on acting costs less than not acting.

    Takes cost: what a missed row costs that should have been acted on (a false negative), and what a needless action
    costs (a false positive). Returns float: FP / (FN + FP), in (0, 1).

    Examples
    --------
    >>> implied_threshold((9.0, 1.0))
    0.1
    """
    missed, needless = cost
    return needless / (missed + needless)


def net_benefit(y_true: Any, y_prob: Any, threshold: float, *, sample_weight: Any = None) -> float:
    """Net benefit of acting on the rows with at least some confidence (Vickers & Elkin, 2006).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1: whether acting was right.
    y_prob : array-like of shape (n,)
        In [0, 1].
    threshold : float
        In [0, 1). At 0 all rows are acted on; the net benefit of acting on all is ``rate - (1 - rate) t / (1 - t)``.
    sample_weight : array-like of shape (n,), optional
        Non-negative; all 1 by default.

    Returns
    -------
    float
        Right actions less needless ones times t / (1 - t), as a share of the rows; at most the rate of the outcome.
        Nobody acted on: 0.

    Raises
    ------
    InputError
        If an array is empty, not finite or out of range, lengths differ, or the threshold is not in [0, 1).

    Examples
    --------
    >>> net_benefit([1, 0, 1, 0], [0.9, 0.6, 0.2, 0.1], 0.5), net_benefit([1, 0, 1, 0], [0.9, 0.6, 0.6, 0.1], 0.5)
    (0.0, 0.25)
    """
    if not 0 <= threshold < 1:
        raise InputError(f"threshold must be in [0, 1); got {threshold!r}")
    return mean_net_benefit(check_predictions(y_true, y_prob, sample_weight), threshold)


def mean_net_benefit(rows: LabelledRows, threshold: float) -> float:
    """Return the net benefit of rows that are checked already, as :func:`net_benefit` does."""
    return float(rows.shares @ _benefits(rows.correct, rows.confidence, threshold))


def net_benefit_gain(rows: LabelledRows, after: np.ndarray, threshold: float) -> MeanEstimate:
    """Subtract the net benefit of one score from that of another, row by row, with its 95 % interval.

    Takes rows: at least one row, with the first score as `confidence`; after (n,): the second score. Returns:
    MeanEstimate: Positive where the second score is better.

    Examples
    --------
    >>> y, sure = np.tile([1.0, 0.0], 50), np.full(100, 0.9)
    >>> gain = net_benefit_gain(LabelledRows.of(y, sure), np.where(y == 1, 0.9, 0.1), 0.5)
    >>> round(gain.value, 6), gain.interval[0] > 0.3, net_benefit_gain(LabelledRows.of(y, sure), sure, 0.5).interval
    (0.5, True, (0.0, 0.0))
    """
    y, changed = rows.correct, (after >= threshold) != (rows.confidence >= threshold)
    if not changed.any():
        return MeanEstimate(value=0.0, interval=(0.0, 0.0), p_value=1.0)
    gained = _benefits(y, after, threshold) - _benefits(y, rows.confidence, threshold)
    # an outcome that flips turns a right action, worth 1, into a needless one
    return mean_of_values(rows, gained, unit=1 / (1 - threshold))


def _benefits(correct: np.ndarray, score: np.ndarray, threshold: float) -> np.ndarray:
    """Return what acting on each row is worth, in right actions; 0 where it is not acted on."""
    return np.where(score >= threshold, correct - (1 - correct) * threshold / (1 - threshold), 0.0)


GAIN_COVERAGES = (0.5, 0.8, 0.9)
"""Coverages at which the gain is reported, beside the area: a convention."""


Kept = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def _ranked(rows: LabelledRows) -> Kept:
    """Rank rows by falling confidence, and return what tells how many are kept up to the end of each tie.

    Of rows that are counted (B, n) times it gives all rows kept and the wrong ones, (B, G + 1) each, from 0.
    """
    order = np.argsort(-rows.confidence, kind="stable")
    ranked, error = rows.confidence[order], 1 - rows.correct[order]
    start = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])

    def kept(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = (np.add.reduceat(part, start, axis=1) for part in (counts[:, order], counts[:, order] * error))
        every, wrong = (np.pad(np.cumsum(part, axis=1), ((0, 0), (1, 0))) for part in sums)
        return every, wrong

    return kept


def risk_at_coverage(correct: Any, score: Any, coverage: Sequence[float]) -> np.ndarray:
    """Share of wrong answers among the rows with the largest scores, at several coverages.

    Takes correct (n,): outcomes, 0 or 1; score (n,): what ranks the rows, in [0, 1]; coverage: shares of rows kept,
    in (0, 1]. Returns ndarray of float64, shape (m,): In [0, 1].

    Examples
    --------
    >>> risk_at_coverage([1, 1, 0, 0], [0.9, 0.8, 0.8, 0.1], [0.25, 0.5, 1.0]).tolist()
    [0.0, 0.25, 0.5]
    """
    rows = check_rows(correct, score)
    return _risks(*_ranked(rows)(np.ones((1, len(rows)))), _checked_coverage(coverage))[0]


@dataclass(frozen=True)
class DeferralGain:
    """What another score changes for deferral.

    Attributes
    ----------
    at : float or None
        The coverage; None for the area under the curve.
    before, after : float
        Risk, or area, by either score.
    gain : float
        before - after; positive where the second score is better.
    interval : (float, float)
        Of the gain: 2.5 % and 97.5 % quantiles over rows drawn with replacement, the same for both scores. With groups,
        these are drawn, and the ends are farther from the gain by what few groups cost
        (:mod:`miscal.calibration.survey_design`). Of the area it is too short all the same where groups are few: the
        rows ranked first, which count most, are of even fewer.
    """

    at: float | None
    before: float
    after: float
    gain: float
    interval: tuple[float, float]


def deferral_gains(
    correct: Any,
    before: Any,
    after: Any,
    *,
    correct_after: Any = None,
    coverage: Sequence[float] = GAIN_COVERAGES,
    groups: Any = None,
    n_draws: int = DRAWS,
    random_state: RandomState = 0,
) -> tuple[DeferralGain, ...]:
    """Compare two scores for deferral on the same rows.

    Takes correct (n,): outcomes, 0 or 1; before, after (n,): two scores of the rows, in [0, 1]: raw and corrected
    confidences, say; correct_after (n,): outcomes of the answers that go with the second score, where they are
    others; groups (n,): rows of equal value may hang together, and are drawn together; n_draws: bootstrap draws.
    Returns tuple of DeferralGain: The area first, then the coverages in order.

    Examples
    --------
    >>> area, half = deferral_gains([1, 0] * 50, [0.5] * 100, [0.9, 0.1] * 50, coverage=[0.5], n_draws=50)
    >>> half.before, half.after, half.gain, half.interval[0] > 0.2
    (0.5, 0.0, 0.5, True)
    """
    correct_after = correct if correct_after is None else correct_after
    check_lengths(correct=correct, before=before, after=after, correct_after=correct_after)
    rows, rows_after = check_rows(correct, before, groups=groups), check_rows(correct_after, after)
    shares = _checked_coverage(coverage)
    rankings = [_ranked(one) for one in (rows, rows_after)]

    def numbers(counts: np.ndarray) -> np.ndarray:
        """Area and risks by both scores, (2, B, 1 + m)."""
        kept = [ranking(counts) for ranking in rankings]
        return np.stack([np.column_stack([_areas(*one), _risks(*one, shares)]) for one in kept])

    first, second = numbers(np.ones((1, len(rows))))[:, 0]
    group = rows.group
    units = len(rows) if group is None else int(group.max()) + 1
    if units == len(rows):
        group = None
    blocks = drawn_counts(len(rows), group, n_draws, generator(random_state))
    draws = np.concatenate([np.subtract(*numbers(counts)) for counts in blocks])
    tail = (1 - CONFIDENCE_LEVEL) / 2
    ends = np.quantile(draws, [tail, 1 - tail], axis=0)
    low, high = ends if group is None else first - second + np.sqrt(fewness(units)) * (ends - (first - second))
    return tuple(
        DeferralGain(
            at, float(first[k]), float(second[k]), float(first[k] - second[k]), (float(low[k]), float(high[k]))
        )
        for k, at in enumerate((None, *shares.tolist()))
    )


def _risks(rows: np.ndarray, wrong: np.ndarray, coverage: np.ndarray) -> np.ndarray:
    """Risk at coverages (m,), by rows and wrong answers up to each tie (B, G + 1): (B, m)."""
    # draws of groups of several sizes differ in their number of rows
    kept = coverage * rows[:, -1:]
    return np.stack([np.interp(k, r, w) for k, r, w in zip(kept, rows, wrong, strict=True)]) / kept


def _areas(rows: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Mean over k = 1 .. n of the expected wrong answers among k rows, divided by k: (B,).

    Within a tie that begins after a rows with b wrong ones, and has e wrong ones in g rows, that is b + (k - a) e / g.
    Divided by k and summed over the tie it is (b - a e / g) (H(a + g) - H(a)) + e, with H the harmonic numbers.
    """
    n = rows[:, -1]
    harmonic = np.r_[0.0, np.cumsum(1 / np.arange(1, n.max() + 1))]
    size, errors = np.diff(rows, axis=1), np.diff(wrong, axis=1)
    # a tie that a draw has left empty adds nothing
    rate = np.divide(errors, size, out=np.zeros_like(errors), where=size > 0)
    place = rows.astype(np.int64)
    within = (wrong[:, :-1] - rows[:, :-1] * rate) * (harmonic[place[:, 1:]] - harmonic[place[:, :-1]])
    return (within + errors).sum(axis=1) / n


def _checked_coverage(coverage: Sequence[float]) -> np.ndarray:
    shares = np.asarray(coverage, dtype=np.float64)
    if shares.ndim != 1 or not np.all((shares > 0) & (shares <= 1)):
        raise InputError(f"coverage must be a list of shares in (0, 1]; got {coverage!r}")
    return shares
