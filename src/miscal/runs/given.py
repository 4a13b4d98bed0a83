"""Put what is given in Python together as one table: a frame, arrays, columns by name and columns as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any

from miscal.base.arrays import is_frame
from miscal.base.checks import check_features, check_lengths, one_dimensional
from miscal.base.errors import InputError
from miscal.base.frames import FrameKind, refuse_other_order
from miscal.data.columns import SINGLE, name_of
from miscal.data.readers.class_columns import class_names
from miscal.data.readers.opening import collected, is_table, with_columns

NAMING = ("metadata", "names_only")
"""Arguments that name columns, or hold a table of them."""


@dataclass(frozen=True, eq=False)
class Given:
    """Data as readers take them.

    Attributes
    ----------
    source : path, frame or dictionary of arrays
    options : dict
        Where the columns are, by name.
    frames : FrameKind
        The kind of frame that results are given in.
    """

    source: Any
    options: dict[str, Any]
    frames: FrameKind


def put_together(data: Any, y: Any = None, **options: Any) -> Given:
    """Put data together.

    `data` (n, d): an array is x, as embeddings are; `y` (n,): outcomes; the columns of a frame are then inputs;
    `options`: as for :func:`miscal.discover`: those of `SINGLE` are the name of a column or its values, those of
    `NAMING` names of columns or a table of them.
    """
    data = collected(data)
    options = {name: value for name, value in options.items() if value is not None}
    if y is not None:
        event = "confidence" not in options and not {"probability", "event", "positive"}.isdisjoint(options)
        name = "human" if "judge" in options else "event" if event else "correct"
        if name in options:
            raise InputError(f"outcomes are given twice, as y and as {name}: leave one of them out")
        options[name] = y
    values, options = _values(options)
    frames = FrameKind.of(data)
    refuse_other_order({"data": data, **values, "embeddings": options.get("embeddings")})
    if isinstance(data, str) or hasattr(data, "__fspath__"):
        if values:
            raise InputError(
                f"{next(iter(values))} must be the name of a column where the data are a file: read the file into a "
                "frame to give values of your own"
            )
        return Given(data, options, frames)
    if not is_table(data):
        # an array is taken as embeddings are, beside the values of columns
        if "embeddings" in options:
            raise InputError(
                "embeddings are given twice: leave them out where the data are an array, which is the inputs"
            )
        if not values or not hasattr(data, "__len__"):
            raise InputError(
                "data must be a table, a path, or an array of inputs with outcomes and probabilities beside it, as in "
                f"discover(X, y, confidence=f); got a value of type {type(data).__name__} alone"
            )
        check_lengths(X=data, **values)
        return Given(values, options | {"embeddings": data}, FrameKind())
    names = list(data) if isinstance(data, Mapping) else getattr(data, "column_names", data.columns)
    taken = [name for name in values if name in map(str, names)]
    if taken:
        raise InputError(
            f"{taken[0]} is given as values, but the data have a column {taken[0]!r}, too: name that column, or drop it"
        )
    return Given(with_columns(data, values) if values else data, options, frames)


def _values(options: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Take the values out of the options, and leave the names of their columns there."""
    values: dict[str, Any] = {}
    named = dict(options)
    for role in SINGLE:
        one = options.get(role)
        if isinstance(one, (str, Real)):
            named[role] = name_of(one, what=role)
        elif one is not None:
            pairs = isinstance(one, (list, tuple)) and one and isinstance(one[0], (list, tuple))
            shape = (len(one), len(one[0])) if pairs else getattr(one, "shape", ())
            if len(shape) == 2:
                raise InputError(one_dimensional(role, shape))
            values[role], named[role] = one, role
    named |= _of_classes(named, values)
    for role in NAMING:
        table = collected(options.get(role))
        if isinstance(table, Mapping) or is_frame(table):
            columns = with_columns(table, {})
            names = list(columns) if isinstance(columns, Mapping) else columns.columns
            values |= {name: columns[name] for name in names}
            named[role] = list(names)
    return values, named


def _of_classes(options: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Add probabilities of classes that are given as values, a column for each class, and return how they are named."""
    given = collected(options.get("probabilities"))
    names_alone = isinstance(given, (list, tuple)) and all(isinstance(one, str) for one in given)
    if given is None or isinstance(given, (str, Path)) or names_alone:
        return {}
    if isinstance(given, Mapping) or is_frame(given):
        columns = with_columns(given, {})
        names = [str(name) for name in (columns if isinstance(columns, Mapping) else columns.columns)]
        by_name = [columns[name] for name in (columns if isinstance(columns, Mapping) else names)]
    else:
        matrix = check_features(given, name="probabilities", narrow=False)
        if options.get("classes") is None:
            raise InputError(
                f"classes: probabilities of shape {matrix.shape} do not say what their columns are: give the names of "
                "the classes in this order, as in discover(frame, probabilities=p, label='y', classes=model.classes_)"
            )
        names, by_name = list(class_names(options["classes"])), list(matrix.T)
        if len(names) != len(by_name):
            raise InputError(f"classes: {len(names)} names are given for the {len(by_name)} columns of probabilities")
    names_of_classes = names if options.get("classes") is None else list(class_names(options["classes"]))
    columns_of = [value_column(name) for name in names]
    values |= dict(zip(columns_of, by_name, strict=True))
    return {"probabilities": columns_of, "classes": names_of_classes}


def value_column(name: str) -> str:
    """Return what the column of a class is called whose probabilities are given as values."""
    return f"probability of {name}"
