"""The local shift of many rows at the price of one matrix product: sums over the bank as polynomials of the shift.

A Newton step for the shift D needs, for every row, sum_i K_i sigmoid(o_i + D) over the bank. As a function of D this
is analytic with its nearest poles at distance pi from the real line, so on [-a, a] a few Chebyshev terms give it to
float32 precision (Trefethen, Approximation Theory and Approximation Practice, 2013, theorem 8.2). Their coefficients
are the weights' product with a table of the bank's own coefficients. The steps themselves cost no pass over the bank.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.polynomial.chebyshev import chebval
from numpy.typing import NDArray
from scipy.special import expit

from miscal.estimators.auto.readout import LocalShift
from miscal.estimators.auto.settings import AUTO

Array = NDArray[np.floating]

# shifts beyond this are read step by step; with 16 terms the sums are right to 2e-6 of the mass within it
_REACH = 3.0
_TERMS = 16
# a tile of weights and what they are multiplied by stay in a cache of 1 MB
_QUERIES, _BANK = 256, 512
# as everywhere: exp of less is 0 for us and slow to compute; an array, as numpy compares with a single number slowly
_LEAST = np.full((1, _BANK), -80, np.float32)


@dataclass(frozen=True, eq=False)
class QuickReader:
    """A bank prepared for reading.

    Attributes
    ----------
    local : LocalShift
    centre : ndarray of shape (k,), float32
        What coordinates are counted from: far from 0 a difference of squares would lose digits.
    right : ndarray of shape (k + 2, m), float32
        Twice the coordinates, and the part of the exponent that the bank row alone has, its weight included; ones for
        the query's own part.
    sums : ndarray of shape (m, 2 + terms), float32
        1, the outcome, and the Chebyshev coefficients of sigmoid(o + D) in D / 3.
    """

    local: LocalShift
    centre: NDArray[np.float32]
    right: NDArray[np.float32]
    sums: NDArray[np.float32]

    @classmethod
    def of(cls, local: LocalShift) -> Self:
        """Prepare a bank."""
        centre = local.bank.mean(0)
        bank = local.bank - centre
        own = np.log(local.weight) - (bank**2).sum(1)
        right = np.concatenate([2 * bank.T, own[None], np.ones((1, len(bank)))]).astype(np.float32)
        ones = np.ones((len(bank), 1))
        sums = np.concatenate([ones, local.outcome[:, None], _coefficients(local.offset)], 1)
        return cls(local, centre, np.ascontiguousarray(right), sums.astype(np.float32))

    def read(self, place: Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Logit shift and mass of rows, (n,) each, as :meth:`LocalShift.read` gives them within 1e-4."""
        moments = self._moments(self.local.coordinates(place) - self.centre)
        mass, target, series = moments[:, 0], moments[:, 1], moments[:, 2:].T
        # the derivative of a Chebyshev series is one, with a term less
        slope = np.polynomial.chebyshev.chebder(series) / _REACH
        ridge, D = self.local.ridge, np.zeros(len(moments))
        beyond = np.full(len(moments), False)
        for _ in range(AUTO.newton_steps):
            at = np.clip(D / _REACH, -1, 1)
            step = target - chebval(at, series, tensor=False) - ridge * D
            step /= np.maximum(chebval(at, slope, tensor=False), 0) + ridge
            D += np.clip(step, -AUTO.newton_limit, AUTO.newton_limit)
            beyond |= np.abs(D) > _REACH
        if beyond.any():
            D[beyond] = self.local.read(place[beyond]).shift
        return D, mass

    def _moments(self, z: NDArray[np.float32]) -> NDArray[np.float64]:
        """Sum over the bank, (n, 2 + terms)."""
        out = np.empty((len(z), self.sums.shape[1]))
        left = np.concatenate([z, np.ones((len(z), 1), np.float32), -np.einsum("ij,ij->i", z, z)[:, None]], 1)
        buffer = np.empty((_QUERIES, _BANK), np.float32)
        for i in range(0, len(z), _QUERIES):
            rows, total = left[i : i + _QUERIES], np.zeros((min(_QUERIES, len(z) - i), out.shape[1]))
            for j in range(0, self.right.shape[1], _BANK):
                part = self.right[:, j : j + _BANK]
                K = buffer[: len(rows), : part.shape[1]]
                np.matmul(rows, part, out=K)
                np.maximum(K, _LEAST[:, : K.shape[1]], out=K)
                np.exp(K, out=K)
                # sums of a tile in single precision, over the tiles in double
                total += K @ self.sums[j : j + _BANK]
            out[i : i + _QUERIES] = total
        return out


def _coefficients(offset: Array) -> NDArray[np.float64]:
    """Chebyshev coefficients of sigmoid(offset + D) in D / 3, (m, terms)."""
    angle = np.pi * (np.arange(_TERMS) + 0.5) / _TERMS
    values = expit(offset.astype(np.float64)[:, None] + _REACH * np.cos(angle))
    transform = np.cos(np.outer(angle, np.arange(_TERMS))) * (2 / _TERMS)
    transform[:, 0] /= 2
    return values @ transform
