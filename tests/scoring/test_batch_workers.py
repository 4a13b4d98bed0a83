"""Workers in other processes, of this machine or of a Ray cluster: the same bytes, and what the death of one does."""

import importlib.util
from pathlib import Path

import pytest

from miscal.base.errors import InputError, ResourceError
from miscal.base.workers import InProcess, Processes, Ray
from miscal.scoring import FakeModel, ModelSpec
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items, choose_batch_workers

from . import killers
from .test_folder import TASK, content, questions

pytestmark = pytest.mark.whole


def run(model, out: Path, workers=None, n=24, batch_tokens=120) -> dict[str, bytes]:
    score_folder(model, as_items(questions(n)), out, task=TASK, batch_tokens=batch_tokens, workers=workers)
    return content(out)


def check_deaths(tmp_path, workers, n_killed=20) -> None:
    """Let workers die one after the other: the folder is that of a run in which none did."""
    rows, deaths = {"n": 100, "batch_tokens": 60}, tmp_path / "deaths"
    deaths.mkdir()
    whole = run(FakeModel(), tmp_path / "whole", **rows)
    assert run(killers.Dying(deaths, n_killed), tmp_path / "out", workers, **rows) == whole
    assert len(killers.died(deaths)) == n_killed


@pytest.mark.parametrize(
    ("gpus", "options", "seen"),
    [
        (0, {}, None),
        (0, {"workers": 3}, [None] * 3),
        (2, {}, ["0", "1"]),
        (2, {"device": "cuda"}, ["0", "1"]),
        (2, {"device": "cuda:1"}, None),
        (2, {"device": "cpu"}, None),
        (2, {"device": "cpu", "workers": 2}, [None, None]),
        (1, {}, None),
    ],
)
def test_the_device_asked_for_is_the_one_that_computes(monkeypatch, gpus, options, seen):
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    chosen = choose_batch_workers("local", **options)
    assert [worker.gpu for worker in chosen._free] == seen if seen else isinstance(chosen, InProcess)


@pytest.mark.parametrize(
    ("engine", "options", "said"),
    [
        ("dask", {}, "one of local, ray; got 'dask'"),
        ("local", {"ray_address": "host:1"}, "ray_address"),
        ("ray", {"workers": 2}, "workers"),
        ("local", {"workers": 2}, "--device cpu"),
    ],
)
def test_options_that_do_not_go_together_are_refused(monkeypatch, engine, options, said):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(InputError, match=said):
        choose_batch_workers(engine, **options)


def test_processes_equal_this_process(tmp_path, llama_folder):
    spec = ModelSpec(str(llama_folder), dtype="float32", threads=1)
    assert run(spec, tmp_path / "there", Processes(1)) == run(spec, tmp_path / "here")


@pytest.mark.slow
def test_a_killed_process_is_replaced(tmp_path):
    mortal = killers.Mortal(tmp_path / "died")
    assert run(mortal, tmp_path / "out", Processes(2)) == run(FakeModel(), tmp_path / "whole")
    assert (tmp_path / "died").exists()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_killed_processes_change_no_byte(tmp_path):
    check_deaths(tmp_path, Processes(2))


@pytest.mark.slow
def test_a_batch_that_always_kills_is_given_up(tmp_path):
    mortal = killers.Mortal(tmp_path / "died", always=True)
    with pytest.raises(ResourceError, match=r"^batch 0: the process .* was ended from outside.*--batch-tokens$"):
        run(mortal, tmp_path / "out", Processes(1, remedy="give smaller --batch-tokens"))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra [ray]")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(1200)
class TestRay:
    @pytest.fixture(scope="class", autouse=True)
    def cluster(self):
        """A Ray on this machine."""
        ray = pytest.importorskip("ray")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
        importlib.import_module("ray.cloudpickle").register_pickle_by_value(killers)
        yield ray
        ray.shutdown()

    def test_it_equals_local_byte_for_byte(self, tmp_path, llama_folder):
        spec = ModelSpec(str(llama_folder), dtype="float32", threads=1)
        assert run(spec, tmp_path / "ray", Ray()) == run(spec, tmp_path / "local")

    def test_twenty_killed_workers_change_no_byte(self, tmp_path):
        check_deaths(tmp_path, Ray())
