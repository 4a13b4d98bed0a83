"""Extras: one table, one sentence."""

import re
import sys
import tomllib
from pathlib import Path

from miscal.base.process import EXTRAS, installed

ASKED = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_the_table_is_that_of_the_package():
    extras = dict(ASKED["optional-dependencies"])
    assert extras.pop("all") == [f"miscal[{','.join(EXTRAS)}]"]
    assert {name: tuple(re.match(r"[\w-]+", need)[0] for need in needs) for name, needs in extras.items()} == EXTRAS


def test_core_asks_for_nothing_that_an_extra_brings():
    core = {re.match(r"[\w-]+", need)[0] for need in ASKED["dependencies"]}
    assert not core & {package for packages in EXTRAS.values() for package in packages}


def test_a_module_may_be_called_otherwise_than_its_package(monkeypatch):
    assert installed("scikit-learn") is False  # it is not in the table of names, which is for extras
    monkeypatch.setitem(sys.modules, "umap", None)
    assert not installed("umap-learn")
