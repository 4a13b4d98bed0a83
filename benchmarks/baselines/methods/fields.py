"""miscal's own two estimators behind the protocol of the baselines."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.protocol import Baseline, Floats
from miscal.data.triples import Triples
from miscal.estimators.field import MiscalibrationField


class Paper(Baseline):
    """The paper's method with its grid, its splits and its range-aware correction."""

    name = "paper"
    place = 90

    def _fit(self, rows: Triples, seed: int) -> None:
        self.field_ = MiscalibrationField(method=self.name, random_state=seed, n_jobs=1).fit_triples(rows)
        self.settings_ = {k: v for k, v in self.field_.settings_.items() if np.ndim(v) == 0}

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return self.field_.calibrate(X, confidence)

    def delta(self, X, confidence) -> Floats:
        """Field, as estimated; negative where over-confident."""
        return self.field_.predict(X, confidence)


class Auto(Paper):
    """miscal's default estimator."""

    name = "auto"
    place = 91
