"""Before anything is opened, and in a notebook: few words, whatever was found, and a door or fold to all else."""

import re

import pytest

from miscal.calibration.metrics.curve import CurveNumbers
from miscal.report.frame import read_source
from miscal.report.group_panels import FIRST, LEAST, notebook
from miscal.report.groups import drawn_curves

from .conftest import FINDING, all_evidence
from .made_world import with_alone
from .read_page import PAYLOADS, Page, first_words, section_of, written
from .test_panels import edited

MOST_WORDS, MOST_ON_THE_PAGE = 200, 1500
LINE = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
BEFORE = {
    *("findings", "notes", "verdict", "columns", "alone", "decisions", "over-time", "atlas", "corrections"),
    *("reliability", "regimes", "histogram", "making", "glossary"),
}
"""Sections that the page had before it opened with an answer: alarms and warnings are notes now."""


def many(words, findings=40, *, decides=False):
    """As much as there can be on the first screen: lines of 25 words, and findings with names of so many words."""

    def change(summary):
        pair = summary["curves"]["findings"][0]
        name = " ".join(["humid"] * words)
        found = [{**FINDING, "description": f"{name} {place}"} for place in range(findings)]
        summary["findings"] = found
        summary["curves"]["findings"] = [pair] * findings
        lines = {"headline": LINE + " x x x", "reason": LINE + " x" * 8, "action": "Use it: " + LINE + " x" * 6}
        summary["answer"] = lines
        if decides:
            with_alone("event")(summary)
            for one in summary["alone"]:
                for place, group in enumerate(one["breaks"] * 4):
                    group["condition"]["value"] = f"{name} {place}"

    return change


@pytest.mark.parametrize(
    "edit",
    [None, many(1), many(4), many(30), many(1, decides=True), many(30, decides=True)],
    ids=["usual", "short", "middle", "long", "short alone", "long alone"],
)
def test_the_first_screen_has_at_most_200_words(make_run, edit):
    text = written(make_run(300, edit=edit))
    said = first_words(section_of(text, "answer"))
    assert len(said) <= MOST_WORDS - len(first_words(re.search("<header.*?</header>", text, re.DOTALL).group()))
    rows = len(re.findall(r"<tr", section_of(text, "answer"))) - 2
    assert (1 if edit is None else LEAST) <= rows <= FIRST


def test_the_page_has_at_most_1500_words_before_anything_is_opened(make_run):
    text = written(make_run(900, edit=many(12)))
    assert len(first_words(text)) <= MOST_ON_THE_PAGE


def everything(summary):
    with_alone()(summary)
    edited()(summary)


def test_every_section_of_before_is_there_and_opened_by_a_press(make_run):
    text = written(make_run(600, edit=everything))
    there = re.findall(r'<section id="([^"]+)"', text)
    assert set(there) >= BEFORE
    for name in set(there) - {"answer", "findings"}:
        section = section_of(text, name)
        assert f'<summary><h2 id="{name}-title">' in section
        (said,) = re.findall(r'<span class="said">(.*?)</span>', section)
        assert 0 < len(said) <= 120


@pytest.mark.parametrize("kind", ["full", "empty"])
def test_every_link_leads_to_a_place_on_the_page(make_run, kind):
    page = Page(written(make_run(600, kind=kind, edit=everything if kind == "full" else None)))
    places = {value for _, name, value in page.attributes if name == "id"}
    links = {value[1:] for _, name, value in page.attributes if name == "href" and value.startswith("#")}
    assert links <= places


def test_no_id_is_given_twice(make_run):
    page = Page(written(make_run(600, edit=everything)))
    given = [value for _, name, value in page.attributes if name == "id"]
    assert len(given) == len(set(given))


def test_every_finding_of_the_list_is_a_place_that_opens(make_run):
    text = written(make_run(300, edit=many(3, 24)))
    section = section_of(text, "findings")
    places = re.findall(r'<tr class="\w+" id="finding-(\d+)"', section)
    assert places == [str(number) for number in range(1, 21)]
    assert section.count('<tr class="beneath') == 20
    assert "4 more are in findings.parquet." in section


def test_cells_of_groups_are_as_many_as_their_headings(make_run):
    text = written(make_run(300))
    for table in re.findall(r'<table class="forest"[^>]*>(.*?)</table>', text, re.DOTALL):
        head, *rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        for row in rows:
            if 'class="beneath' not in row:
                assert len(re.findall("<t[hd]", row)) == len(re.findall("<th ", head))
                assert row.count('<th scope="row">') == 1


def test_a_curve_of_one_bin_is_a_stroke_that_is_seen():
    every = CurveNumbers(confidence=[0.2, 0.6], accuracy=[0.3, 0.5], low=[0.2, 0.4], high=[0.4, 0.6], n=[90, 90])
    group = CurveNumbers(confidence=[0.4], accuracy=[0.2], low=[0.1], high=[0.3], n=[90])
    named = [("all", "all rows", {"raw": every}), ("g1", "a group", {"raw": group})]
    _, stroke = drawn_curves(named, (0.0, 300.0), (300.0, 0.0)).states["raw"]
    start, end = re.findall(r"[ML]([\d.]+) ", stroke.line)
    assert float(end) - float(start) == 8.0
    assert len(set(re.findall(r"[ML]([\d.]+ [\d.]+)", stroke.band))) == 4


def test_a_run_in_which_nothing_is_off_draws_all_rows_on_the_axis_of_the_curve(make_run):
    def close(summary):
        summary["global"]["accuracy"] = {"value": 0.60, "interval": [0.58, 0.62]}
        summary["global"]["confidence"] = {"value": 0.62, "interval": None}
        all_evidence(summary)

    text = written(make_run(300, kind="empty", edit=close))
    row = section_of(text, "answer").partition("<tbody>")[2]
    promised, happened = (
        float(re.search(rf'class="{kind}" cx="([\d.]+)"', row)[1]) for kind in ("promised", "happened")
    )
    assert 0 < promised - happened < 40


def nothing_known(summary):
    for regime in summary["regimes"]:
        regime.update(n=0, share=0.0, accuracy=None, confidence=None)
    for scores in summary["correction"].values():
        scores["all"].update(smece=None, log_loss=None, brier=None)
    summary["field"].update(std=None, std_hidden=None, std_visible=None)
    summary.update(findings_method=None, findings=[], hidden_regimes=[], warnings=[])


@pytest.mark.parametrize("kind", ["full", "empty"])
def test_the_line_of_a_section_says_something_where_numbers_are_not_there(make_run, kind):
    text = written(make_run(300, kind=kind, edit=nothing_known))
    said = re.findall(r'<span class="said">(.*?)</span>', text)
    assert len(said) >= 8
    for line in said:
        assert len(line) > 10
        assert not re.search(r"\b(None|nan|inf)\b|^0 (?!groups tested)", line), line


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
