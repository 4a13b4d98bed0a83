"""Score into a folder: resumable, locked, and left with triples.parquet, embeddings.safetensors and manifest.json."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from miscal.base.errors import CorruptFile, FileError, InputError, MismatchError
from miscal.base.files import check_target, digest, disk_errors, has_digest, locked, replace_file, write_whole
from miscal.base.folders import CellStore
from miscal.base.frames import read_parquet
from miscal.base.workers import InProcess, Processes, Workers
from miscal.scoring.engine import BatchAnswers, LanguageModel, encode
from miscal.scoring.model_source import ModelSpec
from miscal.scoring.questions import Item
from miscal.scoring.scorer import assemble, batch_results, plan

MANIFEST, TRIPLES, EMBEDDINGS = "manifest.json", "triples.parquet", "embeddings.safetensors"
SETTINGS, SHARDS = "settings.json", "shards"
FORMAT = 1

FLOATS = {"float32": ("F32", "<f4", 4), "float16": ("F16", "<f2", 2)}
"""Precision: its name in safetensors, its type in numpy, little-endian, and its bytes."""

_SCHEMA = {"row": pl.Int64, "log_probs": pl.List(pl.Float64), "error": pl.String}

Progress = Callable[[int, int], None]  # rows done now, rows in all


@dataclass(frozen=True, slots=True)
class ScoredFolder:
    """What a finished run left: rows with and without a result, and the content of manifest.json.

    ``n_new`` rows were computed by this call; the others were there before.
    """

    folder: Path
    n_scored: int
    n_failed: int
    n_new: int
    manifest: dict[str, Any]


def score_folder(
    model: LanguageModel | ModelSpec,
    items: Sequence[Item],
    out: str | Path,
    *,
    task: Mapping[str, Any],
    form: str = "letter",
    batch_tokens: int = 1024,
    workers: Workers | None = None,
    embeddings_dtype: str = "float32",
    progress: Progress | None = None,
) -> ScoredFolder:
    """Score items into a folder, or resume an unfinished run there.

    Every batch is on disk before the next one starts; a run that is killed and started again does at most one batch
    (per worker) twice and leaves the same bytes. `task` is what is asked, for the manifest, in JSON values.
    float16 embeddings take half the space and keep three digits; if a magnitude is above 65,504, which does not fit,
    all are written in float32 and the manifest says so: no work is lost.
    """
    if embeddings_dtype not in FLOATS:
        raise InputError(f"embeddings_dtype must be one of {', '.join(FLOATS)}; got {embeddings_dtype!r}")
    out = Path(out)
    check_target(out / TRIPLES, overwrite=True)
    with ExitStack() as stack:
        with disk_errors(f"folder {out}"):  # the making and the locking alone: what follows raises errors of its own
            out.mkdir(parents=True, exist_ok=True)
            stack.enter_context(locked(out, inside=True))
        finished = read_settings(out / MANIFEST)
        if finished is None:
            refuse_foreign(out)
        text_side: Any = model
        if isinstance(model, ModelSpec):  # the weights are loaded where the batches are computed
            from miscal.scoring.huggingface import HuggingFaceText

            text_side = HuggingFaceText(model)
        fixed_by = {"task": task, "batch_tokens": batch_tokens, "embeddings_dtype": embeddings_dtype}
        settings, n_new = describe_run(text_side.describe(), items, **fixed_by), 0
        if finished is not None:
            _refuse_other(finished, settings, out)
        else:
            _begin(out, settings)
            run = _Run(text_side, items, settings, form, Shards(out / SHARDS))
            n_new = run.compute(workers or InProcess(), progress)
            finished = run.finish(out)
        # what only an unfinished run needs, also of one killed after its last file
        shutil.rmtree(out / SHARDS, ignore_errors=True)
        (out / SETTINGS).unlink(missing_ok=True)
        return ScoredFolder(out, finished["n_scored"], finished["n_failed"], n_new, finished)


# --- the folder ------------------------------------------------------------------------------------------------------


def refuse_foreign(out: Path) -> None:
    """Refuse to overwrite what no run of ours has begun."""
    found = [name for name in (SETTINGS, TRIPLES, EMBEDDINGS, SHARDS) if (out / name).exists()]
    if found and "format" not in (read_settings(out / SETTINGS) or {}):
        raise FileError(
            f"folder {out}: holds {', '.join(found)}, but no run that could be resumed; score into a new folder"
        )


def _refuse_other(manifest: Mapping[str, Any], settings: Mapping[str, Any], out: Path) -> None:
    """Refuse a finished run with other settings, or whose files have changed."""
    if not {"settings", "n_scored", "n_failed", "files"} <= manifest.keys():
        raise FileError(f"folder {out}: its {MANIFEST} was not written by miscal score; score into a new folder")
    refuse_changed(manifest["settings"], settings, out)
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


# --- settings: what the numbers depend on, compared when a run goes on -----------------------------------------------


def describe_run(
    model: Mapping[str, Any],
    items: Sequence[Item],
    *,
    task: Mapping[str, Any],
    batch_tokens: int,
    embeddings_dtype: str = "float32",
) -> dict[str, Any]:
    """Return the settings of a run in JSON values; the model says its own, and the items are one sha256."""
    sha256 = hashlib.sha256()
    for item in items:
        record = [item.row, item.id, item.prompt, item.candidates, item.gold, item.rule, item.text, item.choices]
        sha256.update(json.dumps([*record, dict(item.metadata), item.problem], default=str).encode("utf-8", "replace"))
    return {
        "format": FORMAT,
        "miscal": version("miscal"),
        **{f"model.{name}" if name != "model" else name: value for name, value in model.items()},
        **{f"task.{name}" if name != "task" else name: value for name, value in task.items()},
        "n_rows": len(items),
        "data_sha256": sha256.hexdigest(),
        "batch_tokens": batch_tokens,
        "embeddings_dtype": embeddings_dtype,
    }


def refuse_changed(before: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Refuse to go on in a folder with other settings, naming every differing key with both values."""
    differing = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if differing:
        shown = "; ".join(f"{key} was {_short(before.get(key))} and is {_short(now.get(key))}" for key in differing)
        raise MismatchError(
            f"folder {folder}: was begun with other settings ({shown}); score into a new folder, or give the old "
            "settings"
        )


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else f"{text[:77]}..."


def read_settings(path: Path) -> dict[str, Any] | None:
    """Read settings written before; None if there are none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptFile(f"{path}: cannot be read ({error}); score into a new folder") from error
    if not isinstance(found, dict):
        raise CorruptFile(f"{path} was not written by miscal score; score into a new folder")
    return found


# --- batches ---------------------------------------------------------------------------------------------------------


class ShardRows(NamedTuple):
    """By row: log-probabilities, why it failed, and place (shard, position) of its hidden state."""

    log_probs: dict[int, np.ndarray]
    failed: dict[int, str]
    places: dict[int, tuple[int, int]]


class Shards(CellStore):
    """The batches of a run: cells with a file of rows (parquet) and one of hidden states (safetensors)."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, (".parquet", ".safetensors"))

    def write(self, index: int, result: BatchAnswers) -> None:
        """Put the numbers of a batch on disk; see `save`."""
        from safetensors.numpy import save_file

        rows: list[dict[str, Any]] = [
            {"row": row, "log_probs": values.tolist()} for row, values in result.log_probs.items()
        ]
        hidden = np.array(list(result.hidden.values()), dtype=np.float32)
        rows += [{"row": row, "log_probs": [], "error": reason} for row, reason in sorted(result.failed.items())]
        files = {
            ".parquet": pl.DataFrame(rows, schema=_SCHEMA).write_parquet,
            ".safetensors": lambda path: save_file({"x": hidden}, path),
        }
        self.save(f"{index:06}", {}, files)

    def rows(self, n: int) -> ShardRows:
        """Read the rows of the first n shards."""
        found = ShardRows({}, {}, {})
        for index in range(n):
            table = read_parquet(self.path(f"{index:06}", ".parquet"))
            good = table.filter(pl.col("error").is_null())
            for at, (row, values) in enumerate(zip(good["row"], good["log_probs"], strict=True)):
                found.log_probs[row] = values.to_numpy()
                found.places[row] = (index, at)
            found.failed.update(table.select("row", "error").drop_nulls().iter_rows())
        return found

    def states(self, index: int) -> np.ndarray:
        """Return the hidden states of a shard."""
        from safetensors.numpy import load_file

        return load_file(self.path(f"{index:06}", ".safetensors"))["x"]

    def hidden(self, places: Sequence[tuple[int, int]], block: int = 4096) -> Iterator[np.ndarray]:
        """Yield the hidden states in the order of the places, a block of rows at a time."""
        for start in range(0, len(places), block):
            wanted = places[start : start + block]
            found: dict[int, np.ndarray] = {}
            for index in sorted({shard for shard, _ in wanted}):
                states = self.states(index)
                found |= {at: states[place] for at, (shard, place) in enumerate(wanted) if shard == index}
            yield np.stack([found[at] for at in range(len(wanted))])

    def largest(self, n: int) -> float:
        """Return the largest absolute value of the hidden states of the first n shards; 0 where there are none."""
        return max((float(np.abs(part).max()) for part in map(self.states, range(n)) if part.size), default=0.0)


def write_json(path: Path, value: object) -> None:
    """Write JSON, keys in the order given."""
    replace_file(path, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def write_float_table(
    path: Path,
    name: str,
    rows: Iterator[np.ndarray],
    shape: tuple[int, int],
    about: Mapping[str, str],
    dtype: str = "float32",
) -> None:
    """Write a safetensors file of one tensor, block by block of its rows, so that memory does not grow with them."""
    kind, stored, width = FLOATS[dtype]
    size = shape[0] * shape[1] * width
    tensor = {"dtype": kind, "shape": list(shape), "data_offsets": [0, size]}
    header = json.dumps({"__metadata__": dict(about), name: tensor}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)  # the format wants its data aligned to 8 bytes

    def write(partial: Path) -> None:
        with partial.open("wb") as stream:
            stream.write(len(header).to_bytes(8, "little") + header)
            for block in rows:
                stream.write(np.ascontiguousarray(block, dtype=stored).tobytes())

    write_whole(path, write)


# --- the run ---------------------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """The rows of a run and its batches, all fixed before the first one is computed."""

    text_side: Any
    items: Sequence[Item]
    settings: dict[str, Any]
    form: str
    shards: Shards

    def __post_init__(self) -> None:
        lengths = {"max_length": self.text_side.max_length, "n_lead": self.text_side.n_lead}
        self.encoded, self.unreadable = encode(self.items, self.text_side.tokenize, **lengths)
        self.batches = plan(self.encoded, self.settings["batch_tokens"])

    def compute(self, workers: Workers, progress: Progress | None) -> int:
        """Compute what is not done yet; return the number of its rows."""
        jobs = [(index, batch) for index, batch in enumerate(self.batches) if self.shards.find(f"{index:06}") is None]
        total, n_new = len(self.encoded), sum(len(batch) for _, batch in jobs)
        if progress and n_new < total:
            progress(total - n_new, total)
        if not jobs:
            return 0
        if isinstance(workers, Processes) and getattr(self.text_side, "room", None):
            # a model that is spread over all GPUs leaves none for other processes
            workers = InProcess()
        model = self.text_side
        if isinstance(getattr(model, "spec", None), ModelSpec):  # one that was handed in loaded stays as it is
            from miscal.scoring.huggingface import HuggingFaceModel

            if workers.elsewhere:
                model = model.pinned()
            elif not isinstance(model, HuggingFaceModel):
                model = HuggingFaceModel(model.spec, text=model)
        for index, result in batch_results(workers, model, jobs):
            self.shards.write(index, result)
            if progress:
                progress(len(self.batches[index]), total)
        return n_new

    def finish(self, out: Path) -> dict[str, Any]:
        """Put the files of the folder together; return the manifest."""
        found = self.shards.rows(len(self.batches))
        failed = dict(sorted({**self.unreadable, **found.failed}.items()))
        if not found.places:
            first = next(iter(failed.items()), (None, "no rows"))
            raise InputError(
                f"none of the {len(failed)} rows of the task could be scored; the first is row {first[0]}: {first[1]}"
            )
        order = sorted(found.places)
        scored = assemble(self.items, self.encoded, found.log_probs, failed, self.form)
        # rows whose most probable candidate is exactly as probable as another; the first of them counted
        ties = [item.row for item, one in zip(scored.items, scored.outcomes, strict=True) if one.tied]
        shape = (len(order), self.shards.states(found.places[order[0]][0]).shape[1])
        about = {"model": str(self.settings["model"]), "layer": "last", "position": "last prompt token", "norm": "post"}
        stored, cut = self._stored(), [row for row in self.encoded if row.cut]
        with disk_errors(f"folder {out}"):
            hidden = self.shards.hidden([found.places[row] for row in order])
            write_float_table(out / EMBEDDINGS, "x", hidden, shape, about, stored["dtype"])
            write_whole(out / TRIPLES, scored.table().write_parquet)
            manifest = {
                "settings": self.settings,
                "n_scored": shape[0],
                "n_features": shape[1],
                "n_failed": len(failed),
                "failed": [{"row": row, "id": self.items[row].id, "reason": reason} for row, reason in failed.items()],
                "truncated": {
                    "n": len(cut),
                    "tokens": sum(row.cut for row in cut),
                    "rows": [row.row for row in cut[:1000]],
                },
                "joined_differently": sum(row.moved for row in self.encoded),
                "candidate_ids": self._candidate_ids() if self.form == "letter" else None,
                "ties": {"n": len(ties), "rows": ties[:1000]},
                "embeddings": stored,
                "warnings": list(getattr(self.text_side, "warnings", ())),
                "files": {name: digest(out / name) for name in (TRIPLES, EMBEDDINGS)},
            }
            write_json(out / MANIFEST, manifest)
        return manifest

    def _stored(self) -> dict[str, str]:
        """Say in which precision the hidden states are stored, and why if it is not the one asked for.

        Batches wait in single precision, so that this depends on all rows at once, never on who computed which batch.
        """
        asked, limit = self.settings["embeddings_dtype"], float(np.finfo(np.float16).max)
        if asked != "float16" or (largest := self.shards.largest(len(self.batches))) <= limit:
            return {"dtype": asked}
        note = (
            f"the hidden states are stored in float32, because one of them has the magnitude {largest:,.0f} and "
            f"float16 holds at most {limit:,.0f}"
        )
        return {"dtype": "float32", "note": note}

    def _candidate_ids(self) -> dict[str, list[list[int]]]:
        """Return the token ids used for each letter: one entry per letter unless a prompt's end changed them."""
        used: dict[str, list[list[int]]] = {}
        candidates = {item.row: item.candidates for item in self.items}
        for row in self.encoded:
            for text, added in zip(candidates[row.row], row.added, strict=True):
                variants = used.setdefault(text, [])
                if list(added) not in variants:
                    variants.append(list(added))
        return dict(sorted(used.items()))
