"""What a comparison holds, as in ``compare.json``, and its facts.

Every interval is ``[low, high]`` at 95 %. Residuals are ``y - f``: positive means under-confident. A difference is the
value of `a` minus that of `b`.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, MeasureAgainstNull, Number, Part, Probability, Share, Text
from miscal.base.number_wording import score, spoken
from miscal.base.shown import Shown, SignedBar, brief_names, first_words
from miscal.base.vocabulary import ANSWER, Kind, Vocabulary, vocabulary
from miscal.discovery.summary import Global
from miscal.discovery.summary_parts import Answer, CurveNumbers
from miscal.evidence.certificates import Certificate
from miscal.findings.conditions.condition import Stored
from miscal.findings.verdict import in_points
from miscal.report.formatting import decimals_for, points
from miscal.report.opening import aligned, cut, opening_lines, short_facts


def hidden_words(run: str, side: GroupSide | None, words: Vocabulary) -> str:
    """Say of a group how much less or more often the outcome is 1 than in rows of equal probability."""
    if side is None or side.hidden.value is None:
        return f"{run} has no rows"
    much = in_points(abs(side.hidden.value), words.digits)
    return f"{words.of_run.format(run=run)} {much} {'less' if side.hidden.value < 0 else 'more'} often"


# --- what is printed ----------------------------------------------------------------------------------------------


def pair_facts(found: ComparedRuns) -> list[tuple[str, str]]:
    """Tell of the rows compared, of all measures, and what must be known of them."""
    words = vocabulary(found.kind)
    names = {"accuracy": words.rate, "confidence": words.probability}
    return [
        *rows_facts(found),
        *((names.get(name, name.replace("_", " ")), _measure(one)) for name, one in found.measures.items()),
        *(("note", note) for note in found.notes),
    ]


def rows_facts(found: ComparedRuns) -> list[tuple[str, str]]:
    """Tell which rows were compared, and how far off the mean of a run would have to be to be told."""
    compared = f"{found.n_a:,}" if found.same_rows else f"{found.n_a:,} and {found.n_b:,}"
    alone = f"; {found.left_out_a:,} and {found.left_out_b:,} have no match" if found.same_rows else ""
    facts = [("rows", f"{compared} ({found.matched_by}){alone}")]
    if found.step is not None:
        step = in_points(found.step, vocabulary(found.kind).digits)
        facts.append(("step back", f"a mean that is {step} farther off would be told in 4 of 5 cases"))
    return facts


def _measure(one: MeasurePair) -> str:
    if one.a.value is None or one.b.value is None:
        return "too few rows"
    return f"{score(one.a.value)} and {score(one.b.value)}, difference {_within(one.difference)}"


def _within(measure: Measure) -> str:
    """Write a difference with its sign, and its interval, where there is one."""
    if measure.value is None:
        return "undefined"

    def write(value: float) -> str:
        written = score(value)
        return written if written.startswith("-") else f"+{written}"

    ends = measure.interval
    shown = "" if ends is None or ends[0] is None or ends[1] is None else f" [{write(ends[0])}, {write(ends[1])}]"
    return f"{write(measure.value)}{shown}"


COMPARISON_VERSION = 5
"""Version of the layout of ``compare.json``; raised whenever a key changes its meaning or is removed."""


class RunNumbers(Part):
    """One run: its source, and its numbers on all of its rows.

    ``path`` is its folder, None where it has none; ``certificate`` and ``findings`` (how many) are those of its own
    summary.

    `data, where`: the file, and which of its rows.
    """

    name: str
    path: str | None
    data: str | None
    where: str | None
    method: str
    evidence: str
    n: NonNegativeInt
    global_: Global = Field(alias="global")
    certificate: Certificate
    findings: NonNegativeInt


class MeasurePair(Part):
    """A number of both runs; ``better`` is set where ``p_adjusted`` is at most 0.05.

    ``p_adjusted`` allows, by Holm's method, for calibration error, Brier score and log loss, which say together whether
    a run is better calibrated. Those of the mean residual, of which the null is that both are equally far from 0, of
    the accuracy of answers and of the corrected log loss are not adjusted: each answers a question of its own. It is
    null for other measures. The difference of smECE has no interval: noise makes smECE larger, by a different amount in
    each run.

    `difference`: that of the first minus that of the second.
    """

    a: Measure
    b: Measure
    difference: MeasureAgainstNull
    p_adjusted: Probability = None
    better: Literal["a", "b"] | None = None


class FieldAgreement(Part):
    """Correlations of the two fields over the shared rows; null where one of them is constant.

    `delta`: of the field.
    """

    delta: Measure
    hidden: Measure


class GroupSide(Part):
    """A named group under one run; ``residual`` = what a reliability diagram shows of it + ``hidden``."""

    n: NonNegativeInt
    accuracy: FiniteFloat
    confidence: FiniteFloat
    residual: Measure
    hidden: Measure


class GroupPair(Part):
    """A named group under both runs; ``condition`` says which rows belong to it.

    ``found_in`` names the ledgers that list it, ``"a"`` and ``"b"``. ``residual`` and ``hidden`` are the differences;
    ``p_adjusted`` is that of ``hidden``, and counts every group that was tested. ``both`` is ``"over"`` or ``"under"``
    where both runs are right less often, or more often, than rows of equal confidence. A side, and every difference, is
    null where the run has no such rows.
    """

    description: Text
    condition: Stored
    columns: tuple[Text, ...]
    found_in: tuple[Literal["a", "b"], ...] = ()
    share: Share
    a: GroupSide | None
    b: GroupSide | None
    residual: MeasureAgainstNull | None
    hidden: MeasureAgainstNull | None
    p_adjusted: Probability
    both: Literal["over", "under"] | None = None
    aliases: tuple[Text, ...] = ()


class CurveSides(Part):
    """Reliability of the compared rows under both runs."""

    a: CurveNumbers | None
    b: CurveNumbers | None


class ComparedRuns(Document):
    """Two runs beside each other; differences are paired where ``same_rows`` is true."""

    schema_version: int = COMPARISON_VERSION
    seed: int
    level: Annotated[float, Field(gt=0.0, lt=1.0)]
    kind: Kind = ANSWER
    epsilon: float | None = None
    runs: tuple[RunNumbers, RunNumbers]
    a: str
    b: str
    same_rows: bool
    matched_by: str
    same_answers: bool
    n_a: NonNegativeInt
    n_b: NonNegativeInt
    left_out_a: NonNegativeInt
    left_out_b: NonNegativeInt
    measures: dict[str, MeasurePair]
    step: Number = None
    curves: CurveSides
    fields: FieldAgreement | None
    candidates: NonNegativeInt
    differences: tuple[GroupPair, ...]
    groups: tuple[GroupPair, ...]
    not_found: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    versions: dict[str, str]

    def closer(self, group: GroupPair) -> Literal["a", "b"] | None:
        """Return the run whose probabilities are nearer to the outcomes of a group; None where that is not known."""
        if group.a is None or group.b is None or group.a.residual.value is None or group.b.residual.value is None:
            return None
        a, b = (abs(side.residual.value) for side in (group.a, group.b))
        return None if a == b else "a" if a < b else "b"

    @property
    def better(self) -> Literal["a", "b"] | None:
        """The run that is better calibrated on all rows: by its error or, where that does not tell, by its mean."""
        return self.measures["calibration_error"].better or self.measures["residual"].better


LONGEST_NAME, LONGEST = 60, 30
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
    return brief_names([group.description], LONGEST_NAME)[0]


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
