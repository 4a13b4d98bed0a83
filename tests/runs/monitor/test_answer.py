"""The three lines of a monitor: short, of its own numbers, and never against its answers."""

from itertools import product

import pytest

from miscal.base.vocabulary import KINDS
from miscal.discovery.summary import Measure

from ...report.read_page import check_lines
from .test_page import KEYS, monitoring, question

STATES = ("holds", "not known", "does not hold")
INTERVALS = {
    "below": (-0.09, (-0.12, -0.06)),
    "above, little": (0.0004, (0.0001, 0.0007)),
    "around": (0.01, (-0.03, 0.05)),
    "none": (0.2, None),
}


def watched(states, interval="below", kind="answer", name="law"):
    """A monitor whose questions have these states, with the value and interval of all rows."""
    value, ends = INTERVALS[interval]
    measure = Measure(value=value, interval=ends)
    asked = [question(key, name, state) for key, state in zip(KEYS, states, strict=True)]
    rows = asked[0].rows.model_copy(update={"value": measure, "observed": 0.49 + value})
    asked[0] = asked[0].model_copy(update={"rows": rows, "course": (measure, measure)})
    loss = asked[1].rows.model_copy(update={"value": Measure(value=0.031, interval=(0.01, 0.05))})
    asked[1] = asked[1].model_copy(update={"rows": loss})
    alarm = "does not hold" in states[:2]
    return monitoring().model_copy(update={"kind": kind, "questions": tuple(asked), "alarm": alarm})


@pytest.mark.parametrize("kind", KINDS)
def test_lines_say_the_state_and_nothing_against_it(kind):
    for *states, interval, name in product(STATES, STATES, STATES, STATES, INTERVALS, ("law", "a long name " * 20)):
        if interval == "none" and states[0] != "not known":
            continue
        found = watched(states, interval, kind, name)
        lines, (level, gain, *parts) = found.answer, states
        check_lines(lines)
        holds = lines.headline.startswith("The correction holds")
        assert holds == (level == "holds" and gain != "does not hold")
        assert ("does harm" in lines.headline) == (gain == "does not hold" != level)
        # an interval that excludes 0 is known to
        known = interval in ("below", "above, little")
        off = known and (level == "does not hold" or (level == "not known" and gain != "does not hold"))
        assert lines.headline.startswith("Outcomes are ") == off
        if off:
            assert ("tolerated" in lines.headline) == (level == "not known")
            # by how much, of the interval
            assert interval != "below" or "below what it says, by 6 to 12 points" in lines.headline
        elif interval == "around" and level == "not known" and gain != "does not hold":
            assert "3 points below to 5 points above" in lines.headline
        assert ("Do not use" in lines.action) == (gain == "does not hold")
        assert ("Go on using" in lines.action) == (level == "holds" and "does not hold" not in (gain, *parts))
        assert ("than none" in lines.action) == (level == "does not hold" and gain == "holds")
        assert ("Farthest off" in lines.reason) == ("does not hold" in parts)
