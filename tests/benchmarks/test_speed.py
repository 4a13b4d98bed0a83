"""Each part of the benchmark of speed runs at small sizes, and shows us beside the floor."""

import csv
import importlib
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.whole, pytest.mark.slow]

SHOWN = {"discover": "scaling-stages", "smece": "smece", "kernel": "kernel", "corrections": "calibrate-memory",
         "scan": "scan"}  # fmt: skip


@pytest.mark.parametrize("part", SHOWN)
def test_a_part_measures(part, monkeypatch, tmp_path):
    if part == "smece":
        pytest.importorskip("relplot")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    asked = ["--part", part, "--rows", "600", "--rounds", "1", "--csv", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["speed.py", *asked])
    assert importlib.import_module("speed").main() in (0, 1)
    with (tmp_path / f"{SHOWN[part]}.csv").open() as file:
        assert list(csv.DictReader(file))
