"""The content of ``monitor.json``: one class for each of its tables."""

from typing import Literal

from pydantic import FiniteFloat, NonNegativeInt

from miscal.base.document import Probability
from miscal.base.shown import Shown, ShowsItself
from miscal.base.vocabulary import ANSWER, Kind
from miscal.discovery.summary import Document, Measure, Number, Part, Share
from miscal.runs.monitor.questions import State

MONITOR_VERSION = 3
"""Version of the layout of ``monitor.json``; raised whenever a key changes its meaning or is removed."""


class LookNumbers(Part):
    """The new rows of one look: how many there were, and the means of their outcomes and confidences.

    ``lost`` is the mean log loss of the corrected confidences less that of the raw ones, in nats. Above 0, the
    corrected confidences are worse.
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
    lost: FiniteFloat
    unsupported: Share
    returning: NonNegativeInt


class RowsOfLooks(Part):
    """What the rows of several looks say of a question.

    ``value`` is their mean outcome less their mean corrected confidence (of the gain: log loss of the corrected less
    that of the raw confidences, in nats), with the interval that holds at all looks together; none where too few units
    are there to say anything.
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
    """

    key: str
    kind: Literal["gain", "level", "finding", "threshold"]
    about: str
    phrase: str | None
    alarms: bool
    error: FiniteFloat
    allowed: tuple[Number, FiniteFloat]
    state: State
    rows: RowsOfLooks
    course: tuple[Measure, ...]


class Monitoring(ShowsItself, Document):
    """Everything that a monitor tells, as in ``monitor.json``.

    ``kind`` says what the confidences are the probabilities of, and ``epsilon`` is the band of the run that counts as
    well calibrated: numbers are written as finely as it asks for. ``unit`` is what is counted once, and ``group`` the
    column that says so. ``known`` is the number of rows by which the run knew how far off it could be.

    Examples
    --------
    >>> Monitoring.model_fields["schema_version"].default
    3
    """

    schema_version: int = MONITOR_VERSION
    kind: Kind = ANSWER
    epsilon: float | None = None
    run: str
    alpha: FiniteFloat
    group: str | None
    unit: str
    known: NonNegativeInt
    alarm: bool
    raised: NonNegativeInt | None
    verdict: tuple[str, ...]
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

    def shown(self) -> Shown:
        """Return what it shows of itself in a notebook and on a terminal."""
        from miscal.runs.monitor.wording import shown_monitoring

        return shown_monitoring(self)
