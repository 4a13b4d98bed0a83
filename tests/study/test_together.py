"""Models side by side: what ranks them adds up, equal ones tie, and what one hides serves those that hide the same."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.metrics.scores import log_loss, log_losses, mean_interval
from miscal.findings.conditions.condition import Frame, read_condition
from miscal.study.pair_result import duel_rows
from miscal.study.plan import StudyPair
from miscal.study.tables import TABLES
from miscal.study.together import (
    COMPARING,
    ModelRows,
    PairedModels,
    measure_group_rankings,
    measure_groups,
    measure_rankings,
    measure_shared,
    measure_transfer_shifts,
    ranked,
)

GROUPS = ("law", "art", "sums", "few")


def model(name, f, y, *, visible=None, corrected=None, question=None, topic=None, group=None):
    """Rows of one model; without corrections the confidence is its own."""
    visible = f if visible is None else visible
    corrected = visible if corrected is None else corrected
    named = {"pair": f"d.{name}", "dataset": "d", "model": name, "method": "auto"}
    return ModelRows(
        named=named,
        rows=LabelledRows.of(y, f, group=group),
        after=LabelledRows.of(y, corrected, group=group),
        columns={} if topic is None else {"topic": topic},
        text=None,
        question=np.arange(len(f)) if question is None else question,
        visible=visible,
        globally_corrected=visible,
        findings={},
    )


def topics(n, rng):
    """Deal questions to topics, one of which has too few."""
    return np.array(GROUPS, object)[rng.choice(4, size=n, p=[0.3, 0.3, 0.38, 0.02])]


def equal_models(seed, n=300, m=4, bias=0.06):
    """Models that are equally good: half of them claim as much too much as the others claim too little."""
    rng = np.random.default_rng(seed)
    hard, topic = rng.normal(size=n), topics(n, rng)
    found = []
    for k in range(m):
        p = expit(hard + rng.normal(size=n))
        f = expit(logit(np.clip(0.25 + 0.5 * p, 0, 1) + (bias if k % 2 else -bias)))
        # right by the middle of the scale, so that both directions cost alike on average over questions
        y = (rng.random(n) < 0.25 + 0.5 * p).astype(float)
        found.append(model(f"m{k}", f, y, visible=0.25 + 0.5 * p, topic=topic))
    return found


def teachers(seed, n=1500, size=1.0, alike=True):
    """Three models with a hidden part: the second has the same as the first, or its own; the third has none."""
    rng = np.random.default_rng(seed)
    topic = topics(n, rng)
    sides = [rng.choice([-1, 1], n) for _ in range(2)]
    found = []
    for k, side in enumerate([sides[0], sides[0] if alike else sides[1], np.zeros(n)]):
        f = rng.uniform(0.2, 0.8, n)
        truth = expit(logit(f) + size * side)
        y = (rng.random(n) < truth).astype(float)
        found.append(model(f"m{k}", f, y, corrected=truth, topic=topic))
    return found


def test_every_row_has_the_columns_of_its_table():
    for way in (measure_groups, *COMPARING):
        for name, rows in way(teachers(0)).items():
            assert all(set(row) == set(TABLES[name]) for row in rows), name


def test_the_three_measures_add_up_to_the_log_loss():
    models = teachers(1)
    rows = measure_rankings(models)["rankings"]
    assert {row["measure"] for row in rows} == set(ranked(models[0]))
    for one in models:
        own = {row["measure"]: row for row in rows if row["pair"] == one.named["pair"]}
        whole = log_losses(one.rows.correct, one.rows.confidence).mean()
        assert sum(row["value"] for row in own.values()) == pytest.approx(whole)
        assert all(row["low"] <= row["value"] <= row["high"] for row in own.values())
    hidden = {row["model"]: row for row in rows if row["measure"] == "hidden_cost"}
    assert (hidden["m2"]["best_rank"], hidden["m2"]["worst_rank"]) == (1, 1)
    assert hidden["m0"]["worst_rank"] == 3
    assert all(row["value"] == 0 for row in rows if row["measure"] == "calibration_cost")


def test_only_questions_that_all_answered_are_compared():
    rng = np.random.default_rng(2)
    f, y = rng.uniform(0.2, 0.8, (2, 400)), rng.integers(0, 2, (2, 400)).astype(float)
    # the second model left out the quarter that went wrong
    easy = np.sort(np.argsort(-y[1], kind="stable")[:300])
    whole, some = model("a", f[0], y[0]), model("b", f[1][easy], y[1][easy], question=easy)
    rows = measure_rankings([whole, some])["rankings"]
    assert {(row["n"], row["common"]) for row in rows} == {(300, True)}
    apart = replace(some, question=easy + 1000)
    rows = measure_rankings([whole, apart])["rankings"]
    assert {(row["n"], row["common"]) for row in rows} == {(400, False), (300, False)}
    value = next(row["value"] for row in rows if row["measure"] == "log_loss_corrected" and row["model"] == "a")
    assert value == pytest.approx(log_losses(y[0], f[0]).mean())


def test_answers_to_one_question_count_as_one():
    rng = np.random.default_rng(3)
    one, other = (model(name, np.full(50, 0.5), rng.integers(0, 2, 50).astype(float)) for name in "ab")
    twice = [
        model(one.named["model"], np.full(100, 0.5), np.tile(one.rows.correct, 2), question=np.tile(one.question, 2))
        for one in (one, other)
    ]
    for name in ranked(one):
        once = PairedModels.of([one, other]).means([ranked(each)[name] for each in (one, other)])
        again = PairedModels.of(twice).means([ranked(each)[name] for each in twice])
        assert all(np.allclose(a, b) for a, b in zip(once, again, strict=True))


def test_groups_name_who_is_ahead_and_leave_out_the_few():
    rng = np.random.default_rng(4)
    models = equal_models(4, n=2000, m=3)
    topic = models[0].columns["topic"]
    law = topic == "law"
    # the first model is right about itself on law alone
    f = models[0].rows.confidence.copy()
    f[law] = models[0].visible[law]
    y = (rng.random(2000) < np.where(law, f, models[0].visible)).astype(float)
    models[0] = model("m0", f, y, visible=models[0].visible, topic=topic)
    models[1:] = [model(one.named["model"], np.full(2000, 0.9), one.rows.correct, topic=topic) for one in models[1:]]
    rows = measure_group_rankings(models)["group_rankings"]
    assert {row["value"] for row in rows} <= set(GROUPS)
    assert all(row["n"] >= 20 for row in rows)
    first = {row["model"]: row for row in rows if row["value"] == "law"}
    assert (first["m0"]["best_rank"], first["m0"]["worst_rank"]) == (1, 1)
    assert first["m1"]["best_rank"] == first["m2"]["best_rank"] == 2


def test_rows_that_all_agree_do_not_prove_an_order():
    topic = np.repeat(["law", "art"], [25, 75]).astype(object)
    one = model("a", np.full(100, 1.0), np.ones(100), topic=topic)
    other = model("b", np.full(100, 0.98), np.ones(100), topic=topic)
    rows = measure_group_rankings([one, other])["group_rankings"]
    assert {(row["best_rank"], row["worst_rank"]) for row in rows} == {(1, 2)}


def test_what_one_model_hides_serves_those_that_hide_the_same():
    rows = {(row["pair_from"], row["pair_to"]): row for row in measure_transfer_shifts(teachers(5))["transfer_shifts"]}
    assert {pair for pair, _ in rows} == {"d.m0", "d.m1"}  # the third has nothing hidden, so that it teaches nothing
    assert rows["d.m0", "d.m1"]["saved_low"] > 0
    assert rows["d.m0", "d.m2"]["saved_high"] < 0
    for row in rows.values():
        assert row["saved"] == pytest.approx(row["log_loss_visible"] - row["log_loss_transferred"])
    # the same hidden part is as good as one's own
    assert rows["d.m0", "d.m1"]["log_loss_transferred"] == pytest.approx(rows["d.m0", "d.m1"]["log_loss_own"])
    apart = measure_transfer_shifts(teachers(5, alike=False))["transfer_shifts"]
    assert all(row["saved_high"] < 0 for row in apart)


def test_several_answers_to_a_question_are_not_matched():
    models = teachers(6)
    twice = [replace(one, question=one.question // 2) for one in models]
    assert measure_transfer_shifts(twice)["transfer_shifts"] == []


@pytest.mark.slow
def test_equal_models_are_told_apart_in_at_most_5_percent():
    draws, told = 300, Counter(groups=0)
    for seed in range(draws):
        models = equal_models(seed)
        rows = measure_rankings(models)["rankings"]
        told.update({row["measure"] for row in rows if row["best_rank"] > 1})
        told["groups"] += any(row["best_rank"] > 1 for row in measure_group_rankings(models)["group_rankings"])
    limit = binom.ppf(0.99, draws, 0.05)
    assert all(times <= limit for times in told.values()), told


def test_numbers_are_cut_alike_for_all_models_though_each_has_other_ones():
    rng = np.random.default_rng(7)
    models = [
        replace(model(name, np.full(400, 0.5), rng.integers(0, 2, 400).astype(float)), columns={"length": length})
        for name, length in (("a", rng.normal(0, 1, 400)), ("b", rng.normal(3, 1, 400)))
    ]
    rows = measure_groups(models)["groups"]
    cells = {(row["model"], row["value"]): row for row in rows}
    ends = {value for _, value in cells}
    assert len(ends) == 10
    assert sum(row["n"] for row in rows) == 800
    # the shortest of all are of the first model, the longest of the second
    assert cells["a", min(ends, key=lambda value: cells.get(("b", value), {"n": 0})["n"])]["n"] >= 75
    assert all(row["bin"] for row in rows)


def test_columns_of_one_model_alone_name_no_groups():
    one, other = teachers(8)[:2]
    own = replace(one, columns=one.columns | {"own": np.repeat(["x", "y"], 750).astype(object)})
    assert {row["column"] for row in measure_groups([own, other])["groups"]} == {"topic"}
    assert {row["column"] for row in measure_groups([own])["groups"]} == {"topic", "own"}


# --- the table of shared findings: its columns, and that it says what the statistics say ---


TYPES = {pl.String: str, pl.Int64: int, pl.Float64: float, pl.Boolean: bool}


def pairs(off, *, n=500, models=4):
    """Calibrated models, right more or less often in a subject by `off` of the model."""
    rng = np.random.default_rng(1)
    subject = rng.choice(["law", "art", "sums", "physics"], n).astype(object)
    found = []
    for k in range(models):
        f = rng.uniform(0.3, 0.9, n)
        chance = np.clip(f + off(k) * (subject == "law"), 0, 1)
        y = (rng.random(n) < chance).astype(float)
        named = {"pair": f"d.m{k}", "dataset": "d", "model": f"m{k}", "method": "auto"}
        rows = LabelledRows(y, f, f)
        after = LabelledRows(y, chance, chance)
        found.append(ModelRows(named, rows, after, {"subject": subject}, None, np.arange(n), chance, chance, {}))
    return found


@pytest.fixture(scope="module")
def table():
    return measure_shared(pairs(lambda model: -0.2 - 0.15 * (model == 2), n=1_500))["shared_findings"]


def test_rows_have_the_columns_of_their_table_in_their_types(table):
    assert table
    for row in table:
        assert set(row) == set(TABLES["shared_findings"])
        for column, kind in TABLES["shared_findings"].items():
            value = row[column]
            assert value is None or type(value) is TYPES[kind], (column, value)
            assert kind != pl.Float64 or value is None or math.isfinite(value)


def test_a_finding_has_a_row_of_every_model_in_the_order_given(table):
    law = [row for row in table if row["finding"] == 1]
    assert [row["model"] for row in law] == ["m0", "m1", "m2", "m3"]
    assert {(row["kind"], row["description"], row["models"]) for row in law} == {("shared", "subject = law", 4)}
    assert sum(row["n_model"] for row in law) == law[0]["n"]
    assert min(law, key=lambda row: row["model_effect"])["model"] == "m2"
    for row in law:
        assert row["model_low"] < row["model_effect"] < row["model_high"] < 0
        # the corrected confidences are the chances that outcomes were drawn from
        assert abs(row["model_after"]) < abs(row["model_effect"]) / 2


def test_the_stored_condition_says_which_rows_it_has(table):
    condition = read_condition(json.loads(table[0]["condition"]))
    columns = pairs(lambda model: 0.0, n=1_500)[0].columns
    assert condition.rows(Frame(1_500, columns)).sum() == table[0]["n_model"]


def test_where_nothing_is_hidden_there_is_no_row():
    assert measure_shared(pairs(lambda model: 0.0)) == {"shared_findings": []}


# --- our method against the paper's on one pair ---


PAIR = StudyPair(pair="mmlu.gpt", dataset="mmlu", model="gpt", data="data.parquet")


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
