"""What ``miscal score`` does: plain keyword arguments in, a finished folder out."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import InputError, MissingColumn
from miscal.base.number_wording import decimal, percent
from miscal.base.tables import read_parquet
from miscal.scoring.answer_confidences import SOURCES
from miscal.scoring.batches import choose_batch_workers
from miscal.scoring.folder import TRIPLES, Progress, ScoredFolder, score_folder
from miscal.scoring.model_source import LAST, ModelSpec
from miscal.scoring.open_ended import check_verdict, confidence_sources, open_ended
from miscal.scoring.open_ended import notes as answer_notes
from miscal.scoring.prompts import DEFAULTS, read_template
from miscal.scoring.questions import Item, text_items
from miscal.scoring.sampling import Sample, draw
from miscal.scoring.scorer import as_items, default_batch_tokens
from miscal.scoring.tasks import Task, read_table, read_task
from miscal.scoring.tasks import without_options as as_open

ALLOWED_FAILURES = 0.01
"""Share of rows that may fail before a finished run counts as an error."""


@dataclass(frozen=True, slots=True)
class ScoringSummary:
    """What is said of a finished run.

    ``accuracy``, ``confidence`` and ``candidate_mass`` are means over the scored rows that have them, None where none
    has; ``confidences``, of open-ended questions, the mean of each column of confidences. ``notes`` say what is left
    out and what differs from what was asked for. ``questions_per_second`` counts the rows computed by this call over
    its seconds, loading the model included; 0 where all were there before.
    """

    out: str
    n_scored: int
    n_failed: int
    n_truncated: int
    accuracy: float | None
    confidence: float | None
    candidate_mass: float | None
    confidences: Mapping[str, float | None]
    notes: tuple[str, ...]
    seconds: float
    questions_per_second: float


def run(
    *,
    model: str,
    task: str,
    out: str | Path,
    engine: str = "local",
    ray_address: str | None = None,
    workers: int | None = None,
    dtype: str = "auto",
    device: str = "auto",
    revision: str | None = None,
    task_revision: str | None = None,
    trust_remote_code: bool = False,
    form: str | None = None,
    prompt_file: str | Path | None = None,
    limit: int | None = None,
    seed: int = 0,
    batch_tokens: int | None = None,
    threads: int | None = None,
    embed_only: bool = False,
    text: str = "text",
    layer: str | int = LAST,
    embeddings_dtype: str = "float32",
    confidence_from: str | Sequence[str] = "letters",
    answer: str | None = None,
    samples: int | None = None,
    temperature: float | None = None,
    max_new_tokens: int | None = None,
    verdict: str | None = None,
    without_options: bool = False,
) -> ScoringSummary:
    """Score a task into a folder; an unfinished run there is resumed.

    The arguments are the options of ``miscal score``, and None stands for a default. `task` is what
    `miscal.scoring.tasks.read_task` reads; with `embed_only` it is a table, whose column `text` is given to the model
    and whose other columns stay as they are. If more than 1 % of the rows failed, an `InputError` says so; the folder
    is finished then all the same.
    """
    if limit is not None and limit < 1:
        raise InputError(f"limit must be at least 1; got {limit}")
    for name, value in (("threads", threads), ("batch_tokens", batch_tokens), ("workers", workers)):
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1; got {value}")
    _refuse_idle(embed_only, {"form": form, "prompt_file": prompt_file}, text)
    sources = confidence_sources(confidence_from)
    of_answers = {"answer": answer, "samples": samples, "temperature": temperature, "max_new_tokens": max_new_tokens}
    _refuse_answerless(
        sources, {**of_answers, "verdict": verdict, "without_options": without_options or None}, embed_only
    )
    asking = open_ended(sources, **of_answers, seed=seed) if sources else None
    judged = check_verdict(verdict)
    spec = ModelSpec(model, revision, dtype, device, trust_remote_code, threads, layer)
    chosen = choose_batch_workers(engine, ray_address=ray_address, workers=workers, device=device)
    if embed_only:
        table, items, about, sample = _texts(task, text, limit, seed)
        form, note = "letter", None
    else:
        table = None
        found = read_task(task, revision=task_revision)
        asked, sample = _sampled(as_open(found) if without_options else found, limit, seed)
        note = asked.note
        _refuse_other_kind(asked, sources)
        form, items, about = _questions(asked, form, prompt_file, seed)
        if asking:
            form, about = "open", {**about, "form": "open", **asking.describe(judged)}
    about |= {"limit": limit, "sample": sample.describe() if sample else None}
    began = time.monotonic()
    with _bar() as progress:
        done = score_folder(
            spec,
            items,
            out,
            task=about,
            form=form,
            batch_tokens=batch_tokens or default_batch_tokens(device),
            workers=chosen,
            table=table,
            embeddings_dtype=embeddings_dtype,
            asking=asking,
            verdict=judged,
            progress=progress,
        )
    _refuse_many_failures(done)
    stored = done.manifest.get("embeddings", {}).get("note")
    heard = [f"the tokenizer warns: {warning}" for warning in done.manifest.get("warnings", ())]
    if asking:
        heard += answer_notes(done.manifest["answers"], done.n_scored, done.folder, judged)
    notes = tuple(one for one in (note, sample.sentence() if sample else None, _tied(done), stored, *heard) if one)
    return _summary(done, time.monotonic() - began, embed_only, notes, sources or ())


def _refuse_idle(embed_only: bool, of_questions: dict[str, Any], text: str) -> None:
    """Refuse options that would change nothing, rather than ignore them in silence."""
    idle = [name for name, value in of_questions.items() if value is not None] if embed_only else []
    if idle:
        raise InputError(
            f"{', '.join(idle)} cannot be given with embed_only, which takes the texts as they are: leave it out"
        )
    if text != "text" and not embed_only:
        raise InputError(
            f"text names the column for embed_only, so it cannot be given alone; got {text!r}: leave it out, or add "
            "--embed-only"
        )


def _refuse_answerless(sources: tuple[str, ...] | None, of_answers: Mapping[str, Any], embed_only: bool) -> None:
    """Refuse options of open-ended questions where no answer is written."""
    idle = [name for name, value in of_answers.items() if value is not None]
    if sources and embed_only:
        raise InputError("confidence_from cannot be given with embed_only, which asks no questions: leave it out")
    if not sources and idle:
        raise InputError(
            f"{', '.join(idle)} can be given for open-ended questions only: leave it out, or name a confidence of an "
            f"answer that the model writes, e.g. --confidence-from {next(iter(SOURCES))}"
        )


def _refuse_other_kind(task: Task, sources: tuple[str, ...] | None) -> None:
    """Refuse a confidence that the task has no questions for."""
    if sources and task.kind != "open":
        what = "multiple-choice questions" if task.kind == "choice" else "preference pairs"
        mend = "; to ask them without their options, add --without-options" if task.kind == "choice" else ""
        raise InputError(
            f"task {task.name} holds {what}, but confidence_from {', '.join(sources)} needs open-ended questions "
            f"(columns question and answer, or answers){mend}"
        )
    if not sources and task.kind == "open":
        raise InputError(
            f"task {task.name} holds open-ended questions, which have no letters to weigh: name where their confidence "
            f"comes from, --confidence-from {','.join(SOURCES)} or some of these, or give multiple-choice questions "
            "(columns question, choices, answer_index)"
        )


def _sampled(task: Task, limit: int | None, seed: int) -> tuple[Task, Sample | None]:
    names = task.questions[0].metadata
    columns = {name: [question.metadata[name] for question in task.questions] for name in names}
    rows, sample = draw([question.id for question in task.questions], columns, limit, seed)
    return replace(task, questions=tuple(task.questions[row] for row in rows)), sample


def _questions(
    task: Task, form: str | None, prompt_file: str | Path | None, seed: int
) -> tuple[str, list[Item], dict[str, Any]]:
    if form and task.kind == "open":
        raise InputError(f"form is what candidates are, which open-ended questions do not have; got {form!r}")
    form = form or task.form
    template = read_template(prompt_file, task.kind) if prompt_file else task.template or DEFAULTS[task.kind]
    items = as_items(task.questions, form=form, template=template, seed=seed)
    about = {
        "task": task.name,
        "revision": task.revision,
        "form": form,
        "prompt": template,
        "seed": seed,
    }
    return form, items, about


def _texts(
    task: str, column: str, limit: int | None, seed: int
) -> tuple[pl.DataFrame, list[Item], dict[str, Any], Sample | None]:
    table = read_table(Path(task))
    if column not in table.columns:
        raise MissingColumn(
            f"{task} has no column {column!r}; its columns are {', '.join(table.columns)}. Name another with --text"
        )
    if table[column].dtype != pl.String:
        raise InputError(f"{task}: column {column!r} must hold text; got {table[column].dtype}")
    rows, sample = draw([str(row) for row in range(len(table))], table.to_dict(), limit, seed)
    table = table[rows]
    texts = table[column].fill_null("").to_list()
    return table, text_items(texts), {"task": task, "form": "embed", "text": column}, sample


def _tied(done: ScoredFolder) -> str | None:
    """Say of how many rows the answer is the first of several that are exactly as probable."""
    n = (done.manifest.get("ties") or {}).get("n", 0)
    if not n:
        return None
    return f"several candidates tie for the most probable in {n:,} of {done.n_scored:,} rows; the first of them counts"


def _refuse_many_failures(done: ScoredFolder) -> None:
    total = done.n_scored + done.n_failed
    if done.n_failed > ALLOWED_FAILURES * total:
        first = done.manifest["failed"][0]
        raise InputError(
            f"{done.n_failed} of {total} rows failed, more than the {percent(ALLOWED_FAILURES)} allowed; the first is "
            f"row {first['row']}: {first['reason']}. The {done.n_scored} others are in "
            f"{done.folder}, and all reasons in its manifest.json"
        )


def _summary(
    done: ScoredFolder, seconds: float, embed_only: bool, notes: tuple[str, ...], sources: tuple[str, ...]
) -> ScoringSummary:
    columns = ["correct", "confidence", "candidate_mass"]
    means: dict[str, float | None] = dict.fromkeys(columns)
    if not embed_only:
        there = pl.read_parquet_schema(done.folder / TRIPLES)
        several = [column for name in sources for column in SOURCES[name].columns]
        wanted = [name for name in (*columns, *several) if name in there]
        means |= read_parquet(done.folder / TRIPLES, wanted).cast(pl.Float64).mean().row(0, named=True)
    return ScoringSummary(
        out=str(done.folder),
        n_scored=done.n_scored,
        n_failed=done.n_failed,
        n_truncated=done.manifest["truncated"]["n"],
        accuracy=means["correct"],
        confidence=means["confidence"],
        candidate_mass=means["candidate_mass"],
        confidences={name: value for name, value in means.items() if name not in columns},
        notes=notes,
        seconds=round(seconds, 3),
        questions_per_second=done.n_new / max(seconds, 1e-9),
    )


@contextmanager
def _bar() -> Iterator[Progress]:
    """Show questions per second and time left; silent when stderr is no terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("scoring"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as bars:
        shown = bars.add_task("scoring", total=None, rate="")

        def progress(rows: int, total: int) -> None:
            bars.update(shown, advance=rows, total=total)
            speed = bars.tasks[shown].speed
            bars.update(shown, rate=f"{decimal(speed, 1)} questions/s" if speed else "")

        yield progress
