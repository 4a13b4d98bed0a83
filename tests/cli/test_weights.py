"""Weights on the command line."""

import re

import numpy as np
import pytest

from .conftest import planted, run

pytestmark = pytest.mark.whole


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    path = tmp_path_factory.mktemp("weighed") / "answers.csv"
    rows = planted(300)
    rows.with_columns(w=np.random.default_rng(1).lognormal(0, 0.6, len(rows))).write_csv(path)
    return path


def test_a_column_that_is_not_there_is_suggested(weighed, tmp_path):
    ended = run("discover", weighed, "--out", tmp_path / "run", "--features", "x_*", "--weight", "ww")
    assert ended.status == 2
    assert "'ww'" in ended.err
    assert "did you mean 'w'" in ended.err


def test_terminal_and_page_say_that_rows_count_unequally(weighed, tmp_path):
    out = tmp_path / "run"
    ended = run(
        "discover", weighed, "--out", out, "--features", "x_*", "--weight", "w", "--map", "pca", "--evidence", "test"
    )
    assert ended.status == 0, ended.err
    assert re.search(r"weighted by +w: means as precise as those of [\d,]+ equal rows", ended.out)
    assert "rows of equal weight" in (out / "report.html").read_text()
