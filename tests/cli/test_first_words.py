"""`miscal discover` says its answer first: before what only the page needs is computed, or imported."""

import subprocess
import sys
from pathlib import Path

import pytest

from miscal.discovery.summary import read_summary
from miscal.report.brief import brief_lines
from miscal.report.opening import opening_lines

pytestmark = pytest.mark.whole

TRACED = """
import importlib, os, sys
from miscal.cli import main
from miscal.base.process import import_lightly
import_lightly()
def traced(module, name):
    module = importlib.import_module(module)
    function = getattr(module, name)
    def run(*arguments, **options):
        os.write(1, b"LATER\\n")
        open("modules.txt", "a").write(" ".join(sys.modules) + "\\n")
        return function(*arguments, **options)
    setattr(module, name, run)
traced("miscal.discovery.summarise", "contents_of")
traced("miscal.discovery.layout", "lay_out")
status = main(sys.argv[1:])
open("modules.txt", "a").write(" ".join(sys.modules))
sys.exit(status)
"""

UNUSED = {
    *("pandas", "matplotlib", "torch", "transformers", "sentence_transformers", "datasets", "numba", "umap", "ray"),
    *("miscal.estimators.paper", "miscal.study", "miscal.scoring.tasks", "miscal.integrations", "miscal.runs.audit"),
    *("miscal.runs.compare", "miscal.runs.monitor", "miscal.runs.correct", "miscal.runs.run", "miscal.report.displays"),
}
"""What a run imports for nothing."""
OF_THE_PAGE = {"jinja2", "markupsafe", "miscal.report.page", "miscal.report.map_data"}
"""What nothing before the answer needs."""


def test_the_answer_is_printed_before_words_and_map_and_nothing_twice(table, tmp_path):
    table.head(150).write_parquet(tmp_path / "rows.parquet")
    options = ["--features", "x_*", "--map", "pca", "--evidence", "test"]
    told = subprocess.run(
        [sys.executable, "-c", TRACED, "discover", "rows.parquet", "--out", "run", *options],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    before, *between, after = told.stdout.split("LATER\n")
    assert len(between) == 2
    assert not any(between)
    summary = read_summary(tmp_path / "run")
    answer = opening_lines(summary.answer)
    assert before.splitlines() == answer
    assert [*answer, *after.splitlines()] == brief_lines(summary, Path("run"))
    first, *_, last = (set(line.split()) for line in (tmp_path / "modules.txt").read_text().splitlines())
    assert first & (UNUSED | OF_THE_PAGE) == set()
    assert last & UNUSED == set()
    stages = [line.split()[0] for line in told.stderr.splitlines()]
    assert stages == ["reading", *summary.timing, "report"]
