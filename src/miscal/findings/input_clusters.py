"""Clusters of inputs: centres, and the scaling that is needed to place a new row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.base.arrays import row_blocks

MANY_VALUES = 1 << 25
"""Values of inputs (128 MB of float32) beyond which they are taken in blocks, and components learned from some rows."""
_BLOCK_DISTANCES = 1 << 18
"""Distances held at a time, 2 MB: they stay in the cache."""


@dataclass(frozen=True, eq=False)
class InputClusters:
    """Positions of inputs, and centres at several scales: a row belongs to the centre that is nearest to it.

    `columns`, int (p,): columns of the inputs that are not constant. `mean, scale`, float (p,): what is subtracted from
    them, and what they are then divided by, in the precision of the inputs. `axes`, float32 (k, p): principal
    components; None where the columns themselves are the positions. `origin`, float32 (p,): where the components cross.
    `centres`, int (scale, k): of each scale, that is, number of clusters.

    Examples
    --------
    >>> space = InputClusters(np.array([0]), np.zeros(1), np.ones(1), None, None, {2: np.array([[0.0], [1.0]])})
    >>> space.nearest(space.positions(np.array([[0.2], [0.9]])), 2)
    array([0, 1])
    """

    columns: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    axes: np.ndarray | None
    origin: np.ndarray | None
    centres: dict[int, np.ndarray]

    def positions(self, X: np.ndarray) -> np.ndarray:
        """Place inputs (n, d): float32 array of shape (n, k)."""
        if X.size <= MANY_VALUES:
            return self._placed(X)
        return np.concatenate([self._placed(X[rows]) for rows in row_blocks(*X.shape)])

    def standard(self, X: np.ndarray) -> np.ndarray:
        """Centre and scale the columns that are not constant, in their own precision: float32 array of shape (n, p)."""
        values = X[:, self.columns] - self.mean
        values /= self.scale
        return values.astype(np.float32, copy=False)

    def _placed(self, X: np.ndarray) -> np.ndarray:
        values = self.standard(X)
        # as scikit-learn does it: no centred copy
        return values if self.axes is None else values @ self.axes.T - self.origin.reshape(1, -1) @ self.axes.T

    def nearest(self, positions: np.ndarray, scale: int) -> np.ndarray:
        """Index of the nearest centre of each position at one scale, int (n,); the first of equals."""
        centres = self.centres[scale].astype(np.float64)
        # |x|^2 is the same for every centre and is left out
        of_centres, twice, found = (centres**2).sum(1), -2 * centres.T, np.empty(len(positions), np.int64)
        for rows in row_blocks(len(positions), scale, values=_BLOCK_DISTANCES):
            far = positions[rows].astype(np.float64) @ twice
            far += of_centres
            far.argmin(1, found[rows])
        return found

    def __post_init__(self) -> None:
        width = self.columns.shape if self.axes is None else self.axes.shape[:1]
        shapes = {self.mean.shape, self.scale.shape, self.columns.shape if self.axes is None else self.axes.shape[1:]}
        fits = all(values.shape == (scale, *width) for scale, values in self.centres.items())
        if self.columns.dtype.kind not in "iu" or shapes != {self.columns.shape} or not fits:
            raise ValueError("the arrays of the clusters do not fit each other")
