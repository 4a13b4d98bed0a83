"""Who computes cells, and on which GPU. No GPU is needed: the ways to ask for one are watched."""

import json
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from miscal.base.errors import InputError
from miscal.base.workers import Processes, Ray, _Worker
from miscal.data.triples import InputLayout, Triples
from miscal.scoring.folder import describe_run
from miscal.scoring.questions import DEFAULTS
from miscal.study import read_plan, steps
from miscal.study.measures import prediction
from miscal.study.plan import StudyCell, cells_of
from miscal.study.run import gpus_to_deal, pinned
from miscal.study.steps import CellJob, digests, draw_split, outcome_of, same_questions
from miscal.study.tables import StudyFolder


def jobs(tmp_path, **settings):
    """The jobs of a plan, by the name of their cell."""
    plan = read_plan({"pairs": "paper48", "method": "both", **settings})
    folder = StudyFolder(tmp_path)
    return plan, {cell.name: CellJob(folder, plan, cell) for cell in cells_of(plan)}


@pytest.mark.parametrize(
    ("there", "named", "expected"),
    [(4, None, ("0", "1", "2", "3")), (2, "5,GPU-ab", ("5", "GPU-ab")), (1, None, ()), (0, "", ())],
)
def test_the_gpus_that_torch_sees_are_dealt(monkeypatch, there, named, expected):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if named is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert gpus_to_deal(read_plan("paper48")) == expected
    assert gpus_to_deal(read_plan({"pairs": "paper48", "score": {"device": "cuda:1"}})) == ()


def test_two_models_are_not_asked_on_one_gpu_while_another_is_idle(tmp_path, monkeypatch):
    class Pool:
        def submit(self, *work):
            return object()

    monkeypatch.setattr(_Worker, "on", classmethod(lambda cls, gpu: cls(Pool(), gpu)))
    engine = Processes(4, ("0", "1"))
    job = jobs(tmp_path)[1]
    for name in ("score@mmlu.qwen3-1.7b", "read@mmlu.qwen3-1.7b", "score@mmlu.qwen3-4b"):
        engine.submit(job[name].task)
    asking = [worker.gpu for future, worker in engine._busy.items() if engine._running[future].key.kind == "score"]
    assert sorted(asking) == ["0", "1"]


@pytest.mark.parametrize(
    ("name", "settings", "gpus"),
    [
        ("score@mmlu.qwen3-1.7b", {}, 1),
        ("score@mmlu.qwen3-1.7b", {"score": {"device": "cpu"}}, 0),
        ("discover@mmlu.qwen3-1.7b@paper", {}, 1),
        ("discover@mmlu.qwen3-1.7b@paper", {"device": "cpu"}, 0),
        ("discover@mmlu.qwen3-1.7b@auto", {}, 0),
        ("audit@medmcqa.llama-3.2-1b@paper", {}, 1),
        ("measure@mmlu.qwen3-1.7b@paper", {}, 0),
        ("read@mmlu.qwen3-1.7b", {}, 0),
    ],
)
@pytest.mark.parametrize("there", [0, 1])
def test_on_ray_what_is_faster_on_a_gpu_asks_for_one_where_there_is_one(tmp_path, name, settings, gpus, there):
    asked = []

    def options(**needs):
        asked.append(needs["num_gpus"])
        return SimpleNamespace(remote=lambda *_: SimpleNamespace(future=object))

    ray = Ray.__new__(Ray)
    ray._running, ray._remote = {}, SimpleNamespace(options=options)
    ray._ray = SimpleNamespace(cluster_resources=lambda: {"CPU": 2.0, "GPU": there})
    ray.submit(jobs(tmp_path, **settings)[1][name].task)
    assert asked == [gpus * there]


def test_all_pairs_of_a_set_are_asked_the_commit_that_was_noted_first(tmp_path, monkeypatch):
    commits = iter(["first", "second"])
    monkeypatch.setattr("miscal.scoring.tasks.commit_of", lambda task: next(commits))
    plan, _ = jobs(tmp_path)
    cells = [cell for cell in cells_of(plan) if cell.kind == "score" and cell.of.startswith("mmlu.")]
    folder = StudyFolder(tmp_path)
    for coming in (cells, cells[5:]):
        found = pinned(plan, folder, coming)
        asked = {(pair.dataset, pair.score.task_revision) for pair in found.pairs}
        assert asked == {("mmlu", "first"), ("mmlu-pro", None), ("medmcqa", None), ("hh-rlhf", None)}
    assert folder.revisions() == {"mmlu": "first"}
    # where nothing is to be asked, the hub is not
    assert pinned(plan, folder, []).pairs[0].score.task_revision == "first"


def test_a_revision_that_the_plan_names_is_kept_and_holds_for_the_set(tmp_path):
    plan, _ = jobs(tmp_path, score={"task_revision": "mine"})
    assert {pair.score.task_revision for pair in pinned(plan, StudyFolder(tmp_path), cells_of(plan)).pairs} == {"mine"}
    models = [{"model": "a"}, {"model": "b", "score": {"model": "b", "task": "mmlu", "task_revision": "other"}}]
    with pytest.raises(InputError, match=r"'d.a' and 'd.b' on d ask different revisions of mmlu .*None and other"):
        read_plan({"pairs": [{"dataset": "d", "score": {"model": "a", "task": "mmlu"}, "each": models}]})


# --- which rows of several pairs are answers to the same question ---


def asked(keys, content=None, group=None):
    columns = {"key": keys, "content": content or [None] * len(keys), "group": group or [None] * len(keys)}
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String), strict=False)


def questions(*pairs, sources=("id", "id")):
    return same_questions(pairs, sources)


def partition(numbers):
    """Say which rows share a number, whatever the numbers are."""
    return {frozenset(np.flatnonzero(numbers == one).tolist()) for one in np.unique(numbers)}


@given(st.permutations(list("abcdef")), st.permutations(list("cdefgh")))
def test_rows_of_equal_ids_are_one_question_in_whatever_order(one, other):
    first, second = questions(asked(one), asked(other))
    for i, key in enumerate(one):
        for j, twin in enumerate(other):
            assert (first[i] == second[j]) == (key == twin)


def test_numbers_of_rows_are_believed_only_within_one_file():
    rows = ["0", "1", "2", "3"]
    same = questions(asked(rows), asked(rows), sources=("a.csv", "a.csv"))
    assert same[0].tolist() == same[1].tolist()
    apart = questions(asked(rows), asked(rows), sources=("a.csv", "b.csv"))
    assert not set(apart[0]) & set(apart[1])


def test_rows_of_one_long_file_are_told_by_their_content():
    one = asked(["0", "1"], ["x", "y"])
    other = asked(["2", "3"], ["y", "x"])
    first, second = questions(one, other)
    assert first.tolist() == second[::-1].tolist()


def test_without_partners_every_row_is_a_question_of_its_own():
    numbers = np.concatenate(questions(asked(["a", "a"]), asked(["b", "c"])))
    assert len(np.unique(numbers)) == 4


def test_rows_of_a_group_count_as_one_question_with_all_that_hangs_on_them():
    # question b hangs on group 1 by the first pair, and on group 2 by the second
    one, other = asked(["a", "b"], group=["1", "1"]), asked(["b", "c"], group=["2", "2"])
    assert partition(np.concatenate(questions(one, other))) == {frozenset(range(4))}


def test_what_hangs_together_in_one_pair_does_so_in_a_pair_without_groups():
    one, other = asked(["a", "b", "c"], group=["1", "1", "2"]), asked(["c", "b", "a"])
    first, second = questions(one, other)
    assert first[0] == first[1] == second[1] == second[2] != first[2] == second[0]


@pytest.mark.parametrize(("table", "told"), [(False, True), (True, False)])
def test_equal_columns_of_a_table_are_different_cases(table, told):
    triples = Triples.of(np.zeros((2, 3)), confidence=[0.2, 0.3], correct=[0, 1])
    layout = InputLayout(places=3, table=table)
    assert (digests(Triples(**{**vars(triples), "layout": layout})) is not None) == told


def test_minus_zero_is_zero():
    one, other = digests(Triples.of([[0.0], [-0.0]], confidence=[0.2, 0.3], correct=[0, 1]))
    assert one == other


# --- one split for all models on a set ---


UNITS = st.lists(st.integers(0, 60), min_size=120, max_size=200)


def keys(n, first=0):
    return [f"q{number}" for number in range(first, first + n)]


@settings(max_examples=20)
@given(UNITS, st.integers(0, 5))
def test_rows_that_hang_together_anywhere_are_on_one_side(units, seed):
    n = len(units)
    # the second model has other questions in common
    chained = np.arange(n) // 2
    parts = [(keys(n), np.array(units)), (keys(n), chained)]
    sides = draw_split(parts, kind="grouped", seed=seed)
    # components by brute force: merge until nothing changes
    label = list(range(n))
    for _ in range(n):
        before = list(label)
        for group in (np.array(units), chained):
            for value in set(group.tolist()):
                members = np.flatnonzero(group == value)
                low = min(label[m] for m in members)
                for m in members:
                    label[m] = low
        if label == before:
            break
    for value in set(label):
        assert len({sides[f"q{m}"] for m in range(n) if label[m] == value}) == 1


@pytest.mark.parametrize("kind", ["permutation", "grouped"])
def test_a_tenth_tests_and_the_order_of_pairs_does_not_matter(kind):
    one, two = (keys(300), np.arange(300)), (keys(200, 150), np.arange(200))
    sides = draw_split([one, two], kind=kind, seed=1)
    assert [list(sides.values()).count(name) for name in ("train", "val", "test")] == [280, 35, 35]
    assert draw_split([two, one], kind=kind, seed=1) == sides
    assert draw_split([one, two], kind=kind, seed=2) != sides


@pytest.mark.parametrize("kind", ["permutation", "grouped"])
def test_what_was_dealt_stays_where_it_is(kind):
    first = draw_split([(keys(200), np.arange(200))], kind=kind, seed=0)
    more = [(keys(200), np.arange(200)), (keys(100, 150), np.arange(100))]
    second = draw_split(more, kind=kind, seed=0, known=first)
    assert {key: second[key] for key in first} == first
    assert len(second) == 250


def test_new_rows_go_where_those_are_that_they_hang_together_with():
    first = draw_split([(keys(200), np.arange(200))], kind="grouped", seed=0)
    twins = keys(400)
    second = draw_split([(twins, np.arange(400) % 200)], kind="grouped", seed=0, known=first)
    assert all(second[f"q{row + 200}"] == first[f"q{row}"] for row in range(200))


# --- what a confidence is of: by the plan, by the prompt that was asked, and what that makes of a prediction ---


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
