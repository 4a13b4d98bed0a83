"""Columns that baselines see of the inputs: standardised, or whitened leading components."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class InputView:
    """A linear map of the inputs, learned without labels.

    Attributes
    ----------
    mean : ndarray of shape (d,)
    matrix : ndarray of shape (d, k)
    """

    mean: NDArray[np.floating]
    matrix: NDArray[np.floating]

    def __call__(self, X: NDArray) -> NDArray[np.floating]:
        """Columns of rows, (n, k), in the precision of the inputs learned from."""
        return (np.asarray(X, self.mean.dtype) - self.mean) @ self.matrix


def fit_view(X: NDArray, n_components: int | None) -> InputView:
    """Standardise the columns, or whiten the leading components of the standardised columns.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_components : int or None
        None: the columns themselves, constant ones as 0. Otherwise that many components (fewer where X has fewer).

    Returns
    -------
    InputView

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> fit_view(X, 2)(X).std(0).round(2).tolist()
    [1.0, 1.0]
    """
    mean = X.mean(0, dtype=np.float64)
    sd = X.std(0, dtype=np.float64)
    kind = X.dtype if X.dtype == np.float64 else np.dtype(np.float32)
    # a column that varies by rounding alone is constant
    rounding = 1e-14 if kind == np.float64 else 1e-6
    scale = np.where(sd > rounding * np.maximum(np.abs(mean), 1e-30), 1 / np.maximum(sd, 1e-30), 0.0)
    matrix = np.diag(scale)
    if n_components is not None:
        matrix = scale[:, None] * _whitening((X - mean) * scale, n_components)
    return InputView(mean.astype(kind), matrix.astype(kind))


def _whitening(Z: NDArray, k: int) -> NDArray:
    values, vectors = np.linalg.eigh(Z.T @ Z / len(Z))
    order = np.argsort(values)[::-1][:k]
    # directions without variance are rounding, and whitening would blow them up
    order = order[values[order] > 1e-8 * max(values.max(), 1e-30)]
    return vectors[:, order] / np.sqrt(values[order])
