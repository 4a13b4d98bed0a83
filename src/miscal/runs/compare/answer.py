"""Say in three lines which run to trust, and where; and what a comparison prints and shows of itself."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
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
    RunPair,
    confidence_facts,
    hidden_words,
    pair_facts,
    step_facts,
)

MOST_WORDS, LONGEST = 6, 30
"""Words of a group's name, and characters of a run's, in a sentence; tables and the page hold the whole names."""
MOST_PRINTED, MOST_NOTED = 12, 3
"""Groups or runs, and notes, that are printed; the page has all."""


def answer_of(found: ComparedRuns) -> Answer:
    """Say which run is better calibrated, where they differ most, and which to trust."""
    words, best = vocabulary(found.kind), _best(found)
    return Answer(
        headline=_headline(found, best, words), reason=_reason(found, words), action=_action(found, best, words)
    )


def _best(found: ComparedRuns) -> str | None:
    """Return the run that is better than others and worse than none, the one with most of these; else None."""
    better, worse = Counter(), set()
    for pair in found.pairs:
        if pair.better is not None:
            better[getattr(pair, pair.better)] += 1
            worse.add(pair.b if pair.better == "a" else pair.a)
    return next((name for name, _ in better.most_common() if name not in worse), None)


def _headline(found: ComparedRuns, best: str | None, words: Vocabulary) -> str:
    pairs, names = found.pairs, [_name(one.name) for one in found.runs]
    if len(pairs) == 1:
        [pair] = pairs
        error, (a, b) = pair.measures["calibration_error"], names
        if pair.same_answers:
            return f"{a} and {b} are alike: they have the same {words.probabilities} and outcomes."
        if error.difference.value is None:
            return f"There are too few rows to say whether {a} or {b} is better calibrated."
        off, mean = [_off(error.a.value), _off(error.b.value)], pair.measures["residual"]
        if error.better is None and mean.better is not None:
            off = [f"{in_points(abs(one.value or 0.0), words.digits)} on average" for one in (mean.a, mean.b)]
        if pair.better is None:
            return f"Reliability diagrams do not tell {a} and {b} apart: off by {off[0]} and {off[1]}."
        (one, two), (less, more) = ((a, b), off) if pair.better == "a" else ((b, a), off[::-1])
        return f"{one} is better calibrated: off by {less}, {two} by {more}."
    others = len(found.runs) - 1
    if best is None:
        if _told(found):
            return f"No run of {len(names)} is best calibrated: each that is better than one is worse than another."
        return f"No run of {len(names)} is shown to be better calibrated than another."
    beaten = sum(getattr(one, one.better or "a") == best for one in _told(found))
    if beaten == others:
        every = "both" if others == 2 else f"all {others}"
        return f"{_name(best)} is better calibrated than {every} others: off by {_error_of(found, best)}."
    than = f"{beaten} of {others} others, and worse than none"
    return f"{_name(best)} is better calibrated than {than}: off by {_error_of(found, best)}."


def _told(found: ComparedRuns) -> list[RunPair]:
    return [one for one in found.pairs if one.better is not None]


def _error_of(found: ComparedRuns, name: str) -> str:
    pair = next(one for one in found.pairs if name in (one.a, one.b))
    error = pair.measures["calibration_error"]
    return _off((error.a if pair.a == name else error.b).value)


def _off(saving: float | None) -> str:
    """Write what recalibration saves of the Brier score as the distance whose square it is."""
    return in_points(math.sqrt(max(saving or 0.0, 0.0)))


def _reason(found: ComparedRuns, words: Vocabulary) -> str:
    """Say where two runs differ most, or where they fail together, or what was looked at."""
    differing = _differing(found)
    if differing is not None:
        pair, group = differing
        sides = (f"{_name(name)} {_side(side, words)}" for name, side in ((pair.a, group.a), (pair.b, group.b)))
        return f"Most different, {_group(group)}: {'; '.join(sides)}."
    both = [one for pair in found.pairs for one in pair.groups if one.both]
    if both:
        often = {"over": "less", "under": "more"}[both[0].both or "over"]
        rows = words.equal_rows()
        return f"They fail together, {_group(both[0])}: {words.label} {often} often {words.than(rows)} in either."
    tested = sum(pair.candidates for pair in found.pairs)
    if tested:
        return f"Of {tested:,} groups tested, none is shown to differ between them."
    return "No group could be compared: their data share no column or text that names groups."


def _differing(found: ComparedRuns) -> tuple[RunPair, GroupPair] | None:
    """Return the group in which the hidden residuals of two runs differ most, with its pair."""
    first = [(pair, one) for pair in found.pairs for one in pair.differences[:1] if one.a and one.b]
    return max(first, key=lambda one: abs(one[1].hidden.value or 0.0) if one[1].hidden else 0.0, default=None)


def _side(side: GroupSide | None, words: Vocabulary) -> str:
    if side is None:
        return "has no rows"
    return f"{words.heads[1]} {spoken(side.confidence)}, {words.heads[0]} {spoken(side.accuracy)}"


def _action(found: ComparedRuns, best: str | None, words: Vocabulary) -> str:
    """Say which run to trust, and where another."""
    if len(found.pairs) > 1:
        if best is None:
            return "Choose by other reasons: calibration does not decide between them."
        together = sum(bool(one.both) for pair in found.pairs for one in pair.groups)
        return (
            f"Trust {_name(best)}{': but nowhere where two fail together, which the page lists' if together else ''}."
        )
    [pair] = found.pairs
    own = "" if pair.same_rows else " Their rows differ, too."
    if pair.same_answers:
        return "Choose by other reasons: they are calibrated alike."
    if pair.measures["calibration_error"].difference.value is None:
        return "Compare more rows: some hundreds that both runs have."
    one = best or pair.a
    other = pair.b if one == pair.a else pair.a
    closer = [group for group in pair.differences if pair.closer(group) == other]
    if best is None:
        nearer = [(name, [one for one in pair.differences if pair.closer(one) == name]) for name in (pair.a, pair.b)]
        said = "; ".join(f"{_name(name)} is closer, {_group(some[0])}" for name, some in nearer if some)
        if not said:
            return f"Choose by other reasons: calibration does not decide between them.{own}"
        return f"Choose by group: {said}.{own}"
    if closer:
        return f"Trust {_name(one)}: but {_name(other)} is closer, {_group(closer[0])}.{own}"
    both = sum(bool(group.both) for group in pair.groups)
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
    words = vocabulary(found.kind)
    heads, rows = _by_group(found.pairs[0], found, words) if len(found.pairs) == 1 else _by_run(found, words)
    shown = rows[:MOST_PRINTED]
    left = [("left out", f"{found.left_out:,} rows that lack one of the confidences")] if found.left_out else []
    notes = list(dict.fromkeys(note for pair in found.pairs for note in pair.notes))
    facts = [
        *_rows(found.pairs),
        *step_facts(found.pairs, words),
        *left,
        *(("note", one) for one in notes[:MOST_NOTED]),
    ]
    more = len(rows) - len(shown)
    lines = [
        *opening_lines(answer_of(found)),
        "",
        *aligned(heads, shown),
        *([f"{more} more: see the page"] if more else []),
    ]
    return [*lines, "", *short_facts([*facts, ("page", str(out / "compare.html"))], above=len(lines))]


def named_groups(pair: RunPair) -> tuple[GroupPair, ...]:
    """Return the groups in which two runs differ; where there is none, those in which both fail."""
    return pair.differences or tuple(one for one in pair.groups if one.both)


Table = tuple[tuple[str, ...], list[tuple[str, ...]]]


def _by_group(pair: RunPair, found: ComparedRuns, words: Vocabulary) -> Table:
    """Tabulate all rows, and the groups in which two runs differ or both fail, under both."""
    says, comes = words.heads[1], words.heads[0]
    heads = (f"group ({says}, {comes})", "rows", *(cut(name, 16) for name in (pair.a, pair.b)), "difference hidden")
    measures = [[getattr(pair.measures[name], side).value for name in ("confidence", "accuracy")] for side in "ab"]
    rows = [("all rows", f"{pair.n_a:,}", *(_shares(*both) for both in measures), "")]
    for one in named_groups(pair):
        sides = [side for side in (one.a, one.b) if side]
        shares = (_shares(side.confidence, side.accuracy) if side else "no rows" for side in (one.a, one.b))
        apart = "" if one.hidden is None else points(one.hidden.value, decimals_for(found.epsilon))
        rows.append((cut(one.description, 36), f"{sides[0].n if sides else 0:,}", *shares, apart))
    return heads, rows


def _by_run(found: ComparedRuns, words: Vocabulary) -> Table:
    """Tabulate the runs: what is promised, what happened, how far off they are, and how many they are better than."""
    heads = ("run", "rows", words.heads[1], words.heads[0], "off by", "better than", "worse than")
    better, worse = Counter(), Counter()
    for pair in _told(found):
        ends = (pair.a, pair.b) if pair.better == "a" else (pair.b, pair.a)
        better[ends[0]] += 1
        worse[ends[1]] += 1
    rows = [
        (
            cut(one.name, 32),
            f"{one.n:,}",
            _share(one.global_.confidence.value),
            _share(one.global_.accuracy.value),
            _error_of(found, one.name),
            str(better[one.name]),
            str(worse[one.name]),
        )
        for one in found.runs
    ]
    return heads, rows


def _share(value: float | None) -> str:
    return "" if value is None else spoken(value)


def _shares(says: float | None, comes: float | None) -> str:
    return f"{_share(says)}, {_share(comes)}"


def _rows(pairs: Sequence[RunPair]) -> Iterator[tuple[str, str]]:
    """Say which rows were compared."""
    first = pairs[0]
    if len(pairs) == 1:
        yield pair_facts(first, vocabulary("answer"))[0]
    else:
        alike = sum(one.same_rows for one in pairs)
        yield "rows", f"matched in {alike} of {len(pairs)} pairs ({first.matched_by})"


def shown_comparison(found: ComparedRuns) -> Shown:
    """Return what a comparison shows of itself: its three lines, where runs differ, and the numbers of each pair."""
    words, pairs, answer = vocabulary(found.kind), found.pairs, answer_of(found)
    bars = [_bar(one, pair, words) for pair in pairs for one in pair.differences[: MOST_NAMED + 1]]
    facts = [
        (f"{pair.a} and {pair.b}: {about}" if len(pairs) > 1 else about, text)
        for pair in pairs
        for about, text in pair_facts(pair, words)
    ]
    return Shown(
        title=f"Comparison of {len(found.runs)} runs: {', '.join(one.name for one in found.runs)}",
        sentences=(answer.headline, answer.reason, answer.action),
        bars=tuple(bars),
        facts=(*confidence_facts(found), *facts),
    )


def _bar(one: GroupPair, pair: RunPair, words: Vocabulary) -> SignedBar:
    said = f"{hidden_words(pair.a, one.a, words)} and {hidden_words(pair.b, one.b, words)}, beside {words.equal_rows()}"
    return SignedBar(one.description, 0.0 if one.hidden is None else one.hidden.value or 0.0, said)
