"""Checks for tests: fail a job of continuous integration with what a run found.

Examples
--------
In a test, with the folder that ``miscal discover`` wrote::

    from miscal.testing import assert_calibrated

    def test_the_model_is_calibrated_in_every_group():
        assert_calibrated("run", max_hidden=0.02)
"""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from miscal.base.errors import InputError
from miscal.base.signatures import checked_call

if TYPE_CHECKING:
    from miscal.discovery.summary import Summary
    from miscal.runs.run import Run

__all__ = ["assert_calibrated"]


@checked_call
def assert_calibrated(run: Run | str | Path, *, max_hidden: float | None = None, max_findings: int | None = 0) -> None:
    """Fail where a run proves more miscalibration than is allowed.

    Nothing is compared with an estimate, which noise alone could carry over any threshold. Findings are what the run
    tested and found at its own level, 5 % for all groups together by default: of runs of a model that is calibrated in
    every group, at most one in twenty fails.

    Parameters
    ----------
    run : Run, str or Path
        What :func:`miscal.discover` returned, or the folder of a run.
    max_hidden : float in [0, 1], optional
        The largest mean hidden miscalibration allowed. It fails where the lower 95 % limit of the run exceeds it.
    max_findings : int or None, default 0
        The most findings allowed, those of single classes included; None allows any number.

    Raises
    ------
    AssertionError
        With a sentence for each finding, and for the hidden miscalibration.
    InputError
        If an argument is out of range, or findings are to be counted and the run tested no groups.

    Examples
    --------
    >>> import miscal
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> region, risk = rng.choice(["north", "south"], 300), rng.uniform(0.3, 0.7, 300)
    >>> defaulted = rng.random(300) < risk + np.where(region == "south", 0.28, -0.28)
    >>> loans = {"risk": risk, "defaulted": defaulted, "region": region}
    >>> found = miscal.discover(loans, probability="risk", event="defaulted", quick=True, n_jobs=1)
    >>> assert_calibrated(found, max_findings=1)
    >>> assert_calibrated(found)
    Traceback (most recent call last):
    ...
    AssertionError: 1 finding, and at most 0 are allowed:
    - region = north: ...
    """
    _check(max_hidden, max_findings)
    if not isinstance(run, str | Path) and not hasattr(run, "summary"):
        raise InputError(f"run must be a run or the path of its folder; got a value of type {type(run).__name__}")
    summary = _summary(run) if isinstance(run, str | Path) else run.summary
    failures = [*_hidden(summary, max_hidden), *_findings(summary, max_findings)]
    if failures:
        raise AssertionError("\n".join(failures))


def _summary(folder: str | Path) -> Summary:
    from miscal.discovery.run import sealed_summary

    return sealed_summary(folder)


def _check(max_hidden: float | None, max_findings: int | None) -> None:
    if max_hidden is not None and not (isfinite(max_hidden) and 0 <= max_hidden <= 1):
        raise InputError(f"max_hidden must be from 0 to 1, a mean difference of probabilities; got {max_hidden!r}")
    if max_findings is not None and (
        isinstance(max_findings, bool) or not isinstance(max_findings, int) or max_findings < 0
    ):
        raise InputError(f"max_findings must be a whole number of at least 0, or None; got {max_findings!r}")


def _hidden(summary: Summary, most: float | None) -> list[str]:
    from miscal.findings.verdict import in_points

    interval = summary.certificate.lower_bound_hidden.interval
    low = None if interval is None else interval[0]
    if most is None or low is None or low <= most:
        return []
    return [
        f"hidden miscalibration is at least {in_points(low, 1)} on average, with 95 % confidence, and at most "
        f"{in_points(most, 1)} are allowed"
    ]


def _findings(summary: Summary, most: int | None) -> list[str]:
    from miscal.base.vocabulary import vocabulary
    from miscal.discovery.answer import words_of
    from miscal.report.brief import finding_words

    if most is None:
        return []
    if summary.findings_method is None:
        raise InputError("the run tested no groups, so that it has no findings to count: give max_findings=None")
    words = vocabulary(summary.kind)
    lines = [f"- {one.description}: {finding_words(one, words, summary.findings)}" for one in summary.findings]
    lines += [
        f"- {event.name}, where {one.description}: {finding_words(one, words_of(event.name), event.findings)}"
        for event in (() if summary.classes is None else summary.classes.classes)
        for one in event.findings
    ]
    if len(lines) <= most:
        return []
    count = "1 finding" if len(lines) == 1 else f"{len(lines)} findings"
    return [f"{count}, and at most {most} {'is' if most == 1 else 'are'} allowed:", *lines]
