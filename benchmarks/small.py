"""How small is seen? How often an error of a known size is found, in worlds of planted errors.

    python benchmarks/small.py --only sharpness [--draws 200] [--rows 1000] [--jobs 2] [--print]

Statements that end in "found" count draws in which something is found; where it is to be found in a share of them, at
least, it is missed if a binomial test at 1 % says that it is not. All others are wrong, at 5 % at most, as in
`nothing.py`.

    sharpness         the tests behind the claim, an oracle and the true field, where a place is off (_small_worlds.py)
    stated            errors of the size that a verdict says it would find
    shapes            one group of each shape in a table of 10,000 rows: is it said exactly, and nothing else?
    values            one value, half, pair or tenth of 1,000 rows, beside a plain scan (_small_values.py)
    whole runs        a regime of 384 columns (power.py)
    shared, differing a group in which all of 8 models are off by 5 points, or one by 20 (_shared_studies.py)
    leaks             columns that give the outcome away (known_later.py)
"""

from __future__ import annotations

import sys
from functools import partial

import _small_worlds as small
import known_later
import power
from _shared_studies import CELLS, named, shared
from _shares import FOUND, Question, ask
from _small_values import KINDS, values

QUESTIONS = {
    "sharpness": Question(small.sharpness, tuple(small.HIDING), (0,), 50, least={f"claim{FOUND}": small.SEEN_IN}),
    "stated": Question(
        small.stated, small.STATED, (0,), 8, least={f"{one}{FOUND}": {"": small.POWER} for one in ("score", "claim")}
    ),
    "shapes": Question(small.shapes, small.SHAPED, (0,), 50, least={f"exact, z of 5{FOUND}": {"": 0.9}}),
    "values": Question(values, KINDS, (1_000,), 200, together=10, at_once=True),
    **power.QUESTIONS,
    "shared": Question(
        partial(shared, "power"), named(CELLS["power"]), (0,), 200, least={f"shared{FOUND}": {"alike, 0": 0.8}}
    ),
    "differing": Question(partial(shared, "differences"), named(CELLS["differences"]), (0,), 200),
    "leaks": known_later.QUESTIONS["leaks"],
}

if __name__ == "__main__":
    sys.exit(ask(__doc__, "small", QUESTIONS))
