"""Corrected rows: what becomes of rows with few of the rows learned from nearby."""

from types import SimpleNamespace

import numpy as np

from miscal.calibration.calibrators import Identity
from miscal.discovery.saved_model import FAR, correct_rows
from miscal.estimators.registry import Correction


class Rows(SimpleNamespace):
    def __len__(self):
        return len(self.confidence)


def corrected(local):
    f = np.array([0.5, 0.6, 0.7])
    told = Correction(np.full(3, -0.2), f - 0.2, np.array([True, False, False]), np.array([9.0, 0.1, 0.1]), local)
    field = SimpleNamespace(correct=lambda X, confidence: told, global_map_=Identity())
    rows = Rows(
        row=np.arange(3), confidence=f, whole=np.arange(3), X=np.zeros((3, 1)), unknown=[],
        reason=np.full(3, None, dtype=object), taken_as_blank=np.full(3, None, dtype=object),
    )  # fmt: skip
    return correct_rows(field, rows)


def test_a_row_that_keeps_its_local_estimate_is_marked_and_needs_no_reason():
    table = corrected(np.array([True, True, False]))
    assert table["supported"].to_list() == [True, False, False]
    assert table["reason"].to_list() == [None, None, FAR]


def test_by_default_a_row_without_support_has_none():
    assert corrected(None)["reason"].to_list() == [None, FAR, FAR]
