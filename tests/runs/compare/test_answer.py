"""The three lines of a comparison: short, of its own numbers, and never against them."""

import re
from itertools import product

import pytest

from miscal.base.document import Measure, MeasureAgainstNull
from miscal.base.vocabulary import KINDS
from miscal.runs.compare.document import MeasurePair

from ...report.read_page import check_lines, check_terminal
from .test_page import comparison, group, measure, run_of

GROUPS = ("none", "untested", "a closer", "b closer", "one side", "both fail")
BETTER = ("a", "b", None, "unknown", "same")
SIDES = ("a", "b", None)


def apart(better, low, high, *, known=True):
    """A measure of two runs, of which the one with less is better."""
    if not known:
        return MeasurePair(a=Measure(value=None), b=Measure(value=None), difference=MeasureAgainstNull(value=None))
    low, high = (low, high) if better != "b" else (high, low)
    between = MeasureAgainstNull(value=low - high, interval=(low - high - 0.001, low - high + 0.001), p_value=0.01)
    return MeasurePair(a=measure(low), b=measure(high), difference=between, better=better)


def state(
    better="a", found="none", *, ahead=None, right=None, same_rows=True, kind="answer", name="law", names=("a", "b")
):
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
    sided = better if better in ("a", "b") else None
    measures = {
        "calibration_error": apart(sided, 0.0016, 0.01, known=better != "unknown"),
        "corrected_log_loss": apart(ahead, 0.26, 0.49),
        # of accuracy more is better
        "accuracy": apart({"a": "b", "b": "a"}.get(right), 0.66, 0.87).model_copy(update={"better": right}),
    }
    changed |= {"measures": one.measures | measures}
    return one.model_copy(update=changed | {"kind": kind, "runs": tuple(run_of(name) for name in names)})


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_short_and_of_one_mind_in_every_state(kind):
    many = ("a run", "one of a very long name"), ("x" * 90, "y" * 90), ("a", "b")
    for better, found, ahead, same, names in product(BETTER, GROUPS, SIDES, (True, False), many):
        document = state(better, found, ahead=ahead, right="a", same_rows=same, kind=kind, names=names)
        lines = document.answer
        check_lines(lines)
        known = better not in ("unknown", "same")
        assert ("is better calibrated:" in lines.headline) == (better in ("a", "b") and kind != "answer")
        assert ("right more often" in lines.headline) == (known and kind == "answer")
        assert lines.action.startswith("Take") == bool(ahead and same and known)
        if lines.action.startswith("Take"):
            assert lines.action.startswith(f"Take {names[ahead == 'b'][:5]}")
            assert ("though" in lines.action) == (better == {"a": "b", "b": "a"}[ahead])
        # a run that is not the one to take may be closer in a group
        closer = found in ("a closer", "b closer") and found[0] != ahead
        assert ("is closer, " in lines.action) == (closer and same and known)
        assert ("is ahead by" in lines.reason) == bool(ahead)
        check_terminal(document.shown().lines([("page", "out/compare.html")]))


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
    one = state("a", "b closer", ahead="a", right="b").answer
    other = state("b", "a closer", ahead="b", right="a").answer
    swap = {"a": "b", "b": "a"}
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.headline) == other.headline
    assert re.sub(r"\b[ab]\b", lambda name: swap[name[0]], one.action) == other.action
