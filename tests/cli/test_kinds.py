"""Risks, several classes, judges and weights by the command and from Python: the same numbers, in their own words."""

import json
import re

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.discovery.answer import words_of
from miscal.evidence.judged_rows import JudgedRows, pass_rate

from ..answer_words import told, words_of_answers
from .conftest import done, planted, run

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
    ended = done("discover", files / "risks.csv", "--out", files / "run", *options)
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
    shown = done("show", files / "run", "--by", "ward")
    assert words_of_answers(shown.out) == []
    corrected = done("calibrate", files / "run", files / "later.csv", "--out", files / "corrected.csv")
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
    done("discover", files / "newer.csv", "--out", files / "newer", *options)
    compared = done("compare", files / "run", files / "newer", "--out", files / "two")
    page = told((files / "two" / "compare.html").read_text())
    assert words_of_answers(compared.out + page) == []
    assert "event rate" in page
    # both are of the same patients, whose risks are those of the files
    pair = json.loads((files / "two" / "compare.json").read_text())
    assert pair["measures"]["accuracy"]["difference"]["value"] == 0
    means = [pair["measures"]["confidence"][side]["value"] for side in ("a", "b")]
    assert means == pytest.approx([pl.read_csv(files / f"{name}.csv")["risk"].mean() for name in ("risks", "newer")])


def test_an_audit_of_an_event_cuts_where_its_rate_asks_for(discovered, files):
    checked = done("audit", files / "run", "--draws", "1", "--seeds", "2")
    assert words_of_answers(checked.out) == []
    found = json.loads((files / "run" / "audit.json").read_text())
    assert words_of_answers(found["null_question"]) == []
    epsilon = json.loads((files / "run" / "summary.json").read_text())["settings"]["epsilon"]
    cut = [one["epsilon"] for one in found["thresholds"]]
    assert cut == pytest.approx([epsilon * one for one in (0.2, 1, 2, 3)], rel=0.05)
    assert max(one["share_over"] + one["share_under"] for one in found["thresholds"]) > 0


def test_kinds_do_not_mix(discovered, finished, files):
    compared = run("compare", files / "run", finished[1], "--out", files / "compared")
    compared.refuses("runs must be of one kind of probability")
    named = run("calibrate", files / "run", files / "later.csv", "--out", files / "n.csv", "--confidence", "risk")
    named.refuses("these are rows of an event")
    planted().write_csv(files / "answers.csv")
    both = run("discover", files / "answers.csv", "--out", files / "both", "--confidence", "x_0", "--event", "correct")
    both.refuses("do not mix")


ANIMALS = ("cat", "dog", "owl")
BY_CLASSES = {"probabilities": "p_*", "label": "kind", "features": "size,place", "evidence": "test"}


def of_classes(n: int = 400) -> pl.DataFrame:
    """In the south, the owl is the label far more often than the model says."""
    rng = np.random.default_rng(3)
    p, place = rng.dirichlet([1.0, 1.0, 1.0], n), rng.choice(["north", "south"], n)
    truth = p * np.where(place == "south", [[1.0], [1.0], [9.0]], 1.0).T
    code = ((truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    columns = {f"p_{name}": p[:, k] for k, name in enumerate(ANIMALS)}
    return pl.DataFrame({**columns, "kind": np.array(ANIMALS)[code], "size": rng.normal(size=n), "place": place})


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    of_classes().write_parquet(folder / "rows.parquet")
    return folder


@pytest.fixture(scope="module")
def classes_found(classes):
    options = [part for name, value in BY_CLASSES.items() for part in (f"--{name}", value)]
    ended = done("discover", classes / "rows.parquet", "--out", classes / "run", *options)
    return ended


def test_terminal_and_page_tell_of_classes(classes_found, classes):
    assert "place = south" in classes_found.out
    assert 'id="classes"' in (classes / "run" / "report.html").read_text()


def test_python_on_a_frame_of_any_index_gives_the_same_numbers(classes_found, classes):
    frame = of_classes().to_pandas()
    frame.index = np.random.default_rng(0).integers(0, 50, len(frame))
    found = miscal.discover(frame, **BY_CLASSES, n_jobs=1, progress=False)
    by_command = miscal.load(classes / "run")
    assert found.summary.classes == by_command.summary.classes
    assert found.summary.findings == by_command.summary.findings
    assert found.class_findings["class"].tolist() == by_command.class_findings["class"].to_list()
    assert found.classes["labels"].sum() == found.summary.n_test
    assert "predicted" not in found.summary.data.columns.needed
    written = pl.read_parquet(classes / "run" / "class_findings.parquet")
    assert written.equals(by_command.frame("class_findings", wide=True))


def test_show_tells_the_findings_of_a_class(classes_found, classes):
    shown = run("show", classes / "run", "--class", "owl")
    assert "place = south" in " ".join(shown.out.split())
    assert "the label is owl in" in " ".join(shown.out.split())
    near = run("show", classes / "run", "--class", "ow")
    near.refuses("did you mean 'owl'?")
    both = run("show", classes / "run", "--class", "owl", "--by", "place")
    assert both.status == 2


def test_names_may_hold_braces():
    assert words_of("{a}").group_rate.format("1 %") == "the label is {a} in 1 %"


def judged(n: int = 1500) -> pl.DataFrame:
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
def judges(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judges")
    judged().drop("would").write_parquet(folder / "rows.parquet")
    return folder


@pytest.fixture(scope="module")
def judges_found(judges):
    options = ("--judge", "judge", "--human", "human", "--split", "split", "--map", "pca")
    ended = done("discover", judges / "rows.parquet", "--out", judges / "run", *options)
    return ended


def test_terminal_and_page_tell_of_people_and_judge(judges_found, judges):
    assert "People would approve" in judges_found.out
    # whether the length is told as a part of its range or as a trend depends on how rows are dealt
    assert re.search(r"On rows with (higher )?length,? at", " ".join(judges_found.out.split()))
    page = (judges / "run" / "report.html").read_text()
    assert 'id="judge"' in page
    assert "over-confident" not in page
    assert "equal confidence" not in page


def test_rates_are_near_what_people_would_say_and_narrower_than_labels_alone(judges_found, judges):
    judge = json.loads((judges / "run" / "summary.json").read_text())["judge"]
    low, high = judge["whole"]["rate"]["interval"]
    table = judged()
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


def test_python_gives_the_same_numbers(judges_found, judges):
    frame = judged().drop("would")
    found = miscal.discover(frame, judge="judge", human="human", split="split", n_jobs=1, map="pca", progress=False)
    by_command = miscal.load(judges / "run")
    assert found.summary.judge == by_command.summary.judge
    assert found.summary.findings == by_command.summary.findings
    assert found.summary.data.columns.needed == ("judge", "model", "length")


def test_new_scores_are_corrected_in_the_units_of_the_judge(judges_found, judges):
    new = pl.DataFrame({"judge": [5, 5], "model": ["A", "A"], "length": [10, 55]})
    corrected = miscal.load(judges / "run").correct(new)["corrected"].to_list()
    assert max(corrected) < 1
    new.write_csv(judges / "new.csv")
    done("calibrate", judges / "run", judges / "new.csv", "--out", judges / "out.csv")
    assert pl.read_csv(judges / "out.csv")["corrected"].to_list() == pytest.approx(corrected)


def test_rows_that_nobody_judged_are_left_out_of_a_look(judges_found, judges):
    judged(300).drop("would").write_parquet(judges / "later.parquet")
    ended = run("monitor", judges / "run", judges / "later.parquet", "--out", judges / "monitor")
    assert ended.status in (0, 3), ended
    assert "rows without outcome, group or id were left out" in ended.out


def test_a_scale_needs_a_split_that_is_named(judges):
    options = ("--judge", "judge", "--human", "human", "--evidence", "test", "--features", "model")
    ended = run("discover", judges / "rows.parquet", "--out", judges / "other", *options)
    assert ended.status == 2
    assert "name the test rows (--split COL)" in ended.err


@pytest.fixture(scope="module")
def weighed(tmp_path_factory):
    path = tmp_path_factory.mktemp("weighed") / "answers.csv"
    rows = planted(300)
    rows.with_columns(w=np.random.default_rng(1).lognormal(0, 0.6, len(rows))).write_csv(path)
    return path


def test_a_column_that_is_not_there_is_suggested(weighed, tmp_path):
    ended = run("discover", weighed, "--out", tmp_path / "run", "--features", "x_*", "--weight", "ww")
    ended.refuses("'ww'")
    assert "did you mean 'w'" in ended.err


def test_terminal_and_page_say_that_rows_count_unequally(weighed, tmp_path):
    out = tmp_path / "run"
    ended = run(
        "discover", weighed, "--out", out, "--features", "x_*", "--weight", "w", "--map", "pca", "--evidence", "test"
    )
    assert ended.status == 0, ended.err
    assert re.search(r"weighted by +w: means as precise as those of [\d,]+ equal rows", ended.out)
    assert "rows of equal weight" in (out / "report.html").read_text()
