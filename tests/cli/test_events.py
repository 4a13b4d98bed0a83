"""Risks from the first command to the last: nothing that is told of them has a word about answers."""

import json
import re

import numpy as np
import polars as pl
import pytest

from ..answer_words import told, words_of_answers
from .conftest import planted, run

pytestmark = pytest.mark.whole


def risks(n=600, seed=0, rate=0.03):
    """Predicted risks of a few per cent that are half of what they should be in ward A."""
    rng = np.random.default_rng(seed)
    ward = rng.choice(["A", "B", "C"], n)
    risk = rate * rng.gamma(2.0, 0.5, n)
    happened = rng.random(n) < np.minimum(risk * np.where(ward == "A", 8.0, 0.6), 0.95)
    status = np.where(happened, "infected", "well")
    return pl.DataFrame({"age": rng.normal(60, 10, n).round(1), "ward": ward, "risk": risk, "status": status})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("risks")
    risks().write_csv(folder / "risks.csv")
    risks(200, seed=1).write_csv(folder / "later.csv")
    return folder


@pytest.fixture(scope="module")
def discovered(files):
    options = ("--event", "status", "--positive", "infected", "--metadata", "ward", "--map", "pca")
    ended = run("discover", files / "risks.csv", "--out", files / "run", *options)
    assert ended.status == 0, ended.err
    return ended


def test_page_and_terminal_speak_of_events(discovered, files):
    page = told((files / "run" / "report.html").read_text())
    assert words_of_answers(page) == []
    assert words_of_answers(discovered.out) == []
    assert "event rate" in page
    assert "predicted risk" in page
    assert "observed / expected" in page


def test_the_run_remembers_what_it_is_of(discovered, files):
    summary = json.loads((files / "run" / "summary.json").read_text())
    assert summary["kind"] == "event"
    columns = summary["data"]["columns"]
    assert [columns[part] for part in ("confidence", "correct", "positive")] == ["risk", "status", "infected"]
    mean = summary["global"]["confidence"]["value"]
    assert summary["settings"]["epsilon"] == pytest.approx(min(0.05, mean / 2), rel=0.05)
    assert any("'risk' was taken as probability" in one for one in summary["warnings"])


def test_no_rate_that_is_not_zero_reads_as_zero(discovered, files):
    # axes begin at zero, and below a threshold there may be no event at all
    apart = r'<svg.*?</svg>|<span class="ends">.*?</th>|<section id="decisions".*?</section>'
    page = re.sub(apart, " ", (files / "run" / "report.html").read_text(), flags=re.DOTALL)
    said = re.sub(r"\s+", " ", told(page) + discovered.out)
    zeros = [said[max(0, one.start() - 60) : one.end() + 20] for one in re.finditer(r"(?<![\d.,])0(\.0+)?\s?%", said)]
    # a regime in which nothing happened may say so
    summary = json.loads((files / "run" / "summary.json").read_text())
    regimes = [one for name in ("regimes", "hidden_regimes") for one in summary[name]]
    without = [f" {one['n']} " for one in regimes if one["n"] and one["accuracy"] == 0]
    assert [text for text in zeros if not any(rows in text for rows in without)] == []


def test_commands_on_the_run_speak_of_events_too(discovered, files):
    shown = run("show", files / "run", "--by", "ward")
    assert shown.status == 0, shown.err
    assert words_of_answers(shown.out) == []
    corrected = run("calibrate", files / "run", files / "later.csv", "--out", files / "corrected.csv")
    assert corrected.status == 0, corrected.err
    assert words_of_answers(corrected.out) == []
    looked = run("monitor", files / "run", files / "later.csv")
    assert looked.status in (0, 3), looked.err
    # a question is answered, or not
    assert words_of_answers(looked.out) == []
    page = told((files / "run" / "monitor" / "monitor.html").read_text())
    assert words_of_answers(page) == []


def test_a_comparison_of_two_models_of_an_event_speaks_of_events(discovered, files):
    newer = risks().with_columns(risk=pl.col("risk") * pl.when(pl.col("ward") == "A").then(8.0).otherwise(0.6))
    newer.with_columns(pl.col("risk").clip(0, 0.95)).write_csv(files / "newer.csv")
    options = ("--event", "status", "--positive", "infected", "--metadata", "ward", "--map", "pca")
    assert run("discover", files / "newer.csv", "--out", files / "newer", *options).status == 0
    compared = run("compare", files / "run", files / "newer", "--out", files / "two")
    assert compared.status == 0, compared.err
    page = told((files / "two" / "compare.html").read_text())
    assert words_of_answers(compared.out + page) == []
    assert "event rate" in page
    # both are of the same patients, whose risks are those of the files
    pair = json.loads((files / "two" / "compare.json").read_text())
    assert pair["measures"]["accuracy"]["difference"]["value"] == 0
    means = [pair["measures"]["confidence"][side]["value"] for side in ("a", "b")]
    assert means == pytest.approx([pl.read_csv(files / f"{name}.csv")["risk"].mean() for name in ("risks", "newer")])


def test_an_audit_of_an_event_cuts_where_its_rate_asks_for(discovered, files):
    checked = run("audit", files / "run", "--draws", "1", "--seeds", "2")
    assert checked.status == 0, checked.err
    assert words_of_answers(checked.out) == []
    found = json.loads((files / "run" / "audit.json").read_text())
    assert words_of_answers(found["null_question"]) == []
    epsilon = json.loads((files / "run" / "summary.json").read_text())["settings"]["epsilon"]
    cut = [one["epsilon"] for one in found["thresholds"]]
    assert cut == pytest.approx([epsilon * one for one in (0.2, 1, 2, 3)], rel=0.05)
    assert max(one["share_over"] + one["share_under"] for one in found["thresholds"]) > 0


def test_kinds_do_not_mix(discovered, finished, files):
    compared = run("compare", files / "run", finished[1], "--out", files / "compared")
    assert compared.status == 2
    assert "runs must be of one kind of probability" in compared.err
    named = run("calibrate", files / "run", files / "later.csv", "--out", files / "n.csv", "--confidence", "risk")
    assert named.status == 2
    assert "these are rows of an event" in named.err
    planted().write_csv(files / "answers.csv")
    both = run("discover", files / "answers.csv", "--out", files / "both", "--confidence", "x_0", "--event", "correct")
    assert (both.status, both.err.count("\n")) == (2, 1)
    assert "do not mix" in both.err
