"""The page of benchmarks: its tables hold numbers of the csv files beside it, and it names every one of those."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "benchmarks.md").read_text()
FILES = sorted((DOCS / "benchmarks").glob("*.csv"))


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+\.\d+", text))


def test_every_csv_is_linked_from_the_page():
    assert FILES
    assert {path.name for path in FILES} == set(re.findall(r"\(benchmarks/([\w-]+\.csv)\)", PAGE))


def test_every_decimal_of_the_tables_is_in_a_csv():
    measured = PAGE.split("## Real sets")[1].split("## Speed")[0]
    shown = numbers("\n".join(line for line in measured.splitlines() if line.startswith("|")))
    assert len(shown) > 150
    assert shown <= numbers("\n".join(path.read_text() for path in FILES))


def test_the_page_is_short():
    assert len(PAGE.splitlines()) <= 250
