"""What of a study is published."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_no_table_of_single_rows_is_published():
    published = {path.stem for path in (ROOT / "benchmarks" / "notes" / "studies").glob("*/*.csv")}
    assert published
    assert "layouts" not in published
