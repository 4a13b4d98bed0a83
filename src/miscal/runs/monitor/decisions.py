"""What acting at the thresholds of a run led to on the rows of a look."""

from __future__ import annotations

from collections.abc import Sequence

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import Vocabulary
from miscal.calibration.labelled_rows import LabelledRows
from miscal.discovery.run import RunContent
from miscal.findings.decision_wording import observed
from miscal.findings.decisions import Decision, Promise, Thresholds, decide
from miscal.runs.monitor.new_rows import NewLabelled


def decisions_of(run: RunContent, rows: NewLabelled) -> tuple[Decision, ...]:
    """Set what was observed of the rows of a look beside what was promised, at the thresholds that the run stored.

    Returns
    -------
    tuple of Decision
        By rising threshold, the same one first as in the run; intervals and p-values are of this look alone, and
        allow for all thresholds and both sides. Empty where the run stored none.
    """
    stored = run.summary.decisions
    if not stored:
        return ()
    group = None if rows.group is None else rows.unit
    labelled = LabelledRows.of(rows.correct, rows.confidence, rows.visible, group=group)
    asked = Thresholds.of((), run.summary.settings.get("cost"))
    found = decide(labelled, rows.corrected, asked, at={one.threshold: one.source for one in stored})
    return tuple(now.model_copy(update={"start": before.start}) for now, before in zip(found, stored, strict=True))


def promises_at_last_look(decisions: Sequence[Decision], words: Vocabulary) -> tuple[str, ...]:
    """Say at which thresholds promises are broken at the last look, a sentence each of corrected and raw; or none.

    Examples
    --------
    >>> import numpy as np
    >>> from miscal.base.vocabulary import vocabulary
    >>> y, sure = np.tile([1.0, 0.0], 100), np.repeat([0.9, 0.4], 100)
    >>> found = decide(LabelledRows.of(y, sure), np.full(200, 0.5), at={0.5: "grid", 0.8: "grid"})
    >>> for said in promises_at_last_look(found, vocabulary("event")):
    ...     print(said)
    Decisions, at the last look: by corrected predicted risk, the promise is kept within chance at all 2 thresholds.
    By raw predicted risk, the promise is broken at 2 of 2 thresholds (50 % to 80 %), most at 50 %: of the 100 rows that
    are acted on, 50 % have the event (40 to 60); promised: 90 %.
    """
    if not decisions:
        return ()
    corrected = f"by corrected {words.probability}", [(one.after, one.after_below) for one in decisions]
    raw = f"By raw {words.probability}", [(one.before, one.before_below) for one in decisions]
    at = [one.threshold for one in decisions]
    return tuple(
        f"{begin}{by}, the promise is {_broken(sides, at, words)}."
        for begin, (by, sides) in (("Decisions, at the last look: ", corrected), ("", raw))
    )


def _broken(sides: Sequence[tuple[Promise, Promise]], at: Sequence[float], words: Vocabulary) -> str:
    """Say at how many thresholds a promise is broken, and tell of the one at which it is farthest off."""
    off = [
        (_distance(one), threshold, below, one)
        for pair, threshold in zip(sides, at, strict=True)
        for below, one in enumerate(pair)
        if one.broken
    ]
    if not off:
        return f"kept within chance at all {len(at)} thresholds" if len(at) > 1 else "kept within chance"
    _, threshold, below, worst = max(off, key=lambda one: one[0])
    places = sorted({one[1] for one in off})
    ends = f"{threshold_text(places[0])} to {threshold_text(places[-1])}" if len(places) > 1 else ""
    where = f" ({ends}), most at {threshold_text(threshold)}" if ends else f", at {threshold_text(threshold)}"
    return (
        f"broken at {len(places)} of {len(at)} thresholds{where}: of the {worst.n:,} {words.cases} that are "
        f"{'not ' if below else ''}{words.acted}, {observed(worst, words)}; promised: {rate(worst.promised or 0.0)}"
    )


def _distance(one: Promise) -> float:
    return abs((one.observed.value or 0.0) - (one.promised or 0.0))
