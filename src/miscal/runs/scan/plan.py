"""What is counted: which column plays which part, and how each is cut into cells, by counts of rows alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations, islice
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from miscal.base.arrays import value_list
from miscal.base.errors import InputError, argument
from miscal.data.columns import split_names
from miscal.data.counting import MOST_UNITS, PERIODS, Cut, Sums, cell_of
from miscal.data.readers.candidate_groups import LEAST_UNITS, names_identity
from miscal.data.relations import DATE, NUMBER, TEXT, Relation, day_counts, level_counts, number_counts
from miscal.findings.ledger import LEDGER_DEFAULTS
from miscal.findings.ledger.bins import bins_of
from miscal.findings.ledger.cells import CellPlan, wide
from miscal.runs.scan.options import ScanOptions

STRATA, STRATUM_ROWS = 128, 64
"""Strata of the probability at most, and rows of each on average at least."""
MOST_LEVELS, MOST_CELLS = 2_000, 10_000
"""Values of a column at most; cells of a column beyond which its strata are joined."""
_POINTS, _CELLS = 20_000, 4_096
_TOGETHER = (64, 32, 16, 8, 4, 2)
"""Cells of the probability that are asked for as one."""


def sums_of(asked: ScanOptions) -> Sums:
    """Return what is summed; refuse parts that do not fit together."""
    f, y = (asked.confidence, asked.correct) if asked.kind == "answer" else (asked.probability, asked.event)
    names = ("confidence", "correct") if asked.kind == "answer" else ("probability", "event")
    if asked.kind == "answer" and (asked.probability is not None or asked.event is not None):
        raise InputError(
            f"{argument('confidence')} and {argument('correct')} are of answers, {argument('probability')} and "
            f"{argument('event')} of events: give one pair"
        )
    if f is None:
        raise InputError(f"{argument(names[0], takes='COL')} is missing: name the column, in [0, 1]")
    if (asked.count is None) != (asked.events is None) or (y is None) == (asked.count is None):
        raise InputError(
            f"give the outcome of each row with {argument(names[1], takes='COL')}, or of counted rows both "
            f"{argument('count', takes='COL')} and {argument('events', takes='COL')}"
        )
    if asked.count is not None and asked.weight is not None:
        raise InputError(f"{argument('weight')} is of rows one by one; leave it out with {argument('count')}")
    group, colon, period = (asked.group or "").rpartition(":")
    if not colon or period not in PERIODS:
        group, period = asked.group or "", ""
    if group and (asked.count is not None or asked.least_rows > 1):
        raise InputError(
            f"{argument('group')} sums rows by unit, which counted rows do not tell and which cells of "
            f"{argument('least_rows')} rows are too large for: leave one of them out"
        )
    return Sums(f, y, asked.positive, asked.weight, asked.count, asked.events, group or None, period or None)


def found_units(relation: Relation, sums: Sums, least_rows: int) -> str | None:
    """Return a column named like an identity, or the days of one of dates, whose values repeat and are never blank.

    None without one. What rows that come counted, or cells of some rows, hang together by is not known.
    """
    if sums.count is not None or least_rows > 1:
        return None
    asked = {}
    for name in relation.schema:
        if name in sums.columns:
            continue
        if relation.kind_of(name) == DATE:
            asked[f"{name}:day"] = nw.col(name).dt.truncate(PERIODS["day"])
        elif names_identity(name):
            asked[name] = nw.col(name)
    if not asked:
        return None
    counts = {f"u{place}": column.n_unique() for place, column in enumerate(asked.values())}
    counts |= {f"blank{place}": column.is_null().sum() for place, column in enumerate(asked.values())}
    seen = relation.collect(relation.frame.select(n=nw.len(), **counts)).row(0, named=True)
    able = [
        one
        for place, one in enumerate(asked)
        if LEAST_UNITS <= seen[f"u{place}"] <= min(seen["n"] / 2, MOST_UNITS) and not seen[f"blank{place}"]
    ]
    # who is more than when: rows of one person are of several days
    return min(able, key=lambda one: one.endswith(":day"), default=None)


@dataclass(frozen=True)
class Planned:
    """What is counted: cells at which strata begin, columns and pairs, columns `left_out` and why, rows and events.

    `uncrossed`: pairs of columns that are left out. `seen`: digest of the counts that this was planned by.
    """

    cells: CellPlan
    begins: tuple[int, ...]
    left_out: tuple[tuple[str, str], ...]
    n: float
    events: float
    uncrossed: int
    seen: str


def check_rows(relation: Relation, sums: Sums) -> str:
    """Refuse probabilities, outcomes and weights that are none; return the type of the outcome."""
    one, none = nw.lit(1), nw.lit(0)
    count: Callable[[nw.Expr], nw.Expr] = lambda wrong: nw.when(wrong).then(one).otherwise(none)  # noqa: E731
    f, name = sums.f, sums.probability
    if relation.kind_of(name) != NUMBER:
        raise InputError(
            f"column {name!r} must hold probabilities, numbers in [0, 1]; it holds {relation.schema[name]}"
        )
    wrong = {
        f"column {name!r} has {{}} rows without a probability: fill or leave them out": f.is_null() | f.is_nan(),
        f"column {name!r} must be in [0, 1]; {{}} rows are outside: give probabilities, not percentages or scores": (
            (f < 0) | (f > 1)
        ),
    }
    outcome_is = NUMBER
    if sums.event is not None:
        y, kind = nw.col(sums.event), relation.schema[sums.event]
        outcome_is = "boolean" if kind == nw.Boolean else NUMBER
        wrong[f"column {sums.event!r} has {{}} rows without an outcome: leave them out"] = y.is_null()
        if sums.positive is None and outcome_is == NUMBER:
            if not kind.is_numeric():
                raise InputError(
                    f"column {sums.event!r} must hold 0 and 1, or false and true; it holds {kind}: say which value is "
                    f"the event with {argument('positive', takes='VALUE')}"
                )
            y = y.cast(nw.Float64)
            wrong[f"column {sums.event!r} must hold 0 or 1; {{}} rows have another value"] = (y != 0) & (y != 1)
    if sums.group is not None:
        if sums.period is not None and relation.kind_of(sums.group) != DATE:
            raise InputError(f"{argument('group')}: column {sums.group!r} holds no dates; it has no {sums.period}s")
        wrong[f"column {sums.group!r} has {{}} rows without a group: fill or leave them out"] = nw.col(
            sums.group
        ).is_null()
    if sums.weight is not None:
        w = nw.col(sums.weight).cast(nw.Float64)
        bad = w.is_null() | w.is_nan() | ~w.is_finite() | (w < 0)
        wrong[f"column {sums.weight!r} must hold weights of at least 0; {{}} rows have none"] = bad
    if sums.count is not None:
        n, k = nw.col(sums.count).cast(nw.Float64), nw.col(sums.events or "").cast(nw.Float64)
        for column, values in ((sums.count, n), (sums.events, k)):
            said = f"column {column!r} must hold whole numbers of at least 0; {{}} rows have none"
            wrong[said] = values.is_null() | values.is_nan() | (values < 0) | (values != values.floor())
        wrong[f"column {sums.events!r} must be at most {sums.count!r}; in {{}} rows it is more"] = k > n
    asked = {f"c{place}": count(one) for place, one in enumerate(wrong.values())}
    seen = relation.ask({}, asked | {"every": sums.rows}).row(0, named=True)
    if not seen["every"]:
        raise InputError(f"{relation.name} has no rows")
    for place, said in enumerate(wrong):
        if (many := int(seen[f"c{place}"] or 0)) > 0:
            raise InputError(said.format(f"{many:,}"))
    return outcome_is


def plan_of(relation: Relation, sums: Sums, outcome_is: str, columns: Any) -> Planned:
    """Cut the probability into strata and columns into cells, from counts of rows."""
    terms = sums.terms()
    known = Relation(relation.frame.select(**sums.base(outcome_is)), relation.name, relation.show)
    fine = known.ask({"cell": cell_of(nw.col("risk"))}, {name: terms[name] for name in ("n", "y")}).sort("cell")
    n, events = float(fine["n"].sum()), float(fine["y"].sum())
    if not 0 < events < n:
        raise InputError(f"all {n:,.0f} outcomes are alike: a scan needs rows of either outcome")
    begins = _strata(fine["cell"].to_numpy().astype(int), fine["n"].to_numpy().astype(float))
    cuts, left_out, sizes = [], [], []
    for name in _names(relation, sums, columns):
        cut, why, rows = _cut(relation, sums, name, n, len(begins) + 1)
        if cut is None:
            left_out.append((name, why))
            continue
        cuts.append(cut)
        sizes.append(rows)
    crossed = [_in_pairs(cut, rows, len(begins) + 1) for cut, rows in zip(cuts, sizes, strict=True)]
    # columns of values before those of bins, as in the rows of a run
    crossed = sorted((cut for cut in crossed if cut.values or cut.kind != TEXT), key=lambda cut: not cut.values)
    pairs = tuple(islice(combinations(crossed, 2), int(LEDGER_DEFAULTS.pair_work // n)))
    seen = sha256(repr([fine.rows(), *(rows.tolist() for rows in sizes)]).encode()).hexdigest()
    uncrossed = len(crossed) * (len(crossed) - 1) // 2 - len(pairs)
    return Planned(CellPlan(tuple(cuts), pairs), begins, tuple(left_out), n, events, uncrossed, seen)


def _in_pairs(cut: Cut, rows: np.ndarray, strata: int) -> Cut:
    """Return a column as it is cut in pairs: in wide bins, or in the texts that have rows enough for a pair."""
    coarser, least = 4 if strata >= 64 else 1, LEDGER_DEFAULTS.pair_rows
    if cut.kind != TEXT:
        return replace(wide(cut), coarser=coarser)
    kept = tuple(value for value, many in zip(cut.values, rows.tolist(), strict=True) if many >= least)
    pooled = cut.pooled + len(cut.values) - len(kept)
    return replace(
        cut, values=kept, pooled=pooled, pooled_rows=cut.pooled_rows if pooled == cut.pooled else 0, coarser=coarser
    )


def _names(relation: Relation, sums: Sums, columns: Any) -> list[str]:
    others = [name for name in relation.schema if name not in sums.columns]
    if columns is None or columns in ("auto", ("auto",)):
        return others
    names = list(split_names(columns))
    relation.check(names, "columns")
    if twice := [name for name in names if name in sums.columns]:
        raise InputError(f"{argument('columns')}: {value_list(twice)} plays another part: leave it out")
    return names


def _strata(cells: np.ndarray, rows: np.ndarray) -> tuple[int, ...]:
    """Return cells at which strata of about equal counts begin, but for the first.

    Where hardly fewer strata can be told apart by wider cells, they are: answers are shorter.
    """
    many = int(np.clip(rows.sum() // STRATUM_ROWS, 1, STRATA))
    found = _equal(cells, rows, many)
    for together in _TOGETHER:
        wider, at = np.unique(cells // together, return_inverse=True)
        begins = _equal(wider * together, np.bincount(at, rows), many)
        if len(begins) >= 0.8 * len(found):
            return begins
    return found


def _equal(cells: np.ndarray, rows: np.ndarray, many: int) -> tuple[int, ...]:
    if len(cells) <= many:
        return tuple(cells[1:].tolist())
    share = np.cumsum(rows) / rows.sum()
    # the cell after the one that reaches each share; one that is a stratum by itself begins at its own
    begins = set((np.searchsorted(share, np.arange(1, many) / many) + 1).tolist())
    begins |= set(np.flatnonzero(rows >= rows.sum() / many).tolist())
    return tuple(int(cells[place]) for place in sorted(begins) if 0 < place < len(cells))


def _cut(relation: Relation, sums: Sums, name: str, n: float, strata: int) -> tuple[Cut | None, str, np.ndarray]:
    """Cut a column; with why it is left out, and with about how many rows its cells have."""
    kind, none = relation.kind_of(name), np.zeros(0)
    if kind is None:
        return None, f"holds {relation.schema[name]}, which has no cells", none
    if kind == TEXT:
        cut, why, rows = _text(relation, sums, name, n)
    elif kind == DATE:
        if getattr(relation.schema[name], "time_zone", None):
            return None, "holds times with a time zone: cast them to dates", none
        days = day_counts(relation, sums.rows, name)
        cut, why, rows = _between(name, days, DATE, False)
        cut = cut and replace(cut, timed=relation.schema[name] != nw.Date)
    else:
        counted = number_counts(relation, sums.rows, name, _CELLS)
        cut, why, rows = _between(name, counted, NUMBER, relation.schema[name].is_integer())
    if cut is None:
        return None, why, none
    coarser = 1
    while strata / coarser * cut.count > MOST_CELLS:
        coarser *= 2
    return replace(cut, coarser=coarser), "", rows


def _text(relation: Relation, sums: Sums, name: str, n: float) -> tuple[Cut | None, str, np.ndarray]:
    levels = level_counts(relation, sums.rows, name, MOST_LEVELS + 2)
    if relation.schema[name] == nw.Boolean:
        levels = levels.with_columns(pl.col("value").str.to_titlecase())
    known = levels.filter(pl.col("value").is_not_null())
    blank = float(levels.filter(pl.col("value").is_null())["n"].sum())
    kept = known.filter(pl.col("n") >= LEDGER_DEFAULTS.min_rows).head(MOST_LEVELS).sort("value")
    rows = float(kept["n"].sum())
    if len(kept) == 0 or rows < (1 - LEDGER_DEFAULTS.identifier_share) * (n - blank):
        return None, f"names rows, not groups: few of its values have {LEDGER_DEFAULTS.min_rows} rows", np.zeros(0)
    pooled = n - blank - rows
    cut = Cut(name, TEXT, tuple(kept["value"].to_list()), pooled=len(known) - len(kept), pooled_rows=round(pooled))
    return (cut, "", kept["n"].to_numpy()) if cut.count > 1 or blank or pooled else (None, "has one value", np.zeros(0))


def _between(name: str, counted: pl.DataFrame, kind: str, integer: bool) -> tuple[Cut | None, str, np.ndarray]:
    """Cut numbers or dates, counted in narrow cells, between edges; few numbers one by one."""
    if len(counted) == 0:
        return None, "has no value", np.zeros(0)
    rows, low, high = (counted[column].to_numpy().astype(float) for column in ("n", "low", "high"))
    if len(counted) < 2 and low[0] == high[0]:
        return None, "has one value", np.zeros(0)
    if kind == NUMBER and len(counted) <= LEDGER_DEFAULTS.few_values and (low == high).all():
        return Cut(name, NUMBER, tuple(low.tolist())), "", rows
    points = np.maximum(1, np.rint(rows / rows.sum() * _POINTS).astype(int))
    values = np.concatenate([np.linspace(*ends, many) for *ends, many in zip(low, high, points, strict=True)])
    values = np.rint(values) if integer else values
    bins = bins_of(name, values, LEDGER_DEFAULTS.bins, kind == DATE)
    if bins.count < 2:
        return None, "has one value", np.zeros(0)
    cut = Cut(name, kind, edges=tuple(bins.inner.tolist()), whole=bins.whole and integer)
    places = np.searchsorted(np.array(wide(cut).edges), (low + high) / 2, "right")
    return cut, "", np.bincount(places, rows)


def stored_cut(content: dict[str, Any]) -> Cut:
    """Read a cut from its JSON."""
    return Cut(**content | {"values": tuple(content["values"]), "edges": tuple(content["edges"])})
