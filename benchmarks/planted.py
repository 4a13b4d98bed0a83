"""Does the ledger name what was planted, and nothing else? Beside other ways to find groups, on the same rows.

    python benchmarks/planted.py [--draws 50] [--peers PYTHON] [--kinds table texts] [--methods ledger tree]

Each draw plants three groups (see `_planted.py`) and shifts their log-odds by -1.2, +1.0 and +0.8, or half of that:

    table   10,000 rows, six columns of categories and four of numbers: two values together (6 % of the rows), one
            value (5 %), an interval of a number placed at random (10 %)
    table with missing values and dates   the same with 5 % missing in three columns and a date; in every other draw the
            single value is what is missing, and the interval is of the date
    texts   5,000 texts of fourteen topics, no column: three topics

z is that of the planted group given the other two. `exact` asks for the planted columns and values, ends of an interval
within 5 % of the rows; `extra` counts findings a draw that are of no planted group (less than half of their rows in
one, and a Jaccard index below 0.5), `again` second findings of a group that has one. The peers are told y - E[y | f],
as the ledger is. --peers names the python of an environment with benchmarks/requirements-peers.txt; without it those
three are left out. Each finder may take 60 s.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import lru_cache, partial

import numpy as np

from _finders import APART, FINDERS, LIMIT_S, apart
from _judge import Judge
from _ledger import Meaning
from _planted import HOLES, TABLE, TEXT, Planted, make
from _script import limit_threads, options, results, show, target

FIELDS = ("kind", "strength", "method", "draw", "rows")
LEAST_Z, LEAST_EXACT, MOST_EXTRA, LEAST_JACCARD = 5.0, 0.95, 0.1, 0.8
STRONGEST = 3
"""wise-pizza has no stopping rule: its three strongest are shown beside the twenty of its documentation."""


@lru_cache(maxsize=1)
def drawn(kind: str, strength: float, draw: int, rows: int) -> tuple[Planted, Judge]:
    """Rows of a draw, and the statistic of their groups."""
    planted = make(kind, strength, draw, rows or None)
    return planted, Judge(planted.rows.correct, planted.rows.confidence, draw)


def jaccard(one: np.ndarray, two: np.ndarray) -> float:
    """Shared rows over all rows of both."""
    either = (one | two).sum()
    return float((one & two).sum() / either) if either else 0.0


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


def one_draw(peers: str | None, kind: str, strength: float, method: str, draw: int, rows: int) -> dict:
    """Let a method find the groups of a draw."""
    limit_threads()
    planted, judge = drawn(kind, strength, draw, rows)
    z = [judge.z(g.rows, [h.rows for h in planted.groups if h is not g]) for g in planted.groups]
    start = time.perf_counter()
    if method in FINDERS:
        segments, seconds = FINDERS[method](planted, judge, draw), time.perf_counter() - start
        if seconds > LIMIT_S:
            segments = []
    else:
        segments, seconds = apart(method, str(peers), planted, judge)
    more = {"strongest": judged(planted, segments[:STRONGEST])} if method == "wise_pizza" else {}
    return {
        "kind": kind, "strength": strength, "method": method, "draw": draw, "rows": rows, "z": z,
        **judged(planted, segments), **more, "late": seconds is None, "seconds": seconds or LIMIT_S,
    }  # fmt: skip


def summed(kind: str, records: list[dict]) -> dict:
    """Shares over the planted groups of z 5 and more, and findings a draw."""
    strong = np.abs([r["z"] for r in records]) >= LEAST_Z
    exact, near = (np.array([r[k] for r in records], float) for k in ("exact", "jaccard"))
    each = [float(exact[strong[:, i], i].mean()) if strong[:, i].any() else float("nan") for i in range(3)]
    return {
        "each": each, "strong": int(strong.sum()),
        "exact": float(exact[strong].mean()) if strong.any() and kind != TEXT else float("nan"),
        "near": float((near[strong] >= LEAST_JACCARD).mean()) if strong.any() else float("nan"),
        "all": float(exact.mean()) if kind != TEXT else float("nan"), "jaccard": float(near[strong].mean()),
        "extra": float(np.mean([r["extra"] for r in records])), "again": float(np.mean([r["again"] for r in records])),
    }  # fmt: skip


def show_kind(args: argparse.Namespace, kind: str, records: list[dict]) -> list[bool]:
    """Show every method at every strength; whether the ledger meets its targets."""
    shown, met = [], []
    for strength in args.strengths:
        for method in args.methods:
            rows = [r for r in records if (r["kind"], r["strength"], r["method"]) == (kind, strength, method)]
            if not rows:
                continue
            views = {method: rows}
            if method == "wise_pizza":
                views["wise_pizza, three strongest"] = [r | r["strongest"] for r in rows]
            for name, view in views.items():
                s = summed(kind, view)
                numbers = [*s["each"], s["exact"], s["all"], s["near"], s["jaccard"], s["extra"], s["again"]]
                told = ["" if np.isnan(v) or (kind == TEXT and i < 5) else f"{v:.2f}" for i, v in enumerate(numbers)]
                seconds = f"{np.median([r['seconds'] for r in view]):.1f}"
                late = sum(r["late"] for r in view)
                shown.append([name, strength, len(view), s["strong"], *told, seconds, late])
            if method == "ledger":
                met += _met(kind, strength, summed(kind, rows))
    head = ["method", "strength", "draws", "planted, z >= 5", "pair exact", "value exact", "interval exact",
            "exact, z >= 5", "exact, all", "Jaccard >= 0.8, z >= 5", "mean Jaccard, z >= 5", "extra", "again",
            "median s", "late"]  # fmt: skip
    show(args, f"planted-{kind.split()[0] if kind != HOLES else 'holes'}", kind, head, shown)
    return met


def _met(kind: str, strength: float, s: dict) -> list[bool]:
    where = f"{kind}, strength {strength}"
    found, what = (s["near"], "Jaccard >= 0.8") if kind == TEXT else (s["exact"], "exact")
    return [
        target(f"{where}: {what} in {found:.3f} of {s['strong']} planted groups with z >= 5, at least {LEAST_EXACT}",
               not found < LEAST_EXACT),
        target(f"{where}: {s['extra'] + s['again']:.2f} other findings a draw, at most {MOST_EXTRA}",
               s["extra"] + s["again"] <= MOST_EXTRA),
    ]  # fmt: skip


def main() -> None:
    parser = options(__doc__, "planted", draws=50, strengths=[1.0, 0.5], rows=0)
    parser.add_argument("--peers", help="python of an environment with benchmarks/requirements-peers.txt")
    parser.add_argument("--kinds", nargs="+", default=[TABLE, HOLES, TEXT], choices=[TABLE, HOLES, TEXT])
    parser.add_argument("--methods", nargs="+", default=[*FINDERS, *APART], choices=[*FINDERS, *APART])
    args = parser.parse_args()
    able = [m for m in args.methods if args.peers or args.print or m in FINDERS]
    keys = [
        (kind, strength, method, draw, args.rows)
        for kind in args.kinds for draw in range(args.draws) for strength in args.strengths for method in able
    ]  # fmt: skip
    store = results(args, FIELDS, keys, partial(one_draw, args.peers))
    records = [store[key] for key in keys if not args.print or key in store]
    met = [one for kind in args.kinds for one in show_kind(args, kind, records)]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
