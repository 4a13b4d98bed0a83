"""`miscal score` on open-ended questions: what it leaves, what it refuses, and that it goes on after a kill."""

import json
import random
import signal
import subprocess
import sys
import time

import polars as pl
import pytest

from miscal.base.errors import InputError, MismatchError
from miscal.cli import main
from miscal.scoring import FakeModel, score
from miscal.scoring.answer_confidences import SOURCES
from miscal.scoring.command import run
from miscal.scoring.folder import score_folder
from miscal.scoring.open_ended import OpenEnded
from miscal.scoring.questions import OpenQuestion, open_items
from miscal.scoring.tasks import rows_to_questions

pytestmark = pytest.mark.whole

ALL = ",".join(SOURCES)


@pytest.fixture
def task_file(tmp_path):
    rows = [
        {"id": f"q{k}", "question": f"What comes after {k}?", "answers": [str(k + 1)] if k else [], "topic": "t"}
        for k in range(6)
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "task.parquet")
    return str(tmp_path / "task.parquet")


@pytest.fixture
def options(llama_folder, task_file, tmp_path):
    out = tmp_path / "out"
    short = {"dtype": "float32", "threads": 1, "max_new_tokens": 4}
    return {"model": str(llama_folder), "task": task_file, "out": out, "confidence_from": ALL, **short}


def test_one_pass_leaves_a_column_for_every_confidence(options, tmp_path):
    done = run(**options, samples=3, temperature=0.5, seed=7)
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    named = [column for source in SOURCES.values() for column in source.columns]
    assert table.columns[:6] == ["id", "text", "confidence", "correct", "predicted", "answers"]
    assert table.columns[6 : 6 + len(named)] == named
    assert table["confidence"].equals(table["confidence_p_true"], check_names=False)
    assert table["correct"].null_count() == 1
    assert table["samples"].list.len().to_list() == [3] * 6
    assert table["topic"].to_list() == ["t"] * 6
    assert set(done.confidences) == set(named)
    assert any("no verdict yet" in note and "--embeddings" in note for note in done.notes)
    settings = json.loads((tmp_path / "out" / "manifest.json").read_text())["settings"]
    expected = {
        "samples": 3,
        "temperature": 0.5,
        "seed": 7,
        "answer": "greedy",
        "verdict": "exact",
        "max_new_tokens": 4,
    }
    assert {key: settings[f"task.{key}"] for key in expected} == expected
    assert set(settings["task.follow_up_prompts"]) == {"p-true", "verbalized"}
    with pytest.raises(MismatchError, match="temperature"):
        run(**options, samples=3, temperature=0.6, seed=7)


def test_rows_without_a_verdict_do_not_enter_discover_in_silence(options, tmp_path, capsys):
    run(**{**options, "confidence_from": "likelihood"}, verdict="later")
    assert pl.read_parquet(tmp_path / "out" / "triples.parquet")["correct"].null_count() == 6
    assert main(["discover", str(tmp_path / "out"), "--out", str(tmp_path / "run")]) == 2
    assert "correct" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"confidence_from": "letters", "max_new_tokens": None}, "have no letters to weigh"),
        ({"confidence_from": "entropy"}, "must be letters, or one or several of p-true"),
        ({"confidence_from": "ptrue"}, "did you mean .p-true.?"),
        ({"confidence_from": "letters,p-true"}, "two folders"),
        ({"confidence_from": "p-true,p-true"}, "twice"),
        ({"confidence_from": "p-true", "samples": 4}, "no samples are drawn"),
        ({"answer": "most-frequent", "samples": 1}, "at least 2"),
        ({"temperature": 0.0}, "positive"),
        ({"form": "text"}, "form is what candidates are"),
        ({"confidence_from": "letters", "verdict": "later"}, "open-ended questions only"),
        ({"embed_only": True}, "embed_only"),
    ],
)
def test_what_does_not_fit_is_refused(options, change, said):
    with pytest.raises(InputError, match=said):
        run(**{**options, **change})


def test_multiple_choice_is_asked_open_ended_only_if_one_says_so(options, tmp_path):
    file = tmp_path / "choice.parquet"
    pl.DataFrame({"question": ["1 + 1?"], "choices": [["3", "2"]], "answer_index": [1]}).write_parquet(file)
    with pytest.raises(InputError, match="--without-options"):
        run(**{**options, "task": str(file)})
    run(**{**options, "task": str(file)}, without_options=True)
    table = pl.read_parquet(tmp_path / "out" / "triples.parquet")
    assert (table["text"].to_list(), table["answers"].to_list()) == (["1 + 1?"], [["2"]])


@pytest.mark.parametrize(
    ("row", "answers"),
    [
        ({"answer": "Paris"}, ("Paris",)),
        ({"answer": 4}, ("4",)),
        ({"answer": None}, ()),
        ({"answers": ["a", "b", "a", ""]}, ("a", "b")),
        ({"answers": '["a", "b"]'}, ("a", "b")),
        ({"answers": {"text": ["a"], "answer_start": [3]}}, ("a",)),
        ({"answer": {"value": "v", "aliases": ["v", "w"]}}, ("v", "w")),
        ({}, ()),
    ],
)
def test_accepted_answers_are_read_as_data_sets_write_them(row, answers):
    (question,) = rows_to_questions([{"question": "?", **row}], "task")
    assert question.answers == answers


RUN = """
import sys, time
from miscal.scoring import FakeModel
from miscal.scoring.folder import score_folder
from miscal.scoring.open_ended import OpenEnded
from miscal.scoring.questions import OpenQuestion, open_items

class Slow(FakeModel):
    def generate(self, *args, **options):
        time.sleep(float(sys.argv[2]))
        return super().generate(*args, **options)

items = open_items([OpenQuestion(f"q{k}", f"Question {k} " + "and more " * (k % 7), ("5",)) for k in range(30)])
asking = OpenEnded(("frequency", "p-true", "verbalized", "likelihood"), "most-frequent", 6, 0.8, 1, 5)
print("ready", flush=True)
score_folder(Slow(), items, sys.argv[1], task={"task": "test"}, form="open", batch_tokens=300, asking=asking)
"""


@pytest.mark.promise("C1")
def test_a_killed_run_goes_on_and_leaves_the_same_bytes(tmp_path):
    subprocess.run([sys.executable, "-c", RUN, str(tmp_path / "whole"), "0"], check=True, capture_output=True)
    rng, hits, folder = random.Random(0), 0, tmp_path / "killed"
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", RUN, str(folder), "0.02"], stdout=subprocess.PIPE)
        process.stdout.readline()
        time.sleep(rng.uniform(0.02, 0.2))
        process.send_signal(signal.SIGKILL)
        hits += process.wait() == -signal.SIGKILL
        process.stdout.close()
    subprocess.run([sys.executable, "-c", RUN, str(folder), "0"], check=True, capture_output=True)
    assert hits > 0
    for name in ("triples.parquet", "embeddings.safetensors", "manifest.json"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_row_that_cannot_be_asked_is_set_aside(tmp_path):
    class Fussy(FakeModel):
        def generate(self, contexts, streams, **options):
            if any(len(context) > 60 for context in contexts):
                raise IndexError("too long")
            return super().generate(contexts, streams, **options)

    items = open_items([OpenQuestion(f"q{k}", "why " * (1 + 30 * (k == 1)), ("5",)) for k in range(4)])
    done = score_folder(
        Fussy(), items, tmp_path / "out", task={"task": "t"}, form="open", asking=OpenEnded(("likelihood",))
    )
    assert (done.n_scored, done.n_failed) == (3, 1)
    assert pl.read_parquet(tmp_path / "out" / "triples.parquet")["id"].to_list() == ["q0", "q2", "q3"]


def test_open_ended_questions_in_memory_are_refused():
    with pytest.raises(InputError, match="scored into a folder"):
        score(FakeModel(), [OpenQuestion("q", "Why?", ())])
