"""The section of findings: after the verdict, with its numbers."""

import html
import re

from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import read_summary
from miscal.report import render
from miscal.report.brief import finding_words

from .conftest import FINDING, METHOD
from .read_page import section_of


def with_findings(found, **method):
    def change(summary):
        summary["findings"], summary["findings_method"] = found, {**METHOD, **method}

    return change


def test_findings_stand_after_the_verdict_with_their_numbers(make_run):
    condition = {"kind": "term", "term": "secret"}
    term = {**FINDING, "description": '"secret" in the text', "condition": condition, "columns": ["text"]}
    folder = make_run(300, edit=with_findings([FINDING, term]))
    page = render(folder).read_text(encoding="utf-8")
    section = section_of(page, "findings")
    assert "subject = &lt;b&gt;law&lt;/b&gt;" in section
    for shown in (
        "1,234 groups were tested",
        "1,200 rows",
        "0.37 times",
        "−25.0",
        "−26.0",
        "−33.0 to −17.0",
        "−34.0 to −18.0",
        "−15.0",
        "−17.0",
        "−24.0 to −11.0",
        "reduced",
        "court",
        "secret",
    ):
        assert shown.replace(",", "\N{NARROW NO-BREAK SPACE}") in section or shown in section, shown


def words_of_first(folder):
    summary = read_summary(folder)
    return finding_words(summary.findings[0], vocabulary(summary.kind), summary.findings)


def test_what_becomes_of_a_finding_is_told_in_the_same_words_everywhere(make_run):
    fates = {
        "corrected": (None, "corrected"),
        "reduced": (None, "reduced"),
        "made worse": (None, "made worse"),
        "not known": ({"units": 341, "rows": 3_412}, "not known, it would take about 350 units (3,500 rows)"),
    }
    for fate, (needed, words) in fates.items():
        finding = {**FINDING, "fate": fate, "units_needed": needed, "after": {"value": -0.02, "interval": [-0.3, 0.01]}}
        folder = make_run(300, edit=with_findings([finding]))
        page = render(folder).read_text(encoding="utf-8")
        assert re.findall(r"mark-word(?: proven)?\">([^<]*)<", page) == [words]
        printed = words_of_first(folder)
        assert f"; after the correction 2 points less often (-1 to 30): {words}" in printed


def test_a_run_that_found_nothing_says_how_many_groups_were_tested(make_run):
    page = render(make_run(300, edit=with_findings([], evidence="test"))).read_text(encoding="utf-8")
    said = " ".join(section_of(page, "findings").split())
    assert "No group differs from rows of equal confidence beyond chance" in said
    assert "1,234 groups were tested on 1,200 test rows" in said.replace("\N{NARROW NO-BREAK SPACE}", ",")
    without = render(make_run(300, edit=with_findings([], candidates=0))).read_text(encoding="utf-8")
    assert '<section id="findings"' not in without


def test_a_finding_that_shows_only_with_another_is_told_last_and_together_with_it(make_run):
    about = {"condition": {"kind": "value", "column": "place", "value": "south", "of": "text"}}
    own = {"value": -0.01, "interval": [-0.05, 0.03]}
    given = FINDING | about | {"description": "place = south", "hidden": own, "together_with": 1}
    given |= {"conditional": {"value": -0.3, "interval": [-0.4, -0.2]}, "sign": "over"}
    folder = make_run(300, edit=with_findings([FINDING, given]))
    summary = read_summary(folder)
    page = html.unescape(" ".join(render(folder).read_text(encoding="utf-8").split()))
    printed = finding_words(summary.findings[1], vocabulary(summary.kind), summary.findings)
    together = f"together with rows with {FINDING['description']}"
    assert f"1 point less often (-3 to 5) than rows of equal confidence, {together}" in printed
    section = section_of(page, "findings")
    assert section.count(together) == 1
    # the conditional size stands in the opened row alone
    opened = re.sub("<.*?>", "", section)
    assert opened.count("Beside rows in the same groups above−30.0 points −40.0 to −20.0") == 1
    assert not any(said in printed for said in ("30 points", "allowed for"))
