"""The section of tables: a table for each column, whose every number stands in columns.parquet."""

import polars as pl

from miscal.report import render

from .conftest import METHOD, value_of
from .read_page import page_of, section_of


def columns_of(folder):
    return section_of(render(folder).read_text(encoding="utf-8"), "columns")


def test_every_value_stands_with_its_numbers_and_its_mark(make_run):
    section = columns_of(make_run(300))
    for shown in (
        "&lt;b&gt;law&lt;/b&gt;",
        "−40.0",
        "−25.0",
        "−30.0 to −20.0",
        "−17.0",
        '<a href="#finding-1">finding 1</a>',
        '<a href="#finding-1">explained in part by finding 1</a>',
        "leaves −26.0 (−34.0 to −18.0)",
        "not distinguishable",
        "too few rows",
        "4 values, 1 finding, 1 explained by findings",
        "below 20",
        "at least 20",
    ):
        assert shown in section, shown


def test_tables_take_the_place_of_the_list_of_values_accounted_for(make_run):
    def change(summary):
        summary["accounted_for"] = [summary["findings"][0]] * 2

    run = make_run(300, edit=change)
    assert "2 more values of columns differ" in page_of(run).visible
    assert 'see <a href="#columns">columns</a>' in render(run).read_text(encoding="utf-8")
    (run / "columns.parquet").unlink()
    page = page_of(run)
    assert "2 more values of columns differ, which the groups above explain in part or whole." in page.visible
    assert "value by value" not in page.visible


def test_a_run_without_tables_or_findings_has_no_such_section(make_run):
    assert "value by value" not in page_of(make_run(300, kind="empty")).visible


def test_a_page_of_many_columns_of_many_values_stays_small_and_says_what_is_left_out(make_run):
    run = make_run(300)
    template = pl.read_parquet(run / "columns.parquet")
    rows = [
        value_of(f"v{place}", f"column {number}", n=1000 - place, mark="not distinguishable", finding=None)
        for number in range(210)
        for place in range(30)
    ]
    rows[29].update(mark="finding", finding=1)
    pl.DataFrame(rows, schema=template.schema).write_parquet(run / "columns.parquet")
    section = columns_of(run)
    assert section.count('<details class="column"') == 200
    assert section.count("<tr") == 200 * 11
    # the finding is shown although it has the fewest rows
    assert ">v29</th>" in section
    assert ">v28</th>" not in section
    assert "20 more values, which no finding names and which have the" in section
    assert "10 more columns are in columns.parquet" in section
    assert len(section) < 3_000_000


def test_a_run_of_test_rows_says_so(make_run):
    def change(summary):
        summary["findings_method"] = {**METHOD, "evidence": "test"}

    assert "on 1,200 test rows" in page_of(make_run(300, edit=change)).visible
