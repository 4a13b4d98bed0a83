"""Write numbers for readers: sensible digits, units, never ``None`` or ``NaN``.

Probabilities are shown as percentages, differences of probabilities (the field, residuals, certificates) as signed
percentage points, scores (smECE, Brier, log loss) as plain numbers with three decimals.
"""

import math
from typing import Any

DASH = "\u2013"
MINUS = "\u2212"
THIN = "\u202f"
NBSP = "\u00a0"


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


def signed(value: float, digits: int) -> str:
    """Write a number with its sign, a true minus, and no sign on what rounds to zero."""
    text = f"{abs(value):,.{digits}f}"
    if not text.strip("0.,"):
        return text
    return ("+" if value > 0 else MINUS) + text


def points(value: Any, digits: int = 1) -> str:
    """Write a difference of probabilities in percentage points, signed, without the unit.

    Examples
    --------
    >>> points(0.0321), points(-0.2), points(0.0001), points(None)
    ('+3.2', '−20.0', '0.0', '–')
    """
    number = finite(value)
    return DASH if number is None else signed(100 * number, digits)


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
    >>> percent(0.621) == "62.1\u202f%"
    True
    """
    number = finite(value)
    return DASH if number is None else f"{100 * number:.{digits}f}{THIN}%"


def metric(value: Any) -> str:
    """Write a score with three decimals; what rounds to zero has no sign.

    Examples
    --------
    >>> metric(0.0321), metric(-0.0001)
    ('0.032', '0.000')
    """
    number = finite(value)
    return DASH if number is None else signed(number, 3).removeprefix("+")


def change(value: Any) -> str:
    """Write the difference of two losses, with its sign.

    Examples
    --------
    >>> change(0.01234), change(-0.5), change(None)
    ('+0.0123', '−0.5000', '–')
    """
    number = finite(value)
    return DASH if number is None else signed(number, 4)


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


def bounds(interval: Any, form: str = "points") -> str:
    """Write an interval as ``low to high`` in points, percent or as a metric; the empty string where it is undefined.

    Examples
    --------
    >>> bounds([-0.2, 0.1])
    '−20.0 to +10.0'
    """
    if not isinstance(interval, (list, tuple)) or len(interval) != 2 or any(finite(v) is None for v in interval):
        return ""
    low, high = ({"points": points, "percent": percent, "metric": metric, "change": change}[form](v) for v in interval)
    return f"{low.removesuffix(f'{THIN}%')} to {high}"


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
