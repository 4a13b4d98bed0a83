"""What may be decided alone, and what happened at thresholds, as page and terminal show it."""

import re

import pytest

from miscal.base.number_wording import rate, spoken, threshold_text
from miscal.discovery.summary import read_summary
from miscal.report import render
from miscal.report.brief import brief_lines

from .made_alone import made, with_alone
from .read_page import section_of


def text_of(page, section):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", section_of(page, section))).replace("\u202f", " ")


@pytest.mark.parametrize("kind", ["answer", "event", "judge"])
def test_each_promise_and_each_group_that_breaks_it_is_on_the_page(make_run, kind):
    page = render(make_run(300, edit=with_alone(kind))).read_text(encoding="utf-8")
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
    page, lines = render(run).read_text(encoding="utf-8"), brief_lines(read_summary(run), None)
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
    lines, page = brief_lines(read_summary(run), None), render(run).read_text(encoding="utf-8")
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
