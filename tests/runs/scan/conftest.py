"""The rows that scans are tried on."""

import pytest

from .late import table


@pytest.fixture(scope="module")
def rows():
    return table()
