"""Is nothing claimed of rows that hang together, although nobody says that they do?

    python benchmarks/found_units.py [--rows 1000] [--draws 40] [--compared 10] [--jobs 2]
    python benchmarks/found_units.py --part spans --draws 100

Tables whose probabilities are right for a new unit (a new customer, day, question), while the outcomes of the rows of a
unit share a normal number in log-odds: whatever is claimed is claimed falsely. Nothing is named. Worlds:

    independent           five numbers, every row by itself
    equal x 2, 5, 20      so many rows of equal inputs and of other probabilities (standard deviation 0.8)
    copies .0001 to .01   five rows of inputs that differ by so many standard deviations (0.8)
    days, days in turn    60 days of a date among the inputs (0.5); in turn: each day's number is 0.7 of the last one's
    prompts               five prompts of each question, whose embedding of 32 columns is the same (0.8)
    accounts              three of five numbers are those of one of 50 accounts (0.6); with and without its number
    crossed               a user of 100 and an item of 80, both (0.5): one of them is counted, no target

Columns: the unit that was taken most, and in how many draws; per cent of draws with a claim of hidden miscalibration,
with a lower limit above 0, and with any finding; the same where each row is counted (--group none), in those draws that
are stored.
Missed where a binomial test at 1e-4 says that a share, of all worlds with a target together, is above 5 %.

`spans`: 6,000 rows of 913 days, by themselves or with a number of each day (0.6), and no span or one of a tenth, a
quarter or half of the days, in which risks are off by so much that a test which knows the span, counts days and has the
cut of one interval of the ledger has power .95: in how many draws the ledger names a span of dates, in its direction.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from datetime import date, timedelta
from itertools import product

import numpy as np
import polars as pl
from scipy.special import expit, logit
from scipy.stats import binomtest, norm

from _script import limit_threads, options, results, show, target
from miscal.calibration.labelled_rows import LabelledRows
from miscal.data.readers import read_triples
from miscal.discovery.estimating import expected_outcome, fit_rows, prepare
from miscal.discovery.findings import write_ledger
from miscal.discovery.summarise import claim_of
from miscal.discovery.units import with_units
from miscal.evidence.settings import SIGNIFICANCE
from miscal.findings.ledger import find, named_groups, with_features

FIELDS = ("world", "rows", "group", "draw")
WORLDS = (
    "independent", "equal x 2", "equal x 5", "equal x 20", "copies .0001", "copies .001", "copies .01", "days",
    "days in turn", "prompts", "accounts", "accounts with number", "crossed",
)  # fmt: skip
NO_TARGET = ("crossed",)
LEAST_P = 1e-4
DAYS, CUT = 913, 3e-6
"""Days of 30 months; one-sided error of one of 800 intervals, which have a ninth of 5 % together."""
# of a normal number; enough that the mean over it is exact to four digits
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(21)


def shared_number(rng: np.random.Generator, unit: np.ndarray, spread: float) -> np.ndarray:
    """Normal number of each row's unit."""
    return spread * rng.normal(size=int(unit.max()) + 1)[unit]


def inputs_of(world: str, n: int, rng: np.random.Generator) -> tuple[dict, np.ndarray, float]:
    """Columns of a table, what the rows share in log-odds, and its standard deviation."""
    every, numbers = np.arange(n), {}
    kind, _, value = world.partition(" ")
    if kind in ("equal", "copies"):
        many = int(value.removeprefix("x ")) if kind == "equal" else 5
        unit = every // many
        X = rng.normal(size=(n // many + 1, 5))[unit] + (0 if kind == "equal" else float(value)) * rng.normal(
            size=(n, 5)
        )
        return {f"x{k}": X[:, k] for k in range(5)}, shared_number(rng, unit, 0.8), 0.8
    if kind == "days":
        unit = rng.integers(0, 60, n)
        number = rng.normal(size=60)
        if value:
            for k in range(1, 60):
                number[k] = 0.7 * number[k - 1] + np.sqrt(1 - 0.7**2) * number[k]
        numbers["day"] = [date(2024, 1, 1) + timedelta(int(one)) for one in unit]
        shared, spread = 0.5 * number[unit], 0.5
    elif kind == "accounts":
        unit = rng.integers(0, 50, n)
        numbers = {f"own{k}": rng.normal(size=50)[unit] for k in range(3)}
        numbers |= {"account": unit} if value else {}
        shared, spread = shared_number(rng, unit, 0.6), 0.6
    elif kind == "crossed":
        numbers = {"user": rng.integers(0, 100, n), "item": rng.integers(0, 80, n)}
        shared = sum(shared_number(rng, unit, 0.5) for unit in numbers.values())
        spread = 0.5 * np.sqrt(2)
    else:
        shared, spread = np.zeros(n), 0.0
    return numbers | {f"x{k}": rng.normal(size=n) for k in range(3)}, shared, spread


def one_draw(world: str, rows: int, group: str, draw: int) -> dict:
    """Draw a table, count by what is found or by rows, and see what is claimed."""
    limit_threads()
    start, rng = time.perf_counter(), np.random.default_rng((draw, rows, WORLDS.index(world), 302))
    embeddings = None
    if world == "prompts":
        unit = np.arange(rows) // 5
        embeddings = rng.normal(size=(rows // 5 + 1, 32))[unit]
        table, shared, spread = {}, shared_number(rng, unit, 0.8), 0.8
    else:
        table, shared, spread = inputs_of(world, rows, rng)
    given = logit(rng.uniform(0.15, 0.85, rows))
    # right for a new unit: the mean over what its rows share
    f = expit(given[:, None] + spread * _NODES) @ (_WEIGHTS / _WEIGHTS.sum())
    table |= {"confidence": f, "correct": (rng.random(rows) < expit(given + shared)).astype(int)}
    read = read_triples(pl.DataFrame(table), embeddings=embeddings, group=group, seed=draw)
    triples, *_ = prepare(read, "all", draw)
    found = fit_rows(triples, seed=draw, n_jobs=1)
    claim = claim_of(found, seed=draw)
    low = claim.lower_bound_hidden.interval[0]
    return {
        "world": world, "rows": rows, "group": group, "draw": draw,
        "unit": triples.counted_by.column or triples.counted_by.source,
        "claim": claim.p_value < SIGNIFICANCE, "limit": low > 0,
        "finding": bool(write_ledger(found, own_split=False, seed=draw).findings),
        "seconds": time.perf_counter() - start,
    }  # fmt: skip


def one_span(world: str, share: float, spread: float, draw: int) -> dict:
    """Draw a table with a span of dates, or without one, and see what is named and what is counted."""
    limit_threads()
    start, n, rng = time.perf_counter(), 6_000, np.random.default_rng((draw, int(100 * share), int(10 * spread), 303))
    day, first = rng.integers(0, DAYS, n), int(rng.uniform(0, 1 - share) * DAYS)
    inside = (day >= first) & (day < first + share * DAYS)
    given = logit(rng.uniform(0.15, 0.85, n))
    of_days = expit(given[:, None] + spread * _NODES)
    f = of_days @ (_WEIGHTS / _WEIGHTS.sum())
    together = np.mean((of_days - f[:, None]) ** 2 @ (_WEIGHTS / _WEIGHTS.sum()))
    variance = 0.0
    for rows in (np.bincount(day[part]) for part in (inside, ~inside) if inside.any()):
        variance += np.mean(f * (1 - f)) / rows.sum() + together * (rows @ rows - rows.sum()) / rows.sum() ** 2
    off = (norm.isf(CUT) + norm.isf(0.05)) * variance**0.5 * rng.choice([-1, 1])
    rate = np.clip(expit(given + shared_number(rng, day, spread)) + off * inside, 0, 1)
    table = {"opened": np.datetime64("2021-01-01") + day, "risk": f, "event": (rng.random(n) < rate).astype(int)}
    table |= {"kind": rng.choice(list("abcdefgh"), n), "area": rng.choice(list("nesw"), n), "size": rng.normal(size=n)}
    read = read_triples(pl.DataFrame(table), probability="risk", event="event", group="auto", seed=draw)
    triples = with_units(read, draw)
    rows = LabelledRows.of(
        triples.correct, triples.confidence, expected_outcome(triples, draw), hidden=np.zeros(n), row=triples.row,
        group=triples.group, factor=triples.counted_by.factor,
    )  # fmt: skip
    groups = named_groups(with_features(triples.metadata, triples.X, triples.encoder))
    signs = {one.sign for one in find(rows, groups, seed=draw).findings if "opened" in one.columns}
    return {
        "world": world, "share": share, "spread": spread, "draw": draw, "off": abs(off), "named": bool(signs),
        "found": bool(share) and ("under" if off > 0 else "over") in signs,
        "unit": triples.counted_by.column or triples.counted_by.source, "seconds": time.perf_counter() - start,
    }  # fmt: skip


def spans(args: argparse.Namespace) -> bool:
    """Show how often spans of dates are named where there is one, and where there is none."""
    worlds = [(share, spread) for spread in (0.0, 0.6) for share in (0.0, 0.1, 0.25, 0.5)]
    keys = [("span", share, spread, draw) for share, spread in worlds for draw in range(args.draws)]
    store, shown, met = results(args, ("world", "share", "spread", "draw"), keys, one_span), [], []
    for share, spread in worlds:
        ones = [store[key] for key in keys if key[1:3] == (share, spread)]
        good = sum(one["found" if share else "named"] for one in ones)
        met.append(good >= 0.8 * len(ones) if share else good <= 0.05 * len(ones))
        counted = ", ".join(f"{unit} {many}" for unit, many in Counter(one["unit"] for one in ones).most_common())
        shown.append([share, spread, f"{100 * np.mean([one['off'] for one in ones]):.0f}", len(ones), good, counted])
    head = ["share of the days", "days' number", "points off", "draws", "named", "counted by"]
    show(args, "found_units_spans", "spans of dates", head, shown)
    return target("planted spans found in 80 of 100, and named in 5 of 100 where there are none", all(met))


def main() -> None:
    """Run, show, and compare with the target."""
    parser = options(__doc__, "found_units", rows=1_000, draws=40, part="claims")
    parser.add_argument("--compared", type=int, default=10, help="draws in which rows are counted, too")
    args = parser.parse_args()
    if args.part == "spans":
        sys.exit(not spans(args))
    keys = [*product(WORLDS, [args.rows], ["auto"], range(args.draws))]
    keys += product(WORLDS, [args.rows], ["none"], range(args.compared))
    store = results(args, FIELDS, keys, one_draw)
    shown, said = [], ("claim", "limit", "finding")
    for world in WORLDS:
        of_world = [key for key in keys if key[0] == world and key in store]
        mine = {way: [store[key] for key in of_world if key[2] == way] for way in ("auto", "none")}
        (unit, times), *_ = Counter(one["unit"] for one in mine["auto"]).most_common(1)
        shares = [
            f"{100 * sum(one[name] for one in ones) / len(ones):.0f}" if ones else ""
            for ones in mine.values()
            for name in said
        ]
        shown.append([world, str(args.rows), str(len(mine["auto"])), unit, f"{100 * times / args.draws:.0f}", *shares])
        shown[-1].insert(-len(said), str(len(mine["none"]) or ""))
    head = ["world", "rows", "draws", "counted by", "in % of draws", *(f"{name}, %" for name in said)]
    head += ["draws by rows", *(f"{name} by rows, %" for name in said)]
    show(args, "found_units", "claims where rows hang together and nothing is named", head, shown)
    records = [store[key] for key in keys if key[2] == "auto" and key[0] not in NO_TARGET]
    met = []
    for name in said:
        wrong = sum(one[name] for one in records)
        test = binomtest(wrong, len(records), SIGNIFICANCE, alternative="greater")
        most = 100 * binomtest(wrong, len(records)).proportion_ci(0.9).high
        line = f"draws with a false {name}: {wrong} of {len(records)}, at most {most:.1f} % (one-sided, 95 %)"
        met.append(target(line, test.pvalue >= LEAST_P))
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
