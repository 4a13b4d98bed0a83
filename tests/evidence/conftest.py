import numpy as np
import pytest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.evidence.limits.covariance import Weighed, common_limit


@pytest.fixture(scope="module")
def few_draws():
    """Draw 199 times, not 1,999, as long as a module runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("miscal.evidence.settings.N_DRAWS", 199)
        yield


@pytest.fixture
def limit_of():
    """Lower limit of the mean of weight * (p - centre), of rows that lie in one block and are weighed in one way."""

    def limit_of(correct, weight, centre):
        rows = LabelledRows(correct, centre, centre)
        weighed = Weighed(rows, weight, np.zeros(len(weight), dtype=int), weight=weight, sized=weight)
        return common_limit([weighed], rng=np.random.default_rng(0))

    return limit_of
