"""The section of tables: a table for each column, whose every number stands in columns.parquet."""

import polars as pl

from miscal.report import render

from .conftest import value_of
from .read_page import section_of


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
