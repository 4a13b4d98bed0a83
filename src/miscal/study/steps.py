"""Compute one cell of a study: from files and earlier cells to rows of tables.

An error ends its own cell alone: it becomes part of the cell's result.

Beside the cells: which rows of several pairs on one data set are answers to the same question, and the split that
models share.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from miscal.base.arrays import as_text, column_of, dense_rank
from miscal.base.errors import InputError, InternalError, MiscalError, MismatchError
from miscal.base.files import write_whole
from miscal.base.folds import linked
from miscal.base.vocabulary import EVENT, Kind
from miscal.base.workers import Ended, LostWorker, WorkItem
from miscal.data.readers.opening import open_source
from miscal.data.readers.read import read_triples
from miscal.data.readers.roles import PAIRS, naming_alone, pair_asked
from miscal.data.readers.source import own_parquet
from miscal.data.splits import kept_units, permuted_split, split_by
from miscal.data.triples import Triples
from miscal.discovery.discover import discover
from miscal.discovery.run import read_run
from miscal.estimators.registry import estimator_class
from miscal.report import write_run
from miscal.scoring.folder import MANIFEST
from miscal.scoring.questions import kind_of
from miscal.study.pair_result import PairResult, TableRows
from miscal.study.plan import READ_OPTIONS, SplitKind, StudyCell, StudyPair, StudyPlan, name_of, pairs_of_cell
from miscal.study.tables import TABLES, StudyFolder, attributes

LEAST = 0.1
"""Share of the rows that must have a partner in another pair, or a way of telling questions is not believed."""

_DIGEST = 16
"""Bytes of a digest: two of a billion inputs are alike by accident in one study of 10^20."""


def digests(triples: Triples) -> list[str] | None:
    """Digest the text, or the embedding, of each row; None where inputs are columns of a table.

    >>> found = digests(Triples.of([[0.0], [1.0], [0.0]], confidence=[0.5] * 3, correct=[0, 1, 0]))
    >>> found[0] == found[2], found[0] == found[1]
    (True, False)
    """
    if triples.text is not None:
        contents = (text.encode() for text in triples.text)
    elif triples.layout.table:
        return None
    else:
        # adding 0 turns -0.0 into 0.0, which is the same input and other bytes
        contents = (row.tobytes() for row in np.ascontiguousarray(triples.places) + np.float32(0))
    return [hashlib.blake2b(content, digest_size=_DIGEST).hexdigest() for content in contents]


def same_questions(pairs: Sequence[pl.DataFrame], sources: Sequence[str | None]) -> list[NDArray[np.int64]]:
    """Give numbers to the questions of several pairs on one data set: for each pair (n,), from 0 without gaps over all.

    A row of each pair has a `key`, the value of a column of ids or its number in a file, which `sources` name; its
    `content`, a digest of the text or the embedding, null where inputs are columns of a table, of which equal ones are
    different cases that happen to agree; and its named `group`, null where there are none.

    Rows are of one question if they have equal keys, where all pairs take them from a column of one name or from the
    rows of one file; else if their contents are equal. The first way is taken that finds a partner in another pair for
    a tenth of all rows. Where none does, every row is a question of its own. Rows of one named group count as one
    question, whatever else they are, and so do the rows of other pairs that have their questions.

    >>> blank = {"content": pl.Series([None] * 2, dtype=pl.String), "group": pl.Series([None] * 2, dtype=pl.String)}
    >>> one, other = (pl.DataFrame({"key": keys} | blank) for keys in (["a", "b"], ["b", "c"]))
    >>> [numbers.tolist() for numbers in same_questions([one, other], ["id", "id"])]
    [[0, 1], [1, 2]]
    """
    rows = pl.concat(one.select(pl.lit(at).alias("pair"), "key", "content", "group") for at, one in enumerate(pairs))
    one_source = sources[0] is not None and len(set(sources)) == 1
    number = np.arange(rows.height)
    for way, known in (("key", one_source), ("content", not rows["content"].null_count())):
        shared = (pl.col("pair").n_unique().over(way) > 1).mean()
        if known and rows.select(shared).item() >= LEAST:
            number = (dense_rank(rows[way]) - 1).to_numpy()
            break
    named = rows["group"].is_not_null().to_numpy()
    if named.any():
        groups = (dense_rank(rows["group"].drop_nulls()) - 1).to_numpy()
        # where none are named, each row has a group of its own
        group = int(groups.max()) + 1 + np.arange(rows.height)
        group[named] = groups
        number = linked(number, group)[number]
    return np.split(number, np.cumsum([one.height for one in pairs])[:-1])


# --- the split ----------------------------------------------------------------------------------------------------

PairKeys = tuple[Sequence[str], np.ndarray]
"""Of one pair: the key of each row, and numbers, equal where rows must stay together."""


def draw_split(
    parts: Sequence[PairKeys], *, kind: SplitKind, seed: int, known: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Split the keys of a data set 80/10/10: 'train', 'val' or 'test' by key, whatever the order of the pairs.

    "permutation" is the paper's: every key by itself. "grouped" keeps together the keys whose rows hang together in any
    pair. Keys that are `known` stay on their sides, and new ones that hang together with one of them go to its side.

    Examples
    --------
    >>> keys = [str(number) for number in range(200)]
    >>> sides = draw_split([(keys, np.arange(200))], kind="permutation", seed=0)
    >>> [list(sides.values()).count(name) for name in ("train", "val", "test")]
    [160, 20, 20]
    """
    keys = sorted({key for names, _ in parts for key in names})
    at = {key: number for number, key in enumerate(keys)}
    known = {key: side for key, side in (known or {}).items() if key in at}
    if kind == "permutation" and not known:
        return dict(zip(keys, permuted_split(len(keys), seed).tolist(), strict=True))
    units = np.arange(len(keys)) if kind == "permutation" else _linked_units(parts, at)
    # the first key of a unit decides for its new ones
    of_unit: dict[int, str] = {}
    for key, side in sorted(known.items()):
        of_unit.setdefault(int(units[at[key]]), side)
    sides = np.array([known.get(key) or of_unit.get(int(units[at[key]]), "") for key in keys], dtype="<U5")
    fresh = np.flatnonzero(sides == "")
    if len(fresh):
        sides[fresh] = split_by(fresh[:, None].astype(np.float64), units[fresh], seed=seed)[0]
    return dict(zip(keys, sides.tolist(), strict=True))


def _linked_units(parts: Sequence[PairKeys], at: Mapping[str, int]) -> np.ndarray:
    """Give keys that hang together in some pair, or by way of others, the same number; `at` numbers the keys."""
    numbers, codes, first = [], [], 0
    for names, units in parts:
        numbers += [at[name] for name in names]
        codes.append(first + np.unique(units, return_inverse=True)[1])
        first = int(codes[-1].max()) + 1
    return linked(np.array(numbers), np.concatenate(codes))


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
    folder, dataset = job.folder, job.cell.of
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
    own = attributes(pair, "seed", "epsilon", "min_rows", "device") | {"method": method, "n_jobs": job.n_jobs}
    own |= {"evidence": pair.evidence_under(method), "options": job.cell.settings["options"] or None}
    make = partial(discover, split_triples(job, pair), **own)
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
    from miscal.study.pair_result import audit

    return CellResult(audit(pair_result(job), job.cell.settings, job.n_jobs))


def duel(job: CellJob) -> CellResult:
    """Compare both methods on the evaluation rows in both."""
    from miscal.study.pair_result import duel_rows

    pair, folder = job.pair, job.folder
    auto, paper = (read_run(folder.run(pair.pair, method)) for method in ("auto", "paper"))
    unit = own_parquet(folder.keys(pair.pair))["unit"].to_numpy()
    return CellResult({"duels": duel_rows(pair, auto, paper, unit)})


def together(job: CellJob) -> CellResult:
    """Look at all pairs of a data set at once, as many of them as have been fitted."""
    from miscal.study.together import COMPARING, measure_groups, model_rows

    folder, method = job.folder, job.cell.method
    fitted = [p for p in pairs_of_cell(job.plan, job.cell) if folder.is_done(name_of("discover", p.pair, method))]
    # embeddings of many models would not fit into memory: what is measured of each pair is taken before the next
    keys = [own_parquet(folder.keys(pair.pair)) for pair in fitted]
    sources = [folder.load(name_of("read", pair.pair))["facts"]["keys"] for pair in fitted]
    questions = same_questions(keys, sources)
    models = [model_rows(pair_result(job, pair), own) for pair, own in zip(fitted, questions, strict=True)]
    ways = (measure_groups, *(COMPARING if len(models) > 1 else ()))
    return CellResult(_gathered(way(models) for way in ways), {"pairs": [pair.pair for pair in fitted]})


STEPS: dict[str, Callable[[CellJob], CellResult]]
STEPS = {one.__name__: one for one in (score, read, split, measure, audit, duel, together)}
STEPS |= {"discover": fit, "interpret": measure}
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
    if pair_asked(**{name: getattr(pair, name) for name in PAIRS})[0] == EVENT:
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
    table = open_source(triples.source["path"], encoding=pair.encoding)
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


def _gathered(parts: Iterable[TableRows]) -> TableRows:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for part in parts:
        for table, some in part.items():
            rows.setdefault(table, []).extend(some)
    return rows
