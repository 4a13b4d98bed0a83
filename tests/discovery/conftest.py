"""One run of the pipeline around a quick ridge, for all tests that look at a usual one."""

import pytest

from miscal.base.process import Progress

from .ridge import discover, quickly, triples

TOLD: list[Progress] = []
"""What that run told while it went on."""


@pytest.fixture(scope="session")
def data():
    return triples()


@pytest.fixture(scope="session")
def found(data):
    with quickly():
        return discover(data, map_method="pca", seed=1, progress=TOLD.append)


@pytest.fixture(scope="session")
def told(found):
    return TOLD
