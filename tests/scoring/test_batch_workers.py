"""Workers in other processes, of this machine or of a Ray cluster: the same bytes, and what the death of one does."""

import importlib.util
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from miscal.base.errors import InputError, ResourceError
from miscal.base.workers import InProcess, Processes, Ray
from miscal.scoring import FakeModel, ModelSpec, Question
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items, choose_batch_workers

pytestmark = pytest.mark.whole

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra [ray]")


def items(n: int = 24):
    return as_items([Question(f"q{k}", f"Which is it? {'so ' * (k % 9)}", ("a", "b"), k % 2) for k in range(n)])


def run(model, out: Path, chosen, rows=None, batch_tokens=120) -> dict[str, bytes]:
    score_folder(model, rows or items(), out, task={"task": "test"}, batch_tokens=batch_tokens, workers=chosen)
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.name != ".lock"}


class Mortal(FakeModel):
    """Kills its process the first time it is asked, once per file."""

    def __init__(self, marker: Path, always: bool = False) -> None:
        super().__init__()
        self.marker, self.always, self.home = marker, always, os.getpid()

    def evaluate(self, batch):
        if os.getpid() != self.home and (self.always or not self.marker.exists()):
            self.marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().evaluate(batch)


class Dying(FakeModel):
    """Kills its process at the first sight of a batch, before or after computing it, in so many batches."""

    def __init__(self, folder: Path, deaths: int) -> None:
        super().__init__()
        self.folder, self.deaths, self.home = folder, deaths, os.getpid()

    def evaluate(self, batch):
        # a second attempt computes parts of the batch, each of whose rows was seen
        seen = [self.folder / str(row.row) for row in batch]
        if os.getpid() == self.home or seen[0].exists() or len(died(self.folder)) >= self.deaths:
            return super().evaluate(batch)
        for path in seen:
            path.touch()
        (self.folder / f"died-{batch[0].row}").touch()
        if batch[0].row % 2:
            super().evaluate(batch)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")


def died(folder: Path) -> list[Path]:
    return list(folder.glob("died-*"))


KILLED = 20


def check_deaths(tmp_path, chosen) -> None:
    """Let workers die one after the other: the folder is that of a run in which none did."""
    rows = {"rows": items(100), "batch_tokens": 60}
    whole = run(FakeModel(), tmp_path / "whole", InProcess(), **rows)
    (tmp_path / "deaths").mkdir()
    assert run(_importable(Dying)(tmp_path / "deaths", KILLED), tmp_path / "out", chosen, **rows) == whole
    assert len(died(tmp_path / "deaths")) == KILLED


def test_engines_by_name():
    assert isinstance(choose_batch_workers("local"), InProcess)
    assert isinstance(choose_batch_workers("local", workers=2), Processes)
    with pytest.raises(InputError, match="one of local, ray; got 'dask'"):
        choose_batch_workers("dask")


@pytest.mark.parametrize(
    ("gpus", "options", "seen"),
    [
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


def test_options_of_the_other_engine_are_refused(monkeypatch):
    with pytest.raises(InputError, match="ray_address"):
        choose_batch_workers("local", ray_address="host:1")
    with pytest.raises(InputError, match="workers"):
        choose_batch_workers("ray", workers=2)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    with pytest.raises(InputError, match="--device cpu"):
        choose_batch_workers("local", workers=2)


def test_processes_equal_this_process(tmp_path, llama_folder):
    spec = ModelSpec(str(llama_folder), dtype="float32", threads=1)
    here = run(spec, tmp_path / "here", InProcess())
    assert run(spec, tmp_path / "there", Processes(1)) == here


@pytest.mark.slow
def test_a_killed_process_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    expected = run(FakeModel(), tmp_path / "whole", InProcess())
    mortal = _importable(Mortal)(tmp_path / "died")
    assert run(mortal, tmp_path / "out", Processes(2)) == expected
    assert (tmp_path / "died").exists()


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_twenty_killed_processes_change_no_byte(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    check_deaths(tmp_path, Processes(2))


@pytest.mark.slow
def test_a_batch_that_always_kills_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    mortal = _importable(Mortal)(tmp_path / "died", always=True)
    with pytest.raises(ResourceError, match=r"^batch 0: the process .* was ended from outside.*--batch-tokens$"):
        run(mortal, tmp_path / "out", Processes(1, remedy="give smaller --batch-tokens"))


def _importable(kind: type) -> type:
    """Make a class of this file importable in a worker by the name of the file."""
    module = sys.modules.setdefault("test_batch_workers", sys.modules[__name__])
    kind.__module__ = "test_batch_workers"
    setattr(module, kind.__name__, kind)
    sys.path.insert(0, str(Path(__file__).parent))
    return kind


@pytest.fixture(scope="module")
def cluster():
    """A Ray on this machine."""
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


@pytest.mark.slow
@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_ray_equals_local_byte_for_byte(tmp_path, llama_folder, cluster):
    spec = ModelSpec(str(llama_folder), dtype="float32", threads=1)
    assert run(spec, tmp_path / "ray", Ray()) == run(spec, tmp_path / "local", InProcess())


@pytest.mark.slow
@needs_ray
@pytest.mark.filterwarnings("ignore")
def test_ray_survives_a_killed_worker(tmp_path, cluster):
    cloudpickle = importlib.import_module("ray.cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    expected = run(FakeModel(), tmp_path / "whole", InProcess())
    assert run(Mortal(tmp_path / "died"), tmp_path / "out", Ray()) == expected
    assert (tmp_path / "died").exists()
    np.testing.assert_equal(len(expected), 3)


@pytest.mark.slow
@needs_ray
@pytest.mark.filterwarnings("ignore")
@pytest.mark.timeout(1200)
def test_twenty_killed_workers_of_ray_change_no_byte(tmp_path, cluster):
    cloudpickle = importlib.import_module("ray.cloudpickle")
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    check_deaths(tmp_path, Ray())
