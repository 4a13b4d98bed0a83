"""Every statement that the benchmark of validity judges can be asked of a small world."""

import importlib
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("statement", ["certificates", "hidden tests", "residuals", "scores", "drift"])
def test_a_statement_is_counted_as_right_or_wrong(statement, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    asked = importlib.import_module("_validity_statements")
    sums = {"sizes": {}, "misses": {}}
    for kind in ("calibrated", "planted"):
        asked.STATEMENTS[statement](asked.Asked("uniform", kind, 100, "all", 0)).added_to(sums)
    counts = {**sums["sizes"], **sums["misses"]}
    assert counts
    assert all(0 <= wrong <= made for made, *each in counts.values() for wrong in each)
