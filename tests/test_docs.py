"""The documentation: its Python runs, its commands exist, its links lead somewhere, its keys are those written."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer.main

from miscal.cli.app import build
from miscal.discovery.summary import Summary

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]


@pytest.fixture
def predictions(tmp_path, monkeypatch):
    """Lay out the file and the arrays that the README speaks of."""
    rng = np.random.default_rng(0)
    n = 400
    topic = rng.choice(["capitals", "sums"], n)
    f = rng.uniform(0.4, 0.9, n)
    y = (rng.random(n) < np.clip(f + np.where(topic == "sums", -0.3, 0.1), 0, 1)).astype(int)
    text = [f"{'What is the sum of' if t == 'sums' else 'Name the capital of'} {k % 97}?" for k, t in enumerate(topic)]
    frame = pl.DataFrame({"question": text, "topic": topic, "confidence": f, "correct": y})
    frame.write_parquet(tmp_path / "predictions.parquet")
    monkeypatch.chdir(tmp_path)
    X = np.column_stack([topic == "sums", rng.normal(size=n)]).astype(float)
    return {"X": X, "y": y, "f": f, "X_new": X[:5], "f_new": f[:5]}


def readme_blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


@pytest.mark.slow
def test_python_with_a_file(predictions, capsys):
    exec(compile(readme_blocks()[0], "README.md", "exec"), {})
    assert "idden miscalibration was " in capsys.readouterr().out
    assert Path("run/report.html").is_file()


def test_python_with_arrays(predictions):
    space = dict(predictions)
    exec(compile(readme_blocks()[1], "README.md", "exec"), space)
    np.testing.assert_allclose(space["corrected"], predictions["f_new"] + space["delta"])
    np.testing.assert_array_equal(space["again"].calibrate(space["X_new"], space["f_new"]), space["corrected"])


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_options_exist(page):
    commands = typer.main.get_command(build()).commands
    for line in re.findall(r"^ {4}miscal (.*)$", page.read_text(), re.MULTILINE):
        name, *rest = line.split("#")[0].split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known, line


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_key_of_the_summary_is_documented():
    told = (ROOT / "docs" / "outputs.md").read_text()
    missing = [
        field.alias or name for name, field in Summary.model_fields.items() if f"`{field.alias or name}`" not in told
    ]
    assert not missing


def test_targets_of_the_makefile_are_real():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"^ {4}make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets
