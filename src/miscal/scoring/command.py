"""What ``miscal score`` does: plain keyword arguments in, a finished folder out."""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.errors import InputError
from miscal.base.frames import read_parquet
from miscal.base.number_wording import decimal, percent
from miscal.base.options import takes
from miscal.scoring.folder import TRIPLES, Progress, score_folder
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.questions import DEFAULTS, ScoringOptions, read_template
from miscal.scoring.scorer import as_items, choose_batch_workers, default_batch_tokens
from miscal.scoring.tasks import read_task

ALLOWED_FAILURES = 0.01
"""Share of rows that may fail before a finished run counts as an error."""

STRATA = ("category", "subject", "subject_name", "subset")
"""Columns that sort the rows of a benchmark into categories; the first that a task has is taken."""


@dataclass(frozen=True, slots=True)
class ScoringSummary:
    """What is said of a finished run.

    ``accuracy`` and ``confidence`` are means over the scored rows. ``notes`` say what is left out and what differs
    from what was asked for. ``questions_per_second`` counts the rows computed by this call over
    its seconds, loading the model included; 0 where all were there before.
    """

    out: str
    n_scored: int
    n_failed: int
    n_truncated: int
    accuracy: float
    confidence: float
    notes: tuple[str, ...]
    questions_per_second: float


@takes(ScoringOptions)
def run(*, model: str, task: str, out: str | Path, **options: Any) -> ScoringSummary:
    """Score a task into a folder; an unfinished run there is resumed.

    The arguments are the options of ``miscal score``, and None stands for a default. `task` is what
    `miscal.scoring.tasks.read_task` reads. If more than 1 % of the rows failed, an `InputError` says so; the folder
    is finished then all the same.
    """
    how = ScoringOptions(**options)
    for name in ("limit", "threads", "batch_tokens", "workers"):
        if (value := getattr(how, name)) is not None and value < 1:
            raise InputError(f"{name} must be at least 1; got {value}")
    spec = ModelSpec(model, how.revision, how.dtype, how.device, how.trust_remote_code, how.threads)
    workers = choose_batch_workers(how.engine, ray_address=how.ray_address, workers=how.workers, device=how.device)
    found = read_task(task, revision=how.task_revision)
    note, asked = found.note, found.questions
    columns = {name: [question.metadata[name] for question in asked] for name in asked[0].metadata}
    rows, sample = draw([question.id for question in asked], columns, how.limit, how.seed)
    form = how.form or found.form
    template = read_template(how.prompt_file, found.kind) if how.prompt_file else found.template or DEFAULTS[found.kind]
    items = as_items([asked[row] for row in rows], form=form, template=template, seed=how.seed)
    about = {"task": found.name, "revision": found.revision, "form": form, "prompt": template, "seed": how.seed}
    about |= {"limit": how.limit, "sample": sample}
    began = time.monotonic()
    with scoring_bar() as progress:
        done = score_folder(
            spec,
            items,
            out,
            task=about,
            form=form,
            batch_tokens=how.batch_tokens or default_batch_tokens(how.device),
            workers=workers,
            embeddings_dtype=how.embeddings_dtype,
            progress=progress,
        )
    if done.n_failed > ALLOWED_FAILURES * (total := done.n_scored + done.n_failed):
        first = done.manifest["failed"][0]
        raise InputError(
            f"{done.n_failed} of {total} rows failed, more than the {percent(ALLOWED_FAILURES)} allowed; the first is "
            f"row {first['row']}: {first['reason']}. The {done.n_scored} others are in "
            f"{done.folder}, and all reasons in its manifest.json"
        )
    notes = [note]
    if sample:
        drawn = f" in proportion to {sample['strata']}" if sample["strata"] else ""
        notes.append(
            f"a random sample of {sample['rows']:,} of the {sample['of']:,} rows was scored, drawn by seed "
            f"{sample['seed']}{drawn}"
        )
    if ties := (done.manifest.get("ties") or {}).get("n", 0):
        notes.append(
            f"several candidates tie for the most probable in {ties:,} of {done.n_scored:,} rows; the first of them "
            "counts"
        )
    notes.append(done.manifest.get("embeddings", {}).get("note"))
    notes += [f"the tokenizer warns: {warning}" for warning in done.manifest.get("warnings", ())]
    seconds = time.monotonic() - began
    means = read_parquet(done.folder / TRIPLES, ["correct", "confidence"]).cast(pl.Float64).mean().row(0, named=True)
    return ScoringSummary(
        out=str(done.folder),
        n_scored=done.n_scored,
        n_failed=done.n_failed,
        n_truncated=done.manifest["truncated"]["n"],
        accuracy=means["correct"],
        confidence=means["confidence"],
        notes=tuple(filter(None, notes)),
        questions_per_second=done.n_new / max(seconds, 1e-9),
    )


@contextmanager
def scoring_bar() -> Iterator[Progress]:
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


# --- samples of a task's rows: drawn by a seed, each category in proportion ------------------------------------------


def draw(
    ids: Sequence[str], columns: Mapping[str, Sequence[object]], limit: int | None, seed: int
) -> tuple[list[int], dict[str, Any] | None]:
    """Draw rows at random, every row with the same chance, each category in proportion.

    The rows are sorted by category and, within a category, by a hash of seed and id, and every (n / limit)-th of them
    is taken from a random start on. A category with s of the n rows therefore gets s * limit / n rows, rounded up or
    down, and the draw depends neither on the order of the rows nor on a library version.

    Parameters
    ----------
    ids : sequence of str, length n
        Distinct.
    columns : mapping of str to sequence, length n each
        Columns among which the categories are looked for (`STRATA`).
    limit : int, optional
        Rows to draw, at least 1; default: all.

    Returns
    -------
    rows : list of int
        Positions of the rows drawn, in increasing order.
    sample : dict or None
        How they were drawn: ``rows``, ``of`` so many, ``seed`` and ``strata``, the column of the categories or None;
        None where all rows are taken.

    >>> rows, sample = draw(list("abcdef"), {"category": ["law"] * 4 + ["art"] * 2}, 3, 0)
    >>> sum(row < 4 for row in rows), sample
    (2, {'rows': 3, 'of': 6, 'seed': 0, 'strata': 'category'})
    """
    n = len(ids)
    if limit is None or limit >= n:
        return list(range(n)), None
    strata = next((name for name in STRATA if name in columns), None)
    category = [str(value) for value in columns[strata]] if strata else [""] * n
    order = sorted(range(n), key=lambda row: (category[row], _hashed(seed, f"row {ids[row]}"), row))
    # in whole numbers: the start, a fraction of 2**64, is the same on every machine
    start = _hashed(seed, "start")
    taken = [order[((k << 64) + start) * n // (limit << 64)] for k in range(limit)]
    return sorted(taken), {"rows": limit, "of": n, "seed": seed, "strata": strata}


def _hashed(seed: int, text: str) -> int:
    return int.from_bytes(hashlib.sha256(f"sample {seed}: {text}".encode("utf-8", "replace")).digest()[:8], "big")
