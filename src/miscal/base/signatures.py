"""Check what a public function is called with: that it has such arguments, and that they are of the types it names."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cache, wraps
from os import PathLike
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from miscal.base.arrays import did_you_mean, value_list
from miscal.base.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

_WORDS: dict[Any, tuple[str, Any]] = {
    str: ("text", str),
    bool: ("True or False", (bool, np.bool_)),
    int: ("a whole number", numbers.Real),
    float: ("a number", numbers.Real),
    NoneType: ("None", NoneType),
    Path: ("a path", PathLike),
    Mapping: ("a dictionary", Mapping),
    Sequence: ("a list", Collection),
    tuple: ("a pair", Collection),
}
"""By what is annotated: what messages call it, and of which types it may be."""


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """Refuse arguments that a function does not have, and values of other types than it names.

    What a list holds, and what else a value must be, is for the function to check.

    >>> @checked_call
    ... def repeat(text: str, *, times: int = 2) -> str:
    ...     return text * times
    >>> repeat("a", times=3)
    'aaa'
    >>> repeat("a", tims=3)
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: repeat has no argument 'tims'; did you mean 'times'?
    >>> repeat("a", times=len)
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: times must be a whole number; got a value of type builtin_function_or_method
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        parameters, hints = _expected(function)
        _refuse_unknown(function.__name__, parameters, args, kwargs)
        for name, value in inspect.signature(function).bind(*args, **kwargs).arguments.items():
            kinds = hints.get(name, {})
            if kinds and not any(_is(value, kind) for kind in kinds):
                allowed = list(dict.fromkeys(kinds.values()))
                either = " or ".join([", ".join(allowed[:-1]), allowed[-1]] if allowed[1:] else allowed)
                plain = isinstance(value, (str, numbers.Number, NoneType))
                shown = value_list([value]) if plain else f"a value of type {type(value).__name__}"
                raise InputError(f"{name} must be {either}; got {shown}")
        return function(*args, **kwargs)

    return call


@cache
def _expected(function: Callable) -> tuple[dict[str, inspect.Parameter], dict[str, dict[Any, str]]]:
    """Parameters of a function; and of those that allow only known types, each type with what messages call it."""
    parameters = dict(inspect.signature(function).parameters)
    known = {}
    for one in parameters.values():
        # a type that is imported for type checkers alone is not known here
        with suppress(NameError):
            named = SimpleNamespace(__annotations__={one.name: one.annotation})
            kinds = _kinds(get_type_hints(named, inspect.unwrap(function).__globals__)[one.name])
            known |= {one.name: kinds} if kinds and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) else {}
    return parameters, known


def _kinds(hint: Any) -> dict[Any, str]:
    """Types that a hint allows, with words for each; none where it allows anything else, too."""
    if get_origin(hint) in (Union, UnionType):
        parts = [_kinds(one) for one in get_args(hint)]
        return {kind: words for part in parts for kind, words in part.items()} if all(parts) else {}
    if get_origin(hint) is Literal:
        return {type(get_args(hint)[0]): "one of " + ", ".join(map(repr, get_args(hint)))}
    kind = get_origin(hint) or hint
    return {kind: _WORDS[kind][0]} if kind in _WORDS else {}


def _is(value: Any, kind: Any) -> bool:
    if kind in (int, float) and isinstance(value, (bool, np.bool_)):
        return False
    if kind is int and isinstance(value, numbers.Real) and not isinstance(value, numbers.Integral):
        return float(value).is_integer()
    if kind in (Sequence, tuple) and isinstance(value, (str, bytes, Mapping)):
        return False
    return isinstance(value, _WORDS[kind][1])


def _refuse_unknown(
    function: str, parameters: Mapping[str, inspect.Parameter], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    kinds = {one.kind for one in parameters.values()}
    unknown = [name for name in kwargs if name not in parameters]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        raise InputError(f"{function} has no argument {unknown[0]!r}{did_you_mean(unknown[0], parameters)}")
    placed = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY]
    if len(args) > len(placed) and named and inspect.Parameter.VAR_POSITIONAL not in kinds:
        raise InputError(
            f"{function} takes {len(placed)} arguments by their place ({', '.join(placed)}); got {len(args)}: name the "
            f"others, as in {named[0]}=..."
        )
