"""Pages print what they quote: of questions, of other names, and of what commands print; examples run as scripts."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest

from miscal.cli import main
from miscal.data import flights
from miscal.scoring import demo

from .test_docs import blocks, commands, decimals

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
STEP = re.compile(
    r"```python\n(?P<python>.*?)```|(?P<shell>(?:^    [^\n]*\n)+)|```text\n(?P<text>.*?)```", re.DOTALL | re.MULTILINE
)
"""What a page lets a reader do, and what that prints."""


def parts(text: str) -> dict[str, str]:
    """Return the parts of a page by their headings of the second level."""
    pieces = re.split(r"^## (.*)$", text, flags=re.MULTILINE)[1:]
    return dict(zip(pieces[::2], pieces[1::2], strict=True))


def follow(text: str, capsys) -> int:
    """Do what a page says, step by step, and compare what is printed with what it quotes; return how many quotes."""
    space: dict = {}
    printed, quoted = "", 0
    for step in STEP.finditer(text):
        if step["text"]:
            assert step["text"] in printed
            quoted += 1
            continue
        capsys.readouterr()
        if step["python"]:
            exec(compile(step["python"], "page", "exec"), space)
        for command in commands(step["shell"] or ""):
            assert main(command) == 0, command
        printed = capsys.readouterr().out
    return quoted


def judged_answers() -> pl.DataFrame:
    """Return the table that the example of a judge makes."""
    judge = (DOCS / "gallery" / "plot_judge.py").read_text(encoding="utf-8")
    space: dict = {}
    exec(judge.partition("found = ")[0], space)
    return space["answers"]


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """Lay out the tables that both pages speak of."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    shutil.copy(flights.path(), tmp_path / "flights.parquet")
    shutil.copy(demo.path(), tmp_path / "answers.parquet")
    judged_answers().write_parquet(tmp_path / "judged.parquet")
    with chdir(tmp_path):
        yield tmp_path


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("page", "quotes"), [("questions.md", 9), ("known_as.md", 1)])
def test_what_a_page_says_runs_and_prints_what_it_quotes(page, quotes, workplace, capsys):
    assert follow((DOCS / page).read_text(encoding="utf-8"), capsys) == quotes


def test_a_quote_that_is_not_printed_is_noticed(capsys):
    with pytest.raises(AssertionError):
        follow('```python\nprint("yes")\n```\n\n```text\nno\n```\n', capsys)


def test_fifteen_questions_have_a_command_each_and_short_answers():
    asked = parts((DOCS / "questions.md").read_text(encoding="utf-8"))
    assert len(asked) == 15
    for question, answer in asked.items():
        assert question.endswith("?"), question
        assert any(step["python"] or commands(step["shell"] or "") for step in STEP.finditer(answer)), question
        assert len(re.sub(r"^\|.*$", "", STEP.sub("", answer), flags=re.MULTILINE).split()) <= 120, question


def test_other_names_have_a_command_each():
    for name, text in parts((DOCS / "known_as.md").read_text(encoding="utf-8")).items():
        assert commands(text), name


def test_the_table_of_tools_holds_what_was_compared():
    lines = [line for line in (DOCS / "questions.md").read_text().splitlines() if line.startswith("|")]
    shown = set(re.findall(r"\d\.\d{3,}", "\n".join(lines)))
    values = decimals((ROOT / "benchmarks" / "notes").glob("agree-*.csv"))
    assert len(shown) == 5
    # probcal's smECE is that of the quadrature, but for the difference which stands beside it
    assert shown - values == {"0.04847"}
    smooth = pl.read_csv(ROOT / "benchmarks" / "notes" / "agree-smece.csv").row(
        by_predicate=pl.col("case") == "flights", named=True
    )
    assert smooth["along log-odds"] + smooth["probcal"] == pytest.approx(0.04847, abs=1e-5)


EXAMPLES = sorted((DOCS / "gallery").glob("plot_*.py"))


@pytest.mark.whole
@pytest.mark.timeout(300)
@pytest.mark.parametrize("example", EXAMPLES, ids=[example.stem for example in EXAMPLES])
def test_it_runs(example, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "agg"}
    ended = subprocess.run(
        [sys.executable, example], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout
    assert not list(tmp_path.iterdir())


QUOTED = re.compile(r"((?:^    .*\n)+)\n```text\n([^`]*)```", re.MULTILINE)
MONTH = "discover flights.parquet --probability predicted_delay_risk --event delayed --out {} --where".format
BEFORE = {
    "watching.md": [
        [*shlex.split(MONTH(name)), f"extract(month from departure) = {number}"]
        for name, number in (("april", 4), ("may", 5))
    ]
}
"""What a page presumes was done, beside the commands that it shows."""


def quotes(text: str) -> list[tuple[list[list[str]], str]]:
    """Return what a page quotes, each with the commands of miscal above it."""
    return [(commands(above), said) for above, said in QUOTED.findall(text)]


def check_quotes(text: str, capsys) -> int:
    """Run the commands of a page and compare what they print; return how many quotes it has."""
    for asked, said in quotes(text):
        for command in asked:
            capsys.readouterr()
            assert main(command) == 0, command
        assert said in capsys.readouterr().out.replace(f"{Path.cwd()}/", ""), asked
    return len(quotes(text))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("page", "number"),
    [("report.md", 2), ("events.md", 1), ("limits.md", 1), ("watching.md", 3), ("judges.md", 1), ("classes.md", 1),
     ("scanning.md", 1), ("card.md", 1)],
)  # fmt: skip
def test_a_page_quotes_what_its_commands_print(page, number, tmp_path, capsys):
    shutil.copy(flights.path(), tmp_path / "flights.parquet")
    text = (DOCS / page).read_text(encoding="utf-8")
    with chdir(tmp_path):
        if page == "judges.md":
            judged_answers().write_parquet("answers.parquet")
        if page == "classes.md":
            exec(compile(blocks(DOCS / page, "python")[0], page, "exec"), {})
        for command in BEFORE.get(page, []):
            assert main(command) == 0
        assert check_quotes(text, capsys) == number


def test_a_quote_that_a_command_does_not_print_is_noticed(capsys):
    page = "    miscal --version\n\n```text\nno version\n```\n"
    with pytest.raises(AssertionError):
        check_quotes(page, capsys)
