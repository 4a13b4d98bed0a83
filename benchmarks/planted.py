"""Does the ledger name what was planted, and nothing else? Beside other ways to find groups, on the same rows.

    python benchmarks/planted.py [--draws 50] [--worlds ledger] [--jobs 2]

Each draw plants three groups (see `_planted.py`) and shifts their log-odds by -1.2, +1.0 and +0.8, or half of that:

    table   10,000 rows, six columns of categories and four of numbers: two values together (6 % of the rows), one
            value (5 %), an interval of a number placed at random (10 %)
    table with missing values and dates   the same with 5 % missing in three columns and a date; in every other draw the
            single value is what is missing, and the interval is of the date
    texts   5,000 texts of fourteen topics, no column: three topics

z is that of the planted group given the other two. `exact` asks for the planted columns and values, ends of an interval
within 5 % of the rows; `near`, of texts, for a Jaccard index of 0.8. `extra` counts findings a draw that are of no
planted group (less than half of their rows in one, and a Jaccard index below 0.5), `again` second findings of a group
that has one. Other ways are told y - E[y | f], as the ledger is.
"""

from __future__ import annotations

import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

from _finders import FINDERS
from _judge import Judge
from _ledger import Meaning
from _planted import HOLES, TABLE, TEXT, Planted, make
from _shares import FOUND, UNTOLD, Question, ask
from _small_values import jaccard
from _validity_counts import Told

LEAST_Z, LEAST_EXACT, LEAST_JACCARD = 5.0, 0.95, 0.8


def worlds(_: Path | None) -> list[str]:
    """Methods, with kinds and strengths."""
    return [f"{method}: {kind}, strength {strength:g}"
            for method in FINDERS for kind in (TABLE, HOLES, TEXT) for strength in (1.0, 0.5)]  # fmt: skip


@lru_cache(maxsize=1)
def drawn(kind: str, strength: float, draw: int, rows: int) -> tuple[Planted, Judge]:
    """Rows of a draw, and the statistic of their groups."""
    planted = make(kind, strength, draw, rows or None)
    return planted, Judge(planted.rows.correct, planted.rows.confidence, draw)


def judged(planted: Planted, segments: list[Meaning]) -> dict:
    """Which planted groups the segments name, and how many of them are something else."""
    overlap = np.array([[jaccard(s.rows, g.rows) for g in planted.groups] for s in segments]).reshape(-1, 3)
    of: list[int] = []
    extra = again = 0
    for segment, row in zip(segments, overlap, strict=True):
        inside = [float((segment.rows & g.rows).sum()) / max(1, int(segment.rows.sum())) for g in planted.groups]
        best = int(np.argmax(np.maximum(row, inside)))
        if max(row[best], inside[best]) < 0.5:
            extra += 1
        elif best in of:
            again += 1
        else:
            of.append(best)
    exact = [any(planted.exact(s, g) for s in segments) for g in planted.groups]
    best = overlap.max(0).tolist() if len(segments) else [0.0] * 3
    return {"found": len(segments), "exact": exact, "jaccard": best, "extra": extra, "again": again}


def found(world: str, rows: int, draw: int) -> Told:
    """Let a method find the groups of a draw."""
    method, _, rest = world.partition(": ")
    kind, _, strength = rest.partition(", strength ")
    planted, judge = drawn(kind, float(strength), draw, rows)
    z = [judge.z(g.rows, [h.rows for h in planted.groups if h is not g]) for g in planted.groups]
    start = time.perf_counter()
    one = judged(planted, FINDERS[method](planted, judge, draw))
    seconds = time.perf_counter() - start
    strong = np.abs(z) >= LEAST_Z
    right = np.array(one["jaccard"]) >= LEAST_JACCARD if kind == TEXT else np.array(one["exact"])
    name, others = "near" if kind == TEXT else "exact", one["extra"] + one["again"]
    return Told(
        misses={"another finding" if method == "ledger" else f"another finding{UNTOLD}": others > 0},
        counts={f"{name}, z of 5{FOUND}": (int(strong.sum()), int(right[strong].sum())),
                f"{name}{FOUND}": (3, int(right.sum()))},
        means={"extra": one["extra"], "again": one["again"], "seconds": seconds},
    )  # fmt: skip


QUESTIONS = {
    "planted": Question(
        found, worlds, (0,), 50, level=0.1,
        least={f"{name}, z of 5{FOUND}": {"ledger": LEAST_EXACT} for name in ("exact", "near")},
    ),
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(ask(__doc__, "planted", QUESTIONS))
