"""smECE and ECE on the ten cases that are compared with other tools: ours as published, the others where installed."""

import csv
import importlib
from pathlib import Path

import numpy as np
import pytest

from miscal.metrics import ece, smece

NOTES = Path(__file__).parents[2] / "benchmarks" / "notes"


@pytest.fixture
def agree(monkeypatch):
    monkeypatch.syspath_prepend(str(NOTES.parent))
    return importlib.import_module("agree")


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
