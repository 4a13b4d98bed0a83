"""`miscal discover` says its answer first: before the page's numbers are made and its map is drawn."""

import subprocess
import sys
from pathlib import Path

import pytest

from miscal.discovery.summary import read_summary
from miscal.report.brief import brief_lines
from miscal.report.opening import opening_lines

pytestmark = pytest.mark.whole

TRACED = """
import os, sys
from miscal.cli import main
from miscal.discovery import discover, layout
def traced(module, name, mark):
    function = getattr(module, name)
    def run(*arguments, **options):
        os.write(1, mark)
        return function(*arguments, **options)
    setattr(module, name, run)
traced(discover, "find_subregimes", b"LATER\\n")
traced(layout, "lay_out", b"LATER\\n")
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("verbose", [False, True])
def test_the_answer_is_printed_before_parts_and_map_and_nothing_twice(table, tmp_path, verbose):
    table.head(150).write_parquet(tmp_path / "rows.parquet")
    options = ["--features", "x_*", "--map", "pca", "--evidence", "test", *["--verbose"] * verbose]
    told = subprocess.run(
        [sys.executable, "-c", TRACED, "discover", "rows.parquet", "--out", "run", *options],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, *between, after = told.stdout.split("LATER\n")
    assert len(between) == 3
    assert not any(between)
    summary = read_summary(tmp_path / "run")
    answer = opening_lines(summary.answer)
    assert before.splitlines() == ([] if verbose else answer)
    if not verbose:
        assert [*answer, *after.splitlines()] == brief_lines(summary, Path("run"))
    stages = [line.split()[0] for line in told.stderr.splitlines()]
    assert stages == ["reading", *summary.timing, "report"]
