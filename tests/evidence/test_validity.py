"""The study of validity: its worlds draw what they say, it can fail, and a small one of every statement does not."""

import argparse
import importlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
N = 40_000
KINDS = ("calibrated", "visible", "planted")
WORLDS = (
    "uniform", "bimodal", "saturated", "five values", "101 values", "steep", "non-monotone", "rare", "grouped",
    "drifted", "weighted", "small",
)  # fmt: skip


@pytest.fixture
def script(monkeypatch):
    """Import a script of benchmarks/, which is no package."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


def scores_by_bin(values, f, unit):
    """Normal scores of the means of values of mean 0 over ten bins of equal counts of f; units are independent."""
    place = np.argsort(np.argsort(f, kind="stable")) * 10 // len(f)
    for code in range(10):
        sums = np.bincount(unit, np.where(place == code, values, 0.0))
        # the 1 is for rare outcomes: without it, none where 0.1 were to be expected would be an alarm
        yield sums.sum() / np.sqrt(np.sum(sums**2) + 1)


def test_there_are_twelve_worlds(script):
    assert tuple(script("_validity_worlds").WORLDS) == WORLDS


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world", WORLDS)
def test_a_world_draws_what_it_says(script, world, kind):
    rows = script("_validity_worlds").WORLDS[world](N, kind, np.random.default_rng(1))
    f, unit = rows.confidence, np.arange(N) if rows.group is None else rows.group
    hidden, weight = rows.rate - rows.visible, np.ones(N) if rows.weight is None else rows.weight
    assert ((rows.rate >= 0) & (rows.rate <= 1) & (f >= 0) & (f <= 1)).all()
    # outcomes have the stated rates, and these the stated average at every confidence
    drawn = [*scores_by_bin(rows.correct - rows.rate, f, unit), *scores_by_bin(weight * hidden, f, unit)]
    # the field and the columns know nothing of an outcome but its rate
    drawn += [*scores_by_bin((rows.correct - rows.rate) * np.sign(rows.hidden), f, unit)]
    drawn += [*scores_by_bin((rows.correct - rows.rate) * (rows.codes["side"] > 0), f, unit)]
    assert np.abs(drawn).max() < 4.5
    assert (kind == "planted") == bool(np.any(hidden != 0))
    assert (kind == "calibrated") == bool(np.array_equal(rows.visible, f))
    if kind == "planted":
        assert np.corrcoef(hidden, rows.hidden)[0, 1] > 0.05


def test_groups_hang_together_and_drift_is_drift(script):
    worlds = script("_validity_worlds")
    rows = worlds.grouped(N, "calibrated", np.random.default_rng(2))
    residual = (rows.correct - rows.rate) / np.sqrt(rows.rate * (1 - rows.rate))
    pairs = np.bincount(rows.group, residual) ** 2 - np.bincount(rows.group, residual**2)
    # a little less than at equal confidence
    assert worlds.SHARED - 0.15 < pairs.sum() / (4 * N) < worlds.SHARED
    learned, drifted = (worlds.drifted(N, kind, np.random.default_rng(3)) for kind in ("visible", "planted"))
    assert np.mean(learned.learned[1]) < np.mean(learned.confidence) - 0.1
    # at one confidence, outcomes of the rows learned from are right more often where something is planted
    for rows, more in ((learned, 0.0), (drifted, 0.03)):
        y, f = rows.learned
        assert np.mean(y - worlds.squeezed(f, 0.5)) == pytest.approx(more, abs=0.01)


def study(script, monkeypatch, statements, worlds, draws=200, rows=(100,)):
    """Judge some worlds by some statements; what is above its level."""
    asked, counts, shares = script("_validity_statements"), script("_validity_counts"), script("_shares")
    monkeypatch.setattr(asked, "STATEMENTS", {**asked.STATEMENTS, **statements})
    questions = {
        name: shares.Question(partial(asked.asked_of, name), asked.worlds_of(name), rows, draws, together=25)
        for name in statements or asked.STATEMENTS
    }
    args = argparse.Namespace(rows=None, draws=None, worlds=worlds, first=0, data=None)
    keys = [key for name, one in questions.items() for key in one.keys(args, name)]
    told = list(counts.counts_of([shares.one_record(None, questions, *key) for key in keys], shares.CELL))
    return counts.missed(told, shares.promised), told


def z_test(asked):
    """The normal test and interval of the mean residual, as if all rows were independent."""
    told, residual = importlib.import_module("_validity_counts").Told(), asked.rows.correct - asked.rows.confidence
    error = np.std(residual) / np.sqrt(len(residual))
    told.p_value("z", 2 * norm.sf(abs(residual.mean()) / error), asked.calibrated)
    truth = float(np.mean(asked.rows.rate - asked.rows.confidence))
    told.interval("z: interval", (residual.mean() - 1.96 * error, residual.mean() + 1.96 * error), truth)
    told.interval("one error: interval", (residual.mean() - error, residual.mean() + error), truth)
    return told


def test_the_study_finds_a_test_that_takes_groups_as_independent(script, monkeypatch):
    wrong, _ = study(script, monkeypatch, {"mean": z_test}, ["grouped"])
    assert any(one.startswith("z at 5 % (mean, grouped, calibrated, either, 100") for one in wrong)
    assert any(one.startswith("z: interval at 5 % (mean, grouped, planted, either, 100") for one in wrong)


def test_the_study_finds_a_short_interval_and_no_fault_in_a_good_one(script, monkeypatch):
    wrong, told = study(script, monkeypatch, {"mean": z_test}, ["uniform"])
    assert wrong
    assert {one.split(" at ")[0] for one in wrong} == {"one error: interval"}
    assert {count.made for count in told} == {200}


def test_a_study_that_is_stopped_has_about_as_much_of_each_cell(script):
    shares = script("_shares")
    asked = shares.Question(print, ("rare, planted, all", "rare, planted, test"), (100, 5_000), 1_000, together=25)
    args = argparse.Namespace(rows=None, draws=None, worlds=None, first=0, data=None)
    keys = asked.keys(args, "findings")
    assert len(keys) == len(set(keys)) == 4 * 40
    half = keys[: len(keys) // 2]
    assert {sum(key[1:3] == cell for key in half) for cell in {key[1:3] for key in keys}} == {20}


@pytest.mark.parametrize("world", ["kinds", "stated", "grouped", "drifted"])
def test_tables_of_whole_runs_draw_what_they_say(script, world):
    fits = script("_validity_fits")
    table = fits.Table(world, N, np.random.default_rng(4))
    unit, rows = np.arange(N) if table.group is None else table.group, table.evaluated
    hidden = np.where(rows, table.rate - table.visible, 0.0)
    drawn = [*scores_by_bin(table.y - table.rate, table.f, unit), *scores_by_bin(hidden, table.f, unit)]
    assert np.abs(drawn).max() < 4.5
    assert (world != "grouped") == bool(hidden.any())
    assert rows.mean() == pytest.approx(0.35 if world == "drifted" else 1.0, abs=0.01)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "world", ["saturated", "five values", "101 values", "steep", "rare", "grouped", "drifted", "small"]
)
def test_no_statement_is_wrong_more_often_than_it_says(script, monkeypatch, world):
    wrong, told = study(script, monkeypatch, {}, [world], rows=(100, 300))
    assert len({count.statement for count in told}) >= 20
    assert not wrong


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_whole_runs_are_judged_in_every_part(script):
    fits = script("_validity_fits")
    kinds, grouped = (fits.one_run(world, 300, 0) for world in ("kinds", "grouped"))
    assert {"certificate, hidden: limit", "hidden of hidden under: interval"} <= set(kinds.misses)
    assert {"certificate, total", "certificate, hidden"} <= set(grouped.p_values)
