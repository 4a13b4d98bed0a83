"""Other estimates of a pass rate, in the form of :func:`~miscal.evidence.prediction_powered.pass_rate`.

What each of them presumes, and :func:`pass_rate` does not: the judge's own rate, that the judge is right on average;
Rogan and Gladen's, that the judge errs as often among the labelled rows as among the others. The labelled rows alone
presume no more than :func:`pass_rate`, and say less.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.checks import check_confidence, check_correct, check_lengths
from miscal.evidence.judged_rows import (
    Floats,
    JudgedRows,
    Mask,
    PassRate,
    Z,
    effective_labels,
    with_interval,
    without_interval,
)


def judge_rate(rows: JudgedRows, score: Any) -> PassRate:
    """Take the mean of the judge's scores for the pass rate; no verdict of people has a part in it.

    Takes score (n,): what the judge says: pass or fail, or a probability. Returns: PassRate: Its interval is that of
    the mean score of rows like these.

    Examples
    --------
    >>> rows = JudgedRows.of([0.5] * 100, [0, None] * 50)
    >>> judge_rate(rows, [1.0] * 75 + [0.0] * 25).estimate
    0.75
    """
    check_lengths(rows=rows, score=score)
    score = check_confidence(score, name="score")
    share = rows.weight / rows.weight.sum()
    mean = float(np.clip(share @ score, 0.0, 1.0))
    return with_interval(mean, effective_labels(score, share, rows.cluster), rows)


def labelled_rate(rows: JudgedRows) -> PassRate:
    """Estimate the pass rate from the labelled rows alone, weighted by the inverse probability of a label.

    Takes rows: their predictions are not looked at. Returns: PassRate: With the interval of
    :func:`~miscal.evidence.judged_rows.share_interval`, by the effective number of labels.

    Examples
    --------
    >>> found = labelled_rate(JudgedRows.of([0.5] * 200, [1, 0, None, None] * 50))
    >>> found.estimate, found.n_labelled, found.n
    (0.5, 100, 200)
    """
    some = rows.take(rows.labelled)
    if len(some) == 0:
        return without_interval(None, rows, "labels")
    share = some.inverse / some.inverse.sum()
    mean = float(np.clip(share @ some.human, 0.0, 1.0))
    if (lacking := rows.lacking) is not None:
        return without_interval(mean, rows, lacking)
    return with_interval(mean, effective_labels(some.human, share, some.cluster), rows)


def rogan_gladen(rows: JudgedRows, passed: Any) -> PassRate:
    """Correct the share of rows that a judge passes by how often it is right on passes and on failures.

    Rogan and Gladen (American Journal of Epidemiology 107, 1978), with the interval of Lang and Reiczigel (Preventive
    Veterinary Medicine 113, 2014). Numbers of rows are effective ones where rows count unequally or hang together.

    Takes passed (n,): whether the judge passes the row. Returns: PassRate: Lacking "labels" unless people approved of
    a labelled row and disapproved of another.

    Examples
    --------
    >>> human, judge = [1, 1, 1, 0] * 25 + [None] * 100, [1, 1, 0, 0] * 50
    >>> round(rogan_gladen(JudgedRows.of([0.5] * 200, human), judge).estimate, 2)
    0.75
    """
    check_lengths(rows=rows, passed=passed)
    judged = check_correct(passed, name="passed")
    good, bad = rows.human == 1, rows.human == 0
    if rows.lacking is not None or not good.any() or not bad.any():
        return without_interval(None, rows, rows.lacking or "labels")
    share = rows.weight / rows.weight.sum()
    rate, n = float(share @ judged), effective_labels(judged, share, rows.cluster)
    (hit, n_good), (false, n_bad) = (_judged_among(rows, judged, inside) for inside in (good, bad))
    if hit <= false:
        return without_interval(None, rows, "signal")
    estimate = float(np.clip((rate - false) / (hit - false), 0.0, 1.0))
    low, high = _lang_reiczigel((rate, n), (hit, n_good), (1 - false, n_bad))
    low, high = min(max(low, 0.0), estimate), max(min(high, 1.0), estimate)
    return PassRate(estimate, low, high, (high - low) / (2 * Z), int(rows.labelled.sum()), len(rows))


def _judged_among(rows: JudgedRows, judged: Floats, inside: Mask) -> tuple[float, float]:
    """Share of some labelled rows that the judge passes, and their effective number."""
    share = rows.inverse[inside] / rows.inverse[inside].sum()
    return float(share @ judged[inside]), effective_labels(judged[inside], share, rows.cluster[inside])


def _lang_reiczigel(
    rate: tuple[float, float], sensitivity: tuple[float, float], specificity: tuple[float, float]
) -> tuple[float, float]:
    """Interval from three shares and the rows behind each, to each of which a few rows are added."""
    p, n = _with_added(*rate, Z**2)
    se, n_se = _with_added(*sensitivity, 2.0)
    sp, n_sp = _with_added(*specificity, 2.0)
    youden = se + sp - 1
    if youden <= 0:
        return 0.0, 1.0
    found = float(np.clip((p + sp - 1) / youden, 0.0, 1.0))
    of_se, of_sp = se * (1 - se) / n_se, sp * (1 - sp) / n_sp
    shift = 2 * Z**2 * (found * of_se - (1 - found) * of_sp)
    half = Z * np.sqrt(p * (1 - p) / n + found**2 * of_se + (1 - found) ** 2 * of_sp) / youden
    return found + shift - half, found + shift + half


def _with_added(share: float, n: float, added: float) -> tuple[float, float]:
    return (n * share + added / 2) / (n + added), n + added
