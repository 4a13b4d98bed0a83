"""A plan made from what is there: a folder of scored folders, runs or tables, or one file with a column of models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from miscal.base.arrays import column_of, did_you_mean
from miscal.base.errors import FileError, InputError
from miscal.data.readers.opening import MANIFEST, TRIPLES, open_source
from miscal.study.plan import READ_OPTIONS, safe_name

MODEL = "model"
"""Column that names the model where no other is named."""

MOST_MODELS = 500
"""A column of more values than this is taken for something else than models."""

_TABLES = (".parquet", ".csv", ".tsv", ".jsonl")


def plan_from(source: str | Path, by: str | None = None, *, keys: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Make the content of a plan, what a YAML file would hold, from a folder or a file; paths are absolute.

    `source` is a file with a column of models, or a folder that holds folders of ``miscal score``, runs of ``miscal
    discover``, or tables. `by` is the column that names the model: by default ``model`` for a file, and none for the
    tables of a folder, each of which is one pair then: ``DATASET.MODEL.parquet``, or ``MODEL.parquet``. `keys`
    of the plan hold for all pairs; those that a pair takes from its folder come first.

    Raises
    ------
    FileError, InputError
        If there is no such file, or it cannot be read; if nothing is found in it, or there is no such column.

    Examples
    --------
    >>> import tempfile, polars as pl
    >>> file = Path(tempfile.mkdtemp()) / "quiz.csv"
    >>> pl.DataFrame({"model": ["a", "b"], "confidence": [0.5, 0.9], "correct": [0, 1]}).write_csv(file)
    >>> [(pair["dataset"], pair["model"], pair["where"]) for pair in plan_from(file)["pairs"]]
    [('quiz', 'a', "model == 'a'"), ('quiz', 'b', "model == 'b'")]
    """
    place = Path(source)
    if not place.exists():
        near = did_you_mean(place.name, [one.name for one in place.parent.iterdir()]) if place.parent.is_dir() else ""
        raise FileError(f"there is no file or folder {str(source)!r} to make a plan from{near}")
    place = place.resolve()
    found = list(_of_folder(place, by) if place.is_dir() and not _is_scored(place) else _of_table(place, by or MODEL))
    if not found:
        raise InputError(
            f"{source} holds nothing to make a plan from: it must hold folders of `miscal score`, runs of `miscal "
            "discover`, or .parquet, .csv, .tsv or .jsonl files"
        )
    given = dict(keys or {})
    own = {"data", "score", "pairs", "dataset", "model", "pair", "each"}.intersection(given)
    if own:
        raise InputError(f"--set cannot give {', '.join(sorted(own))} with --from, which finds these itself")
    reading = {name: given.pop(name) for name in (*READ_OPTIONS, "id", "outcome") if name in given}
    if "embeddings" in reading:
        reading["embeddings"] = str(Path(reading["embeddings"]).resolve())
    pairs = [reading | pair for pair in found]
    for pair in pairs if reading.get("where") else ():
        # a condition on all rows is joined to the pair's own
        if pair["where"] != reading["where"]:
            pair["where"] = f"({pair['where']}) and ({reading['where']})"
    return given | ({"by": by} if by not in (None, MODEL) else {}) | {"pairs": pairs}


def _of_folder(folder: Path, by: str | None) -> Iterator[dict[str, Any]]:
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir() and _is_scored(entry):
            yield _scored(entry)
        elif entry.is_dir() and (entry / "summary.json").is_file() and (entry / "field.parquet").is_file():
            yield _run(entry)
        elif entry.suffix in _TABLES:
            if by is not None:
                yield from _of_table(entry, by)
            else:
                dataset, _, model = entry.stem.partition(".")
                names = (dataset, model) if model else (folder.name, entry.stem)
                yield _pair(*names, data=str(entry), metadata="auto")


def _is_scored(folder: Path) -> bool:
    return folder.is_dir() and (folder / TRIPLES).is_file()


def _of_table(place: Path, by: str) -> Iterator[dict[str, Any]]:
    """Give a pair for each value of a column."""
    table = open_source(place)
    if by not in table.columns:
        raise InputError(
            f"{place.name} has no column {by!r} that could name the models{did_you_mean(by, table.columns)}; name one "
            f"with --by, of {', '.join(table.columns)}"
        )
    values = column_of(table.load([by]), by)
    models = values.drop_nulls().unique(maintain_order=True).to_list()
    if not 1 <= len(models) <= MOST_MODELS:
        raise InputError(
            f"the column {by!r} of {place.name} has {len(models):,} different values, but --by must name a column of 1 "
            f"to {MOST_MODELS} models"
        )
    name = by if by.isidentifier() else f'"{by}"'
    for model in models:
        value = "'" + str(model).replace("'", "''") + "'" if isinstance(model, str) else model
        yield _pair(place.stem, str(model), data=str(place), where=f"{name} == {value}", metadata="auto")


def _scored(folder: Path) -> dict[str, Any]:
    """Name the pair of a folder of ``miscal score`` by what its manifest says was asked."""
    asked: dict[str, Any] = {}
    manifest = folder / MANIFEST
    if manifest.is_file():
        try:
            asked = json.loads(manifest.read_text(encoding="utf-8")).get("settings", {})
        except (ValueError, AttributeError, RecursionError):
            raise FileError(f"{manifest} is damaged: score again") from None
    task, model = str(asked.get("task") or folder.parent.name), str(asked.get("model") or folder.name)
    # a task or model may be a path
    return _pair(Path(task).stem if "/" in task else task, Path(model).name, data=str(folder), pair=folder.name)


def _run(folder: Path) -> dict[str, Any]:
    """Read the data of a run again, by the options that the run noted."""
    from miscal.discovery.run import sealed_summary

    summary = sealed_summary(folder)
    source = summary.settings["source"]
    if not source.get("path"):
        raise InputError(f"the run {folder.name} was made from arrays, which cannot be read again: save them as a file")
    options = {name: value for name, value in source["options"].items() if name in READ_OPTIONS}
    noted = {name: value for name, value in options.items() if value not in (None, [], "")}
    pair = _pair(Path(source["path"]).stem, folder.name, data=str(source["path"]), **noted)
    return pair | ({"outcome": "event"} if summary.kind == "event" else {})


def _pair(dataset: str, model: str, **more: Any) -> dict[str, Any]:
    if "pair" in more:
        more["pair"] = safe_name(more["pair"])
    return {"dataset": dataset, "model": model, **more}
