"""Tasks: benchmarks by name, local files in the schema of the hub or in ours, and task files that say how to ask."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from miscal.base.document import parse_yaml
from miscal.base.errors import CorruptFile, FileError, InputError, MissingColumn
from miscal.base.process import need
from miscal.data.readers.opening import open_source
from miscal.data.readers.source import existing
from miscal.scoring.engine import shared_length
from miscal.scoring.model_source import first_line, redact, retried
from miscal.scoring.questions import FORMS, LETTERS, PreferencePair, Question, read_template

TaskRow = Mapping[str, Any]
_MARK = "\n\nAssistant:"


@dataclass(frozen=True, slots=True)
class Task:
    """What is asked and how.

    Attributes
    ----------
    name : str
        Benchmark or file name.
    questions : tuple of Question or of PreferencePair
    form : str
        Form of the candidates.
    template : str or None
        Prompt; None for the paper's.
    revision : str or None
        Commit of a data set of the hub.
    note : str or None
        What of the data set is left out and why, in a sentence.
    """

    name: str
    questions: tuple[Question, ...] | tuple[PreferencePair, ...]
    form: str = "letter"
    template: str | None = None
    revision: str | None = None
    note: str | None = None

    @property
    def kind(self) -> str:
        """Return "choice" or "preference"."""
        return "preference" if self.questions and isinstance(self.questions[0], PreferencePair) else "choice"


# --- schemas: one function each, from a row of a table to a question or a pair ------------------------------------


def _index(value: Any) -> int:
    """Read an answer given by position or by letter."""
    if isinstance(value, str) and len(value.strip()) == 1 and value.strip() in LETTERS:
        return LETTERS.index(value.strip())
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not number.is_integer():
        raise ValueError(f"the answer must be a position from 0 or a letter; got {value!r:.40}")
    return int(number)


def _text(value: Any, what: str) -> str:
    if isinstance(value, (list, dict, bytes)):
        raise ValueError(f"{what} must be text; got {value!r:.40}")
    return "" if value is None else str(value)


def _choice(value: Any, what: str) -> str:
    if value is None:
        raise ValueError(f"{what} is missing")
    return _text(value, what)


def _listed(answer: str, choices: str) -> Callable[[TaskRow], dict[str, Any]]:
    def read(row: TaskRow) -> dict[str, Any]:
        question, listed = _text(row["question"], "question"), row[choices]
        listed = json.loads(listed) if isinstance(listed, str) else listed
        if not isinstance(listed, list):
            raise ValueError(f"choices must be a list; got {row[choices]!r:.40}")
        options = tuple(_choice(choice, f"choice {at}") for at, choice in enumerate(listed))
        return {"question": question, "choices": options, "answer_index": _index(row[answer])}

    return read


def _medmcqa(row: TaskRow) -> dict[str, Any]:
    options = tuple(_choice(row[name], name) for name in ("opa", "opb", "opc", "opd"))
    return {"question": _text(row["question"], "question"), "choices": options, "answer_index": _index(row["cop"])}


def _pair(row: TaskRow) -> dict[str, Any]:
    return {name: _text(row[name], name) for name in ("prompt", "chosen", "rejected")}


def split_dialogues(chosen: str, rejected: str) -> tuple[str, str, str]:
    r"""Split two dialogues that share all but their last answer into context and the two answers.

    >>> split_dialogues("\n\nHuman: Hi\n\nAssistant: Hello", "\n\nHuman: Hi\n\nAssistant: What?")
    ('\n\nHuman: Hi\n\nAssistant:', ' Hello', ' What?')
    """
    shared = shared_length(chosen, rejected)
    at = chosen.rfind(_MARK, 0, shared)  # a mark that ends beyond is not shared, though its first letters may be
    cut = at + len(_MARK) if at >= 0 else 0
    return chosen[:cut], chosen[cut:], rejected[cut:]


def _dialogues(row: TaskRow) -> dict[str, Any]:
    prompt, chosen, rejected = split_dialogues(*(_text(row[name], name) for name in ("chosen", "rejected")))
    return {"prompt": prompt.strip(), "chosen": chosen.strip(), "rejected": rejected.strip()}


SCHEMAS: tuple[tuple[frozenset[str], type, Callable[[TaskRow], dict[str, Any]]], ...] = (
    (frozenset({"question", "choices", "answer_index"}), Question, _listed("answer_index", "choices")),
    (frozenset({"question", "options", "answer_index"}), Question, _listed("answer_index", "options")),
    (frozenset({"question", "choices", "answer"}), Question, _listed("answer", "choices")),
    (frozenset({"question", "opa", "opb", "opc", "opd", "cop"}), Question, _medmcqa),
    (frozenset({"prompt", "chosen", "rejected"}), PreferencePair, _pair),
    (frozenset({"chosen", "rejected"}), PreferencePair, _dialogues),
)
_IDS = ("id", "question_id")


def _schema(columns: Sequence[str], name: str) -> tuple[frozenset[str], type, Callable[[TaskRow], dict[str, Any]]]:
    for schema in SCHEMAS:
        if schema[0] <= set(columns):
            return schema
    best = min(SCHEMAS, key=lambda schema: len(schema[0] - set(columns)))[0]
    missing = sorted(best - set(columns))
    near = [f"{c!r} looks like {m!r}" for m in missing for c in difflib.get_close_matches(m, columns, 1)]
    hint = f" ({'; '.join(near)})" if near else ""
    allowed = " | ".join(", ".join(sorted(schema[0])) for schema in SCHEMAS)
    raise MissingColumn(
        f"{name}: there is no column {', '.join(map(repr, missing))}{hint}; "
        f"its columns are {', '.join(columns)}; a task needs one of these sets of columns: {allowed}"
    )


def rows_to_questions(rows: Sequence[TaskRow], name: str) -> tuple[Question, ...] | tuple[PreferencePair, ...]:
    """Turn rows of any known schema into questions or pairs; the other plain columns become metadata."""
    if not rows:
        raise InputError(f"{name} has no rows")
    needed, kind, read = _schema(list(rows[0]), name)
    used = needed | set(_IDS[:1])
    beside = [c for c, v in rows[0].items() if c not in used and not isinstance(v, (list, dict, bytes))]
    key = next((c for c in _IDS if c in rows[0]), None)
    ids = [str(row[key]) if key else str(at) for at, row in enumerate(rows)]
    _refuse_twins(ids, f"{name}: column {key!r}")
    made = []
    for row, row_id in zip(rows, ids, strict=True):
        try:
            asked = read(row)
        except ValueError as error:  # an unreadable row is marked when it is scored
            asked = _EMPTY[kind] | {"problem": str(error)}
        made.append(kind(id=row_id, metadata={column: row[column] for column in beside}, **asked))
    return tuple(made)


_EMPTY: dict[type, dict[str, Any]] = {
    Question: {"question": "", "choices": (), "answer_index": -1},
    PreferencePair: {"prompt": "", "chosen": "", "rejected": ""},
}


def _refuse_twins(ids: Sequence[str], what: str) -> None:
    seen: set[str] = set()
    twins = [at for at, value in enumerate(ids) if value in seen or seen.add(value)]
    if twins:
        raise InputError(
            f"{what}: ids must be distinct; {len(twins)} rows repeat one: rows {twins[:5]}, "
            f"of which the first has {ids[twins[0]]!r}"
        )


# --- benchmarks on the Hugging Face hub, one commit of each, or from its cache without a network ---------------------


@dataclass(frozen=True, slots=True)
class HubTask:
    """A benchmark on the hub.

    Attributes
    ----------
    dataset : str
    config : str or None
    splits : tuple of str
        Joined in this order.
    folders : tuple of (str, str)
        Folders of the data set that are taken, each with the value that its rows get in the column ``subset``; empty
        where the data set has none. Their splits are joined folder by folder.
    note : str or None
        What of the data set is left out and why, in a sentence.
    """

    dataset: str
    config: str | None
    splits: tuple[str, ...]
    folders: tuple[tuple[str, str], ...] = ()
    note: str | None = None


HUB_TASKS = {
    "mmlu": HubTask("cais/mmlu", "all", ("test",)),
    "mmlu-pro": HubTask("TIGER-Lab/MMLU-Pro", None, ("test",)),
    "medmcqa": HubTask(
        "openlifescienceai/medmcqa",
        None,
        ("train", "validation"),
        note="the test split of MedMCQA is left out, because its right answers are withheld",
    ),
    # 42,537 + 2,312 and 43,835 + 2,354 pairs: a tenth of these 91,038 are the 9,103 test pairs of the paper
    "hh-rlhf": HubTask(
        "Anthropic/hh-rlhf",
        None,
        ("train", "test"),
        (("harmless-base", "harmless"), ("helpful-base", "helpful")),
        "of HH-RLHF, the pairs of harmless-base and helpful-base are asked, as in the paper; the column subset says "
        "which",
    ),
}


def hub_rows(task: HubTask, revision: str | None = None) -> tuple[list[Mapping[str, Any]], str]:
    """Read the rows of a benchmark.

    Parameters
    ----------
    revision : str, optional
        Commit, branch or tag; default: the newest, or without a network the one in the cache.

    Returns
    -------
    rows : list of mapping
    commit : str
        What was read.
    """
    need("datasets", f"task {task.dataset}", "datasets")
    import datasets

    commit, folder = _located(task, revision)
    source, pinned = (task.dataset, {"revision": commit}) if folder is None else (str(folder), {})

    def part(split: str, **inside: str) -> list[Mapping[str, Any]]:
        def load() -> list[Mapping[str, Any]]:
            return list(datasets.load_dataset(source, task.config, split=split, **pinned, **inside))

        return retried(load, f"data set {task.dataset} cannot be {'read from the cache' if folder else 'fetched'}")

    if not task.folders:
        return [row for split in task.splits for row in part(split)], commit
    return [
        {**row, "subset": subset}
        for name, subset in task.folders
        for split in task.splits
        for row in part(split, data_dir=name)
    ], commit


def commit_of(name: str) -> str:
    """Return the commit of a benchmark that :func:`hub_rows` would read now.

    Parameters
    ----------
    name : str
        One of `HUB_TASKS`.
    """
    need("datasets", f"task {name}", "datasets")
    return _located(HUB_TASKS[name], None)[0]


def _located(task: HubTask, revision: str | None) -> tuple[str, Path | None]:
    """Return the commit, and the folder of the cache that holds it where the hub is not to be asked."""
    from huggingface_hub import HfApi, constants

    if constants.HF_HUB_OFFLINE:
        return _cached(task, revision)
    what = f"data set {task.dataset} cannot be fetched from the hub"
    try:
        return retried(lambda: HfApi().dataset_info(task.dataset, revision=revision).sha, what), None
    except FileError as error:
        try:
            return _cached(task, revision)
        except FileError as missing:
            raise FileError(f"{error}; {missing}") from None


def _cached(task: HubTask, revision: str | None) -> tuple[str, Path]:
    """Find a commit in the cache of the hub: the one asked for, that of its main branch, or the only one."""
    from huggingface_hub import constants

    # the layout is documented: https://huggingface.co/docs/huggingface_hub/guides/manage-cache
    place = Path(constants.HF_HUB_CACHE) / f"datasets--{task.dataset.replace('/', '--')}"
    named = place / "refs" / (revision or "main")
    commit = named.read_text().strip() if named.is_file() else revision
    there = sorted(folder.name for folder in (place / "snapshots").glob("*") if folder.is_dir())
    if commit is None and len(there) > 1:
        raise InputError(
            f"data set {task.dataset}: the cache {place} holds several commits ({', '.join(there)}), and there is no "
            "network to ask for the newest: name one with --task-revision"
        )
    commit = commit or next(iter(there), None)
    if commit not in there:
        raise FileError(
            f"data set {task.dataset}: {revision or 'it'} is not in the cache {place}: fetch it once with a network, "
            "or give --task a file"
        )
    return commit, place / "snapshots" / commit


# --- where rows come from -----------------------------------------------------------------------------------------


def read_table(path: Path) -> pl.DataFrame:
    """Read a table of any kind that `miscal.data.readers` knows: parquet, jsonl, csv, a folder of ``miscal score``."""
    table = open_source(existing(path, what="task"))
    return table.load(table.columns)


def _task_file(path: Path) -> Task:
    """Read a task file: yaml with ``data`` and optionally ``form`` and ``prompt_file``, paths relative to the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorruptFile(f"task {path}: cannot be read as YAML ({first_line(error)})") from error
    settings = parse_yaml(text, f"task {path}")
    allowed = ("data", "form", "prompt_file")
    unknown = sorted(map(str, settings.keys() - set(allowed))) if isinstance(settings, dict) else ["not a mapping"]
    if unknown or "data" not in settings:
        got = f"unknown: {', '.join(unknown)}" if unknown else "data is missing"
        raise InputError(f"task {path}: the keys must be {', '.join(allowed)}, and data must be among them; {got}")
    for key in ("data", "prompt_file"):
        if not isinstance(settings.get(key, ""), str):
            raise InputError(f"task {path}: {key} must be the path of a file; got {settings[key]!r}")
    task = read_task(str(path.parent / settings["data"]))
    form = settings.get("form", "letter")
    if form not in FORMS:
        raise InputError(f"task {path}: form must be one of {', '.join(FORMS)}; got {form!r}")
    prompt = settings.get("prompt_file")
    template = read_template(path.parent / prompt, task.kind) if prompt else None
    return Task(str(path), task.questions, form, template)


def read_task(name: str, *, revision: str | None = None) -> Task:
    """Read a task.

    Parameters
    ----------
    name : str
        "mmlu", "mmlu-pro", "medmcqa" or "hh-rlhf" (from the hub); or a parquet, jsonl or csv file in the schema of
        one of them, of ``question, choices, answer_index`` (choices a list, in csv its JSON; answers counted from 0)
        or of ``prompt, chosen, rejected``; or a yaml task file.
    revision : str, optional
        Of a data set of the hub; default: its newest, which is recorded.
    """
    if name in HUB_TASKS:
        rows, commit = hub_rows(HUB_TASKS[name], revision)
        return Task(name, rows_to_questions(rows, name), revision=commit, note=HUB_TASKS[name].note)
    if revision:
        raise InputError(
            f"task_revision can be given with {', '.join(HUB_TASKS)} only; the task is {redact(name)!r}, so leave it "
            "out"
        )
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return _task_file(existing(path, what="task"))
    if "://" in name or (not path.suffix and not path.exists()):
        near = difflib.get_close_matches(name.lower(), HUB_TASKS, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InputError(f"task must be {', '.join(HUB_TASKS)} or a file; got {redact(name)!r}{hint}")
    return Task(name, rows_to_questions(read_table(path).to_dicts(), name))
