"""Rows that hang together without being named are named in a warning, with what it would cost."""

from dataclasses import replace

import numpy as np
import pytest

from miscal.data.readers import read_triples
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome, fit_rows, prepared
from miscal.discovery.fitted_rows import FittedRows
from miscal.discovery.measurements import group_numbers
from miscal.discovery.unnamed_groups import unnamed_groups, warning_of
from miscal.estimators.estimate import FieldEstimate
from miscal.estimators.field import MiscalibrationField

N = 2_000


def fitted(spread, seed=0):
    """Rows of 50 days, whose log-odds share a normal number, and a field that is 0."""
    rng = np.random.default_rng(seed)
    f, day = rng.uniform(0.2, 0.8, N), rng.permutation(np.arange(N) % 50)
    p = 1 / (1 + (1 - f) / f * np.exp(-spread * rng.normal(size=50)[day]))
    triples = Triples.of(rng.normal(size=(N, 2)), confidence=f, correct=(rng.random(N) < p).astype(int))
    dealt = rng.permutation(day)
    triples = replace(triples, candidate_groups={"seen:day": day, "ward": np.where(dealt < 40, dealt, -1)})
    none, local = np.zeros(N), np.ones(N, dtype=bool)
    flat = FieldEstimate(none, none, local, none, none, f, none[:, None], none)
    expected = expected_outcome(triples, 0)
    return FittedRows(triples, MiscalibrationField(), flat, expected, expected, {})


def test_the_column_is_named_with_what_naming_it_costs():
    rows = fitted(0.7)
    (one,) = unnamed_groups(rows, seed=0)
    day = rows.triples.candidate_groups["seen:day"]
    named = group_numbers(rows.labelled(rows.testifies, group=day))
    assert (one.column, one.n) == ("seen:day", 50)
    assert one.correlation == pytest.approx(named.correlation)
    assert one.wider == pytest.approx(np.sqrt(named.effect))
    assert one.wider > 1.5
    said = warning_of([one])
    assert "one day of 'seen' (50 groups" in said
    assert "--group seen:day" in said


@pytest.mark.usefixtures("few_folds")
def test_customers_among_the_inputs_are_found_although_the_field_learns_of_them():
    rng = np.random.default_rng(0)
    n, customers = 600, 150
    f, customer = rng.uniform(0.3, 0.7, n), rng.integers(0, customers, n)
    p = 1 / (1 + (1 - f) / f * np.exp(-1.5 * rng.normal(size=customers)[customer]))
    table = {"confidence": f, "correct": (rng.random(n) < p).astype(int), "x": rng.normal(size=n)}
    table["customer"] = [f"c{one}" for one in customer]
    rows = fit_rows(prepared(read_triples(table), "all", 0)[0], n_jobs=1)
    assert rows.units == ("customer",)
    assert [one.column for one in unnamed_groups(rows, seed=0)] == ["customer"]
    assert (rows.without_units != rows.estimate.corrected).any()


def test_independent_rows_are_not_warned_of():
    assert unnamed_groups(fitted(0.0), seed=0) == ()


@pytest.mark.slow
def test_at_most_one_in_a_hundred_sets_of_independent_rows_is_warned_of():
    wrong = sum(bool(unnamed_groups(fitted(0.0, seed), seed=seed)) for seed in range(200))
    assert wrong <= 2 + 3 * np.sqrt(2)
