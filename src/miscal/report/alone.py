"""What may be decided alone, in words."""

from __future__ import annotations

from miscal.base.number_wording import percent, spoken, threshold_text
from miscal.base.vocabulary import ANSWER, vocabulary
from miscal.discovery.summary import Summary
from miscal.findings.alone import Alone

FIRST_ERROR = 0.05
"""Accepted error that is said first where none was asked for: the one that people name most."""
MOST_BREAKS = 2
"""Groups that a line names; the page has all."""


def alone_at(summary: Summary) -> tuple[Alone, ...]:
    """Return what is said first: the promises at the error asked for, else at 5 %, else at the least that holds any."""
    asked = summary.settings.get("max_error", [])
    wanted = asked[0] if asked else FIRST_ERROR
    able = [one.max_error for one in summary.alone if one.threshold is not None or one.raw.threshold is not None]
    if not asked and wanted not in able and able:
        wanted = min(able, key=lambda error: (error < wanted, error))
    return tuple(one for one in summary.alone if one.max_error == wanted)


def alone_line(summary: Summary) -> str:
    """Say how much may be decided alone, by the corrected and by its own confidence, and where not; empty of no rows.

    Examples
    --------
    >>> from types import SimpleNamespace as Some
    >>> from miscal.base.document import Measure
    >>> from miscal.findings.alone import OwnThreshold, RiskLimit
    >>> found = Alone(
    ...     max_error=0.05, decision="answer", threshold=0.92, n=420, share=Measure(value=0.42),
    ...     error=RiskLimit(value=0.03, upper=0.05), raw=OwnThreshold(threshold=None, share=0.0),
    ... )
    >>> alone_line(Some(alone=(found,), settings={}, kind="answer"))
    'accepting 5 % errors, 42 % of the answers (corrected confidence from 92 %); by its own confidence none'
    """
    found = alone_at(summary)
    if not found:
        return ""
    words = vocabulary(summary.kind)
    if summary.kind == ANSWER:
        [one] = found
        said = f"{_share(one.share.value)} of the {words.cases}"
        if one.threshold is not None:
            said += f" (corrected {words.probability} from {threshold_text(one.threshold)})"
        by_itself = _share(one.raw.share)
    else:
        said = ", ".join(_side(one) for one in found) + f" of the {words.cases}"
        by_itself = ", ".join(f"{one.decision} in {_share(one.raw.share)}" for one in found)
        if not any(one.raw.share for one in found):
            by_itself = "none"
    line = f"accepting {percent(found[0].max_error)} errors, {said}; by its own {words.probability} {by_itself}"
    broken = dict.fromkeys(part.condition.phrase for one in found for part in one.breaks)
    if broken:
        more = f" and {len(broken) - MOST_BREAKS} more" if len(broken) > MOST_BREAKS else ""
        line += f"; not where {', '.join(list(broken)[:MOST_BREAKS])}{more}"
    return line


def _share(share: float | None) -> str:
    return spoken(share) if share else "none"


def _side(one: Alone) -> str:
    if one.threshold is None:
        return f"{one.decision} in none"
    where = "from" if one.decision == "yes" else "up to"
    return f"{one.decision} {where} {threshold_text(one.threshold)} in {_share(one.share.value)}"
