"""The documentation: its Python runs, what it names exists, its links lead somewhere, its keys are those written."""

import re
import shlex
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer.main

from miscal.cli import main
from miscal.cli.app import build
from miscal.discovery.summary import Summary

from .conftest import script_of

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]
NOTES = sorted([*(ROOT / "benchmarks" / "notes").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """Lay out the files that the pages speak of, in a folder of their own."""
    rng = np.random.default_rng(0)
    n = 400
    topic = rng.choice(["capitals", "sums"], n)
    f = rng.uniform(0.4, 0.9, n)
    y = (rng.random(n) < np.clip(f + np.where(topic == "sums", -0.3, 0.1), 0, 1)).astype(int)
    text = [f"{'What is the sum of' if t == 'sums' else 'Name the capital of'} {k % 97}?" for k, t in enumerate(topic)]
    frame = pl.DataFrame({"question": text, "topic": topic, "confidence": f, "correct": y})
    frame.write_parquet(tmp_path / "predictions.parquet")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


OTHERS = ("inspect_ai", "mlflow")
"""Tools that a page speaks of, and that need not be here."""


def run(page: Path) -> dict:
    """Run what a page says in Python, from its first block to its last."""
    space: dict = {}
    for block in blocks(page, "python"):
        if not any(f"import {name}" in block or f"from {name}" in block for name in OTHERS):
            exec(compile(block, page.name, "exec"), space)
    return space


@pytest.mark.slow
def test_python_with_a_file(workplace, capsys):
    space = run(ROOT / "README.md")
    assert space["found"].summary.answer.headline in " ".join(capsys.readouterr().out.split())
    assert space["corrected"].index.equals(space["predictions"].head().index)
    assert Path("run/report.html").is_file()


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text().split()) <= 1200


def test_the_readme_names_three_groups_and_their_first_commands():
    head = (ROOT / "README.md").read_text().partition("## Two commands")[0]
    first = re.findall(r"^\| .* \| `miscal ([^`]*)` \|", head, re.MULTILINE)
    assert len(first) == 3
    for command in first:
        check_command(*shlex.split(command))


def test_python_with_arrays(workplace, capsys):
    page = ROOT / "docs" / "estimator.md"
    space = run(page)
    printed, quoted = (re.findall(r"-?\d\.\d+", text) for text in (capsys.readouterr().out, blocks(page, "text")[0]))
    np.testing.assert_allclose(np.float64(printed), np.float64(quoted), atol=0.03)
    np.testing.assert_allclose(space["corrected"], space["f_new"] + space["delta"])
    np.testing.assert_array_equal(space["again"].calibrate(space["X_new"], space["f_new"]), space["corrected"])


@pytest.mark.whole
def test_python_page(workplace, few_folds):
    space = run(ROOT / "docs" / "python.md")
    assert space["corrected"].index.equals(space["new_loans"].index)
    assert space["again"].summary == space["found"].summary


def test_scoring_page(workplace):
    space = run(ROOT / "docs" / "scoring.md")
    assert space["triples"].X.shape[0] == len(space["questions"])


ORDER = {"France": 0, "Italy": 1, "Spain": 2, "Norway": 3}


def test_recipes_page(tmp_path, monkeypatch):
    golden = ROOT / "tests" / "data" / "importers" / "golden"
    shutil.copytree(golden, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    space = run(ROOT / "docs" / "recipes.md")
    softmax = (0.6652409557748219, 0.4683105308334812, 0.7053845126982412, 0.8668133321973349)
    read = {
        "helm": ((0.9, 0.5, 0.8, 0.25), (1, 0, 1, 0)),
        "chosen": (softmax, (1, 0, 0, 0)),
        "stated": ((0.9, 1.0, 0.75, 0.6), (1, 0, 1, 0)),
        "uqlm": ((0.9, 0.5, 0.8, 0.25), (1, 0, 1, 0)),
        "sure": ((0.9, 1.0, 0.75, 0.6), (1, 0, 1, 0)),
    }
    for name, (confidence, correct) in read.items():
        table = space[name].sort(pl.col("text").str.extract("(France|Italy|Spain|Norway)").replace_strict(ORDER))
        np.testing.assert_allclose(table["confidence"], confidence, atol=1e-12)
        assert table["correct"].to_list() == list(correct), name
        assert table["text"][0].startswith("Capital of France?")
    assert space["judged"].select("judge", "human").rows() == [(0.9, 1), (0.7, 0), (0.8, 1), (0.3, None)]


@pytest.mark.whole
def test_page_of_several_classes(workplace, few_folds):
    space = run(ROOT / "docs" / "classes.md")
    assert space["corrected"].height == space["table"].height


def test_no_page_with_python_is_left_out():
    tried = {"README.md", "estimator.md", "python.md", "scoring.md", "recipes.md", "classes.md", "questions.md"}
    assert {page.name for page in PAGES if blocks(page, "python")} == tried


def commands(text: str) -> list[list[str]]:
    """Return the commands of miscal that a page, or a part of one, shows, each with its arguments."""
    text = re.sub(r" *\\\n\s+", " ", text)
    lines = re.findall(r"^    (?:\$ |\.venv/bin/)?miscal (.*)$", text, re.MULTILINE)
    return [shlex.split(re.sub(r" >>? .*", "", line), comments=True) for line in lines]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_and_options_exist(page):
    for arguments in commands(page.read_text()):
        check_command(*arguments)


def check_command(name: str, *arguments: str) -> None:
    """Parse a command as it stands: its options exist, and take as many values as they are given."""
    command = typer.main.get_command(build()).commands[name]
    context = command.make_context(name, [], resilient_parsing=True)
    context.resilient_parsing = False
    assert not command.make_parser(context).parse_args(list(arguments))[1], arguments


@pytest.mark.parametrize("arguments", [("show", "run", "--colums"), ("show", "run", "--by"), ("show", "run", "other")])
def test_a_command_that_does_not_parse_is_noticed(arguments):
    with pytest.raises(Exception, match=r"colums|requires an argument|other"):
        check_command(*arguments)


def test_cheap_commands_run(workplace, answers_run, capsys):
    """What pages do to a finished run is done to one that has the columns."""
    shutil.copytree(answers_run, "run")
    tried = set()
    for arguments in (one for page in PAGES for one in commands(page.read_text())):
        if arguments[0] == "show" and not {"--by", "--class"} & set(arguments) and tuple(arguments[2:]) not in tried:
            tried.add(tuple(arguments[2:]))
            assert main(["show", "run", *arguments[2:]]) == 0, arguments
            assert capsys.readouterr().out
    assert ("--columns",) in tried


def anchors(page: Path) -> set[str]:
    """Anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", *NOTES], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page, made):
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)]*)\)", page.read_text()):
        if not target.startswith("https://"):
            if target.startswith("made/"):  # the build follows the anchors of these
                assert Path(target).stem in made.PAGES, target
                continue
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


def test_the_map_of_the_rooms_says_what_their_docstrings_say(made):
    assert (ROOT / "CONTRIBUTING.md").read_text() == made.contributing(), "run python scripts/made_pages.py"
    rooms = ROOT / "src" / "miscal"
    assert {rooms / name for name in made.folders()} == {place.parent for place in rooms.glob("*/**/__init__.py")}


def test_the_page_of_promises_names_tests_that_are_there():
    page = (ROOT / "benchmarks" / "notes" / "reliability.md").read_text()
    promised = re.findall(r"^- \*\*([IFSCDV]\d+)\*\* (.*)$", page, re.MULTILINE)
    assert len(promised) == 72
    assert [row for row, tests in promised if "`tests/" not in tests] == ["I18", "D4"]
    named = re.findall(r"`(?:tests/)?((?:\w+/)*test_\w+\.py)`", page)
    assert [name for name in named if not (ROOT / "tests" / name).exists()] == []


@pytest.fixture(scope="module")
def made():
    return script_of("made_pages")


def test_every_key_of_a_document_is_explained(made):
    kinds = [kind for some in made.every_part().values() for kind in some]
    assert len(kinds) > 40
    assert {kind.__name__: set(made.keys(kind)) - set(made.documented(kind)) for kind in kinds} == {
        kind.__name__: set() for kind in kinds
    }


def test_made_pages_list_every_key_and_command(made):
    outputs, lines = (made.PAGES[name]() for name in ("outputs", "commands"))
    assert all(f"| `{field.alias or name}` |" in outputs for name, field in Summary.model_fields.items())
    assert all(f"## miscal {name}\n" in lines for name in typer.main.get_command(build()).commands)
    assert all(line.endswith(" |") for line in outputs.splitlines() if line.startswith("| "))
    assert made.meanings("One.\n\n`a, b`: first; `c` too.\n`c`: last\n    of all.") == {
        "a": "first; `c` too.", "b": "first; `c` too.", "c": "last of all."
    }  # fmt: skip


def test_the_site_is_short():
    words = {page: len(page.read_text().split()) for page in PAGES if page.name != "CONTRIBUTING.md"}
    assert sum(words.values()) <= 27_000
    assert max(words.values()) <= 2_500


def test_targets_of_the_makefile_are_real():
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for page in PAGES:
        assert set(re.findall(r"^ {4}make ([a-z-]+)", page.read_text(), re.MULTILINE)) <= targets
