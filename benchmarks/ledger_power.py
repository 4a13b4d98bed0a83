"""How often does the ledger name what a plain scan of single values would see?

    python benchmarks/ledger_power.py [--rows 1000] [--draws 200] [--shift 1.1] [--jobs 2]

Tables of six columns of categories and four of numbers (`_planted.py`), of which one group is wrong: its log-odds are
shifted up in even draws and down in odd ones.

    value   one value, of 8 to 12 % of the rows
    half    the upper half of a number
    pair    two values together, of 5 to 7 % of the rows
    tenth   an interval of a number that holds a tenth of the rows, placed at random
    none    nothing: how often anything is named

For every 10 draws of outcomes there is a new table. `plain` is what a careful user would do by hand: every value of at
least 20 rows and the upper half of every number, by the sum of its residuals y - E[y | f] over its standard deviation,
at 5 % over their number (Bonferroni). It has no pairs and no intervals: of these it says how often they would be beyond
the same cut if somebody had named them. The ledger names a group if one of its findings has a Jaccard index of 0.8 with
it and the right sign (of a half 0.3, or of the other half and the other sign: a trend or an interval tells it, too);
`any` counts draws in which it names anything, and `z` is the mean standard score of the plain test. Target: single
values and halves within 0.05 of the plain scan; nothing is named in more than 5 % of the draws of `none`, beyond chance
(binomial test at 1 %).
"""

from __future__ import annotations

import sys
import time

import numpy as np
from scipy.special import expit, logit, ndtri
from scipy.stats import binomtest

from _planted import TABLE, make
from _script import limit_threads, mean, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.triples import Triples
from miscal.discovery.estimating import expected_outcome
from miscal.findings.ledger import find, named_groups

FIELDS = ("kind", "rows", "shift", "table", "draws")
KINDS = ("value", "half", "pair", "tenth", "none")
PER_TABLE, LEAST_ROWS, LEVEL, SHORT, MISSED_P = 10, 20, 0.05, 0.05, 0.01
ALIKE, HALF = 0.8, 0.3
SIZES = {"value": (0.08, 0.12), "pair": (0.05, 0.07)}


def values_of(columns: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Rows of each value of the columns of categories that has rows enough."""
    found = [values == v for values in columns.values() if values.dtype == object for v in sorted(set(values))]
    return [one for one in found if LEAST_ROWS <= one.sum() <= len(one) - LEAST_ROWS]


def halves_of(columns: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Rows of the upper half of each number."""
    return [values > np.median(values) for values in columns.values() if values.dtype != object]


def planted_group(kind: str, columns: dict[str, np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """Rows of a group of a kind."""
    values, numbers = values_of(columns), [one for one in columns.values() if one.dtype != object]
    if kind == "half":
        return halves_of(columns)[rng.integers(len(numbers))]
    if kind == "tenth":
        order = np.argsort(np.argsort(numbers[rng.integers(len(numbers))], kind="stable"))
        low = rng.uniform(0, 0.9) * len(order)
        return (order >= low) & (order < low + 0.1 * len(order))
    many = [a & b for i, a in enumerate(values) for b in values[:i]] if kind == "pair" else values
    low, high = SIZES[kind]
    able = [one for one in many if low <= one.mean() <= high]
    return able[rng.integers(len(able))]


def one_table(kind: str, rows: int, shift: float, table: int, draws: int) -> dict:
    """Plant a group in a table and draw its outcomes several times; how often each way sees it."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((table, 87, rows, KINDS.index(kind)))
    drawn = make(TABLE, 0.0, table, rows)
    columns, f = drawn.columns, drawn.rows.confidence
    group = planted_group(kind, columns, rng) if kind != "none" else np.zeros(rows, bool)
    groups, singles = named_groups(columns), [*values_of(columns), *halves_of(columns)]
    cut, seen, named, anything, scores = -ndtri(LEVEL / len(singles) / 2), 0, 0, 0, []
    for draw in range(draws):
        rng = np.random.default_rng((table, draw, 88, rows, KINDS.index(kind)))
        sign = 1 if draw % 2 == 0 else -1
        y = (rng.random(rows) < expit(logit(f) + sign * shift * group)).astype(float)
        expected = expected_outcome(Triples(np.arange(rows, dtype=np.float32)[:, None], f, y), draw)
        z = [plain_score(one, y, expected) for one in (group, *singles)]
        seen += (abs(z[0]) if kind != "none" else max(map(abs, z[1:]))) >= cut
        ledger = find(LabelledRows(y, f, expected, hidden=np.zeros(rows), row=np.arange(rows)), groups, seed=draw)
        found = zip(ledger.findings, ledger.members, strict=True)
        named += any(tells(inside, one.sign, group, sign, kind) for one, inside in found)
        anything += len(ledger.findings) > 0
        scores.append(abs(z[0]))
    return {
        "kind": kind, "rows": rows, "shift": shift, "table": table, "draws": draws, "plain": int(seen), "named": named,
        "any": anything, "z": float(np.mean(scores)), "candidates": len(groups), "singles": len(singles),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def tells(inside: np.ndarray, said: str, group: np.ndarray, sign: int, kind: str) -> bool:
    """Whether a finding tells of a planted group; of a half, the other half in the other direction does, too."""
    right, wrong = ("under", "over") if sign > 0 else ("over", "under")
    if kind == "half":
        return any(said == way and jaccard(inside, half) >= HALF for way, half in ((right, group), (wrong, ~group)))
    return said == right and jaccard(inside, group) >= ALIKE


def plain_score(group: np.ndarray, y: np.ndarray, expected: np.ndarray) -> float:
    """Sum of the residuals of a group over its standard deviation."""
    variance = float(np.sum((expected * (1 - expected))[group]))
    return float((y - expected)[group].sum() / np.sqrt(variance)) if variance > 0 else 0.0


def jaccard(one: np.ndarray, two: np.ndarray) -> float:
    """Shared rows over all rows of both."""
    return float((one & two).sum() / max(1, (one | two).sum()))


def main() -> None:
    parser = options(__doc__, "ledger_power", rows=1_000, draws=200, shift=1.1)
    parser.add_argument("--kinds", nargs="+", default=[*KINDS], choices=KINDS)
    args = parser.parse_args()
    tables = range(-(-args.draws // PER_TABLE))
    keys = [(kind, args.rows, args.shift, table, PER_TABLE) for table in tables for kind in args.kinds]
    store = results(args, FIELDS, keys, one_table)
    shown, met = [], []
    for kind in args.kinds:
        own = [store[key] for key in keys if key[0] == kind and key in store]
        draws = sum(r["draws"] for r in own)
        plain, named, anything = (sum(r[name] for r in own) / draws for name in ("plain", "named", "any"))
        sizes = [f"{mean(own, name):.0f}" for name in ("candidates", "singles")]
        shown.append([kind, args.rows, draws, *sizes, f"{mean(own, 'z'):.1f}", *map("{:.3f}".format, (plain, named))])
        shown[-1].append(f"{anything:.3f}")
        if kind == "none":
            p = binomtest(round(anything * draws), draws, LEVEL, alternative="greater").pvalue
            met.append(target(f"nothing planted: named in {anything:.3f} of the draws, at most {LEVEL}", p >= MISSED_P))
        elif kind in ("value", "half"):
            met.append(target(f"{kind}: {named:.3f}, the plain scan {plain:.3f}", named >= plain - SHORT))
    head = ["planted", "rows", "draws", "candidates", "singles", "z", "plain scan", "ledger", "ledger, any"]
    show(args, "ledger_power", f"one group shifted by {args.shift:g} in its log-odds", head, shown)
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
