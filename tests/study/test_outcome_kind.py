"""What a confidence is of: by the plan, by the prompt that was asked, and what that makes of a prediction."""

import json

import numpy as np
import pytest

from miscal.base.errors import InputError
from miscal.scoring.folder import describe_run
from miscal.scoring.questions import DEFAULTS
from miscal.study import read_plan, steps
from miscal.study.measures import prediction
from miscal.study.plan import StudyCell
from miscal.study.steps import outcome_of
from miscal.study.tables import StudyFolder


def pair(**more):
    return read_plan({"pairs": [{"dataset": "d", "model": "m"} | more]}).pairs[0]


def scored(folder, prompt):
    folder.mkdir(parents=True)
    settings = describe_run({"model": "m"}, [], task={"task": "t", "prompt": prompt}, batch_tokens=1)
    (folder / "manifest.json").write_text(json.dumps({"settings": settings}))


@pytest.mark.parametrize(("kind", "outcome"), [("preference", "event"), ("choice", "answer")])
def test_the_prompt_says_what_is_asked(tmp_path, kind, outcome):
    folder = StudyFolder(tmp_path / "study")
    asked = pair(score={"model": "m", "task": "hh-rlhf"})
    scored(folder.scored(asked.pair), DEFAULTS[kind])
    assert outcome_of(asked, folder) == outcome
    # a folder that was scored elsewhere
    scored(tmp_path / "elsewhere", DEFAULTS[kind])
    assert outcome_of(pair(data=str(tmp_path / "elsewhere")), folder) == outcome


def test_data_are_of_answers_unless_the_plan_says_otherwise(tmp_path):
    folder = StudyFolder(tmp_path / "study")
    assert outcome_of(pair(data="a.csv"), folder) == "answer"
    assert outcome_of(pair(data="a.csv", outcome="event"), folder) == "event"
    scored(tmp_path / "there", DEFAULTS["preference"])
    assert outcome_of(pair(data=str(tmp_path / "there"), outcome="answer"), folder) == "answer"
    with pytest.raises(InputError, match=r"outcome: .*'answer' or 'event'; got 'events'"):
        pair(data="a.csv", outcome="events")


def test_an_event_is_predicted_by_the_more_likely_side():
    f, y = np.array([0.05, 0.05, 0.5, 0.5, 0.9]), np.array([0.0, 1.0, 1.0, 0.0, 1.0])
    right, score = prediction(y, f, "event")
    for k in range(5):
        says = 1.0 if f[k] >= 0.5 else 0.0
        assert right[k] == float(says == y[k])
        assert score[k] == pytest.approx(f[k] if says else 1 - f[k])
    same = prediction(y, f, "answer")
    assert same[0] is y
    assert same[1] is f


def test_turning_an_event_round_changes_no_prediction():
    rng = np.random.default_rng(0)
    f, y = rng.random(200), (rng.random(200) < 0.4).astype(float)
    for one, other in zip(prediction(y, f, "event"), prediction(1 - y, 1 - f, "event"), strict=True):
        assert one == pytest.approx(other)


def test_the_seconds_of_scoring_are_those_of_its_cell(tmp_path):
    folder = StudyFolder(tmp_path / "study")
    plan = read_plan({"pairs": [{"dataset": "d", "model": "m", "score": {"model": "m", "task": "mmlu"}}]})
    job = steps.CellJob(folder, plan, StudyCell("measure", "d.m", "auto"))
    assert steps.seconds_score(job, job.pair) is None
    folder.save(StudyCell("score", "d.m"), {}, {}, 12.5)
    assert steps.seconds_score(job, job.pair) == 12.5
