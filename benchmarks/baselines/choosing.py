"""How baselines choose: held-out rows, and the base map under a correction."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from miscal.base.folds import assign_folds, row_groups
from miscal.calibration.calibrators import Calibrator, Identity, Isotonic, logit
from miscal.data.triples import Triples

Floats = NDArray[np.float64]

FEW_VALIDATION_ROWS = 400
"""With fewer validation rows than this, settings are chosen by five folds of all rows."""

BASES = ("identity", "isotonic")
N_FOLDS = 5


Pairs = list[tuple[NDArray[np.int64], NDArray[np.int64]]]


def held_out(rows: Triples, seed: int, *, cheap: bool = False) -> Pairs:
    """Choose the rows that settings are judged on.

    Parameters
    ----------
    rows : Triples
        With a split of 'train' and 'val'. Rows with equal inputs stay in one fold.
    seed : int
    cheap : bool, default False
        Fits are cheap: use folds however many validation rows there are.

    Returns
    -------
    list of (ndarray of int, ndarray of int)
        Rows to fit on and rows to be scored on: train and validation, or five folds of all rows where those are few.

    Examples
    --------
    >>> split = np.where(np.arange(50) < 5, "val", "train")
    >>> rows = Triples.of(np.arange(50.0)[:, None], confidence=np.full(50, 0.5), correct=np.arange(50) % 2, split=split)
    >>> len(held_out(rows, seed=0))
    5
    """
    validation = rows.split == "val"
    if validation.sum() >= FEW_VALIDATION_ROWS and not cheap:
        return [(np.flatnonzero(~validation), np.flatnonzero(validation))]
    folds = make_folds(rows.X, seed)
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in np.unique(folds)]


def make_folds(X: NDArray, seed: int) -> NDArray[np.int64]:
    """Five folds that keep equal inputs together, (n,).

    Examples
    --------
    >>> np.unique(make_folds(np.arange(50.0)[:, None], seed=0)).tolist()
    [0, 1, 2, 3, 4]
    """
    # a stream of its own: the same seed also draws splits and starts
    return assign_folds(row_groups(X), N_FOLDS, np.random.default_rng((seed, 11)))


def fit_base(base: str, correct: Floats, confidence: Floats) -> Calibrator:
    """Fit a base map: "identity", or "isotonic" (end blocks pulled off 0 and 1 by one pseudo-row)."""
    return (Identity() if base == "identity" else Isotonic(smoothing=1.0)).learn(correct, confidence)


def base_offset(base: str, correct: Floats, confidence: Floats, folds: NDArray[np.int64]) -> Floats:
    """Log-odds of the base map at the rows it learns from, each from the folds it is not in.

    Examples
    --------
    >>> base_offset("identity", np.array([1.0]), np.array([0.5]), np.array([0])).tolist()
    [0.0]
    """
    if base == "identity" or len(np.unique(folds)) < 2:
        return logit(fit_base(base, correct, confidence).apply(confidence))
    out = np.empty(len(confidence))
    for k in np.unique(folds):
        inside = folds == k
        fitted = fit_base(base, correct[~inside], confidence[~inside])
        out[inside] = logit(fitted.apply(confidence[inside]))
    return out


def best(losses: Iterable[tuple[dict, float]]) -> tuple[dict, float]:
    """Return the settings of the smallest loss, the first of equals.

    Examples
    --------
    >>> best([({"k": 1}, 0.5), ({"k": 2}, 0.4)])
    ({'k': 2}, 0.4)
    """
    return min(losses, key=lambda pair: pair[1])
