"""The page of a monitor, and its table."""

import re

import pytest

from miscal.discovery.summary import Measure
from miscal.runs.monitor.command import course_table
from miscal.runs.monitor.document import LookNumbers, Monitoring, QuestionNumbers, RowsOfLooks

from ...report.read_page import Page

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
    found = monitoring("law", rows=0)
    said = Page(found.shown().page()).visible
    places = [said.index(words) for words in (found.answer.headline, "What was asked")]
    assert places == sorted(places)
    assert "Not asked: law" in said
    assert "+0.0040" in said
    assert not re.search(r"\b(None|nan|NaN|undefined|inf)\b", said)


def test_a_strip_has_a_dot_for_each_look_with_rows_and_stays_in_its_frame():
    strips = [row[1].chart for row in monitoring().shown().tables[0].cells(page=True)]
    assert [0 if one is None else len(one.marks) for one in strips] == [2, 2, 2]
    assert [one.kind for one in strips[0].marks] == ["dot", "off"]
    for mark in (mark for one in strips if one for mark in one.marks):
        assert 30 <= mark.x <= 252
        assert 4 <= mark.whisker[1] <= mark.y <= mark.whisker[0] <= 52


def test_the_table_has_a_line_for_each_look_and_question():
    table = course_table(monitoring())
    assert table.height == 2 * len(KEYS)
    assert table.filter(table["broken"]).select("look", "question").rows() == [(2, "level")]
