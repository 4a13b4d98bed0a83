"""Turn computed values into what JSON can hold: finite numbers, intervals, lists and valid text."""

import math
import re
from typing import Any


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
