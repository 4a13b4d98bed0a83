"""The documentation: its Python runs, what it names exists, its links lead somewhere, its keys are those written."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import typer.main

from miscal.cli.app import build
from miscal.discovery.summary import Summary

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]
NOTES = sorted([*(ROOT / "benchmarks" / "notes").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


@pytest.fixture
def predictions(tmp_path, monkeypatch):
    """Lay out the file and the arrays that the README and the page on estimators speak of."""
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


def first_block(page: str) -> str:
    return re.search(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL).group(1)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/front.md"])
def test_python_with_a_file(page, predictions, capsys):
    space: dict = {}
    exec(compile(first_block(page), page, "exec"), space)
    assert space["found"].summary.answer.headline in " ".join(capsys.readouterr().out.split())
    assert space["corrected"].index.equals(space["predictions"].head().index)
    assert Path("run/report.html").is_file()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 1200


def test_python_with_arrays(predictions):
    space = dict(predictions)
    exec(compile(first_block("docs/estimator.md"), "estimator.md", "exec"), space)
    np.testing.assert_allclose(space["corrected"], predictions["f_new"] + space["delta"])
    np.testing.assert_array_equal(space["again"].calibrate(space["X_new"], space["f_new"]), space["corrected"])


def test_python_page(tmp_path, monkeypatch, few_folds):
    rng = np.random.default_rng(0)

    def loans(n):
        region, risk = rng.choice(["north", "south"], n), rng.uniform(0.3, 0.7, n)
        defaulted = rng.random(n) < risk + np.where(region == "south", 0.28, -0.28)
        return pd.DataFrame({"risk": risk, "defaulted": defaulted, "region": region})

    monkeypatch.chdir(tmp_path)
    space = {"loans": loans(240), "new_loans": loans(60)}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "python.md").read_text(), re.DOTALL)
    exec(compile("\n".join(blocks), "python.md", "exec"), space)
    assert space["corrected"].index.equals(space["new_loans"].index)
    assert space["again"].summary == space["found"].summary


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_options_exist(page):
    commands = typer.main.get_command(build()).commands
    for line in re.findall(r"^ {4}miscal (.*)$", page.read_text(), re.MULTILINE):
        name, *rest = line.split("#")[0].split()
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert {word for word in rest if word.startswith("--")} <= known, line


def anchors(page: Path) -> set[str]:
    """Anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", *NOTES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if not target.startswith("https://"):
            place = page.parent / target if target else page
            assert place.exists(), target
            assert not anchor or anchor in anchors(place), f"{target}#{anchor}"


def decimals(pages) -> set[str]:
    return set(re.findall(r"\d+\.\d+", "\n".join(page.read_text() for page in pages)))


def test_what_was_measured_stands_in_the_notes():
    measured = decimals([ROOT / "docs" / "measured.md"])
    assert len(measured) > 20
    assert measured <= decimals([*NOTES, *(ROOT / "benchmarks" / "notes").rglob("*.csv")])


def resolve(path: str) -> object:
    """Import the module or name at a dotted path."""
    module, *rest = path.split(".")
    found = import_module(module)
    for name in rest:
        # a name that the package exports comes before a module of the same name
        found = getattr(found, name) if hasattr(found, name) else import_module(f"{found.__name__}.{name}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_names_of_the_package_exist(page):
    for path in set(re.findall(r"\bmiscal(?:\.[A-Za-z_]\w*)+", page.read_text())):
        try:
            resolve(path)
        except ModuleNotFoundError as error:
            # a module for another tool, which may not be installed
            if path.split(".")[1] != "integrations" or error.name.startswith("miscal"):
                raise


def test_a_stale_name_is_noticed():
    with pytest.raises(ModuleNotFoundError):
        resolve("miscal.scores.smece")


@pytest.mark.parametrize("page", [*PAGES, *NOTES], ids=lambda page: str(page.relative_to(ROOT)))
def test_files_of_the_repository_exist(page):
    """NAME.py is a file to be written: its folder must be there."""
    for name in re.findall(r"`((?:src|tests|docs|examples|scripts|benchmarks)/[\w./-]+)`", page.read_text()):
        path = ROOT / name
        assert (path.parent if path.stem == "NAME" else path).exists(), name


def test_every_room_is_on_the_floor_plan():
    rooms = re.findall(r"^\| `(\w+)` \|", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    layers = re.search(r"^layers = \[(.*?)\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    order = [re.findall(r"\w+", layer) for layer in reversed(re.findall(r'"(.*?)"', layers.group(1)))]
    built = [room for layer in order for room in layer if (ROOT / "src" / "miscal" / room).is_dir()]
    assert rooms == built


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
