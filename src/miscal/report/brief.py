"""A run on a terminal, in thirty lines at most: the answer, the groups, what to know first, and what comes next."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from miscal.base.document import Measure
from miscal.base.number_wording import rate, round_up, spoken, threshold_text
from miscal.base.shown import brief_names, fact_lines
from miscal.base.vocabulary import Vocabulary, vocabulary
from miscal.discovery.answer import helps, rate_sentence
from miscal.discovery.summary import Summary, Units
from miscal.findings.decisions import ANSWERED, BELOW, Alone, Promise
from miscal.findings.ledger.document import Finding
from miscal.findings.verdict import alike_points, fate_words, in_points, interval_of_size, together_words
from miscal.report.formatting import MINUS, bounds
from miscal.report.groups import Group, all_rows, first_groups, off_by_themselves
from miscal.report.sheet import Cell, Column, Sheet, Table

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
    >>> from miscal.findings.decisions import OwnThreshold, RiskLimit
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


def reaches(one: Alone, threshold: float | None) -> str:
    """Say which probabilities a threshold decides: "from 92 %", "up to 3 %"; empty where there is none."""
    side = "up to" if one.decision in BELOW else "from"
    return "" if threshold is None else f"{side} {threshold_text(threshold)}"


def enough(one: Alone, summary: Summary) -> str:
    """Say with how many rows, or units, something could be promised."""
    if one.units_needed is None:
        return "there are more at every threshold"
    rows = summary.units is None or summary.units.n_units == summary.n
    return f"at least {round_up(one.units_needed)} {'rows' if rows else 'units'} would do"


MOST_WARNINGS, MOST_LEFT_OUT = 4, 6
"""Warnings that are printed, and columns that are named as left out."""

WIDER = 1.05
"""From so much wider intervals on it is said what rows are counted by."""
FEW = 30
"""Units of which it is said that they are few."""
UNSURE = "?"
"""Stands beside a corrected number of which it is not known whether it is better."""


def run_sheet(summary: Summary, folder: Path | None, *, every: bool = False) -> Sheet:
    """Return the sheet of a run: its three lines, its groups, what to know of them, and what comes next.

    `folder`: of the run, if it has one. `every`: whether groups are there that may not be off by themselves.
    """
    words, groups = vocabulary(summary.kind), first_groups(summary)
    run = None if folder is None else shlex.quote(str(folder))
    shown = groups if every else off_by_themselves(groups)
    rows = [one for one in (all_rows(summary), *shown) if one is not None]
    unsure = any(one.unsure for one in rows)
    hidden_means = [("hidden", f"points beside {words.equal_rows()}")] if shown else []
    return Sheet(
        "run",
        summary.data.path or "rows in memory",
        summary.answer,
        summary.kind,
        tables=[Table(group_columns(words, unsure=unsure), rows, len(groups) - len(shown))] if rows else [],
        facts=[*hidden_means, *_warnings(summary), *_rest(summary, folder, run)],
        marks={f"corrected {UNSURE}": "it is not known whether the correction helps there"} if unsure else {},
        more="found.findings" if run is None else f"miscal show {run}",
    )


def group_columns(words: Vocabulary, *, unsure: bool = False) -> list[Column]:
    """Return what is said of a group; `unsure`: whether it is not known of some what the correction makes of them."""
    # figures stand below figures
    marks = {True: UNSURE, False: " " if unsure else ""}
    return [
        Column("group", "name"),
        Column("rows", "n", lambda n: f"{n:,}"),
        Column(words.heads[1], "predicted", spoken),
        Column(words.heads[0], lambda one: spoken(one.happened.value or 0.0)),
        Column("hidden", lambda one: Cell(_size(one, words), size=one.hidden.value)),
        Column("corrected", lambda one: "" if one.corrected is None else f"{spoken(one.corrected)}{marks[one.unsure]}"),
    ]


def brief_lines(summary: Summary, folder: Path | None, *, every: bool = False, bars: bool = True) -> list[str]:
    """Write a run as lines of at most 100 columns."""
    return run_sheet(summary, folder, every=every).lines(bars=bars, every=every)


def _size(group: Group, words: Vocabulary) -> str:
    """Write what is hidden, and the ends of its interval, as far as they are known."""
    value, (low, high) = group.hidden.value, group.hidden.interval or (None, None)
    if value is None:
        return ""
    ends = () if low is None or high is None else (low, high)
    size, *between = (one if one[0] == "-" else f"+{one}" for one in alike_points([value, *ends], words.digits))
    interval = f"({' to '.join(between)})" if between else ""
    return f"{size:>4} {interval:<15}"


def _warnings(summary: Summary) -> list[tuple[str, str]]:
    """Say what to know before the numbers are trusted, at most four in all, each with the option that mends it."""
    plain, leaks, columns = summary.plain, summary.leaks, summary.data.columns
    said: list[tuple[str, str]] = []
    if leaks:
        names = ",".join(leaks)
        mend = f"--allow-leak {shlex.quote(names)} uses {'them' if len(leaks) > 1 else 'it'}"
        said.append(("alarm", f"{names} may be known only later, so left out: {mend}"))
    if plain.copies > 1:
        said.append(("alarm", f"the file holds every row {plain.copies} times"))
    if plain.far:
        named = " and ".join(repr(one) for one in (columns.confidence, columns.correct) if one is not None)
        said.append(("alarm", f"so far apart, something else may stand in {named or 'what was given'}: check it"))
    notes = [("note", one) for one in summary.warnings if one not in summary.alarms]
    if more := max(0, len(notes) - (MOST_WARNINGS - len(said))):
        notes = [*notes[: MOST_WARNINGS - len(said) - 1], ("note", f"{more + 1} more: see the page")]
    return [*said, *notes]


def _kept(side: Promise, acted: str) -> str:
    """Say what was promised and observed of the rows that are acted on at a threshold."""
    rates = (rate(share or 0.0) for share in (side.promised, side.observed.value))
    told = ": {} promised, {} observed ({})".format(*rates, bounds(side.observed.interval, "rate")) if side.n else ""
    return f"{side.n:,} {acted}{told}"


def at_thresholds(summary: Summary) -> Iterable[tuple[str, str]]:
    """Say what happens at each threshold asked for."""
    acted = vocabulary(summary.kind).acted
    for one in summary.decisions:
        said = f"{_kept(one.before, acted)}; {_kept(one.after, f'{acted} if corrected')}"
        yield f"at {threshold_text(one.threshold)}", said


def _rest(summary: Summary, folder: Path | None, run: str | None) -> Iterable[tuple[str, str]]:
    """Say what happens at a threshold asked for, what rows are counted by, what was left out, and what comes next."""
    yield from at_thresholds(summary)
    if line := alone_line(summary):
        yield "alone", line
    units = summary.units
    if units is not None and units.widening >= WIDER:
        wide = f"intervals {units.widening:.1f} times as wide as by rows"
        if (method := summary.findings_method) is not None and method.by_rows:
            wide += "; --group none would name more"
        yield "counted by", f"{units.unit}: {'only ' * (units.n_units < FEW)}{units.n_units:,} units, {wide}"
    if units is not None and units.others:
        yield "not counted", would_widen(units, 1)
    if summary.weights is not None and (column := summary.weights.column) is not None:
        yield "weighted by", f"{column}: means as precise as those of {summary.weights.n_effective:,.0f} equal rows"
    if summary.judge is not None:
        yield "people", rate_sentence(summary.judge)
    left_out = [one.name for one in summary.columns if one.left_out is not None and one.leak is None]
    if left_out:
        more = f" and {len(left_out) - MOST_LEFT_OUT} more" if len(left_out) > MOST_LEFT_OUT else ""
        yield "not read", f"{', '.join(left_out[:MOST_LEFT_OUT])}{more}"
    if folder is None:
        yield "next", "found.save(FOLDER) writes the page; found.correct(new_rows)"
        return
    yield "page", str(folder / "report.html")
    if helps(summary):
        yield "next", f"miscal calibrate {run} NEW.parquet --keep all --out corrected.parquet"
    else:
        yield "next", f"miscal show {run} --by COLUMN"


def finding_words(finding: Finding, words: Vocabulary, findings: Sequence[Finding]) -> str:
    """Say of a finding of a list how many rows it has, how far they are off and what the correction leaves of that."""
    left = ""
    if finding.fate is not None:
        after = _more_often(finding.after, words)
        left = f"; after the correction {after}: {fate_words(finding.fate, finding.units_needed)}"
    rate = words.group_rate.format(words.percent(finding.accuracy))
    off = f"{rate}, {_more_often(finding.hidden, words)} {words.than_equal_rows()}"
    return f"{finding.n:,} rows, {off}{together_words(finding, findings)}{left}"


def _more_often(difference: Measure, words: Vocabulary) -> str:
    """Say how much more or less often something comes true: ``"15 points less often (10 to 20)"``."""
    value = difference.value or 0.0
    often = "less often" if value < 0 else "more often"
    between = interval_of_size(value, difference.interval, words.digits).replace(MINUS, "-")
    return f"{in_points(abs(value), words.digits)} {often}{f' ({between})' if between else ''}"


def column_lines(summary: Summary) -> list[str]:
    """Write what every column was read as, or why it was left out."""
    wide, said = max((len(one.name) for one in summary.columns), default=0) + 2, []
    for one in summary.columns:
        blanks = f", {one.missing:,} blank" if one.missing else ""
        read_as = f"{one.read_as} of {one.levels:,} values{blanks}{f', {one.role}' if one.role else ''}"
        said.append((one.name, read_as if one.left_out is None else f"left out: {one.left_out}"))
    return fact_lines(said, min(wide, 40)) or ["the inputs have no columns with names"]


def would_widen(units: Units, most: int = 2) -> str:
    """Say what else hangs together, and is what findings are for; empty where nothing does."""
    known = [f"{shlex.quote(one.column)} would widen intervals {one.widening:.1f} times" for one in units.others]
    return f"--group {', and --group '.join(known[:most])}" if known else ""
