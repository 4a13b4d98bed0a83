"""The three lines of a comparison: short, of its own numbers, and never against them."""

import re
from itertools import product
from pathlib import Path

import pytest

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.vocabulary import KINDS
from miscal.runs.compare.answer import comparison_lines
from miscal.runs.compare.document import MeasurePair

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
    groups = ()
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
    changed |= {"measures": one.measures | {"calibration_error": error(better)}}
    return one.model_copy(update=changed | {"kind": kind, "runs": tuple(run_of(name) for name in names)})


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
    both = one.model_copy(update={"differences": (*other.differences, *one.differences)})
    check_lines(both.answer)
    assert both.answer.action == "Choose by group: a is closer, subject = law; b is closer, subject = sums."


def test_a_run_is_worse_on_all_rows_or_in_a_group():
    assert state("a").worse == ("all rows",)
    assert state(None, "a closer").worse == ("subject = law",)
    assert state("a", "a closer").worse == ("all rows", "subject = law")
    for better, found in (("b", "none"), ("b", "a closer"), (None, "b closer"), (None, "one side"), ("same", "none")):
        assert state(better, found).worse == (), (better, found)


def test_a_group_that_is_farther_off_by_chance_is_not_worse():
    one = state(None, "a closer")
    [group] = one.differences
    by_chance = group.model_copy(update={"residual": group.residual.model_copy(update={"p_value": 0.4})})
    assert one.worse
    assert not one.model_copy(update={"differences": (by_chance,)}).worse


def test_exchanging_the_runs_exchanges_the_names():
    one, other = state("a", "b closer").answer, state("b", "a closer").answer
    swap = {"a": "b", "b": "a"}
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.headline) == other.headline
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.action) == other.action
