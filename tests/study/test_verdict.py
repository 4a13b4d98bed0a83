"""The verdict counts what a plain loop over the rows counts, and Holm's adjustment is its definition."""

import json
from collections import Counter
from inspect import signature
from itertools import product

import polars as pl
import pytest

from miscal.estimators.paper.field import PaperField
from miscal.scoring.model_source import BASE_MODELS
from miscal.study import paper
from miscal.study.aggregates import LARGE_GAP, certificates, verdict
from miscal.study.pages import write_pages
from miscal.study.paper import DATASET_ROWS
from miscal.study.plan import AuditPlan, PairSettings, ScoreOptions, StudyPair, StudyPlan
from miscal.study.plan_file import read_plan
from miscal.study.tables import ANSWERS, EVENTS, plan_content
from miscal.study.verdict import LEFT_OPEN, differing, headline_of, n_planned, study_lines, summarise

from ..report.read_page import check_lines, check_terminal
from .conftest import save
from .made_tables import frames, other_pairs, papers_pairs, tables
from .test_board import made


def holm(values: list[float]) -> list[float]:
    """The definition: the largest of (m - rank + 1) p over all smaller or equal p-values, at most 1."""
    m = len(values)
    ranked = sorted(range(m), key=lambda i: values[i])
    return [min(1.0, max((m - k) * values[j] for k, j in enumerate(ranked[: ranked.index(i) + 1]))) for i in range(m)]


def verdict_of(pairs, method, n_planned=None):
    return verdict(pairs, method, n_planned).row(0, named=True)


@pytest.mark.parametrize("method", ["paper", "auto"])
def test_counts_are_those_of_a_loop(method):
    pairs = tables(papers_pairs(12), seed=3)["pairs"]
    rows = [row for row in pairs.iter_rows(named=True) if (row["method"], row["geometry"]) == (method, "learned")]
    found = verdict_of(pairs, method)
    assert found["n_tested"] == found["n_pairs"] == len(rows) == 12
    adjusted = holm([row["p_hidden"] for row in rows])
    assert found["n_proved"] == sum(value <= 0.05 for value in adjusted)
    assert found["n_proved_alone"] == sum(row["p_hidden"] <= 0.05 for row in rows)
    assert 0 < found["n_proved"] < found["n_proved_alone"]
    assert found["n_helped"] == sum(row["log_loss_saved_low"] > 0 for row in rows)
    assert found["n_harmed"] == sum(row["log_loss_saved_high"] < 0 for row in rows)
    assert found["n_compared_local"] == 12
    assert found["n_helped_local"] == sum(row["log_loss_saved_local_low"] > 0 for row in rows) < found["n_helped"]
    assert found["n_harmed_local"] == sum(row["log_loss_saved_local_high"] < 0 for row in rows)
    by_pair = dict(certificates(pairs, method).select("pair", "p_adjusted").iter_rows())
    assert [by_pair[row["pair"]] for row in rows] == pytest.approx(adjusted)


def test_a_limit_of_zero_does_not_deny_what_the_p_value_proves():
    pairs = tables(papers_pairs(6))["pairs"].with_columns(p_hidden=pl.lit(1e-6), limit_hidden=pl.lit(0.0))
    found = verdict_of(pairs, "auto")
    assert found["n_proved"] == found["n_proved_alone"] == found["n_tested"] == 6


def test_pairs_without_a_certificate_cost_the_others_nothing():
    pairs = tables(papers_pairs(6))["pairs"]
    fewer = pairs.with_columns(p_hidden=pl.when(pl.col("dataset") == "mmlu").then(None).otherwise(pl.col("p_hidden")))
    assert verdict_of(fewer, "auto")["n_tested"] == 6 - papers_pairs_on(pairs, "mmlu")


def test_an_unfinished_study_adjusts_for_all_planned_pairs():
    pairs = tables(papers_pairs(12), seed=3)["pairs"]
    rows = [row for row in pairs.iter_rows(named=True) if (row["method"], row["geometry"]) == ("auto", "learned")]
    finished = pairs.filter(pl.col("pair").is_in([row["pair"] for row in rows[:5]]))
    found = verdict_of(finished, "auto", 12)
    adjusted = holm([row["p_hidden"] for row in rows[:5]] + [1.0] * 7)[:5]
    assert (found["n_tested"], found["n_family"]) == (5, 12)
    assert found["n_proved"] == sum(value <= 0.05 for value in adjusted)
    by_pair = dict(certificates(finished, "auto", 12).select("pair", "p_adjusted").iter_rows())
    assert [by_pair[row["pair"]] for row in rows[:5]] == pytest.approx(adjusted)
    # what the unfinished study proves stays proved if the others are finished with any p-values
    whole = dict(certificates(pairs, "auto", 12).select("pair", "p_adjusted").iter_rows())
    assert all(whole[pair] <= value for pair, value in by_pair.items())


def test_planned_pairs_are_counted_by_method(tmp_path):
    assert plan_content(tmp_path) == {"pairs": [], "by": "model"}
    assert n_planned(plan_content(tmp_path), "auto") is None
    pairs = [{"method": method} for method in ("both", "paper", "both", "auto", "auto")]
    (tmp_path / "plan.json").write_text(json.dumps({"pairs": pairs}))
    assert [n_planned(plan_content(tmp_path), method) for method in ("paper", "auto")] == [3, 4]
    (tmp_path / "plan.json").write_text(read_plan("paper48").model_dump_json())
    assert StudyPlan.model_validate_json(json.dumps(plan_content(tmp_path))) == read_plan("paper48")


def papers_pairs_on(pairs: pl.DataFrame, dataset: str) -> int:
    return pairs.filter(pl.col("dataset") == dataset)["pair"].n_unique()


def test_methods_that_did_not_run_have_no_verdict():
    assert list(summarise(tables(other_pairs(2), methods=("auto",)), ANSWERS)["methods"]) == ["auto"]
    assert summarise(tables([]), ANSWERS)["methods"] == {}


# --- the three lines of a study: short, of its tables alone, and never against them ---


RANKS = {
    "ahead": ((1, 1), (2, 3), (2, 3)),
    "tie of two": ((1, 2), (1, 2), (3, 3)),
    "tie of all": ((1, 3), (1, 3), (1, 3)),
    "first": ((1, 2), (2, 3), (2, 3)),
}
SAVED = {"helps": (0.05, 0.15), "no gain": (-0.05, 0.15), "harms": (-0.15, -0.05), "unknown": (None, None)}
LONG = "a model with a very long name of many words"


def board(ranks=None, saved="helps", shared=True, name="a"):
    """Tables of three models, the first of which has this name."""
    low, high = SAVED[saved]
    found = made()
    pairs = found["pairs"].with_columns(
        log_loss_saved_low=pl.lit(low, pl.Float64), log_loss_saved_high=pl.lit(high, pl.Float64)
    )
    found |= {"pairs": pairs} | (
        {} if shared else frames({}) | {one: found[one] for one in ("board", "groups")} | {"pairs": pairs}
    )
    if ranks is not None:
        rows = [
            {"pair": f"d.{model}", "dataset": "d", "model": model, "method": "auto", "measure": "log_loss_corrected",
             "n": 500, "common": True, "value": 0.01 * k, "low": 0.0, "high": 0.02 * k, "best_rank": best,
             "worst_rank": worst}
            for k, (model, (best, worst)) in enumerate(zip("abc", RANKS[ranks], strict=True), start=1)
        ]  # fmt: skip
        found |= {"rankings": frames({"rankings": rows})["rankings"]}
    renamed = pl.col("model").replace("a", name)
    return {key: one.with_columns(renamed) if "model" in one.columns else one for key, one in found.items()}


@pytest.mark.parametrize("words", [ANSWERS, EVENTS, ANSWERS | {"model": "origin", "models": "origins"}])
def test_lines_are_short_and_of_one_mind_in_every_state(words):
    for ranks, saved, shared, name, planned in product((None, *RANKS), SAVED, (True, False), ("a", LONG), (3, 40)):
        found = board(ranks, saved, shared, name)
        lines = headline_of(found, words, planned)
        check_lines(lines)
        assert lines.headline.startswith("Take ") == (ranks == "ahead")
        assert lines.headline.startswith(f"No {words['model']} ") == (ranks not in (None, "ahead"))
        assert lines.reason.startswith("They fail together") == shared
        assert ("Use the correction of all pairs" in lines.action) == (saved == "helps")
        assert ("Leave them uncorrected" in lines.action) == (saved in ("no gain", "harms"))
        assert ("Not finished" in lines.action) == (planned == 40)
        check_terminal(study_lines(found, words, lines))


@pytest.mark.parametrize(("common", "taken"), [(True, True), (False, False)])
def test_a_model_is_taken_only_where_all_answered_the_same(common, taken):
    found = board("ahead")
    found["rankings"] = found["rankings"].with_columns(common=pl.lit(common))
    said = headline_of(found, ANSWERS, 3).headline
    assert said.startswith("Take a:") is taken
    assert "a" in said.replace(":", " ").rstrip(".").split()


def test_of_several_data_sets_it_is_said_on_how_many_one_is_ahead():
    rows = [
        {"pair": f"{dataset}.{model}", "dataset": dataset, "model": model, "method": "auto", "n": 500, "common": True,
         "measure": "log_loss_corrected", "value": 0.4, "low": 0.3, "high": 0.5, "best_rank": best, "worst_rank": worst}
        for dataset, ranks in {"d": (1, 1), "e": (1, 1), "f": (1, 2)}.items()
        for model, (best, worst) in {"a": ranks, "b": (2 if ranks == (1, 1) else 1, 2)}.items()
    ]  # fmt: skip
    found = board() | {"rankings": frames({"rankings": rows})["rankings"]}
    assert headline_of(found, ANSWERS, 3).headline.startswith("Take a on 2 of 3 data sets:")


@pytest.mark.parametrize(
    "pairs", [[], other_pairs(1), other_pairs(2), other_pairs(9), other_pairs(40), papers_pairs(12)]
)
def test_any_study_has_three_lines_and_thirty_on_the_terminal(pairs):
    found = tables(pairs)
    lines = headline_of(found, ANSWERS, len(pairs))
    check_lines(lines)
    check_terminal(study_lines(found, ANSWERS, lines))


def test_the_page_and_the_summary_say_the_same_lines(tmp_path):
    write_pages(save(tmp_path, board("ahead")))
    said = json.loads((tmp_path / "summary.json").read_text())["answer"]
    page = (tmp_path / "index.html").read_text()
    assert said["headline"] in page
    assert page.index(said["headline"]) < page.index(said["reason"]) < page.index('class="bars"')


# --- the paper's numbers agree with each other as far as the specification of the study says ---


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
