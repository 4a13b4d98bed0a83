"""What a comparison holds, as in ``compare.json``, and the sentences that say it.

Every interval is ``[low, high]`` at 95 %. Residuals are ``y - f``: positive means under-confident. A difference is the
value of `a` minus that of `b`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Interval, Measure, MeasureAgainstNull, Number, Part, Probability, Share, Text
from miscal.base.number_wording import score
from miscal.base.vocabulary import ANSWER, Kind, Vocabulary, vocabulary
from miscal.discovery.summary import Global
from miscal.discovery.summary_parts import CurveNumbers
from miscal.evidence.certificates import Certificate
from miscal.findings.conditions import Stored
from miscal.findings.verdict import in_points

MOST_NAMED = 2
"""Groups named in a sentence; the rest are counted."""


def verdict(found: ComparedRuns) -> tuple[str, ...]:
    """Say which run is better calibrated, then how sure and right both are, where they differ and where both fail."""
    words = vocabulary(found.kind)
    others = (
        _averages(found, words),
        None if found.same_answers else _differences(found, words),
        _failures(found, words),
        _fields(found),
    )
    return (_headline(found, words), *(one for one in others if one))


def _headline(found: ComparedRuns, words: Vocabulary) -> str:
    rows = f"on the {found.n_a:,} rows that both have" if found.same_rows else "(each on its own rows)"
    a, b, error, mean = found.a, found.b, found.measures["calibration_error"], found.measures["residual"]
    if found.same_answers:
        return (
            f"{a} and {b} have the same {words.probabilities} and outcomes {rows}, so they are calibrated alike; only "
            "the fields estimated from them can differ."
        )
    if error.difference.value is None:
        return f"There are too few rows to say whether {a} or {b} is better calibrated."
    if error.better is None and mean.better is not None:
        (one, two), less, more = ((a, b), mean.a, mean.b) if mean.better == "a" else ((b, a), mean.b, mean.a)
        return (
            f"{one} is better calibrated than {two} {rows}: its {words.probabilities} are off by "
            f"{in_points(abs(less.value), words.digits)} on average, those of {two} by "
            f"{in_points(abs(more.value), words.digits)}."
        )
    if error.better is None:
        ends = error.difference.interval
        allowing = "" if ends is None or ends[0] <= 0 <= ends[1] else ", allowing for all that is compared here,"
        return (
            f"{a} and {b} cannot be told apart in calibration {rows}{allowing}: recalibration would lower the Brier "
            f"score of {a} by {_saving(error.a)} and that of {b} by {_saving(error.b)}, a difference of "
            f"{_apart(error.difference)}."
        )
    one, two = (a, b) if error.better == "a" else (b, a)
    less, more = (error.a, error.b) if error.better == "a" else (error.b, error.a)
    larger = error.difference if error.better == "b" else turned(error.difference)
    return (
        f"{one} is better calibrated than {two} {rows}: recalibration would lower its Brier score by {_saving(less)} "
        f"and that of {two} by {_saving(more)}, a difference of {_apart(larger)}."
    )


def turned(measure: Measure) -> Measure:
    """Return a difference with its sides exchanged.

    Examples
    --------
    >>> turned(Measure(value=0.2, interval=(0.1, 0.3))).interval
    (-0.3, -0.1)
    """
    value, interval = measure.value, measure.interval
    ends = None if interval is None else (-interval[1], -interval[0])
    return Measure(value=None if value is None else -value, interval=ends)


def _averages(found: ComparedRuns, words: Vocabulary) -> str:
    means = {"a": found.a, "b": found.b} | {
        f"{name}_{side}": words.percent(getattr(found.measures[measure], side).value)
        for name, measure in (("probability", "confidence"), ("rate", "accuracy"))
        for side in ("a", "b")
    }
    return words.both_averages.format(**means)


def _differences(found: ComparedRuns, words: Vocabulary) -> str | None:
    """Say where the hidden residuals differ most; None where no group was tested."""
    if not found.candidates:
        return None
    if not found.differences:
        return (
            f"Beyond what reliability diagrams show, they are not shown to differ in any of the {found.candidates:,} "
            "groups tested."
        )
    phrases = [
        f"{one.description}: there {hidden_words(found.a, one.a, words)} and {hidden_words(found.b, one.b, words)}"
        for one in found.differences[:MOST_NAMED]
    ]
    others = len(found.differences) - len(phrases)
    rest = f"; {others} more such groups are listed" if others else ""
    return (
        f"Beyond what reliability diagrams show, they differ most where {', and where '.join(phrases)}, beside "
        f"{words.equal_rows()}{rest}."
    )


def _failures(found: ComparedRuns, words: Vocabulary) -> str | None:
    """Say where both miss in one direction; None where nothing shows that."""
    parts = []
    for sign, often in {"over": "less often", "under": "more often"}.items():
        names = [one.description for one in found.groups if one.both == sign]
        more = f" (and {len(names) - MOST_NAMED} more)" if len(names) > MOST_NAMED else ""
        if names:
            parts.append(f"{often} where {'; '.join(names[:MOST_NAMED])}{more}")
    if not parts:
        return None
    return f"Beside {words.equal_rows()}, {words.of_both.format(a=found.a, b=found.b)} {', and '.join(parts)}."


def _fields(found: ComparedRuns) -> str | None:
    """Say how alike the hidden fields are; None where that is undefined."""
    if found.fields is None or found.fields.hidden.value is None:
        return None
    return (
        f"The hidden fields of the two runs have a correlation of {found.fields.hidden.value:.2f} "
        f"{_ends(found.fields.hidden.interval, 2)} over these rows."
    )


def _apart(difference: Measure) -> str:
    # no minus before what rounds to zero
    return f"{score(difference.value)} {_ends(difference.interval)}"


def _saving(measure: Measure) -> str:
    # what is below zero is zero up to noise
    return score(max(measure.value, 0.0))


def _ends(interval: Interval, digits: int = 3) -> str:
    if interval is None or None in interval:
        return "[undefined]"
    # no minus before what rounds to zero
    low, high = (f"{round(end, digits) + 0.0:.{digits}f}" for end in interval)
    return f"[{low}, {high}]"


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


COMPARISON_VERSION = 4
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

    ``p_adjusted`` allows, by Holm's method, for all measures that can call a run better; it is null for other measures.
    The null of the mean residual is that both are equally far from 0; it is not adjusted. The difference of smECE has
    no interval: noise makes smECE larger, by a different amount in each run.

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
    verdict: tuple[str, ...] = ()
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
