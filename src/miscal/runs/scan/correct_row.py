"""The corrected probability of a row, by Python alone: with its numbers, this text is correction.py of a scan."""

import math
from bisect import bisect_right
from datetime import date, datetime

CORRECTION: dict = {}
CLIP, EPOCH = 1e-4, datetime(1970, 1, 1)
TRUTHS = {"true": "True", "1": "True", "false": "False", "0": "False"}


def correct(row: dict) -> "float | None":
    """Return the corrected probability of a row given by names of columns; None where its probability is none."""
    f = row[CORRECTION["probability"]]
    if f is None or not 0 <= f <= 1:
        return None
    base = mapped(float(f))
    shift = sum(shift_of(row, one) for one in CORRECTION["shifts"])
    return base if shift == 0 else probability(log_odds(base) + shift)


def mapped(f: float) -> float:
    """Return what the map makes of a probability."""
    found = CORRECTION["map"]
    if found["name"] == "platt":
        return probability(found["slope"] * log_odds(f) + found["intercept"])
    if found["name"] == "identity":
        return f
    knots, values = found["knots"], found["values"]
    if f <= knots[0] or f >= knots[-1]:
        return values[0] if f <= knots[0] else values[-1]
    k = bisect_right(knots, f)
    return values[k - 1] + (f - knots[k - 1]) * ((values[k] - values[k - 1]) / (knots[k] - knots[k - 1]))


def log_odds(p: float) -> float:
    """Return the log-odds of a probability taken as at least CLIP away from 0 and 1."""
    p = min(max(p, CLIP), 1 - CLIP)
    return math.log(p) - math.log1p(-p)


def probability(odds: float) -> float:
    """Return the probability that has some log-odds."""
    return 1 / (1 + math.exp(-odds))


def shift_of(row: dict, one: dict) -> float:
    """Return by how much a shift moves the log-odds of a row."""
    cells = tuple(cell_of(row[column["column"]], column) for column in one["columns"])
    if one["scores"]:
        return one["size"] * one["scores"][cells[0]] if 0 <= cells[0] < len(one["scores"]) else 0.0
    return 0.0 if (cells in one["cells"]) == one["others"] else one["size"]


def cell_of(value: object, column: dict) -> int:
    """Return the number of the cell of a value: the last where it is missing, -1 where it has none."""
    values, edges = column["values"], column["edges"]
    missing = len(values) if values else len(edges) + 1
    if value is None or value != value:
        return missing
    if column["kind"] == "text":
        text = str(value)
        text = TRUTHS.get(text, text) if column["truth"] else text
        return values.index(text) if text in values else -1
    number = seconds(value, column["timed"]) if column["kind"] == "date" else float(value)  # type: ignore[arg-type]
    if math.isinf(number):
        return missing
    if values:
        return values.index(number) if number in values else -1
    return bisect_right(edges, number)


def seconds(value: object, timed: bool) -> float:
    """Return the seconds since 1970 of a date, a time, or the ISO text of one; of dates alone those of the day."""
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, date) and not (timed and isinstance(value, datetime)):
        value = datetime(value.year, value.month, value.day)
    return (value - EPOCH).total_seconds()  # type: ignore[operator]
