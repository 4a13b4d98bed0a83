"""Planted data, and the command as a person runs it."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from miscal.cli import main

from .new_rows import Told, embedded, fitted

N = 600


def planted(n: int = N, *, seed: int = 0, strength: float = 0.35) -> pl.DataFrame:
    """Answers of a model that is over-confident where x_0 < 0 and under-confident elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    confidence = rng.uniform(0.35, 0.65, size=n)
    correct = rng.random(n) < confidence + strength * np.sign(X[:, 0])
    return pl.DataFrame(
        {
            "text": [f"what of {'law' if x < 0 else 'sums'} number {i}" for i, x in enumerate(X[:, 0])],
            "subject": ["law" if x < 0 else "sums" for x in X[:, 0]],
            **{f"x_{j}": X[:, j] for j in range(3)},
            "confidence": confidence,
            "correct": correct.astype(np.int64),
        }
    )


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str

    def refuses(self, *said: str) -> None:
        """Check that nothing was done, for a reason that is said in one line."""
        assert (self.status, self.out, len(self.err.splitlines())) == (2, "", 1), self
        assert all(words in self.err for words in said), self.err


def start(*arguments: str | Path, cwd: Path | None = None, **environment: str) -> subprocess.Popen:
    """Start the command in a process of its own, with Ctrl-C at its default."""
    return subprocess.Popen(
        [sys.executable, "-m", "miscal", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def run(*arguments: str | Path, **options: str) -> Ended:
    process = start(*arguments, **options)
    out, err = process.communicate(timeout=240)
    return Ended(process.returncode, out, err)


def done(*arguments: str | Path, **options: str) -> Ended:
    """Run a command that must end well."""
    ended = run(*arguments, **options)
    assert ended.status == 0, ended.err
    return ended


@pytest.fixture
def command(capsys):
    """Call a command in this process."""

    def call(*arguments: str | Path) -> Ended:
        status = main([str(one) for one in arguments])
        said = capsys.readouterr()
        return Ended(status, said.out, said.err)

    return call


@pytest.fixture(scope="session")
def table():
    return planted()


@pytest.fixture(scope="session")
def data(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "answers.parquet"
    table.write_parquet(path)
    return path


OPTIONS = ("--features", "x_*", "--metadata", "subject", "--map", "pca", "--seed", "3")


@pytest.fixture(scope="session")
def finished(data, tmp_path_factory):
    """One run of the command, and its folder."""
    out = tmp_path_factory.mktemp("runs") / "run"
    return done("discover", data, "--out", out, *OPTIONS), out


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Fields of the same rows by feature columns, by text and by embeddings."""
    base = tmp_path_factory.mktemp("models")
    ways = {
        "features": {"features": "age,count,one,kind"},
        "text": {"text": "text", "embed_model": "tfidf"},
        "embeddings": {"embeddings": embedded()},
    }
    return {name: fitted(base / name, **x) for name, x in ways.items()}


@pytest.fixture
def calibrate(models, tmp_path, capsys):
    def call(model, data, *options, out="out.parquet", write=None):
        path = tmp_path / "new.parquet"
        if isinstance(data, pl.DataFrame):
            data.write_parquet(path)
        else:
            path = data
        out = tmp_path / out
        out.unlink(missing_ok=True)
        status = main(["calibrate", str(models.get(model, model)), str(path), "--out", str(out), *map(str, options)])
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".miscal")] == []
        return Told(status, capsys.readouterr(), out)

    return call
