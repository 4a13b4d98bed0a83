"""Say in three lines which run to take, and where not; and what a comparison prints and shows of itself."""

from __future__ import annotations

import math
from pathlib import Path

from miscal.base.number_wording import score, spoken
from miscal.base.shown import Shown, SignedBar, first_words
from miscal.base.vocabulary import ANSWER, Vocabulary, vocabulary
from miscal.discovery.summary_parts import Answer
from miscal.findings.verdict import in_points
from miscal.report.formatting import decimals_for, points
from miscal.report.opening import aligned, cut, opening_lines, short_facts
from miscal.runs.compare.document import (
    ComparedRuns,
    GroupPair,
    hidden_words,
    pair_facts,
    rows_facts,
)

MOST_WORDS, LONGEST = 8, 30
"""Words of a group's name, and characters of a run's, in a sentence; tables and the page hold the whole names."""
MOST_PRINTED, MOST_SHOWN, MOST_NOTED = 12, 3, 3
"""Groups printed and drawn, and notes printed; the page has all."""


def answer_of(found: ComparedRuns) -> Answer:
    """Say which run is right more often or better calibrated, what their probabilities are worth, and which to take."""
    words = vocabulary(found.kind)
    a, b = _name(found.a), _name(found.b)
    if found.same_answers:
        headline = f"{a} and {b} are alike: they have the same {words.probabilities} and outcomes."
    elif found.measures["calibration_error"].difference.value is None:
        headline = f"There are too few rows to say whether {a} or {b} is better."
    else:
        # outcomes of events and verdicts of people are not the models' own
        headline = _accuracy(found) if found.kind == ANSWER else _calibration(found, words)
    return Answer(headline=headline, reason=_worth(found), action=_action(found))


def _accuracy(found: ComparedRuns) -> str:
    """Say which run is right more often."""
    a, b, one = _name(found.a), _name(found.b), found.measures["accuracy"]
    shares = [spoken(side.value or 0.0) for side in (one.a, one.b)]
    rows = "" if found.same_rows else ", each of its own rows"
    if one.better is None:
        return f"Neither is shown to be right more often: {a} in {shares[0]}, {b} in {shares[1]}{rows}."
    (more, less), (high, low) = ((a, b), shares) if one.better == "a" else ((b, a), shares[::-1])
    return f"{more} is right more often: in {high}, {less} in {low}{rows}."


def _calibration(found: ComparedRuns, words: Vocabulary) -> str:
    """Say which run is better calibrated as it is."""
    a, b = _name(found.a), _name(found.b)
    error, mean = found.measures["calibration_error"], found.measures["residual"]
    off = [in_points(math.sqrt(max(side.value or 0.0, 0.0))) for side in (error.a, error.b)]
    if error.better is None and mean.better is not None:
        off = [f"{in_points(abs(one.value or 0.0), words.digits)} on average" for one in (mean.a, mean.b)]
    if found.better is None:
        return f"Reliability diagrams do not tell {a} and {b} apart: off by {off[0]} and {off[1]}."
    (one, two), (less, more) = ((a, b), off) if found.better == "a" else ((b, a), off[::-1])
    return f"{one} is better calibrated: off by {less}, {two} by {more}."


def _worth(found: ComparedRuns) -> str:
    """Say what the probabilities are worth, as they are and once each is corrected."""
    raw, corrected = (found.measures[name] for name in ("log_loss", "corrected_log_loss"))
    plain, mended = (f"{score(one.a.value or 0.0)} and {score(one.b.value or 0.0)}" for one in (raw, corrected))
    said = f"Log loss of {_name(found.a)} and {_name(found.b)}: {plain} as they are, {mended} corrected"
    ends = corrected.difference.interval
    if corrected.better is None or ends is None:
        return f"{said}; neither is shown to be ahead."
    low, high = sorted(score(abs(end or 0.0)) for end in ends)
    return f"{said}; {_name(found.a if corrected.better == 'a' else found.b)} is ahead by {low} to {high}."


def _action(found: ComparedRuns) -> str:
    """Say which run to take, and where the other is nearer."""
    take = found.measures["corrected_log_loss"].better
    if found.same_answers:
        return "Choose by other reasons: they are calibrated alike."
    if found.measures["calibration_error"].difference.value is None:
        return "Compare more rows: some hundreds that both runs have."
    if not found.same_rows:
        return "Compare them on the same rows before you take one: what is apart here may come from the rows."
    nearer = {side: next((one for one in found.differences if found.closer(one) == side), None) for side in ("a", "b")}
    names = {"a": _name(found.a), "b": _name(found.b)}
    if take is None:
        said = "; ".join(f"{names[side]} is closer, {_group(one)}" for side, one in nearer.items() if one)
        return f"Choose by {f'group: {said}' if said else 'other reasons: neither is shown to be ahead'}."
    other = "b" if take == "a" else "a"
    as_it_is = f", though {names[other]} is better calibrated as it is" if found.better == other else ""
    group = nearer[other]
    where = "" if group is None else f"; {names[other]} is closer, {_group(group)}"
    return f"Take {names[take]} with its correction{as_it_is}{where}."


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
        bars=tuple(_bar(one, found, vocabulary(found.kind)) for one in found.differences[:MOST_SHOWN]),
        facts=tuple(pair_facts(found)),
    )


def _bar(one: GroupPair, found: ComparedRuns, words: Vocabulary) -> SignedBar:
    sides = f"{hidden_words(found.a, one.a, words)} and {hidden_words(found.b, one.b, words)}"
    said = f"{sides}, beside {words.equal_rows()}"
    return SignedBar(one.description, 0.0 if one.hidden is None else one.hidden.value or 0.0, said)
