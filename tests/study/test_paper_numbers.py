"""The paper's numbers agree with each other as far as the specification of the study says."""

from collections import Counter
from inspect import signature

import polars as pl
import pytest

from miscal.estimators.paper.field import PaperField
from miscal.scoring.model_source import BASE_MODELS
from miscal.study import paper
from miscal.study.aggregates import LARGE_GAP
from miscal.study.paper import DATASET_ROWS
from miscal.study.plan import AuditPlan, PairSettings, ScoreOptions, StudyPair, StudyPlan
from miscal.study.plan_file import read_plan
from miscal.study.verdict import LEFT_OPEN, differing


def test_the_counts_of_table_5_are_those_that_the_paper_states():
    high = paper.GAPS.filter(pl.col("gap") >= LARGE_GAP)
    assert paper.GAPS.height == paper.N_PAIRS == 48
    assert high.height == paper.N_LARGE_GAP
    assert Counter(high["dataset"]) == {"hh-rlhf": 7, "mmlu": 6, "mmlu-pro": 2, "medmcqa": 3}
    assert (paper.GAPS["gap_low"] > 0).sum() == 29
    assert paper.GAPS["gap"].mean() == pytest.approx(0.0443, abs=5e-5)
    assert paper.GAPS["gap"].median() == pytest.approx(0.039)


def test_dashes_stand_where_no_slice_is_worse():
    ends = paper.GAPS.select(pl.col("gap").is_between("gap_low", "gap_high"))["gap"]
    without = paper.GAPS.filter(pl.col("share_worst").is_null())
    assert ends.all()
    assert without.height == 10
    assert (without["gap"] <= 0.005).all()
    assert round(1 - without.height / paper.N_PAIRS, 2) == pytest.approx(0.79)


def test_sizes_contradict_each_other_as_the_page_says():
    sizes = paper.GAPS.drop_nulls("share_worst")
    assert (sizes["share_low"] == sizes["share_high"]).sum() == 11
    assert sizes.filter(~pl.col("share_worst").is_between("share_low", "share_high")).height == 5
    high = sizes.filter(pl.col("gap") >= LARGE_GAP)["share_worst"]
    assert (high.mean(), high.median()) == pytest.approx((0.264, 0.319), abs=5e-4)
    assert high.max() == 0.483


@pytest.mark.parametrize("table", [paper.NULLS, paper.SEEDS])
def test_audited_pairs_are_the_papers(table):
    assert table.height == 6
    assert all(paper.paper_pair(*pair) == pair for pair in table.select("dataset", "model").rows())


def test_every_name_of_a_model_leads_to_its_pair():
    assert set(paper.MODELS) == set(BASE_MODELS)
    for name, known in BASE_MODELS.items():
        assert paper.paper_pair("MMLU-Pro", name) == ("mmlu-pro", name)
        assert paper.paper_pair("mmlu-pro", known.hub_id) == ("mmlu-pro", name)
        assert paper.paper_pair("trivia", name) is None
    assert paper.paper_pair("mmlu", "Qwen3-8B-Instruct") is None


PLAN = read_plan("paper48")


def kept(plan):
    """A plan as the folder of a study keeps it."""
    return plan.model_dump(mode="json")


PAPERS = {
    "pair": "hh-rlhf.gemma-3-1b", "dataset": "hh-rlhf", "model": "gemma-3-1b", "n": 91_038,
    "method": "paper", "evidence": "test", "epsilon": 0.05, "min_rows": 1,
}  # fmt: skip
OTHER_PAIRS = PAPERS | {"pair": "trivia.gemma-3-1b", "dataset": "trivia"}


@pytest.mark.parametrize(("n", "same"), [(91_038, True), (91_038 * 1.04, True), (91_038 * 0.94, False), (None, False)])
def test_a_pair_is_the_papers_only_on_as_many_rows(n, same):
    assert paper.reproduced(PAPERS | {"n": n}) == (("hh-rlhf", "gemma-3-1b") if same else None)


def test_the_papers_plan_differs_from_the_paper_in_nothing():
    rows = [PAPERS | {"pair": one.pair, "dataset": one.dataset, "model": one.model} for one in PLAN.pairs]
    rows = [row | {"n": DATASET_ROWS[row["dataset"]]} for row in rows]
    assert [differing(row, kept(PLAN)) for row in rows] == [()] * paper.N_PAIRS
    assert differing(PAPERS) == ()


OPTIONS = [name for name in signature(PaperField).parameters if name not in ("random_state", "n_jobs", "device")]
KEYS = [
    *StudyPair.model_fields.keys() - {"score", "options"},
    *StudyPlan.model_fields.keys() - {"pairs", "score", "audit", *PairSettings.model_fields},
    *(f"score.{name}" for name in ScoreOptions.model_fields),
    *(f"audit.{name}" for name in AuditPlan.model_fields),
    *(f"options.{name}" for name in OPTIONS),
]
"""Every key of a plan, and every option of the paper's estimator: a new one is compared unless it is left open."""


def changed(key):
    """The paper's plan with another value of one setting of the pair, whatever it is."""
    head, _, name = key.partition(".")
    place = next(i for i, one in enumerate(PLAN.pairs) if one.pair == PAPERS["pair"])
    pair, whole = PLAN.pairs[place], {}
    if head == "audit":
        whole = {"audit": PLAN.audit.model_copy(update={name: "another"})}
    elif head == "score":
        pair = pair.model_copy(update={"score": pair.score.model_copy(update={name: "another"})})
    elif head == "options":
        pair = pair.model_copy(update={"options": {name: "another"}})
    elif head in StudyPair.model_fields:
        pair = pair.model_copy(update={head: "another"} if head != "pair" else {})
    else:
        whole = {head: "another"}
    pairs = [*PLAN.pairs[:place], pair, *PLAN.pairs[place + 1 :]]
    return PLAN.model_copy(update={"pairs": pairs, **whole})


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("key", sorted(KEYS))
def test_any_other_setting_than_the_papers_is_named(key):
    row = PAPERS | ({key: "another"} if key in PAPERS and key not in LEFT_OPEN else {})
    found = differing(row, kept(changed(key)))
    assert [one.split(" (paper: ")[0] for one in found] == ([] if key in LEFT_OPEN else [f"{key} another"])


def test_what_is_left_open_and_the_options_are_keys_of_a_plan():
    assert set(KEYS) >= LEFT_OPEN
    defaults = {name: one.default for name, one in signature(PaperField).parameters.items() if name in OPTIONS}
    assert ["sigmas", "lambdas", *paper.OPTIONS] == OPTIONS
    assert {name: defaults[name] for name in paper.OPTIONS} == paper.OPTIONS


def test_of_another_pair_only_what_speaks_of_no_data_is_compared():
    found = differing(OTHER_PAIRS | {"epsilon": 0.3}, kept(PLAN) | {"split": "grouped"})
    assert found == ("epsilon 0.3 (paper: 0.05)",)
    pair = {"dataset": "trivia", "model": "gemma-3-1b", "data": "x.csv", "features": "x_*", "where": "a > 1"}
    plan = read_plan({"pairs": [pair | {"options": {"sigmas": [0.3], "patience": 20}}]})
    assert differing(OTHER_PAIRS, kept(plan)) == (
        "split grouped (paper: permutation)", "options.sigmas [0.3] (paper: not stated)",
    )  # fmt: skip
