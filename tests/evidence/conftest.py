import numpy as np
import pytest

from miscal.evidence.limits.covariance import Weighed, common_limit


@pytest.fixture
def limit_of():
    """Lower limit of the mean of weight * (p - centre), of rows that lie in one block and are weighed in one way."""

    def limit_of(correct, weight, centre, **options):
        rows = Weighed(correct, centre, weight, np.zeros(len(weight), dtype=int), weight=weight, sized=weight)
        return common_limit([rows], rng=np.random.default_rng(0), **options)

    return limit_of
