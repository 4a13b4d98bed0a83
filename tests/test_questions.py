"""The page of questions, and that of other names: their commands run in order, print what is quoted, and are short."""

import re
import shutil
from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest

from miscal.cli import main
from miscal.data import flights
from miscal.scoring import demo

from .test_docs import commands, decimals

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


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """Lay out the tables that both pages speak of."""
    monkeypatch.setenv("MPLBACKEND", "agg")
    shutil.copy(flights.path(), tmp_path / "flights.parquet")
    shutil.copy(demo.path(), tmp_path / "answers.parquet")
    judge = (DOCS / "gallery" / "plot_judge.py").read_text(encoding="utf-8")
    space: dict = {}
    exec(judge.partition("found = ")[0], space)
    space["answers"].write_parquet(tmp_path / "judged.parquet")
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
