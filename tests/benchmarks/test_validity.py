"""Every statement that the benchmark of validity judges can be asked of a small world."""

import importlib
from pathlib import Path

import numpy as np
import pytest

from miscal.base.document import Measure
from miscal.calibration.metrics.scores import mean_interval

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


def test_a_number_is_contradicted_by_rows_of_another_rate_alone(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    contradicted = importlib.import_module("_statements").false
    y, unit, every = np.tile([1.0, 0.0, 0.0, 0.0], 50), np.arange(200), np.ones(200, bool)
    said = {value: ("group: happened", value, 200, y, every) for value in (0.25, 0.3, 0.4)}
    assert [contradicted(one, y, unit) for one in said.values()] == [False, False, True]
    wide = "group: happened", Measure(value=0.4, interval=(0.2, 0.6)), 200, y, every
    assert not contradicted(wide, y, unit)
    assert contradicted(said[0.4], y, unit // 40) is None  # five units tell nothing


@pytest.mark.parametrize("world", ["halves", "small group", "trend", "pair", "mixed", "rare", "units", "weights"])
def test_a_world_of_coverage_hides_nothing_at_a_confidence_on_average(world, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    rows = importlib.import_module("_nothing_coverage").drawn(world, 20_000, 1)
    place = np.digitize(rows.confidence, np.quantile(rows.confidence, [0.25, 0.5, 0.75]))
    unit = np.arange(20_000) if rows.group is None else rows.group
    for values in (rows.hidden, rows.correct - rows.rate):
        for k in range(4):
            found = mean_interval(values[place == k], groups=unit[place == k])
            assert abs(found.value) < 4.5 * found.standard_error
    assert rows.hidden.std() > 0.02
