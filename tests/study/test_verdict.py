"""The verdict counts what a plain loop over the rows counts, and Holm's adjustment is its definition."""

import polars as pl
import pytest

from miscal.study.verdict import certificates, method_verdict, sentences, verdicts

from .made_tables import other_pairs, papers_pairs, tables


def holm(values: list[float]) -> list[float]:
    """The definition: the largest of (m - rank + 1) p over all smaller or equal p-values, at most 1."""
    m = len(values)
    ranked = sorted(range(m), key=lambda i: values[i])
    return [min(1.0, max((m - k) * values[j] for k, j in enumerate(ranked[: ranked.index(i) + 1]))) for i in range(m)]


@pytest.mark.parametrize("method", ["paper", "auto"])
def test_counts_are_those_of_a_loop(method):
    pairs = tables(papers_pairs(12), seed=3)["pairs"]
    rows = [row for row in pairs.iter_rows(named=True) if (row["method"], row["geometry"]) == (method, "learned")]
    found = method_verdict(pairs, method)
    assert found.n_tested == found.gaps.n_pairs == len(rows) == 12
    assert found.gaps.n_above_zero == sum(row["gap"] is not None and row["gap"] > 0 for row in rows)
    adjusted = holm([row["p_hidden"] for row in rows])
    assert found.n_proved == sum(value <= 0.05 for value in adjusted)
    assert found.n_proved_alone == sum(row["p_hidden"] <= 0.05 for row in rows)
    assert 0 < found.n_proved < found.n_proved_alone
    assert found.n_helped == sum(row["log_loss_saved_low"] > 0 for row in rows)
    assert found.n_harmed == sum(row["log_loss_saved_high"] < 0 for row in rows)
    by_pair = dict(certificates(pairs, method).select("pair", "p_adjusted").iter_rows())
    assert [by_pair[row["pair"]] for row in rows] == pytest.approx(adjusted)


def test_pairs_without_a_certificate_cost_the_others_nothing():
    pairs = tables(papers_pairs(6))["pairs"]
    fewer = pairs.with_columns(p_hidden=pl.when(pl.col("dataset") == "mmlu").then(None).otherwise(pl.col("p_hidden")))
    assert method_verdict(fewer, "auto").n_tested == 6 - papers_pairs_on(pairs, "mmlu")
    none = pairs.with_columns(p_hidden=pl.lit(None, pl.Float64))
    assert "No pair has a certificate" in " ".join(sentences(method_verdict(none, "auto")))


def papers_pairs_on(pairs: pl.DataFrame, dataset: str) -> int:
    return pairs.filter(pl.col("dataset") == dataset)["pair"].n_unique()


def test_sentences_name_the_counts():
    pairs = tables(other_pairs(5), seed=1)["pairs"]
    for found in verdicts({"pairs": pairs}):
        said = " ".join(sentences(found))
        assert f"In {found.gaps.n_above_zero} of 5 pairs the worst slice" in said
        assert f"For {found.n_proved} of 5 pairs the certificate proves" in said


def test_methods_that_did_not_run_have_no_verdict():
    assert [found.method for found in verdicts(tables(other_pairs(2), methods=("auto",)))] == ["auto"]
    assert verdicts(tables([])) == []
