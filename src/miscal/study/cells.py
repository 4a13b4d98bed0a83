"""Cells: the steps of a study, each of which is done once, and what each rests on.

A pair goes through ``score`` (where a model is asked) and ``read``; a data set through ``split``, drawn once for all
its models; then a pair under a method through ``discover`` and ``measure``, and where the plan asks for it
``interpret`` and ``audit``. ``duel`` compares both methods on a pair, and ``together`` looks at all pairs of a data
set at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from miscal.study.plan import METHODS, READ_OPTIONS, StudyPair, StudyPlan, safe_name

KINDS = ("score", "read", "split", "discover", "measure", "interpret", "audit", "duel", "together")
"""Kinds of cells, in the order in which a pair meets them."""

OF_DATASETS = ("split", "together")
"""Kinds of cells that are about all pairs of a data set, as many as are there."""

_JOINT = "@"
"""Between the parts of a cell's name; no id of a pair holds it."""

# where the model and the files lie says nothing of the numbers
_SCORE_MACHINE = ("device", "threads", "batch_tokens")
_SCORE_PLACES = ("model", "task", "prompt_file")


@dataclass(frozen=True)
class StudyCell:
    """One step.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    of : tuple of str
        Ids of pairs, or the name of the data set whose pairs it takes together (:data:`OF_DATASETS`).
    method : str or None
    settings : mapping of str to JSON values
        What its result depends on beside the data.
    needs, after : tuple of str
        Names of cells without whose results it cannot be, and of cells that are to be tried before it; it takes the
        results that there are of these, of which it needs one.
    """

    kind: str
    of: tuple[str, ...]
    method: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its name, which is that of its file too.

        Examples
        --------
        >>> StudyCell("measure", ("mmlu.m",), "auto").name
        'measure@mmlu.m@auto'
        """
        return name_of(self.kind, *self.of, method=self.method)

    @property
    def says(self) -> str:
        """What a line of progress calls it."""
        return " ".join([self.kind, " and ".join(self.of), *([self.method] if self.method else [])])


def name_of(kind: str, *of: str, method: str | None = None) -> str:
    """Name a cell by its parts."""
    return _JOINT.join([kind, *map(safe_name, of), *([method] if method else [])])


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
    reads = [
        StudyCell("read", (p.pair,), settings=_read_settings(p), needs=(name_of("score", p.pair),) if p.score else ())
        for p in pairs
    ]
    cells = [StudyCell("score", (pair.pair,), settings=_score_settings(pair)) for pair in pairs if pair.score] + reads
    if any(pair.evidence_under(method) == "test" for pair in pairs for method in pair.methods):
        settings = {"split": plan.split, "seed": plan.seed}
        cells.append(StudyCell("split", (dataset,), settings=settings, after=tuple(cell.name for cell in reads)))
    cells += [cell for pair in pairs for method in pair.methods for cell in _of_pair(plan, pair, method)]
    cells += [
        StudyCell("duel", (p.pair,), needs=tuple(name_of("discover", p.pair, method=method) for method in p.methods))
        for p in pairs
        if len(p.methods) > 1
    ]
    for method in METHODS:
        # all pairs at once
        fits = tuple(name_of("discover", pair.pair, method=method) for pair in pairs if method in pair.methods)
        if fits:
            cells.append(StudyCell("together", (dataset,), method, after=fits))
    return cells


def _of_pair(plan: StudyPlan, pair: StudyPair, method: str) -> list[StudyCell]:
    settings = _fit_settings(plan, pair, method)
    needs = [name_of("read", pair.pair)]
    if settings["evidence"] == "test":
        needs.append(name_of("split", pair.dataset))
    fit = StudyCell("discover", (pair.pair,), method, settings, tuple(needs))
    follow = {"measure": settings | {"raw": pair.raw}}
    if plan.interpreted(pair.pair):
        follow["interpret"] = settings
    if plan.audited(pair.pair):
        follow["audit"] = settings | plan.audit.model_dump(exclude={"pairs"})
    return [fit, *(StudyCell(kind, (pair.pair,), method, own, (fit.name,)) for kind, own in follow.items())]


def _score_settings(pair: StudyPair) -> dict[str, Any]:
    settings = pair.score.model_dump(exclude=set(_SCORE_MACHINE))
    places = {name: settings[name] for name in _SCORE_PLACES}
    return settings | {name: Path(at).name if at and Path(at).is_absolute() else at for name, at in places.items()}


def _read_settings(pair: StudyPair) -> dict[str, Any]:
    own = {name: getattr(pair, name) for name in READ_OPTIONS if name != "embeddings"}
    # the seed draws the texts that an encoder is fitted on
    return own | {"id": pair.id, "seed": pair.seed}


def _fit_settings(plan: StudyPlan, pair: StudyPair, method: str) -> dict[str, Any]:
    evidence = pair.evidence_under(method)
    drawn = {"split": plan.split, "split_seed": plan.seed} if evidence == "test" else {}
    return {
        "seed": pair.seed,
        "epsilon": pair.epsilon,
        "min_rows": pair.min_rows,
        "evidence": evidence,
        "outcome": pair.outcome,
        "options": dict(pair.options) if method == "paper" else {},
    } | drawn


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
        return [pair for pair in plan.on(cell.of[0]) if cell.method is None or cell.method in pair.methods]
    return [pair for name in cell.of for pair in plan.pairs if pair.pair == name]
