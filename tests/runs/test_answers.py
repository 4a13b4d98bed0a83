"""The three lines of an audit, on corrected rows and of a monitor: short, of their numbers, and never against them."""

from itertools import product
from pathlib import Path

import pytest

from miscal.base.vocabulary import KINDS, vocabulary
from miscal.cli.commands.discover import corrected_lines
from miscal.discovery.summary import Measure
from miscal.evidence.stability import NullStatistic, SliceBootstrap, Spread, Stability
from miscal.runs.audit import NULLS, Audit, null_question
from miscal.runs.correct.command import Corrected
from miscal.runs.correct.tally import Tally

from ..report.read_page import check_lines, check_terminal
from .monitor.test_page import KEYS, monitoring, question


def audited(null="visible", p=0.01, draws=99, correlation=0.9):
    """An audit with these numbers."""
    one = NullStatistic(0.081, (0.03,) * draws, 0.034, 0.01, p)
    spread = Spread(correlation, None if correlation is None else 0.02)
    stability = Stability(5, spread, spread, Spread(0.08, 0.01), Spread(0.1, 0.02), 0, ())
    nulls = dict.fromkeys(("delta_std", "std_hidden", "share_miscalibrated", "gap", "gap_clipped"), one)
    return Audit(
        null=null, null_question=null_question(null, "answer"), null_correlation=0.1, nulls=nulls, proxy_curves=(),
        seeds=stability, by_seed=(), thresholds=(), thresholds_by_brier=(), bootstrap=SliceBootstrap(None, None, None),
    )  # fmt: skip


@pytest.mark.parametrize("null", NULLS)
def test_lines_of_an_audit_are_short_and_of_one_mind_in_every_state(null):
    for p, draws, correlation in product((0.01, 0.05, 0.3, 0.5, 1.0), (1, 19, 99), (None, -0.2, 0.6, 0.95)):
        found = audited(null, p, draws, correlation)
        lines = found.answer
        check_lines(lines)
        assert ("This is not chance" in lines.headline) == (p <= 0.05)
        assert ("Too few refits" in lines.headline) == (p > 0.05 and draws < 19)
        assert ("Draw more" in lines.action) == ("Too few refits" in lines.headline)
        assert ("Rely on the map" in lines.action) == (p <= 0.05 and correlation == 0.95)
        assert ("5 seeds agree: " in lines.reason) == (correlation == 0.95)
        check_terminal(found.shown().lines([("written to", "run/audit.json")]))
        assert lines.headline in found.shown().text().replace("\n", " ")


COLUMNS = {"confidence": "p", "x": ["a", "b"]}


@pytest.mark.parametrize("kind", KINDS)
def test_lines_on_corrected_rows_say_the_state_and_nothing_against_it(kind):
    for (asked, empty), alone, warnings in product(((300, 0), (300, 3), (1, 0)), (0, 12, 200), (0, 1, 30)):
        alone = min(alone, asked - empty)
        tally = Tally(read=asked, asked=asked, written=asked, empty=empty, global_only=alone)
        done = Corrected(Path("out.csv"), tally, ["much is unlike what it was " * 40] * warnings, COLUMNS, kind, 5)
        lines = done.answer
        check_lines(lines)
        assert lines.headline.startswith("297 of 300 rows" if empty else f"{asked} row")
        assert (f"by the {vocabulary(kind).probability} alone" in lines.headline) == (alone > 0)
        assert ("Learn the correction anew" in lines.action) == (2 * alone > asked - empty)
        assert ("Nothing about them" in lines.reason) == (not warnings)
        printed = corrected_lines(done, "out.csv")
        check_terminal(printed)
        assert ("            26 more" in printed) == (warnings == 30)


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
def test_lines_of_a_monitor_say_the_state_and_nothing_against_it(kind):
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
