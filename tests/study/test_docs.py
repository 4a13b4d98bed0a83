"""Pages of results are made from the tables that are published."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["real_sets", "smollm2"])
def test_pages_of_results_are_those_of_the_published_tables(name):
    results = script("study_results")
    page = (ROOT / "benchmarks" / "notes" / "studies" / f"{name}.md").read_text(encoding="utf-8")
    assert results.page(name, results.published(name)) == page, f"run python scripts/study_results.py {name}"


def test_no_table_of_single_rows_is_published():
    published = {path.stem for path in (ROOT / "benchmarks" / "notes" / "studies").glob("*/*.csv")}
    assert published
    assert "layouts" not in published
