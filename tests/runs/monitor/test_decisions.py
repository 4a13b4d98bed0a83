"""Decisions at the last look: those of its rows, at the thresholds of the run, and what is said of them."""

from types import SimpleNamespace

import numpy as np
import pytest

from miscal.base.vocabulary import vocabulary
from miscal.calibration.labelled_rows import LabelledRows
from miscal.findings.decisions import Thresholds, decide
from miscal.runs.monitor.decisions import decisions_of, promises_at_last_look
from miscal.runs.monitor.new_rows import NewLabelled

N = 900


def rows_of(seed, off=0.0, unit=None):
    rng = np.random.default_rng(seed)
    f = rng.beta(2, 2, N)
    y = (rng.random(N) < np.clip(f - off, 0, 1)).astype(float)
    given = {"X": np.zeros((N, 0)), "regime": np.full(N, None), "supported": np.ones(N, bool), "columns": {}}
    return NewLabelled(
        correct=y, confidence=f, corrected=np.clip(f - 0.2, 0, 1), visible=f, text=None,
        unit=np.arange(N) if unit is None else unit, group=None if unit is None else unit.astype(str), **given,
    )  # fmt: skip


def run_of(decisions, **settings):
    return SimpleNamespace(summary=SimpleNamespace(decisions=decisions, settings=settings))


def stored(**asked):
    rows = rows_of(0)
    return decide(LabelledRows.of(rows.correct, rows.confidence), rows.corrected, Thresholds.of(**asked))


def test_they_are_at_the_thresholds_of_the_run_and_of_the_rows_of_the_look():
    before, rows = stored(thresholds=(0.62,), cost=(4, 1)), rows_of(1)
    now = decisions_of(run_of(before, cost=[4, 1]), rows)
    assert [(one.threshold, one.source, one.start) for one in now] == [
        (one.threshold, one.source, one.start) for one in before
    ]
    for one in now:
        acted = rows.corrected >= one.threshold
        assert one.after.n == acted.sum()
        assert one.before.n == (rows.confidence >= one.threshold).sum()
        assert one.after.n == 0 or one.after.observed.value == pytest.approx(rows.correct[acted].mean())
        assert one.net_benefit is not None


def test_rows_of_a_group_that_agree_say_less():
    before, alone = stored(), rows_of(2)
    half = np.arange(N) // 2
    twins = rows_of(2, unit=half)
    for name in ("correct", "confidence", "corrected", "visible"):
        getattr(twins, name)[:] = getattr(alone, name)[half]
    single = rows_of(2)
    for name in ("correct", "confidence", "corrected", "visible"):
        getattr(single, name)[:] = getattr(alone, name)[half]
    wide, narrow = (decisions_of(run_of(before), rows)[len(before) // 2].after for rows in (twins, single))
    assert wide.high - wide.low > 1.2 * (narrow.high - narrow.low)


def test_a_run_from_before_there_were_decisions_says_nothing():
    assert decisions_of(run_of(()), rows_of(1)) == ()
    assert promises_at_last_look((), vocabulary("answer")) == ()


@pytest.mark.parametrize(("off", "corrected", "raw"), [(0.0, "broken at", "kept within"), (0.2, "kept", "broken at")])
def test_what_is_broken_is_said_of_corrected_and_raw(off, corrected, raw):
    now = decisions_of(run_of(stored()), rows_of(4, off))
    said = promises_at_last_look(now, vocabulary("answer"))
    assert said[0].startswith(f"Decisions, at the last look: by corrected confidence, the promise is {corrected}")
    assert said[1].startswith(f"By raw confidence, the promise is {raw}")
    assert "event" not in " ".join(said)
