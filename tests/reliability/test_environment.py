"""The same bytes whatever the language, time zone, clock, hash seed, order of files or name of a folder.

And the same numbers whatever the threads.
"""

import json
import locale
import os
import random
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base.frames import read_parquet, scan_parquet
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples
from miscal.discovery.discover import discover
from miscal.discovery.run import read_run
from miscal.report import write_run

from ..cli.new_rows import fitted, rows
from ..data.importers import written
from .test_kills import PAPER, process

FIRST = "first"
"""Python code that runs before miscal does, instead of a variable of the environment."""
OF_THE_LANGUAGE = "import locale; locale.setlocale(locale.LC_ALL, '')"
"""As applications do that print numbers in the language of their user; Python by itself leaves numbers alone."""
SET_BACK = """
import time
now, now_ns = time.time, time.time_ns
begun = now()
time.time = lambda: now() - 3600 * (now() - begun > 1)
time.time_ns = lambda: now_ns() - 3600 * 10**9 * (now() - begun > 1)
"""
"""A second after it began, the clock is set back by an hour."""

ENVIRONMENTS = {
    "as it is": {},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "German": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "Turkish, in all its ways": {"LC_ALL": "tr_TR.UTF-8", FIRST: OF_THE_LANGUAGE},
    "German, in all its ways": {"LC_ALL": "de_DE.UTF-8", FIRST: OF_THE_LANGUAGE},
    "C, without UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    "a day ahead": {"TZ": "Pacific/Kiritimati"},
    "a day behind": {"TZ": "Pacific/Niue"},
    "a clock that is set back": {FIRST: SET_BACK},
    "no home": {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""},
    **{f"hash seed {seed}": {"PYTHONHASHSEED": str(seed)} for seed in (0, 1, 2, 77, 4294967295)},
}
OTHERS = [name for name in ENVIRONMENTS if name != "as it is"]
LIBRARIES = ("OMP", "MKL", "OPENBLAS", "VECLIB", "NUMEXPR")
THREADS = {
    f"{n} threads": {f"{name}_NUM_THREADS": str(n) for name in LIBRARIES} | {"POLARS_MAX_THREADS": str(n)}
    for n in (1, 2, 4)
}
everywhere = pytest.mark.parametrize("name", [*OTHERS, *THREADS])
with_threads = pytest.mark.parametrize("threads", THREADS)


def environment(name):
    """Return an environment by its name, where the machine has its language."""
    chosen = (ENVIRONMENTS | THREADS)[name]
    language = chosen.get("LC_ALL", "C")
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, language)
    except locale.Error:
        pytest.skip(f"the language {language} is not installed on this machine: everything would fall back to C")
    finally:
        locale.setlocale(locale.LC_ALL, before)
    return chosen


def run(environment, *arguments, cwd):
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path if place)
    environment = dict(environment)
    code = f"{environment.pop(FIRST, '')}\nimport sys; from miscal.cli import main; sys.exit(main(sys.argv[1:]))"
    ended = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path} | environment,
        cwd=cwd,
        capture_output=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr.decode(errors="replace")
    return ended


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="module")
def new_rows(tmp_path_factory):
    """A saved field, and a file of rows with names and texts that are not ASCII."""
    folder = tmp_path_factory.mktemp("new")
    fitted(folder / "model", text="text", embed_model="tfidf")
    rows(150, seed=3).with_columns(text="text").write_csv(folder / "öğıİ.csv")
    return folder


@pytest.fixture(scope="module")
def corrected(new_rows):
    """The corrections of these rows, as the machine is."""
    run({}, *CALIBRATE, "one.csv", cwd=new_rows)
    return (new_rows / "one.csv").read_bytes()


CALIBRATE = ("calibrate", "model", "öğıİ.csv", "--out")


@pytest.mark.slow
@everywhere
def test_corrections(tmp_path, new_rows, corrected, name):
    run(environment(name), *CALIBRATE, tmp_path / "other.csv", cwd=new_rows)
    assert (tmp_path / "other.csv").read_bytes() == corrected


def dated(n, seed=0):
    """Rows with dates."""
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), eager=True)[:n].cast(pl.String) + "T23:30:00"
    return rows(n, seed).with_columns(day=days)


@pytest.fixture(scope="module")
def discovered(tmp_path_factory):
    """A file of rows with dates, what discover makes of it as the machine is, and newer rows."""
    folder = tmp_path_factory.mktemp("discovered")
    dated(300).write_parquet(folder / "d.parquet")
    dated(150, seed=4).write_csv(folder / "new.csv")
    run({}, *DISCOVER, "d.parquet", "--out", "run", cwd=folder)
    return folder


DISCOVER = ("discover", "--features", "age,count,kind", "--metadata", "kind,day", "--map", "pca")
MEASURED = ("summary.json", "manifest.json", "report.html")
"""They hold seconds."""


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_discoveries(tmp_path, discovered, name):
    os.symlink(discovered / "d.parquet", tmp_path / "d.parquet")
    run(environment(name), *DISCOVER, "d.parquet", "--out", "run", cwd=tmp_path)
    one, other = files(discovered / "run"), files(tmp_path / "run")
    assert set(one) == set(other)
    assert [name for name in one if name not in MEASURED and one[name] != other[name]] == []
    first, second = (summary_of(folder / "run") for folder in (discovered, tmp_path))
    assert first | {"timing": {}} == second | {"timing": {}}
    assert min(second["timing"].values()) >= 0


@pytest.fixture(scope="module")
def looked(tmp_path_factory, discovered):
    """What a monitor makes of the newer rows as the machine is."""
    folder = tmp_path_factory.mktemp("looked")
    look({}, folder, discovered)
    return files(folder / "run" / "monitor")


def look(environment, folder, discovered):
    shutil.copytree(discovered / "run", folder / "run")
    shutil.copy(discovered / "new.csv", folder)
    # names in ASCII, because they are shown, and no others can be read where Python is kept from UTF-8
    run(environment, "monitor", "run", "new.csv", "--at", "2026-01-05", cwd=folder)


@pytest.mark.slow
@everywhere
def test_looks_of_a_monitor(tmp_path, discovered, looked, name):
    look(environment(name), tmp_path, discovered)
    assert files(tmp_path / "run" / "monitor") == looked


WALL_CLOCKS = r"\btime\.(time|time_ns|localtime|gmtime|ctime|strftime)\(|\b(utc)?now\(|\btoday\(|\bfromtimestamp\("


def test_nothing_reads_a_clock_that_can_be_set():
    """Durations come from monotonic clocks, and no file holds a date of its own."""
    package = Path(miscal.__file__).parent
    assert re.search(WALL_CLOCKS, "started = time.time()")
    read = {path.name for path in package.rglob("*.py") if re.search(WALL_CLOCKS, path.read_text(encoding="utf-8"))}
    assert read == set()


# --- threads: numbers to four digits ------------------------------------------------------------------------------


def alike(one, other):
    """Whether two JSON values are equal, numbers to four digits."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) or isinstance(other, float):
        return one == pytest.approx(other, rel=1e-4, abs=1e-6)
    return one == other


def check_tables(one, other):
    """Refuse tables of rows whose regimes differ, or whose numbers differ in four digits."""
    assert one.columns == other.columns
    for name in one.columns:
        if one[name].dtype.is_float():
            np.testing.assert_allclose(other[name].to_numpy(), one[name].to_numpy(), rtol=1e-4, atol=1e-6)
        else:
            assert one[name].equals(other[name], null_equal=True), name


def check_runs(one, other):
    first, second = (summary_of(folder) for folder in (one, other))
    assert first["answer"] == second["answer"]
    assert alike(first | {"timing": {}}, second | {"timing": {}})
    for name in ("field.parquet", "findings.parquet", "columns.parquet"):
        check_tables(*(pl.read_parquet(folder / name) for folder in (one, other)))


@pytest.mark.slow
@with_threads
def test_discoveries_by_threads(tmp_path, discovered, threads):
    os.symlink(discovered / "d.parquet", tmp_path / "d.parquet")
    run(THREADS[threads], *DISCOVER, "d.parquet", "--out", "run", cwd=tmp_path)
    check_runs(discovered / "run", tmp_path / "run")


@pytest.fixture(scope="module")
def trained(tmp_path_factory, discovered):
    """What the paper's method makes of the rows on one thread."""
    folder = tmp_path_factory.mktemp("trained")
    train(THREADS["1 threads"], discovered / "d.parquet", folder / "run")
    return folder / "run"


def train(environment, data, out):
    arguments = process("-c", PAPER, data, out)
    subprocess.run(**arguments | {"env": arguments["env"] | environment}, check=True)


@pytest.mark.slow
@with_threads
def test_the_paper_s_method_by_threads(tmp_path, discovered, trained, threads):
    train(THREADS[threads], discovered / "d.parquet", tmp_path / "run")
    check_runs(trained, tmp_path / "run")


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_files_in_a_folder_is_no_matter(tmp_path, monkeypatch, seed):
    """Logs of a folder, listed in another order, give the same table."""
    for k in range(5):
        written.lines(tmp_path / f"samples_task{k}_2024.jsonl", [written.sample(n, (-1.0, -2.0)) for n in range(3)])
    wanted = read_log("lm-eval", tmp_path).table
    shuffled = random.Random(seed)

    def listed(real):
        def run(*args, **kwargs):
            found = list(real(*args, **kwargs))
            shuffled.shuffle(found)
            return found

        return run

    for owner, name in ((os, "listdir"), (Path, "iterdir"), (Path, "glob"), (Path, "rglob")):
        monkeypatch.setattr(owner, name, listed(getattr(owner, name)))
    assert read_log("lm-eval", tmp_path).table.equals(wanted)


@pytest.mark.parametrize(("name", "neighbour"), [("exp[1]", "exp1"), ("exp*", "exp2"), ("exp?", "exp3")])
def test_a_table_is_read_by_its_exact_name(tmp_path, name, neighbour):
    for place, value in ((name, 1), (neighbour, 2)):
        (tmp_path / place).mkdir()
        pl.DataFrame({"a": [value]}).write_parquet(tmp_path / place / "t.parquet")
    path = tmp_path / name / "t.parquet"
    assert read_parquet(path).rows() == scan_parquet(path).collect().rows() == [(1,)]


@pytest.mark.whole
@pytest.mark.usefixtures("few_folds")
def test_a_run_under_a_folder_with_brackets_is_drawn_and_reads_its_own_tables(tmp_path):
    for place in ("exp[1]", "exp1"):
        (tmp_path / place).mkdir()
        rows(200).write_parquet(tmp_path / place / "old.parquet")
    data = read_triples(tmp_path / "exp[1]" / "old.parquet", features="age,count")
    found = discover(data, map_method="pca", n_jobs=1)
    # alone, the run cannot be drawn if its name is a pattern; beside a neighbour, it is drawn from the wrong tables
    write_run(found, tmp_path / "exp[1]" / "run")
    other = found.table.with_columns(delta=pl.lit(0.5))
    write_run(replace(found, table=other), tmp_path / "exp1" / "run", report=False)
    assert read_run(tmp_path / "exp[1]" / "run").table.equals(found.table)
