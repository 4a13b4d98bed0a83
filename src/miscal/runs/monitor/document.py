"""The content of ``monitor.json``, one class for each of its tables, and the sentences that say it."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from miscal.base.document import Document, Measure, Number, Part, Probability, Share
from miscal.base.number_wording import percent, units_and_rows, upper_limit
from miscal.base.shown import Shown, ShowsItself, brief_names
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.discovery.answer import LONGEST_NAME, spoken
from miscal.discovery.summary_parts import Answer
from miscal.findings.verdict import alike_points, in_points
from miscal.report.formatting import decimals_for, points, signed
from miscal.report.opening import aligned, opening_lines, short_facts

MONITOR_VERSION = 5
"""Version of the layout of ``monitor.json``; raised whenever a key changes its meaning or is removed."""
MOST = 10**15
"""Beyond it, sums of squares could overflow; no monitor comes near."""
Count = Annotated[int, Field(ge=0, le=MOST)]
Some = Annotated[int, Field(ge=1, le=MOST)]

QuestionKind = Literal["gain", "level", "finding", "threshold"]
GAIN, LEVEL, FINDING, THRESHOLD = "gain", "level", "finding", "threshold"
WHOLE = (GAIN, LEVEL)
"""Questions about all rows: where one does not hold, the alarm is raised."""
State = Literal["holds", "does not hold", "not known"]
HOLDS, BROKEN, UNKNOWN = "holds", "does not hold", "not known"

SHOWN = 5
"""Findings, and things not asked, that are named in sentences."""
MOST_PRINTED, MOST_WARNED, LONGEST = 8, 4, 30
"""Questions, and warnings, that are printed of a look; the page has all."""
MOST_MORE = 10
"""So many times the rows so far, and more, are not named as how many more would tell."""


class LookNumbers(Part):
    """The new rows of one look: how many there were, and the means of their outcomes and confidences.

    ``lost`` is the mean log loss of the corrected confidences less that of the raw ones, in nats. Above 0, the
    corrected confidences are worse. ``returning`` are rows of groups that came before.

    `look`: its number, from 1. `source`: the file. `at`: the date that was given. `dropped`: rows left out.
        `unsupported`:
        share of rows without a local estimate.
    """

    look: Some
    source: str
    at: str | None
    rows: Some
    units: Some
    dropped: Count
    accuracy: Share
    confidence: Share
    corrected: Share
    brier_raw: Share
    brier_corrected: Share
    lost: FiniteFloat
    unsupported: Share
    returning: Count


class RowsOfLooks(Part):
    """What the rows of several looks say of a question.

    ``value`` is their mean outcome less their mean corrected confidence (of the gain: log loss of the corrected less
    that of the raw confidences, in nats), with the interval that holds at all looks together; none where too few units
    are there to say anything.

    `first, last`: the looks. `observed, raw, corrected`: means of outcomes and of both confidences.
    """

    first: NonNegativeInt
    last: NonNegativeInt
    n: NonNegativeInt
    units: NonNegativeInt
    observed: Probability
    raw: Probability
    corrected: Probability
    value: Measure


class QuestionNumbers(Part):
    """One question, its answer and what the answer rests on.

    ``state`` is ``does not hold`` where the interval was clear of ``allowed`` at any look, ``holds`` where it lies
    within, and else ``not known``. ``error`` is how often the first may wrongly be said, ever. ``rows`` are all new
    rows, or those of the looks that showed that it does not hold. ``course`` are value and interval of all rows after
    each look. ``alarms`` says whether it raises the alarm.

    `key`: its name. `about`: what it is of. `phrase`: of a finding, its rows in a sentence.
    """

    key: str
    kind: QuestionKind
    about: str
    phrase: str | None
    alarms: bool
    error: FiniteFloat
    allowed: tuple[Number, FiniteFloat]
    state: State
    rows: RowsOfLooks
    course: tuple[Measure, ...]


class Monitoring(ShowsItself, Document):
    """Everything that a monitor says, as in ``monitor.json``.

    ``kind`` says what the confidences are the probabilities of, and ``epsilon`` is the band of the run that counts as
    well calibrated: numbers are written as finely as it asks for. ``unit`` is what is counted once, and ``group`` the
    column that says so.

    Attributes
    ----------
    run : str
        Name of the run folder.
    alpha : float
        Error of all that is said not to hold, together.
    alarm, raised : bool, int or None
        Whether the correction does not hold for all rows, and the look that showed it.
    looks, questions : tuple
        One entry for each look, and one for each question.

    Examples
    --------
    >>> Monitoring.model_fields["schema_version"].default
    5
    """

    schema_version: int = MONITOR_VERSION
    kind: Kind = ANSWER
    epsilon: float | None = None
    run: str
    alpha: FiniteFloat
    group: str | None
    unit: str
    alarm: bool
    raised: NonNegativeInt | None
    rows: NonNegativeInt
    accuracy: Share
    confidence: Share
    corrected: Share
    brier_raw: FiniteFloat
    brier_corrected: FiniteFloat
    looks: tuple[LookNumbers, ...]
    questions: tuple[QuestionNumbers, ...]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]
    columns: dict[str, str | tuple[str, ...] | None]
    versions: dict[str, str]

    def asked(self, kind: QuestionKind) -> list[QuestionNumbers]:
        """Return the questions of one kind; of all rows there is one of either kind."""
        return [one for one in self.questions if one.kind == kind]

    @property
    def answer(self) -> Answer:
        """Whether the correction holds, and by how much; where it does not; and what to do."""
        return Answer(headline=_headline(self), reason=_reason(self), action=_action(self))

    @property
    def in_order(self) -> list[QuestionNumbers]:
        """The questions about all rows first, then what does not hold, what is not known, and what holds."""
        order = (BROKEN, UNKNOWN, HOLDS)
        return sorted(self.questions, key=lambda one: (one.kind != LEVEL, not one.alarms, order.index(one.state)))

    def shown(self) -> Shown:
        """Return what it shows of itself: its three lines, and how far outcomes were off after each look."""
        lines = (self.answer.headline, self.answer.reason, self.answer.action)
        return Shown(
            title=f"Monitor of {self.run} after {_count(len(self.asked(LEVEL)[0].course), 'look')}",
            alarms=lines[:1] if self.alarm else (),
            sentences=lines[1:] if self.alarm else lines,
            facts=tuple(_facts(self)),
        )


def _headline(found: Monitoring) -> str:
    """Say whether outcomes are what the correction says, and by how much they are not."""
    (level,), (gain,) = found.asked(LEVEL), found.asked(GAIN)
    low, high = level.rows.value.interval or (None, None)
    if level.state != BROKEN and gain.state == BROKEN:
        return f"The correction does harm: log loss is {gain.rows.value.value or 0.0:.3g} higher with it than without."
    if low is None or high is None:
        return "Not known yet whether the correction holds: there are too few rows."
    if level.state == HOLDS:
        return f"The correction holds: outcomes are at most {upper_limit(max(-low, high))} points from what it says."
    if low < 0 < high:
        return f"Not known yet whether the correction holds: outcomes are {_off(low)} to {_off(high)} what it says."
    side = "below" if high <= 0 else "above"
    near = "" if level.state == BROKEN else f"; {tolerated(level)} are tolerated"
    return f"Outcomes are {side} what it says, by {_between(low, high)} points{near}."


def tolerated(level: QuestionNumbers) -> str:
    """Write the distance from what the correction says that counts as right."""
    return in_points(level.allowed[1])


def _reason(found: Monitoring) -> str:
    """Say where outcomes are farthest from what the correction says, or what was asked."""
    (level,) = found.asked(LEVEL)
    parts = [one for one in found.questions if one.kind not in WHOLE]
    broken = [one for one in parts if one.state == BROKEN and one.rows.observed is not None]
    if broken:
        worst = max(broken, key=lambda one: abs(one.rows.value.value or 0.0))
        [name] = brief_names([worst.phrase or worst.about], LONGEST_NAME)
        return f"Farthest off, {name}: {_promise(worst, found)}."
    if level.rows.observed is None:
        return "There are no rows yet."
    if found.alarm or not parts:
        rows = level.rows
        looks = f"Look {rows.first}" if rows.first == rows.last else f"Looks {rows.first} to {rows.last}"
        return f"{looks}: {_promise(level, found)}."
    holds = sum(one.state == HOLDS for one in parts)
    known = f"Of {_count(len(parts), 'part')} of them it is known to hold in {holds or 'none'}"
    return f"All rows: {_promise(level, found)}. {known}."


def _promise(one: QuestionNumbers, found: Monitoring) -> str:
    rows = one.rows
    says, true = spoken(rows.corrected or 0.0), spoken(rows.observed or 0.0)
    return f"it says {says}, and {true} {vocabulary(found.kind).come_true} ({_count(rows.n, 'row')})"


def _action(found: Monitoring) -> str:
    """Say whether to go on with the correction, and what to do else."""
    (level,), (gain,) = found.asked(LEVEL), found.asked(GAIN)
    parts = [one for one in found.questions if one.kind not in WHOLE]
    broken = sum(one.state == BROKEN for one in parts)
    if gain.state == BROKEN:
        return "Do not use the correction: find out what changed, and run miscal discover again with rows of this kind."
    if level.state == BROKEN:
        still = "; until then it is no worse than none" if gain.state == HOLDS else ""
        return f"Correct anew: find out what changed, and run miscal discover again with rows of this kind{still}."
    if broken:
        where = f"{broken} of {_count(len(parts), 'part')}"
        return f"Correct anew where it does not hold ({where}): run miscal discover again."
    if level.state == HOLDS:
        return "Go on using the correction: look again at the next labelled rows."
    more = _more_rows(level)
    if more is None:
        return "Look again: more labelled rows would tell."
    units = units_and_rows(more * level.rows.units / max(level.rows.n, 1), more)
    return f"Look again: about {units} more, labelled, would tell."


def _more_rows(one: QuestionNumbers) -> float | None:
    """Return how many more rows would tell whether it holds, if outcomes go on as they are; None where far too many."""
    (low, high), value, ends = one.allowed, one.rows.value.value, one.rows.value.interval
    if value is None or low is None or ends is None or ends[0] is None or ends[1] is None:
        return None
    room = min(high - value, value - low)
    needed = one.rows.n * ((ends[1] - ends[0]) / 2 / max(abs(room), 1e-9)) ** 2
    return needed - one.rows.n if 1 < needed / one.rows.n < MOST_MORE else None


def _off(value: float) -> str:
    return f"{in_points(abs(value))} {'below' if value < 0 else 'above'}"


def _between(low: float, high: float) -> str:
    """Write the sizes between two differences of one sign."""
    large, small = alike_points(sorted((abs(low), abs(high)), reverse=True))
    return f"{small} to {large}"


def numbers(one: QuestionNumbers, found: Monitoring) -> str:
    """Write value and interval of a question, in points (of the gain: in nats), and the zone that is allowed."""

    def written(value: float | None) -> str:
        return signed(value or 0.0, 4) if one.kind == GAIN else points(value, decimals_for(found.epsilon))

    (low, high), value, ends = one.allowed, one.rows.value.value, one.rows.value.interval
    right = f"up to {written(high)}" if low is None else f"{written(low)} to {written(high)}"
    said = "no rows" if value is None else f"{written(value)}{'' if one.kind == GAIN else ' points'}"
    if ends is None:
        said += ", too few units for an interval"
    elif value is not None:
        said += f" ({written(ends[0])} to {written(ends[1])})"
    return f"{said}; allowed: {right}"


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def monitor_lines(found: Monitoring, out: Path) -> list[str]:
    """Return the lines that are printed of a look, at most thirty; `out` is the folder of the monitor."""
    words, decimals = vocabulary(found.kind), decimals_for(found.epsilon)
    heads = ("rows", "number", "it says", words.heads[0], "off, points", "correction")
    asked = found.in_order[:MOST_PRINTED]
    # thresholds of what is corrected are said shorter
    about = [one.about.replace(f"corrected {words.probability}", "corrected") for one in asked]
    named = zip(asked, brief_names(about, LONGEST), strict=True)
    table = [_row(one, decimals, name) for one, name in named]
    facts = _facts(found)[:2]
    facts += [("not asked", one) for one in found.left_out[:1]] + [("warning", one) for one in found.warnings]
    more = len(found.questions) - len(asked)
    lines = [
        *opening_lines(found.answer),
        "",
        *aligned(heads, table),
        *([f"{more} more: see the page"] if more else []),
    ]
    return [
        *lines,
        "",
        *short_facts([*facts[: MOST_WARNED + 2], ("page", str(out / "monitor.html"))], above=len(lines)),
    ]


def _row(one: QuestionNumbers, decimals: int, name: str) -> tuple[str, ...]:
    """Write a line of the table."""
    rows, value, ends = one.rows, one.rows.value.value, one.rows.value.interval
    if one.kind == GAIN:
        return "change of log loss", f"{rows.n:,}", "", "", "" if value is None else signed(value, 4), one.state
    said = "no rows" if value is None else points(value, decimals)
    if value is not None and ends is not None:
        said += f" ({points(ends[0], decimals)} to {points(ends[1], decimals)})"
    says, true = ("" if share is None else spoken(share) for share in (rows.corrected, rows.observed))
    return name, f"{rows.n:,}", says, true, said, one.state


def _facts(found: Monitoring) -> list[tuple[str, str]]:
    """Tell of rows, means and the last look, say what is left out, and warn."""
    last, words = found.looks[-1], vocabulary(found.kind)
    dropped = f"; {last.dropped:,} left out as invalid" if last.dropped else ""
    by = "" if found.unit == "row" else f"; counted by {found.unit}: {last.units:,} new"
    more = len(found.left_out) - SHOWN
    means = f"mean {words.probability} {percent(found.corrected, 1)} corrected, {percent(found.confidence, 1)} raw"
    return [
        ("rows", f"{last.rows:,} new, {found.rows:,} in {_count(len(found.looks), 'look')}{dropped}{by}"),
        ("tolerance", f"{tolerated(found.asked(LEVEL)[0])} from what it says, to either side"),
        ("outcomes", f"{percent(found.accuracy, 1)} are 1; {means}"),
        ("brier", f"{found.brier_corrected:.4f} corrected, {found.brier_raw:.4f} raw"),
        (
            "this look",
            f"{percent(last.accuracy, 1)} are 1; corrected {percent(last.corrected, 1)}; log loss, corrected less raw, "
            f"{signed(last.lost, 4)}",
        ),
        *(("not asked", one) for one in found.left_out[:SHOWN]),
        *([("", f"and {more:,} more: see the page")] if more > 0 else []),
        *(("warning", one) for one in found.warnings),
    ]
