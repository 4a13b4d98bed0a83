"""Shared by the tests of the benchmarks."""

import importlib
from pathlib import Path

import pytest


@pytest.fixture
def script(monkeypatch):
    """Import a script of benchmarks/, which is no package."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    return importlib.import_module
