"""The three lines on corrected rows: short, of their counts alone, and never against them."""

from itertools import product
from pathlib import Path

import pytest

from miscal.base.vocabulary import KINDS, vocabulary
from miscal.cli.commands.discover import corrected_lines
from miscal.runs.correct.command import Corrected
from miscal.runs.correct.tally import Tally

from ...report.read_page import check_lines, check_terminal

COLUMNS = {"confidence": "p", "x": ["a", "b"]}


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_short_and_of_one_mind_in_every_state(kind):
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
