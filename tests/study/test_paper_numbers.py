"""The paper's numbers agree with each other as far as the specification of the study says."""

from collections import Counter
from statistics import fmean, median

import pytest

from miscal.scoring.registry import BASE_MODELS
from miscal.study import paper_numbers as paper
from miscal.study.aggregates import LARGE_GAP


def test_the_counts_of_table_5_are_those_that_the_paper_states():
    high = [pair for pair, gap in paper.GAPS.items() if gap.mean >= LARGE_GAP]
    assert len(paper.GAPS) == len(paper.SIZES) == paper.N_PAIRS == 48
    assert len(high) == paper.N_LARGE_GAP
    assert Counter(dataset for dataset, _ in high) == {"hh-rlhf": 7, "mmlu": 6, "mmlu-pro": 2, "medmcqa": 3}
    assert sum(gap.low > 0 for gap in paper.GAPS.values()) == 29
    means = [gap.mean for gap in paper.GAPS.values()]
    assert fmean(means) == pytest.approx(0.0443, abs=5e-5)
    assert median(means) == pytest.approx(0.039)


def test_dashes_stand_where_no_slice_is_worse():
    assert all(gap.low <= gap.mean <= gap.high for gap in paper.GAPS.values())
    without = [pair for pair, size in paper.SIZES.items() if size is None]
    assert len(without) == 10
    assert all(paper.GAPS[pair].mean <= 0.005 for pair in without)
    assert round(1 - len(without) / paper.N_PAIRS, 2) == pytest.approx(0.79)


def test_sizes_contradict_each_other_as_the_page_says():
    sizes = [size for size in paper.SIZES.values() if size is not None]
    assert sum(size.low == size.high for size in sizes) == 11
    assert sum(not size.low <= size.mean <= size.high for size in sizes) == 5
    high = [paper.SIZES[pair].mean for pair, gap in paper.GAPS.items() if gap.mean >= LARGE_GAP]
    assert fmean(high) == pytest.approx(0.264, abs=5e-4)
    assert median(high) == pytest.approx(0.319, abs=5e-4)
    assert max(high) == 0.483


@pytest.mark.parametrize("table", [paper.NULLS, paper.SEEDS])
def test_audited_pairs_are_the_papers(table):
    assert [row.row for row in table.values()] == [1, 2, 3, 4, 5, 6]
    assert all(paper.paper_pair(*pair) == pair for pair in table)


def test_every_name_of_a_model_leads_to_its_pair():
    assert set(paper.MODELS) == set(BASE_MODELS)
    for name, known in BASE_MODELS.items():
        assert paper.paper_pair("MMLU-Pro", name) == ("mmlu-pro", name)
        assert paper.paper_pair("mmlu-pro", known.hub_id) == ("mmlu-pro", name)
        assert paper.paper_pair("trivia", name) is None
    assert paper.paper_pair("mmlu", "Qwen3-8B-Instruct") is None


PAPERS = {"dataset": "hh-rlhf", "model": "gemma-3-1b", "method": "paper", "evidence": "test", "min_rows": 1}


@pytest.mark.parametrize(("n", "same"), [(91_038, True), (91_038 * 1.04, True), (91_038 * 0.94, False), (None, False)])
def test_a_pair_is_the_papers_only_on_as_many_rows(n, same):
    found = paper.reproduced(PAPERS | {"n": n}, "permutation")
    assert (found is not None) == same
    assert not same or (found.pair, found.note) == (("hh-rlhf", "gemma-3-1b"), "")


@pytest.mark.parametrize("other", [{"method": "auto"}, {"evidence": "all"}, {"min_rows": 30}])
def test_other_settings_than_the_papers_are_named(other):
    found = paper.reproduced(PAPERS | {"n": 91_038} | other, "grouped")
    ((name, value),) = other.items()
    assert f"{name} {value} (paper: {PAPERS[name]})" in found.note
    assert "split grouped (paper: permutation)" in found.note
    assert len(found.differs) == 2
    assert len(paper.reproduced(PAPERS | {"n": 91_038} | other).differs) == 1
