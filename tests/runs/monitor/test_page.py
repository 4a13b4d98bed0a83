"""The page of a monitor: what it says, that nothing in it can be markup, and that a browser does not complain."""

import re

import pytest

from miscal.discovery.summary import Measure
from miscal.runs.monitor.document import LookNumbers, Monitoring, QuestionNumbers, RowsOfLooks
from miscal.runs.monitor.page import build, course_table, question_rows

from ...report.read_page import PAYLOADS, Page, check_no_new_element, check_policy
from ...report.visits import BROWSED, HOSTILE, Visit, browser  # noqa: F401 - a fixture

pytestmark = pytest.mark.whole

KEYS = ("level", "gain", "finding:0", "threshold:0.5:above")


def question(key, text="", state="not known", *, rows=120):
    kind, gain = key.partition(":")[0], key == "gain"
    value = Measure(value=-0.09, interval=(-0.12, -0.06)) if rows else Measure(value=None)
    share = (
        {"observed": 0.4, "raw": 0.7, "corrected": 0.49} if rows else dict.fromkeys(("observed", "raw", "corrected"))
    )
    return QuestionNumbers(
        key=key,
        kind=kind,
        about=f"{key} {text}",
        phrase=f"rows with subject = {text}" if kind == "finding" else None,
        alarms=kind in ("level", "gain"),
        error=0.01,
        allowed=(None if gain else -0.02, 0.03),
        state=state,
        rows=RowsOfLooks(first=1, last=2, n=rows, units=rows, value=value, **share),
        course=(Measure(value=-0.1, interval=(-0.4, 0.2)), value),
    )


def monitoring(text="x", *, state="does not hold", rows=120):
    """Return a monitor with `text` wherever text can be."""
    look = {"source": text, "at": text, "units": 150, "dropped": 2, "accuracy": 0.5, "confidence": 0.6}
    look |= {"corrected": 0.52, "brier_raw": 0.25, "brier_corrected": 0.2, "unsupported": 0.01, "returning": 0}
    return Monitoring(
        run=text,
        alpha=0.05,
        group=text,
        unit=text,
        alarm=state == "does not hold",
        raised=2 if state == "does not hold" else None,
        rows=300,
        accuracy=0.5,
        confidence=0.6,
        corrected=0.52,
        brier_raw=0.25,
        brier_corrected=0.2,
        looks=(LookNumbers(look=1, rows=150, lost=-0.01, **look), LookNumbers(look=2, rows=150, lost=0.004, **look)),
        questions=tuple(
            question(key, text, state if key == "level" else "not known", rows=rows if key == "finding:0" else 120)
            for key in KEYS
        ),
        left_out=(text,),
        warnings=(text,),
        columns={"confidence": text, "x": (text,)},
        versions={"miscal": text},
    )


def test_the_page_says_the_verdict_first_and_then_what_was_asked():
    said = Page(build(monitoring("law", rows=0))).visible
    order = ["Outcomes are below what it says", "Correct anew", "What was asked"]
    places = [said.index(words) for words in order]
    assert places == sorted(places)
    assert "Not asked: law." in said
    assert "+0.0040" in said
    assert not re.search(r"\b(None|nan|NaN|undefined|inf)\b", said)


def test_a_strip_has_a_dot_for_each_look_with_rows_and_stays_in_its_frame():
    rows = question_rows(monitoring())
    assert [row["question"].key for row in rows][:2] == ["level", "gain"]
    assert [len(row["looks"]) for row in rows] == [2, 0, 2, 2]
    for row in rows:
        for one in row["looks"]:
            assert 30 <= one["x"] <= 252
            assert 4 <= one["high"] <= one["y"] <= one["low"] <= 52
        assert 4 <= row["band"][0] < row["zero"] < row["band"][1] <= 52
    assert [one["off"] for one in rows[0]["looks"]] == [False, True]


def test_the_table_has_a_line_for_each_look_and_question():
    table = course_table(monitoring())
    assert table.height == 2 * len(KEYS)
    assert table.filter(table["broken"]).select("look", "question").rows() == [(2, "level")]


@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_add_no_element(payload):
    check_no_new_element(Page(build(monitoring(payload))), Page(build(monitoring())))


def test_the_policy_names_exactly_our_code():
    check_policy(build(monitoring()))


@pytest.mark.browser
@BROWSED[-1]
def test_a_browser_draws_it_without_a_complaint_or_a_request(browser, tmp_path):  # noqa: F811 - a fixture
    (tmp_path / "monitor.html").write_text(build(monitoring(HOSTILE)))
    seen = Visit(browser, tmp_path / "monitor.html", viewport={"width": 500, "height": 800})
    seen.check_quiet()
    assert seen.page.evaluate("window.hit") is None
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= 500
    seen.page.close()


@pytest.mark.browser
@BROWSED[-1]
@pytest.mark.parametrize("width", [390, 1280])
def test_every_cell_of_a_question_says_what_it_is(browser, tmp_path, width):  # noqa: F811 - a fixture
    """On a phone the heads of the columns are hidden, so each cell has its own."""
    (tmp_path / "monitor.html").write_text(build(monitoring()))
    page = Visit(browser, tmp_path / "monitor.html", viewport={"width": width, "height": 800}).page
    page.locator("#questions summary").click()
    heads = page.locator("#questions thead th").all_inner_texts()
    labels = page.evaluate(
        """() => [...document.querySelectorAll("#questions tbody tr")].map((row) => [...row.querySelectorAll("td")]
        .filter((cell) => !cell.matches(".drawn, .blank"))
        .map((cell) => getComputedStyle(cell, "::before").content.replaceAll('"', "")))"""
    )
    shown = page.locator("#questions thead").bounding_box()["width"] > 1
    wide = page.evaluate("document.documentElement.scrollWidth")
    page.close()
    assert wide <= width
    assert shown == (width > 860)
    for row in labels:
        assert row == (["none"] * len(row) if shown else heads[2:][: len(row)])
