"""Pages show what commands print: each of their commands is run, and prints what stands below it."""

import re
import shlex
import shutil
from contextlib import chdir
from pathlib import Path

import pytest

from miscal.cli import main
from miscal.data import flights

from .test_docs import blocks, commands

DOCS = Path(__file__).parents[1] / "docs"
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
            judge = (DOCS / "gallery" / "plot_judge.py").read_text(encoding="utf-8")
            space: dict = {}
            exec(judge.partition("found = ")[0], space)
            space["answers"].write_parquet("answers.parquet")
        if page == "classes.md":
            exec(compile(blocks(DOCS / page, "python")[0], page, "exec"), {})
        for command in BEFORE.get(page, []):
            assert main(command) == 0
        assert check_quotes(text, capsys) == number


def test_a_quote_that_a_command_does_not_print_is_noticed(capsys):
    page = "    miscal --version\n\n```text\nno version\n```\n"
    with pytest.raises(AssertionError):
        check_quotes(page, capsys)
