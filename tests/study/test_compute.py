"""Who computes cells, and on which GPU. No GPU is needed: the ways to ask for one are watched."""

from types import SimpleNamespace

import pytest

from miscal.base.errors import InputError
from miscal.base.workers import Processes, Ray, _Worker
from miscal.study import read_plan
from miscal.study.plan import cells_of
from miscal.study.run import gpus_to_deal, pinned
from miscal.study.steps import CellJob
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
