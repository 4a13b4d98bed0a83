"""Does the ledger say what a planted group is, whatever its shape, and nothing where nothing is planted?

    python benchmarks/planted_shapes.py [--draws 50] [--strengths 1.0 0.6] [--shapes hours slanted] [--nulls 1000]

Each draw is a table of 10,000 rows (see `_shapes.py`) with one planted group. The ledger of named groups alone is
written, without a field and without clusters of inputs; E[y | f] is cross-fitted. z is that of the planted group;
`exact` asks for the planted columns and rows, and

    dates     both ends within 5 % of the rows
    hours     both ends within one hour, told as hours of the day
    three values, slanted   are no candidates: a finding of mostly the same rows
    trend     told as a trend of the column

`others` counts the findings a draw that are not of the planted group (less than half of their rows in it, and a Jaccard
index below 0.5; of a trend, of other columns), and `again` second findings of it.

Nulls are such tables of 3,000 rows with outcomes that depend on the confidence alone, and tables of 1,000 rows and 200
columns. A draw is false if the ledger holds anything; that must be so in at most 5 %: missed where a binomial test at
1 % rejects. With --print, what is stored is shown, however many draws that are.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.stats import binomtest

from _judge import Judge
from _script import limit_threads, options, results, show, target
from _shapes import CYCLE, SHAPES, SLANTED, TREND, make, null_table
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.conditions import Condition, Frame
from miscal.findings.ledger import Groups, named_groups
from miscal.findings.ledger.scan import scan

FIELDS = ("what", "strength", "draw", "draws")
LEAST_Z, MOST_OTHERS, LEVEL, MISSED_P = 5.0, 0.1, 0.05, 0.01
LEAST_EXACT = {CYCLE: 0.9, SLANTED: 0.9, TREND: 0.9}
"""Share of the planted groups with z of 5 and more that are to be described exactly; 0.95 where none is named."""
PER_TABLE = 20
NULLS = {"12 columns, one of 4,000 levels": (3_000, 0), "200 columns": (1_000, 188)}
"""Rows, and columns beyond the twelve."""


def findings_of(groups: Groups, f: np.ndarray, y: np.ndarray, seed: int) -> list[Condition]:
    """Conditions that the scan of the ledger chooses, of rows that all are evaluated."""
    expected = expected_outcome(Triples(np.arange(len(y), dtype=np.float32)[:, None], f, y), seed)
    found = scan(LabelledRows(y, f, expected), groups, seed=seed)
    return [groups.conditions[one.group] for one in found.chosen]


def one(what: str, strength: float, draw: int, draws: int) -> dict:
    """Write the ledger of a planted draw, or of several null draws of one table."""
    limit_threads()
    start = time.perf_counter()
    told = _nulls(what, draw, draws) if what in NULLS else _planted(what, strength, draw)
    key = {"what": what, "strength": strength, "draw": draw, "draws": draws}
    return key | told | {"seconds": time.perf_counter() - start}


def _planted(shape: str, strength: float, draw: int) -> dict:
    planted = make(shape, strength, draw)
    z = Judge(planted.correct, planted.confidence, draw).z(planted.group)
    found = findings_of(named_groups(planted.columns), planted.confidence, planted.correct, draw)
    frame = Frame(len(planted.correct), planted.columns)
    rows = [condition.rows(frame) for condition in found]
    exact = [planted.told(one, inside) for one, inside in zip(found, rows, strict=True)]
    own = sum(planted.is_of(condition, inside) for condition, inside in zip(found, rows, strict=True))
    names = [condition.words for condition in found]
    counts = {"others": len(found) - own, "again": max(0, own - 1)}
    return {"z": float(z), "exact": any(exact), **counts, "named": names}


def _nulls(what: str, draw: int, draws: int) -> dict:
    groups, f = null_table(*NULLS[what], draw)
    named: list[str] = []
    false = 0
    for again in range(draws):
        y = (np.random.default_rng((draw, again, 183)).random(len(f)) < f).astype(float)
        found = findings_of(groups, f, y, again)
        false += bool(found)
        named += [condition.words for condition in found]
    return {"false": false, "named": named, "candidates": len(groups)}


def show_shapes(args: argparse.Namespace, store: dict) -> list[bool]:
    """Show a row for each shape and strength; which targets are met at the first strength."""
    shown, met = [], []
    for strength in args.strengths:
        for shape in args.shapes:
            rows = [r for r in store.values() if (r["what"], r["strength"]) == (shape, strength)]
            if not rows:
                continue
            strong = [r for r in rows if abs(r["z"]) >= LEAST_Z]
            exact = float(np.mean([r["exact"] for r in strong])) if strong else float("nan")
            others, again = (float(np.mean([r[count] for r in rows])) for count in ("others", "again"))
            every = float(np.mean([r["exact"] for r in rows]))
            z = float(np.median([abs(r["z"]) for r in rows]))
            shares = [f"{share:.2f}" for share in (exact, every, others, again)]
            seconds = f"{np.median([r['seconds'] for r in rows]):.1f}"
            shown.append([shape, strength, len(rows), f"{z:.1f}", len(strong), *shares, seconds])
            least = LEAST_EXACT.get(shape, 0.95)
            line = f"{shape}, strength {strength}: exact {exact:.2f} of {len(strong)}, at least {least}"
            met.append(target(line, not exact < least))
            line = (
                f"{shape}, strength {strength}: {others:.2f} + {again:.2f} other findings a draw, at most {MOST_OTHERS}"
            )
            met.append(target(line, others + again <= MOST_OTHERS))
    head = [
        "shape",
        "strength",
        "draws",
        "median z",
        "z >= 5",
        "exact, z >= 5",
        "exact, all",
        "others",
        "again",
        "median s",
    ]
    show(args, "planted_shapes", "one planted group", head, shown)
    return met


def show_nulls(args: argparse.Namespace, store: dict) -> list[bool]:
    """Show how often the ledger names anything where nothing is planted."""
    shown, met = [], []
    for what in NULLS:
        rows = [r for r in store.values() if r["what"] == what]
        if not rows:
            continue
        draws, false = (sum(r[k] for r in rows) for k in ("draws", "false"))
        p = binomtest(false, draws, LEVEL, alternative="greater").pvalue
        candidates = int(np.mean([r["candidates"] for r in rows]))
        shown.append([what, NULLS[what][0], draws, candidates, false, f"{false / draws:.3f}", f"{p:.2g}"])
        met.append(target(f"nothing planted, {what}: {false} of {draws} draws have a finding", p >= MISSED_P))
    head = ["table", "rows", "draws", "candidates, mean", "with a finding", "share", "p of at most 0.05"]
    show(args, "planted_shapes-nulls", "nothing planted", head, shown)
    return met


def main() -> None:
    parser = options(__doc__, "planted_shapes", draws=50, strengths=[1.0, 0.6], nulls=1_000)
    parser.add_argument("--shapes", nargs="*", default=list(SHAPES), choices=SHAPES)
    args = parser.parse_args()
    keys = [(s, strength, draw, 1) for s in args.shapes for draw in range(args.draws) for strength in args.strengths]
    per = min(PER_TABLE, max(1, args.nulls))
    keys += [(what, 0.0, draw, per) for what in NULLS for draw in range(args.nulls // per)]
    store = results(args, FIELDS, keys, one)
    kept = {key: store[key] for key in keys if key in store}
    met = show_shapes(args, kept) + show_nulls(args, kept)
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
