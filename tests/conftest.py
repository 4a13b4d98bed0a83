"""Settings of the whole suite."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# The first example pays for imports; a busy machine is no failure.
settings.register_profile("miscal", deadline=None, derandomize=True)
settings.load_profile("miscal")

COLLECTED = pytest.StashKey[list[pytest.Item]]()
"""All tests, those too that `-m` leaves out: tests/test_promises.py counts them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    config.stash[COLLECTED] = list(items)


@pytest.fixture(scope="session")
def mmlu_file() -> Path:
    """A parquet file of real MMLU questions, named by the environment variable MISCAL_MMLU."""
    path = os.environ.get("MISCAL_MMLU")
    if not path:
        pytest.skip("set MISCAL_MMLU to a parquet file of MMLU questions")
    return Path(path)
