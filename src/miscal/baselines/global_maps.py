"""Corrections that look at the confidence alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miscal.baselines.protocol import Baseline, Floats
from miscal.calibration.calibrators import CALIBRATORS


class Raw(Baseline):
    """The confidence as it is."""

    name = "raw"

    def _fit(self, X, f, y, validation, seed) -> None:
        self.settings_ = {}

    def _calibrate(self, X: NDArray, f: Floats) -> Floats:
        return f


class _Parametric(Baseline):
    """One of the library's own maps, fitted to all rows given."""

    def _fit(self, X, f, y, validation, seed) -> None:
        self.map_ = CALIBRATORS[self.name]().fit(correct=y, confidence=f)

    def _calibrate(self, X: NDArray, f: Floats) -> Floats:
        return self.map_.predict(f)


class TemperatureScaling(_Parametric):
    """Temperature scaling (Guo et al., 2017)."""

    name = "temperature"


class PlattScaling(_Parametric):
    """Platt scaling of the logit (Platt, 1999)."""

    name = "platt"


class BetaCalibration(_Parametric):
    """Beta calibration (Kull et al., 2017)."""

    name = "beta"


class IsotonicRegression(Baseline):
    """scikit-learn's isotonic regression of y on f, as it comes."""

    name = "isotonic"

    def _fit(self, X, f, y, validation, seed) -> None:
        from sklearn.isotonic import IsotonicRegression as Plain

        self.map_ = Plain(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(f, y)

    def _calibrate(self, X: NDArray, f: Floats) -> Floats:
        return np.asarray(self.map_.predict(f), np.float64)
