"""Damaged files: an error of ours, or rows that are whole and valid, never a crash; what no command may replace."""

import json
import re
import shutil
import signal
import subprocess
import zipfile
from itertools import product

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

import miscal
from miscal.base.errors import MiscalError
from miscal.base.files import replace_file
from miscal.base.folders import state_of
from miscal.cli import main
from miscal.cli.exit_status import guarded
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import seal
from miscal.discovery.saved_model import load_model
from miscal.runs.monitor.command import monitor
from miscal.scoring import FakeModel
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items
from miscal.study import study

from ..cli.new_rows import embedded, rows
from ..data.importers import written
from ..data.importers.written import lines, sample
from ..runs.compare.test_sheet import comparison
from ..scoring.test_folder import questions
from .disk import Disk, failing
from .test_faults import FAULTS, state
from .test_kills import process

pytestmark = pytest.mark.whole

CUTS, FLIPS = 50, 200


def cuts(whole: bytes):
    """Yield the file cut at random places."""
    for place in np.random.default_rng(0).integers(0, len(whole), CUTS):
        yield whole[:place]


def flips(whole: bytes):
    """Yield the file with one random bit turned."""
    rng = np.random.default_rng(1)
    for _ in range(FLIPS):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        yield bytes(damaged)


WAYS = {"cut": cuts, "flipped": flips}
slowly = pytest.param("flipped", marks=pytest.mark.slow)
damaged = pytest.mark.parametrize("way", ["cut", "flipped"])


# --- what others write --------------------------------------------------------------------------------------------

N = 120


def table(n=N):
    return rows(n).with_columns(text=pl.format('{} é, "{}"', "text", "kind"))


def written_data(folder, ending):
    """One file of data, and how to read it."""
    path = folder / f"d{ending}"
    if ending in (".npy", ".safetensors"):
        X = embedded(N)
        np.save(path, X) if ending == ".npy" else save_file({"x": X}, path)
        return path, lambda: read_triples(table(), embeddings=path)
    {".parquet": table().write_parquet, ".csv": table().write_csv, ".jsonl": table().write_ndjson}[ending](path)
    return path, lambda: read_triples(path, features="age,count")


@damaged
@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".npy", ".safetensors"])
def test_data(tmp_path, ending, way):
    path, read = written_data(tmp_path, ending)
    assert len(read()) == N
    whole, refused = path.read_bytes(), 0
    for content in WAYS[way](whole):
        path.write_bytes(content)
        try:
            triples = read()
        except MiscalError:
            refused += 1
            continue
        assert len(triples) <= N
        assert np.isfinite(triples.X).all()
        assert ((triples.confidence >= 0) & (triples.confidence <= 1)).all()
        assert np.isin(triples.correct, [0, 1]).all()
    assert refused >= 1


@pytest.mark.slow
def test_a_library_that_ends_the_process_leaves_the_old_run_and_the_next_command_works(tmp_path):
    """Where the header of a page claims a negative number of values, polars aborts: nothing of ours can answer that."""
    path, _ = written_data(tmp_path, ".parquet")
    whole = path.read_bytes()
    # the number of values of a page with 120 of them, as Thrift writes it, becomes -121
    path.with_name("bad.parquet").write_bytes(whole.replace(b",\x15\xf0\x01\x15", b",\x15\xf1\x01\x15"))
    assert path.with_name("bad.parquet").read_bytes() != whole
    options = ("--features", "age,count", "--evidence", "test", "--map", "pca", "--overwrite")

    def run(name):
        return subprocess.run(**process("-m", "miscal", "discover", name, "--out", "run", *options), cwd=tmp_path)

    assert run("d.parquet").returncode == 0
    before = (tmp_path / "run" / "field.parquet").read_bytes()
    ended = run("bad.parquet")
    assert ended.returncode in (2, -signal.SIGABRT)
    assert read_run(tmp_path / "run").table.height == N
    assert (tmp_path / "run" / "field.parquet").read_bytes() == before
    assert run("d.parquet").returncode == 0
    assert {found.name for found in tmp_path.iterdir()} == {"d.parquet", "bad.parquet", "run"}


def written_log(folder, kind):
    """One log of another tool, and how to read it."""
    if kind == "lm-eval":
        path = written.lines(folder / "samples.jsonl", [written.sample(k, (-1.0, -2.0, -3.0, -0.5)) for k in range(6)])
        return path, lambda: read_log("lm-eval", path)
    samples = [written.inspected(f"s{k}", written.answered("B", (0.1, 0.7, 0.1, 0.1)), answer="B") for k in range(4)]
    if kind == "inspect, json":
        path = written.log_json(folder / "log.json", samples)
        return path, lambda: read_log("inspect", path)
    method = zipfile.ZIP_DEFLATED if kind == "inspect, deflated" else 93
    path = written.log_eval(folder / "log.eval", samples, method=method)
    return path, lambda: read_log("inspect", path)


LOGS = ["lm-eval", "inspect, json", "inspect, deflated", "inspect, zstandard"]


@pytest.mark.parametrize("way", ["cut", slowly])
@pytest.mark.parametrize("kind", LOGS)
def test_logs_of_other_tools(tmp_path, kind, way):
    path, read = written_log(tmp_path, kind)
    assert read().table.height > 0
    whole = path.read_bytes()
    for content in WAYS[way](whole):
        path.write_bytes(content)
        try:
            imported = read().table
        except MiscalError:
            continue
        assert imported["confidence"].is_between(0, 1).all()
        assert imported["correct"].is_in([0, 1]).all()


# --- what miscal writes -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tmp_path_factory, answers_run):
    """A run folder, audited and with its model."""
    folder = shutil.copytree(answers_run, tmp_path_factory.mktemp("runs") / "run")
    replace_file(folder / "audit.json", b'{"null": "visible"}\n')
    seal(folder)
    return folder


def contents(run):
    read = read_run(run)
    return (
        read.summary,
        read.table,
        read.map,
        read.findings,
        read.columns,
        json.loads((run / "manifest.json").read_text()),
    )


def answers(run):
    model = load_model(run)
    triples = read_triples(rows(120, seed=1), features="age,count,kind")
    delta = model.estimator.fitted.delta(triples.X, triples.confidence)
    encoder = None if model.encoder is None else state_of(model.encoder)[0]
    return delta.tobytes(), encoder, model.confidence


RUN_TABLES = ["field.parquet", "map.parquet", "findings.parquet", "columns.parquet"]
RUN_FILES = ["summary.json", *RUN_TABLES, "audit.json", "manifest.json"]
MODEL_FILES = ["model/config.json", "model/tensors.safetensors"]


@damaged
@pytest.mark.parametrize("name", [*RUN_FILES, *MODEL_FILES])
def test_a_run_folder(tmp_path, run, name, way):
    shutil.copytree(run, tmp_path / "run")
    load = answers if name in MODEL_FILES else contents
    path, wanted = tmp_path / "run" / name, load(tmp_path / "run")
    for content in WAYS[way](path.read_bytes()):
        path.write_bytes(content)
        try:
            found = load(tmp_path / "run")
        except MiscalError:
            continue
        # of a document alone, whose blanks may change
        assert name.endswith(".json")
        assert all(_equal(one, other) for one, other in zip(found, wanted, strict=True))


def _equal(one, other):
    return one.equals(other) if isinstance(one, pl.DataFrame) else one == other


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scores") / "scored"
    score_folder(
        FakeModel(), as_items(questions(105)), folder, task={"task": "t", "form": "letter"}, batch_tokens=5_000
    )
    return folder


@damaged
@pytest.mark.parametrize("name", ["triples.parquet", "embeddings.safetensors", "manifest.json"])
def test_a_scored_folder(tmp_path, scored, name, way):
    shutil.copytree(scored, tmp_path / "scored")
    path, wanted = tmp_path / "scored" / name, read_triples(tmp_path / "scored")
    for content in WAYS[way](path.read_bytes()):
        path.write_bytes(content)
        try:
            found = read_triples(tmp_path / "scored")
        except MiscalError:
            continue
        assert name.endswith(".json")
        for array in ("X", "confidence", "correct", "row"):
            np.testing.assert_array_equal(getattr(found, array), getattr(wanted, array))


@pytest.fixture(scope="module")
def work(tmp_path_factory, answers_run):
    """A run with the data that it was made from, new rows, a log, and what is of no concern to miscal."""
    work = tmp_path_factory.mktemp("work")
    shutil.copytree(answers_run, work / "run")
    rows(120).write_csv(work / "old.csv")
    rows(60, seed=1).drop("correct").write_csv(work / "new.csv")
    rows(60, seed=2).write_csv(work / "labelled.csv")
    lines(work / "log.jsonl", [sample(k, (-1.0, -2.0, -3.0, -0.5)) for k in range(4)])
    monitor(work / "run", work / "labelled.csv", out=work / "looks")
    (work / "mine").mkdir()
    (work / "mine" / "thesis.tex").write_text("years of work")
    for name in ("foreign.csv", "foreign.parquet", "foreign.sql", "foreign.html"):
        (work / name).write_text("years of work")
    for link, to in {"link.csv": "new.csv", "own.csv": "run/summary.json", "elsewhere": "mine"}.items():
        (work / link).symlink_to(work / to)
    return work


def command(*arguments):
    return main([str(one) for one in arguments])


FILES = {
    "calibrate": (".csv", lambda work, *out: command("calibrate", work / "run", work / "new.csv", "--out", *out)),
    "import": (".parquet", lambda work, *out: command("import", "lm-eval", work / "log.jsonl", "--out", *out)),
    "export": (".sql", lambda work, *out: command("export", "sql", work / "run", "--out", *out)),
    "report": (".html", lambda work, out, *more: miscal.load(work / "run").report(out)),
}  # fmt: skip
"""What writes one file, and the ending of its name."""

FOLDERS = {
    "discover": lambda work, out: command(
        "discover", work / "new.csv", "--features", "age", "--out", out, "--overwrite"),
    "save": lambda work, out: miscal.load(work / "run").save(out, overwrite=True),
    "compare": lambda work, out: comparison("x").save(out, overwrite=True),
    "monitor": lambda work, out: command("monitor", work / "run", work / "labelled.csv", "--out", out),
    "MiscalibrationField.save": lambda work, out: miscal.load(work / "run").model.field.save(out),
    "study": lambda work, out: study({"pairs": [{"dataset": "d", "model": "m", "data": str(work / "old.csv")}]}, out),
    "synthetic": lambda work, out: command("synthetic", "clusters", "--out", out),
    "score": lambda work, out: score_folder(FakeModel(), as_items(questions(1)), out, task={"task": "t"}),
}  # fmt: skip
"""What writes a folder."""

KEPT_FILES = {
    "a foreign file": ("foreign{ending}", [], "already exists|did not write"),
    "the data": ("new.csv", ["--overwrite"], "is read from|must end in|did not write"),
    "a link to the data": ("link.csv", ["--overwrite"], "is read from|must end in|did not write"),
    "a file of the run": ("run/summary.json", ["--overwrite"], "run, a run, whose files stay"),
    "a link to a file of the run": ("own.csv", ["--overwrite"], "run, a run, whose files stay"),
    "another file in the run": ("run/mine{ending}", [], "run, a run, whose files stay"),
    "a file of the model": ("run/model/config.json", ["--overwrite"], "model, a saved model, whose files stay"),
    "a file of the monitor": ("looks/course.csv", ["--overwrite"], "looks, a monitor, whose files stay"),
    "a file of its state": ("looks/state/new{ending}", ["--overwrite"], "state, a saved model, whose files stay"),
    "a folder": ("mine", ["--overwrite"], "is a folder, not a file"),
    "a link to a folder": ("elsewhere", ["--overwrite"], "is a folder, not a file"),
    "below a file": ("new.csv/out{ending}", [], "new.csv is a file"),
}
KEPT_FOLDERS = {
    "a folder with other files": ("mine", [], "holds files that .* did not write .'thesis.tex'"),
    "a link to a folder with other files": ("elsewhere", [], "holds files that .* did not write .'thesis.tex'"),
    "a file": ("foreign.csv", [], "is a file, not a folder|foreign.csv is a file"),
    "the model of a run": ("run/model", [], "run, a run, whose files stay|lies in .*model, a saved model"),
    "inside the run": ("run/new", [], "run, a run, whose files stay"),
    "inside the state of a monitor": ("looks/state/new", [], "state, a saved model, whose files stay"),
    "below a file": ("new.csv/out", [], "new.csv is a file|new.csv: File exists"),
}


@pytest.mark.parametrize(
    ("door", "case"),
    [
        *product(FILES, KEPT_FILES),
        # scores may lie beside other files, of other names
        *(
            (door, case)
            for door, case in product(FOLDERS, KEPT_FOLDERS)
            if door != "score" or "other files" not in case
        ),
    ],
)
def test_no_command_replaces_what_would_be_lost(work, capsys, door, case):
    ending, write = FILES[door] if door in FILES else ("", FOLDERS[door])
    name, more, said = KEPT_FILES[case] if door in FILES else KEPT_FOLDERS[case]
    before = state(work)
    assert guarded(lambda: write(work, work / name.format(ending=ending), *more)) == 2
    assert re.search(said, error := capsys.readouterr().err), error
    assert error.count("\n") == 1
    assert state(work) == before
    assert not list(work.rglob(".miscal-*"))


@pytest.mark.parametrize("door", FILES)
def test_a_file_is_written_into_a_missing_folder_and_again_when_the_disk_was_full(
    work, tmp_path, monkeypatch, capsys, door
):
    ending, write = FILES[door]
    out = tmp_path / "full" / f"out{ending}"
    with failing(Disk(tmp_path, 4, FAULTS["no space"]), monkeypatch):
        assert guarded(lambda: write(work, out)) == 2
    assert "the disk is full" in capsys.readouterr().err
    assert not out.exists()
    assert guarded(lambda: write(work, out)) == 0, capsys.readouterr().err
    assert out.stat().st_size > 100
    assert [one.name for one in out.parent.iterdir()] == [out.name]
