"""What a monitor tells: one typed document, written as ``monitor.json``."""

from typing import Literal

from pydantic import FiniteFloat, NonNegativeInt

from miscal.discovery.summary import Document, Measure, Number, Part, Share
from miscal.findings.conditions import Stored

MONITOR_VERSION = 1
"""Version of the layout of ``monitor.json``; raised whenever a key changes its meaning or is removed."""


class LookNumbers(Part):
    """One look: the rows that came, and their means."""

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
    unsupported: Share
    returning: NonNegativeInt


class QuestionNumbers(Part):
    """One hypothesis that is bet against, and the capital of the bets.

    ``evidence`` is the decimal logarithm of the capital after the last look, ``peak`` the largest that it ever was,
    ``line`` where it is answered, ``course`` the evidence after each look. ``answered`` is the look at which the line
    was reached, from 1; ``alarm`` says whether reaching it raises an alarm. ``tolerance`` is what counts as none: a
    shift in log-odds, or (of ``unsupported``) a rate of rows.
    """

    key: str
    kind: str
    about: str
    alarm: bool
    share: Number
    tolerance: FiniteFloat
    steps: FiniteFloat
    evidence: FiniteFloat
    peak: FiniteFloat
    line: FiniteFloat
    answered: NonNegativeInt | None
    course: tuple[FiniteFloat, ...]


class GroupNumbers(Part):
    """A regime or finding on all new rows so far.

    ``residual`` is the mean of outcome minus corrected confidence. ``hidden`` is the mean of the outcome minus
    E[y | f], with an interval that holds at all looks together; ``before`` is what the run found. ``still`` says
    whether the interval of ``hidden`` lies on the side that was found (``yes``), on the other (``opposite``), or holds
    0 (``unclear``). Of a finding, ``condition`` says which rows belong to it; ``phrase`` names them in a sentence.
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


class Monitoring(Document):
    """Everything that a monitor tells, as in ``monitor.json``.

    Examples
    --------
    >>> Monitoring.model_fields["schema_version"].default
    1
    """

    schema_version: int = MONITOR_VERSION
    run: str
    alpha: FiniteFloat
    group: str | None
    alarm: bool
    verdict: tuple[str, ...]
    rows: NonNegativeInt
    accuracy: Share
    confidence: Share
    corrected: Share
    brier_raw: FiniteFloat
    brier_corrected: FiniteFloat
    looks: tuple[LookNumbers, ...]
    questions: tuple[QuestionNumbers, ...]
    groups: tuple[GroupNumbers, ...]
    left_out: tuple[str, ...]
    warnings: tuple[str, ...]
    columns: dict[str, str | tuple[str, ...] | None]
    versions: dict[str, str]
