"""Files that are cut short or have a flipped bit: an error of ours, or rows that are whole and valid; never a crash.

What miscal writes itself has checksums: there, every change is an error or without any effect.
"""

import json
import shutil
import signal
import subprocess
import zipfile

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from miscal.base.errors import MiscalError
from miscal.base.files import replace_file
from miscal.base.folders import state_of
from miscal.data.importers.imported import read_log
from miscal.data.readers.read import read_triples
from miscal.discovery.run import read_run
from miscal.discovery.run_folder import seal
from miscal.discovery.saved_model import load_model
from miscal.scoring import FakeModel
from miscal.scoring.folder import score_folder
from miscal.scoring.scorer import as_items

from ..cli.new_rows import embedded, rows
from ..data.importers import written
from ..scoring.test_folder import questions
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
