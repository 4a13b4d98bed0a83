"""From a bank of residuals to a field: equation 2 of the paper (arXiv 2605.13484), and two options of ours.

The field of a row is the average of the bank's residuals, weighted by a kernel of the distance. The paper averages at
every row, however small the sum of the weights, which is called the mass. Far from the whole bank, computers have no
such average: in single precision all weights become 0, and equation 2 divides by 0. The paper does not say what then
happens. Here a weight is at least exp(-80), so that the average turns into the mean residual of the bank. (In exact
arithmetic it would turn into the residual of the nearest row alone, which is one coin toss.)

The readout without a learned geometry smooths the residuals over the inputs themselves.
Bank, kernel, choice of the bandwidth by the proxy, readout and range-aware correction are those of the paper's field;
the coordinates are not: the two differ in nothing but the geometry. (The baseline ``raw_kernel`` is another thing: it
smooths all rows, may map the confidence first, and chooses by log loss.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from miscal.base.errors import InputError
from miscal.calibration.calibrators import Calibrator
from miscal.estimators.kernel import median_distance, smooth
from miscal.estimators.registry import Correction

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


SCALES = tuple(float(scale) for scale in np.geomspace(0.125, 2.0, 9))
"""Bandwidths tried, in units of the median distance between two rows of the bank, in steps of sqrt(2).

The paper gives none for raw inputs, whose unit is arbitrary: its own grid (0.05 to 1) is for vectors of unit length,
and far below all distances between hidden states. At 1/8 of the median distance a row so far away has the weight
exp(-64), just above the floor of the kernel, exp(-80); below, most averages would rest on that floor. At twice the
median distance it has the weight 0.78, and the field is all but the mean residual. Not tuned."""


@dataclass(frozen=True, eq=False)
class RawField:
    """Residuals smoothed over the inputs.

    Attributes
    ----------
    bank : float array of shape (b, d)
        Inputs of the rows that are averaged.
    residual : float array of shape (b,)
        Their residuals y - f; positive: under-confident.
    weight : float array of shape (b,), or None
        Their weights.
    sigma : float
        Bandwidth, in units of the inputs.
    alpha : float
        Scale of the range-aware correction.
    proxy : float
        Validation Brier score of f + delta, unclipped, at the chosen bandwidth.
    readout : Readout
        How residuals are averaged.
    global_map : Calibrator or None
        Whose values rows get that the readout leaves without average; None: the confidence as it is.
    """

    bank: np.ndarray
    residual: np.ndarray
    weight: np.ndarray | None
    sigma: float
    alpha: float
    proxy: float
    readout: Readout
    global_map: Calibrator | None

    def estimate(self, X: np.ndarray, confidence: np.ndarray) -> Correction:
        """Estimate the field at rows (n, d), and correct their confidences (n,) by the range-aware map."""
        average, mass = _smoothed(self.readout, X, self.bank, self.residual, self.weight, self.sigma)
        delta = _field(self.readout, self.global_map, confidence, average, mass)
        local = self.readout.local(mass)
        corrected = np.where(local, range_aware(confidence, delta, self.alpha), confidence + delta)
        return Correction(delta, corrected, self.readout.supported(mass), mass, local)


def choose_raw_field(
    bank: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray | None,
    X: np.ndarray,
    confidence: np.ndarray,
    correct: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    readout: Readout = PAPERS,
    global_map: Calibrator | None = None,
    scales: Sequence[float] = SCALES,
    random_state: int | np.random.Generator = 0,
) -> RawField:
    """Choose bandwidth and scale of the correction on validation rows, as the paper does in its learned geometry.

    Returns: RawField: With the bandwidth of the smallest proxy, mean (y - f - delta)^2 over validation rows, and then
    the scale of the smallest validation Brier score.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, f = rng.normal(size=(600, 1)), np.full(600, 0.5)
    >>> y = (X[:, 0] > 0).astype(float)
    >>> found = choose_raw_field(X[:400], (y - f)[:400], None, X[400:500], f[400:500], y[400:500])
    >>> found.estimate(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5])).delta.round(1).tolist()
    [-0.5, 0.5]
    """
    unit = median_distance(bank, np.random.default_rng(random_state))
    sigmas = [scale * unit for scale in scales]
    smoothed = [_smoothed(readout, X, bank, residual, weight, sigma) for sigma in sigmas]
    proxies = [np.average(np.square(correct - confidence - delta), weights=sample_weight) for delta, _ in smoothed]
    best = int(np.argmin(proxies))
    delta = _field(readout, global_map, confidence, *smoothed[best])
    alpha = choose_alpha(correct, confidence, delta, sample_weight)
    return RawField(bank, residual, weight, sigmas[best], alpha, float(proxies[best]), readout, global_map)


def _smoothed(
    readout: Readout,
    query: np.ndarray,
    bank: np.ndarray,
    residual: np.ndarray,
    weight: np.ndarray | None,
    sigma: float,
) -> tuple[np.ndarray, np.ndarray]:
    average, mass = readout.average(query, bank, residual, weight, sigma)
    return average.astype(np.float64), mass.astype(np.float64)


def _field(
    readout: Readout, global_map: Calibrator | None, confidence: np.ndarray, average: np.ndarray, mass: np.ndarray
) -> np.ndarray:
    visible = 0.0 if global_map is None else global_map.apply(confidence) - confidence
    return np.where(readout.local(mass), average, visible)


ALPHAS = np.geomspace(0.01, 100.0, 161)
"""Scales tried for the range-aware map: from no change to a jump to the end of the range, in steps of 6 %."""


def range_aware(confidence: np.ndarray, delta: np.ndarray, alpha: float) -> np.ndarray:
    """Correct confidences by the paper's range-aware map (equation 6).

    f + D with D = -f tanh(alpha |delta|) where delta < 0 and (1 - f) tanh(alpha |delta|) elsewhere.

    Takes confidence (n,); delta (n,): the field, negative where over-confident; alpha: scale, not negative. Returns
    array of shape (n,): In [0, 1], lower than the confidence where delta < 0 and higher where delta > 0.

    Examples
    --------
    >>> range_aware(np.array([0.9, 0.9]), np.array([-0.2, 0.2]), alpha=2.0).round(3)
    array([0.558, 0.938])
    """
    pull = np.tanh(alpha * np.abs(delta))
    room = np.where(delta < 0, -confidence, 1.0 - confidence)
    return np.clip(confidence + room * pull, 0.0, 1.0)


def choose_alpha(
    correct: np.ndarray, confidence: np.ndarray, delta: np.ndarray, weight: np.ndarray | None = None
) -> float:
    """Return the scale of :func:`range_aware`, of those in ``ALPHAS``, with the smallest Brier score.

    Takes correct, confidence, delta (n,): of validation rows; weight (n,). Returns float: The smaller of equally good
    ones.

    Examples
    --------
    >>> f, y = np.full(100, 0.5), np.repeat([1.0, 0.0], [75, 25])
    >>> alpha = choose_alpha(y, f, delta=np.full(100, 0.25))
    >>> range_aware(f, np.full(100, 0.25), alpha)[0].round(2)
    np.float64(0.75)
    """
    briers = [
        np.average(np.square(correct - range_aware(confidence, delta, alpha)), weights=weight) for alpha in ALPHAS
    ]
    return float(ALPHAS[int(np.argmin(briers))])
