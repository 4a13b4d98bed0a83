"""What the whole pipeline finds where there is nothing to find.

A resampler draws outcomes for a world without the structure in question; the statistic refits everything on them and
measures the result. Three hypotheses, kept apart because they differ:

* ``calibrated``: y ~ Bernoulli(f). Nothing is miscalibrated; the whole field is flat.
* ``visible``: y ~ Bernoulli(g(f)), g an estimate of E[y | f] of any shape, so that a curve which no simple map follows
  is in the draws too. What a diagram shows is kept; the hidden field is flat.
* ``permuted``: y permuted among the rows of each learning split, test rows as they are (the paper's audit). The truth
  is then "base rate - f", which is not flat: it asks whether confidence and inputs tell anything about y.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.base.checks import check_confidence, check_correct, check_lengths
from miscal.base.errors import InputError
from miscal.evidence.settings import EVIDENCE_DEFAULTS

Floats = NDArray[np.float64]
Resampler = Callable[[np.random.Generator], Floats]
Statistics = Callable[[Floats], Mapping[str, float]]


@dataclass(frozen=True)
class NullStatistic:
    """One statistic, as observed and under the null.

    Attributes
    ----------
    observed : float
    draws : tuple of float
    mean, std : float
        Of the draws; the standard deviation divides by n - 1 (0 for one draw).
    p_value : float
        (1 + number of draws at least as large) / (1 + number of draws).
    """

    observed: float
    draws: tuple[float, ...]
    mean: float
    std: float
    p_value: float


def bernoulli_outcomes(probability: Floats) -> Resampler:
    """Outcomes y ~ Bernoulli(probability): the calibrated null with f, the visible null with g(f).

    Parameters
    ----------
    probability : (n,) float in [0, 1]

    Returns
    -------
    callable
        Takes a numpy.random.Generator, returns (n,) float64 of 0 and 1.

    Examples
    --------
    >>> bernoulli_outcomes([0.0, 1.0])(np.random.default_rng(0)).tolist()
    [0.0, 1.0]
    """
    rate = check_confidence(probability, name="probability")
    return lambda rng: (rng.random(len(rate)) < rate).astype(np.float64)


def permuted_outcomes(correct: Floats, split: NDArray[np.str_]) -> Resampler:
    """Outcomes permuted among the train rows and among the validation rows; test outcomes stay (the paper's audit).

    Parameters
    ----------
    correct : (n,) in {0, 1}
    split : (n,) of "train", "val", "test"

    Returns
    -------
    callable
        Takes a numpy.random.Generator, returns (n,) float64 of 0 and 1.

    Examples
    --------
    >>> draw = permuted_outcomes([0, 1, 1, 0, 1], ["train", "train", "train", "test", "test"])
    >>> y = draw(np.random.default_rng(0))
    >>> y[:3].sum(), y[3:].tolist()
    (np.float64(2.0), [0.0, 1.0])
    """
    check_lengths(correct=correct, split=split)
    y, names = check_correct(correct), np.asarray(split)

    def draw(rng: np.random.Generator) -> Floats:
        drawn = y.copy()
        for name in ("train", "val"):
            rows = np.flatnonzero(names == name)
            drawn[rows] = y[rng.permutation(rows)]
        return drawn

    return draw


def null_audit(
    statistics: Statistics,
    resample: Resampler,
    correct: Floats,
    *,
    n_draws: int = EVIDENCE_DEFAULTS.null_draws,
    random_state: int | np.random.Generator = 0,
) -> dict[str, NullStatistic]:
    """Compare statistics of the data with those of draws from a null.

    Parameters
    ----------
    statistics : callable
        Takes outcomes (n,), does all that was done to the data with them, and returns named finite numbers. Larger
        means more structure.
    resample : callable
        Takes a numpy.random.Generator and returns outcomes (n,) of the null.
    correct : (n,) in {0, 1}
        The outcomes of the data.
    n_draws : int >= 1, default 20
        Refits; p-values are at least 1 / (1 + n_draws).
    random_state : int or numpy.random.Generator, default 0

    Returns
    -------
    dict of str to NullStatistic

    Raises
    ------
    InputError
        If n_draws is below 1, or a statistic is not finite.

    Examples
    --------
    >>> f = np.full(100, 0.5)
    >>> found = null_audit(lambda y: {"excess": y.mean() - 0.5}, bernoulli_outcomes(f), np.ones(100), n_draws=99)
    >>> found["excess"].p_value
    0.01
    """
    if n_draws < 1:
        raise InputError(f"n_draws must be at least 1; got {n_draws}")
    rng = np.random.default_rng(random_state)
    observed = _finite(statistics(check_correct(correct)))
    drawn = [_finite(statistics(resample(rng))) for _ in range(n_draws)]
    return {name: _compare(value, np.array([draw[name] for draw in drawn])) for name, value in observed.items()}


def _compare(observed: float, draws: Floats) -> NullStatistic:
    return NullStatistic(
        observed=observed,
        draws=tuple(draws.tolist()),
        mean=float(draws.mean()),
        std=float(draws.std(ddof=1)) if len(draws) > 1 else 0.0,
        # the data count as one of the draws, or the test would reject too often (Phipson & Smyth, 2010)
        p_value=(1 + int(np.sum(draws >= observed))) / (1 + len(draws)),
    )


def _finite(values: Mapping[str, float]) -> dict[str, float]:
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    if bad:
        raise InputError(f"every statistic must be a finite number; these are not: {', '.join(bad)}")
    return {name: float(value) for name, value in values.items()}
