"""What rows are called, which panels are left out, what is said of a whole run."""

import re

import pytest

from miscal.report import render

from .conftest import all_evidence
from .read_page import Page, section_of


def visible(run):
    return Page(render(run).read_text(encoding="utf-8")).visible


@pytest.mark.parametrize("kind", ["full", "empty"])
def test_no_text_speaks_of_test_rows_where_there_are_none(make_run, kind):
    said = visible(make_run(600, kind=kind, edit=all_evidence))
    assert not re.findall(r"\btest (?:row|set|tenth)|\btesting\b|validation rows", said, flags=re.I)
    assert "is of 600 rows, each judged by a fit that never saw its outcome" in said
    assert "each in one fold" in said


def test_the_line_of_notes_is_the_first_alarm_and_without_alarms_or_notes_there_is_none(make_run):
    def alarm(summary):
        summary["alarms"] = ["The model says 12 % and is right 88 % of the time. Check the columns.", "And more."]

    page = render(make_run(300, edit=alarm)).read_text(encoding="utf-8")
    places = [page.index(mark) for mark in ('<section id="notes"', "says 12 %", '<section id="verdict"')]
    assert places == sorted(places)
    notes = section_of(page, "notes")
    assert "is right 88 % of the time.</span></summary>" in notes
    assert "And more." in notes
    assert "1 note on the data" in section_of(render(make_run(300)).read_text(encoding="utf-8"), "notes")
    quiet = make_run(300, edit=lambda summary: summary.update(warnings=[]))
    assert '<section id="notes"' not in render(quiet).read_text(encoding="utf-8")
    assert page.count("<h1") == 1


def nearly_all_over(summary):
    over, good, under = sorted(summary["regimes"], key=lambda one: ("over", "good", "under").index(one["name"]))
    over.update(share=0.97, n=97)
    good.update(share=0.03, n=3)
    under.update(share=0.0, n=0)


def test_a_panel_that_would_repeat_that_of_all_rows_is_left_out_and_the_page_says_so(make_run):
    page = render(make_run(1000, edit=nearly_all_over)).read_text(encoding="utf-8")
    section = {name: section_of(page, name) for name in ("reliability", "corrections")}
    assert section["reliability"].count("<figure") == 2
    assert "regime holds 97 % of the test rows" in " ".join(section["reliability"].split())
    assert re.findall(r"<h3>([^,]*),", section["corrections"]) == ["All rows", "Against miscal"]
    usual = render(make_run(1000)).read_text(encoding="utf-8")
    assert "<h3>Over-confident, " in usual
    assert "would be that of all rows" not in " ".join(usual.split())


@pytest.mark.parametrize(("p_value", "said"), [(0.3, True), (0.01, False), (None, True)])
def test_well_calibrated_is_not_said_of_rows_whose_residual_differs_from_zero(make_run, p_value, said):
    def judge(summary):
        for regimes, part in (("regimes", "residual"), ("hidden_regimes", "hidden")):
            next(one for one in summary[regimes] if one["name"] == "good")[part]["p_value"] = p_value

    page = render(make_run(600, edit=judge)).read_text(encoding="utf-8")
    assert bool(re.search("well calibrated", page, flags=re.I)) == said
    assert ("Within ±5 points" in page) != said


def test_a_regime_of_a_few_rows_takes_no_space_and_claims_nothing(make_run):
    def few(summary):
        under = next(regime for regime in summary["regimes"] if regime["name"] == "under")
        under |= {"n": 8, "share": 0.001}

    html = render(make_run(1000, edit=few)).read_text(encoding="utf-8")
    assert "too few rows to measure</span>" in html
    assert html.count("The under-confident regime has too few rows for a") == 2
    assert "<h3>Under-confident, " not in html
    assert 'class="reliability under"' not in html
