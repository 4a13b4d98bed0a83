"""What rows are counted by where nobody named it, and what that changes."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.data.readers.candidate_groups import Candidate
from miscal.data.readers.read import read_triples
from miscal.data.splits import near_copies
from miscal.data.triples import FoundUnits, InputLayout, Triples
from miscal.discovery.discover import discover
from miscal.discovery.units import with_units


def rows(X, unit, *, spread, seed, columns=None):
    """Rows whose log-odds share a normal number of this spread within a unit, beside a column of dealt units."""
    rng = np.random.default_rng(seed)
    n = len(X)
    f = rng.uniform(0.2, 0.8, n)
    p = 1 / (1 + (1 - f) / f * np.exp(-spread * rng.normal(size=unit.max() + 1)[unit]))
    triples = Triples.of(X, confidence=f, correct=(rng.random(n) < p).astype(int))
    return replace(triples, candidate_groups=columns or {}, layout=InputLayout(X.shape[1], table=True))


def same(one, other):
    """Whether two numberings part rows alike."""
    return len(set(zip(one.tolist(), other.tolist(), strict=True))) == len(set(one)) == len(set(other))


@pytest.mark.parametrize(("jitter", "source"), [(0.0, "equal inputs"), (0.0001, "near copies"), (0.01, "near copies")])
def test_equal_inputs_and_near_copies_are_one_unit_whatever_their_confidence(jitter, source):
    rng = np.random.default_rng(0)
    unit = rng.permutation(np.repeat(np.arange(140), 5))
    X = rng.normal(size=(140, 6))[unit] + jitter * rng.normal(size=(700, 6))
    found = with_units(rows(X, unit, spread=0.8, seed=1), 0)
    assert found.counted_by == FoundUnits(source)
    assert same(found.group, unit)


def test_cells_of_a_coarse_table_are_no_units():
    rng = np.random.default_rng(0)
    triples = rows(rng.integers(0, 4, (900, 3)).astype(float), np.arange(900), spread=0.0, seed=1)
    assert with_units(triples, 0).group is None


def test_an_input_of_very_many_rows_is_no_unit():
    X = np.random.default_rng(0).normal(size=(900, 3))
    X[:200] = 0.0
    assert with_units(rows(X, np.arange(900), spread=0.0, seed=1), 0).group is None


@given(st.integers(0, 10_000), st.sampled_from([2, 4, 16, 64]))
@settings(max_examples=15)
def test_independent_inputs_are_hardly_ever_copies(seed, width):
    number = near_copies(np.random.default_rng(seed).normal(size=(600, width)))
    assert len(np.unique(number)) > 0.98 * 600


@given(st.integers(0, 10_000))
@settings(max_examples=10)
def test_copies_do_not_depend_on_the_order_of_rows_the_unit_of_a_column_or_its_origin(seed):
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(150), 3)
    X = rng.normal(size=(150, 5))[unit] + 0.001 * rng.normal(size=(450, 5))
    order = rng.permutation(450)
    assert same(near_copies(X)[order], near_copies((X * [1, 10, 0.1, 5, 1000] + 7)[order]))


def test_days_are_counted_by_where_their_outcomes_hang_together_and_dealt_ones_are_not():
    rng = np.random.default_rng(0)
    day = rng.permutation(np.arange(2_000) % 50)
    columns = {Candidate("seen", "day", "period"): day, Candidate("shift", None, "identifier"): rng.permutation(day)}
    X = rng.normal(size=(2_000, 3))
    found = with_units(rows(X, day, spread=0.7, seed=1, columns=columns), 0)
    assert found.counted_by.column == "seen:day"
    assert same(found.group, day)
    assert with_units(rows(X, day, spread=0.0, seed=1, columns=columns), 0).counted_by.source == "rows"


def test_a_coarser_period_of_too_few_units_widens_every_standard_error():
    rng = np.random.default_rng(0)
    day = rng.permutation(np.arange(3_000) % 98)
    week = day // 7
    columns = {Candidate("seen", "day", "period"): day, Candidate("seen", "week", "period"): week}
    triples = rows(rng.normal(size=(3_000, 3)), week, spread=0.7, seed=1, columns=columns)
    found = with_units(triples, 0).counted_by
    assert (found.column, found.coarser) == ("seen:day", "week")
    assert 1.5 < found.factor < 3


def with_a_span(share, spread, seed):
    """Say what rows of 600 days are counted by, of which 40 points of a span are wrong."""
    rng = np.random.default_rng(seed)
    day, first = rng.permutation(np.arange(3_600) % 600), rng.uniform(0, 1 - share) * 600
    wrong = (day >= first) & (day < first + share * 600) & (rng.random(3_600) < 0.4)
    periods = {"hour": day, "day": day, "month": day // 20}
    columns = {Candidate("seen", period, "period"): unit for period, unit in periods.items()}
    triples = rows(rng.normal(size=(3_600, 3)), day, spread=spread, seed=seed, columns=columns)
    return with_units(replace(triples, correct=np.where(wrong, 0, triples.correct)), 0).counted_by.column


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_span_of_dates_makes_no_units_and_its_days_are_counted_where_they_hang_together(share):
    assert with_a_span(share, 0.0, 0) is None
    assert with_a_span(share, 1.2, 0) == "seen:day"


@pytest.mark.slow
def test_of_a_hundred_spans_of_dates_hardly_one_makes_units():
    counted = [with_a_span(share, 0.0, seed) for seed in range(25) for share in (0.1, 0.2, 0.3, 0.5)]
    assert sum(one is not None for one in counted) <= 10


def test_customers_among_the_inputs_are_found_although_a_field_could_learn_of_them():
    rng = np.random.default_rng(0)
    n = 900
    f, who = rng.uniform(0.3, 0.7, n), rng.integers(0, 150, n)
    p = 1 / (1 + (1 - f) / f * np.exp(-1.5 * rng.normal(size=150)[who]))
    table = {"confidence": f, "correct": (rng.random(n) < p).astype(int), "x": rng.normal(size=n), "code": who}
    found = with_units(read_triples(table), 0)
    assert found.counted_by.column == "code"
    # who is named like an identity is counted by whether or not outcomes hang together
    calm = table | {"correct": (rng.random(n) < f).astype(int)}
    assert with_units(read_triples(calm), 0).counted_by.column is None
    named = {"customer" if name == "code" else name: values for name, values in calm.items()}
    assert with_units(read_triples(named), 0).counted_by.column == "customer"


def test_what_only_hangs_together_is_said_and_not_counted():
    rng = np.random.default_rng(0)
    level = rng.permutation(np.arange(1_500) % 50)
    columns = {Candidate("level", None, "repeats"): level}
    found = with_units(rows(rng.normal(size=(1_500, 3)), level, spread=1.0, seed=1, columns=columns), 0)
    assert found.group is None
    ((name, wider),) = found.counted_by.others
    assert name == "level"
    assert 1.5 < wider < 3


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_few_of_an_identity_are_counted_only_where_they_widen_intervals(spread):
    rng = np.random.default_rng(0)
    school = rng.permutation(np.arange(1_500) % 15)
    columns = {Candidate("school", None, "named"): school}
    found = with_units(rows(rng.normal(size=(1_500, 3)), school, spread=spread, seed=1, columns=columns), 0)
    assert found.counted_by.column == ("school" if spread else None)


def test_what_is_named_is_counted_and_nothing_is_looked_for_where_rows_are_asked_for():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(60), 5)
    table = {"confidence": rng.random(300), "correct": np.arange(300) % 2, "x": rng.normal(size=60)[unit], "who": unit}
    named = with_units(read_triples(table, features="x", group="who"), 0)
    assert named.counted_by == FoundUnits("named", "who")
    assert with_units(read_triples(table, features="x", group="none"), 0).group is None
    assert with_units(read_triples(table, features="x"), 0).counted_by.source == "equal inputs"


@pytest.mark.whole
@pytest.mark.usefixtures("few_folds")
def test_of_fewer_than_ten_units_nothing_is_claimed():
    rng = np.random.default_rng(0)
    unit, x = np.arange(420) % 9, rng.choice([-1.0, 1.0], (420, 1))
    f = rng.uniform(0.3, 0.7, 420)
    y = (rng.random(420) < f + 0.29 * x[:, 0]).astype(int)
    found = discover(Triples.of(x, confidence=f, correct=y, group=unit), n_jobs=1).summary
    assert found.certificate.p_value == 1.0
    assert found.certificate.lower_bound_total.interval == (0.0, 1.0)
    assert found.findings == ()
    assert any("only 9 units" in one for one in found.warnings)
    assert (found.units.source, found.units.n_units) == ("named", 9)
