"""State and results in folders: a learned state as JSON and arrays, and finished cells, each whole or not there.

A state is two files, none of which can run code::

    DIR/config.json           {"format", "version", "content", "sha256"}
    DIR/tensors.safetensors   the arrays

Anything else in the folder is refused, and there is no other loader to fall back on.

Content and arrays are those of an object, taken apart field by field (:func:`state_of`) and put together again
(:func:`built`). Its fields are what its class annotates, whose types are the only ones that are read: any other value
is refused. A class of other contents has methods of its own, `state` and `from_state`.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path
from types import GenericAlias, NoneType, UnionType
from typing import Any, ClassVar, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from miscal.base.errors import CorruptFile, FileError, InputError, MismatchError, TrustError, command
from miscal.base.files import digest, disk_errors, has_digest, replace_file, write_whole

VERSION = 4
CONFIG, TENSORS = "config.json", "tensors.safetensors"
_REMEDY = f"save the model again, with {command('discover')}"


def save_state(folder: str | Path, form: str, content: Mapping[str, Any], tensors: Mapping[str, np.ndarray]) -> None:
    """Write learned values into a folder.

    Parameters
    ----------
    folder : str or Path
        The folder; made if it is not there. Written in place: give it a folder that nobody reads yet.
    form : str
        What is saved, e.g. ``"miscal-field"``; the loader asks for it by this name.
    content : mapping
        JSON values.
    tensors : mapping of str to ndarray
        Arrays of numbers or booleans.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> save_state(folder, "example", {"scale": 2.0}, {"w": np.arange(3.0)})
    >>> content, tensors = load_state(folder, "example")
    >>> content, tensors["w"].tolist()
    ({'scale': 2.0}, [0.0, 1.0, 2.0])
    """
    from safetensors.numpy import save

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # digest and file are of the same bytes, held in memory
    blob = save({name: np.require(array, requirements="C") for name, array in tensors.items()})
    (folder / TENSORS).write_bytes(blob)
    sums = {TENSORS: hashlib.sha256(blob).hexdigest(), "content": _content_digest(form, VERSION, content)}
    config = {"format": form, "version": VERSION, "content": content, "sha256": sums}
    (folder / CONFIG).write_text(json.dumps(config, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def load_state(
    folder: str | Path, form: str, *, beside: Collection[str] = (), remedy: str = _REMEDY
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read learned values back.

    Parameters
    ----------
    folder : str or Path
        The folder.
    form : str
        What it has to hold.
    beside : collection of str
        Names of further entries that may lie in the folder; they are not read.
    remedy : str
        What messages advise where the folder cannot be used; by default to save the model again.

    Returns
    -------
    content : dict
        JSON values.
    tensors : dict of str to ndarray
        Arrays.
    """
    folder = Path(folder)
    config = _read_config(folder, remedy)
    _refuse_strangers(folder, {CONFIG, TENSORS, *beside})
    if config["version"] != VERSION:
        age, remedy = ("a newer", "upgrade miscal") if config["version"] > VERSION else ("an older", remedy)
        raise MismatchError(
            f"{folder} was saved by {age} miscal (format version {config['version']}; this one reads {VERSION}): "
            f"{remedy}"
        )
    if config["format"] != form:
        raise MismatchError(f"{folder} holds {config['format']!r}, not {form!r}: give another folder")
    if config["sha256"]["content"] != _content_digest(config["format"], config["version"], config["content"]):
        raise CorruptFile(f"{folder / CONFIG} has changed since it was written (its sha256 differs): {remedy}")
    return config["content"], _read_tensors(folder / TENSORS, config["sha256"][TENSORS], remedy)


def _read_config(folder: Path, remedy: str) -> dict[str, Any]:
    if not folder.is_dir():
        raise FileError(f"{folder} is not a folder: give the folder in which a model was saved")
    try:
        config = json.loads(
            (folder / CONFIG).read_text(encoding="utf-8"), parse_constant=_no_constant, parse_float=_finite
        )
        shapes = {"format": str, "version": int, "content": dict, "sha256": dict}
        if not all(isinstance(config[key], kind) for key, kind in shapes.items()):
            raise ValueError
        # raises KeyError where one of them is missing
        config["sha256"][TENSORS], config["sha256"]["content"]
    except FileNotFoundError:
        raise FileError(f"{folder} holds no saved model: there is no {CONFIG} in it") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CorruptFile(f"{folder / CONFIG} is damaged, or was not written by miscal: {remedy}") from None
    return config


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is never written")


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        _no_constant(text)
    return number


@contextlib.contextmanager
def rebuilding(folder: str | Path) -> Iterator[None]:
    """Refuse saved values from which nothing can be built: checksums can be renewed by whoever changes a file.

    Parameters
    ----------
    folder : str or Path
        Where the values come from.

    >>> with rebuilding("model"):
    ...     {}["field"]
    Traceback (most recent call last):
    ...
    miscal.base.errors.CorruptFile: model holds values that do not fit together (KeyError: 'field'): save the model ...
    """
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise CorruptFile(
            f"{folder} holds values that do not fit together ({type(error).__name__}: {error}): {_REMEDY}"
        ) from error


def _refuse_strangers(folder: Path, known: set[str]) -> None:
    # a link could lead anywhere, whatever it is called
    strangers = sorted(entry.name for entry in folder.iterdir() if entry.name not in known or entry.is_symlink())
    if strangers:
        raise TrustError(
            f"{folder} holds files that miscal did not write "
            f"({', '.join(map(repr, strangers[:5]))}), so it is not loaded: remove them if you trust the rest"
        )


def _read_tensors(path: Path, wanted: str, remedy: str) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        blob = path.read_bytes()
    except FileNotFoundError:
        raise CorruptFile(f"{path} is missing: {remedy}") from None
    if hashlib.sha256(blob).hexdigest() != wanted:
        raise CorruptFile(f"{path} has changed since it was written ({len(blob)} bytes, its sha256 differs): {remedy}")
    try:
        # the bytes that were checked, not the file a second time
        return load(blob)
    except SafetensorError as error:
        raise CorruptFile(f"{path} is not a safetensors file ({error}): {remedy}") from None


def _content_digest(form: str, version: int, content: Mapping[str, Any]) -> str:
    # sorted keys and no blanks: the digest is of the content, not of how the file writes it
    canonical = json.dumps([form, version, content], sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


State = tuple[dict[str, Any], dict[str, np.ndarray]]
"""JSON values, and named arrays."""

T = TypeVar("T")


@cache
def saved_fields(kind: type) -> dict[str, Any]:
    """Return the types of the fields that are saved of an object, by name: what its class annotates, not computed."""
    hints = {name: hint for name, hint in get_type_hints(kind).items() if ClassVar not in (hint, get_origin(hint))}
    return {name: hint for name, hint in hints.items() if not isinstance(getattr(kind, name, None), property)}


def state_of(value: Any) -> State:
    """Take an object apart, into JSON values and arrays; an array is named by the path of its field.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Line:
    ...     name: str
    ...     ends: np.ndarray
    >>> content, arrays = state_of(Line("a", np.array([1.0, 2.0])))
    >>> content, list(arrays)
    ({'class': 'Line', 'name': 'a', 'ends': None}, ['ends'])
    """
    return value.state() if hasattr(value, "state") else fields_of(value)


def fields_of(value: Any) -> State:
    """Take an object apart by its fields, whatever methods it has."""
    content, arrays = {"class": type(value).__name__}, {}
    for name in saved_fields(type(value)):
        content[name] = _apart(getattr(value, name), name, arrays)
    return content, arrays


def _apart(value: Any, place: str, arrays: dict[str, np.ndarray]) -> Any:
    """Return what JSON holds of a value; its arrays join those that are given."""
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return None
    if value is None or isinstance(value, bool | int | float | str | np.generic):
        return value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _apart(one, f"{place}.{key}", arrays) for key, one in value.items()}
    if isinstance(value, list | tuple | Mapping):
        entries = value.items() if isinstance(value, Mapping) else value
        return [_apart(one, f"{place}.{k}", arrays) for k, one in enumerate(entries)]
    content, held = state_of(value)
    arrays |= {f"{place}.{name}": array for name, array in held.items()}
    return content


def built(kind: type[T], content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> T:
    """Put an object together again from what :func:`state_of` returned; of `kind`, or a class derived from it.

    Raises TypeError, ValueError or KeyError for what does not fit (see :func:`rebuilding`).
    """
    if hasattr(kind, "from_state"):
        return kind.from_state(content, arrays)
    known = _family(kind)
    if content["class"] not in known:
        raise ValueError(f"it must be one of {', '.join(known)}; got {content['class']!r}")
    kind = known[content["class"]]
    return kind.from_state(content, arrays) if hasattr(kind, "from_state") else built_of_fields(kind, content, arrays)


def built_of_fields(kind: type[T], content: Mapping[str, Any], arrays: Mapping[str, np.ndarray], **known: Any) -> T:
    """Put an object of this very class together by its fields, some of which may be known already."""
    hints = saved_fields(kind)
    if content.keys() != {"class", *hints}:
        raise TypeError(f"{kind.__name__} has the fields {', '.join(hints)}; got {', '.join(content)}")
    unread = {name: hint for name, hint in hints.items() if name not in known}
    values = {name: _together(hint, content[name], name, arrays) for name, hint in unread.items()} | known
    if is_dataclass(kind):
        return kind(**values)
    made = kind()
    vars(made).update(values)
    return made


def load(folder: str | Path, form: str, kind: type[T], *, beside: Collection[str] = (), remedy: str = _REMEDY) -> T:
    """Read back an object that was saved as :func:`state_of` takes it apart; options as for :func:`load_state`."""
    content, arrays = load_state(folder, form, beside=beside, remedy=remedy)
    with rebuilding(folder):
        return built(kind, content, arrays)


def _family(kind: Any) -> dict[str, Any]:
    """Return a class and all derived from it, or those of a union, by name."""
    if get_origin(kind) in (Union, UnionType):
        return {name: one for part in get_args(kind) for name, one in _family(part).items()}
    return {kind.__name__: kind} | {name: one for part in kind.__subclasses__() for name, one in _family(part).items()}


def _together(hint: Any, value: Any, place: str, arrays: Mapping[str, np.ndarray]) -> Any:
    """Return a value of an annotated type, or refuse what is none."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and NoneType in parts:
        if value is None and place not in arrays:
            return None
        return _together(reduce(or_, [one for one in parts if one is not NoneType]), value, place, arrays)
    if np.ndarray in (origin, hint):
        array, kinds = arrays[place], get_args(parts[1]) if parts else ()
        if kinds and not np.issubdtype(array.dtype, kinds[0]):
            raise TypeError(f"{place} must be an array of {kinds[0].__name__}; its dtype is {array.dtype}")
        return array
    if hint is Any:
        return value
    if origin is Literal and value in parts:
        return value
    if hint in (bool, int, float, str):
        if not isinstance(value, float | int if hint is float else hint) or isinstance(value, bool) != (hint is bool):
            raise TypeError(f"{place} must be of type {hint.__name__}; got {str(value)[:40]!r}")
        return hint(value)
    if origin in (list, tuple) and isinstance(value, list):
        kinds = parts[:1] * len(value) if origin is list or ... in parts else parts
        return origin(
            _together(one, item, f"{place}.{k}", arrays) for k, (one, item) in enumerate(zip(kinds, value, strict=True))
        )
    if origin is dict and isinstance(value, dict) and (parts[0] is str or not value):
        return {key: _together(parts[1], one, f"{place}.{key}", arrays) for key, one in value.items()}
    if origin is dict and isinstance(value, list) and parts[0] is not str:
        return dict(_together(GenericAlias(list, GenericAlias(tuple, parts)), value, place, arrays))
    if not isinstance(value, dict):
        raise TypeError(f"{place} cannot be {str(value)[:40]!r}")
    return built(hint, value, under(place, arrays))


def under(place: str, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of a field's own fields, named by these."""
    start = f"{place}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


class CellStore:
    """The results of a command that is done in cells.

    A cell is one file of JSON, its record, which is written last, and files of its own beside it, whose sha256 the
    record holds. It is finished when all of them are there and fit, and is computed again otherwise: a process that is
    killed loses the cell that it was computing, and no other.

    Parameters
    ----------
    folder : Path
        Made with the first cell.
    endings : collection of str, default ()
        Of the files that every cell has beside its record.

    >>> import tempfile
    >>> store = CellStore(Path(tempfile.mkdtemp()), [".txt"])
    >>> store.save("first", {"n": 2}, {".txt": lambda path: path.write_text("two rows")})
    >>> store.find("first")["n"], store.find("second")
    (2, None)
    >>> _ = store.path("first", ".txt").write_text("damaged"); store.find("first") is None
    True
    """

    def __init__(self, folder: Path, endings: Collection[str] = ()) -> None:
        self.folder, self.endings = folder, frozenset(endings)

    def path(self, name: str, ending: str = ".json") -> Path:
        """Return the place of a cell's file: of its record, or with another ending."""
        return self.folder / f"{name}{ending}"

    def save(
        self, name: str, record: Mapping[str, Any], files: Mapping[str, Callable[[Path], object]] | None = None
    ) -> None:
        """Keep the result of a cell; from then on it is finished.

        Parameters
        ----------
        record : mapping
            JSON values.
        files : mapping of str to callable, optional
            What writes each of its files, by ending; called with the path to write to.
        """
        with disk_errors(f"folder {self.folder}"):
            self.folder.mkdir(parents=True, exist_ok=True)
            for ending, write in (files or {}).items():
                write_whole(self.path(name, ending), write)
            sums = {"sha256": {ending: digest(self.path(name, ending)) for ending in files}} if files else {}
            replace_file(self.path(name), (json.dumps({**record, **sums}, allow_nan=False) + "\n").encode())

    def find(self, name: str) -> dict[str, Any] | None:
        """Return the record of a cell; None if it is not finished, or damaged."""
        try:
            record = json.loads(self.path(name).read_bytes())
            sums = record.pop("sha256", {})
            fit = all(has_digest(self.path(name, ending), wanted) for ending, wanted in sums.items())
        except (OSError, ValueError, TypeError, AttributeError, RecursionError):
            return None
        return record if fit and self.endings == set(sums) else None
