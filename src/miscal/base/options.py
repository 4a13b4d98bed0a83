"""Options as fields of dataclasses: the command line's options and Python's arguments are both made of them."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, field, fields
from typing import Any, TypeVar, get_type_hints

F = TypeVar("F", bound=Callable)
T = TypeVar("T")

_WIDTH = 112
"""Characters of a line of documentation, without its indent."""


def parameter(
    help: str,
    default: Any = None,
    *,
    metavar: str | None = None,
    parse: Callable[[str], Any] | None = None,
    repeat: Callable[[list], Any] | None = None,
) -> Any:
    """Return a field that is an option.

    Parameters
    ----------
    help : str
        What the command line says of it, and with other names of options Python's documentation.
    metavar : str, optional
        What stands for its value at a shell.
    parse : callable, optional
        Makes the value of what is given at a shell; a ValueError says what is allowed.
    repeat : callable, optional
        Of an option that may be given several times: makes the value of all that was given.
    """
    return field(default=default, metadata={"help": help, "metavar": metavar, "parse": parse, "repeat": repeat})


def of_fields(kind: type[T], options: Mapping[str, Any]) -> T:
    """Make a dataclass of those of the options that are its fields."""
    return kind(**{one.name: options[one.name] for one in fields(kind) if one.name in options})  # type: ignore[arg-type]


def given(options: Any) -> dict[str, Any]:
    """Return what a dataclass of options holds beside the defaults."""
    return {one.name: value for one in fields(options) if (value := getattr(options, one.name)) != one.default}


def takes(*kinds: type, but: Collection[str] = ()) -> Callable[[F], F]:
    """Give a function that takes ``**options`` the fields of dataclasses, but for some, as its documented arguments.

    A line ``**options`` of its docstring is replaced by what the fields say.
    """

    def decorate(function: F) -> F:
        own = [one for one in inspect.signature(function).parameters.values() if one.kind is not one.VAR_KEYWORD]
        names = {*but, *(one.name for one in own)}
        options = {one.name: one for kind in kinds for one in fields(kind) if one.name not in names}
        hints = {name: hint for kind in kinds for name, hint in get_type_hints(kind).items()}
        made = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=hints[name])
            for name, one in options.items()
        ]
        placed = [one for one in own if one.kind is not one.KEYWORD_ONLY]
        function.__signature__ = inspect.Signature([*placed, *made, *own[len(placed) :]])  # type: ignore[attr-defined]
        described = "".join(map(_described, options.values()))
        function.__doc__ = (function.__doc__ or "").replace("    **options\n", textwrap.indent(described, " " * 4))
        return function

    return decorate


def _described(one: Field) -> str:
    text = re.sub(r"--([a-z][a-z-]*)", lambda found: f"`{found[1].replace('-', '_')}`", one.metadata["help"])
    default = "optional" if one.default is None else f"default {one.default!r}"
    kind = str(one.type).removesuffix(" | None")
    return f"{one.name} : {kind}, {default}\n{textwrap.indent(textwrap.fill(text, _WIDTH), ' ' * 4)}\n"


# --- values that are given as text --------------------------------------------------------------------------------


def number(kind: type, low: float, *, below: float | None = None, most: int | None = None) -> Callable[[object], float]:
    """Return what parses a number in a range, and says what was given.

    >>> number(int, 1)("3")
    3
    """
    words = f"a {'whole ' if kind is int else ''}number of at least {low}"
    words += (f" and below {below}" if below else "") + (f" and at most {most}" if most else "")

    def fits(value: float) -> bool:
        return value >= low and (below is None or value < below) and (most is None or value <= most)

    def parse(text: object) -> float:
        return _parsed(text, kind, fits, words)

    return parse


def _parsed(text: object, parse: Callable[[Any], Any], fits: Callable[[Any], bool], words: str) -> Any:
    """Parse a value, and say what was given where it cannot be parsed or does not fit."""
    try:
        value = parse(text)
    except ValueError:
        value = None
    if value is None or not fits(value):
        given = str(text)
        raise ValueError(f"must be {words}; got {given if len(given) <= 40 else given[:37] + '...'!r}")
    return value


def _floats(text: object) -> tuple[float, ...]:
    return tuple(float(part) for part in str(text).split(","))


def numbers(text: object) -> tuple[float, ...]:
    """Parse a comma-separated list of numbers, and say what was given.

    >>> numbers("0.2, 1e-3")
    (0.2, 0.001)
    """
    return _parsed(text, _floats, bool, "numbers separated by commas, e.g. 0.2,0.6")


def between(text: object) -> float:
    """Parse a number above 0 and below 1."""
    return _parsed(str(text), float, lambda one: 0 < one < 1, "a number above 0 and below 1, such as 0.8")


def costs(text: object) -> tuple[float, ...]:
    """Parse the costs of a miss and of a needless action.

    >>> costs("9,1")
    (9.0, 1.0)
    """
    words = "two positive numbers, the cost of a miss (false negative) and that of a needless action (false positive)"
    return _parsed(
        text,
        _floats,
        lambda found: len(found) == 2 and all(0 < one < float("inf") for one in found),
        f"{words}, such as 9,1",
    )
