"""What long work shows of itself: a bar with what is done on a terminal, nothing where nobody looks."""

import io
import sys
import time

import numpy as np
import polars as pl
import pytest

import miscal
from miscal.base.process import Progress, progress_to, with_progress
from miscal.data.encoders.texts import TextSentenceTransformer
from miscal.runs.shown_progress import stages, steps


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Model:
    """A sentence model that gives each text its length."""

    def encode(self, texts, **how):
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


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


@pytest.mark.parametrize("n", [1, 7, 200])
def test_texts_are_embedded_batch_by_batch_each_told_of(n):
    texts = [f"{'word ' * (k % 9)}{k % 150}" for k in range(n)]
    encoder, shares = TextSentenceTransformer(model="any", batch_size=16), []
    encoder._loaded = Model()
    with progress_to(shares.append):
        assert encoder.transform(texts)[:, 0].tolist() == [len(text) for text in texts]
    assert len(shares) == -(-len(set(texts)) // 16)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
