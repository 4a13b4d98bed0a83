"""A run in a notebook: the first screen of its page, small, without a program, a link or an id."""

import re

import pytest

from miscal.report.frame import read_source
from miscal.report.page import notebook

from .read_page import PAYLOADS, Page
from .test_first_screen import many


def shown(run):
    return notebook(read_source(run).summary)


def test_a_notebook_shows_the_three_lines_the_groups_and_the_curves(make_run):
    text = shown(make_run(600))
    said = " ".join("".join(Page(text).texts).split())
    for words in ("Confidences are off by at least 9 points", "On rows with subject = law", "Use the correction: log"):
        assert words in said
    assert text.count("<h1") == 1
    assert text.count('<svg class="curves') == text.count('<table class="forest"') == 1


@pytest.mark.parametrize("words", [1, 30])
def test_it_stays_small_whatever_was_found(make_run, words):
    assert len(shown(make_run(600, edit=many(words))).encode()) < 60_000


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_add_no_element_and_nothing_runs_or_leads_away(make_run, payload):
    page, plain = (Page(shown(make_run(120, payload=text))) for text in (payload, "x"))
    assert page.tags == plain.tags
    assert "script" not in page.tags
    # a notebook holds several runs, and its own addresses
    assert not [one for one in page.attributes if one[1] in ("id", "href", "src", "style") or one[1].startswith("on")]


def test_long_texts_are_cut(make_run):
    assert len(shown(make_run(120, payload="y" * 100_000)).encode()) < 60_000


def test_numbers_that_are_not_there_leave_the_lines(make_run):
    def forget(summary):
        summary["findings"] = []
        summary["curves"] = {name: {"raw": None, "corrected": None} for name in ("all", "over", "under")}
        summary["global"]["accuracy"] = {"value": None, "interval": None}

    text = shown(make_run(300, edit=forget))
    assert "Confidences are off" in text
    assert "<figure" not in text
    assert not re.search(r"\b(None|nan|inf)\b", Page(text).visible)
