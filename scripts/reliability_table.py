"""Count the tests that prove each promise, and write the note of reliability: `python scripts/reliability_table.py`.

The promises are in tests/promises.toml; `@pytest.mark.promise("I1", cases=50)` names what a test proves, and how many
cases one call of it tries. Counting collects the tests, which takes about as long as importing them. What fuzzing found
is in benchmarks/notes/fuzz.csv, as `benchmarks/fuzz.py` wrote it.
"""

import contextlib
import csv
import io
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "notes" / "reliability.md"
START, END = "<!-- tables: written by scripts/reliability_table.py -->", "<!-- end of tables -->"
FUZZ = ROOT / "benchmarks" / "notes" / "fuzz.csv"
FUZZ_START, FUZZ_END = "<!-- fuzz: written by scripts/reliability_table.py -->", "<!-- end of fuzz -->"
FUZZ_HEAD = "| what was read | examples | refused | ended otherwise | how |\n|---|---:|---:|---:|---|"
HEAD = "| row | what goes wrong | what miscal does | fast | slow | examples |\n|---|---|---|---:|---:|---:|"


@dataclass(frozen=True)
class Promise:
    """A kind of fault and what miscal does about it, as tests/promises.toml has it."""

    fault: str
    promise: str
    note: str = ""
    outside: str = ""


@dataclass(frozen=True)
class Count:
    """Cases of `make test`, those that `make test-all` adds, and examples that Hypothesis draws at most."""

    fast: int = 0
    slow: int = 0
    examples: int = 0

    def __add__(self, other: "Count") -> "Count":
        """Return the sums."""
        return Count(self.fast + other.fast, self.slow + other.slow, self.examples + other.examples)


def promises() -> dict[str, tuple[str, dict[str, Promise]]]:
    """Return title and promises of each group, by its letter; promises by their row, for instance "I1"."""
    table = tomllib.loads((ROOT / "tests" / "promises.toml").read_text(encoding="utf-8"))
    return {
        letter: (group.pop("title"), {f"{letter}{number}": Promise(**row) for number, row in group.items()})
        for letter, group in table.items()
    }


def rows() -> dict[str, Promise]:
    """Return every promise by its row."""
    return {name: promise for _, group in promises().values() for name, promise in group.items()}


def tally(items: Iterable[pytest.Item]) -> dict[str, Count]:
    """Count by row the cases of collected tests."""
    counts: dict[str, Count] = {}
    for item in items:
        for mark in item.iter_markers("promise"):
            for row in mark.args:
                counts[row] = counts.get(row, Count()) + _count(item, mark.kwargs.get("cases", 1))
    return counts


def _count(item: pytest.Item, cases: int) -> Count:
    function = getattr(item, "obj", None)
    if getattr(function, "is_hypothesis_test", False):
        # not above: pytest warns of plugins that were imported before it starts
        from hypothesis import settings

        chosen = getattr(function, "_hypothesis_internal_use_settings", None) or settings.default
        return Count(examples=chosen.max_examples)
    late = any(map(item.get_closest_marker, ("slow", "whole")))
    return Count(slow=cases) if late else Count(fast=cases)


def marked_files() -> list[Path]:
    """Return the files that hold tests with a mark."""
    return [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "mark.promise(" in path.read_text("utf-8")]


def section(counts: Mapping[str, Count]) -> str:
    """Return the tables as Markdown."""
    parts = [_total(counts)]
    for title, group in promises().values():
        lines = [_line(name, promise, counts.get(name, Count())) for name, promise in group.items()]
        notes = [f"- {name}: {told}." for name, row in group.items() if (told := row.outside or row.note)]
        parts.append("\n".join([f"### {title}", "", HEAD, *lines, *([""] if notes else []), *notes]))
    return "\n\n".join(parts)


def _line(name: str, row: Promise, count: Count) -> str:
    told = [f"{number:,}" if number else "" for number in (count.fast, count.slow, count.examples)]
    return f"| {name} | {row.fault} | {row.promise} | {' | '.join(told)} |"


def _total(counts: Mapping[str, Count]) -> str:
    known = rows()
    total = sum(counts.values(), Count())
    kinds = Counter("outside" if row.outside else "proven" if name in counts else "open" for name, row in known.items())
    unproven = [name for name, row in known.items() if not row.outside and name not in counts]
    still = f" Still without a test: {', '.join(unproven)}." if unproven else ""
    return (
        f"Of {len(known)} kinds of fault, {kinds['proven']} are proven by tests and {kinds['outside']} are answered "
        f"elsewhere. The tests try {total.fast:,} cases in `make test`, {total.slow:,} more in `make test-all`, and up "
        f"to {total.examples:,} generated examples; a case that proves two rows counts in both.{still}"
    )


def fuzzed() -> str:
    """Return what fuzzing found as a table of Markdown."""
    with FUZZ.open(newline="", encoding="utf-8") as stream:
        readers = list(csv.DictReader(stream))
    numbers = ("examples", "refused", "failures")
    lines = [
        f"| {one['reader']} | {' | '.join(f'{int(one[name]):,}' for name in numbers)} | {one['how']} |"
        for one in readers
    ]
    whole = [f"**{sum(int(one[name]) for one in readers):,}**" for name in numbers]
    return "\n".join([FUZZ_HEAD, *lines, f"| **all** | {' | '.join(whole)} | |"])


def written(page: str, counts: Mapping[str, Count]) -> str:
    """Return the page with the tables as they should be."""
    return _between(_between(page, FUZZ_START, FUZZ_END, fuzzed()), START, END, section(counts))


def _between(page: str, start: str, end: str, content: str) -> str:
    before, rest = page.split(start)
    return f"{before}{start}\n\n{content}\n\n{end}{rest.split(end)[1]}"


class _Collected:
    """Remember the tests that pytest collects, before it leaves any out."""

    items: list[Any]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self.items = list(items)


def collect() -> list[pytest.Item]:
    """Collect the tests that have a mark, and run none."""
    seen = _Collected()
    with contextlib.redirect_stdout(io.StringIO()):
        status = pytest.main(["--collect-only", "-qq", *map(str, marked_files())], plugins=[seen])
    if status != pytest.ExitCode.OK:
        raise SystemExit("the tests could not be collected: run pytest --collect-only")
    return seen.items


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), tally(collect())), encoding="utf-8")
