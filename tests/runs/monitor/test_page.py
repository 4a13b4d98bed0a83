"""The page of a monitor: what it says, that nothing in it can be markup, and that a browser does not complain."""

import re

import pytest

from miscal.discovery.summary import Measure
from miscal.runs.monitor.document import (
    AdviceNumbers,
    AlarmNumbers,
    LineLook,
    LineNumbers,
    LookNumbers,
    MonitoredGroup,
    Monitoring,
    QuestionNumbers,
)
from miscal.runs.monitor.page import build
from miscal.runs.monitor.views import charts, course_table, feature_rows, group_rows

from ...report.read_page import PAYLOADS, Page, check_no_new_element, check_policy_without_program
from ...report.test_browser import ARGUMENTS, CHROMIUM, HOSTILE, WATCH

SIDES = {
    "raw_total": "raw", "raw_hidden": "raw", "total": "advice", "hidden": "advice", "inputs": "change",
    "unsupported": "change",
}  # fmt: skip
LINES = ("gain", "level", "slope", "feature:0", "regime:over", "finding:0", "value:subject:0")


def question(kind, text=""):
    return QuestionNumbers(
        key=kind,
        kind=kind,
        about=f"about {text}",
        side=SIDES[kind],
        share=None if SIDES[kind] == "raw" else 0.1,
        tolerance=0.1,
        steps=300,
        evidence=-0.5,
        peak=0.2,
        line=2.0,
        answered=None,
        course=(0.1, -0.5),
    )


def line(key, text="", answered=None):
    kind = key.partition(":")[0]
    grouped = kind in ("level", "regime", "finding", "value")
    shift = Measure(value=-0.4, interval=(-0.7, -0.1))
    residual = Measure(value=-0.1, interval=(-0.2, -0.02)) if grouped else Measure(value=None)
    looks = [LineLook(look=1, n=60, accuracy=0.4, corrected=0.5, shift=shift, residual=residual)]
    looks.append(LineLook(look=2, n=0, accuracy=None, corrected=None, shift=Measure(value=None),
                          residual=Measure(value=None)))  # fmt: skip
    return LineNumbers(
        key=key,
        kind=kind,
        about=f"{key} {text}",
        share=0.1,
        before=0.1,
        error=0.05,
        allowed=(-0.05, 0.2),
        evidence=3.0 if answered else -0.3,
        line=2.3,
        answered=answered,
        course=(0.1, 3.0 if answered else -0.3),
        looks=tuple(looks[::-1] if kind == "feature" else looks),
    )


def group(key, text="", *, rows=120):
    known = rows > 0
    return MonitoredGroup(
        key=key,
        description=f"subject = {text}",
        phrase=f"rows with subject = {text}",
        kind=key.partition(":")[0],
        sign="over",
        n=rows,
        units=rows,
        accuracy=0.4 if known else None,
        confidence=0.7 if known else None,
        corrected=0.5 if known else None,
        residual=-0.1 if known else None,
        hidden=Measure(value=-0.2, interval=(-0.3, -0.1)) if known else Measure(value=None),
        before=None if key.startswith("value") else -0.15,
        still="yes" if known else "unclear",
    )


def monitoring(text="x", *, answered=2):
    """Return a monitor with `text` wherever text can be."""
    look = {"source": text, "at": text, "units": 150, "dropped": 2, "accuracy": 0.5, "confidence": 0.6}
    look |= {"corrected": 0.52, "brier_raw": 0.25, "brier_corrected": 0.2, "unsupported": 0.01, "returning": 0}
    lost = Measure(value=-0.01, interval=(-0.02, 0.001))
    alarm = AlarmNumbers(key="finding:0", kind="finding", about=text, raised=2, proven=True, since=(1, 2), start=2)
    return Monitoring(
        run=text,
        alpha=0.05,
        group=text,
        alarm=answered is not None,
        raised=answered,
        evidence=(0.1, 2.4 if answered else -0.2),
        line=1.3,
        alarms=(alarm,) if answered else (),
        advice=AdviceNumbers(refit=False, since=None, rows=300),
        verdict=(f"ALARM since look 2 {text}.", f"Of all rows {text}."),
        rows=300,
        accuracy=0.5,
        confidence=0.6,
        corrected=0.52,
        brier_raw=0.25,
        brier_corrected=0.2,
        looks=(
            LookNumbers(look=1, rows=150, lost=lost, **look),
            LookNumbers(look=2, rows=150, lost=Measure(value=0.004, interval=(-0.001, 0.009)), **look),
        ),
        questions=tuple(question(kind, text) for kind in SIDES),
        lines=tuple(line(key, text, answered if key == "finding:0" else None) for key in LINES),
        groups=(group("regime:over", text, rows=0), group("finding:0", text), group("value:subject:0", text)),
        left_out=(text,),
        warnings=(text,),
        columns={"confidence": text, "x": (text,)},
        versions={"miscal": text},
    )


def test_the_page_says_the_verdict_first_and_an_alarm_before_the_rest():
    said = Page(build(monitoring("law"))).visible
    order = ["Verdict", "ALARM since look 2 law", "Course of the evidence", "ALARM: No, since look 2", "Not answered"]
    places = [said.index(words) for words in order]
    assert places == sorted(places)
    assert "Not watched: law." in said
    assert said.index("yes, since look 2") < said.index("nothing shows it")
    assert not re.search(r"\b(None|nan|NaN|undefined)\b", said)


def test_a_look_whose_corrected_confidences_scored_worse_is_marked():
    said = Page(build(monitoring("law"))).visible
    assert said.count("worse than raw") == 1
    assert "+0.0040" in said


def test_every_chart_stays_in_its_frame_and_crosses_the_line_only_when_answered():
    drawn = charts(monitoring())
    assert len(drawn) == 1 + 3 + len(SIDES)
    for chart in drawn:
        assert all(34 <= across <= 322 and 8 <= up <= 118 for across, up in chart.dots)
        assert 8 <= chart.line <= 118
        assert (min(up for _, up in chart.dots) <= chart.line) == chart.answered


def test_a_strip_has_a_dot_for_each_look_with_rows_and_stays_in_its_frame():
    rows = [*group_rows(monitoring()), *feature_rows(monitoring())]
    assert [row.line.key for row in rows] == ["finding:0", "regime:over", "value:subject:0", "feature:0"]
    for row in rows:
        assert [one.off for one in row.looks] == [True]
        for one in row.looks:
            assert 30 <= one.x <= 252
            assert 4 <= one.high <= one.y <= one.low <= 52
        assert row.band[0] < row.zero < row.band[1]
    assert rows[0].last == "no rows"
    assert rows[-1].last == "-0.40 (-0.70 to -0.10)".replace("-", "−")


def test_the_table_has_a_line_for_each_look_and_question():
    table = course_table(monitoring())
    assert table.shape == (2 * (len(SIDES) + len(LINES)), 9)
    assert table.filter(table["answered"])["question"].to_list() == ["finding:0"]


@pytest.mark.promise("S1")
@pytest.mark.parametrize("payload", PAYLOADS)
def test_payloads_add_no_element(payload):
    check_no_new_element(Page(build(monitoring(payload))), Page(build(monitoring())))


@pytest.mark.promise("S2")
def test_the_policy_names_exactly_our_style():
    check_policy_without_program(build(monitoring()))


@pytest.mark.promise("S1", "S2")
@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install it or set MISCAL_CHROMIUM")
def test_a_browser_draws_it_without_a_complaint_or_a_request(tmp_path):
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "monitor.html").write_text(build(monitoring(HOSTILE)))
    address, said = (tmp_path / "monitor.html").as_uri(), []
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 500, "height": 800})
        page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url))
        page.add_init_script(WATCH)
        page.goto(address)
        assert [one for one in said if not one.startswith("data:")] == [address]
        assert page.evaluate("window.violations") == []
        assert page.evaluate("window.hit") is None
        assert page.evaluate("document.documentElement.scrollWidth") <= 500
        browser.close()


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium: install it or set MISCAL_CHROMIUM")
@pytest.mark.parametrize("width", [390, 1280])
def test_every_cell_of_a_group_says_what_it_is(tmp_path, width):
    """On a phone the heads of the columns are hidden, so each cell has its own."""
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "monitor.html").write_text(build(monitoring()))
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": width, "height": 800})
        page.goto((tmp_path / "monitor.html").as_uri())
        heads = page.locator("#groups thead th").all_inner_texts()
        labels = page.evaluate(
            """() => [...document.querySelectorAll("#groups tbody tr")].map((row) => [...row.querySelectorAll("td")]
            .filter((cell) => !cell.matches(".drawn, .blank"))
            .map((cell) => getComputedStyle(cell, "::before").content.replaceAll('"', "")))"""
        )
        shown = page.locator("#groups thead").bounding_box()["width"] > 1
        wide = page.evaluate("document.documentElement.scrollWidth")
        browser.close()
    assert wide <= width
    assert shown == (width > 860)
    for row in labels:
        assert row == (["none"] * len(row) if shown else heads[2:][: len(row)])
