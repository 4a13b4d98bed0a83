"""One thread and filters of warnings inside their blocks; extras; errors in two languages; other systems."""

import pickle
import re
import subprocess
import sys
import time
import tomllib
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import miscal
from miscal.base.errors import InputError, MiscalError, argument, either
from miscal.base.process import EXTRAS, installed, one_thread, without_warning
from miscal.cli import main
from miscal.estimators.field import MiscalibrationField


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_allowed():
    with threadpool_limits(2):
        yield


def test_the_limit_holds_inside_and_is_lifted_at_the_end(two_allowed):
    with one_thread():
        assert {library["num_threads"] for library in threadpool_info()} == {1}
        with one_thread():
            pass
        assert blas_threads() == {1}
    assert {library["num_threads"] for library in threadpool_info()} == {2}
    # an error lifts it too
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert blas_threads() == {2}


def test_python_calls_of_the_field_compute_on_one_thread_and_leave_the_limit_as_it_was(two_allowed, monkeypatch):
    from miscal.estimators.auto import estimator
    from miscal.estimators.auto.model import AutoModel

    seen = []

    def watched(function):
        def call(*arguments, **named):
            seen.append(blas_threads())
            return function(*arguments, **named)

        return call

    monkeypatch.setattr(estimator, "fit_auto", watched(estimator.fit_auto))
    monkeypatch.setattr(AutoModel, "correct", watched(AutoModel.correct))
    rng = np.random.default_rng(0)
    X, f, y = rng.normal(size=(60, 2)), rng.random(60), np.arange(60) % 2
    field = MiscalibrationField().fit(X, y, confidence=f)
    field.predict(X, confidence=f)
    field.calibrate(X, confidence=f)
    assert seen == [{1}] * 3
    assert blas_threads() == {2}


def test_threads_that_ignore_warnings_hear_none_and_leave_the_filters_as_they_were():
    before = list(warnings.filters)

    def work(number):
        with without_warning((UserWarning, RuntimeWarning)[number % 2]):
            # the other thread is given a turn
            time.sleep(1e-4)
            warnings.warn("heard", (UserWarning, RuntimeWarning)[number % 2], stacklevel=1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(100)))
    assert warnings.filters == before


ASKED = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_the_table_is_that_of_the_package():
    extras = dict(ASKED["optional-dependencies"])
    assert extras.pop("all") == [f"miscal[{','.join(EXTRAS)}]"]
    assert {name: tuple(re.match(r"[\w-]+", need)[0] for need in needs) for name, needs in extras.items()} == EXTRAS


def test_core_asks_for_nothing_that_an_extra_brings():
    core = {re.match(r"[\w-]+", need)[0] for need in ASKED["dependencies"]}
    assert not core & {package for packages in EXTRAS.values() for package in packages}


def test_a_module_may_be_called_otherwise_than_its_package(monkeypatch):
    assert installed("scikit-learn") is False  # it is not in the table of names, which is for extras
    monkeypatch.setitem(sys.modules, "umap", None)
    assert not installed("umap-learn")


@pytest.mark.parametrize(
    ("named", "python", "shell"),
    [
        (argument("where"), "`where`", "--where"),
        (argument("on_invalid", "drop"), "on_invalid='drop'", "--on-invalid drop"),
        (argument("overwrite", True), "overwrite=True", "--overwrite"),
        (either("another --out", "another folder"), "another folder", "another --out"),
    ],
)
def test_an_error_says_the_same_to_both(named, python, shell):
    error = InputError(f"bad: {named}, or {named}")
    assert str(error) == f"bad: {python}, or {python}"
    assert error.in_shell() == f"bad: {shell}, or {shell}"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.in_shell()) == (str(error), error.in_shell())
    wrapped = MiscalError(f"run a: {error.args[0]}")
    assert wrapped.in_shell() == f"run a: {error.in_shell()}"


def test_the_same_fault_is_told_to_python_and_to_the_shell(tmp_path, capsys):
    table = pl.DataFrame({"p": [0.5, None, 0.9] * 40, "y": [0, 1, 1] * 40, "x": range(120)})
    table.write_parquet(tmp_path / "table.parquet")
    with pytest.raises(InputError, match=r"drop those rows with on_invalid='drop'$"):
        miscal.discover(table, confidence="p", correct="y")
    options = ["--confidence", "p", "--correct", "y", "--out", str(tmp_path / "run")]
    assert main(["discover", str(tmp_path / "table.parquet"), *options]) == 2
    assert capsys.readouterr().err.endswith("drop those rows with --on-invalid drop\n")


WITHOUT = """
import os, signal, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
for name in ("sysconf", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "getuid", "geteuid", "fork", "sched_getaffinity"):
    hasattr(os, name) and delattr(os, name)
del signal.pthread_sigmask
from miscal.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.whole
def test_a_run_needs_no_call_that_windows_lacks(tmp_path):
    rng = np.random.default_rng(0)
    risk, kind = rng.uniform(0.3, 0.7, 600), rng.choice(["a", "b"], 600)
    late = (rng.random(600) < risk + np.where(kind == "a", 0.2, -0.2)).astype(int)
    pl.DataFrame({"risk": risk, "late": late, "kind": kind}).write_csv(tmp_path / "rows.csv")
    command = ["discover", "rows.csv", "--probability", "risk", "--event", "late", "--quick", "--out", "run"]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "kind" in done.stdout
    assert {one.name for one in tmp_path.iterdir()} == {"rows.csv", "run"}
