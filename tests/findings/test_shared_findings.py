"""Findings over several models: what must hold whatever the data."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, ndtr
from scipy.stats import binomtest

from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.ledger.groups import named_groups
from miscal.findings.ledger.ledger import find
from miscal.findings.model_tests import ModelTests
from miscal.findings.shared_findings import DIFFERING, SHARED, ModelAnswers, find_shared, stack


def study(seed, *, models=4, n=600, latent=0.4, off=lambda model, subject: 0.0, fitted=False):
    """Models that are calibrated, or visibly over-confident, but for a subject in which they are `off`."""
    rng = np.random.default_rng(seed)
    subject = rng.choice(["law", "art", "sums", "physics", "music"], n).astype(object)
    length, hard, common = rng.lognormal(4, 0.5, n).round(), rng.normal(size=n), rng.normal(size=n)
    found = []
    for model in range(models):
        f = expit(0.5 + 0.8 * (hard + rng.normal(size=n)))
        rate = expit(0.6 * logit(f) - 0.4) if model % 2 else f
        chance = np.clip(rate + np.array([off(model, one) for one in subject]), 0.0, 1.0)
        score = np.sqrt(latent) * common + np.sqrt(1 - latent) * rng.normal(size=n)
        y = (ndtr(score) < chance).astype(float)
        expected = expected_outcome(Triples(np.arange(n, dtype=np.float32)[:, None], f, y), seed) if fitted else rate
        columns = {"subject": subject, "length": length}
        found.append(ModelAnswers(f"m{model}", LabelledRows(y, f, expected), np.arange(n), columns))
    return found


def both_planted(model, subject):
    return -0.2 * (subject == "law") + 0.25 * (subject == "music") * (1 if model == 2 else -0.3 * (model == 1))


def asked(models, seed=0):
    together = stack(models)
    own = together.settings()
    groups = named_groups(together.columns, together.text, own)
    return together, groups, ModelTests(together.rows, len(models), seed)


def p_of_difference(models, condition="subject = law"):
    _, groups, tests = asked(models)
    place = groups.descriptions.index(condition)
    return tests.difference(groups.tested.dense(place), groups.rows(place))


def test_the_order_of_models_and_rows_does_not_matter():
    models = study(0, off=both_planted)
    order = np.random.default_rng(1).permutation(600)
    shuffled = [
        replace(one, rows=one.rows.take(order), question=one.question[order],
                columns={name: values[order] for name, values in one.columns.items()})
        for one in reversed(models)
    ]  # fmt: skip
    found = find_shared(models)
    assert {one.kind for one in found} == {SHARED, DIFFERING}
    assert find_shared(shuffled) == found


def test_what_all_show_lies_among_what_each_shows_though_groups_overlap():
    models = study(4, n=1500, off=lambda model, subject: -0.3 * (subject in ("law", "art")) - 0.1 * (subject == "law"))
    for one in models:
        one.columns["field"] = np.where(np.isin(one.columns["subject"], ["law", "art"]), "words", "numbers").astype(
            object
        )
    found = find_shared(models)
    assert len(found) > 1
    for one in found:
        own = [model.effect.value for model in one.models]
        assert min(own) <= one.effect.value <= max(own)
        assert one.beyond.interval is None or np.prod(one.beyond.interval) > 0
    # the second is told beyond the first, which holds most of its rows
    assert abs(found[1].beyond.value) < abs(found[1].effect.value)


def flipped(rows):
    return LabelledRows(1 - rows.correct, 1 - rows.confidence, 1 - rows.expected)


def test_asking_the_opposite_flips_effects_and_keeps_p_values():
    models = study(3, off=both_planted)
    there, back = find_shared(models), find_shared([replace(one, rows=flipped(one.rows)) for one in models])
    assert [one.condition for one in back] == [one.condition for one in there]
    for one, two in zip(there, back, strict=True):
        # ties of confidence are put in another order, and strata are cut from the other end
        assert one.effect.value == pytest.approx(-two.effect.value, abs=0.02)
        assert np.log10(one.p_shared) == pytest.approx(np.log10(two.p_shared), abs=0.5, rel=0.1)
        assert [a.effect.value for a in one.models] == pytest.approx([-b.effect.value for b in two.models], abs=0.04)


def test_of_one_model_it_is_the_plain_ledger():
    (only,) = study(4, models=1, n=1_500, off=lambda model, subject: -0.3 * (subject == "law"))
    together = stack([only])
    own = together.settings()
    ledger = find(together.rows, named_groups(together.columns, None, own), error=0.5, settings=own).findings
    found = find_shared([only])
    assert [one.condition for one in found] == [one.condition for one in ledger]
    assert len(found) > 0
    for one, two in zip(found, ledger, strict=True):
        assert (one.p_shared, one.p_shared_adjusted, one.beyond) == (two.p_value, two.p_adjusted, two.conditional)
        assert one.p_difference is None
    alone = LabelledRows(only.rows.correct, only.rows.confidence, only.rows.expected, row=np.arange(1_500))
    assert find(alone, named_groups(dict(only.columns)), error=0.5).findings[0].condition == found[0].condition


def test_a_model_twice_says_no_more_than_once():
    (one,) = study(5, models=1, off=lambda model, subject: -0.15 * (subject == "law"))
    _, groups, alone = asked([one])
    _, again, twice = asked([one, replace(one, model="copy"), replace(one, model="third")])
    for words in ("subject = law", "subject = art"):
        single = alone.pooled(*column(groups, words))
        triple = twice.pooled(*column(again, words))
        assert triple.value == pytest.approx(single.value, abs=0.01)
        assert triple.p_value >= single.p_value / 1.2
    assert p_of_difference([one, replace(one, model="copy")]) > 0.9


def column(groups, words):
    place = groups.descriptions.index(words)
    return groups.tested.dense(place), groups.rows(place)


def test_what_all_models_share_is_found_where_few_show_it():
    models = study(6, models=8, latent=0.0, off=lambda model, subject: -0.08 * (subject == "law"))
    alone = [
        find(replace(one.rows, hidden=0 * one.rows.correct, row=one.question), named_groups(dict(one.columns)))
        for one in models
    ]
    found = find_shared(models)
    assert found[0].description == "subject = law"
    assert found[0].kind == SHARED
    assert not found[0].differs
    assert found[0].effect.interval[1] < 0
    assert sum(one.effect.value < 0 for one in found[0].models) >= 7
    assert sum(bool(one.findings) for one in alone) <= 2


def test_where_models_differ_the_right_ones_stand_at_the_ends():
    gap = {0: 0.25, 3: -0.3}
    found = find_shared(study(7, off=lambda model, subject: (subject == "law") * gap.get(model, 0.0)))
    one = next(one for one in found if one.description == "subject = law")
    assert one.differs
    ends = sorted(one.models, key=lambda model: model.effect.value)
    assert (ends[0].model, ends[-1].model) == ("m3", "m0")
    for model in one.models:
        low, high = model.effect.interval
        assert low - 0.05 < gap.get(int(model.model[1]), 0.0) < high + 0.05


def test_what_remains_is_no_echo_of_a_group_that_is_far_off():
    found = find_shared(study(12, n=3_000, off=lambda model, subject: (subject == "law") * (-0.2 - 0.3 * (model == 2))))
    assert [one.description for one in found] == ["subject = law"]
    assert found[0].differs


def test_what_a_correction_leaves_is_told_of_each_model():
    models = study(8, off=lambda model, subject: -0.25 * (subject == "law"))
    law = models[0].columns["subject"] == "law"
    mended = []
    for one in models:
        f = np.clip(one.rows.expected - 0.25 * law, 0.0, 1.0)
        mended.append(replace(one, corrected=LabelledRows(one.rows.correct, f, f)))
    found = find_shared(mended)[0]
    assert found.description == "subject = law"
    for model in found.models:
        assert abs(model.after) < 0.1 < abs(model.effect.value)


def test_models_that_answer_other_questions_are_independent():
    models = study(9, models=3)
    apart = [replace(one, question=one.question + 1_000 * place) for place, one in enumerate(models)]
    assert stack(apart).rows.group is None
    assert stack(apart).settings().min_rows == 20
    assert stack(models).settings().min_rows == 60
    assert 0 < p_of_difference(apart) <= 1


def test_columns_of_unlike_kinds_or_of_some_models_alone_name_nothing():
    models = study(11, models=2, n=100)
    mine = {"subject": models[1].columns["subject"], "length": models[1].columns["length"].astype(str).astype(object)}
    assert list(stack([models[0], replace(models[1], columns=mine)]).columns) == ["subject"]
    assert find_shared([models[0], replace(models[1], columns={})]) == ()


@pytest.mark.slow
@pytest.mark.parametrize("latent", [0.0, 0.5])
def test_nothing_is_found_where_nothing_is_hidden(latent):
    draws = 200
    wrong = sum(
        bool(find_shared(study((seed, 3), latent=latent, n=400, fitted=True), seed=seed)) for seed in range(draws)
    )
    assert binomtest(wrong, draws, 0.05, alternative="greater").pvalue > 0.001


@pytest.mark.slow
def test_p_values_of_differences_are_uniform_at_most():
    found = np.array([p_of_difference(study((seed, 4), models=6, n=400, latent=0.6)) for seed in range(400)])
    for level in (0.05, 0.2, 0.5):
        assert binomtest(int((found <= level).sum()), len(found), level, alternative="greater").pvalue > 0.001
        assert (found <= level).mean() > 0.4 * level


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_a_group_whose_outcomes_cannot_vary_is_no_finding(right):
    subject, f = np.repeat(["law", "art"], 100).astype(object), np.random.default_rng(0).random(200)
    y = np.where(subject == "law", right, f > 0.5).astype(float)
    rows = LabelledRows(y, f, np.where(subject == "law", right, 0.5))
    assert find_shared([ModelAnswers(name, rows, np.arange(200), {"subject": subject}) for name in "ab"]) == ()


def test_models_without_rows_or_dates_say_nothing():
    none, dates = np.zeros(0), np.full(60, np.datetime64("NaT", "s"))
    assert find_shared([ModelAnswers("a", LabelledRows(none, none, none), np.zeros(0, int), {"subject": none})]) == ()
    half = np.full(60, 0.5)
    assert find_shared([ModelAnswers("a", LabelledRows(half * 2, half, half), np.arange(60), {"day": dates})]) == ()
