"""Score into a folder: resumable, locked, and left with triples.parquet, embeddings.safetensors and manifest.json."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from miscal.base.errors import CorruptFile, FileError, InputError
from miscal.base.files import check_target, digest, disk_errors, has_digest, locked, write_whole
from miscal.base.workers import InProcess, Processes, Workers
from miscal.scoring.batches import batch_results, plan
from miscal.scoring.candidates import Encoded, encode
from miscal.scoring.engine import LanguageModel
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.open_ended import EXACT, OpenEnded, answered_table
from miscal.scoring.questions import Item
from miscal.scoring.scored_rows import assemble
from miscal.scoring.settings import describe_run, read_settings, refuse_changed
from miscal.scoring.shards import Shards
from miscal.scoring.writing import FLOATS, write_float_table, write_json

MANIFEST, TRIPLES, EMBEDDINGS = "manifest.json", "triples.parquet", "embeddings.safetensors"
SETTINGS, SHARDS = "settings.json", "shards"

Progress = Callable[[int, int], None]  # rows done now, rows in all


@dataclass(frozen=True, slots=True)
class ScoredFolder:
    """What a finished run left.

    Attributes
    ----------
    folder : Path
    n_scored, n_failed : int
        Rows with and without a result.
    n_new : int
        Rows computed by this call; the others were there before.
    manifest : dict
        Content of manifest.json.
    """

    folder: Path
    n_scored: int
    n_failed: int
    n_new: int
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Everything fixed before the first batch."""

    items: Sequence[Item]
    encoded: list[Encoded]
    unreadable: dict[int, str]
    batches: list[list[Encoded]]
    settings: dict[str, Any]
    form: str
    asking: OpenEnded | None
    verdict: str


def score_folder(
    model: LanguageModel | ModelSpec,
    items: Sequence[Item],
    out: str | Path,
    *,
    task: Mapping[str, Any],
    form: str = "letter",
    batch_tokens: int = 1024,
    workers: Workers | None = None,
    table: pl.DataFrame | None = None,
    embeddings_dtype: str = "float32",
    asking: OpenEnded | None = None,
    verdict: str = EXACT,
    progress: Progress | None = None,
) -> ScoredFolder:
    """Score items into a folder, or resume an unfinished run there.

    Every batch is on disk before the next one starts; a run that is killed and started again does at most one batch
    (per worker) twice and leaves the same bytes.

    Parameters
    ----------
    model : LanguageModel or ModelSpec
    items : sequence of Item
    out : str or Path
        Folder; created if need be.
    task : mapping
        What is asked, for the manifest: name, revision, form, prompt, seed, limit. JSON values only.
    form : str, default "letter"
        Form of the candidates.
    batch_tokens : int, default 1024
        Padded tokens per batch.
    workers : Workers, optional
        Default: this process.
    table : polars.DataFrame, optional
        Rows the items were made of, for items that ask for the hidden state alone; kept instead of a scored table.
    embeddings_dtype : {"float32", "float16"}, default "float32"
        Precision of embeddings.safetensors. float16 takes half the space and keeps three digits. If a number does not
        fit, which one of a magnitude above 65,504 does not, all are written in float32 and the manifest says so
        (``embeddings``): no work is lost.
    asking : OpenEnded, optional
        How open-ended questions are asked; by default, the candidates of the items are weighed.
    verdict : {"exact", "later"}, default "exact"
        Who judges the answers to open-ended questions.
    progress : callable, optional
        Told the rows that are newly done and the rows in all, after every batch.

    Raises
    ------
    LockedError
        If another process is writing to the folder.
    MismatchError
        If the folder was begun with other settings.
    FileError, ResourceError, InputError
        If `embeddings_dtype` is another, the folder cannot be written or holds files of something else, a finished run
        there is damaged, memory or disk run out, or no row could be scored.
    """
    if embeddings_dtype not in FLOATS:
        raise InputError(f"embeddings_dtype must be one of {', '.join(FLOATS)}; got {embeddings_dtype!r}")
    out = Path(out)
    check_target(out / TRIPLES, overwrite=True)
    with _owned(out):
        finished = read_settings(out / MANIFEST)
        if finished is None:
            _refuse_foreign(out)
        text_side = _text_side(model)
        fixed_by = {"task": task, "batch_tokens": batch_tokens, "embeddings_dtype": embeddings_dtype}
        settings = describe_run(text_side.describe(), items, **fixed_by)
        if finished is not None:
            if not {"settings", "n_scored", "n_failed", "files"} <= finished.keys():
                raise FileError(
                    f"folder {out}: its {MANIFEST} was not written by miscal score; score into a new folder"
                )
            refuse_changed(finished["settings"], settings, out)
            _refuse_damaged(finished, out)
            _tidy(out)  # a run killed between its last file and here left its shards
            return _scored(out, finished, 0)
        _begin(out, settings)
        encoded, unreadable = _encoded(items, text_side, asking)
        fixed = _Plan(items, encoded, unreadable, plan(encoded, batch_tokens), settings, form, asking, verdict)
        shards = Shards(out / SHARDS)
        n_new = _compute(text_side, fixed, shards, workers or InProcess(), progress)
        manifest = _finish(out, fixed, shards, table, list(getattr(text_side, "warnings", ())))
        _tidy(out)
        return _scored(out, manifest, n_new)


@contextmanager
def _owned(out: Path) -> Iterator[None]:
    """Make the folder if need be, and own it until the end."""
    with ExitStack() as stack:
        with disk_errors(f"folder {out}"):  # the making and the locking alone: what the block raises is its own
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(out, inside=True))
        yield


def _text_side(model: LanguageModel | ModelSpec) -> Any:
    """Load the tokenizer alone: the weights are loaded where the batches are computed."""
    if isinstance(model, ModelSpec):
        from miscal.scoring.huggingface import HuggingFaceText

        return HuggingFaceText(model)
    return model


def _encoded(items: Sequence[Item], text_side: Any, asking: OpenEnded | None) -> tuple[list[Encoded], dict[int, str]]:
    if asking:
        return asking.encode(items, text_side)
    return encode(items, text_side.tokenize, max_length=text_side.max_length, n_lead=text_side.n_lead)


def _tidy(out: Path) -> None:
    """Remove what only an unfinished run needs."""
    shutil.rmtree(out / SHARDS, ignore_errors=True)
    (out / SETTINGS).unlink(missing_ok=True)


def _with_weights(text_side: Any, *, elsewhere: bool) -> LanguageModel | ModelSpec:
    """Load the weights here, or say what the workers are to load; a model that was handed in loaded stays as it is."""
    if not isinstance(getattr(text_side, "spec", None), ModelSpec):
        return text_side
    if elsewhere:
        return text_side.pinned()
    from miscal.scoring.huggingface import HuggingFaceModel

    return text_side if isinstance(text_side, HuggingFaceModel) else HuggingFaceModel(text_side.spec, text=text_side)


def _refuse_foreign(out: Path) -> None:
    """Refuse to overwrite what no run of ours has begun."""
    found = [name for name in (SETTINGS, TRIPLES, EMBEDDINGS, SHARDS) if (out / name).exists()]
    if found and "format" not in (read_settings(out / SETTINGS) or {}):
        raise FileError(
            f"folder {out}: holds {', '.join(found)}, but no run that could be resumed; score into a new folder"
        )


def _refuse_damaged(manifest: Mapping[str, Any], out: Path) -> None:
    for name, wanted in manifest["files"].items():
        if not has_digest(out / name, wanted):
            raise CorruptFile(
                f"folder {out}: {name} is missing or has changed since the run wrote it; score into a new folder"
            )


def _begin(out: Path, settings: dict[str, Any]) -> None:
    before = read_settings(out / SETTINGS)
    if before is not None and any((out / SHARDS).glob("*.json")):
        refuse_changed(before, settings, out)
    else:  # nothing is lost if a run that never got to its first batch is begun otherwise
        with disk_errors(f"folder {out}"):
            write_json(out / SETTINGS, settings)


def _compute(text_side: Any, fixed: _Plan, shards: Shards, workers: Workers, progress: Progress | None) -> int:
    """Compute what is not done yet; return the number of its rows."""
    done = {index for index in range(len(fixed.batches)) if shards.is_done(index)}
    jobs = [(index, batch) for index, batch in enumerate(fixed.batches) if index not in done]
    total = len(fixed.encoded)
    if progress and done:
        progress(sum(len(fixed.batches[index]) for index in done), total)
    if not jobs:
        return 0
    if isinstance(workers, Processes) and getattr(text_side, "room", None):
        # a model that is spread over all GPUs leaves none for other processes
        workers = InProcess()
    model = _with_weights(text_side, elsewhere=workers.elsewhere)
    for index, result in batch_results(workers, model, jobs, fixed.asking):
        shards.write(index, result)
        if progress:
            progress(len(fixed.batches[index]), total)
    return sum(len(batch) for _, batch in jobs)


def _finish(out: Path, fixed: _Plan, shards: Shards, table: pl.DataFrame | None, warnings: list[str]) -> dict[str, Any]:
    log_probs, failed, places = shards.rows(range(len(fixed.batches)))
    failed = dict(sorted({**fixed.unreadable, **failed}.items()))
    if not places:
        first = next(iter(failed.items()), (None, "no rows"))
        raise InputError(
            f"none of the {len(failed)} rows of the task could be scored; the first is row {first[0]}: {first[1]}"
        )
    order = sorted(places)
    result, beside = _rows(fixed, shards, table[order] if table is not None else None, log_probs, failed)
    shape = (len(order), shards.width(places[order[0]][0]))
    about = {"model": str(fixed.settings["model"]), "layer": "last", "position": "last prompt token", "norm": "post"}
    stored = _stored(fixed.settings["embeddings_dtype"], shards, fixed)
    with disk_errors(f"folder {out}"):
        hidden = shards.hidden([places[row] for row in order])
        write_float_table(out / EMBEDDINGS, "x", hidden, shape, about, stored["dtype"])
        write_whole(out / TRIPLES, result.write_parquet)
        sums = {name: digest(out / name) for name in (TRIPLES, EMBEDDINGS)}
        manifest = _manifest(fixed, failed, shape)
        manifest |= {**beside, "embeddings": stored, "warnings": warnings, "files": sums}
        write_json(out / MANIFEST, manifest)
    return manifest


def _rows(
    fixed: _Plan,
    shards: Shards,
    table: pl.DataFrame | None,
    log_probs: Mapping[int, np.ndarray],
    failed: Mapping[int, str],
) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the table of the rows with a result, and what the manifest says of these results."""
    if table is not None:
        return table, {}
    if fixed.asking:
        responses = shards.responses(range(len(fixed.batches)))
        rows, counts = answered_table(fixed.items, responses, fixed.asking.sources, fixed.verdict)
        return rows, {"answers": counts}
    scored = assemble(fixed.items, fixed.encoded, log_probs, failed, fixed.form)
    # rows whose most probable candidate is exactly as probable as another; the first of them counted
    ties = [item.row for item, result in zip(scored.items, scored.outcomes, strict=True) if result.tied]
    return scored.table(), {"ties": {"n": len(ties), "rows": ties[:1000]}}


def _stored(asked: str, shards: Shards, fixed: _Plan) -> dict[str, str]:
    """Say in which precision the hidden states are stored, and why if it is not the one asked for.

    Batches wait in single precision, so that this depends on all rows at once, never on who computed which batch, or
    when.
    """
    if asked != "float16":
        return {"dtype": asked}
    largest, limit = shards.largest(range(len(fixed.batches))), float(np.finfo(np.float16).max)
    if largest <= limit:
        return {"dtype": asked}
    note = (
        f"the hidden states are stored in float32, because one of them has the magnitude {largest:,.0f} and float16 "
        f"holds at most {limit:,.0f}"
    )
    return {"dtype": "float32", "note": note}


def _manifest(fixed: _Plan, failed: Mapping[int, str], shape: tuple[int, int]) -> dict[str, Any]:
    cut = [row for row in fixed.encoded if row.cut]
    ids = {row.row: row for row in fixed.encoded}
    named = [item for item in fixed.items if item.row in ids]
    return {
        "settings": fixed.settings,
        "n_scored": shape[0],
        "n_features": shape[1],
        "n_failed": len(failed),
        "failed": [{"row": row, "id": fixed.items[row].id, "reason": reason} for row, reason in failed.items()],
        "truncated": {"n": len(cut), "tokens": sum(row.cut for row in cut), "rows": [row.row for row in cut[:1000]]},
        "joined_differently": sum(row.moved for row in fixed.encoded),
        "candidate_ids": _candidate_ids(named, ids) if fixed.form == "letter" else None,
    }


def _candidate_ids(items: Sequence[Item], encoded: Mapping[int, Encoded]) -> dict[str, list[list[int]]]:
    """Return the token ids used for each letter: one entry per letter unless a prompt's end changed them."""
    used: dict[str, list[list[int]]] = {}
    for item in items:
        for text, added in zip(item.candidates, encoded[item.row].added, strict=True):
            variants = used.setdefault(text, [])
            if list(added) not in variants:
                variants.append(list(added))
    return dict(sorted(used.items()))


def _scored(out: Path, manifest: dict[str, Any], n_new: int) -> ScoredFolder:
    return ScoredFolder(out, manifest["n_scored"], manifest["n_failed"], n_new, manifest)
