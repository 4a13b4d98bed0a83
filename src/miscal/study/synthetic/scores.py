"""Measure recovery and choice: correlation, rank agreement, spread and regret."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

from miscal.calibration.survey_design import correlation


@dataclass(frozen=True)
class Choice:
    """How good a choice among candidates was (arXiv 2605.13484, section 5.1).

    Attributes
    ----------
    oracle, chosen : float
        Largest recovery among the candidates, and that of the chosen one; correlations in [-1, 1].
    spread : float
        Largest minus smallest recovery.
    regret : float
        oracle - chosen, not negative.
    spearman : float or None
        Rank correlation of the negated criterion with recovery; None where either is constant.
    """

    oracle: float
    chosen: float
    spread: float
    regret: float
    spearman: float | None


def rmse(estimate: np.ndarray, truth: np.ndarray) -> float:
    """Root mean square error of arrays (n,).

    Examples
    --------
    >>> rmse(np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    1.4142135623730951
    """
    return float(np.sqrt(np.mean(np.square(estimate - truth))))


def judge_choice(candidates: Sequence[Mapping[str, Any]], criterion: str) -> Choice:
    """Judge a choice that was made by the smallest criterion.

    Parameters
    ----------
    candidates : sequence of mapping
        Rows with recovery ``r`` on test rows (None, a constant estimate, counts as 0), the criterion, and ``chosen``,
        of which exactly one is True.
    criterion : str
        Key of what the choice was made by, a proxy or log loss. Rows without one do not enter the rank correlation.

    Examples
    --------
    >>> rows = [{"proxy": p, "r": r, "chosen": p == 0.20} for p, r in [(0.20, 0.8), (0.21, 0.9), (0.25, 0.1)]]
    >>> judge_choice(rows, "proxy")
    Choice(oracle=0.9, chosen=0.8, spread=0.8, regret=0.09999999999999998, spearman=0.5)
    """
    found = np.array([row["r"] or 0.0 for row in candidates])
    known = [i for i, row in enumerate(candidates) if row[criterion] is not None]
    ranks = rankdata([-candidates[i][criterion] for i in known]), rankdata(found[known])
    spearman = correlation(*ranks) if known else None
    best, own = float(found.max()), next(float(r) for r, row in zip(found, candidates, strict=True) if row["chosen"])
    return Choice(best, own, float(best - found.min()), best - own, None if spearman is None else round(spearman, 12))
