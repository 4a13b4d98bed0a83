"""What a run shows of itself in a notebook and on a terminal."""

from __future__ import annotations

import math
from pathlib import Path

from miscal.base.shown import Diagram, Shown, SignedBar
from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.report.class_facts import class_facts
from miscal.report.formatting import percent
from miscal.report.judge_facts import judge_facts
from miscal.report.printed_finding import finding_words
from miscal.report.printed_summary import SHOWN, more_facts, more_findings
from miscal.report.texts import first_sentence

_LOW = 0.5
"""Largest probability below which a diagram ends above it, and not at 1."""


def shown_run(summary: Summary, path: Path | None = None) -> Shown:
    """Return the alarms, the verdict, the strongest findings and a reliability diagram of a run.

    Parameters
    ----------
    summary : Summary
    path : Path, optional
        Its folder.
    """
    saved = "" if path is None else f", in {path}"
    bars = [
        SignedBar(
            one.description, one.before.value or 0.0, finding_words(one, vocabulary(summary.kind), summary.findings)
        )
        for one in summary.findings
    ]
    of_kind = (*class_facts(summary.classes), *judge_facts(summary.judge))
    return Shown(
        title=f"Run on {summary.n:,} rows{saved}",
        alarms=tuple(summary.alarms),
        sentences=tuple(first_sentence(summary.verdict)),
        bars=tuple(bars[:SHOWN]),
        facts=(*more_findings(summary), *of_kind, *more_facts(summary)),
        diagram=_reliability(summary),
    )


def _reliability(summary: Summary) -> Diagram | None:
    curve = summary.curves.all.raw
    if curve is None:
        return None
    bins = [one[:2] for one in zip(curve.confidence, curve.accuracy, curve.n, strict=True) if one[-1]]
    words = vocabulary(summary.kind)
    top = max((value for one in bins for value in one), default=1.0)
    # ends at a round number of hundredths, or of their tenths
    step = 0.1 if top > 0.1 else 0.01
    end = 1.0 if top > _LOW else max(math.ceil(top / step - 1e-9) * step, 1e-3)
    most = percent(end, 0 if end >= 0.01 else 1)
    axes = f"{words.rate} against {words.probability}, both from 0 to {most}"
    caption = f"Reliability: {axes}. On the dashed line they are equal."
    x, y = (tuple(one[k] / end for one in bins) for k in (0, 1))
    return Diagram(caption, x, y, tuple(percent(one[0], 0 if end >= 0.1 else 1) for one in bins))
