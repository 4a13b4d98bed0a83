"""The section over time: a dot for each period, before and after, and the words of evidence in the order of time."""

import re

import pytest

from miscal.report import render

from .read_page import page_of, section_of

STARTS = ("2024-01-01", "2024-01-08", "2024-01-15", "2024-01-22")
BLOCKS = tuple({"first": start, "last": start, "n": 75} for start in STARTS)


def period(start, value=0.02, n=75):
    measure = {"value": value, "interval": [value - 0.05, value + 0.05]}
    means = {"accuracy": 0.6, "confidence": 0.62, "corrected": 0.61}
    return {"start": start, "n": n, **means, "residual": measure, "hidden": measure, "after": measure}


def edited(**changes):
    told = {
        "column": "asked <at>",
        "period": "week",
        "periods": [period(start, 0.01 * place) for place, start in enumerate(STARTS)],
        "findings": [{"finding": 1, "periods": [period(STARTS[0]), period(STARTS[2])]}],
        "blocks": [],
        **changes,
    }

    def change(summary):
        summary["over_time"] = told
        summary["evidence"] = "time" if told["blocks"] else "all"

    return change


def over_time_of(run):
    return section_of(render(run).read_text(encoding="utf-8"), "over-time")


def test_each_period_has_its_dots_with_intervals(make_run):
    section = over_time_of(make_run(300, edit=edited()))
    # four of the level; four before and four after of all rows; two and two of the finding
    whiskers = re.findall('class="whisker" d="([^"]*)"', section)
    assert section.count("<circle") == sum(one.count("M") for one in whiskers) == 4 + 8 + 4
    assert section.count('class="sure"') == 4 + 2
    assert "2024-01-08: 75 rows, +1.0 points before the correction" in section
    assert "Rows by week of" in section
    assert "asked &lt;at&gt;" in section
    assert '<a href="#finding-1">1</a>' in section


@pytest.mark.parametrize("changes", [{"periods": [period("2024")], "findings": []}, {"periods": [], "findings": []}])
def test_a_single_period_has_no_section(make_run, changes):
    assert "Over time" not in page_of(make_run(300, edit=edited(**changes))).visible


def test_rows_judged_by_earlier_ones_are_told_as_such_everywhere(make_run):
    visible = page_of(make_run(300, edit=edited(blocks=BLOCKS))).visible
    assert "225 later rows, each judged by a fit that had seen only earlier rows" in visible
    assert "never saw its outcome" not in visible


def test_periods_without_any_event_can_be_drawn(make_run):
    none = {"accuracy": 0.0, "confidence": 0.0, "corrected": 0.0}
    measure = {"value": 0.0, "interval": [0.0, 0.0]}
    same = [{**period(start), **none, "residual": measure, "hidden": measure, "after": measure} for start in STARTS]
    section = over_time_of(make_run(300, edit=edited(periods=same, findings=[])))
    assert "NaN" not in section
    assert section.count("<circle") == 12
