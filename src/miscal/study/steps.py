"""Compute one cell of a study: from files and earlier cells to rows of tables.

An error ends its own cell alone: it becomes part of the cell's result.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.arrays import as_text, column_of
from miscal.base.errors import InputError, InternalError, MiscalError, MismatchError
from miscal.base.files import write_whole
from miscal.base.vocabulary import EVENT, Kind
from miscal.base.workers import Ended, LostWorker, WorkItem
from miscal.data.readers import naming_alone, read_triples
from miscal.data.readers.pieces import open_table
from miscal.data.readers.roles import Asked
from miscal.data.readers.table import own_parquet
from miscal.data.splits import kept_units
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.run import read_run
from miscal.estimators.registry import estimator_class
from miscal.report import write_run
from miscal.scoring.folder import MANIFEST
from miscal.scoring.questions import kind_of
from miscal.study.folder import StudyFolder
from miscal.study.pair_result import PairResult, TableRows
from miscal.study.plan import READ_OPTIONS, StudyCell, StudyPair, StudyPlan, name_of, pairs_of_cell
from miscal.study.questions import AskedRows, digests, draw_split, same_questions
from miscal.study.tables import TABLES

ID = "id"


@dataclass(frozen=True)
class CellJob:
    """A cell to be computed; plain values, so that it can be sent to another process or machine.

    Attributes
    ----------
    folder : StudyFolder
    plan : StudyPlan
    cell : StudyCell
    n_jobs : int or None
        Processes of a fit.
    """

    folder: StudyFolder
    plan: StudyPlan
    cell: StudyCell
    n_jobs: int | None = None

    @property
    def pair(self) -> StudyPair:
        """The pair that the cell is about, or the first of them."""
        return pairs_of_cell(self.plan, self.cell)[0]

    @property
    def wants_gpu(self) -> bool:
        """Whether it is faster on a GPU: it asks a model, or trains the paper's phi."""
        if self.cell.kind == "score":
            return not self.pair.score.device.startswith("cpu")
        return self.cell.method == "paper" and self.cell.kind in ("discover", "audit") and self.pair.device != "cpu"

    @property
    def task(self) -> WorkItem:
        """The cell in the words of the workers; a model that is asked decides itself about threads."""
        cell = self.cell
        return WorkItem(cell.says, compute, (self,), key=cell, one_thread=cell.kind != "score", gpu=self.wants_gpu)


@dataclass(frozen=True)
class CellResult:
    """What a cell leaves.

    Attributes
    ----------
    rows : mapping of str to sequence of mapping
        By table.
    facts : mapping
        That later cells go by.
    seconds : float
    message : str or None
        Why it failed, in one sentence; None where it did not.
    mendable : bool
        Whether the user can fix what failed; False for a fault of miscal.
    """

    rows: TableRows = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    message: str | None = None
    mendable: bool = True


def compute(job: CellJob) -> CellResult:
    """Compute a cell; an error becomes part of the result, so that other cells go on."""
    start = time.monotonic()
    try:
        found = STEPS[job.cell.kind](job)
        for name, rows in found.rows.items():
            if odd := {column for row in rows for column in row.keys() ^ TABLES[name].keys()}:
                raise InternalError(f"a row of the table {name} has other columns: {sorted(odd)} differ")
    except MiscalError as error:
        found = CellResult(message=error.in_shell(), mendable=not isinstance(error, InternalError))
    except Exception as error:  # whatever one pair does, the others go on
        message = " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())
        found = CellResult(message=message, mendable=isinstance(error, OSError | MemoryError))
    return replace(found, seconds=time.monotonic() - start)


def result_of(ended: Ended) -> CellResult:
    """Return how a cell ended; one whose process was ended from outside has failed."""
    return CellResult(message=str(ended.error)) if isinstance(ended.error, LostWorker) else ended.result()


def score(job: CellJob) -> CellResult:
    """Ask the model; an interrupted run goes on where it was."""
    from miscal.scoring.command import run

    done = run(**job.pair.score.model_dump(), out=job.folder.scored(job.pair.pair))
    return CellResult(facts={"n_scored": done.n_scored, "n_failed": done.n_failed, "n_truncated": done.n_truncated})


def read(job: CellJob) -> CellResult:
    """Read the pair's rows once, and note which question each is about."""
    pair = job.pair
    triples = read_pair(pair, job.folder)
    place = job.folder.keys(pair.pair)
    place.parent.mkdir(parents=True, exist_ok=True)
    units = kept_units(triples) if job.plan.split == "grouped" else np.arange(len(triples))
    source, keys = _keys(pair, triples)
    content = pl.Series("content", digests(triples) or [None] * len(triples), pl.String)
    group = pl.Series("group", [None] * len(triples) if triples.group is None else triples.group.astype(str), pl.String)
    table = pl.DataFrame({"key": keys, "unit": units, "content": content, "group": group})
    write_whole(place, table.write_parquet)
    files = {Path(file["path"]).name: file["sha256"] for file in triples.source["files"]}
    return CellResult(facts={"n": len(triples), "d": triples.X.shape[1], "files": files, "keys": source})


def split(job: CellJob) -> CellResult:
    """Deal the questions of a data set to train, val and test, those that were dealt before as they were."""
    folder, dataset = job.folder, job.cell.of[0]
    known_pairs = [pair.pair for pair in job.plan.on(dataset) if folder.is_done(name_of("read", pair.pair))]
    if not known_pairs:
        raise InputError(f"no pair on {dataset} could be read, so there is nothing to split")
    tables = [own_parquet(folder.keys(pair)) for pair in known_pairs]
    place = folder.split(dataset)
    before = dict(own_parquet(place).iter_rows()) if place.exists() else {}
    parts = [(table["key"].to_list(), table["unit"].to_numpy()) for table in tables]
    sides = draw_split(parts, kind=job.plan.split, seed=job.plan.seed, known=before)
    place.parent.mkdir(parents=True, exist_ok=True)
    table = pl.DataFrame({"key": list(sides), "split": list(sides.values())})
    write_whole(place, table.write_parquet)
    return CellResult(facts={"pairs": known_pairs})


def fit(job: CellJob) -> CellResult:
    """Learn the field and leave a run folder with its report."""
    pair, method = job.pair, job.cell.method
    make = partial(
        discover,
        split_triples(job, pair),
        method=method,
        options=_options(job),
        seed=pair.seed,
        epsilon=pair.epsilon,
        min_rows=pair.min_rows,
        evidence=pair.evidence_under(method),
        device=pair.device,
        n_jobs=job.n_jobs,
    )
    # what a killed run left is whole, but it is not known to be of these settings
    write_run(make, job.folder.run(pair.pair, method), overwrite=True)
    return CellResult()


def measure(job: CellJob) -> CellResult:
    """Compute the numbers that every pair has, or those that take long, which a plan has to ask for."""
    from miscal.study.measures import INTERPRETING, MEASURES

    result = pair_result(job)
    return CellResult(_gathered(way(result) for way in (MEASURES if job.cell.kind == "measure" else INTERPRETING)))


def audit(job: CellJob) -> CellResult:
    """Refit under a null and with other seeds."""
    from miscal.study.audits import audit

    asked = {name: job.cell.settings[name] for name in ("null", "draws", "seeds")}
    return CellResult(
        audit(pair_result(job), **asked, options=_options(job), n_jobs=job.n_jobs, device=job.pair.device)
    )


def duel(job: CellJob) -> CellResult:
    """Compare both methods on the evaluation rows in both."""
    from miscal.study.audits import duel_rows

    pair, folder = job.pair, job.folder
    auto, paper = (read_run(folder.run(pair.pair, method)) for method in ("auto", "paper"))
    unit = own_parquet(folder.keys(pair.pair))["unit"].to_numpy()
    return CellResult({"duels": duel_rows(pair, auto, paper, unit)})


def together(job: CellJob) -> CellResult:
    """Look at all pairs of a data set at once, as many of them as have been fitted."""
    from miscal.study.measures import COMPARING, TOGETHER
    from miscal.study.measures.models import model_rows

    folder, method = job.folder, job.cell.method
    fitted = [
        p for p in pairs_of_cell(job.plan, job.cell) if folder.is_done(name_of("discover", p.pair, method=method))
    ]
    # embeddings of many models would not fit into memory: what is measured of each pair is taken before the next
    questions = same_questions([_asked(folder, pair) for pair in fitted])
    models = [model_rows(pair_result(job, pair), own) for pair, own in zip(fitted, questions, strict=True)]
    ways = (*TOGETHER, *COMPARING) if len(models) > 1 else TOGETHER
    return CellResult(_gathered(way(models) for way in ways), {"pairs": [pair.pair for pair in fitted]})


def _asked(folder: StudyFolder, pair: StudyPair) -> AskedRows:
    """Read what tells apart the questions of a pair."""
    table = own_parquet(folder.keys(pair.pair))
    content, group = (None if table[name].null_count() else table[name].to_numpy() for name in ("content", "group"))
    return AskedRows(folder.load(name_of("read", pair.pair))["facts"]["keys"], table["key"].to_numpy(), content, group)


STEPS: dict[str, Callable[[CellJob], CellResult]] = {
    "score": score,
    "read": read,
    "split": split,
    "discover": fit,
    "measure": measure,
    "interpret": measure,
    "audit": audit,
    "duel": duel,
    "together": together,
}
"""What computes each kind of cell."""


def read_pair(pair: StudyPair, folder: StudyFolder) -> Triples:
    """Read the rows of a pair, from its file or from what its model answered."""
    source, kind = pair.data or str(folder.scored(pair.pair)), outcome_of(pair, folder)
    options = {name: getattr(pair, name) for name in READ_OPTIONS}
    if not all(estimator_class(method).sees_columns for method in pair.methods):
        # methods are compared on the same inputs
        options |= naming_alone(pair.metadata, pair.names_only)
    # the paper counts rows, and methods are compared on the same units
    options["group"] = pair.group or ("auto" if set(pair.methods) == {"auto"} else "none")
    # plans that say `outcome: event`, and scored folders, name the columns of an event as those of an answer
    return read_triples(source, seed=pair.seed, kind=kind, **options | pair.columns_as(kind))


def outcome_of(pair: StudyPair, folder: StudyFolder) -> Kind:
    """Say what the confidence of a pair is of: that the model's answer is right, or that an event happens.

    Where a model is asked for the more likely of two fixed things, such as which response people preferred, or where a
    forecast is judged, the confidence is the probability of an event. One of 0.05 is then a firm prediction that the
    event does not happen, which is right if it does not.

    Its own key ``outcome`` comes first, then how its columns are named: "event" where ``probability``, ``event`` or
    ``positive`` are, and of a scored folder whose prompt asks for a preference; else "answer".
    """
    if pair.outcome is not None:
        return pair.outcome
    if Asked.of(**{name: getattr(pair, name) for name in Asked.OPTIONS}).kind == EVENT:
        return EVENT
    scored = folder.scored(pair.pair) if pair.data is None else Path(pair.data)
    try:
        prompt = json.loads((scored / MANIFEST).read_text(encoding="utf-8"))["settings"]["task.prompt"]
    except (OSError, ValueError, KeyError, TypeError):
        # a table, or a folder that has no manifest or holds no answers
        return "answer"
    return "event" if kind_of(prompt) == "preference" else "answer"


def _keys(pair: StudyPair, triples: Triples) -> tuple[str, list[str]]:
    """Name the question of each row: by the column of ids, else by its row in the file; and say by what."""
    table = open_table(triples.source["path"], encoding=pair.encoding)
    column = pair.id or (ID if ID in table.columns else None)
    if column is None:
        return str(triples.source["path"]), [str(row) for row in triples.row]
    if column not in table.columns:
        raise InputError(f"id: there is no column {column!r}; the columns are {', '.join(map(repr, table.columns))}")
    values = column_of(table.load([column]), column)[triples.row]
    if values.null_count():
        raise InputError(f"id: {values.null_count()} of {len(values)} rows have no {column!r}; give every row one")
    return ID, as_text(values).to_list()


def split_triples(job: CellJob, pair: StudyPair) -> Triples:
    """Read the rows of a pair, with the split of their data set where test rows are evaluated."""
    triples = read_pair(pair, job.folder)
    if pair.evidence_under(job.cell.method) == "all":
        return triples
    keys = own_parquet(job.folder.keys(pair.pair))["key"].to_list()
    if len(keys) != len(triples):
        raise MismatchError(f"the data of {pair.pair} have changed since they were read: give another --out")
    sides = dict(own_parquet(job.folder.split(pair.dataset)).iter_rows())
    return replace(triples, split=np.array([sides[key] for key in keys], dtype="<U5"))


def pair_result(job: CellJob, pair: StudyPair | None = None) -> PairResult:
    """Put together what is known of a pair under a method, from its run folder; by default of the cell's first pair.

    It is always read back, so that a study that was stopped after the fit measures what one in a single go does.
    """
    pair, method = pair or job.pair, job.cell.method
    run = read_run(job.folder.run(pair.pair, method))
    found = replace(run, model=run.load_model())
    return PairResult(pair, method, split_triples(job, pair), found, seconds_score(job, pair))


def seconds_score(job: CellJob, pair: StudyPair) -> float | None:
    """Seconds that the cell of the scoring took; of one that was interrupted, those of the last call."""
    name = name_of("score", pair.pair)
    return job.folder.load(name)["seconds"] if job.folder.is_done(name) else None


def _options(job: CellJob) -> dict[str, Any] | None:
    return dict(job.cell.settings["options"]) or None


def _gathered(parts: Iterable[TableRows]) -> TableRows:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        for table, some in part.items():
            rows.setdefault(table, []).extend(some)
    return rows
