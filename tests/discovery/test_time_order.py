"""Rows judged in the order of time: what is known of a row never depends on the outcomes of later ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from miscal.base.errors import InputError
from miscal.base.folds import BLOCKS, time_blocks
from miscal.data.readers.read import read_triples
from miscal.data.triples import Triples, check_time
from miscal.discovery.discover import discover, write_ledger
from miscal.discovery.estimating import fit_rows, prepare
from miscal.discovery.fitted_rows import evidence_of
from miscal.discovery.measurements import MOST_PERIODS, periods_of
from miscal.discovery.summarise import claim_of
from miscal.estimators.field import MiscalibrationField
from miscal.report.frame import row_words

pytestmark = pytest.mark.whole

N = 400


def made(n=N, seed=0, **more):
    """Rows in a shuffled order of time; the model is too sure where the first input is positive."""
    rng = np.random.default_rng(seed)
    f, X, time = rng.uniform(0.3, 0.9, n), rng.normal(size=(n, 2)), rng.permutation(n)
    y = (rng.random(n) < f - 0.25 * (X[:, 0] > 0)).astype(int)
    return Triples.of(X, confidence=f, correct=y, time=time, metadata={"side": np.where(X[:, 0] > 0, "a", "b")}, **more)


@pytest.fixture(scope="module")
def triples():
    return prepare(made(), "time", 0)[0]


@pytest.fixture(scope="module")
def fitted(triples):
    return fit_rows(triples, MiscalibrationField(n_jobs=1), evidence="time")


def test_no_value_of_a_row_changes_with_the_outcomes_of_later_rows(triples, fitted):
    block = triples.time_block
    later = block >= 3
    changed = replace(triples, correct=np.where(later, 1 - triples.correct, triples.correct))
    other = fit_rows(changed, MiscalibrationField(), evidence="time")
    before = block <= 3
    for name in ("delta", "hidden", "visible", "corrected", "supported", "ungated"):
        one, two = (getattr(rows.estimate, name)[before] for rows in (fitted, other))
        np.testing.assert_array_equal(one, two, err_msg=name)
    np.testing.assert_array_equal(fitted.expected[before], other.expected[before])
    np.testing.assert_array_equal(fitted.expected_corrected[before], other.expected_corrected[before])
    for name, corrected in fitted.corrections.items():
        np.testing.assert_array_equal(corrected[before], other.corrections[name][before], err_msg=name)
    assert (fitted.expected[block == 4] != other.expected[block == 4]).any()


def test_the_first_block_teaches_and_is_left_as_it_is(triples, fitted):
    first = triples.time_block == 0
    assert 0 < first.sum() <= N / BLOCKS + 1
    assert (fitted.evaluated == ~first).all()
    assert (fitted.estimate.corrected[first] == triples.confidence[first]).all()
    assert not fitted.estimate.supported[first].any()
    assert len(fitted.evaluation_rows) == (~first).sum()
    assert fitted.evaluation_rows.block is None
    assert sorted(np.unique(fitted.block)) == [-1, 1, 2, 3, 4]


def test_a_run_says_which_rows_are_evaluated_and_tells_of_each_period():
    found = discover(made(), evidence="time", map_method="pca", n_jobs=1)
    summary = found.summary
    blocks, words = summary.over_time.blocks, row_words(summary)
    later = sum(one.n for one in blocks[1:])
    assert summary.evidence == "time"
    assert summary.n_train is None
    assert words["n"] == later == summary.correction["raw"].all.n == summary.findings_method.n
    assert f"is of {later} later rows, each judged by a fit that had seen only earlier rows" in words["basis"]
    assert found.table["fold"].min() == 0
    assert found.table.filter(found.table["fold"] == 0)["regime"].null_count() == blocks[0].n
    periods = summary.over_time.periods
    assert sum(one.n for one in periods) == later
    assert np.average([one.accuracy for one in periods], weights=[one.n for one in periods]) == pytest.approx(
        found.table.filter(found.table["fold"] > 0)["correct"].mean()
    )
    for one in summary.over_time.findings:
        assert sum(period.n for period in one.periods) == summary.findings[one.finding - 1].n


@pytest.mark.slow
@pytest.mark.parametrize("drift", [0.0, 1.2])
def test_where_nothing_is_hidden_few_runs_claim_it(drift):
    """Outcomes depend on the confidence alone, in the same way at all times, or in another from day to day."""
    draws, claimed, told = 40, 0, 0
    for draw in range(draws):
        rng = np.random.default_rng((draw, 7))
        f, X, time = rng.uniform(0.1, 0.9, N), rng.normal(size=(N, 3)), np.arange(N)
        rate = expit(0.6 * logit(f) + np.linspace(-drift, drift, N) - 0.2)
        y, kind = (rng.random(N) < rate).astype(int), rng.choice(list("abcdefgh"), N)
        rows = Triples.of(X, confidence=f, correct=y, time=time, metadata={"kind": kind, "x": X[:, 0].round(1)})
        rows, *_ = prepare(rows, "time", draw)
        fitted = fit_rows(rows, MiscalibrationField(random_state=draw, n_jobs=1), evidence="time")
        claimed += claim_of(fitted, seed=draw).claims_hidden
        told += bool(write_ledger(fitted, own_split=False, seed=draw).findings)
    most = 0.05 * draws + 3 * np.sqrt(0.05 * 0.95 * draws)
    assert claimed <= most
    assert told <= most


@pytest.mark.parametrize("seed", range(20))
def test_blocks_are_in_order_even_and_keep_equal_times_and_groups_together(seed):
    rng = np.random.default_rng(seed)
    day = rng.integers(0, rng.integers(6, 60), 300)
    time = day * 24.0 + rng.integers(0, 24, 300)
    block = time_blocks(time, day)
    for k in range(1, block.max() + 1):
        assert time[block == k - 1].max() < time[block == k].min()
    assert all(len(np.unique(block[day == one])) == 1 for one in np.unique(day))
    assert (np.unique(block) == np.arange(block.max() + 1)).all()
    assert np.abs(np.bincount(block) / 300 - 1 / BLOCKS).max() <= np.bincount(day).max() / 300 + 1e-9


def test_times_that_leave_no_order_are_refused():
    rows = made()
    with pytest.raises(InputError, match=r"name the column of times \(`time`\)"):
        evidence_of(replace(rows, time=None), "auto", "time")
    with pytest.raises(InputError, match="nearly all rows have one time"):
        evidence_of(replace(rows, time=np.zeros(N)), "auto", "time")
    with pytest.raises(InputError, match=r"groups reach so far in time .*group='COL:day'"):
        evidence_of(replace(rows, group=np.arange(N) % 50), "auto", "time")
    with pytest.raises(InputError, match=r"evidence 'time' lets rows are evaluated .* leave the split out"):
        evidence_of(replace(rows, split=np.full(N, "test")), "auto", "time")
    with pytest.raises(InputError, match="must be 'all', 'test' or 'time'; got 'later'"):
        evidence_of(rows, "auto", "later")
    with pytest.raises(InputError, match=r"the first block of time only teaches, .* it has 80 rows, 0 of them"):
        prepare(replace(rows, correct=np.where(rows.time_block == 0, 0.0, rows.correct)), "time", 0)
    with pytest.raises(InputError, match=r"rows of earlier blocks of time are learned"):
        discover(rows, evidence="time", sample=200)
    with pytest.raises(InputError, match=r"1 of 2 values are missing"):
        check_time(np.array(["2024-01-01", "NaT"], dtype="datetime64[D]"))
    with pytest.raises(InputError, match="must hold dates, or numbers"):
        check_time(["yesterday", "today"])


def test_the_time_is_no_input_and_names_what_is_found():
    rng = np.random.default_rng(0)
    table = {
        "confidence": rng.random(200),
        "correct": np.arange(200) % 2,
        "x": rng.random(200),
        "year": np.arange(200) // 9,
    }
    rows = read_triples(table, time="year")
    assert rows.encoder.columns == ("x",)
    assert "year" in rows.metadata
    assert rows.time.tolist() == table["year"].tolist()
    assert rows.source["columns"]["time"] == "year"
    assert "year" in read_triples(table, time="year", features="x,year").encoder.columns


@pytest.mark.parametrize("spread", [0.01, 0.3, 5.0, 90.0, 3_000.0])
def test_periods_are_few_and_in_the_order_of_time(spread):
    days = np.random.default_rng(0).uniform(0, spread, 2_000)
    dates = np.datetime64("2001-07-01", "s") + (86_400 * days).astype("timedelta64[s]")
    for times in (dates, days):
        period, starts = periods_of(times)
        assert len(np.unique(starts)) <= MOST_PERIODS + 1
        assert (starts <= times).all()
        assert (period is None) == (times is days)
        order = np.argsort(times)
        assert (np.diff(starts[order].astype(np.float64)) >= 0).all()
