"""The section of decisions: every threshold of the run, one of them shown, in the words of its kind."""

import re

import pytest

from miscal.base.number_wording import rate
from miscal.discovery.summary import read_summary
from miscal.report import render
from miscal.report.brief import brief_lines

from .made_decisions import decided, with_decisions
from .read_page import page_of, section_of


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


@pytest.mark.parametrize(
    ("kind", "there", "not_there"),
    [
        ("answer", ("answers", "are right", "Not accepted"), ("acted on", "event")),
        ("event", ("rows", "have the event", "Not acted on", "predicted risk"), ("accepted", "answer", "right")),
    ],
)
def test_each_kind_is_told_in_its_own_words(make_run, kind, there, not_there):
    section = decisions_of(make_run(300, edit=with_decisions(kind, cost=(3, 1))))
    told = re.sub(r"<[^>]*>", " ", re.sub(r"<summary>.*?</summary>", " ", section))
    for words in there:
        assert words in told
    for words in not_there:
        assert words not in told.replace("right actions", "").replace("rightly", ""), words


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


def test_costs_are_told_with_the_threshold_that_they_imply(make_run):
    text = re.sub(r"<[^>]*>", "", decisions_of(make_run(300, edit=with_decisions(cost=(1, 3)))))
    assert (
        "implied by the costs: 1 of a right answer that is not accepted, 3 of a wrong answer that is accepted" in text
    )
    assert "Net benefit at 75 %: " in text
    assert "Vickers and Elkin" in text


def test_a_run_without_decisions_has_no_such_section(make_run):
    assert "Decisions at a threshold" not in page_of(make_run(300)).visible
