"""Test whether outcomes of rows that share a value hang together, beyond what confidence and inputs say of each.

The sum over groups of (sum of e_i)^2, e the residuals of honest corrected confidences, grows with the products of
residuals within a group: it is the score statistic of the intraclass correlation (that of a random intercept for each
group; Jacqmin-Gadda and Commenges, Biometrics 51, 1995). If outcomes are independent, the residuals of rows of
near-equal corrected confidence may be dealt to these rows in any other way. So the statistic is compared with what it
is when they are shuffled within strata, the same shuffles for all columns. Beyond the largest shuffled value, where a
rank says no more, the tail is that of the gamma law with the mean, the variance and the skewness of the shuffled ones.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import gammaincc, ndtr

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.conditional import given_count, strata
from miscal.evidence.kernel_score import shuffles
from miscal.evidence.settings import EVIDENCE_DEFAULTS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DRAWS = 500
"""Shuffles. The skewness that the tail needs is known to 0.1 by so many."""
_ROUNDING = 1e-5
"""Relative difference below which statistics are equal: they are summed in single precision."""
_LEAST_SKEWNESS = 1e-3
"""Below it the gamma law is the normal one."""


def intraclass_p_values(
    rows: LabelledRows, groups: Mapping[str, Ints], *, draws: int = DRAWS, random_state: int | np.random.Generator = 0
) -> dict[str, float]:
    """Test for each of some groupings whether the outcomes of a group hang together.

    Parameters
    ----------
    rows : LabelledRows
        With corrected confidences, and E[y | corrected confidence] as `expected`, both from fits that have not seen
        the row's outcome.
    groups : mapping of str to (n,) int64
        Number of the group of each row, -1 for a row of no group.
    draws : int, default 500
        Shuffles.
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    dict of str to float in (0, 1]
        One-sided p-values: small where outcomes of a group are more alike than those of other rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> day = np.repeat(np.arange(50), 20)
    >>> p = np.repeat(rng.uniform(0.2, 0.8, 50), 20)
    >>> y, half = (rng.random(1000) < p).astype(float), np.full(1000, 0.5)
    >>> found = intraclass_p_values(LabelledRows(y, half, half), {"day": day, "other": rng.permutation(day)})
    >>> found["day"] < 1e-6, found["other"] > 0.01
    (True, True)
    """
    if not groups:
        return {}
    stratum = strata(rows.expected, EVIDENCE_DEFAULTS.score_stratum_rows)
    e = given_count(rows.correct, rows.expected, stratum)
    gather = {name: _gather(number) for name, number in groups.items()}
    seen = {name: float(_squares(sums, e[None].astype(np.float32))[0]) for name, sums in gather.items()}
    drawn: dict[str, list[Floats]] = {name: [] for name in groups}
    for dealt in shuffles(e, stratum, draws, np.random.default_rng(random_state)):
        for name, sums in gather.items():
            drawn[name].append(_squares(sums, dealt))
    return {name: _p_value(seen[name], np.concatenate(drawn[name])) for name in groups}


def _gather(number: Ints) -> csr_array:
    """Return the matrix that adds up the rows of each group."""
    inside = np.flatnonzero(number >= 0)
    entries = np.ones(len(inside), np.float32), (number[inside], inside)
    return csr_array(entries, shape=(int(number.max(initial=-1)) + 1, len(number)))


def _squares(sums: csr_array, residuals: NDArray[np.floating]) -> Floats:
    """Sum over groups of the square of the sum of their residuals, for each of (k, n) draws."""
    of_groups = sums @ residuals.T
    return np.sum(of_groups.astype(np.float64) ** 2, axis=0)


def _p_value(seen: float, drawn: Floats) -> float:
    rank = (1 + np.sum(drawn >= seen * (1 - _ROUNDING))) / (1 + len(drawn))
    spread = float(drawn.std())
    if rank > 1 / (1 + len(drawn)) or spread == 0:
        return float(rank)
    score = (seen - float(drawn.mean())) / spread
    skewness = float(np.mean((drawn - drawn.mean()) ** 3)) / spread**3
    if skewness < _LEAST_SKEWNESS:
        tail = float(ndtr(-score))
    else:
        shape = 4 / skewness**2
        tail = float(gammaincc(shape, shape + score * np.sqrt(shape)))
    return float(np.clip(tail, np.finfo(float).tiny, rank))
