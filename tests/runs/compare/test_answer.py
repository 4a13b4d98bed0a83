"""The three lines of a comparison: short, of its own numbers, and never against them."""

import re
from itertools import product
from pathlib import Path

import pytest

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.vocabulary import KINDS
from miscal.runs.compare.answer import comparison_lines
from miscal.runs.compare.document import MeasurePair
from miscal.runs.compare.page import build

from ...report.read_page import check_lines, check_terminal
from .test_page import comparison, group, measure, run_of

GROUPS = ("none", "untested", "a closer", "b closer", "one side", "both fail")
BETTER = ("a", "b", None, "unknown", "same")


def error(better):
    """The calibration errors of two runs, of which one is better."""
    low, high = (0.0016, 0.01) if better != "b" else (0.01, 0.0016)
    if better == "unknown":
        return MeasurePair(a=Measure(value=None), b=Measure(value=None), difference=MeasureAgainstNull(value=None))
    apart = MeasureAgainstNull(value=low - high, interval=(low - high - 0.001, low - high + 0.001), p_value=0.01)
    return MeasurePair(
        a=measure(low), b=measure(high), difference=apart, better=better if better in ("a", "b") else None
    )


def state(better="a", found="none", *, same_rows=True, kind="answer", name="law", names=("a", "b")):
    """Two runs in one of the states of a comparison."""
    one = comparison(name, same_rows=same_rows, empty=found in ("none", "untested"))
    pair, groups = one.pairs[0], ()
    if found in ("a closer", "b closer"):
        near, far = (measure(-0.02), measure(-0.3)) if found == "a closer" else (measure(-0.3), measure(-0.02))
        first = group(name)
        sides = {
            side: getattr(first, side).model_copy(update={"residual": of}) for side, of in (("a", near), ("b", far))
        }
        groups = (first.model_copy(update=sides),)
    elif found == "one side":
        groups = (group(name, b=False),)
    both = (group(name, both="over"),) if found == "both fail" else ()
    changed = {"a": names[0], "b": names[1], "differences": groups, "groups": both, "same_answers": better == "same"}
    changed |= {"candidates": 0 if found == "untested" else 17}
    pair = pair.model_copy(update=changed | {"measures": pair.measures | {"calibration_error": error(better)}})
    runs = tuple(run_of(one) for one in names)
    return one.model_copy(update={"pairs": (pair,), "kind": kind, "runs": runs})


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_short_and_of_one_mind_in_every_state(kind):
    many = ("a run", "one of a very long name"), ("x" * 90, "y" * 90), ("a", "b")
    for better, found, same, name, names in product(BETTER, GROUPS, (True, False), ("law", "long " * 40), many):
        document = state(better, found, same_rows=same, kind=kind, name=name, names=names)
        lines = document.answer
        check_lines(lines)
        assert ("is better calibrated:" in lines.headline) == (better in ("a", "b"))
        if better in ("a", "b"):
            first = names[better == "b"][:5]
            assert lines.headline.startswith(first)
            assert lines.action.startswith(f"Trust {first}")
            assert "off by 4 points" in lines.headline
        else:
            assert "Trust" not in lines.action
        assert ("Most different" in lines.reason) == (found in ("a closer", "b closer"))
        assert ("is closer" in lines.action) <= (found in ("a closer", "b closer") or "no group" in lines.action)
        assert ("fail together" in lines.reason) == (found == "both fail")
        check_terminal(comparison_lines(document, Path("out")))


def test_the_other_run_is_named_where_it_is_closer():
    assert state("a", "b closer").answer.action == "Trust a: but b is closer, subject = law."
    assert state("a", "a closer").answer.action == "Trust a: no group was found where b is closer."
    assert state(None, "b closer").answer.action == "Choose by group: b is closer, subject = law."
    assert state("a", "both fail").answer.action == "Trust a: but in one group both fail."


def test_where_each_run_is_closer_somewhere_both_groups_are_named():
    one, other = state(None, "a closer"), state(None, "b closer", name="sums")
    groups = (*other.pairs[0].differences, *one.pairs[0].differences)
    both = one.model_copy(update={"pairs": (one.pairs[0].model_copy(update={"differences": groups}),)})
    check_lines(both.answer)
    assert both.answer.action == "Choose by group: a is closer, subject = law; b is closer, subject = sums."


def test_a_run_is_worse_on_all_rows_or_in_a_group():
    assert state("a").worse == {"b": ("all rows",)}
    assert state(None, "a closer").worse == {"b": ("subject = law",)}
    assert state("a", "a closer").worse == {"b": ("all rows", "subject = law")}
    for better, found in (("b", "none"), ("b", "a closer"), (None, "b closer"), (None, "one side"), ("same", "none")):
        assert state(better, found).worse == {}, (better, found)


def test_a_group_that_is_farther_off_by_chance_is_not_worse():
    one = state(None, "a closer")
    [pair] = one.pairs
    [group] = pair.differences
    by_chance = group.model_copy(update={"residual": group.residual.model_copy(update={"p_value": 0.4})})
    assert one.worse
    assert not one.model_copy(update={"pairs": (pair.model_copy(update={"differences": (by_chance,)}),)}).worse


def test_exchanging_the_runs_exchanges_the_names():
    one, other = state("a", "b closer").answer, state("b", "a closer").answer
    swap = {"a": "b", "b": "a"}
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.headline) == other.headline
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.action) == other.action


@pytest.mark.parametrize(
    ("better", "headline"),
    [
        (("a", "a", None), "ax is better calibrated than both others: off by 4 points."),
        (("a", None, None), "ax is better calibrated than 1 of 2 others, and worse than none: off by 4 points."),
        ((None, None, None), "No run of 3 is shown to be better calibrated than another."),
        (("a", "b", "a"), "No run of 3 is best calibrated: each that is better than one is worse than another."),
    ],
)
def test_of_several_the_best_is_named_or_none_is(better, headline):
    names = ("ax", "bx", "cx")
    base = state()
    between = (("ax", "bx"), ("ax", "cx"), ("bx", "cx"))
    pairs = []
    for (a, b), side in zip(between, better, strict=True):
        measures = base.pairs[0].measures | {"calibration_error": error(side)}
        pairs.append(base.pairs[0].model_copy(update={"a": a, "b": b, "measures": measures}))
    several = base.model_copy(update={"pairs": tuple(pairs), "runs": tuple(run_of(name) for name in names)})
    check_lines(several.answer)
    assert several.answer.headline == headline
    assert several.answer.action.startswith("Trust") == headline.startswith("ax")
    lines = comparison_lines(several, Path("out"))
    check_terminal(lines)
    assert headline in lines[0]
    assert headline in build(several)
    assert headline in several.shown().text()
