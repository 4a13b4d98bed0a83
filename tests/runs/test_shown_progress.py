"""What long work shows of itself: a bar with what is done on a terminal, nothing where nobody looks."""

import io
import sys
import time

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base.progress import progress_to, with_progress
from miscal.discovery.progress import Progress
from miscal.runs.shown_progress import stages, steps


class Terminal(io.StringIO):
    def isatty(self):
        return True


def pieces():
    for share in range(4):
        yield share
        time.sleep(0.15)


@pytest.mark.parametrize("shown", [steps, stages])
def test_what_is_done_of_a_step_stands_beside_a_bar_on_a_terminal_alone(shown, monkeypatch):
    for stream, words in ((Terminal(), ("reading 25 %", "reading 75 %")), (io.StringIO(), ())):
        monkeypatch.setattr(sys, "stderr", stream)
        with shown() as tell:
            tell("reading" if shown is steps else Progress("reading"))
            list(with_progress(pieces(), [1] * 4))
        assert all(one in stream.getvalue() for one in words)
        assert bool(words) == ("━" in stream.getvalue()) == bool(stream.getvalue())


def test_a_share_within_a_piece_is_one_of_the_whole():
    shares = []
    with progress_to(shares.append):
        for _ in with_progress((list(with_progress("ab", [1, 1])) for _ in range(2)), [3, 1]):
            pass
    assert shares == [0.375, 0.75, 0.75, 0.875, 1.0, 1.0]


def test_a_scan_tells_how_many_pairs_are_counted():
    rng, shares = np.random.default_rng(0), []
    columns = {name: rng.choice(list("abc"), 2_000) for name in ("one", "two", "three")}
    with progress_to(shares.append):
        rows = pl.LazyFrame({"p": rng.random(2_000), "y": rng.integers(0, 2, 2_000), **columns})
        miscal.scan(rows, probability="p", event="y")
    assert shares == pytest.approx([1 / 3, 2 / 3, 1.0])
