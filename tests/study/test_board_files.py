"""The board to hand on says what the tables hold, of every pair, and no name becomes markup."""

import re

import polars as pl
import pytest

from miscal.base.errors import FileError
from miscal.study.pages import CSV, MOST_MODELS, write_board

from .conftest import save
from .made_tables import HOSTILE, frames, other_pairs, tables
from .test_board import cell, made


@pytest.fixture(scope="module")
def known():
    return tables(other_pairs(6), seed=4)


def test_every_pair_has_a_line_with_its_measures_and_ranks(tmp_path, known):
    write_board(save(tmp_path, known))
    lines = pl.read_csv(tmp_path / CSV)
    pairs = known["pairs"].filter(method="auto", geometry="learned")
    assert lines["pair"].to_list() == pairs["pair"].to_list()
    assert lines["log_loss"].to_list() == pairs["log_loss"].to_list()
    for name in ("calibration_cost", "hidden_cost", "log_loss_corrected"):
        own = known["rankings"].filter(method="auto", measure=name).sort("pair")
        assert lines.sort("pair")[name].to_list() == own["value"].to_list()
        assert lines.sort("pair")[f"{name}_worst_rank"].to_list() == own["worst_rank"].to_list()


def test_every_measure_has_a_table_of_all_ranks(tmp_path, known):
    page = write_board(save(tmp_path, known)).read_text()
    rows = known["rankings"].filter(method="auto")
    assert len(re.findall(r"^\| \d+(?:\u2013\d+)? \|", page, re.MULTILINE)) == rows.height
    assert page.startswith("# 3 models on 2 data sets\n\n**")


def test_marks_stand_in_the_matrix_and_many_models_are_counted(tmp_path):
    page = write_board(save(tmp_path / "few", made())).read_text()
    assert r"| topic = law ◆ | −20\* | −15\* | −10 |" in page
    many = [cell(f"m{k:02}", "law", -0.2, 1e-9) for k in range(MOST_MODELS + 1)]
    page = write_board(save(tmp_path / "many", made(groups=many))).read_text()
    assert f"| topic = law ◆ | {MOST_MODELS + 1} | 0 | {MOST_MODELS + 1} |" in page


def test_hostile_names_are_texts(tmp_path):
    pairs = [{**pair, "model": f"{i}{HOSTILE}", "dataset": f"=1+1{HOSTILE}"} for i, pair in enumerate(other_pairs(3))]
    write_board(save(tmp_path, tables(pairs)))
    page = (tmp_path / "board.md").read_text()
    assert not re.search(r"(?<!\\)<(?!!--)", page)
    assert "\n=1+1" not in (tmp_path / CSV).read_text()


def test_a_study_of_nothing_has_a_board(tmp_path):
    assert write_board(save(tmp_path, frames({}))).read_text() == "# No pair is finished yet\n"
    assert pl.read_csv(tmp_path / CSV).height == 0
    with pytest.raises(FileError, match="no tables of a study"):
        write_board(tmp_path / "elsewhere")
