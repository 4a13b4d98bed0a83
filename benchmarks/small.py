"""How small is seen? How often an error of a known size is found, in worlds of planted errors.

    python benchmarks/small.py --only sharpness [--draws 200] [--rows 1000] [--jobs 2] [--print]

Statements that end in "found" count draws in which something is found; where it is to be found in a share of them, at
least, it is missed if a binomial test at 1 % says that it is not. All others are wrong, at 5 % at most, as in
`nothing.py`.

    sharpness         the tests behind the claim, an oracle and the true field, where a place is off (_small_worlds.py)
    stated            errors of the size that a verdict says it would find
    few of many       one column of 600, beside trees, a lasso and a scan (_few_columns.py)
    shapes            one group of each shape in a table of 10,000 rows: is it said exactly, and nothing else?
    values            one value, half, pair or tenth of 1,000 rows, beside a plain scan (ledger_power.py)
    whole runs        a regime of 384 columns (power.py)
    shared, differing a group in which all of 8 models are off by 5 points, or one by 20 (_shared_studies.py)
    leaks             columns that give the outcome away (known_later.py)
"""

from __future__ import annotations

import sys
from functools import partial

import _small_worlds as small
import known_later
import ledger_power
import power
from _few_columns import FEW, few
from _shared_studies import CELLS, named, shared
from _shares import FOUND, Question, ask
from _validity_counts import Told

REGIMES = tuple(f"share {share:g}, shift {shift:g}" for share in (0.02, 0.05, 0.1, 0.2) for shift in (0, 0.5, 1, 2))


def values(kind: str, rows: int, table: int, draws: int) -> dict:
    """Whether the ledger names a planted group, and a plain scan sees it."""
    one = ledger_power.one_table(kind, rows, 1.1, table, draws)
    ends = {"any finding where nothing is": one["any"]} if kind == "none" else {
        f"ledger{FOUND}": one["named"], f"plain scan{FOUND}": one["plain"],
    }  # fmt: skip
    return {name: (draws, count) for name, count in ends.items()}


def regimes(world: str, rows: int, draw: int) -> Told:
    """What whole runs see of a place of an embedding, or claim where nothing is wrong with it."""
    share, shift = (float(part.split()[1]) for part in world.split(", "))
    one = power.one_draw("all", 384, rows, share, shift, draw)
    if shift == 0:
        return Told(misses={"claim where nothing is": one["certified"]})
    seen = {"claimed": one["claimed"], "found": one["found"], "certified": one["certified"], "limit": one["limit"]}
    return Told(misses={f"{name}{FOUND}": bool(was) for name, was in seen.items()}, means={"size": one["size"] or 0.0})


def leaks(world: str, _: int, draw: int) -> Told:
    """Whether the columns of a leak are named, and no other."""
    one = known_later.one(world, draw)
    return Told(misses={f"named{FOUND}": one["named"], f"all its columns{FOUND}": one["all"]})


QUESTIONS = {
    "sharpness": Question(small.sharpness, tuple(small.HIDING), (0,), 50, least={f"claim{FOUND}": small.SEEN_IN}),
    "stated": Question(
        small.stated, small.STATED, (0,), 8, least={f"{one}{FOUND}": {"": small.POWER} for one in ("score", "claim")}
    ),
    "few of many": Question(few, FEW, (2_000,), 20),
    "shapes": Question(small.shapes, small.SHAPED, (0,), 50, least={f"exact, z of 5{FOUND}": {"": 0.9}}),
    "values": Question(values, ledger_power.KINDS, (1_000,), 200, together=10, at_once=True),
    "whole runs": Question(regimes, REGIMES, (1_000, 3_000, 10_000), 10),
    "shared": Question(
        partial(shared, "power"), named(CELLS["power"]), (0,), 200, least={f"shared{FOUND}": {"alike, 0": 0.8}}
    ),
    "differing": Question(partial(shared, "differences"), named(CELLS["differences"]), (0,), 200),
    "leaks": Question(leaks, tuple(known_later.LEAKS), (0,), 50, together=10, least={f"named{FOUND}": {"": 0.95}}),
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "small", QUESTIONS))
