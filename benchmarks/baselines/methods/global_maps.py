"""Corrections that look at the confidence alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from baselines.protocol import Baseline, Floats
from miscal.calibration.calibrators import CALIBRATORS, LOGIT_CLIP, newton, platt_targets
from miscal.data.triples import Triples


class _GlobalMap(Baseline):
    """A map of the confidence alone."""

    reads_inputs = False


class Raw(_GlobalMap):
    """The confidence as it is."""

    name = "raw"
    place = 0

    def _fit(self, rows: Triples, seed: int) -> None:
        self.settings_ = {}

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return confidence


class _Parametric(_GlobalMap):
    """One of the library's own maps, fitted to all rows given."""

    def _fit(self, rows: Triples, seed: int) -> None:
        self.map_ = CALIBRATORS[self.name]().learn(rows.correct, rows.confidence)

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return self.map_.apply(confidence)


class TemperatureScaling(_Parametric):
    """Temperature scaling (Guo et al., 2017)."""

    name = "temperature"
    place = 1


class PlattScaling(_Parametric):
    """Platt scaling of the logit (Platt, 1999)."""

    name = "platt"
    place = 2


class BetaCalibration(_GlobalMap):
    """Beta calibration: p = sigmoid(a ln f - b ln(1 - f) + c), a, b >= 0 (Kull, Silva Filho and Flach, 2017)."""

    name = "beta"
    place = 3

    def _fit(self, rows: Triples, seed: int) -> None:
        design, weight, least = self._design(rows.confidence), np.ones(len(rows)), np.inf
        targets = platt_targets(rows.correct, weight)
        # the loss is strictly convex: its constrained minimum is one over a face on which some of a and b are 0
        for free in ([0, 1, 2], [0, 2], [1, 2], [2]):
            theta = np.zeros(3)
            theta[free], loss = newton(design[:, free], targets, weight, np.array([1.0, 1.0, 0.0])[free])
            if theta[:2].min() >= 0 and loss < least:
                self.coefficients_, least = theta, loss

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return expit(self._design(confidence) @ self.coefficients_)

    @staticmethod
    def _design(confidence: Floats) -> Floats:
        f = np.clip(confidence, LOGIT_CLIP, 1 - LOGIT_CLIP)
        return np.column_stack([np.log(f), -np.log1p(-f), np.ones_like(f)])


class IsotonicRegression(_GlobalMap):
    """scikit-learn's isotonic regression of y on f, as it comes."""

    name = "isotonic"
    place = 4

    def _fit(self, rows: Triples, seed: int) -> None:
        from sklearn.isotonic import IsotonicRegression as Plain

        self.map_ = Plain(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(rows.confidence, rows.correct)

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return np.asarray(self.map_.predict(confidence), np.float64)
