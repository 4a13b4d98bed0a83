"""Write numbers in sentences: rounded, but never to a zero that is not one."""

from __future__ import annotations

import math


def decimal(value: float, places: int) -> str:
    """Write a number with so many decimals, or with one digit that is not zero where they would all be zeros.

    >>> decimal(1234.56, 1), decimal(0.04, 1), decimal(-0.0004, 2), decimal(0.0, 1)
    ('1,234.6', '0.04', '-0.0004', '0.0')
    """
    return f"{value:.1g}" if value and round(value, places) == 0 else f"{value:,.{places}f}"


def score(value: float) -> str:
    """Write a score with three decimals, or one digit that is not zero; what is left of rounding errors is zero.

    Examples
    --------
    >>> score(0.0318), score(0.00021), score(-3e-17)
    ('0.032', '0.0002', '0.000')
    """
    return decimal(value if abs(value) > 1e-9 else 0.0, 3)


def significant(value: float, digits: int = 2) -> str:
    """Write a number with so many digits that count, never with an exponent.

    >>> significant(0.1234), significant(-0.00021), significant(0.996), significant(12.3), significant(0.0)
    ('0.12', '-0.00021', '1.0', '12', '0.0')
    """
    if not value or not math.isfinite(value):
        return f"{value:.{digits - 1}f}"
    # by the number as it will be rounded, so that 0.996 is not written as 1.00
    rounded = float(f"{value:.{digits - 1}e}")
    return f"{rounded:.{max(0, digits - 1 - math.floor(math.log10(abs(rounded))))}f}"


def percent(share: float, digits: int = 0) -> str:
    """Write a share in per cent; what is not all is never called 100 %, and what is not nothing never 0 %.

    Parameters
    ----------
    share : float
        In [0, 1].
    digits : int, default 0
        Decimals; a share below 1 % has two digits that count, if these are more.

    >>> percent(0.312), percent(0.312, 1), percent(0.9999), percent(0.9999, 1), percent(1.0)
    ('31 %', '31.2 %', 'over 99 %', 'over 99.9 %', '100 %')
    >>> percent(0.0021), percent(0.0021, 1), percent(0.00001), percent(0.0)
    ('0.21 %', '0.21 %', '0.0010 %', '0 %')
    """
    if 0 < share < 0.00995:
        return f"{significant(100 * share)} %"
    number, whole = f"{100 * share:.{digits}f}", f"{100:.{digits}f}"
    return f"over {100 - 10**-digits:.{digits}f} %" if number == whole and share < 1 else f"{number} %"


def spoken(share: float) -> str:
    """Write a share as one says it: in whole per cents, and with two digits below 10 %.

    >>> spoken(0.613), spoken(0.0032), spoken(0.042), spoken(0.9996)
    ('61 %', '0.32 %', '4.2 %', 'over 99 %')
    """
    if 0.99 < share < 1:
        return "over 99 %"
    return f"{significant(100 * share) if 0 < share < 0.0995 else f'{100 * share:.0f}'} %"


def rate(share: float) -> str:
    """Write a rate in whole per cents; below 10 % with two digits, and above 99 % with two digits of the rest.

    >>> rate(0.312), rate(0.042), rate(0.00042), rate(0.958), rate(0.9958), rate(0.0), rate(1.0)
    ('31 %', '4.2 %', '0.042 %', '96 %', '99.58 %', '0 %', '100 %')
    """
    places = _places(share, 2) if share < 0.1 or share > 0.99 else 0
    return f"{100 * share:.{places}f} %"


def threshold_text(threshold: float) -> str:
    """Write a threshold in per cent, with three digits of what it or the rest of it is, but no zeros at the end.

    >>> threshold_text(0.8), threshold_text(1 / 3), threshold_text(0.00125), threshold_text(0.9995)
    ('80 %', '33.3 %', '0.125 %', '99.95 %')
    """
    number = f"{100 * threshold:.{max(_places(threshold, 3), 1)}f}"
    return f"{number.rstrip('0').rstrip('.')} %"


def _places(share: float, digits: int) -> int:
    """Decimals of a per cent that show so many digits of it, or of the rest, whichever is smaller; at most 8."""
    least = 100 * min(share, 1 - share)
    # of 0.9999 %, which rounds to 1.0, two digits are those of a number above 1
    return min(8, max(0, digits - 1 - math.floor(math.log10(least * 1.0005)))) if least > 1e-7 else 0


def lower_limit(limit: float) -> str:
    """Write a lower limit in percentage points, rounded down, so that the words never promise more than the number.

    Parameters
    ----------
    limit : float
        Above 0, in [0, 1]; a tenth of a point and more has one decimal, less has one digit that counts.

    >>> lower_limit(0.0949), lower_limit(0.148), lower_limit(0.00043), lower_limit(0.0009)
    ('9.4', '14.8', '0.04', '0.09')
    """
    # 0.148 is 14.8 points, though 100 times its double is a little less
    low = 100 * limit * (1 + 1e-9)
    unit = 0.1 if low >= 0.1 else 10.0 ** math.floor(math.log10(low))
    floored = math.floor(low / unit + 1e-9) * unit
    return f"{floored:.1f}" if unit == 0.1 else significant(floored, 1)


def upper_limit(limit: float) -> str:
    """Write an upper limit in percentage points, rounded up, so that the words never promise less than the number.

    >>> upper_limit(0.0941), upper_limit(0.148), upper_limit(0.00043), upper_limit(0.12), upper_limit(0.0)
    ('9.5', '14.8', '0.05', '12', '0')
    """
    high = 100 * limit * (1 - 1e-9)
    unit = 0.1 if high >= 0.1 or high <= 0 else 10.0 ** math.floor(math.log10(high))
    return f"{round(math.ceil(high / unit - 1e-9) * unit, 12):g}"


def units_and_rows(units: float, rows: float, unit: str = "unit") -> str:
    """Write how many units are needed, with about how many rows these have where rows are no units.

    Examples
    --------
    >>> units_and_rows(370, 48_000, "day"), units_and_rows(1_234, 1_234, "row")
    ('370 days (48,000 rows)', '1,300 rows')
    """
    if units >= rows:
        return f"{round_up(rows)} rows"
    return f"{round_up(units)} {unit}s ({round_up(rows)} rows)"


def round_up(rows: float) -> str:
    """Write a number of rows with two digits that count, rounded up.

    >>> round_up(7.2), round_up(1_234), round_up(40_000)
    ('8', '1,300', '40,000')
    """
    whole = math.ceil(rows)
    step = 10 ** max(0, len(str(whole)) - 2)
    return f"{-(-whole // step) * step:,}"


def duration(seconds: float) -> str:
    """Write seconds as seconds, minutes or hours.

    Parameters
    ----------
    seconds : float
        At least 0.

    >>> duration(0.0123), duration(3.14), duration(600), duration(9000), duration(4e6), duration(0)
    ('0.012 s', '3.1 s', '10.0 min', '2.5 h', '1,111 h', '0 s')
    """
    if seconds < 1:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 100 else f"{hours:,.0f} h"
