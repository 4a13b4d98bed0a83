"""The same bytes whatever the language, time zone, hash seed, current folder or order of files in a folder."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from miscal.data.importers import read_log
from miscal.scoring import FakeModel
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items

from ..cli.new_rows import fitted, rows
from ..data.importers import written
from ..scoring.test_folder import content, questions

ENVIRONMENTS = {
    "as it is": {},
    "Turkish": {"LC_ALL": "tr_TR.UTF-8", "LANG": "tr_TR.UTF-8"},
    "German": {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    "C, without UTF-8": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX", "PYTHONUTF8": "0"},
    "a day ahead": {"TZ": "Pacific/Kiritimati"},
    "a day behind": {"TZ": "Pacific/Niue"},
    "no home": {"HOME": "/nonexistent", "XDG_CACHE_HOME": ""},
    **{f"hash seed {seed}": {"PYTHONHASHSEED": str(seed)} for seed in (0, 1, 2, 77, 4294967295)},
}
OTHERS = [name for name in ENVIRONMENTS if name != "as it is"]
both = pytest.mark.parametrize("name", OTHERS)


def run(environment, *arguments, cwd):
    path = os.pathsep.join(os.path.abspath(place) for place in sys.path if place)
    ended = subprocess.run(
        [sys.executable, "-m", "miscal", *map(str, arguments)],
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


@pytest.mark.promise("D1", "D7", "D8")
@pytest.mark.slow
@both
def test_corrections(tmp_path, new_rows, name):
    for out, environment in (("one", ENVIRONMENTS["as it is"]), ("other", ENVIRONMENTS[name])):
        run(environment, "calibrate", new_rows / "model", new_rows / "öğıİ.csv", "--out", f"{out}.csv", cwd=tmp_path)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "other.csv").read_bytes()


@pytest.fixture(scope="module")
def discovered(tmp_path_factory):
    """A file of rows with dates, and what discover makes of it as the machine is."""
    folder = tmp_path_factory.mktemp("discovered")
    days = pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 12, 31), eager=True)[:300].cast(pl.String) + "T23:30:00"
    rows(300).with_columns(day=days).write_parquet(folder / "d.parquet")
    run({}, *DISCOVER, "d.parquet", "--out", "run", cwd=folder)
    return folder


DISCOVER = ("discover", "--features", "age,count,kind", "--text", "text", "--metadata", "kind,day", "--map", "pca")
MEASURED = ("summary.json", "manifest.json", "report.html")
"""They hold seconds."""


@pytest.mark.promise("D1", "D7", "D8")
@pytest.mark.slow
@both
def test_discoveries(tmp_path, discovered, name):
    os.symlink(discovered / "d.parquet", tmp_path / "d.parquet")
    run(ENVIRONMENTS[name], *DISCOVER, "d.parquet", "--out", "run", cwd=tmp_path)
    one, other = files(discovered / "run"), files(tmp_path / "run")
    assert set(one) == set(other)
    assert [name for name in one if name not in MEASURED and one[name] != other[name]] == []
    first, second = (json.loads(found["summary.json"]) | {"timing": {}} for found in (one, other))
    assert first == second


@pytest.mark.promise("D1")
@pytest.mark.parametrize("time", range(10))
def test_scores_ten_times(tmp_path, scored, time):
    score_folder(FakeModel(), as_items(questions(6)), tmp_path, task={"task": "t", "form": "letter"}, batch_tokens=100)
    assert content(tmp_path) == scored


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scored")
    score_folder(FakeModel(), as_items(questions(6)), folder, task={"task": "t", "form": "letter"}, batch_tokens=100)
    return content(folder)


@pytest.mark.promise("D8")
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
