"""smECE and ECE on the ten cases that are compared with other tools; statements of the benchmark of validity."""

import csv
from pathlib import Path

import numpy as np
import pytest

from miscal.base.document import Measure
from miscal.calibration.metrics.scores import mean_interval
from miscal.metrics import ece, smece

NOTES = Path(__file__).parents[2] / "benchmarks" / "notes"


@pytest.fixture
def agree(script):
    return script("agree")


def published(name: str, column: str) -> dict[str, float]:
    with (NOTES / f"{name}.csv").open() as file:
        return {row["case"]: float(row[column]) for row in csv.DictReader(file)}


def test_ours_are_those_that_were_published(agree):
    cases = agree.cases()
    assert len(cases) == 10
    for name, column, ours in [
        ("agree-smece", "miscal", smece),
        ("agree-ece", "miscal", ece),
        ("agree-ece", "miscal, equal numbers", lambda y, f: ece(y, f, strategy="mass")),
        ("agree-defaults", "miscal", ece),
    ]:
        values = published(name, column)
        assert values.keys() == cases.keys()
        np.testing.assert_allclose([ours(*rows) for rows in cases.values()], list(values.values()), atol=6e-6)


@pytest.mark.whole
def test_the_quadrature_along_log_odds_sees_one_confidence_and_separate_ones(agree):
    """Of one confidence it is the mean residual; of two that lie far apart the sum of theirs."""
    assert agree.smece_of_logits(np.array([0.0, 1, 1, 1]), np.full(4, 0.5)) == pytest.approx(0.25, abs=1e-4)
    y, f = np.array([0.0, 1, 0, 1]), np.array([0.01, 0.01, 0.99, 0.99])
    assert agree.smece_of_logits(y, f) == pytest.approx(0.49, abs=1e-4)


@pytest.mark.parametrize("peer", ["relplot", "probcal", "netcal", "torchmetrics"])
def test_another_tool_agrees_or_differs_as_explained(peer, agree):
    pytest.importorskip(peer)
    cases = agree.cases()
    for tools, kind, most in [
        (("relplot, moved",), agree.smooth, agree.SMOOTH),
        (("probcal",), agree.smooth, agree.LOGIT),
        (("relplot", "probcal", "netcal", "torchmetrics"), agree.binned, agree.BINNED),
        (("probcal, equal numbers", "netcal, equal numbers"), agree.binned, agree.MASS),
    ]:
        mine = [tool for tool in tools if tool.startswith(peer)]
        if mine:
            assert agree.farthest({name: kind(*rows) for name, rows in cases.items()}, *mine) <= most


@pytest.mark.parametrize("statement", ["certificates", "hidden tests", "residuals", "scores", "drift"])
def test_a_statement_is_counted_as_right_or_wrong(statement, script):
    asked = script("_validity_statements")
    sums = {"sizes": {}, "misses": {}}
    for kind in ("calibrated", "planted"):
        asked.STATEMENTS[statement](asked.Asked("uniform", kind, 100, "all", 0)).added_to(sums)
    counts = {**sums["sizes"], **sums["misses"]}
    assert counts
    assert all(0 <= wrong <= made for made, *each in counts.values() for wrong in each)


def test_a_number_is_contradicted_by_rows_of_another_rate_alone(script):
    contradicted = script("_statements").false
    y, unit, every = np.tile([1.0, 0.0, 0.0, 0.0], 50), np.arange(200), np.ones(200, bool)
    said = {value: ("group: happened", value, 200, y, every) for value in (0.25, 0.3, 0.4)}
    assert [contradicted(one, y, unit) for one in said.values()] == [False, False, True]
    wide = "group: happened", Measure(value=0.4, interval=(0.2, 0.6)), 200, y, every
    assert not contradicted(wide, y, unit)
    assert contradicted(said[0.4], y, unit // 40) is None  # five units tell nothing


@pytest.mark.parametrize("world", ["halves", "small group", "trend", "pair", "mixed", "rare", "units", "weights"])
def test_a_world_of_coverage_hides_nothing_at_a_confidence_on_average(world, script):
    rows = script("_nothing_coverage").drawn(world, 20_000, 1)
    place = np.digitize(rows.confidence, np.quantile(rows.confidence, [0.25, 0.5, 0.75]))
    unit = np.arange(20_000) if rows.group is None else rows.group
    for values in (rows.hidden, rows.correct - rows.rate):
        for k in range(4):
            found = mean_interval(values[place == k], groups=unit[place == k])
            assert abs(found.value) < 4.5 * found.standard_error
    assert rows.hidden.std() > 0.02
