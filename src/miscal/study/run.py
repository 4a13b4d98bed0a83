"""Run a study: compute the cells that are missing, write tables, and draw the page from them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from miscal.base.errors import InputError, MiscalError
from miscal.base.files import disk_errors, locked, parents, resolve
from miscal.base.process import installed, n_workers
from miscal.base.workers import InProcess, Processes, Workers, WorkItem, choose_workers
from miscal.discovery.summary import Answer
from miscal.study.plan import KINDS, OF_DATASETS, StudyCell, StudyPair, StudyPlan, cells_of, pairs_of_cell
from miscal.study.plan_file import read_plan
from miscal.study.tables import PLAN, StudyFolder, attributes, plan_content, read_tables, vocabulary_of, write_tables
from miscal.study.verdict import study_lines

PAGES_EVERY = 300.0
"""Seconds between two drawings of the page while cells are computed, at least: drawing takes about ten."""


@dataclass(frozen=True)
class CellProgress:
    """What a listener is called with when a cell begins or ends.

    Attributes
    ----------
    says : str
        The cell, in words.
    done, of : int
        Cells of the plan that are finished, and all of them.
    seconds : float or None
        That the cell took; None where it begins.
    left : float or None
        Estimate of the seconds until the end of the study; None where nothing is known of it.
    message : str or None
        Why the cell failed.
    """

    says: str
    done: int
    of: int
    seconds: float | None = None
    left: float | None = None
    message: str | None = None


@dataclass(frozen=True)
class Failure:
    """A cell that failed.

    Attributes
    ----------
    rows : tuple of mapping
        Its rows of the table ``failures``: one for each pair it is about.
    message : str
    mendable : bool
        Whether the user can fix it; False for a fault of miscal.
    """

    rows: tuple[Mapping[str, Any], ...]
    message: str
    mendable: bool


@dataclass(frozen=True)
class StudyDone:
    """What a call of :func:`study` left.

    Attributes
    ----------
    folder : Path
    page : Path
        ``index.html``.
    lines : tuple of str
        Its three lines and a table of its pairs, to be printed; ``summary.json`` has the answers.
    n_computed, n_done, n_cells : int
        Cells computed by this call, finished in all, and of the plan.
    failures : tuple of Failure
        Cells that failed now; the next call tries them again.
    """

    folder: Path
    page: Path
    lines: tuple[str, ...]
    n_computed: int
    n_done: int
    n_cells: int
    failures: tuple[Failure, ...]


def study(
    plan: str | Path | Mapping[str, Any] | StudyPlan,
    out: str | Path,
    *,
    sets: Mapping[str, str] | None = None,
    engine: str = "local",
    n_jobs: int | None = 1,
    ray_address: str | None = None,
    skip: Collection[str] = (),
    paper: bool = False,
    progress: Callable[[CellProgress], None] = lambda step: None,
) -> StudyDone:
    """Study many models on many sets; a study that was stopped goes on where it was.

    Parameters
    ----------
    plan : str, Path, mapping or StudyPlan
        As for :func:`miscal.study.plan_file.read_plan`: a YAML file, what it would hold, or ``"paper48"``.
    out : str or Path
        Folder to write, or one that an earlier call with the same plan left.
    sets : mapping of str to str, optional
        Values of ``${NAME}`` in the plan.
    engine : {"local", "ray"}, default "local"
        Changes no number.
    n_jobs : int, optional
        Cells computed at a time by the local engine, each in a process of its own. With 1, the default, one cell is
        computed after another, and each fit takes all cores. None: as many as there are cores. Changes no number.
    ray_address : str, optional
        Of an existing Ray cluster.
    skip : collection of str, default ()
        Kinds of cells that are left to a later call, and with them what rests on them: "audit", say
        (:data:`miscal.study.plan.KINDS`).
    paper : bool, default False
        Draw ``paper.html``, which sets the paper's claims beside what was found, even if no pair is the paper's.
    progress : callable, optional
        Called with a :class:`CellProgress` as each cell begins and ends.

    Returns
    -------
    StudyDone
        A cell that failed does not stop the others: it is in ``failures``, and in the table of that name.

    Raises
    ------
    InputError
        If the plan has a key or value that is not allowed, there is no such kind to skip, or the folder cannot be used.
    MismatchError
        If the folder holds cells made with other settings or other data.
    LockedError
        If another process is writing the folder.
    """
    for kind in skip:
        if kind not in KINDS:
            raise InputError(f"skip must name kinds of cells, of {', '.join(KINDS)}; got {kind!r}")
    asked = read_plan(plan, sets=sets)
    place = resolve(out)
    jobs = n_workers(n_jobs, 10**6)
    with disk_errors(str(out)), parents(place), locked(place):
        folder = StudyFolder.open(place)
        cells = cells_of(asked)
        folder.adopt(asked, cells)
        if isinstance(plan, Mapping):
            folder.write_yaml(plan)
        done = _Run(folder, asked, cells, skip, jobs, progress, paper)
        done.compute(engine, ray_address)
        return done.finish()


@dataclass
class _Run:
    """One call of :func:`study`, with the folder locked."""

    folder: StudyFolder
    plan: StudyPlan
    cells: Sequence[StudyCell]
    skip: Collection[str]
    jobs: int
    report: Callable[[CellProgress], None]
    paper: bool

    def __post_init__(self) -> None:
        # seconds of the cells that are finished
        finished = [cell.name for cell in self.cells if is_done(self.folder, self.plan, cell)]
        self.took = {name: self.folder.load(name)["seconds"] for name in finished}
        self.n_before = len(self.took)
        self.failures: dict[str, Failure] = {}
        # not computed by this call, on request or because something that they need failed
        self.left_out = {cell.name for cell in self.cells if cell.kind in self.skip} - self.took.keys()
        self.waiting: dict[str, StudyCell] = {}
        self.running: dict[str, StudyCell] = {}

    def compute(self, engine: str, ray_address: str | None) -> None:
        missing = [cell for cell in self.cells if cell.name not in self.took and cell.name not in self.left_out]
        if not missing:
            return
        # what a process computes is heavy to import, and not needed where everything is done
        from miscal.study.steps import result_of

        start = drawn = time.monotonic()
        jobs = max(1, min(self.jobs, len(missing)))
        gpus = gpus_to_deal(self.plan) if jobs > 1 and engine == "local" else ()
        local = lambda: InProcess() if jobs == 1 else Processes(jobs, gpus, remedy="give fewer --jobs")  # noqa: E731
        with choose_workers(engine, local, ray_address) as workers:
            for ended in workers.run(self._tasks(missing, workers)):
                cell, result = ended.task.key, result_of(ended)
                del self.running[cell.name]
                if result.message is None:
                    self.folder.save(cell, result.rows, result.facts, result.seconds)
                    self.took[cell.name] = result.seconds
                else:
                    said = {"step": " ".join(filter(None, [cell.kind, cell.method])), "message": result.message}
                    about = pairs_of_cell(self.plan, cell)
                    rows = tuple(attributes(pair, "pair", "dataset", "model") | said for pair in about)
                    self.failures[cell.name] = Failure(rows, result.message, result.mendable)
                self._report(cell, result.seconds, result.message)
                if cell.kind == "measure" and time.monotonic() - drawn > PAGES_EVERY:
                    self._draw()
                    drawn = time.monotonic()
        n, spent = len(self.took) - self.n_before, round(time.monotonic() - start, 1)
        self.folder.add_timing({"engine": engine, "jobs": jobs, "cells": n, "wall_seconds": spent})

    def finish(self) -> StudyDone:
        page, lines = self._draw()
        n, failures = len(self.took), tuple(self.failures.values())
        return StudyDone(self.folder.path, page, lines, n - self.n_before, n, len(self.cells), failures)

    # --- the order of cells ---------------------------------------------------------------------------------------

    def _tasks(self, missing: Sequence[StudyCell], workers: Workers) -> Iterator[WorkItem | None]:
        """Hand out cells in the order of the plan; None where each of those left has to wait for another."""
        from miscal.study.steps import CellJob

        plan = pinned(self.plan, self.folder, missing)
        self.waiting = {cell.name: cell for cell in missing}
        while self.waiting:
            cell = self._next_cell(max(1, workers.gpus))
            if cell is None:
                yield None
                continue
            self.running[cell.name] = self.waiting.pop(cell.name)
            self._report(cell)
            # one cell at a time has all cores for its fits
            yield CellJob(self.folder, plan, cell, None if isinstance(workers, InProcess) else 1).task

    def _next_cell(self, models: int) -> StudyCell | None:
        coming = lambda name: name in self.running or name in self.waiting  # noqa: E731
        for cell in list(self.waiting.values()):
            known = [[name in self.took or coming(name) for name in names] for names in (cell.needs, cell.after)]
            if not all(known[0]) or (cell.after and not any(known[1])):
                # what it needs has failed, which is said there, or was left out
                del self.waiting[cell.name]
                self.left_out.add(cell.name)
        # two language models may not fit into one memory
        full = sum(cell.kind == "score" for cell in self.running.values()) >= models
        for cell in self.waiting.values():
            ready = self.took.keys() >= set(cell.needs) and not any(map(coming, cell.after))
            if ready and not (full and cell.kind == "score"):
                return cell
        return None

    # --- what is said ---------------------------------------------------------------------------------------------

    def _report(self, cell: StudyCell, seconds: float | None = None, message: str | None = None) -> None:
        done, of = len(self.took), len(self.cells)
        self.report(CellProgress(cell.says, done, of, seconds, self._seconds_left(), message))

    def _seconds_left(self) -> float | None:
        """Estimate what is left: a cell takes as long as those of its kind and method did, or as all did."""
        ended = self.took.keys() | self.failures.keys() | self.left_out
        coming = [cell for cell in self.cells if cell.name not in ended]
        if not coming or not self.took:
            return None if coming else 0.0
        taken: dict[tuple, list[float]] = {}
        for cell in self.cells:
            if cell.name in self.took:
                taken.setdefault((cell.kind, cell.method), []).append(self.took[cell.name])
        alike = [taken.get((cell.kind, cell.method)) or list(self.took.values()) for cell in coming]
        return sum(map(fmean, alike)) / self.jobs

    def _draw(self) -> tuple[Path, tuple[str, ...]]:
        write_tables(self.folder, self.cells, [row for one in self.failures.values() for row in one.rows])
        return draw_pages(self.folder.path, paper=self.paper)


def draw_pages(out: Path, *, paper: bool = False) -> tuple[Path, tuple[str, ...]]:
    """Draw the pages of a study from its tables; return the path of the first, and what is printed."""
    # matplotlib comes after hours of computing, not before
    from miscal.study.pages import SUMMARY, write_pages

    page, tables = write_pages(out, paper=paper), read_tables(out)
    answer = Answer(**json.loads((out / SUMMARY).read_text(encoding="utf-8"))["answer"])
    return page, study_lines(tables, vocabulary_of(tables["pairs"], plan_content(out)["by"]), answer)


def survey(
    plan: str | Path | Mapping[str, Any] | StudyPlan, out: str | Path, *, sets: Mapping[str, str] | None = None
) -> list[tuple[StudyCell, bool]]:
    """List the cells of a study, each with whether it is done, without doing any.

    Parameters
    ----------
    plan, out, sets
        As for :func:`study`; the folder need not exist.

    Raises
    ------
    InputError
        If the plan has a key or value that is not allowed.

    Examples
    --------
    >>> cells = survey("paper48", "no-such-folder")
    >>> len(cells), cells[0][0].says
    (207, 'score mmlu.qwen3-1.7b')
    """
    asked, folder = read_plan(plan, sets=sets), StudyFolder(Path(out))
    started = (folder.path / PLAN).exists()
    return [(cell, started and is_done(folder, asked, cell)) for cell in cells_of(asked)]


def is_done(folder: StudyFolder, plan: StudyPlan, cell: StudyCell) -> bool:
    """Whether a cell needs no computing; one of a data set does where pairs have come since."""
    if not folder.is_done(cell.name):
        return False
    if cell.kind not in OF_DATASETS:
        return True
    taken = folder.load(cell.name)["facts"]["pairs"]
    return {pair.pair for pair in pairs_of_cell(plan, cell)} <= set(taken)


def gpus_to_deal(plan: StudyPlan) -> tuple[str, ...]:
    """Name the GPUs that processes of a study are to have one each of.

    None where there are fewer than two, or where a pair names the number of its own, which a process that sees another
    GPU alone would not find.
    """
    numbered = any(pair.score is not None and ":" in pair.score.device for pair in plan.pairs)
    if numbered or not installed("torch"):
        return ()
    from miscal.scoring.forward import visible_gpus

    gpus = visible_gpus()
    return gpus if len(gpus) > 1 else ()


def pinned(plan: StudyPlan, folder: StudyFolder, coming: Sequence[StudyCell]) -> StudyPlan:
    """Give the pairs on a benchmark of the hub the commit that the study asks, and note it in the folder.

    The commit is the one that the study asked before; else the newest. Pairs that name a revision keep it. Where the
    hub cannot be asked nothing is changed: the cells themselves say so. Without a cell to be computed that asks a
    benchmark the hub is left alone.
    """
    from miscal.scoring.tasks import HUB_TASKS, commit_of

    known = folder.revisions()
    asking = [pairs_of_cell(plan, cell)[0].score for cell in coming if cell.kind == "score"]
    for task in dict.fromkeys(one.task for one in asking if one.task in HUB_TASKS and one.task_revision is None):
        if task not in known:
            with contextlib.suppress(MiscalError):
                known[task] = commit_of(task)
                folder.save_revisions(known)

    def own(pair: StudyPair) -> StudyPair:
        if pair.score is None or pair.score.task_revision is not None or pair.score.task not in known:
            return pair
        score = pair.score.model_copy(update={"task_revision": known[pair.score.task]})
        return pair.model_copy(update={"score": score})

    return plan.model_copy(update={"pairs": list(map(own, plan.pairs))})
