"""Rows merged into cells, random outcomes for them, and statistics of many draws at once.

A bootstrap replicate, a draw of a calibrated model and a draw of any other model of the outcomes differ only in the
rate of ones in each cell and in whether rows are drawn with replacement first, so one routine makes them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from miscal.base.errors import InputError
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics import smooth

Statistic = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From residual mass (B, G) and row mass (B, G) of the cells to one number per draw (B,)."""

_BLOCK = 1 << 17
"""Numbers per temporary, 1 MB: they are used again from the cache. Ones of 8 MB are fresh memory pages each time, which
cost 2,000 rows a third more; smaller ones cost overhead of numpy calls."""

_ROW_BLOCK = 1 << 16
"""Rows drawn at a time where rows are drawn by themselves: their temporaries stay in the cache. Not tuned."""

_CELLS_SHARE = 4
"""Draws use this many times fewer cells than a single smECE: what this moves them by is at most a few
hundredths of their own standard deviation, from 2,000 to 1,000,000 rows."""

_ROWS_PER_CELL = 16
"""From this many rows per cell on, counts are drawn by cell rather than by row, because that is cheaper then: one
binomial number costs about as much as 40 uniform ones, or 15 rows drawn with replacement. The distribution is the same;
the random stream is not, so a change of it changes every seeded result."""


_NEARLY_NORMAL = 1000
"""From this variance of the number of ones of each label on, cells are drawn as normal numbers: the ones within a
bandwidth of smECE at its floor then have a variance of about 100, the two thirds' power, and errors are sums of many
such. One costs a tenth of a binomial number."""


@dataclass(frozen=True)
class ConfidenceCells:
    """Rows merged by cell of confidence, weight and label.

    Attributes
    ----------
    location : numpy.ndarray
        float64, shape (G,): mean confidence of the cell's rows.
    count, ones : numpy.ndarray
        float64, shape (G,): rows, and rows with outcome 1.
    weight : numpy.ndarray
        float64, shape (G,): weight of each of its rows.
    label : numpy.ndarray
        int64, shape (G,): a slice or a bin; rows of different labels are in different cells.
    n_cells : int
        Cells of [0, 1]; also the resolution at which smECE is computed.
    effect : float >= 1
        Design effect, where rows hang together: the variance of drawn outcomes is so many times that of independent
        ones. The same in all cells, as if the rows of a group had one confidence: where they do not, draws are spread
        more than need be.
    """

    location: np.ndarray
    count: np.ndarray
    ones: np.ndarray
    weight: np.ndarray
    label: np.ndarray
    n_cells: int
    effect: float = 1.0

    @property
    def rate(self) -> np.ndarray:
        """Observed share of ones, shape (G,)."""
        return self.ones / self.count

    @property
    def mass(self) -> np.ndarray:
        """Total weight of each cell, shape (G,)."""
        return self.weight * self.count

    def residual(self, rate: np.ndarray) -> np.ndarray:
        """Residual mass of each cell if its share of ones is `rate`; positive: under-confident; shape (G,)."""
        return self.mass * (rate - self.location)


def merge(rows: LabelledRows, label: np.ndarray | None = None, *, effect: float = 1.0) -> ConfidenceCells:
    """Merge rows, those of each label by themselves.

    Examples
    --------
    >>> from miscal.calibration.labelled_rows import check_rows
    >>> merge(check_rows([0, 1], [0.5, 0.5])).count
    array([2.])
    """
    correct, confidence, weight = rows.correct, rows.confidence, rows.shares
    n_cells = smooth.cells_of_rows(len(confidence)) // _CELLS_SHARE
    _, weight_rank = np.unique(weight, return_inverse=True)
    label = np.zeros(len(confidence), dtype=np.int64) if label is None else label
    # cell, label and weight in one whole number
    key = ((confidence * n_cells).astype(np.int64) * (label.max() + 1) + label) * (weight_rank.max() + 1) + weight_rank
    _, first, inverse, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    return ConfidenceCells(
        location=np.clip(np.bincount(inverse, confidence) / count, 0.0, 1.0),
        count=count.astype(np.float64),
        ones=np.bincount(inverse, correct),
        weight=weight[first],
        label=label[first],
        n_cells=n_cells,
        effect=effect,
    )


def simulate(
    cells: ConfidenceCells,
    rate: np.ndarray | None,
    statistic: Statistic,
    n_draws: int,
    rng: np.random.Generator,
    *,
    resample: bool,
) -> np.ndarray:
    """Draw outcomes and return a statistic of each draw.

    Takes rate: chance of a 1 in each cell, in [0, 1]; n_draws: number of draws B; resample: whether the rows are
    drawn with replacement first.

    Examples
    --------
    >>> from miscal.calibration.labelled_rows import check_rows
    >>> cells = merge(check_rows([0, 1], [0.5, 0.5]))
    >>> mean = lambda residual, mass: residual.sum(axis=1) / mass.sum(axis=1)
    >>> simulate(cells, np.ones(1), mean, 3, np.random.default_rng(0), resample=True)
    array([0.5, 0.5, 0.5])
    """
    if n_draws != int(n_draws) or n_draws < 1:
        raise InputError(f"n_draws must be a whole number of at least 1; got {n_draws!r}")
    step = max(1, _BLOCK // len(cells.count))
    return np.concatenate(
        [_simulate_block(cells, rate, statistic, min(step, n_draws - i), rng, resample)
         for i in range(0, n_draws, step)]
    )  # fmt: skip


def _simulate_block(
    cells: ConfidenceCells,
    rate: np.ndarray | None,
    statistic: Statistic,
    n_draws: int,
    rng: np.random.Generator,
    resample: bool,
) -> np.ndarray:
    # rows that keep their outcomes are drawn as rows of a cell in which each outcome is as frequent as it was seen
    rate = cells.rate if rate is None else np.clip(rate, 0.0, 1.0)
    count = cells.count.astype(np.int64)
    many = (np.bincount(cells.label, count * rate * (1 - rate)) >= _NEARLY_NORMAL)[cells.label]
    few = count.sum() <= _ROWS_PER_CELL * len(rate)
    if few and not many.any():
        ones, count = _by_row(count, rate, n_draws, rng, resample)
    else:
        ones, count = _by_cell(count, rate, many, n_draws, rng, resample)
    if cells.effect > 1.0:
        ones = count * rate + np.sqrt(cells.effect) * (ones - count * rate)
    return statistic(cells.weight * (ones - count * cells.location), cells.weight * count)


def _by_row(
    count: np.ndarray, rate: np.ndarray, n_draws: int, rng: np.random.Generator, resample: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draw every row by itself: ones and rows of each cell, int64 of shape (n_draws, G)."""
    n, n_cells = int(count.sum()), len(count)
    owner = np.repeat(np.arange(n_cells, dtype=np.int32), count)
    chance, step = rate.astype(np.float32)[owner], max(1, _ROW_BLOCK // n)
    if not resample:
        found = np.empty((n_draws, n_cells), dtype=np.int64)
        for start in range(0, n_draws, step):
            size = min(step, n_draws - start), n
            hit = rng.random(size, dtype=np.float32) < chance
            found[start : start + size[0]] = np.add.reduceat(hit, np.cumsum(count) - count, axis=1, dtype=np.int64)
        return found, np.broadcast_to(count, found.shape)
    found, cell = np.empty((n_draws, n_cells, 2), dtype=np.int64), 2 * owner
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start), n
        row = rng.integers(n, size=size, dtype=np.int32)
        # cell and outcome of a row in one number, and draws one after the other
        place = cell[row]
        place += rng.random(size, dtype=np.float32) < chance[row]
        place += 2 * n_cells * np.arange(size[0], dtype=np.int32)[:, None]
        drawn = np.bincount(place.ravel(), minlength=2 * n_cells * size[0])
        found[start : start + size[0]] = drawn.reshape(size[0], n_cells, 2)
    return found[..., 1], found[..., 0] + found[..., 1]


def _by_cell(
    count: np.ndarray, rate: np.ndarray, many: np.ndarray, n_draws: int, rng: np.random.Generator, resample: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows of a cell and their ones as whole numbers, or as normal ones of the same covariance where `many`.

    The distribution of the first is that of `_by_row`.
    """
    drawn = np.broadcast_to(count.astype(np.float64), (n_draws, len(rate)))
    if resample:
        n, (few, rest), drawn = int(count.sum()), (count[~many], count[many]), drawn.copy()
        parts = rng.multinomial(n, np.r_[few, rest.sum()] / n, size=n_draws)
        noise = np.sqrt(rest) * rng.standard_normal((n_draws, len(rest)), np.float32)
        drawn[:, ~many] = parts[:, :-1]
        drawn[:, many] = rest + noise + rest / max(1, rest.sum()) * (parts[:, -1:] - rest.sum() - noise.sum(1)[:, None])
    if not many.any():
        return rng.binomial(drawn.astype(np.int64), rate), drawn
    ones = drawn * rate
    ones += np.sqrt(count * rate * (1 - rate)) * rng.standard_normal(ones.shape, np.float32)
    if not many.all():
        ones[:, ~many] = rng.binomial(drawn[:, ~many].astype(np.int64), rate[~many])
    return ones, drawn


def smece_statistic(cells: ConfidenceCells, chosen: np.ndarray | None = None) -> Statistic:
    """Return smECE of all cells, or of the chosen ones (bool array of shape (G,)), as a statistic of draws."""
    from scipy.sparse import csr_array

    if chosen is not None and chosen.all():
        # the sums of a copy may differ by rounding, and a slice of all rows differs from all rows in nothing
        chosen = None
    picked = np.arange(len(cells.location)) if chosen is None else np.flatnonzero(chosen)
    location, n_nodes = cells.location[picked], cells.n_cells
    # a location of 1 belongs to the last cell, with all of its share on the right
    cell = np.minimum((location * n_nodes).astype(np.intp), n_nodes - 1)
    share = location * n_nodes - cell
    index = np.arange(len(location))
    # linear binning is the same for every draw: a sparse matrix, made once
    spread = csr_array(
        (np.r_[1 - share, share], (np.r_[cell, cell + 1], np.r_[index, index])), shape=(n_nodes + 1, len(location))
    )

    noise = smooth.expected_floor(float(cells.count[picked].sum()))

    def statistic(residual: np.ndarray, mass: np.ndarray) -> np.ndarray:
        if chosen is not None:
            residual, mass = residual[:, picked], mass[:, picked]
        total = np.maximum(mass.sum(axis=1), 1e-300)  # a slice can be empty in a resample
        scaled = residual / total[:, None]
        step = max(1, _BLOCK // n_nodes)
        parts = [(spread @ scaled[i : i + step].T).T.copy() for i in range(0, len(scaled), step)]
        return np.concatenate([smooth.solve(part, noise, integration_error=smooth.DRAW_ERROR) for part in parts])

    return statistic


def observed(cells: ConfidenceCells, statistic: Statistic) -> float:
    """Return the statistic of the data, computed from the same cells as that of the draws."""
    return expected(cells, statistic, cells.rate)


def expected(cells: ConfidenceCells, statistic: Statistic, rate: np.ndarray) -> float:
    """Return the statistic where the share of ones in every cell is exactly `rate`, that is, without noise."""
    return float(statistic(cells.residual(rate)[None], cells.mass[None])[0])


def smooth_residual(cells: ConfidenceCells, sigma: float) -> np.ndarray:
    """Estimate E[y | f] - f at each cell: smoothed residuals over smoothed rows, at `sigma` but at least two cells.

    Returns numpy.ndarray: float64, shape (G,).
    """
    sigma = max(sigma, 2 / cells.n_cells)
    nodes = [
        smooth.bin_residuals(cells.location, v, 4 * cells.n_cells) for v in (cells.residual(cells.rate), cells.mass)
    ]
    top, bottom = smooth.smoothed_density(smooth.cosine_moments(np.stack(nodes)), sigma)
    grid = np.linspace(0, 1, len(top))
    return np.interp(cells.location, grid, top / np.maximum(bottom, 1e-12))
