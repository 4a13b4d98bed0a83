"""Say in three lines which run to trust, and where; and what a comparison prints and shows of itself."""

from __future__ import annotations

import math
from pathlib import Path

from miscal.base.shown import Shown, SignedBar, first_words
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.answer import spoken
from miscal.discovery.summary_parts import Answer
from miscal.findings.verdict import in_points
from miscal.report.formatting import decimals_for, points
from miscal.report.opening import aligned, cut, opening_lines, short_facts
from miscal.runs.compare.document import (
    MOST_NAMED,
    ComparedRuns,
    GroupPair,
    GroupSide,
    hidden_words,
    pair_facts,
    rows_facts,
)

MOST_WORDS, LONGEST = 6, 30
"""Words of a group's name, and characters of a run's, in a sentence; tables and the page hold the whole names."""
MOST_PRINTED, MOST_NOTED = 12, 3
"""Groups and notes that are printed; the page has all."""


def answer_of(found: ComparedRuns) -> Answer:
    """Say which run is better calibrated, where they differ most, and which to trust."""
    words = vocabulary(found.kind)
    return Answer(headline=_headline(found, words), reason=_reason(found, words), action=_action(found))


def _headline(found: ComparedRuns, words: Vocabulary) -> str:
    a, b = _name(found.a), _name(found.b)
    error, mean = found.measures["calibration_error"], found.measures["residual"]
    if found.same_answers:
        return f"{a} and {b} are alike: they have the same {words.probabilities} and outcomes."
    if error.difference.value is None:
        return f"There are too few rows to say whether {a} or {b} is better calibrated."
    off = [_off(error.a.value), _off(error.b.value)]
    if error.better is None and mean.better is not None:
        off = [f"{in_points(abs(one.value or 0.0), words.digits)} on average" for one in (mean.a, mean.b)]
    if found.better is None:
        return f"Reliability diagrams do not tell {a} and {b} apart: off by {off[0]} and {off[1]}."
    (one, two), (less, more) = ((a, b), off) if found.better == "a" else ((b, a), off[::-1])
    return f"{one} is better calibrated: off by {less}, {two} by {more}."


def _off(saving: float | None) -> str:
    """Write what recalibration saves of the Brier score as the distance whose square it is."""
    return in_points(math.sqrt(max(saving or 0.0, 0.0)))


def _reason(found: ComparedRuns, words: Vocabulary) -> str:
    """Say where the runs differ most, or where they fail together, or what was looked at."""
    group = next((one for one in found.differences[:1] if one.a and one.b), None)
    if group is not None:
        sides = (f"{_name(name)} {_side(side, words)}" for name, side in ((found.a, group.a), (found.b, group.b)))
        return f"Most different, {_group(group)}: {'; '.join(sides)}."
    both = [one for one in found.groups if one.both]
    if both:
        often = {"over": "less", "under": "more"}[both[0].both or "over"]
        rows = words.equal_rows()
        return f"They fail together, {_group(both[0])}: {words.label} {often} often {words.than(rows)} in either."
    if found.candidates:
        return f"Of {found.candidates:,} groups tested, none is shown to differ between them."
    return "No group could be compared: their data share no column or text that names groups."


def _side(side: GroupSide | None, words: Vocabulary) -> str:
    if side is None:
        return "has no rows"
    return f"{words.heads[1]} {spoken(side.confidence)}, {words.heads[0]} {spoken(side.accuracy)}"


def _action(found: ComparedRuns) -> str:
    """Say which run to trust, and where the other."""
    own = "" if found.same_rows else " Their rows differ, too."
    if found.same_answers:
        return "Choose by other reasons: they are calibrated alike."
    if found.measures["calibration_error"].difference.value is None:
        return "Compare more rows: some hundreds that both runs have."
    if found.better is None:
        nearer = [
            (name, [one for one in found.differences if found.closer(one) == side])
            for side, name in (("a", found.a), ("b", found.b))
        ]
        said = "; ".join(f"{_name(name)} is closer, {_group(some[0])}" for name, some in nearer if some)
        if not said:
            return f"Choose by other reasons: calibration does not decide between them.{own}"
        return f"Choose by group: {said}.{own}"
    one, other, behind = (found.a, found.b, "b") if found.better == "a" else (found.b, found.a, "a")
    closer = [group for group in found.differences if found.closer(group) == behind]
    if closer:
        return f"Trust {_name(one)}: but {_name(other)} is closer, {_group(closer[0])}.{own}"
    both = sum(bool(group.both) for group in found.groups)
    if both:
        where = "one group" if both == 1 else f"{both} groups"
        return f"Trust {_name(one)}: but in {where} both fail.{own}"
    return f"Trust {_name(one)}: no group was found where {_name(other)} is closer.{own}"


def _name(text: str) -> str:
    """Return a run's name as it stands in a sentence."""
    return cut(first_words(text, 2), LONGEST)


def _group(group: GroupPair) -> str:
    return first_words(group.description, MOST_WORDS)


# --- what is printed ----------------------------------------------------------------------------------------------


def comparison_lines(found: ComparedRuns, out: Path) -> list[str]:
    """Return the lines that are printed of a comparison, at most thirty; `out` is its folder."""
    heads, rows = _by_group(found, vocabulary(found.kind))
    shown = rows[:MOST_PRINTED]
    facts = [*rows_facts(found), *(("note", one) for one in found.notes[:MOST_NOTED])]
    more = len(rows) - len(shown)
    lines = [
        *opening_lines(answer_of(found)),
        "",
        *aligned(heads, shown),
        *([f"{more} more: see the page"] if more else []),
    ]
    return [*lines, "", *short_facts([*facts, ("page", str(out / "compare.html"))], above=len(lines))]


def named_groups(found: ComparedRuns) -> tuple[GroupPair, ...]:
    """Return the groups in which the runs differ; where there is none, those in which both fail."""
    return found.differences or tuple(one for one in found.groups if one.both)


def _by_group(found: ComparedRuns, words: Vocabulary) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Tabulate all rows, and the groups in which the runs differ or both fail, under both."""
    says, comes = words.heads[1], words.heads[0]
    heads = (f"group ({says}, {comes})", "rows", *(cut(name, 16) for name in (found.a, found.b)), "difference hidden")
    measures = [[getattr(found.measures[name], side).value for name in ("confidence", "accuracy")] for side in "ab"]
    rows = [("all rows", f"{found.n_a:,}", *(_shares(*both) for both in measures), "")]
    for one in named_groups(found):
        sides = [side for side in (one.a, one.b) if side]
        shares = (_shares(side.confidence, side.accuracy) if side else "no rows" for side in (one.a, one.b))
        apart = "" if one.hidden is None else points(one.hidden.value, decimals_for(found.epsilon))
        rows.append((cut(one.description, 36), f"{sides[0].n if sides else 0:,}", *shares, apart))
    return heads, rows


def _shares(says: float | None, comes: float | None) -> str:
    return ", ".join("" if value is None else spoken(value) for value in (says, comes))


def shown_comparison(found: ComparedRuns) -> Shown:
    """Return what a comparison shows of itself: its three lines, where the runs differ, and its numbers."""
    answer = answer_of(found)
    return Shown(
        title=f"Comparison of {found.a} and {found.b}",
        sentences=(answer.headline, answer.reason, answer.action),
        bars=tuple(_bar(one, found, vocabulary(found.kind)) for one in found.differences[: MOST_NAMED + 1]),
        facts=tuple(pair_facts(found)),
    )


def _bar(one: GroupPair, found: ComparedRuns, words: Vocabulary) -> SignedBar:
    sides = f"{hidden_words(found.a, one.a, words)} and {hidden_words(found.b, one.b, words)}"
    said = f"{sides}, beside {words.equal_rows()}"
    return SignedBar(one.description, 0.0 if one.hidden is None else one.hidden.value or 0.0, said)
