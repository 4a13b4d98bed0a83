"""The content of ``monitor.json``, one class for each of its tables, its sentences, and its sheet."""

from collections import Counter
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, NonNegativeInt

from miscal.base.arrays import counted
from miscal.base.document import Document, Measure, Number, Part, Probability, Share
from miscal.base.number_wording import percent, units_and_rows, upper_limit
from miscal.base.shown import ShowsItself, brief_names
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.discovery.answer import LONGEST_NAME, spoken
from miscal.discovery.summary import Answer
from miscal.findings.residuals import observed_share
from miscal.findings.verdict import alike_points, in_points
from miscal.report.drawing import Chart, course_chart
from miscal.report.formatting import NBSP, bounds, count, decimals_for, metric, points, printable, rate, signed
from miscal.report.groups import Group, forest_axis
from miscal.report.sheet import Cell, Column, Fold, Forest, Picture, Sheet, Table, measured

MONITOR_VERSION = 5
"""Version of the layout of ``monitor.json``; raised whenever a key changes its meaning or is removed."""
MOST = 10**15
"""Beyond it, sums of squares could overflow; no monitor comes near."""
Count = Annotated[int, Field(ge=0, le=MOST)]
Some = Annotated[int, Field(ge=1, le=MOST)]

QuestionKind = Literal["gain", "level", "finding", "threshold", "promise"]
GAIN, LEVEL, FINDING, THRESHOLD, PROMISE = "gain", "level", "finding", "threshold", "promise"
WHOLE = (GAIN, LEVEL, PROMISE)
"""Questions that raise the alarm where they do not hold for all rows."""
OF_OUTCOMES = (LEVEL, FINDING, THRESHOLD)
"""Questions whether outcomes are what the correction says."""
State = Literal["holds", "does not hold", "not known"]
HOLDS, BROKEN, UNKNOWN = "holds", "does not hold", "not known"

SHOWN, COURSE, STRIP = 6, 60, 24
"""Groups in the picture that opens the page, and looks in the other one and in a strip: the last ones."""
LEAST_REACH, MOST_REACH = 0.05, 0.3
"""Least and largest half-width of the axis of looks: small differences do not look large, and one wild look does not
flatten the others."""
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
    that of the raw confidences, in nats; of a promise: the share of wrong ones), with the interval that holds at all
    looks together; none where too few units are there to say anything.

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

    def asked(self, *kinds: QuestionKind) -> list[QuestionNumbers]:
        """Return the questions of some kinds; of all rows there is one of either kind."""
        return [one for one in self.questions if one.kind in kinds]

    @property
    def answer(self) -> Answer:
        """Whether the correction holds, and by how much; where it does not; and what to do."""
        level, gain = (self.asked(kind)[0] for kind in (LEVEL, GAIN))
        parts = self.asked(FINDING, THRESHOLD)
        reason, action = _reason(self, level, parts), _action(self, level, gain, parts)
        return Answer(headline=_headline(level, gain), reason=reason, action=action)

    @property
    def in_order(self) -> list[QuestionNumbers]:
        """The questions about all rows first, then what does not hold, what is not known, and what holds."""
        order = (BROKEN, UNKNOWN, HOLDS)
        return sorted(self.questions, key=lambda one: (one.kind != LEVEL, not one.alarms, order.index(one.state)))

    def shown(self) -> Sheet:
        """Return its sheet: its three lines, what was asked, and the looks."""
        return sheet_of(self)


def _headline(level: QuestionNumbers, gain: QuestionNumbers) -> str:
    """Say whether outcomes are what the correction says, and by how much they are not."""
    low, high = level.rows.value.interval or (None, None)
    if level.state != BROKEN and gain.state == BROKEN:
        return f"The correction does harm: log loss is {gain.rows.value.value or 0.0:.3g} higher with it than without."
    if low is None or high is None:
        return "Not known yet whether the correction holds: there are too few rows."
    if level.state == HOLDS:
        return f"The correction holds: outcomes are at most {upper_limit(max(-low, high))} points from what it says."
    if low < 0 < high:
        off = f"{in_points(-low)} below to {in_points(high)} above"
        return f"Not known yet whether the correction holds: outcomes are {off} what it says."
    # sizes between two differences of one sign
    large, small = alike_points(sorted((abs(low), abs(high)), reverse=True))
    near = "" if level.state == BROKEN else f"; {in_points(level.allowed[1])} are tolerated"
    return f"Outcomes are {'below' if high <= 0 else 'above'} what it says, by {small} to {large} points{near}."


def _reason(found: Monitoring, level: QuestionNumbers, parts: list[QuestionNumbers]) -> str:
    """Say where outcomes are farthest from what the correction says, or what was asked."""

    def promised(rows: RowsOfLooks) -> str:
        says, true = spoken(rows.corrected or 0.0), spoken(rows.observed or 0.0)
        return f"it says {says}, and {true} {vocabulary(found.kind).come_true} ({counted(rows.n, 'row')})"

    broken = [one for one in parts if one.state == BROKEN and one.rows.observed is not None]
    if broken:
        worst = max(broken, key=lambda one: abs(one.rows.value.value or 0.0))
        [name] = brief_names([worst.phrase or worst.about], LONGEST_NAME)
        return f"Farthest off, {name}: {promised(worst.rows)}."
    if level.rows.observed is None:
        return "There are no rows yet."
    if found.alarm or not parts:
        looks = _looks(level.rows)
        return f"{looks[0].upper()}{looks[1:]}: {promised(level.rows)}."
    holds = sum(one.state == HOLDS for one in parts)
    return f"All rows: {promised(level.rows)}. No part is shown to be off; {holds} of {len(parts):,} hold."


def _action(found: Monitoring, level: QuestionNumbers, gain: QuestionNumbers, parts: list[QuestionNumbers]) -> str:
    """Say whether to go on with the correction, and what to do else."""
    promises = [one for one in found.asked(PROMISE) if one.state == BROKEN]
    if gain.state == BROKEN:
        return "Do not use the correction: find out what changed, and run miscal discover again with rows of this kind."
    if level.state == BROKEN:
        _, high = gain.rows.value.interval or (None, None)
        better = "better" if high is not None and high < 0 else "no worse"
        still = f"; until then it is {better} than none" if gain.state == HOLDS else ""
        return f"Correct anew: find out what changed, and run miscal discover again with rows of this kind{still}."
    if any(one.alarms for one in promises):
        return "Let it decide nothing alone: find out what changed, and run miscal discover again with such rows."
    if promises:
        [name] = brief_names([promises[0].phrase or ""], LONGEST_NAME)
        more = f" ({counted(len(promises) - 1, 'group')} more)" if len(promises) > 1 else ""
        return f"Let it decide nothing alone where {name}{more}: there are more errors than were accepted."
    if broken := sum(one.state == BROKEN for one in parts):
        where = f"{broken} of {counted(len(parts), 'part')}"
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


def _looks(rows: RowsOfLooks) -> str:
    return f"look {rows.first}" if rows.first == rows.last else f"looks {rows.first} to {rows.last}"


# --- what is shown ------------------------------------------------------------------------------------------------

GLOSSARY = {
    "Look": "One call of `miscal monitor`, with a batch of rows that came after those before it.",
    "Holds, does not hold, not known": "The correction does not hold where the interval is clear of the zone that is "
    "allowed, holds where it lies within, and else it is not known. The chance that anything which holds is ever said "
    "not to is at most 5 %, however often one looks.",
    "Interval": "Of the mean outcome less the mean corrected {probability}. It counts units, holds at all looks "
    "together, and allows for all that is asked.",
    "Allowed": "The tolerance to either side of what the correction says: two points, unless `--tolerance` says "
    "otherwise. Of the log loss, no more than without the correction.",
    "Decided alone": "What the run promised of all rows that it decides, and of those of each finding: it holds where "
    "the share of errors lies below the accepted one with its whole interval.",
    "Alarm": "It is raised where the correction, or what it decides alone, does not hold for all rows, and stays: "
    "the rows that raised it are still there. It ends with a new run and its monitor.",
}


def sheet_of(document: Monitoring) -> Sheet:
    """Return the sheet of a monitor."""
    found = printable(document)
    terms, last, [level] = vocabulary(found.kind), found.looks[-1], found.asked(LEVEL)
    tolerated = in_points(level.allowed[1])
    dropped = f"; {last.dropped:,} left out as invalid" if last.dropped else ""
    by = "" if found.unit == "row" else f"; counted by {found.unit}: {last.units:,} new"
    overall = {
        "outcomes that are 1": percent(found.accuracy, 1),
        "corrected": f"{percent(found.corrected, 1)}, Brier score {metric(found.brier_corrected)}",
        "raw": f"{percent(found.confidence, 1)}, Brier score {metric(found.brier_raw)}",
    }
    # log loss has no place among points
    [gain] = found.asked(GAIN)
    value, ends = gain.rows.value.value, bounds(gain.rows.value.interval, "change", 4)
    gained = f"{'no rows' if value is None else f'{signed(value, 4)} by the correction'}{f' ({ends})' if ends else ''}"
    states = Counter(one.state for one in found.questions)
    groups = [
        Group(
            number=0,
            name=one.about.replace(" %", f"{NBSP}%"),
            n=one.rows.n,
            predicted=one.rows.corrected or 0.0,
            happened=observed_share(one.rows.observed or 0.0, one.rows.corrected or 0.0, one.rows.value.interval),
            corrected=one.rows.raw,
            hidden=one.rows.value,
            colour="broken" if one.state == BROKEN else "",
            note=one.state,
        )
        for one in found.in_order
        if one.kind in OF_OUTCOMES and one.rows.observed is not None
    ]
    asked, looks = _questions(found), Table(LOOKS, found.looks)
    return Sheet(
        "monitor",
        found.run,
        found.answer,
        found.kind,
        alarm=found.alarm,
        tables=[asked, looks],
        facts=[
            ("rows", f"{last.rows:,} new, {found.rows:,} in {counted(len(found.looks), 'look')}{dropped}{by}"),
            ("tolerance", f"{tolerated} from what it says, to either side"),
            ("log loss", f"{gained}: {gain.state}"),
            *(
                ("alone", f"{one.about}: {counted(one.rows.n, 'row')}, {_wrong(one)}: {one.state}")
                for one in found.asked(PROMISE)
                if one.alarms
            ),
        ],
        notes=[*found.warnings, *(f"not asked: {one}" for one in found.left_out)],
        pictures=[
            Picture(
                "Outcomes less what it says, points",
                _course(level) or "There are too few rows for an interval.",
                f"{tolerated} are tolerated",
            ),
            Picture(
                "What it says, and what happened",
                Forest(groups[:SHOWN], forest_axis(groups[:SHOWN]), "it says", "uncorrected"),
                f"{SHOWN} of {len(groups)}" if len(groups) > SHOWN else "",
            ),
        ],
        folds=[
            Fold(
                "questions",
                "What was asked",
                ", ".join(f"{states[one]} {said}" for one, said in _COUNTED.items() if states[one]),
                [
                    f"Outcomes less corrected {terms.probabilities}, of all rows so far after each look, in points, "
                    "with the interval that holds at all looks together; the band is what is allowed.",
                    asked,
                    "Of what does not hold, rows and numbers are those of the looks that showed it.",
                ],
            ),
            Fold("looks", "Looks", f"{len(found.looks)} so far, with {count(found.rows)} rows", [overall, looks]),
        ],
        glossary={word: meaning.format(probability=terms.probability) for word, meaning in GLOSSARY.items()},
        decimals=decimals_for(found.epsilon),
        version=found.versions.get("miscal"),
    )


_COUNTED = {BROKEN: "where it does not hold", UNKNOWN: "where it is not known", HOLDS: "where it holds"}
LOOKS = (
    Column("look", "look", count),
    Column("data", lambda one: Cell(one.source, one.at or ""), number=False),
    Column("rows", lambda one: Cell(count(one.rows), f"{one.units:,} units" if one.units != one.rows else "")),
    Column("left out", "dropped", count),
    Column("outcomes that are 1", "accuracy", rate),
    Column("corrected", "corrected", rate),
    Column("raw", "confidence", rate),
    Column("Brier score, corrected", "brier_corrected", metric),
    Column("Brier score, raw", "brier_raw", metric),
    Column("log loss, corrected less raw", lambda one: signed(one.lost, 4)),
    Column("unlike all rows of the run", "unsupported", rate),
)
"""What is shown of a look."""


def _questions(found: Monitoring) -> Table:
    """Tabulate the questions, with the strips of their looks."""
    decimals = decimals_for(found.epsilon)
    values = [one.value for asked in found.questions if asked.kind in OF_OUTCOMES for one in asked.course[-STRIP:]]
    reach = min(max([LEAST_REACH, *(abs(value) for value in values if value is not None)]), MOST_REACH)
    words = vocabulary(found.kind)
    # of what thresholds are is said once, below the table
    side = f"corrected {words.probability}"
    columns = (
        Column("rows", lambda one: one.about.replace(side, "corrected")),
        Column("looks", lambda one: Cell(one.key, chart=_course(one, reach)), drawn=True),
        Column("number", "rows.n", count),
        Column("it says", "rows.corrected", rate),
        Column(words.heads[0], "rows.observed", rate),
        Column("raw", "rows.raw", rate, page=True),
        Column("off, points", lambda one: _off_by(one, decimals)),
        Column("correction", _state, number=False),
    )
    return Table(columns, [one for one in found.in_order if one.kind != GAIN])


def _wrong(one: QuestionNumbers) -> str:
    value, ends = one.rows.value.value, one.rows.value.interval
    between = "" if ends is None else f" ({bounds(tuple(min(max(end, 0.0), 1.0) for end in ends), 'percent')})"
    return "none decided" if value is None else f"{percent(value, 1)} errors{between}"


def _course(one: QuestionNumbers, reach: float | None = None) -> Chart | None:
    """Draw what is known after each look; gain and promises, which have other scales, have no picture."""
    looks = one.course[-(COURSE if reach is None else STRIP) :]
    if one.kind not in OF_OUTCOMES or not any(look.interval for look in looks):
        return None
    small = reach is not None
    if reach is None:
        allowed = max(abs(end) for end in one.allowed if end is not None)
        ends = [abs(end) for look in looks for end in (look.value, *(look.interval or ())) if end is not None]
        reach = min(max([2 * allowed, *ends]), max(2 * allowed, MOST_REACH))
    return course_chart(looks, one.allowed, reach, first=len(one.course) - len(looks) + 1, small=small)


def _state(one: QuestionNumbers) -> Cell:
    broken = one.state == BROKEN
    return Cell(one.state, f"shown by {_looks(one.rows)}", "raised") if broken else Cell(one.state)


def _off_by(one: QuestionNumbers, decimals: int) -> Cell:
    """Write value and interval of a question, in points, and the zone that is allowed."""
    (low, high), value, ends = one.allowed, one.rows.value.value, one.rows.value.interval
    if one.kind == PROMISE:
        return Cell(_wrong(one), f"allowed: at most {percent(high)}")
    said = "no rows" if value is None else measured(one.rows.value, "points", decimals).whole
    right = f"{points(low, decimals)} to {points(high, decimals)}"
    return Cell(said, f"allowed: {right}{'; too few units for an interval' if ends is None else ''}")
