"""The page of a monitor: what it says, that nothing in it can be markup, and that a browser does not complain."""

import re

import pytest

from miscal.discovery.summary import Measure
from miscal.runs.monitor.document import GroupNumbers, LookNumbers, Monitoring, QuestionNumbers
from miscal.runs.monitor.page import build
from miscal.runs.monitor.views import charts, course_table

from ...report.read_page import PAYLOADS, Page, check_no_new_element, check_policy_without_program
from ...report.test_browser import ARGUMENTS, CHROMIUM, HOSTILE, WATCH

KINDS = ("raw_total", "raw_hidden", "total", "hidden", "inputs", "unsupported")


def question(key, text="", answered=None):
    kind = key.partition(":")[0]
    return QuestionNumbers(
        key=key,
        kind=kind,
        about=f"about {text}",
        alarm=not kind.startswith("raw"),
        share=0.1,
        tolerance=0.1,
        steps=300,
        evidence=3.0 if answered else -0.5,
        peak=3.5 if answered else 0.2,
        line=2.0,
        answered=answered,
        course=(0.1, 3.0 if answered else -0.5),
    )


def group(key, text="", *, rows=120):
    known = rows > 0
    return GroupNumbers(
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
        before=-0.15,
        still="yes" if known else "unclear",
    )


def monitoring(text="x", *, answered=2):
    """Return a monitor with `text` wherever text can be."""
    look = {"source": text, "at": text, "units": 150, "dropped": 2, "accuracy": 0.5, "confidence": 0.6}
    look |= {"corrected": 0.52, "brier_raw": 0.25, "brier_corrected": 0.2, "unsupported": 0.01, "returning": 0}
    return Monitoring(
        run=text,
        alpha=0.05,
        group=text,
        alarm=answered is not None,
        verdict=(f"ALARM since look 2 {text}.", f"Of all rows {text}."),
        rows=300,
        accuracy=0.5,
        confidence=0.6,
        corrected=0.52,
        brier_raw=0.25,
        brier_corrected=0.2,
        looks=tuple(LookNumbers(look=k, rows=150, **look) for k in (1, 2)),
        questions=(
            *(question(kind, text) for kind in KINDS),
            question("regime:over", text),
            question("finding:0", text, answered),
        ),
        groups=(group("regime:over", text, rows=0), group("finding:0", text)),
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
    assert said.index("no, since look 2") < said.index("nothing shows that it is not")
    assert not re.search(r"\b(None|nan|NaN|undefined)\b", said)


def test_every_chart_stays_in_its_frame_and_crosses_the_line_only_when_answered():
    for chart in charts(monitoring()):
        assert all(34 <= across <= 322 and 8 <= up <= 118 for across, up in chart.dots)
        assert 8 <= chart.line <= 118
        assert (min(up for _, up in chart.dots) <= chart.line) == chart.answered


def test_the_table_has_a_line_for_each_look_and_question():
    table = course_table(monitoring())
    assert table.shape == (16, 9)
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
