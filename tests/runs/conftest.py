"""One run of the loans for each file of tests."""

import pytest

import miscal

from .loans import EVENT, INDEXES, QUICK, N, loans


@pytest.fixture(scope="module")
def found(few_folds):
    frame = loans()
    frame.index = INDEXES["shuffled"](N)
    return miscal.discover(frame, **EVENT, **QUICK)
