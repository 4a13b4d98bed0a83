"""The sections of the page say what the summary says: findings, columns, words of rows, time, what may be alone."""

import html
import re

import polars as pl
import pytest

from miscal.base.number_wording import rate, spoken, threshold_text
from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import read_summary
from miscal.report.brief import brief_lines, finding_words

from .conftest import FINDING, METHOD, all_evidence, value_of
from .made_world import made, with_alone
from .read_page import page_of, section_of, written


def with_findings(found, **method):
    def change(summary):
        summary["findings"], summary["findings_method"] = found, {**METHOD, **method}

    return change


def test_findings_stand_after_the_verdict_with_their_numbers(make_run):
    condition = {"kind": "term", "term": "secret"}
    term = {**FINDING, "description": '"secret" in the text', "condition": condition, "columns": ["text"]}
    folder = make_run(300, edit=with_findings([FINDING, term]))
    page = written(folder)
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
        page = written(folder)
        assert re.findall(r"mark-word(?: proven)?\">([^<]*)<", page) == [words]
        printed = words_of_first(folder)
        assert f"; after the correction 2 points less often (-1 to 30): {words}" in printed


def test_a_run_that_found_nothing_says_how_many_groups_were_tested(make_run):
    page = written(make_run(300, edit=with_findings([], evidence="test")))
    said = " ".join(section_of(page, "findings").split())
    assert "No group differs from rows of equal confidence beyond chance" in said
    assert "1,234 groups were tested on 1,200 test rows" in said.replace("\N{NARROW NO-BREAK SPACE}", ",")
    without = written(make_run(300, edit=with_findings([], candidates=0)))
    assert '<section id="findings"' not in without


def test_a_finding_that_shows_only_with_another_is_told_last_and_together_with_it(make_run):
    about = {"condition": {"kind": "value", "column": "place", "value": "south", "of": "text"}}
    own = {"value": -0.01, "interval": [-0.05, 0.03]}
    given = FINDING | about | {"description": "place = south", "hidden": own, "together_with": 1}
    given |= {"conditional": {"value": -0.3, "interval": [-0.4, -0.2]}, "sign": "over"}
    folder = make_run(300, edit=with_findings([FINDING, given]))
    summary = read_summary(folder)
    page = html.unescape(" ".join(written(folder).split()))
    printed = finding_words(summary.findings[1], vocabulary(summary.kind), summary.findings)
    together = f"together with rows with {FINDING['description']}"
    assert f"1 point less often (-3 to 5) than rows of equal confidence, {together}" in printed
    section = section_of(page, "findings")
    assert section.count(together) == 1
    # the conditional size stands in the opened row alone
    opened = re.sub("<.*?>", "", section)
    assert opened.count("Beside rows in the same groups above−30.0 points −40.0 to −20.0") == 1
    assert not any(said in printed for said in ("30 points", "allowed for"))


def test_every_value_stands_with_its_numbers_and_its_mark(make_run):
    section = section_of(written(make_run(300)), "columns")
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
    section = section_of(written(run), "columns")
    assert section.count('<details class="column"') == 200
    assert section.count("<tr") == 200 * 11
    # the finding is shown although it has the fewest rows
    assert ">v29</th>" in section
    assert ">v28</th>" not in section
    assert "20 more values, which no finding names and which have the" in section
    assert "10 more columns are in columns.parquet" in section
    assert len(section) < 3_000_000


@pytest.mark.parametrize("kind", ["full", "empty"])
def test_no_text_speaks_of_test_rows_where_there_are_none(make_run, kind):
    said = page_of(make_run(600, kind=kind, edit=all_evidence)).visible
    assert not re.findall(r"\btest (?:row|set|tenth)|\btesting\b|validation rows", said, flags=re.I)
    assert "is of 600 rows, each judged by a fit that never saw its outcome" in said
    assert "each in one fold" in said


def test_the_line_of_notes_is_the_first_alarm_and_without_alarms_or_notes_there_is_none(make_run):
    def alarm(summary):
        summary["alarms"] = ["The model says 12 % and is right 88 % of the time. Check the columns.", "And more."]

    page = written(make_run(300, edit=alarm))
    places = [page.index(mark) for mark in ('<section id="notes"', "says 12 %", '<section id="verdict"')]
    assert places == sorted(places)
    notes = section_of(page, "notes")
    assert "is right 88 % of the time.</span></summary>" in notes
    assert "And more." in notes
    assert "1 note on the data" in section_of(written(make_run(300)), "notes")
    quiet = make_run(300, edit=lambda summary: summary.update(warnings=[]))
    assert '<section id="notes"' not in written(quiet)
    assert page.count("<h1") == 1


def nearly_all_over(summary):
    over, good, under = sorted(summary["regimes"], key=lambda one: ("over", "good", "under").index(one["name"]))
    over.update(share=0.97, n=97)
    good.update(share=0.03, n=3)
    under.update(share=0.0, n=0)


def test_a_panel_that_would_repeat_that_of_all_rows_is_left_out_and_the_page_says_so(make_run):
    page = written(make_run(1000, edit=nearly_all_over))
    section = {name: section_of(page, name) for name in ("reliability", "corrections")}
    assert section["reliability"].count("<figure") == 2
    assert "regime holds 97 % of the test rows" in " ".join(section["reliability"].split())
    assert re.findall(r"<h3>([^,]*),", section["corrections"]) == ["All rows", "Against miscal"]
    usual = written(make_run(1000))
    assert "<h3>Over-confident, " in usual
    assert "would be that of all rows" not in " ".join(usual.split())


@pytest.mark.parametrize(("p_value", "said"), [(0.3, True), (0.01, False), (None, True)])
def test_well_calibrated_is_not_said_of_rows_whose_residual_differs_from_zero(make_run, p_value, said):
    def judge(summary):
        for regimes, part in (("regimes", "residual"), ("hidden_regimes", "hidden")):
            next(one for one in summary[regimes] if one["name"] == "good")[part]["p_value"] = p_value

    page = written(make_run(600, edit=judge))
    assert bool(re.search("well calibrated", page, flags=re.I)) == said
    assert ("Within ±5 points" in page) != said


def test_a_regime_of_a_few_rows_takes_no_space_and_claims_nothing(make_run):
    def few(summary):
        under = next(regime for regime in summary["regimes"] if regime["name"] == "under")
        under |= {"n": 8, "share": 0.001}

    html = written(make_run(1000, edit=few))
    assert "too few rows to measure</span>" in html
    assert html.count("The under-confident regime has too few rows for a") == 2
    assert "<h3>Under-confident, " not in html
    assert 'class="reliability under"' not in html


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


def test_each_period_has_its_dots_with_intervals(make_run):
    section = section_of(written(make_run(300, edit=edited())), "over-time")
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
    section = section_of(written(make_run(300, edit=edited(periods=same, findings=[]))), "over-time")
    assert "NaN" not in section
    assert section.count("<circle") == 12


def text_of(page, section):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", section_of(page, section))).replace("\u202f", " ")


@pytest.mark.parametrize("kind", ["answer", "event", "judge"])
def test_each_promise_and_each_group_that_breaks_it_is_on_the_page(make_run, kind):
    page = written(make_run(300, edit=with_alone(kind)))
    text, parts = text_of(page, "alone"), made(kind=kind)[0]
    promised = [one for one in parts["alone"] if one["threshold"] is not None]
    assert promised
    for one in promised:
        below = one["decision"] in ("no", "fail")
        assert f"{rate(one['share']['value'])} " in text
        assert f"{'up to' if below else 'from'} {threshold_text(one['threshold'])}" in text
        assert f"at most {rate(one['error']['upper'])}" in text
        for group in one["breaks"]:
            assert f"{rate(group['wrong']['value'])} " in text
    assert any(one["breaks"] for one in promised)
    section = section_of(page, "alone")
    assert section.count('class="risk"') == len(parts["alone_curves"])
    curves = [pair[state] for pair in parts["alone_curves"] for state in ("raw", "corrected")]
    assert section.count('<circle class="point ') == sum(len(curve["share"]) for curve in curves if curve)


def test_the_first_screen_and_the_terminal_say_the_same_line(make_run):
    run = make_run(300, edit=with_alone())
    page, lines = written(run), brief_lines(read_summary(run), None)
    at = next(one for one in made()[0]["alone"] if one["max_error"] >= 0.05 and one["threshold"] is not None)
    said = re.sub(r"\s+", " ", " ".join(lines))
    for part in (spoken(at["share"]["value"]), f"from {threshold_text(at['threshold'])}", "Not where"):
        assert part in said
        assert part in text_of(page, "answer")


def test_of_judges_what_fails_is_decided_up_to_a_threshold(make_run):
    run = make_run(300, edit=with_alone("judge", max_error=(0.2,)))
    text = " ".join(" ".join(brief_lines(read_summary(run), None)).split())
    said = [one for one in made(kind="judge")[0]["alone"] if one["max_error"] == 0.2 and one["threshold"] is not None]
    assert said
    for one in said:
        assert f"{'up to' if one['decision'] == 'fail' else 'from'} {threshold_text(one['threshold'])}" in text


@pytest.mark.parametrize(
    ("asked", "thresholds"), [({"thresholds": (0.6, 0.99)}, 2), ({"cost": (3, 1)}, 2), ({"thresholds": ()}, 0)]
)
def test_the_promise_at_each_threshold_asked_for_is_told(make_run, asked, thresholds):
    run, named = make_run(300, edit=with_alone("event", **asked)), made(kind="event", **asked)[0]["decisions"]
    lines, page = brief_lines(read_summary(run), None), written(run)
    text, shown = re.sub(r"\s+", " ", " ".join(lines)), text_of(page, "decisions") if named else ""
    assert len(named) == thresholds == sum(bool(re.match(r"at [\d.]+ %", line)) for line in lines)
    assert ('id="decisions"' in page) == bool(named)
    for one in named:
        for side, when in ((one["before"], ""), (one["after"], " if corrected")):
            observed = rate(side["observed"]["value"])
            assert f"{side['n']:,} acted on{when}: {rate(side['promised'])} promised, {observed} observed" in text
            assert f"{side['n']:,} {rate(side['share'])} {rate(side['promised'])} {observed}" in shown
        for worth in ("before", "after", "all"):
            assert f"{1000 * one['net_benefit'][worth]:.1f}" in shown
