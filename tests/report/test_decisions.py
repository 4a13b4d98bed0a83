"""The section of decisions: every threshold of the run, one of them shown, in the words of its kind."""

import re

import pytest

from miscal.base.number_wording import rate
from miscal.discovery.summary import read_summary
from miscal.report import render
from miscal.report.brief import brief_lines

from .made_decisions import decided, with_decisions
from .read_page import section_of


def decisions_of(run):
    page = render(run).read_text(encoding="utf-8")
    return section_of(page, "decisions")


def test_one_threshold_is_shown_and_all_are_there(make_run):
    section = decisions_of(make_run(300, edit=with_decisions()))
    decisions, _ = decided()
    assert section.count('class="at-threshold"') == len(decisions) - 1
    shown = re.search(r'class="at-threshold shown" data-place="(\d+)"', section)
    assert decisions[int(shown[1])]["start"]
    assert f'value="{shown[1]}"' in section
    # without the program nobody can move the slider
    assert '<div class="slider" hidden>' in section
    for one in decisions:
        assert f'<td class="number">{one["after"]["n"]}</td>' in section


@pytest.mark.parametrize(("asked", "thresholds"), [({"thresholds": (0.6, 0.99)}, 2), ({"cost": (3, 1)}, 1), ({}, 0)])
def test_the_terminal_tells_the_promise_at_each_threshold_asked_for(make_run, asked, thresholds):
    lines = brief_lines(read_summary(make_run(300, edit=with_decisions(**asked))), None)
    text = re.sub(r"\s+", " ", " ".join(lines))
    named = [one for one in decided(**asked)[0] if one["source"] != "grid"]
    assert len(named) == thresholds == sum(bool(re.match(r"at [\d.]+ %", line)) for line in lines)
    for one in named:
        for side, when in ((one["before"], ""), (one["after"], " if corrected")):
            rates = (
                f": {rate(side['promised'])} promised, {rate(side['observed']['value'])} observed" if side["n"] else ""
            )
            assert f"{side['n']} accepted{when}{rates}" in text


def test_a_finding_whose_promise_is_broken_is_named_with_what_was_promised_and_seen(make_run):
    decisions, _ = decided(thresholds=(0.6,))
    told = next(one for one in decisions if one["start"])["findings"][0]
    section = decisions_of(make_run(300, edit=with_decisions(thresholds=(0.6,))))
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", section)).replace("\u202f", " ")
    promised, observed = told["before"]["promised"], told["before"]["observed"]["value"]
    assert f"of {told['before']['n']} that are accepted, {rate(observed)} are right" in text
    assert f"promised: {rate(promised)}." in text
    assert "asked for" in text
