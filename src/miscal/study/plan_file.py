"""Read a plan from a YAML file, a mapping or the name of a known study, and check it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pydantic

from miscal.base.arrays import did_you_mean
from miscal.base.document import parse_yaml
from miscal.base.errors import FileError, InputError
from miscal.estimators.registry import make_estimator
from miscal.study import paper48
from miscal.study.plan import ALL_PAIRS, AuditPlan, PairSettings, ScoreOptions, StudyPair, StudyPlan, pair_id, safe_name

EACH = "each"
"""Key of a pair that stands for several: a list, whose items are added to the pair in turn."""

_FILLED = ("dataset", "model", "family", "billions", "pair")
"""Keys whose values fill ``{key}`` in the strings of a pair."""

# a few lines of nested aliases stand for as many values as one likes
_MOST_VALUES = 1_000_000
_SET = re.compile(r"\$\{(\w+)\}")
_FILES = ("data", "embeddings")
_SCORE_FILES = ("model", "task", "prompt_file")
_TABLES = (".parquet", ".csv", ".tsv", ".jsonl", ".gguf")


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
        raise InputError(f"a plan must be a YAML file, a mapping or {paper48.NAME!r}; got a {type(source).__name__}")
    elif str(source) == paper48.NAME:
        content = {"pairs": paper48.NAME}
    else:
        content, folder = _parsed(Path(source)), Path(source).resolve().parent
    return _checked(_all_filled(content, sets or {}), folder)


# --- reading ------------------------------------------------------------------------------------------------------


def _parsed(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileError(f"the plan {path} does not exist; give a YAML file, or the name {paper48.NAME}") from None
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
    if content.get("pairs") == paper48.NAME:
        # of options, those that the plan does not name
        defaults = paper48.defaults()
        mixed = {name: content[name] for name in ("options", "score") if isinstance(content.get(name), dict)}
        mixed = {name: defaults.get(name, {}) | own for name, own in mixed.items()}
        content = {**defaults, **content, **mixed, "pairs": paper48.pairs()}
    allowed = list(StudyPlan.model_fields)
    _refuse_unknown(content, allowed, "the plan")
    entries = content.get("pairs")
    if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
        raise InputError(f"pairs must be a list of pairs, or the name {paper48.NAME}; the plan has {entries!r}")
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


def _place(name: str | None, folder: Path) -> str | None:
    """Take a name that may be a file or folder from the plan's folder if it is one."""
    if name is None:
        return None
    place = folder / name
    return str(place) if place.exists() or name.endswith(_TABLES) else name


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
        for name in () if names == ALL_PAIRS else names:
            if name not in known:
                raise InputError(f"{key} names a pair that the plan does not have: {name!r}{did_you_mean(name, known)}")
