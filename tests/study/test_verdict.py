"""The verdict counts what a plain loop over the rows counts, and Holm's adjustment is its definition."""

import json

import polars as pl
import pytest

from miscal.study import read_plan
from miscal.study.aggregates import certificates, verdict
from miscal.study.plan import StudyPlan
from miscal.study.tables import ANSWERS, plan_content
from miscal.study.verdict import n_planned, summarise

from .made_tables import other_pairs, papers_pairs, tables


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
