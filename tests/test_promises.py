"""benchmarks/notes/reliability.md says what the tests prove, no more and no less."""

import re
from pathlib import Path

import pytest

from .conftest import COLLECTED, script_of

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script():
    return script_of("reliability_table")


@pytest.fixture(scope="module")
def counts(script, request):
    """Cases by row, where the whole suite was collected."""
    items = request.config.stash[COLLECTED]
    if not set(script.marked_files()) <= {item.path for item in items}:
        pytest.skip("counts all tests: run `make test`, or python scripts/reliability_table.py")
    return script.tally(items)


def test_the_tables_are_up_to_date(script, counts):
    page = script.PAGE.read_text(encoding="utf-8")
    assert script.written(page, counts) == page, "run python scripts/reliability_table.py"


def test_every_promise_is_proven_or_answered_elsewhere(script, counts):
    known = script.rows()
    assert set(counts) <= set(known)
    assert {name for name, row in known.items() if not row.outside} == set(counts)


def test_the_site_counts_the_promises(script):
    known = script.rows().values()
    outside = sum(bool(row.outside) for row in known)
    words = " ".join((ROOT / "docs" / "measured.md").read_text(encoding="utf-8").split())
    assert f"{len(known)} kinds of fault are listed" in words
    assert f"Tests prove {len(known) - outside} of them, and two are answered elsewhere" in words
    assert outside == 2


def test_rows_are_numbered_without_gaps(script):
    sizes = {letter: len(group) for letter, (_, group) in script.promises().items()}
    assert sizes == {"I": 18, "F": 10, "S": 12, "C": 16, "D": 9, "V": 7}
    assert list(script.rows()) == [f"{letter}{k + 1}" for letter, size in sizes.items() for k in range(size)]


def test_cases_and_examples_are_counted_apart(script, pytester_items):
    counts = script.tally(pytester_items)
    assert counts["I1"] == script.Count(fast=2 * 3, slow=0, examples=0)
    assert counts["I2"] == script.Count(fast=0, slow=5, examples=0)
    assert counts["I3"] == script.Count(fast=1, slow=0, examples=7)


@pytest.fixture
def pytester_items(tmp_path, script):
    """Collect tests of all kinds in a file of their own."""
    (tmp_path / "test_kinds.py").write_text(
        """
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.promise("I1", cases=3)
@pytest.mark.parametrize("k", range(2))
def test_parametrised(k): pass

@pytest.mark.slow
@pytest.mark.promise("I2", cases=5)
def test_slow(): pass

@pytest.mark.promise("I3")
@settings(max_examples=7)
@given(st.integers())
def test_property(k): pass

@pytest.mark.promise("I3")
def test_single(): pass
"""
    )
    seen = script._Collected()
    markers = ["-o", "markers=slow: long\npromise: proves"]
    arguments = ["--collect-only", "-qq", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path)]
    assert pytest.main([*arguments, *markers, str(tmp_path)], plugins=[seen]) == 0
    return seen.items


def test_no_marked_file_depends_on_an_extra(script):
    """It would be left out as a whole where the extra is missing, and the counts would differ."""
    for path in script.marked_files():
        assert not re.search(r"^(\w+ = )?pytest\.importorskip", path.read_text("utf-8"), re.MULTILINE), path.name
