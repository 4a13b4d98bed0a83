"""Documents: values that JSON can hold, typed parts with checked numbers, and YAML that is read safely.

A room that computes what a document stores makes a :class:`Part` of it, and the document holds it as it is.
"""

from __future__ import annotations

import json
import math
import re
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from miscal.base.errors import FileError, InputError


def number(value: Any) -> float | None:
    """Turn a computed number into a stored one: None where it is undefined.

    Parameters
    ----------
    value : float or None
        A number; NaN and infinity mean "undefined".

    >>> number(0.5), number(float("nan")), number(None)
    (0.5, None, None)
    """
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None


def interval(low: Any, high: Any) -> tuple[float, float] | None:
    """Store an interval, None unless both ends are defined.

    >>> interval(0, 1), interval(float("nan"), 1)
    ((0.0, 1.0), None)
    """
    low, high = number(low), number(high)
    return None if low is None or high is None else (low, high)


def plain(value: Any) -> Any:
    """Turn settings of any kind into what JSON can hold: plain numbers, strings, lists and dicts.

    Parameters
    ----------
    value : object
        Nested dicts, sequences, numpy scalars or arrays, paths.

    Returns
    -------
    object
        The same content without numpy types; undefined numbers are None, strings are valid UTF-8.

    >>> import numpy as np
    >>> plain({"sigma": np.float32(0.5), "grid": np.arange(2), "loss": float("inf")})
    {'sigma': 0.5, 'grid': [0, 1], 'loss': None}
    """
    if isinstance(value, dict):
        return {clean_text(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        # sets have no order of their own: sorted, the same content gives the same bytes
        return [plain(item) for item in (sorted(value) if isinstance(value, set | frozenset) else value)]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if value is None or isinstance(value, bool | int):
        return value
    return number(value) if isinstance(value, float) else clean_text(str(value))


def clean_text(text: str) -> str:
    r"""Replace what UTF-8 cannot hold (lone surrogates, from undecodable names) by U+FFFD.

    Returns
    -------
    str
        A string that encodes as UTF-8.

    >>> clean_text("caf\udce9") == "caf\ufffd"
    True
    """
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


Number = FiniteFloat | None
Interval = tuple[Number, Number] | None
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Probability = Share | None
Text = Annotated[str, BeforeValidator(lambda value: clean_text(value) if isinstance(value, str) else value)]
"""A text that comes from the data."""


class Part(BaseModel):
    """A part of a document: frozen, and without keys that it does not name."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Document(Part):
    """A document that is written as a file of its own."""

    def to_json(self) -> str:
        """Return the document as JSON text, the same bytes for the same content.

        Returns
        -------
        str
            Indented JSON, ASCII only, ending in a newline, without NaN or infinity.
        """
        return json.dumps(self.model_dump(mode="json", by_alias=True), indent=1, allow_nan=False) + "\n"


class Measure(Part):
    """A measured number and its 95 % interval; both null where undefined."""

    value: Number
    interval: Interval = None

    @classmethod
    def of(cls, found: Any) -> Self:
        """Take of an estimate what a document stores; what is undefined is None."""
        known = {name: getattr(found, name) for name in cls.model_fields}
        return cls(**known | {"value": number(found.value), "interval": interval(*(found.interval or (None, None)))})


class MeasureAgainstNull(Measure):
    """A measured number, its interval and the p-value of its null."""

    p_value: Probability = None


def parse_yaml(text: str, what: str) -> Any:
    """Read YAML without running anything it may name.

    Parameters
    ----------
    what : str
        What the text is, as messages begin.

    Returns
    -------
    object
        Of dict, list, str, numbers, dates, bool and None.

    >>> parse_yaml("seed: 3", "the plan")
    {'seed': 3}
    """
    import yaml

    twins: list[str] = []

    class Loader(yaml.SafeLoader):
        """Notes the keys that a mapping gives twice, before aliases are merged into it."""

        def compose_mapping_node(self, anchor: Any) -> Any:
            node = super().compose_mapping_node(anchor)
            seen: dict[tuple[str, str], Any] = {}
            for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
                first = seen.setdefault((key.tag, key.value), key)
                if first is not key:
                    lines = f"in line {first.start_mark.line + 1} and in line {key.start_mark.line + 1}"
                    twins.append(f"{what} gives the key {key.value!r} twice, {lines}")
            return node

    try:
        # as yaml.safe_load does it
        loader = Loader(text)
        try:
            content = loader.get_single_data()
        finally:
            loader.dispose()
        # a date that does not exist is a ValueError of its own
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FileError(f"{what} is not YAML: {' '.join(str(error).split())}") from None
    if twins:
        raise InputError(f"{twins[0]}: keep one of them")
    return content
