"""Write the list of a study's tables into docs/study-tables.md: `python scripts/study_tables.py`."""

from pathlib import Path

from miscal.study.tables import TABLES

PAGE = Path(__file__).parents[1] / "docs" / "study-tables.md"
START, END = "<!-- tables: written by scripts/study_tables.py -->", "<!-- end of tables -->"


def section() -> str:
    """Return the list of tables and columns as Markdown."""
    parts = []
    for name, table in TABLES.items():
        rows = [f"| `{column}` | {kind} | {meaning} |" for column, (kind, meaning) in table.columns.items()]
        parts.append("\n".join([f"## `{name}`", "", f"A row is {table.about}.", "", "| column | type | meaning |",
                                "|---|---|---|", *rows]))  # fmt: skip
    return "\n\n".join(parts)


def written(page: str) -> str:
    """Return the page with the list as it should be."""
    before, rest = page.split(START)
    after = rest.split(END)[1]
    return f"{before}{START}\n\n{section()}\n\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
