"""Settings of the whole suite."""

import fcntl
import importlib.util
import ipaddress
import os
import socket
from pathlib import Path

import pytest
from hypothesis import settings

# The first example pays for imports; a busy machine is no failure. A law that needs more examples says so.
settings.register_profile("miscal", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("miscal")


def script_of(name):
    """Import a script of the repository."""
    place = Path(__file__).parents[1] / "scripts" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session", autouse=True)
def no_other_machine():
    """Refuse connections to other machines, so that no test can pass or fail by them; those in a private net pass."""
    real = socket.socket.connect

    def connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and ipaddress.ip_address(address[0]).is_global:
            raise OSError(f"the tests may not reach {address[0]}")
        return real(self, address)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket.socket, "connect", connect)
        yield


@pytest.fixture(scope="module")
def few_folds():
    """Deal few rows into 3 folds, not 5, as long as this module runs: most of a small run goes by its 9 fits.

    For modules whose laws do not depend on the number of folds, and without statistical tests of whole runs.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("miscal.estimators.honest._FOLDS_OF_FEW", 3)
        yield


@pytest.fixture(scope="session")
def answers_run(tmp_path_factory) -> Path:
    """A run of 200 answers with a finding, beside its data, made once for all workers; nobody writes into it."""
    place = tmp_path_factory.getbasetemp()
    folder = (place.parent if "PYTEST_XDIST_WORKER" in os.environ else place) / "answers"
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "run").exists():
            _write_answers_run(folder)
    return folder / "run"


def _write_answers_run(folder: Path) -> None:
    # here, because they are not needed where other tests run
    import polars as pl

    from miscal.data.readers.read import read_triples
    from miscal.discovery.discover import discover
    from miscal.report import write_run

    from .cli.new_rows import rows

    folder.mkdir(exist_ok=True)
    names = pl.Series("sample_id", [f"s{k}" for k in range(200)])
    rows(200).with_columns(names, epoch=1).write_parquet(folder / "old.parquet")
    data = read_triples(folder / "old.parquet", features="age,count,kind", metadata="kind")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("miscal.estimators.honest._FOLDS_OF_FEW", 3)
        write_run(discover(data, map_method="pca", n_jobs=1), folder / "run", report=False)


@pytest.fixture(scope="session")
def mmlu_file() -> Path:
    """A parquet file of real MMLU questions, named by the environment variable MISCAL_MMLU."""
    path = os.environ.get("MISCAL_MMLU")
    if not path:
        pytest.skip("set MISCAL_MMLU to a parquet file of MMLU questions")
    return Path(path)
