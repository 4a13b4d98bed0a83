"""The local logit shift: a learned linear geometry and a kernel readout in it.

At a query the readout finds the shift D that makes its neighbours calibrated in log-odds,

    sum_i K(z, z_i) (y_i - sigmoid(o_i + D)) = ridge * D,        K(z, z') = exp(-|z - z'|^2),

so it stays in range by itself and one D serves inputs of every confidence. The geometry z = x A is learned in
:mod:`miscal.estimators.auto.geometry`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.typing import NDArray

from miscal.estimators.auto.settings import AUTO
from miscal.estimators.kernel import exponent_factors, newton_shifts, weights_from_factors

Array = NDArray[np.floating]

# rows of a tile against the whole bank, and queries and bank rows of a tile of the readout: 1 MB, which stays near the
# processor
TILE = 256
READ_TILE = (256, 1_024)
# error that sums over nodes are allowed, in shares of the mass, where the shift is at most this
_NODE_ERROR, _NODE_SHIFT = 1e-6, 4.0


@dataclass(frozen=True)
class LocalReadout:
    """What a kernel readout tells about queries.

    Attributes
    ----------
    shift : ndarray of shape (n,)
        Logit shift D; positive raises the confidence.
    mass : ndarray of shape (n,)
        Sum of kernel weights: how many neighbours the estimate rests on.
    shift_error : ndarray of shape (n,) or None
        Standard error of D given the geometry; None where it was not asked for.
    """

    shift: NDArray[np.float64]
    mass: NDArray[np.float64]
    shift_error: NDArray[np.float64] | None


@dataclass(frozen=True)
class LocalShift:
    """A learned geometry with its bank.

    Attributes
    ----------
    axes : ndarray of shape (p, k), float32
        z = x @ axes; the bandwidth is absorbed in its scale.
    ridge : float
        Prior precision of D.
    bank : ndarray of shape (m, k), float32
        Coordinates of the bank rows.
    offset, outcome, weight : ndarray of shape (m,), float32
    rows : ndarray of shape (m,), int64
        Bank rows as positions in the training data.
    """

    axes: NDArray[np.float32]
    ridge: float
    bank: NDArray[np.float32]
    offset: NDArray[np.float32]
    outcome: NDArray[np.float32]
    weight: NDArray[np.float32]
    rows: NDArray[np.int64]

    def coordinates(self, x: Array) -> NDArray[np.float32]:
        """Place inputs in the learned geometry, (n, k)."""
        return np.asarray(x, np.float32) @ self.axes

    def read(self, x: Array, *, errors: bool = True) -> LocalReadout:
        """Read the local shift at inputs x of shape (n, p); its standard errors are a third of the time."""
        # a sum over the bank of any smooth function of the offset is one over the nodes, whatever the shift: Newton
        # steps then cost a few dozen operations a query, and not a pass over the bank
        sums, squares = self._sums(self.coordinates(x) - self._centre, squared=errors)
        nodes, table, right, mass = self._nodes[0], sums[:, :-2], sums[:, -2], sums[:, -1]
        D, v, curvature = newton_shifts(table, right, nodes, self.ridge, AUTO.newton_steps, AUTO.newton_limit)
        if not errors:
            return LocalReadout(D, mass, None)
        # sandwich: the standard deviation of sum K (y - p), over the curvature; rounding can leave it below 0
        error = np.sqrt(np.maximum(np.vecdot(squares[:, :-2], v), 0)) / curvature
        return LocalReadout(D, mass, error)

    @cached_property
    def _centre(self) -> NDArray[np.float32]:
        """What coordinates are counted from, (k,): far from 0 a difference of squares would lose digits."""
        return self.bank.mean(0)

    @cached_property
    def _right(self) -> NDArray[np.float32]:
        """The bank's factor of the exponent, (k + 2, m); kept like the others, as readings go block by block."""
        bank = self.bank - self._centre
        return np.ascontiguousarray(exponent_factors(bank, bank, 1.0)[1].T)

    @cached_property
    def _nodes(self) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """Offsets that stand for those of the bank, (c,); and of each bank row its share in them, outcome and 1.

        The latter are of shape (m, c + 2), all by the row's weight.
        """
        nodes, share = _offset_nodes(self.offset)
        return nodes, np.column_stack([share, self.outcome, np.ones_like(self.outcome)]) * self.weight[:, None]

    def _sums(self, z: Array, *, squared: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Sum K columns and, where `squared`, K^2 columns over the bank, (n, c + 2) each."""
        left, every = exponent_factors(z, z, 1.0)[0], self._nodes[1]
        height, width = READ_TILE
        sums, squares = np.zeros((2, len(z), every.shape[1]))
        buffer = np.empty(height * width, np.float32)
        for j in range(0, len(every), width):
            part, columns = np.ascontiguousarray(self._right[:, j : j + width]), every[j : j + width]
            for i in range(0, len(z), height):
                rows = left[i : i + height]
                out = buffer[: len(rows) * part.shape[1]].reshape(len(rows), part.shape[1])
                K = weights_from_factors(rows, part, out)
                sums[i : i + height] += K @ columns
                if squared:
                    squares[i : i + height] += np.square(K, out=K) @ columns
        return sums, squares

    def nearest(self, x: Array, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Find the k heaviest neighbours: training rows (n, k) and kernel weights (n, k), heaviest first."""
        z = self.coordinates(x)
        k = min(k, len(self.bank))
        rows, weights = np.zeros((len(z), k), np.int64), np.zeros((len(z), k))
        for i in range(0, len(z), TILE):
            K = kernel_weights(z[i : i + TILE], self.bank)
            heavy = np.argpartition(K, len(self.bank) - k, axis=1)[:, len(self.bank) - k :]
            value = np.take_along_axis(K, heavy, 1)
            order = np.argsort(-value, axis=1, kind="stable")
            rows[i : i + TILE] = self.rows[np.take_along_axis(heavy, order, 1)]
            weights[i : i + TILE] = np.take_along_axis(value, order, 1)
        return rows, weights


def kernel_weights(z: Array, bank: Array) -> Array:
    """Compute kernel weights (q, m) in one buffer: the norms ride along in the product."""
    left, right = exponent_factors(z, bank, 1.0)
    # a copy, since numpy takes another, slower way where a factor is the other one's transpose
    return weights_from_factors(left, np.ascontiguousarray(right.T))


def _offset_nodes(offset: Array) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Offsets (k,) that stand for those of the bank, and the share that each row has in each of them, (m, k).

    Polynomials in t = tanh(o / 4) are interpolated exactly at Chebyshev points. As a function of t, sigmoid(o + D) has
    its poles on the unit circle, however far the offsets reach, and the error falls like rho^-k, where rho is the sum
    of the half-axes of the ellipse about the range of t through the nearest pole (Trefethen, 2013, theorem 8.2).
    """
    t = np.tanh(np.asarray(offset, np.float64) / 4)
    middle, half = (t.max() + t.min()) / 2, max((t.max() - t.min()) / 2, 1e-3)
    lean = 1j * np.exp(np.array([_NODE_SHIFT, -_NODE_SHIFT]) / 2)
    pole = ((1 - lean) / (1 + lean) - middle) / half
    root = np.sqrt(pole**2 - 1)
    rho = np.maximum(np.abs(pole + root), np.abs(pole - root)).min()
    k = math.ceil(math.log(1 / _NODE_ERROR) / math.log(rho)) + 1
    points = chebpts1(k)
    # the Chebyshev polynomials below degree k are orthogonal on these points
    basis = chebvander(points, k - 1).T * (2 / k)
    basis[0] /= 2
    share = chebvander((t - middle) / half, k - 1) @ basis
    return 4 * np.arctanh(middle + half * points), share.astype(np.float32)
