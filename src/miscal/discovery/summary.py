"""The summary of a run: one typed document, written as ``summary.json``.

Numbers are numbers, an undefined value is ``null``, and NaN or infinity cannot be stored: the models refuse them.
Every interval is ``[low, high]`` at 95 %. Residuals are ``y - f``: positive means under-confident.
"""

import json
from pathlib import Path
from typing import Any

import pydantic
from pydantic import ConfigDict, Field, FiniteFloat, NonNegativeInt, SerializerFunctionWrapHandler, model_serializer

from miscal.base.document import Document, Measure, MeasureAgainstNull, Number, Part, Share, Text
from miscal.base.errors import CorruptFile, FileError, MismatchError, command
from miscal.base.vocabulary import ANSWER, Kind
from miscal.calibration.metrics.curve import CurvePair
from miscal.calibration.metrics.gap import GapNumbers
from miscal.calibration.metrics.inference import ErrorEstimate
from miscal.data.readers.column_readings import ColumnReading
from miscal.discovery.alarms import PlainFacts
from miscal.discovery.layout import MapInfo
from miscal.discovery.units import Units
from miscal.evidence.certificates import Certificate
from miscal.evidence.judged_rows import JudgeNumbers
from miscal.findings.decisions import Alone, Decision, RiskCurves
from miscal.findings.enrichment import Enriched
from miscal.findings.judging import Confirmed
from miscal.findings.ledger.document import Finding, FindingsMethod

SCHEMA_VERSION = 9
"""Version of the layout of ``summary.json``; raised whenever a key changes its meaning, is removed, or is
needed by a command that reads runs. A run of another version is refused."""


LONGEST = 200
"""Characters of the headline that a summary shows of itself."""


class Answer(Part):
    """A run in three lines, each a sentence or two.

    ``headline`` says in at most 20 words what is wrong and how large it is, ``reason`` in at most 25 words where most,
    and ``action`` in at most 25 words what to do.
    """

    headline: Text
    reason: Text
    action: Text


class Global(Part):
    """Test rows as a whole, before any correction; metrics registered beyond these six are measures too."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Measure]

    accuracy: Measure
    confidence: Measure
    smece: ErrorEstimate
    ece: Measure
    brier: Measure
    log_loss: Measure


class FieldNumbers(Part):
    """The estimated field over the test rows.

    ``structure`` says whether the estimator claims a local structure, that is, one a global map of f does not give.

    `mean, std, std_visible, std_hidden`: of the field, and standard deviations of its parts.
    `share_over, share_under, share_unsupported`: shares of the rows.
    `correlation_with_confidence`: of the field, over the rows.
    """

    mean: Number
    std: Number
    std_visible: Number
    std_hidden: Number
    share_over: Share
    share_under: Share
    share_unsupported: Share
    correlation_with_confidence: Number
    structure: bool


class Regime(Part):
    """The evaluation rows of one regime (over, good or under); ``residual`` = ``visible`` + ``hidden``.

    `confirmed`: which of its parts are shown to differ from zero.
    `metadata`: of over and under, values of columns that are more common there than elsewhere, the most telling first.
    `keywords`: terms that set its texts apart, the weightiest first.
    `exemplars`: row numbers of at most five typical rows: of those whose field is nearest its mean, with distinct
        texts.
    """

    name: str
    n: NonNegativeInt
    share: Share
    accuracy: Number
    confidence: Number
    residual: MeasureAgainstNull
    visible: MeasureAgainstNull | None = None
    hidden: MeasureAgainstNull | None = None
    confirmed: Confirmed = Confirmed()
    smece: ErrorEstimate
    brier: Number
    metadata: tuple[Enriched, ...] = ()
    keywords: tuple[Text, ...] = ()
    exemplars: tuple[NonNegativeInt, ...] = ()


class Score(Part):
    """How one correction does on one slice of the test rows; metrics registered beyond these three are numbers too."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, Number]

    smece: Number
    brier: Number
    log_loss: Number
    n: NonNegativeInt


class Comparison(Part):
    """One correction on every slice; slices are those of the uncorrected field."""

    all: Score
    over: Score
    under: Score
    good: Score


class Gain(Part):
    """What miscal's correction saves against another on the same rows: positive where miscal's is better."""

    brier: Measure
    log_loss: Measure


class Selection(Part):
    """The chosen settings and every candidate that was compared.

    `chosen`: the settings. `candidates`: each with its log loss, and the proxy of the paper.
    """

    chosen: dict[str, Any]
    candidates: tuple[dict[str, Any], ...]


class Curves(Part):
    """Reliability of all test rows, of the two miscalibrated regimes, and of each finding."""

    all: CurvePair
    over: CurvePair
    under: CurvePair
    findings: tuple[CurvePair, ...] = ()


class Histogram(Part):
    """Counts of the test rows' delta by regime; ``edges`` has one entry more than the counts."""

    edges: tuple[FiniteFloat, ...]
    over: tuple[NonNegativeInt, ...]
    good: tuple[NonNegativeInt, ...]
    under: tuple[NonNegativeInt, ...]


class PeriodNumbers(Part):
    """The evaluation rows of a period of time.

    ``start`` is when it begins (ISO 8601, or a number); ``corrected`` the mean corrected confidence; ``hidden`` and
    ``after`` are mean hidden residuals before and after the correction. Each interval is of this one period.
    """

    start: Text
    n: NonNegativeInt
    accuracy: Share
    confidence: Share
    corrected: Share
    residual: Measure
    hidden: Measure
    after: Measure


class FindingOverTime(Part):
    """The rows of a finding, by its number from 1, in each period that holds some.

    `periods`: as of all rows.
    """

    finding: NonNegativeInt
    periods: tuple[PeriodNumbers, ...]


class TimeBlock(Part):
    """A block of rows in the order of time, from its first to its last time.

    `first, last`: when it begins and ends.
    """

    first: Text
    last: Text
    n: NonNegativeInt


class OverTime(Part):
    """Field and findings over time, where ``--time`` names when rows were predicted.

    ``period`` is the length of a period (``"hour"`` to ``"year"``; null where times are numbers). ``blocks`` are those
    of evidence "time", the first of which only teaches.

    `periods`: the evaluation rows of each. `findings`: the same for the first six findings.
    """

    column: str | None
    period: str | None
    periods: tuple[PeriodNumbers, ...]
    findings: tuple[FindingOverTime, ...] = ()
    blocks: tuple[TimeBlock, ...] = ()


class WeightNumbers(Part):
    """How unequally the evaluation rows count, where ``--weight`` names how much.

    ``n_effective`` is the number of rows of equal weight whose mean is as precise, (sum w)^2 / sum w^2 (Kish, 1965);
    ``largest`` the share of all weight that one row has at most.
    """

    column: str | None
    n_effective: FiniteFloat
    largest: Share


class Columns(Part):
    """Which columns of the data were used, and for what: several for x made from features, None for embeddings.

    ``needed`` are the columns that `miscal calibrate` needs of new rows, ``embeddings`` says whether it needs those,
    too; ``names_only`` are the metadata that are no part of x.
    ``positive`` is the value of the outcome's column that is the event, where one was named.

    `correct`: the outcome. `x`: the inputs. `text`: the texts. `metadata`: what names findings first.
    """

    confidence: str | None
    correct: str | None
    positive: str | None = None
    x: str | tuple[str, ...] | None
    text: str | None
    metadata: tuple[str, ...] = ()
    names_only: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    embeddings: bool = False


class Data(Part):
    """The source of the rows.

    `path, sha256`: the file and its digest; null from Python. `columns`: which were used. `x_source`: what inputs were
        made
        of. `n_features`: numbers of an input.
    """

    path: str | None
    sha256: str | None
    columns: Columns
    x_source: str | None
    n_features: NonNegativeInt


class ClassEvent(Document):
    """A class as an event of its own: the probability that the model gives it, and whether it is the label.

    Numbers are of the evaluation rows. ``labels`` counts the rows that have it, ``predicted`` those where it is the
    likeliest; ``probability`` is its mean probability, ``rate`` the share of rows that have it. ``raw`` and
    ``corrected`` score these probabilities. ``findings`` are groups in which the class is the label more or less often
    than in rows of equal probability of it; they were only looked for where ``looked_at`` is true.
    """

    name: Text
    labels: NonNegativeInt
    predicted: NonNegativeInt
    probability: Share
    rate: Share
    raw: Score
    corrected: Score
    looked_at: bool
    findings: tuple[Finding, ...] = ()
    curves: CurvePair | None = None


class Confusion(Part):
    """A class that is the label more or less often than its probability says, where another is predicted.

    ``finding`` is its place among the findings of the class ``label``, from 1; ``rate`` and ``probability`` are of the
    class ``label`` in the ``n`` rows where ``predicted`` is the likeliest.

    `after`: what the correction leaves of `hidden`.
    """

    label: Text
    predicted: Text
    finding: NonNegativeInt
    n: NonNegativeInt
    probability: Share
    rate: Share
    hidden: Measure
    after: Measure
    fate: str | None
    sign: str
    p_adjusted: FiniteFloat


class ClassNumbers(Part):
    """All classes of a run.

    ``error_top_label`` and ``error_class`` are the shares of the family-wise error that the findings of the top label,
    and those of each class looked at, may spend; together they are 1 at most. ``candidates`` counts the groups tested
    of each class. ``log_loss`` and ``accuracy`` of ``raw``, ``global map`` and ``corrected`` probabilities are of all
    classes, on the evaluation rows; ``saved`` is the log loss that the correction saves. ``correction`` names the
    way that was chosen for the correction that is saved.

    `label`: column of the class that each row has. `predicted_column`: what the predicted class is called in findings.
    `classes`: each as an event of its own. `confusions`: classes that are the label where another is predicted.
    """

    label: Text | None
    predicted_column: Text
    error_top_label: FiniteFloat
    error_class: FiniteFloat
    candidates: NonNegativeInt
    correction: str
    log_loss: dict[str, Number]
    accuracy: dict[str, Number]
    saved: Measure
    classes: tuple[ClassEvent, ...]
    confusions: tuple[Confusion, ...] = ()

    @property
    def findings(self) -> tuple[tuple[str, Finding], ...]:
        """All findings with their class, class by class."""
        return tuple((one.name, finding) for one in self.classes for finding in one.findings)


class Summary(Document):
    """Everything a run found, as in ``summary.json``.

    `share_extreme`: share of rows whose confidence lies below 2 % or above 98 %; where it is over a half, axes of
        probability are in log-odds at first.
    `n_train, n_val, n_test`: rows of each part of a split; null where all rows are evaluated.
    `n_sample`: rows that the field was learned from, where they are a random sample; else null.
    `plain`: what all rows show before anything is learned, which the headline says first.
    `alarms`: what should be checked before anything is concluded.
    `global`: all evaluation rows, before any correction; accuracy and confidence are always of all rows.
    `regimes`: the over-confident, well calibrated and under-confident rows, cut by the field.
    `hidden_regimes`: the same, cut by the hidden field: right less, or more, often than rows of equal confidence.
    `gap`: the worst-slice gap. A slice needs `settings.min_rows` rows.
    `certificate`: what unseen rows prove.
    `correction`: how good `raw`, `miscal`, `isotonic`, `temperature` and `platt` are; each row is corrected by what was
        learned from others.
    `corrected_smece`: smooth calibration error after miscal's correction.
    `gains`: for each other correction, what miscal's saves against it.
    `accounted_for`: values of columns that differ by themselves, but not beyond what the findings say; `conditional` is
        what these leave of the difference.
    `most_off`: the group whose outcomes differ most from what is said, hidden or not, with regard to all candidates: a
        finding, or one that is off by more; null where none is known to be off.
    `decisions`: what acting at each threshold that was asked for leads to, by rising threshold.
    `alone, alone_curves`: what may be decided without a person, by rising accepted error; and, of each decision, the
        error among the decided rows at every share.
    `map`: the maps stored beside; from Python null until they are drawn.
    `settings, timing`: what repeats the run, and seconds of each stage.
    `classes, judge`: only of several classes, and of a judge.

    Examples
    --------
    >>> Summary.model_fields["global_"].alias
    'global'
    """

    schema_version: int = SCHEMA_VERSION
    kind: Kind = ANSWER
    n: NonNegativeInt
    share_extreme: Share | None = None
    """Rows whose confidence lies below 2 % or above 98 %."""
    n_train: NonNegativeInt | None
    n_val: NonNegativeInt | None
    n_test: NonNegativeInt | None
    n_sample: NonNegativeInt | None = None
    """Rows that the field was learned from, where they are a random sample; None where all (or all but test rows) are.
    """
    seed: int
    method: str
    evidence: str = "test"
    answer: Answer
    plain: PlainFacts
    alarms: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    global_: Global = Field(alias="global")
    field: FieldNumbers
    regimes: tuple[Regime, ...]
    hidden_regimes: tuple[Regime, ...] = ()
    gap: GapNumbers
    certificate: Certificate
    correction: dict[str, Comparison]
    corrected_smece: ErrorEstimate
    gains: dict[str, Gain]
    selection: Selection
    findings: tuple[Finding, ...] = ()
    accounted_for: tuple[Finding, ...] = ()
    most_off: Finding | None = None
    findings_method: FindingsMethod | None = None
    decisions: tuple[Decision, ...] = ()
    alone: tuple[Alone, ...] = ()
    alone_curves: tuple[RiskCurves, ...] = ()
    units: Units | None = None
    over_time: OverTime | None = None
    weights: WeightNumbers | None = None
    curves: Curves
    histogram: Histogram
    map: MapInfo | None = None
    data: Data
    columns: tuple[ColumnReading, ...] = ()
    settings: dict[str, Any]
    versions: dict[str, str]
    timing: dict[str, FiniteFloat]
    classes: ClassNumbers | None = None
    """Of several classes; the key is left out where there are none."""
    judge: JudgeNumbers | None = None
    """Of a judge; the key is left out where there is none."""

    @property
    def leaks(self) -> tuple[str, ...]:
        """Columns that may be known only after the outcome, and were left out."""
        return tuple(one.name for one in self.columns if one.leak is not None)

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """Return what a summary shows of itself: every number is in its JSON text, which `to_json` writes."""
        headline = self.answer.headline
        shown = headline if len(headline) <= LONGEST else f"{headline[: LONGEST - 1]}…"
        counts = [("kind", self.kind), ("n", self.n), ("findings", len(self.findings))]
        return [*counts, ("headline", shown)]

    @model_serializer(mode="wrap")
    def _without_absent(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        optional = ("classes", "judge")
        return {name: value for name, value in write(self).items() if name not in optional or value is not None}


def read_summary(path: str | Path) -> Summary:
    """Read ``summary.json``, given by its path or by the run folder that holds it."""
    path = Path(path)
    path = path / "summary.json" if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise CorruptFile(f"{path} is not UTF-8 text (byte {error.start}); run {command('discover')} again") from None
    except OSError as error:
        raise FileError(
            f"cannot read {path}: {error.strerror}; give the folder of a run, made by {command('discover')}"
        ) from None
    return parse_summary(text, name=str(path))


def parse_summary(text: str, *, name: str = "summary.json") -> Summary:
    """Parse the JSON text of a summary; messages call it `name`."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptFile(f"{name} is not JSON ({error}); run {command('discover')} again") from None
    # before validation, which another layout would fail with a message that misleads
    _refuse_other(content, name)
    try:
        return Summary.model_validate(content)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CorruptFile(
            f"{name} is not a miscal summary: {where}: {first['msg']} "
            f"({error.error_count()} faults in total); run {command('discover')} again"
        ) from None


def _refuse_other(content: Any, name: str) -> None:
    version = content.get("schema_version") if isinstance(content, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise CorruptFile(f"{name} is not a miscal summary: no schema_version; run {command('discover')} again")
    if version < SCHEMA_VERSION:
        raise MismatchError(
            f"{name} was written by an earlier miscal (schema {version}; this one reads {SCHEMA_VERSION}): run "
            f"{command('discover')} again on its data; its model/ still corrects new rows"
        )
    if version > SCHEMA_VERSION:
        raise MismatchError(
            f"{name} was written by a newer miscal (schema {version}; this one reads {SCHEMA_VERSION}): upgrade miscal"
        )
