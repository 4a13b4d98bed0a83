"""Who computes cells, and on which GPU. No GPU is needed: the ways to ask for one are watched."""

import os
from types import SimpleNamespace

import pytest

from miscal.study import read_plan
from miscal.study.cells import cells_of
from miscal.study.engines import Processes, Ray, _Worker, gpus_to_deal
from miscal.study.folder import StudyFolder
from miscal.study.steps import Job


def jobs(tmp_path, **settings):
    """The jobs of a plan, by the name of their cell."""
    plan = read_plan({"pairs": "paper48", "method": "both", **settings})
    folder = StudyFolder(tmp_path)
    return plan, {cell.name: Job(folder, plan, cell) for cell in cells_of(plan)}


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


def test_each_process_sees_its_own_gpu():
    engine = Processes(3, ("5", "GPU-ab"))
    try:
        assert [worker.gpu for worker in engine._free] == ["5", "GPU-ab", "5"]
        seen = [worker.pool.submit(os.getenv, "CUDA_VISIBLE_DEVICES").result() for worker in engine._free[:2]]
        assert seen == ["5", "GPU-ab"]
    finally:
        engine.close()


def test_without_gpus_to_deal_a_process_sees_what_its_parent_does(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    worker = _Worker.on(None)
    try:
        assert worker.pool.submit(os.getenv, "CUDA_VISIBLE_DEVICES").result() == "3"
    finally:
        worker.pool.shutdown()


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
    ray = Ray.__new__(Ray)
    ray._gpus, ray._running = there, {}

    def remote(**needs):
        asked.append(needs["num_gpus"])
        return lambda function: SimpleNamespace(remote=lambda job: object())

    ray._ray = SimpleNamespace(remote=remote)
    ray.submit(jobs(tmp_path, **settings)[1][name])
    assert asked == [gpus * there]
