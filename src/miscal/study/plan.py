"""The plan of a study: which pairs, with which settings, every key checked, unknown ones refused; and its cells.

Settings stand at the top of a plan and hold for all pairs; a pair may have its own of those in :class:`PairSettings`.

Cells are the steps of a study, each of which is done once. A pair goes through ``score`` (where a model is asked) and
``read``; a data set through ``split``, drawn once for all its models; then a pair under a method through ``discover``
and ``measure``, and where the plan asks for it ``interpret`` and ``audit``. ``duel`` compares both methods on a pair,
and ``together`` looks at all pairs of a data set at once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from miscal.base.process import LARGEST_SEED
from miscal.base.vocabulary import ANSWER, EVENT, Kind
from miscal.data.readers.roles import PAIRS, pair_asked

Method = Literal["paper", "auto"]
METHODS: tuple[Method, ...] = ("paper", "auto")
"""Methods in the order of pages and figures."""

Evidence = Literal["all", "test"]
SplitKind = Literal["permutation", "grouped"]
Null = Literal["permuted", "visible", "calibrated"]

ALL_PAIRS = "all"
"""Stands for all pairs where a plan lists some."""

PAIR_ID = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
"""Ids of pairs name folders."""

_STRICT = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ScoreOptions(BaseModel):
    """What `miscal score` is asked: the options of :func:`miscal.scoring.command.run`."""

    model_config = _STRICT

    model: str = Field(description="hub id, short name, folder or .gguf file")
    task: str = Field(description="mmlu, mmlu-pro, medmcqa, hh-rlhf, or a file of questions or pairs")
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    embeddings_dtype: Literal["float32", "float16"] = "float32"
    device: str = "auto"
    revision: str | None = None
    task_revision: str | None = None
    trust_remote_code: bool = False
    form: Literal["letter", "text", "text_per_token", "text_per_byte"] | None = None
    prompt_file: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    batch_tokens: Annotated[int, Field(ge=1)] | None = None
    threads: Annotated[int, Field(ge=1)] | None = None


class PairSettings(BaseModel):
    """Settings that hold for all pairs, and that a pair may have of its own."""

    model_config = _STRICT

    method: Literal["paper", "auto", "both"] = Field("auto", description="paper, auto or both")
    seed: int = Field(
        0, ge=0, le=LARGEST_SEED, description="of fit and draws; the split takes that at the top of the plan"
    )
    epsilon: float | None = Field(
        None, ge=0, lt=1, description="half-width of the band that counts as well calibrated; default: as of a run"
    )
    min_rows: int = Field(30, ge=1, description="fewest rows of a slice whose gap is measured; 1 as in the paper")
    evidence: Evidence = Field("all", description="evaluation rows; with all, method paper stays with test")
    raw: bool = Field(True, description="measure the field of the raw inputs too (method paper)")
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="where the paper's phi trains")
    options: dict[str, Any] = Field(default_factory=dict, description="of the paper's estimator, e.g. max_epochs")


class ReadOptions(BaseModel):
    """How the rows of a pair are read: the options of `miscal discover`, and `id`."""

    model_config = _STRICT

    confidence: str | None = None
    correct: str | None = None
    probability: str | None = None
    event: str | None = None
    positive: str | int | float | bool | None = Field(None, description="the value of `event` that is the event")
    embeddings: str | None = None
    features: str | list[str] | None = None
    text: str | None = None
    metadata: str | list[str] = Field(default_factory=list)
    names_only: str | list[str] = Field(default_factory=list)
    where: str | None = None
    allow_leak: str | list[str] = Field(default_factory=list)
    leave_out: str | list[str] = Field(default_factory=list)
    group: str | None = None
    time: str | None = None
    on_invalid: Literal["error", "drop"] = "error"
    encoding: str = "utf-8"
    embed_model: str | None = None
    id: str | None = Field(None, description="column that names the question, the same for every model")


READ_OPTIONS = tuple(name for name in ReadOptions.model_fields if name != "id")
"""Those that :func:`miscal.data.readers.read.read_triples` takes."""


class StudyPair(PairSettings, ReadOptions):
    """One model on one data set; `pair` is its id."""

    pair: str
    dataset: str = Field(min_length=1)
    model: str = Field(min_length=1)
    family: str | None = None
    billions: float | None = Field(None, gt=0)
    score: ScoreOptions | None = None
    data: str | None = None
    outcome: Literal["answer", "event"] | None = Field(
        None, description="what the confidence is of; default: as the columns are named, and as the prompt asks"
    )

    @model_validator(mode="after")
    def _one_source(self) -> StudyPair:
        if (self.score is None) == (self.data is None):
            raise ValueError("name either score, to ask a model, or data, a file or scored folder: exactly one of them")
        # which columns an answer or an event is read from is decided in one place
        if pair_asked(**self.columns_as(self.outcome))[0] == EVENT and self.outcome == ANSWER:
            raise ValueError("outcome: answer does not go with probability, event and positive: leave one of them out")
        if not PAIR_ID.fullmatch(self.pair):
            raise ValueError(
                f"the id {self.pair!r} cannot name a folder: use up to 100 letters, digits, dots, hyphens and "
                "underscores, a dot not first"
            )
        return self

    def columns_as(self, kind: Kind | None) -> dict[str, Any]:
        """Name the columns of probability and outcome; of an event the options of an answer name them, too."""
        named = {name: getattr(self, name) for name in PAIRS}
        if kind != EVENT:
            return named
        probability, event = named["probability"] or named["confidence"], named["event"] or named["correct"]
        return named | {"confidence": None, "correct": None, "probability": probability, "event": event}

    @property
    def methods(self) -> tuple[Method, ...]:
        """Methods that are asked for, the paper's first."""
        return ("paper", "auto") if self.method == "both" else (self.method,)

    def evidence_under(self, method: str) -> Evidence:
        """Which rows are evaluated: under the paper's method always the test rows, because it chooses on one split."""
        return "test" if method == "paper" else self.evidence


class AuditPlan(BaseModel):
    """Which pairs are audited, and how."""

    model_config = _STRICT

    pairs: list[str] | Literal["all"] = ALL_PAIRS
    draws: int = Field(20, ge=1, description="refits under the null")
    seeds: int = Field(5, ge=2, description="seeds that are compared")
    null: Null = "permuted"


class StudyPlan(PairSettings):
    """A whole study.

    Attributes
    ----------
    pairs : list of StudyPair
        With their settings, whether they are the pair's own or the plan's.
    split : {"grouped", "permutation"}
        One split 80/10/10 for all models on a data set. "grouped": equal inputs and groups on one side.
        "permutation": as in the paper.
    interpret : list of str, or "all"
        Pairs whose space is laid out and whose neighbours are compared.
    audit : AuditPlan, optional
    score : dict of str to object
        Options of scoring for every pair whose model is asked, e.g. device or limit; a pair's own come before.
    name : str, optional
        Of the study; "paper48" for the paper's pairs.
    by : str, default "model"
        What is compared, as sentences call it: the column that the plan was made by.
    """

    pairs: list[StudyPair] = Field(min_length=1)
    split: SplitKind = "grouped"
    interpret: list[str] | Literal["all"] = Field(default_factory=list)
    audit: AuditPlan | None = None
    score: dict[str, Any] = Field(default_factory=dict)
    name: str | None = None
    by: str = Field("model", min_length=1)

    def interpreted(self, pair: str) -> bool:
        """Whether the space of a pair is to be laid out."""
        return self.interpret == ALL_PAIRS or pair in self.interpret

    def audited(self, pair: str) -> bool:
        """Whether a pair is to be audited."""
        return self.audit is not None and (self.audit.pairs == ALL_PAIRS or pair in self.audit.pairs)

    def on(self, dataset: str) -> tuple[StudyPair, ...]:
        """Pairs on a data set."""
        return tuple(pair for pair in self.pairs if pair.dataset == dataset)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the data sets, in their order."""
        return tuple(dict.fromkeys(pair.dataset for pair in self.pairs))


def safe_name(text: str) -> str:
    """Replace what a folder's name should not hold.

    Examples
    --------
    >>> safe_name("FiveThirtyEight MLB")
    'FiveThirtyEight-MLB'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.") or "-"


# --- cells ------------------------------------------------------------------------------------------------------------


KINDS = ("score", "read", "split", "discover", "measure", "interpret", "audit", "duel", "together")
"""Kinds of cells, in the order in which a pair meets them."""

OF_DATASETS = ("split", "together")
"""Kinds of cells that are about all pairs of a data set, as many as are there."""


@dataclass(frozen=True)
class StudyCell:
    """One step.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    of : str
        Id of a pair, or the name of the data set whose pairs it takes together (:data:`OF_DATASETS`).
    method : str or None
    settings : mapping of str to JSON values
        What its result depends on beside the data.
    needs, after : tuple of str
        Names of cells without whose results it cannot be, and of cells that are to be tried before it; it takes the
        results that there are of these, of which it needs one.
    """

    kind: str
    of: str
    method: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, which is that of its file too.

        Examples
        --------
        >>> StudyCell("measure", "mmlu.m", "auto").name
        'measure@mmlu.m@auto'
        """
        return name_of(self.kind, self.of, self.method)

    @property
    def says(self) -> str:
        """What a line of progress calls it."""
        return " ".join(filter(None, [self.kind, self.of, self.method]))


def name_of(kind: str, of: str, method: str | None = None) -> str:
    """Name a cell by its parts; no id of a pair holds what stands between them."""
    return "@".join(filter(None, [kind, safe_name(of), method]))


def cells_of(plan: StudyPlan) -> list[StudyCell]:
    """List the cells of a study, each after those that it rests on.

    Examples
    --------
    >>> from miscal.study.plan_file import read_plan
    >>> plan = read_plan({"pairs": [{"dataset": "a", "model": "m", "data": "a.csv"}]})
    >>> [cell.name for cell in cells_of(plan)]
    ['read@a.m', 'discover@a.m@auto', 'measure@a.m@auto', 'together@a@auto']
    """
    return [cell for dataset in plan.datasets for cell in _of_dataset(plan, dataset)]


def _of_dataset(plan: StudyPlan, dataset: str) -> list[StudyCell]:
    pairs = plan.on(dataset)
    cells = [StudyCell("score", pair.pair, settings=_score_settings(pair)) for pair in pairs if pair.score]
    scored = {cell.of: (cell.name,) for cell in cells}
    reads = [StudyCell("read", p.pair, None, _read_settings(p), needs=scored.get(p.pair, ())) for p in pairs]
    cells += reads
    if any(pair.evidence_under(method) == "test" for pair in pairs for method in pair.methods):
        settings = {"split": plan.split, "seed": plan.seed}
        cells.append(StudyCell("split", dataset, settings=settings, after=tuple(cell.name for cell in reads)))
    cells += [cell for pair in pairs for method in pair.methods for cell in _of_pair(plan, pair, method)]
    fits = {(cell.of, cell.method): cell.name for cell in cells if cell.kind == "discover"}
    both = [pair.pair for pair in pairs if len(pair.methods) > 1]
    cells += [StudyCell("duel", pair, needs=tuple(fits[pair, method] for method in METHODS)) for pair in both]
    for method in METHODS:
        # all pairs at once
        if own := tuple(name for (_, of), name in fits.items() if of == method):
            cells.append(StudyCell("together", dataset, method, after=own))
    return cells


def _of_pair(plan: StudyPlan, pair: StudyPair, method: str) -> list[StudyCell]:
    settings = _fit_settings(plan, pair, method)
    needs = [name_of("read", pair.pair)]
    if settings["evidence"] == "test":
        needs.append(name_of("split", pair.dataset))
    fit = StudyCell("discover", pair.pair, method, settings, tuple(needs))
    follow = {"measure": settings | {"raw": pair.raw}}
    if plan.interpreted(pair.pair):
        follow["interpret"] = settings
    if plan.audited(pair.pair):
        follow["audit"] = settings | plan.audit.model_dump(exclude={"pairs"})
    return [fit, *(StudyCell(kind, pair.pair, method, own, (fit.name,)) for kind, own in follow.items())]


def _score_settings(pair: StudyPair) -> dict[str, Any]:
    # where the model and the files lie says nothing of the numbers
    settings = pair.score.model_dump(exclude={"device", "threads", "batch_tokens"})
    places = {name: settings[name] for name in ("model", "task", "prompt_file")}
    return settings | {name: Path(at).name if at and Path(at).is_absolute() else at for name, at in places.items()}


def _read_settings(pair: StudyPair) -> dict[str, Any]:
    own = {name: getattr(pair, name) for name in READ_OPTIONS if name != "embeddings"}
    # the seed draws the texts that an encoder is fitted on
    return own | {"id": pair.id, "seed": pair.seed}


def _fit_settings(plan: StudyPlan, pair: StudyPair, method: str) -> dict[str, Any]:
    evidence, options = pair.evidence_under(method), dict(pair.options) if method == "paper" else {}
    own = {name: getattr(pair, name) for name in ("seed", "epsilon", "min_rows", "outcome")}
    drawn = {"split": plan.split, "split_seed": plan.seed} if evidence == "test" else {}
    return own | {"evidence": evidence, "options": options} | drawn


def differing(there: Mapping[str, Any], asked: Mapping[str, Any]) -> list[str]:
    """Name the settings that differ, with both values.

    Examples
    --------
    >>> differing({"seed": 0, "epsilon": 0.05}, {"seed": 1, "epsilon": 0.05})
    ['seed (0 there, 1 asked)']
    """
    return [
        f"{name} ({there.get(name)!r} there, {asked.get(name)!r} asked)"
        for name in dict.fromkeys([*there, *asked])
        if there.get(name) != asked.get(name)
    ]


def pairs_of_cell(plan: StudyPlan, cell: StudyCell) -> Sequence[StudyPair]:
    """Pairs that a cell is about: all on its data set that have its method, or its own."""
    if cell.kind in OF_DATASETS:
        return [pair for pair in plan.on(cell.of) if cell.method is None or cell.method in pair.methods]
    return [pair for pair in plan.pairs if pair.pair == cell.of]
