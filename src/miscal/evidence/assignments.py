"""Bet on which rows of a stratum have outcome 1, given how many do.

Where the outcomes do not depend on anything but an offset, the probability of an assignment of m ones to the n rows of
a stratum is the product of the weights exp(offset) of the rows that have them, divided by the m-th elementary symmetric
polynomial of all weights (with equal offsets: all assignments are equally likely). A bet multiplies the weights by
exp(theta s); its factor is the ratio of the two probabilities, and has expectation 1 given m, exactly, for any s that
is fixed before the outcomes.

The polynomial is the probability that independent coin tosses with odds c w give m heads, times a known factor; with c
such that about m heads are expected, neither underflows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WIDEST = 9.0
"""Bound of offsets and tilts in log-odds, so that no probability underflows."""


def tilted_log_factor(outcome: Floats, offset: Floats, tilts: Floats, stratum: Ints) -> Floats:
    """Logarithms of the factors of bets that the ones of each stratum fall where a tilt is large.

    Parameters
    ----------
    outcome : (n,) float64, 0 or 1
    offset : (n,) float64
        Log-odds of each row where the hypothesis holds, up to a constant of its stratum.
    tilts : (n, k) float64
        What each of k bets adds to the log-odds, up to a constant of the stratum. Fixed before the outcomes.
    stratum : (n,) int64
        0 .. m - 1.

    Returns
    -------
    (k,) float64
        Sums over the strata, which are independent given their numbers of ones.

    Examples
    --------
    >>> y, s = np.array([1.0, 0.0]), np.array([[1.0], [-1.0]])
    >>> np.exp(tilted_log_factor(y, np.zeros(2), s, np.zeros(2, dtype=int))).round(4).tolist()
    [1.7616]
    """
    hits, rows = np.bincount(stratum, outcome), np.bincount(stratum)
    mixed = ((hits > 0) & (hits < rows))[stratum]
    if not mixed.any() or not tilts.any():
        return np.zeros(tilts.shape[1])
    number = np.unique(stratum[mixed], return_inverse=True)[1]
    outcome, offset, tilts = outcome[mixed], np.clip(offset[mixed], -WIDEST, WIDEST), tilts[mixed]
    tilts = np.clip(tilts, -WIDEST, WIDEST).T
    # the hypothesis and all bets at once, each with strata of its own
    every = len(tilts) + 1
    scores = np.concatenate([offset, (offset + tilts).ravel()])
    strata = (number + (number.max() + 1) * np.arange(every)[:, None]).ravel()
    polynomials = _log_polynomials(scores, np.tile(outcome, every), strata).reshape(every, -1).sum(1)
    return tilts @ outcome + polynomials[0] - polynomials[1:]


def _places(stratum: Ints) -> tuple[Ints, Ints]:
    """Place each row in a table with one line per stratum: its line and column."""
    order = np.argsort(stratum, kind="stable")
    starts = np.searchsorted(stratum[order], np.arange(stratum.max() + 1))
    column = np.empty(len(stratum), dtype=np.int64)
    column[order] = np.arange(len(stratum)) - starts[stratum[order]]
    return stratum, column


def _log_polynomials(score: Floats, outcome: Floats, stratum: Ints) -> Floats:
    """Logarithm of the elementary symmetric polynomial of exp(score) of each stratum, of degree its number of ones."""
    rows, ones = np.bincount(stratum), np.bincount(stratum, outcome)
    scale = np.log(ones) - np.log(rows - ones) - np.bincount(stratum, score) / rows
    odds = score + scale[stratum]
    # log(1 + exp(odds)) is minus log_expit(-odds)
    known = np.bincount(stratum, -log_expit(-odds)) - ones * scale
    return known + np.log(_probability_of_ones(odds, _places(stratum), ones.astype(np.int64)))


def _probability_of_ones(odds: Floats, place: tuple[Ints, Ints], ones: Ints) -> Floats:
    """Probability that independent tosses of each stratum give its number of ones."""
    heads = np.zeros((len(ones), int(place[1].max()) + 1))
    heads[place] = np.exp(log_expit(odds))
    found = np.zeros((len(ones), int(ones.max()) + 1))
    found[:, 0] = 1.0
    # an empty cell is a toss that never gives heads
    for toss in heads.T:
        found[:, 1:] += toss[:, None] * (found[:, :-1] - found[:, 1:])
        found[:, 0] *= 1 - toss
    return np.maximum(found[np.arange(len(ones)), ones], np.finfo(float).tiny)
