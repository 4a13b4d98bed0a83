"""How often columns that are known only after the outcome are named, and how often columns without a leak are.

    python benchmarks/known_later.py [--draws 50] [--jobs 1]

Each table has five honest columns (a category, two numbers of which one has blanks, a date, a count), of which the
outcome depends beyond the probability, 300 to 5,000 rows, and an event of 5 to 50 %. One of twelve kinds of leak is
added; it is named where an alarm, or the note on columns that tell much only together, names of its columns and no
honest one. Tables without a leak also have what looks like one and is none: a level that never has the event (children
who do not work), blanks that have it more often, a column that a weak model overlooked. Only `read_triples` is run.
Targets: named in at least 95 % of all tables with a leak, an alarm in at most 1 % of those without.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import polars as pl
from scipy.special import expit, logit

from _shares import FOUND, Question, ask
from _validity_counts import Told
from miscal.data.readers.read import read_triples

NOTHING = "nothing"
DAY = np.timedelta64(1, "D")
Columns = dict[str, np.ndarray]


def flipped(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Outcomes, but for a share of them."""
    return np.where(rng.random(len(y)) < share, 1 - y, y)


def blanked(values: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """Numbers with blanks."""
    return np.where(blank, np.nan, values)


def key(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """Give an answer, and a right one that now and then has another form."""
    said = rng.integers(0, 2, len(y))
    right = np.where(flipped(y, 0.03, rng) == 1, said, 1 - said)
    return {"said": np.array(["no", "yes"])[said], "later": np.array(["false", "true"])[right]}


def parts(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """Three numbers whose sum decides."""
    one, two = rng.normal(0, 1, (2, len(y)))
    return {"one": one, "two": two, "three": 1.5 * (2 * y - 1) - one - two + rng.normal(0, 0.3, len(y))}


def dates(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """When it was due, and when it came."""
    due = np.datetime64("2024-01-01", "ms") + rng.integers(0, 90 * 24, len(y)) * np.timedelta64(1, "h")
    late = np.where(y == 1, rng.integers(16, 300, len(y)), rng.integers(-30, 16, len(y)))
    return {"due": due, "came": due + late * np.timedelta64(1, "m")}


def arrival(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """When in minutes it was due, and came."""
    due = rng.integers(300, 1_400, len(y))
    return {"due": due, "came": due + np.where(y == 1, rng.integers(16, 300, len(y)), rng.integers(-30, 16, len(y)))}


def middle(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """Give a number that is neither small nor large with the event."""
    return {"later": np.where(y == 1, 1, rng.choice([0.4, 2.5], len(y))) * rng.lognormal(0, 0.15, len(y))}


def blank_with(event: int) -> Callable[[np.ndarray, np.random.Generator], Columns]:
    """Make a number that is blank in half of the rows of one outcome."""
    return lambda y, rng: {"later": blanked(rng.normal(size=len(y)), (y == event) & (rng.random(len(y)) < 0.5))}


def amount(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """Give a number that is filled in nearly always with the event, and never without it."""
    return {"later": blanked(rng.lognormal(size=len(y)), (y == 0) | (rng.random(len(y)) < 0.05))}


def state(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """Give one of five states."""
    after, before = rng.choice(["paid", "sued"], len(y)), rng.choice(["open", "new", "void"], len(y))
    return {"later": np.where(flipped(y, 0.03, rng) == 1, after, before)}


def end(y: np.ndarray, rng: np.random.Generator) -> Columns:
    """Give a date, later with the event."""
    return {"later": np.datetime64("2024-01-01") + (rng.integers(0, 90, len(y)) + 150 * flipped(y, 0.04, rng)) * DAY}


LEAKS: dict[str, Callable[[np.ndarray, np.random.Generator], Columns]] = {
    "equal but for 7 % of rows": lambda y, rng: {"later": flipped(y, 0.07, rng)},
    "number, AUC .988": lambda y, rng: {"later": 3.2 * y + rng.normal(size=len(y))},
    "number in the middle": middle,
    "blank only with the event": blank_with(1),
    "blank only without it": blank_with(0),
    "filled in with the event": amount,
    "state of the case": state,
    "date of the end": end,
    "answer and key, 3 % in other words": key,
    "minutes due and come": arrival,
    "dates due and come": dates,
    "sum of three": parts,
}


def honest(draw: int, kind: str) -> tuple[Columns, np.ndarray, np.random.Generator]:
    """Draw columns, probabilities and outcomes of a table without a leak."""
    rng = np.random.default_rng((draw, 47, [*LEAKS, NOTHING].index(kind)))
    n = int(np.exp(rng.uniform(np.log(300), np.log(5_000))))
    region, age = rng.integers(0, 6, n), rng.integers(10, 90, n)
    income, visits = rng.lognormal(3, 0.6, n), rng.poisson(3, n)
    opened = np.datetime64("2023-01-01") + rng.integers(0, 400, n) * DAY
    base = logit(rng.uniform(0.05, 0.5))
    seen = base + rng.normal(0, 0.5, 6)[region] + 0.02 * (age - 50) * rng.normal() + rng.normal(0, 0.7, n)
    true = seen + 0.8 * (region == 2) + rng.normal(0, 0.5) * (np.log(income) - 3)
    if kind == NOTHING:
        overlooked, blank = rng.normal(size=n), rng.random(n) < 0.15
        true += rng.uniform(0, 1.5) * overlooked + rng.uniform(-1.5, 1.5) * blank - 30.0 * (age < 15)
        columns = {"overlooked": overlooked, "income": blanked(income, blank)}
    else:
        columns = {"income": blanked(income, rng.random(n) < 0.1)}
    y = (rng.random(n) < expit(true)).astype(int)
    columns |= {"region": np.array(list("abcdef"))[region], "age": age, "visits": visits, "opened": opened}
    return columns | {"p": expit(seen), "event": y}, y, rng


def leaks(kind: str, _: int, draw: int) -> Told:
    """Read a table: are the columns of its leak named, and no other; is there an alarm where there is none?"""
    columns, y, rng = honest(draw, kind)
    leak = {} if kind == NOTHING else LEAKS[kind](y, rng)
    order = rng.permutation(len(names := [*columns, *leak]))
    read = read_triples(pl.DataFrame(columns | leak).select([names[k] for k in order]), probability="p", event="event")
    found = {one["name"] for one in read.source["read_columns"] if one["leak"] is not None}
    found |= {name for note in read.notes if "known only later" in note for name in names if repr(name) in note}
    if kind == NOTHING:
        return Told(misses={"alarm": bool(found)})
    named = bool(found & set(leak)) and found <= set(leak)
    return Told(misses={f"named{FOUND}": named, f"all its columns{FOUND}": found == set(leak)})


QUESTIONS = {
    "leaks": Question(leaks, tuple(LEAKS), (0,), 50, together=10, least={f"named{FOUND}": {"": 0.95}}),
    "no leaks": Question(leaks, (NOTHING,), (0,), 1_000, level=0.01, together=50),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "known_later", QUESTIONS))
