"""Say in sentences what acting at a threshold leads to."""

from __future__ import annotations

from miscal.base.number_wording import rate, threshold_text
from miscal.base.vocabulary import Vocabulary
from miscal.findings.decisions import BrokenPromise, Decision, NetBenefit, Promise


def started(decisions: tuple[Decision, ...]) -> Decision | None:
    """Return the decision that is told first; None of a run that has none."""
    return next((one for one in decisions if one.start), None)


def decision_sentence(decision: Decision | None, words: Vocabulary) -> str:
    """Say for the verdict that a promise is broken at a threshold asked for; empty where none is, beyond chance.

    Parameters
    ----------
    decision : Decision or None
        The one that is told first.
    words : Vocabulary

    Examples
    --------
    >>> import numpy as np
    >>> from miscal.base.vocabulary import vocabulary
    >>> from miscal.calibration.labelled_rows import LabelledRows
    >>> from miscal.findings.decisions import Thresholds, decide
    >>> y, sure = np.tile([1.0, 0.0], 100), np.repeat([0.9, 0.4], 100)
    >>> found = decide(LabelledRows.of(y, sure), np.where(sure > 0.5, sure, 0.6), Thresholds.of([0.8]))
    >>> print(decision_sentence(started(found), vocabulary("answer")))
    Of the 100 answers that are accepted at a threshold of 80 %, 50 % are right (40 to 60); the model promised 90 %.
    """
    if decision is None or decision.source == "grid":
        return ""
    if decision.before.broken:
        return _of_side(decision.before, decision.threshold, "", words)
    if decision.before_below.broken:
        return _of_side(decision.before_below, decision.threshold, "not ", words)
    return ""


def _of_side(before: Promise, threshold: float, no: str, words: Vocabulary) -> str:
    return (
        f"Of the {before.n:,} {words.cases} that are {no}{words.acted} at a threshold of {threshold_text(threshold)}, "
        f"{observed(before, words)}; the model promised {rate(before.promised or 0.0)}."
    )


def acted_on(decision: Decision, words: Vocabulary) -> str:
    """Say what becomes of the cases that are acted on at a threshold, before and after the correction.

    Examples
    --------
    >>> import numpy as np
    >>> from miscal.base.vocabulary import vocabulary
    >>> from miscal.calibration.labelled_rows import LabelledRows
    >>> from miscal.findings.decisions import Thresholds, decide
    >>> y, sure = np.tile([1.0, 0.0], 100), np.repeat([0.9, 0.4], 100)
    >>> found = decide(LabelledRows.of(y, sure), np.where(sure > 0.5, 0.5, sure), Thresholds.of([0.8]))
    >>> print(acted_on(started(found), vocabulary("event")))
    at 80 %, 100 rows are acted on, of which 50 % have the event (40 to 60); promised: 90 %. By corrected predicted
    risk, no row is acted on
    """
    return (
        f"at {threshold_text(decision.threshold)}, {_some(decision.before, words)}. By corrected {words.probability}, "
        + _some(decision.after, words)
    )


def _some(one: Promise, words: Vocabulary) -> str:
    if one.n == 0:
        return f"no {words.case} is {words.acted}"
    count = f"1 {words.case} is" if one.n == 1 else f"{one.n:,} {words.cases} are"
    return f"{count} {words.acted}, of which {observed(one, words)}; promised: {rate(one.promised or 0.0)}"


def gain_in_words(benefit: NetBenefit, threshold: float, words: Vocabulary) -> str:
    """Say what acting at a threshold is worth before and after the correction, in cases per 1,000.

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> from miscal.base.vocabulary import vocabulary
    >>> gain = Measure(value=0.012, interval=(0.004, 0.02))
    >>> print(gain_in_words(NetBenefit(before=0.1, after=0.112, all=0.05, gain=gain), 0.1, vocabulary("answer")))
    net benefit at 10 %: 100.0 per 1,000 answers before the correction, 112.0 after; gain 12.0 (4.0 to 20.0)
    """
    low, high = (f"{1000 * (end or 0.0):.1f}" for end in benefit.gain.interval or (0.0, 0.0))
    return (
        f"net benefit at {threshold_text(threshold)}: {1000 * benefit.before:.1f} per 1,000 {words.cases} before the "
        f"correction, {1000 * benefit.after:.1f} after; gain {1000 * (benefit.gain.value or 0.0):.1f} ({low} to {high})"
    )


def observed(one: Promise, words: Vocabulary) -> str:
    """Say how often the outcome came true, with the interval: "50 % are right (40 to 60)"."""
    return f"{rate(one.observed.value or 0.0)} {words.come_true} ({ends(one)})"


def ends(one: Promise) -> str:
    """Write the interval of a rate without its unit: "40 to 60".

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> ends(Promise(n=9, share=1, promised=0.5, observed=Measure(value=0.03, interval=(0.004, 0.12)), p_value=1))
    '0.40 to 12'
    """
    low, high = (rate(end).removesuffix(" %") for end in (one.low, one.high))
    return f"{low} to {high}"


def broken_promise(told: BrokenPromise, phrase: str, words: Vocabulary) -> str:
    """Say what is observed of the rows of a finding on one side, and what was promised.

    Parameters
    ----------
    told : BrokenPromise
    phrase : str
        Its rows, in the middle of a sentence: "rows with subject = law".
    words : Vocabulary
    """
    return (
        f"of {phrase}, {told.before.n:,} are {'not ' if told.below else ''}{words.acted}, of which "
        f"{observed(told.before, words)}; promised: {rate(told.before.promised or 0.0)}"
    )
