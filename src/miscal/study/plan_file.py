"""Read a plan from a YAML file, a mapping or the name of a known study, and check it; or make one from what is there.

What is there: a folder of scored folders, runs or tables, or one file with a column of models.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pydantic

from miscal.base.arrays import column_of, did_you_mean
from miscal.base.document import parse_yaml
from miscal.base.errors import FileError, InputError
from miscal.data.readers.opening import MANIFEST, TRIPLES, open_source
from miscal.estimators.registry import make_estimator
from miscal.study import paper
from miscal.study.plan import READ_OPTIONS, AuditPlan, PairSettings, ScoreOptions, StudyPair, StudyPlan, safe_name

EACH = "each"
"""Key of a pair that stands for several: a list, whose items are added to the pair in turn."""

_FILLED = ("dataset", "model", "family", "billions", "pair")
"""Keys whose values fill ``{key}`` in the strings of a pair."""

# a few lines of nested aliases stand for as many values as one likes
_MOST_VALUES = 1_000_000
_SET = re.compile(r"\$\{(\w+)\}")
_FILES = ("data", "embeddings")
_SCORE_FILES = ("model", "task", "prompt_file")
_TABLES = (".parquet", ".csv", ".tsv", ".jsonl")


def read_plan(
    source: str | Path | Mapping[str, Any] | StudyPlan, *, sets: Mapping[str, str] | None = None
) -> StudyPlan:
    """Read a plan and check it.

    Parameters
    ----------
    source : str, Path, mapping or StudyPlan
        A YAML file, what one would hold, or ``"paper48"``, the paper's 48 pairs.
    sets : mapping of str to str, optional
        What stands for ``${NAME}`` in its strings. A string that is nothing else takes the value as YAML would read
        it, so that it may be a number.

    Returns
    -------
    StudyPlan
        Paths are absolute; those of a file are taken from its folder, those of a mapping from the working folder.

    Raises
    ------
    FileError
        If there is no such file, or it is not YAML.
    InputError
        If a key or value is not allowed, naming the key, what is allowed, and how to fix it.

    Examples
    --------
    >>> plan = read_plan({"pairs": [{"dataset": "a", "model": "m", "data": "a.csv", "features": "x_*"}]})
    >>> plan.pairs[0].pair, plan.method, read_plan("paper48").name
    ('a.m', 'auto', 'paper48')
    """
    if isinstance(source, StudyPlan):
        return source
    folder = Path.cwd()
    if isinstance(source, Mapping):
        content = dict(source)
    elif not isinstance(source, str | Path):
        raise InputError(f"a plan must be a YAML file, a mapping or {paper.NAME!r}; got a {type(source).__name__}")
    elif str(source) == paper.NAME:
        content = {"pairs": paper.NAME}
    else:
        content, folder = _parsed(Path(source)), Path(source).resolve().parent
    return _checked(_all_filled(content, sets or {}), folder)


# --- reading ------------------------------------------------------------------------------------------------------


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(f"the plan {path} does not exist; give a YAML file, or the name {paper.NAME}") from None
    # a name with a null byte is a ValueError, like bytes that are no text
    except (OSError, ValueError) as error:
        raise FileError(f"the plan {str(path)!r} cannot be read: {error}") from None
    content = _yaml(text, f"the plan {path}")
    if not isinstance(content, dict):
        raise InputError(f"the plan {path} must be a mapping with the key pairs; it is {_kind(content)}")
    return content


def _yaml(text: str, what: str) -> Any:
    """Read YAML by the safe loader; aliases may stand for a value, not for ever more of them."""
    content = parse_yaml(text, what)
    left = [content]
    for _ in range(_MOST_VALUES):
        if not left:
            return content
        value = left.pop()
        left.extend(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ())
    raise FileError(f"{what} holds over {_MOST_VALUES:,} values once its aliases are filled in: write out fewer")


def _kind(value: Any) -> str:
    return "empty" if value is None else f"a {type(value).__name__}"


def _all_filled(content: dict[str, Any], sets: Mapping[str, str]) -> Any:
    """Put in what stands for ${NAME}, all of which the plan must leave open."""
    left_open = sorted(set(_SET.findall(json.dumps(content, default=str, ensure_ascii=False))))
    for name in sets:
        if name not in left_open:
            raise InputError(
                f"--set {name}: the plan has no ${{{name}}} to fill in{did_you_mean(name, left_open, aside=True)}: it "
                f"leaves open {', '.join(left_open) or 'nothing'}; what it states itself is changed in the plan"
            )

    def filled(text: str) -> Any:
        for name in _SET.findall(text):
            if name not in sets:
                raise InputError(
                    f"the plan leaves {name} open, as ${{{name}}} in {text!r}: give it with --set {name}=..."
                )
        if _SET.fullmatch(text):
            return _yaml(sets[text[2:-1]], f"--set {text[2:-1]}")
        return _SET.sub(lambda found: sets[found[1]], text)

    return _each_text(content, filled)


def _each_text(value: Any, change: Callable[[str], Any]) -> Any:
    """Change every text that a value holds, but for its keys."""
    if isinstance(value, dict):
        # YAML reads the key `null` as its own null
        return {"null" if key is None else key: _each_text(part, change) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_each_text(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


# --- pairs --------------------------------------------------------------------------------------------------------


def _checked(content: dict[str, Any], folder: Path) -> StudyPlan:
    if content.get("pairs") == paper.NAME:
        # of options, those that the plan does not name
        defaults = paper.paper48_defaults()
        mixed = {name: content[name] for name in ("options", "score") if isinstance(content.get(name), dict)}
        mixed = {name: defaults.get(name, {}) | own for name, own in mixed.items()}
        content = {**defaults, **content, **mixed, "pairs": paper.paper48_pairs()}
    allowed = list(StudyPlan.model_fields)
    _refuse_unknown(content, allowed, "the plan")
    entries = content.get("pairs")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"pairs must be a list of pairs, or the name {paper.NAME}; the plan has {entries!r}")
    common = {name: content[name] for name in PairSettings.model_fields if name in content}
    _build(PairSettings, common, "the plan")
    if content.get("audit") is not None:
        _build(AuditPlan, content["audit"], "audit")
    score = content.get("score") or {}
    if score:
        # what names the model and the task is the pair's
        _build(ScoreOptions, {"model": "m", "task": "t"} | score, "score")
    pairs = [_pair(entry, common, score, where, folder) for where, entry in _entries(entries)]
    _refuse_clashes(pairs)
    plan = _build(StudyPlan, content | {"pairs": []}, "the plan", pairs=pairs)
    _refuse_strangers(plan)
    return plan


def _entries(entries: Iterable[Any]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Give every pair by itself, with the words that messages name it by."""
    for number, entry in enumerate(entries, 1):
        where = f"pair {number} of the plan"
        if not isinstance(entry, dict):
            raise InputError(f"{where} must be a mapping of its keys; it is {_kind(entry)}")
        common = {key: value for key, value in entry.items() if key != EACH}
        items = entry.get(EACH, [{}])
        if not isinstance(items, list) or not items or not all(isinstance(item, dict) for item in items):
            raise InputError(f"{where}: {EACH} must be a list of mappings, whose keys are added to the pair in turn")
        for item in items:
            yield where, common | item


def _pair(
    entry: dict[str, Any], common: dict[str, Any], options: dict[str, Any], where: str, folder: Path
) -> StudyPair:
    if {"dataset", "model"} <= set(entry):
        entry = {"pair": pair_id(str(entry["dataset"]), str(entry["model"]))} | entry
        where = f"pair {entry['pair']!r}"
    labels = {name: str(entry[name]) for name in _FILLED if entry.get(name) is not None}

    def labelled(text: str) -> str:
        for name, label in labels.items():
            text = text.replace(f"{{{name}}}", label)
        return text

    entry = {key: value if key in _FILLED else _each_text(value, labelled) for key, value in entry.items()}
    _refuse_unknown(entry, [*StudyPair.model_fields, EACH], where)
    if entry.get("score") is not None:
        asked = options | entry["score"] if isinstance(entry["score"], dict) else entry["score"]
        score = _build(ScoreOptions, asked, f"{where}, score")
        places = {name: _place(getattr(score, name), folder) for name in _SCORE_FILES}
        entry = entry | {"score": score.model_dump() | places}
    entry = entry | {name: str(folder / entry[name]) for name in _FILES if isinstance(entry.get(name), str)}
    # options of the plan stay where a pair adds some
    own = entry.get("options")
    merged = {"options": common["options"] | own} if isinstance(own, dict) and "options" in common else {}
    pair = _build(StudyPair, common | entry | merged, where)
    if "paper" in pair.methods:
        make_estimator("paper", options=pair.options)
    return pair


def pair_id(dataset: str, model: str) -> str:
    """Make the id of a pair from its labels.

    Examples
    --------
    >>> pair_id("mmlu", "Llama-3.2-3B"), pair_id("HH RLHF", "org/model")
    ('mmlu.Llama-3.2-3B', 'HH-RLHF.org-model')
    """
    return f"{safe_name(dataset)}.{safe_name(model)}"


def _place(name: str | None, folder: Path) -> str | None:
    """Take a name that may be a file or folder from the plan's folder if it is one."""
    if name is None:
        return None
    place = folder / name
    return str(place) if place.exists() or name.endswith((*_TABLES, ".gguf")) else name


# --- errors -------------------------------------------------------------------------------------------------------


def _build(kind: type[pydantic.BaseModel], content: Any, where: str, **parts: Any) -> Any:
    if not isinstance(content, dict):
        raise InputError(f"{where} must be a mapping of its keys; it is {_kind(content)}")
    _refuse_unknown(content, list(kind.model_fields), where)
    try:
        # JSON has lists alone, which a strict check of Python objects would not take for tuples
        text = json.dumps(content, default=str)
        if not parts:
            return kind.model_validate_json(text)
        return kind.model_validate(json.loads(text) | parts)
    except pydantic.ValidationError as error:
        raise InputError(f"{where}: {_validation_message(error)}") from None


def _validation_message(error: pydantic.ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    words = first["msg"].removeprefix("Value error, ")
    words = words[0].lower() + words[1:]
    if first["type"] == "missing":
        return f"the key {key} is missing: add it"
    return f"{key}: {words}; got {first['input']!r}" if key else words


def _refuse_unknown(content: Mapping[Any, Any], allowed: Sequence[str], where: str) -> None:
    for key in content:
        if key not in allowed:
            hint = did_you_mean(key, allowed, aside=True)
            raise InputError(
                f"{where} has no key {key!r}{hint}: take it out, or use one of {', '.join(sorted(allowed))}"
            )


def _refuse_clashes(pairs: Sequence[StudyPair]) -> None:
    """Refuse pairs of one id, data sets of one file, and pairs of a data set that are asked different questions."""
    ids: dict[str, str] = {}
    datasets: dict[str, str] = {}
    asked: dict[tuple[str, str], StudyPair] = {}
    for pair in pairs:
        # some file systems do not tell upper from lower case
        known = ids.setdefault(pair.pair.lower(), pair.pair)
        if known is not pair.pair:
            raise InputError(f"two pairs of the plan have the id {known!r}: give one of them another with the key pair")
        known = datasets.setdefault(safe_name(pair.dataset).lower(), pair.dataset)
        if known != pair.dataset:
            raise InputError(
                f"the data sets {known!r} and {pair.dataset!r} would share a file of the split: rename one of them"
            )
        other = asked.setdefault((pair.dataset, pair.score.task), pair) if pair.score else pair
        if pair.score and other.score.task_revision != pair.score.task_revision:
            raise InputError(
                f"the pairs {other.pair!r} and {pair.pair!r} on {pair.dataset} ask different revisions of "
                f"{pair.score.task} (task_revision {other.score.task_revision} and {pair.score.task_revision}), "
                "but all pairs of a data set share its questions: give both the same, or name the data sets apart"
            )


def _refuse_strangers(plan: StudyPlan) -> None:
    known = [pair.pair for pair in plan.pairs]
    asked = {"interpret": plan.interpret, "audit.pairs": plan.audit.pairs if plan.audit else []}
    for key, names in asked.items():
        for name in () if isinstance(names, str) else names:
            if name not in known:
                raise InputError(f"{key} names a pair that the plan does not have: {name!r}{did_you_mean(name, known)}")


# --- plans made from what is there ------------------------------------------------------------------------------------

MODEL = "model"
"""Column that names the model where no other is named."""

MOST_MODELS = 500
"""A column of more values than this is taken for something else than models."""


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
                yield _found(*names, data=str(entry), metadata="auto")


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
        yield _found(place.stem, str(model), data=str(place), where=f"{name} == {value}", metadata="auto")


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
    return _found(Path(task).stem if "/" in task else task, Path(model).name, data=str(folder), pair=folder.name)


def _run(folder: Path) -> dict[str, Any]:
    """Read the data of a run again, by the options that the run noted."""
    from miscal.discovery.run import sealed_summary

    summary = sealed_summary(folder)
    source = summary.settings["source"]
    if not source.get("path"):
        raise InputError(f"the run {folder.name} was made from arrays, which cannot be read again: save them as a file")
    options = {name: value for name, value in source["options"].items() if name in READ_OPTIONS}
    noted = {name: value for name, value in options.items() if value not in (None, [], "")}
    pair = _found(Path(source["path"]).stem, folder.name, data=str(source["path"]), **noted)
    return pair | ({"outcome": "event"} if summary.kind == "event" else {})


def _found(dataset: str, model: str, **more: Any) -> dict[str, Any]:
    if "pair" in more:
        more["pair"] = safe_name(more["pair"])
    return {"dataset": dataset, "model": model, **more}
