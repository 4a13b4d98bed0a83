"""From a bank of residuals to a field: equation 2 of the paper (arXiv 2605.13484), and two options of ours.

The field of a row is the average of the bank's residuals, weighted by a kernel of the distance. The paper averages at
every row, however small the sum of the weights, which is called the mass. Far from the whole bank, computers have no
such average: in single precision all weights become 0, and equation 2 divides by 0. The paper does not say what then
happens. Here a weight is at least exp(-80), so that the average turns into the mean residual of the bank. (In exact
arithmetic it would turn into the residual of the nearest row alone, which is one coin toss.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from miscal.base.errors import InputError
from miscal.estimators.kernel import smooth

SUPPORT = 1.0
"""Smallest mass of a supported row: the weight of one row of the bank at the query itself. The paper has none."""


@dataclass(frozen=True)
class Readout:
    """How residuals are averaged, and at which rows the average is used.

    Parameters
    ----------
    neighbours : int, optional
        Average over that many nearest rows of the bank alone, the paper's optional top-k; by default over all.
    min_mass : float, default 0.0
        Rows of a smaller mass get the value of a global map instead of their average, and belong to no regime. With
        0, as in the paper, every row keeps its average.

    Raises
    ------
    InputError
        If `neighbours` is not a whole number of at least 1, or `min_mass` no finite number of at least 0.

    Examples
    --------
    >>> bank, residual = np.array([[0.0], [1.0]]), np.array([0.4, -0.2])
    >>> average, mass = Readout().average(np.array([[0.0], [90.0]]), bank, residual, None, sigma=0.1)
    >>> average.round(2).tolist(), mass.round(2).tolist()
    ([0.4, 0.1], [1.0, 0.0])
    """

    neighbours: int | None = None
    min_mass: float = 0.0

    def __post_init__(self) -> None:
        whole = isinstance(self.neighbours, int | np.integer) and not isinstance(self.neighbours, bool)
        if self.neighbours is not None and not (whole and self.neighbours >= 1):
            raise InputError(
                f"neighbours must be a whole number of at least 1, or None for the whole bank; got {self.neighbours!r}"
            )
        number = isinstance(self.min_mass, int | float) and not isinstance(self.min_mass, bool)
        if not (number and 0 <= self.min_mass < np.inf):
            raise InputError(
                f"min_mass must be a finite number of at least 0, a sum of kernel weights; got {self.min_mass!r}"
            )

    def average(
        self, query: np.ndarray, bank: np.ndarray, values: np.ndarray, weight: np.ndarray | None, sigma: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Average values of the bank around rows.

        Takes query (q, k); values: residuals y - f, for instance; weight: positive weights of the bank's rows; sigma:
        bandwidth, in units of the coordinates. Returns average : float array of shape (q,) or (q, m): Never NaN: far
        from the whole bank, its mean; mass : float array of shape (q,): Sum of kernel weights.
        """
        some = None if self.neighbours is None else min(self.neighbours, len(bank))
        # the nearest rows alone may have no weight left at all
        with np.errstate(invalid="ignore"):
            average, mass = smooth(query, bank, values, sigma, weight=weight, neighbours=some)
        undefined = np.isnan(average)
        if undefined.any():
            mean = np.average(values, axis=0, weights=weight)
            average = np.where(undefined, mean, average).astype(average.dtype)
        return average, mass

    def local(self, mass: np.ndarray) -> np.ndarray:
        """Tell which rows keep their average, by their mass; bool, of its shape."""
        return mass >= self.min_mass

    def supported(self, mass: np.ndarray) -> np.ndarray:
        """Tell which rows have enough mass to trust their average: at least 1, and what `min_mass` asks for."""
        return mass >= max(SUPPORT, self.min_mass)


PAPERS = Readout()
"""The paper's: all rows of the bank, and every row keeps its average."""
