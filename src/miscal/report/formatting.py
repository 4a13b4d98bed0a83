"""Write numbers and texts for readers: sensible digits, units, never ``None`` or ``NaN``.

Probabilities are shown as percentages, differences of probabilities (the field, residuals, certificates) as signed
percentage points, scores (smECE, Brier, log loss) as plain numbers with three decimals. Texts of users are cleaned and
shortened.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from miscal.base import number_wording
from miscal.base.document import Measure

DASH = "\u2013"
MINUS = "\u2212"
THIN = "\u202f"
NBSP = "\u00a0"
USUAL, MOST = 1, 4
"""Decimals of percentage points."""


def finite(value: Any) -> float | None:
    """Return the number as a float, or None where it is undefined.

    Examples
    --------
    >>> finite(1), finite(float("nan")), finite(None), finite("x")
    (1.0, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def signed(value: Any, digits: int, times: int = 1) -> str:
    """Write a number with its sign, a true minus, and no sign on what rounds to zero; a dash where it is undefined."""
    number = finite(value)
    if number is None:
        return DASH
    text = f"{abs(times * number):,.{digits}f}"
    if not text.strip("0.,"):
        return text
    return ("+" if number > 0 else MINUS) + text


def points(value: Any, digits: int = 1) -> str:
    """Write a difference of probabilities in percentage points, signed, without the unit.

    Examples
    --------
    >>> points(0.0321), points(-0.2), points(0.0001), points(None)
    ('+3.2', '−20.0', '0.0', '–')
    """
    return signed(value, digits, 100)


def size(value: Any, digits: int = 1) -> str:
    """Write a size in percentage points, with a sign only below zero."""
    return points(value, digits).removeprefix("+")


def brief(value: Any) -> str:
    """Write a threshold in percentage points with no more digits than it has.

    Examples
    --------
    >>> brief(0.05), brief(0.025)
    ('5', '2.5')
    """
    number = finite(value)
    return DASH if number is None else f"{100 * number:.4g}"


def brief_points(value: Any) -> str:
    """Write a threshold with its unit.

    Examples
    --------
    >>> brief_points(0.05), brief_points(0.01)
    ('5 points', '1 point')
    """
    return f"{brief(value)} point{'' if brief(value) == '1' else 's'}"


def percent(value: Any, digits: int = 1) -> str:
    """Write a probability or share as a percentage on a page: a dash where undefined, a space that does not break.

    In sentences, :func:`miscal.base.number_wording.percent` writes whole per cents.

    Examples
    --------
    >>> percent(0.621) == "62.1\u202f%", percent(0.00021) == "0.021\u202f%"
    (True, True)
    """
    number = finite(value)
    if number is None:
        return DASH
    # what is not nothing is never called 0 %
    small = 0 < number < 0.5 * 10.0 ** -(digits + 2)
    written = number_wording.significant(100 * number) if small else f"{100 * number:.{digits}f}"
    return f"{written}{THIN}%"


def rate(value: Any) -> str:
    """Write a rate in whole per cents, or with two digits of what is small, without a space that breaks.

    Examples
    --------
    >>> rate(0.042) == "4.2\u202f%", rate(None)
    (True, '–')
    """
    number = finite(value)
    return DASH if number is None else number_wording.rate(number).replace(" ", THIN)


def metric(value: Any, digits: int = 3) -> str:
    """Write a score with three decimals; what rounds to zero has no sign.

    Examples
    --------
    >>> metric(0.0321), metric(-0.0001)
    ('0.032', '0.000')
    """
    return signed(value, digits).removeprefix("+")


def change(value: Any, digits: int = 4) -> str:
    """Write the difference of two losses, with its sign.

    Examples
    --------
    >>> change(0.01234), change(-0.5), change(None)
    ('+0.0123', '−0.5000', '–')
    """
    return signed(value, digits)


def ratio(value: Any, digits: int = 2) -> str:
    """Write a ratio with two decimals, and more than a hundred as that.

    Examples
    --------
    >>> ratio(0.934), ratio(212.3), ratio(None)
    ('0.93', 'over 100', '–')
    """
    number = finite(value)
    return DASH if number is None else "over 100" if number > 100 else f"{number:.{digits}f}"


def count(value: Any) -> str:
    """Write a count with thousands separated."""
    number = finite(value)
    return DASH if number is None else f"{number:,.0f}"


def p_value(value: Any) -> str:
    """Write a p-value as ``p = 0.012`` or ``p < 0.001``.

    Examples
    --------
    >>> [p_value(p).replace(NBSP, " ") for p in (0.0123, 1e-9, 1.0, None)]
    ['p = 0.012', 'p < 0.001', 'p = 1', 'p not defined']
    """
    number = finite(value)
    if number is None:
        return "p not defined"
    if number < 0.001:
        return f"p{NBSP}<{NBSP}0.001"
    return f"p{NBSP}={NBSP}{number:.2g}"


def bounds(interval: Any, form: str = "points", digits: int | None = None) -> str:
    """Write an interval as ``low to high`` in points, percent or as a metric; the empty string where it is undefined.

    Examples
    --------
    >>> bounds([-0.2, 0.1]), bounds([0.00014, 0.0022], digits=2)
    ('−20.0 to +10.0', '+0.01 to +0.22')
    """
    if not isinstance(interval, (list, tuple)) or len(interval) != 2 or any(finite(v) is None for v in interval):
        return ""
    given = {} if digits is None else {"digits": digits}
    low, high = (FORMS[form](v, **given) for v in interval)
    return f"{low.removesuffix(f'{THIN}%')} to {high}"


FORMS = {"points": points, "percent": percent, "rate": rate, "metric": metric, "change": change, "ratio": ratio}
"""Ways to write the ends of an interval."""


def lower_end(bound: Measure) -> float | None:
    """Return a lower limit; None where there is none.

    Examples
    --------
    >>> lower_end(Measure(value=0.12, interval=(0.0949, 1.0)))
    0.0949
    """
    return bound.interval[0] if bound.interval else None


def is_opposite(number: Any, side: int) -> bool:
    """Say whether a measure differs from zero in the direction other than `side` (-1 or +1).

    Examples
    --------
    >>> from miscal.base.document import Measure
    >>> is_opposite(Measure(value=-0.2, interval=(-0.3, -0.1)), 1), is_opposite(Measure(value=-0.2), 1)
    (True, False)
    """
    return number.interval is not None and max(side * end for end in number.interval) < 0


def seconds(value: Any) -> str:
    """Write a duration with its unit.

    Examples
    --------
    >>> seconds(0.04), seconds(7.33), seconds(75)
    ('0.04 s', '7.3 s', '1 min 15 s')
    """
    number = finite(value)
    if number is None:
        return DASH
    if number < 60:
        return f"{number:.2f} s" if number < 1 else f"{number:.1f} s"
    minutes, rest = divmod(round(number), 60)
    return f"{minutes} min {rest} s"


def decimals_for(epsilon: float | None) -> int:
    """Return the decimals of differences and sizes in percentage points: as many as show a tenth of the run's own band.

    One is enough where the band that counts as well calibrated is a point or wider; of rare events it is narrower.
    Scores such as the log loss have two more.

    Examples
    --------
    >>> [decimals_for(band) for band in (0.05, 0.01, 0.001, 0.00025, None)]
    [1, 1, 2, 3, 1]
    """
    if not epsilon:
        return USUAL
    return min(MOST, max(USUAL, math.ceil(1 - math.log10(100 * epsilon) - 1e-9)))


Content = TypeVar("Content")

#: Longer lists are cut to their first values, with their full length stated.
MAX_LISTED, FIRST_LISTED = 8, 5
#: Surrogates cannot be written as UTF-8; control characters are errors in HTML.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def clean(text: Any) -> str:
    """Replace everything that HTML or UTF-8 cannot carry by U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", str(text))


def printable(value: Content) -> Content:
    r"""Return the same content, of the same type, in characters that a page can carry.

    Examples
    --------
    >>> printable({"a\x00": ("b", 1)})
    {'a\ufffd': ('b', 1)}
    """
    if isinstance(value, BaseModel):
        return value.model_copy(update={name: printable(inner) for name, inner in value})
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        inner = [printable(one) for one in value]
        # a named tuple takes its values one by one
        return type(value)(*inner) if hasattr(value, "_fields") else type(value)(inner)
    if isinstance(value, dict):
        return {clean(key): printable(inner) for key, inner in value.items()}
    return value


def short(text: Any, length: int = 80) -> str:
    """Cut the text to `length` characters with its full length stated where it was cut.

    Examples
    --------
    >>> short("abcdef", 3)
    'abc… (6 characters)'
    """
    text = str(text)
    return clean(text) if len(text) <= length else f"{clean(text[:length])}… ({count(len(text))} characters)"


def first_sentence(text: str) -> tuple[str, str]:
    """Split a text after its first sentence; the rest is empty where there is only one.

    Examples
    --------
    >>> first_sentence("It is late. Go home. Now.")
    ('It is late.', 'Go home. Now.')
    """
    first, stop, rest = text.strip().partition(". ")
    return (f"{first}.", rest.strip()) if stop else (first, "")


def begin(text: str) -> str:
    """Write a phrase as the beginning of a sentence.

    Examples
    --------
    >>> begin("over-confident rows of the UK")
    'Over-confident rows of the UK'
    """
    return text[:1].upper() + text[1:]


def listed(items: Sequence[str], last: str = "or") -> str:
    """Write a list as a sentence has it.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
    ('a', 'a or b', 'a, b or c')
    """
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def setting(value: Any) -> str:
    """Put any JSON value of the settings into words.

    Examples
    --------
    >>> setting(None), setting(True), setting([1, 0.25]), setting({"a": 1})
    ('not set', 'yes', '1, 0.25', 'a: 1')
    >>> setting(list(range(100)))
    '0, 1, 2, 3, 4, … (100 in all)'
    """
    if value is None or value == "":
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        number = finite(value)
        if number is None:
            return "not defined"
        return (str(value) if isinstance(value, int) else f"{number:.5g}").replace("-", MINUS)
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {setting(inner)}" for key, inner in value.items()) or "none"
    if isinstance(value, Sequence) and not isinstance(value, str):
        shown = value if len(value) <= MAX_LISTED else value[:FIRST_LISTED]
        rest = [] if len(shown) == len(value) else [f"… ({count(len(value))} in all)"]
        return ", ".join([*map(setting, shown), *rest]) or "none"
    return short(value, 300)
