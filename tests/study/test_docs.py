"""docs/study.md lists every table and column as they are."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]


def script():
    spec = importlib.util.spec_from_file_location("study_tables", ROOT / "scripts" / "study_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_list_of_tables_is_up_to_date():
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    assert script().written(page) == page, "run python scripts/study_tables.py"
