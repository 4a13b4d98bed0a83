"""A judge by the command and from Python: who would approve how often, told on page and terminal."""

import json
import re

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.evidence.judged_rows import JudgedRows, pass_rate

from .conftest import run

pytestmark = pytest.mark.whole


def _table(n: int = 1500) -> pl.DataFrame:
    """The judge passes long answers too often; people have judged a third of the rows."""
    rng = np.random.default_rng(5)
    words, quality = rng.integers(5, 60, n), rng.normal(size=n)
    score = np.clip(np.round(3 + 1.2 * quality + 2.0 * (words > 40)), 1, 5).astype(int)
    would = rng.random(n) < 1 / (1 + np.exp(-1.6 * quality))
    human = np.where(rng.random(n) < 0.35, np.where(would, "approve", "reject"), None)
    answer = ["a " * int(k - 1) + str(row) for row, k in enumerate(words)]
    split = rng.choice(["train", "val", "test"], n, p=[0.45, 0.05, 0.5])
    table = {
        "model": rng.choice(["A", "B"], n),
        "answer": answer,
        "length": words,
        "judge": score,
        "human": human.tolist(),
        "would": would,
    }
    return pl.DataFrame({**table, "split": split})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judges")
    _table().drop("would").write_parquet(folder / "rows.parquet")
    return folder


@pytest.fixture(scope="module")
def discovered(files):
    options = ("--judge", "judge", "--human", "human", "--split", "split", "--map", "pca")
    ended = run("discover", files / "rows.parquet", "--out", files / "run", *options)
    assert ended.status == 0, ended
    return ended


def test_terminal_and_page_tell_of_people_and_judge(discovered, files):
    assert "People would approve" in discovered.out
    # whether the length is told as a part of its range or as a trend depends on how rows are dealt
    assert re.search(r"On rows with (higher )?length,? at", " ".join(discovered.out.split()))
    page = (files / "run" / "report.html").read_text()
    assert 'id="judge"' in page
    assert "over-confident" not in page
    assert "equal confidence" not in page


def test_rates_are_near_what_people_would_say_and_narrower_than_labels_alone(discovered, files):
    judge = json.loads((files / "run" / "summary.json").read_text())["judge"]
    low, high = judge["whole"]["rate"]["interval"]
    table = _table()
    verdicts = np.array([np.nan if one is None else float(one == "approve") for one in table["human"]])
    alone = pass_rate(JudgedRows.of(np.full(len(table), 0.5), verdicts))
    truth = table["would"].mean()
    assert low <= truth <= high
    assert high - low <= 1.02 * (np.ptp(alone.interval))
    assert judge["whole"]["rate"]["n"] == 1500
    lenient = next(one for one in judge["groups"] if one["finding"] is not None)
    assert lenient["judge"]["estimate"] > lenient["rate"]["interval"][1]
    models = [one for one in judge["groups"] if one["column"] == "model"]
    assert {one["value"] for one in models} == {"A", "B"}


def test_python_gives_the_same_numbers(discovered, files):
    frame = _table().drop("would")
    found = miscal.discover(frame, judge="judge", human="human", split="split", n_jobs=1, map="pca", progress=False)
    by_command = miscal.load(files / "run")
    assert found.summary.judge == by_command.summary.judge
    assert found.summary.findings == by_command.summary.findings
    assert found.summary.data.columns.needed == ("judge", "model", "length")


def test_new_scores_are_corrected_in_the_units_of_the_judge(discovered, files):
    new = pl.DataFrame({"judge": [5, 5], "model": ["A", "A"], "length": [10, 55]})
    corrected = miscal.load(files / "run").correct(new)["corrected"].to_list()
    assert max(corrected) < 1
    new.write_csv(files / "new.csv")
    ended = run("calibrate", files / "run", files / "new.csv", "--out", files / "out.csv")
    assert ended.status == 0, ended
    assert pl.read_csv(files / "out.csv")["corrected"].to_list() == pytest.approx(corrected)


def test_rows_that_nobody_judged_are_left_out_of_a_look(discovered, files):
    _table(300).drop("would").write_parquet(files / "later.parquet")
    ended = run("monitor", files / "run", files / "later.parquet", "--out", files / "monitor")
    assert ended.status in (0, 3), ended
    assert "rows without outcome, group or id were left out" in ended.out


def test_a_scale_needs_a_split_that_is_named(files):
    options = ("--judge", "judge", "--human", "human", "--evidence", "test", "--features", "model")
    ended = run("discover", files / "rows.parquet", "--out", files / "other", *options)
    assert ended.status == 2
    assert "name the test rows (--split COL)" in ended.err
