"""The content of ``monitor.json``: one class for each of its tables."""

from typing import Literal

from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.shown import Shown, ShowsItself
from miscal.base.vocabulary import ANSWER, Kind
from miscal.discovery.summary import Document, Measure, Number, Part, Share
from miscal.findings.conditions import Stored
from miscal.findings.decisions import Decision

MONITOR_VERSION = 2
"""Version of the layout of ``monitor.json``; raised whenever a key changes its meaning or is removed."""


class LookNumbers(Part):
    """The new rows of one look: how many there were, and the means of their outcomes and confidences.

    ``lost`` is the mean log loss of the corrected confidences less that of the raw ones, in nats, differences of a row
    cut at 1; its interval, at 95 %, is of this look alone. Above 0, the corrected confidences are worse.
    """

    look: NonNegativeInt
    source: str
    at: str | None
    rows: NonNegativeInt
    units: NonNegativeInt
    dropped: NonNegativeInt
    accuracy: Share
    confidence: Share
    corrected: Share
    brier_raw: FiniteFloat
    brier_corrected: FiniteFloat
    lost: Measure
    unsupported: Share
    returning: NonNegativeInt


class QuestionNumbers(Part):
    """One hypothesis that is bet against beside the lines, and the capital of the bets.

    ``side`` is what its answer is for: ``change`` raises an alarm, ``advice`` advises to learn anew, ``raw`` is only
    shown. ``evidence`` is the decimal logarithm of the capital after the last look, ``peak`` the largest that it ever
    was, ``line`` where it is answered, ``course`` the evidence after each look. ``answered`` is the look at which the
    line was reached, from 1. ``tolerance`` is what counts as none: a shift in log-odds, or (of ``unsupported``) a rate
    of rows.
    """

    key: str
    kind: str
    about: str
    side: Literal["change", "advice", "raw"]
    share: Number
    tolerance: FiniteFloat
    steps: FiniteFloat
    evidence: FiniteFloat
    peak: FiniteFloat
    line: FiniteFloat
    answered: NonNegativeInt | None
    course: tuple[FiniteFloat, ...]


class LineLook(Part):
    """A line at one look: its rows, and the shift along it; of rows of a group, the residual too.

    ``shift`` is in log-odds (of ``gain``: log loss lost, in nats), ``residual`` is the mean outcome less the mean
    corrected confidence. Intervals are of this look alone, at 95 %.
    """

    look: NonNegativeInt
    n: NonNegativeInt
    accuracy: Number
    corrected: Number
    shift: Measure
    residual: Measure


class LineNumbers(Part):
    """A line of outcomes that can raise an alarm.

    ``before`` and ``error`` are the shift that the run measured among its own rows, and its standard error; ``allowed``
    are the shifts that count as no change. ``evidence``, ``line``, ``answered`` and ``course`` are as of a question;
    its bets begin anew at every look.
    """

    key: str
    kind: str
    about: str
    share: FiniteFloat
    before: FiniteFloat
    error: FiniteFloat
    allowed: tuple[FiniteFloat, FiniteFloat]
    evidence: FiniteFloat
    line: FiniteFloat
    answered: NonNegativeInt | None
    course: tuple[FiniteFloat, ...]
    looks: tuple[LineLook, ...]


class AlarmNumbers(Part):
    """A line or question that raised the alarm, or that was proven after it.

    ``raised`` is the look at which it was seen. ``proven`` says whether the line proves it alone; else it is one of
    those that brought most of the evidence together. ``since`` are the first and last look with which the change may
    have begun, ``start`` is the likeliest; ``n``, ``accuracy``, ``corrected`` and ``shift`` are of the rows of the line
    from there to ``raised``, and ``before`` is the shift that the run measured. All of these are null for inputs, which
    are not dated.
    """

    key: str
    kind: str
    about: str
    raised: NonNegativeInt
    proven: bool
    since: tuple[NonNegativeInt, NonNegativeInt] | None = None
    start: NonNegativeInt | None = None
    n: NonNegativeInt | None = None
    accuracy: Number = None
    corrected: Number = None
    shift: Number = None
    before: Number = None


class AdviceNumbers(Part):
    """Whether a correction that is learned anew could be better: ``since`` is the look that showed it.

    ``rows`` is the number of new rows that it could be learned from, beside the old ones.
    """

    refit: bool
    since: NonNegativeInt | None
    rows: NonNegativeInt


class MonitoredGroup(Part):
    """A regime, a finding or a value of a named column on all new rows so far.

    ``residual`` is the mean of outcome minus corrected confidence. ``hidden`` is the mean of the outcome minus
    E[y | f], with an interval that holds at all looks together; ``before`` is what the run found. ``still`` says
    whether what the run found is there (``yes``), there the other way round (``opposite``), or neither is shown
    (``unclear``). Of a finding or value, ``condition`` says which rows belong to it; ``phrase`` names them in a
    sentence.
    """

    key: str
    description: str
    condition: Stored | None = None
    phrase: str
    kind: str
    sign: str | None
    n: NonNegativeInt
    units: NonNegativeInt
    accuracy: Number
    confidence: Number
    corrected: Number
    residual: Number
    hidden: Measure
    before: Number
    still: Literal["yes", "unclear", "opposite"]


class Monitoring(ShowsItself, Document):
    """Everything that a monitor tells, as in ``monitor.json``.

    ``evidence`` is the decimal logarithm of the mean capital of all that can raise the alarm, after each look, and
    ``line`` where it does. ``kind`` says what the confidences are the probabilities of, and ``epsilon`` is the band of
    the run that counts as well calibrated: numbers are written as finely as it asks for. ``decisions`` are of the last
    look: what acting at the thresholds of the run led to.

    Examples
    --------
    >>> Monitoring.model_fields["schema_version"].default
    2
    """

    schema_version: int = MONITOR_VERSION
    kind: Kind = ANSWER
    epsilon: float | None = None
    run: str
    alpha: FiniteFloat
    group: str | None
    alarm: bool
    raised: NonNegativeInt | None
    evidence: tuple[FiniteFloat, ...]
    line: FiniteFloat
    alarms: tuple[AlarmNumbers, ...]
    advice: AdviceNumbers
    verdict: tuple[str, ...]
    rows: NonNegativeInt
    accuracy: Share
    confidence: Share
    corrected: Share
    brier_raw: FiniteFloat
    brier_corrected: FiniteFloat
    looks: tuple[LookNumbers, ...]
    questions: tuple[QuestionNumbers, ...]
    lines: tuple[LineNumbers, ...]
    groups: tuple[MonitoredGroup, ...]
    decisions: tuple[Decision, ...] = ()
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]
    columns: dict[str, str | tuple[str, ...] | None]
    versions: dict[str, str]

    def shown(self) -> Shown:
        """Return what it shows of itself in a notebook and on a terminal."""
        from miscal.runs.monitor.wording import shown_monitoring

        return shown_monitoring(self)
