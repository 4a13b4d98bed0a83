"""Inductive Venn-Abers prediction (Vovk and Petej, 2014), by its own package: it looks at the confidence alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from baselines.protocol import Baseline, Floats
from miscal.data.triples import Triples


class VennAbersBaseline(Baseline):
    """Two isotonic regressions, each with the new row as one of the outcomes, put together into one probability."""

    name = "venn-abers"
    place = 5
    reads_inputs = False
    packages = ("venn_abers",)

    def _fit(self, rows: Triples, seed: int) -> None:
        from venn_abers import VennAbers

        self.model_, self.settings_ = VennAbers(), {}
        self.model_.fit(_both(rows.confidence), rows.correct.astype(int))

    def _calibrate(self, X: NDArray, confidence: Floats) -> Floats:
        return np.asarray(self.model_.predict_proba(_both(confidence))[0], np.float64)[:, 1]


def _both(confidence: Floats) -> Floats:
    return np.column_stack([1 - confidence, confidence])
