"""Find the bandwidth sigma at which smECE_sigma equals sigma.

S(sigma) = smECE_sigma does not increase with sigma and lies between |mean residual| and mean |residual|, so S(sigma)
= sigma has one root. The search converges because

- a trial x and its value S(x) always have the root between them (`_Bracket.narrowed`), so every trial narrows the
  bracket or leaves it as it is;
- a proposal lies between x and S(x), and is taken only inside the bracket (`_power_law_step`);
- every fourth trial is followed by the middle of the bracket if it shrank the distance |S(x) - x| less than tenfold;
- |S(x) - x| is at least the distance of x from the root, as S(sigma) - sigma falls with a slope of at most -1, and
  bounds the error of every point between x and S(x): the search cannot stop far from the root (`_remaining`).

One row alone mostly takes two to four trials, and seldom more than ten (`test_the_search_takes_few_trials`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.calibration.metrics.heat import INTEGRATION_ERROR, SMALLEST_SIGMA, cosine_moments, smoothed

TOLERANCE = 4e-6
"""Where the search stops: the distance |smECE_sigma - sigma| that the next step would leave, forecast from the last
two steps. A smaller one costs trials; with `heat.BINNING_ERROR` it stays within the 1e-5 that `smece` promises, which
the tests check against dense quadrature."""

ONE_SIGN = 1e-9
"""Where the sum and the sum of absolute values of the residuals agree to this share, they have one sign up to rounding;
smECE is then |mean residual| and needs no search."""

_BEST_RATIO = 0.02
"""A step is forecast to shrink the distance as the step before did, but by no more than this. A smaller ratio saves a
trial here and there and stops too early where one step was lucky. Not tuned."""

_SLOW_RATIO, _SLOW_STEPS = 0.1, 4
"""Every fourth trial is followed by the middle of the bracket if it shrank the distance less than tenfold. More
middles waste trials where proposals do well, fewer trust them longer where they do not. Not tuned: few are slow."""

_MAX_STEPS = 60
"""Trials at most, so that no input can hang; see the module for why far fewer do."""

_ROUNDING = SMALLEST_SIGMA**2
"""Stands in for a distance or an error of 0, by which nothing can be divided."""

_BLOCK = 1 << 18
"""Numbers per temporary: small enough for the cache, large enough to hide the overhead of numpy calls."""

_COARSE_BINS = 8
"""Bins of the first guess. It need only be of the right size; at 8 it is not yet mostly noise. Not tuned."""


@dataclass(frozen=True)
class _Bracket:
    """Bounds of each row's root, float64 of shape (B,): lower <= root <= upper."""

    lower: np.ndarray
    upper: np.ndarray

    def narrowed(self, x: np.ndarray, s: np.ndarray) -> _Bracket:
        """Use a trial x and its value s = S(x): as S does not increase, the root lies between the two."""
        return _Bracket(np.maximum(self.lower, np.minimum(x, s)), np.minimum(self.upper, np.maximum(x, s)))

    def holds(self, trial: np.ndarray) -> np.ndarray:
        """Whether each trial lies inside, bool of shape (B,)."""
        return (self.lower <= trial) & (trial <= self.upper)

    def of(self, rows: np.ndarray) -> _Bracket:
        """Return the bracket of some rows, a mask of shape (B,)."""
        return _Bracket(self.lower[rows], self.upper[rows])

    def middle(self) -> np.ndarray:
        """Return the geometric middle: errors span five decades, so it is their logarithm that is halved."""
        return np.sqrt(self.lower * self.upper)


def solve(nodes: np.ndarray, noise: float, *, integration_error: float = INTEGRATION_ERROR) -> np.ndarray:
    """Find the sigma with smECE_sigma = sigma for each row of binned residuals.

    Takes nodes: binned residuals, weights summing to 1 in each row; noise: least value to expect, > 0, such as
    `expected_floor`: where the search starts if nothing coarser shows; integration_error: allowed error of each
    smECE_sigma. Returns numpy.ndarray: float64, shape (B,), each between the row's |sum| and its sum of absolute
    values.

    Examples
    --------
    >>> solve(np.array([[0.0, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]), 0.1)
    array([0.2])
    """
    step = max(1, _BLOCK // nodes.shape[1])
    blocks = [nodes[i : i + step] for i in range(0, len(nodes), step)]
    return np.concatenate([_solve_block(block, noise, integration_error) for block in blocks])


def _solve_block(nodes: np.ndarray, noise: float, integration_error: float) -> np.ndarray:
    """Solve a few rows together; those of one sign need no search."""
    mean, absolute = np.abs(nodes.sum(axis=1)), np.abs(nodes).sum(axis=1)
    mixed = absolute - mean > ONE_SIGN * absolute
    if not mixed.all():
        mean[mixed] = _solve_block(nodes[mixed], noise, integration_error) if mixed.any() else 0.0
        return mean
    smallest = max(SMALLEST_SIGMA, 0.25 / nodes.shape[1])  # a narrower kernel would see single cells
    bracket = _Bracket(np.maximum(mean, smallest), np.maximum(absolute, smallest))
    # the binned error over eight bins is a first guess: without the last node, they divide the power of two left
    coarse = np.abs(nodes[:, :-1].reshape(len(nodes), _COARSE_BINS, -1).sum(axis=2)).sum(axis=1)
    start = np.clip(np.maximum(coarse, noise), bracket.lower, bracket.upper)
    # the search starts no lower than `smallest`; the answer may lie below
    found = _search(cosine_moments(nodes), start, bracket, smallest, integration_error)
    return np.clip(found, mean, np.maximum(absolute, mean))


def _search(
    moments: np.ndarray, x: np.ndarray, bracket: _Bracket, smallest: float, integration_error: float
) -> np.ndarray:
    """Return the last proposal of each row, shape (B,).

    The proposal is returned rather than the trial before it, whose value it already uses. Rows that are done are left
    behind once they are the half: a row more or less costs nothing beside a copy of all moments.
    """
    found, row = np.empty(len(x)), np.arange(len(x))
    last, open_ = np.zeros(len(x)), np.ones(len(x), dtype=bool)
    for step in range(_MAX_STEPS):
        s, derivative = smoothed(moments, x, integration_error)
        s = np.maximum(s, _ROUNDING)
        proposal = _power_law_step(x, s, derivative)
        distance = np.maximum(np.abs(s - x), _ROUNDING)
        ratio = np.clip(distance / last, _BEST_RATIO, 1.0) if step else np.ones(len(x))
        open_ &= (_remaining(distance, ratio) > TOLERANCE) & (np.maximum(s, x) > smallest)
        found[row] = proposal
        if not open_.any():
            break
        bracket, last = bracket.narrowed(x, s), distance
        slow = (ratio > _SLOW_RATIO) & (step % _SLOW_STEPS == _SLOW_STEPS - 1)
        following = np.where(bracket.holds(proposal) & ~slow, proposal, bracket.middle())
        # A row that is done keeps its trial: moving it on would change nothing but the resolution of the others.
        x = np.where(open_, np.maximum(following, smallest), x)
        if 2 * open_.sum() <= len(x):
            moments, row, x, last, bracket = moments[open_], row[open_], x[open_], last[open_], bracket.of(open_)
            open_ = np.ones(len(x), dtype=bool)
    return found


def _power_law_step(x: np.ndarray, s: np.ndarray, derivative: np.ndarray) -> np.ndarray:
    """Propose the root of the power law S(sigma) = s (sigma / x)^-p that has the value and slope seen at x.

    A power law fits better than Newton's straight line, since the error of noise falls as one, with p = 1/2. From
    -p = derivative x / s the root is x (s / x)^(1 / (1 + p)); as p >= 0, it lies between x and s.
    """
    return x * (s / x) ** (1 / (1 - derivative * x / s))


def _remaining(distance: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    """Forecast |S - sigma| at the proposal: the step that led to x shrank it by `ratio`, and so will the next.

    `distance`, at x, is a bound on the error of the proposal without any forecast; it is 50 times as large at most.
    """
    return distance * ratio
