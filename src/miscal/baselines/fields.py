"""miscal's own two estimators behind the protocol of the baselines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from miscal.baselines.protocol import Baseline, Floats
from miscal.estimators.field import MiscalibrationField


class Paper(Baseline):
    """The paper's method with its grid, its splits and its range-aware correction."""

    name = "paper"

    def _fit(self, X, f, y, validation, seed) -> None:
        split = np.where(validation, "val", "train")
        field = MiscalibrationField(method=self.name, random_state=seed, n_jobs=1)
        self.field_ = field.fit(X, y, confidence=f, split=split)
        self.settings_ = {k: v for k, v in self.field_.settings_.items() if np.ndim(v) == 0}

    def _calibrate(self, X: NDArray, f: Floats) -> Floats:
        return self.field_.calibrate(X, f)

    def delta(self, X, confidence) -> Floats:
        """Field, as estimated; negative where over-confident."""
        return self.field_.predict(X, confidence)


class Auto(Paper):
    """miscal's default estimator."""

    name = "auto"
