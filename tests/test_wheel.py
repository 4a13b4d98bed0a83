"""The built wheel in a clean environment with core alone: the newest versions of the lock, and the oldest allowed."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest

ROOT = Path(__file__).parents[1]
VERSION = "{}.{}".format(*sys.version_info)
NEWEST = f"requirements-core{'' if VERSION == '3.11' else f'-{VERSION}'}.lock"
OLDEST = "requirements-core-oldest.lock"
N = 400

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@dataclass(frozen=True)
class Clean:
    """An environment with miscal and what it depends on, and nothing of this one."""

    bin: Path
    work: Path

    def run(self, *command: str | Path, status: int = 0) -> subprocess.CompletedProcess:
        # what is on this PYTHONPATH is the source tree, not what was installed
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        program, *arguments = map(str, command)
        ended = subprocess.run(
            [self.bin / program, *arguments],
            cwd=self.work,
            env=environment,
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert ended.returncode == status, ended.stdout + ended.stderr
        return ended


def pip(python: Path | str, *arguments: str | Path) -> None:
    """Run pip; where it fails because no index answers, the test is skipped and says so."""
    asked = [python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments]
    ended = subprocess.run(asked, capture_output=True, text=True, timeout=900)
    if ended.returncode:
        probe = [python, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--retries", "0", "mdurl==0.1.2"]
        here = Path(python).parent
        if subprocess.run([*probe, "-d", here], capture_output=True, timeout=300).returncode:
            pytest.skip("no package index can be reached")
        pytest.fail(ended.stderr)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "--no-build-isolation", "-w", out, ROOT)
    return next(out.glob("miscal-*.whl"))


@pytest.fixture(scope="module", params=[NEWEST, OLDEST])
def clean(request, wheel, tmp_path_factory) -> Clean:
    if request.param == OLDEST and VERSION != "3.11":
        pytest.skip("the oldest versions are those with wheels for Python 3.11")
    place = tmp_path_factory.mktemp("clean")
    subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True, timeout=300)
    pip(place / "venv" / "bin" / "python", "install", "--no-deps", "-r", ROOT / request.param, wheel)
    return Clean(place / "venv" / "bin", place)


@pytest.fixture(scope="module")
def answers(clean) -> Path:
    rng = np.random.default_rng(0)
    law, confidence = rng.random(N) < 0.5, rng.uniform(0.4, 0.6, N)
    path = clean.work / "answers.csv"
    pl.DataFrame(
        {
            "question": [f"what of {'law' if is_law else 'sums'} number {i}" for i, is_law in enumerate(law)],
            "subject": np.where(law, "law", "sums"),
            "length": rng.normal(size=N) + law,
            "confidence": confidence,
            "correct": (rng.random(N) < confidence + np.where(law, -0.35, 0.35)).astype(int),
        }
    ).write_csv(path)
    return path


@pytest.fixture(scope="module")
def runs(clean, answers) -> dict[str, Path]:
    """One run on texts and one on columns."""
    inputs = {"text": ("--text", "question"), "features": ("--features", "length,subject", "--text", "question")}
    for name, options in inputs.items():
        clean.run("miscal", "discover", answers, *options, "--metadata", "subject", "--out", clean.work / name)
    return {name: clean.work / name for name in inputs}


def test_what_is_installed_is_all_that_the_wheel_asks_for(clean):
    clean.run("python", "-m", "pip", "check")
    told = clean.run("python", "-m", "pip", "list", "--format=freeze").stdout
    assert not {line.split("==")[0] for line in told.splitlines()} & {"torch", "matplotlib", "transformers"}
    assert clean.run("miscal", "--version").stdout.startswith("miscal ")


def test_demo(clean):
    clean.run("miscal", "demo", "--out", "demo")
    assert (clean.work / "demo" / "report.html").stat().st_size > 100_000


@pytest.mark.parametrize("inputs", ["text", "features"])
def test_discover_and_calibrate(clean, answers, runs, inputs):
    found = pl.read_parquet(runs[inputs] / "field.parquet")
    law = pl.read_csv(answers)["subject"].to_numpy() == "law"
    delta = found.sort("row")["delta"].to_numpy()
    assert delta[law].mean() < -0.1 < 0.1 < delta[~law].mean()
    table = clean.work / f"{inputs}.csv"
    clean.run("miscal", "calibrate", runs[inputs], answers, "--out", table)
    corrected = pl.read_csv(table)
    assert len(corrected) == N
    assert corrected["corrected"].is_between(0, 1).all()


def test_audit_compare_and_report(clean, runs):
    clean.run("miscal", "audit", runs["features"], "--draws", "1", "--seeds", "2")
    clean.run("miscal", "compare", runs["text"], runs["features"], "--out", "compared")
    assert (clean.work / "compared" / "compare.html").exists()
    (runs["text"] / "report.html").unlink()
    clean.run("miscal", "report", runs["text"])
    assert (runs["text"] / "report.html").exists()


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("paper", "discover answers.csv --features length --method paper --out p"),
        ("paper", "synthetic clusters --out s"),
        ("llm", "score --model gemma-3-1b --task mmlu --out m"),
        ("llm", "demo --live --out l"),
        ("interpret", "discover answers.csv --features length --map umap --out u"),
    ],
)
def test_a_command_without_its_extra_names_it(clean, answers, extra, command):
    told = clean.run("miscal", *command.split(), status=2)
    assert told.stdout == ""
    assert told.stderr.count("\n") == 1
    assert f'which are not installed: run pip install "miscal[{extra}]"' in told.stderr.replace("which is", "which are")
