"""What may be decided alone, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from miscal.base.number_wording import round_up, spoken, threshold_text
from miscal.base.shown import brief_names
from miscal.base.vocabulary import vocabulary
from miscal.discovery.summary import Summary
from miscal.findings.alone import ANSWERED, BELOW, Alone

FIRST_ERROR = 0.05
"""Accepted error that is said first where none was asked for: the one that people name most."""
MOST_BREAKS = 2
"""Groups that a line names; the page has more."""
LONGEST_NAME = 55
"""Characters of each."""


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
    'Accepting 5 % errors, it may decide 42 % of the answers alone (corrected confidence from 92 %); by its own ...'
    """
    found = alone_at(summary)
    if not found:
        return ""
    words, accepting = vocabulary(summary.kind), f"Accepting {threshold_text(found[0].max_error)} errors,"
    if not any(one.threshold is not None or one.raw.share for one in found):
        easiest = min(found, key=lambda one: one.units_needed or math.inf)
        which = "" if easiest.decision == ANSWERED or easiest.units_needed is None else f"to say {easiest.decision}, "
        return f"{accepting} it may decide nothing alone: {which}{enough(easiest, summary)}."
    where = ", ".join(reaches(one, one.threshold) for one in found if one.threshold is not None)
    by = f" (corrected {words.probability} {where})" if where else ""
    decided, own = f"{shares(found)} of the {words.cases}", shares(found, own=True)
    line = f"{accepting} it may decide {decided} alone{by}; by its own {words.probability} {own}."
    broken = list(dict.fromkeys(part.condition.words for one in found for part in one.breaks))
    if broken:
        more = f"; {len(broken) - MOST_BREAKS} groups more" if len(broken) > MOST_BREAKS else ""
        line += f" Not where {'; '.join(brief_names(broken[:MOST_BREAKS], LONGEST_NAME))}{more}."
    return line


def shares(found: Sequence[Alone], *, own: bool = False) -> str:
    """Write the shares that are decided, by corrected or own confidence: "42 %", "yes in 12 %, no in none"."""
    each = {one.decision: one.raw.share if own else one.share.value for one in found}
    if not any(each.values()):
        return "none"
    written = {decision: spoken(share) if share else "none" for decision, share in each.items()}
    return ", ".join(share if decision == ANSWERED else f"{decision} in {share}" for decision, share in written.items())


def reaches(one: Alone, threshold: float) -> str:
    """Say which probabilities a threshold decides: "from 92 %", "up to 3 %"."""
    return f"{'up to' if one.decision in BELOW else 'from'} {threshold_text(threshold)}"


def enough(one: Alone, summary: Summary) -> str:
    """Say with how many rows, or units, something could be promised."""
    if one.units_needed is None:
        return "there are more at every threshold"
    rows = summary.units is None or summary.units.n_units == summary.n
    return f"at least {round_up(one.units_needed)} {'rows' if rows else 'units'} would do"
