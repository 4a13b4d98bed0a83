"""Our method against the paper's on one pair."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from miscal.calibration.metrics.scores import log_loss, mean_interval
from miscal.study.pair_result import duel_rows

from .conftest import named

PAIR = named("mmlu.gpt", "mmlu", "gpt")


def run(correct, corrected, split):
    return SimpleNamespace(table=pl.DataFrame({"correct": correct, "corrected": corrected, "split": split}))


@pytest.fixture
def sides():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.6).astype(int)
    split = np.where(np.arange(300) % 3 == 0, "test", "train").tolist()
    one, two = rng.uniform(0.4, 0.9, 300), rng.uniform(0.1, 0.9, 300)
    return y, one, two, split


def test_losses_are_of_the_evaluation_rows_and_paired(sides):
    y, one, two, split = sides
    test = np.arange(300) % 3 == 0
    [row] = duel_rows(PAIR, run(y, one, split), run(y, two, split), np.arange(300))
    assert (row["pair"], row["dataset"], row["model"], row["n"]) == ("mmlu.gpt", "mmlu", "gpt", 100)
    assert row["log_loss_auto"] == pytest.approx(log_loss(y[test], one[test]))
    assert row["log_loss_paper"] == pytest.approx(log_loss(y[test], two[test]))
    losses = [-np.log(np.where(y == 1, p, 1 - p))[test] for p in (two, one)]
    expected = mean_interval(losses[0] - losses[1])
    assert row["saved"] == pytest.approx(expected.value)
    assert (row["saved_low"], row["saved_high"]) == pytest.approx(expected.interval)
    [turned] = duel_rows(PAIR, run(y, two, split), run(y, one, split), np.arange(300))
    assert turned["saved"] == pytest.approx(-row["saved"])


def test_rows_of_equal_inputs_count_as_one(sides):
    y, one, two, split = sides
    [single] = duel_rows(PAIR, run(y, one, split), run(y, two, split), np.arange(300))
    copies = [[*values, *values] for values in (y, one, two, split)]
    [double] = duel_rows(
        PAIR, run(copies[0], copies[1], copies[3]), run(copies[0], copies[2], copies[3]), np.tile(np.arange(300), 2)
    )
    assert double["n"] == 200
    assert (double["saved_low"], double["saved_high"]) == pytest.approx((single["saved_low"], single["saved_high"]))


def test_all_rows_of_ours_may_be_evaluated_but_none_that_the_paper_learned_from(sides):
    y, one, two, split = sides
    [row] = duel_rows(PAIR, run(y, one, [None] * 300), run(y, two, split), np.arange(300))
    assert row["n"] == 100
    assert duel_rows(PAIR, run(y, one, split), run(y, two, ["train"] * 300), np.arange(300)) == []
