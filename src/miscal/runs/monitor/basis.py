"""Reduce inputs to a few standardised coordinates that stay the same at every look of a monitor.

They are fixed before the first outcome is bet on, so whatever they are, a bet on them is fair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.data.triples import Triples
from miscal.evidence.betting import clipped_logit

Floats = NDArray[np.float64]

MOST_COORDINATES = 16
"""Columns of X up to which they are taken as they are; of more, as many principal components. Not tuned."""
MOST_REFERENCE = 10_000
"""Rows of the run at most that are kept for comparison: 0.7 MB of coordinates. Not tuned."""
FARTHEST = 5.0
"""Coordinates are cut at so many standard deviations, so that one far row decides nothing."""

# stream of the order in which rows of the run are used
_STREAM = 71


@dataclass(frozen=True, eq=False)
class Basis:
    """How inputs become coordinates.

    Attributes
    ----------
    mean, scale : (d,) float64
        Of the rows it was made from.
    components : (k, d) float64
    spread : (k,) float64
        Standard deviations along the components.
    confidence : (2,) float64
        Mean and standard deviation of the log-odds of the confidences.
    """

    mean: Floats
    scale: Floats
    components: Floats
    spread: Floats
    confidence: Floats

    @staticmethod
    def fit(X: np.ndarray, confidence: Floats, seed: int) -> Basis:
        """Learn the coordinates from rows.

        Parameters
        ----------
        X : (n, d) float
        confidence : (n,) float64 in [0, 1]
        seed : int
            Of the solver for wide inputs.

        Returns
        -------
        Basis
        """
        X = np.asarray(X, dtype=np.float64)
        mean, scale = X.mean(0), _positive(X.std(0))
        width = X.shape[1]
        if width > MOST_COORDINATES:
            components, spread = _principal((X - mean) / scale, seed)
        else:
            components, spread = np.eye(width), np.ones(width)
        odds = clipped_logit(confidence)
        about = np.array([odds.mean(), float(_positive(np.array([odds.std()]))[0])])
        return Basis(mean, scale, components, spread, about)

    def of(self, X: np.ndarray, confidence: Floats) -> Floats:
        """Coordinates of rows: those of the inputs and, last, of the confidence; (n, k + 1)."""
        z = ((np.asarray(X, dtype=np.float64) - self.mean) / self.scale) @ self.components.T / self.spread
        odds = (clipped_logit(confidence) - self.confidence[0]) / self.confidence[1]
        return np.clip(np.column_stack([z, odds]), -FARTHEST, FARTHEST)


def _positive(deviation: Floats) -> Floats:
    return np.where(deviation > 1e-12, deviation, 1.0)


def _principal(X: Floats, seed: int) -> tuple[Floats, Floats]:
    from sklearn.decomposition import PCA

    some = X if len(X) <= MOST_REFERENCE else X[np.random.default_rng(seed).permutation(len(X))[:MOST_REFERENCE]]
    count = min(MOST_COORDINATES, len(some), X.shape[1])
    model = PCA(count, svd_solver="randomized" if count < min(some.shape) else "full", random_state=seed).fit(some)
    return model.components_, _positive(np.sqrt(model.explained_variance_))


@dataclass(frozen=True, eq=False)
class Reference:
    """Rows of the run that new rows are compared with, each of them once.

    Attributes
    ----------
    basis : Basis
    rows : (m, k + 1) float32
        Coordinates of rows, one of each group, in random order.
    missing : str or None
        Why there are none, where there are none.
    """

    basis: Basis
    rows: NDArray[np.float32]
    missing: str | None = None


def reference_of(
    triples: Triples | None, missing: str | None, X: np.ndarray, confidence: Floats, seed: int
) -> Reference:
    """Take rows of a run as reference, and others for coordinates; without its data these are of the first new rows.

    Parameters
    ----------
    triples : Triples or None
        The rows of the run.
    missing : str or None
        Why they cannot be read, where they cannot.
    X, confidence : (n, d) and (n,)
        The first new rows.
    seed : int
        Of the run.

    Returns
    -------
    Reference
    """
    if triples is None:
        basis = Basis.fit(X, confidence, seed)
        return Reference(basis, np.zeros((0, len(basis.spread) + 1), np.float32), missing or "not given")
    rng = np.random.default_rng((seed, _STREAM))
    one = np.arange(len(triples))
    if triples.group is not None:
        one = np.sort(np.unique(triples.group.astype(str), return_index=True)[1])
    order = rng.permutation(one)
    # directions fit the rows that they were learned from better than any others, so no such row is compared with
    learned, compared = np.split(order[: 2 * MOST_REFERENCE], [min(len(order) // 3, MOST_REFERENCE)])
    basis = Basis.fit(triples.X[learned], triples.confidence[learned], seed)
    compared = compared[:MOST_REFERENCE]
    return Reference(basis, basis.of(triples.X[compared], triples.confidence[compared]).astype(np.float32))
