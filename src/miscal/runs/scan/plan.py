"""What is counted: which column plays which part, and how each is cut into cells, by counts of rows alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import combinations, islice
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from miscal.base.arrays import SHOWN_IN_WARNING, value_list
from miscal.base.checks import CLIP_TOLERANCE, outside_unit
from miscal.base.document import Part
from miscal.base.errors import InputError, argument
from miscal.base.frames import scan_parquet
from miscal.base.vocabulary import Kind
from miscal.data.columns import split_names
from miscal.data.counting import MOST_UNITS, PERIODS, Cut, Sums, cell_of
from miscal.data.readers.candidate_groups import LEAST_UNITS, may_count, names_identity
from miscal.data.relations import DATE, NUMBER, TEXT, Relation, day_counts, level_counts, number_counts, runs
from miscal.findings.ledger.bins import bins_of
from miscal.findings.ledger.cells import CellPlan, wide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS
from miscal.runs.settings import ScanOptions

STRATA, STRATUM_ROWS = 128, 64
"""Strata of the probability at most, and rows of each on average at least."""
MOST_LEVELS, MOST_CELLS = 2_000, 10_000
"""Values of a column at most; cells of a column beyond which its strata are joined."""
_POINTS, _CELLS = 20_000, 4_096
_PARTS = 8
"""Where cells must have some rows, bins have so many times as many, and there are as many of them at least."""
_HEAVIEST, _MOST_COUNTED = 1e30, 10**15
"""The largest weight, and sum of counts: beyond, what is made of them is lost in rounding, or too large."""
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
        text = relation.kind_of(name) == TEXT
        if relation.kind_of(name) == DATE:
            asked[f"{name}:day"] = nw.col(name).dt.truncate(PERIODS["day"])
        # numbers of the plural count
        elif names_identity(name, plain=text) and (
            text or (relation.schema[name].is_integer() and not may_count(name))
        ):
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


class NoCells(Exception):
    """Why a column, or a condition, is left out."""


class Counted(Part):
    """What cells say of themselves: what was counted, and the parts that columns play.

    `begins`: cells at which strata begin, but for the first. `left_out`: columns, and why. `terms`: what was summed.
    `uncrossed`: pairs of columns that are left out.
    """

    kind: Kind
    source: str
    probability: str
    outcome: str
    weight: str | None
    group: str | None
    begins: tuple[int, ...]
    left_out: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    least_rows: int
    terms: tuple[str, ...]
    uncrossed: int
    plan: CellPlan


def named_columns(relation: Relation, asked: Sequence[str], every: bool) -> tuple[Relation, list[str]]:
    """Return the columns that have a name, NaN in them as null, and names of the others; refuse twins by case.

    `every`: whether others than those asked for play a part.
    """
    stored = _stored_names(relation)
    alike, twins = Counter(name.lower() for name in relation.schema), []
    nameless = [name for name in relation.schema if name in ("", "*") or re.fullmatch(r"(?s)\^.*\$", name)]
    for name in relation.schema:
        stem = name if name in stored else re.sub(r"_\d+$", "", name)
        if alike[stem.lower()] > (stem == name):
            twins += [name, *(other for other in relation.schema if other.lower() == stem.lower())]
        elif name not in stored:
            nameless.append(name)
    if name := next((one for one in (relation.schema if every else asked) if one in twins), None):
        raise InputError(
            f"column {name!r} has a twin, whose name is the same or differs by case alone, which SQL cannot tell from "
            "it: rename one"
        )
    if (name := next((one for one in asked if one in nameless), None)) is not None:
        raise InputError(f"column {name!r} has a name that SQL takes for all columns, or for none: rename it")
    columns = {name: nw.col(name) for name in relation.schema if name not in nameless}
    for name, values in columns.items():
        if relation.schema[name].is_float():
            columns[name] = nw.when(~values.is_nan()).then(values)
    return Relation(relation.frame.select(**columns), relation.name, relation.show, relation.files), nameless


def _stored_names(relation: Relation) -> Container[str]:
    """Return the names of columns as files have them, of csv the text that they stand in: DuckDB changes some."""
    names = list(relation.schema)
    if not relation.files:
        return names
    file = relation.files[0]
    folders = [part.partition("=")[0] for part in file.parts[:-1]]
    if file.suffix.lower() == ".parquet":
        return [*scan_parquet(file).collect_schema(), *folders]
    with file.open(encoding="utf-8", errors="replace") as lines:
        head = lines.readline().replace('""', '"')
    return f"{head}{folders}" if any(name in head for name in names) else names


def checked_rows(relation: Relation, sums: Sums) -> tuple[Relation, str, tuple[str, ...]]:
    """Refuse probabilities, outcomes and weights that are none; return the rows that count.

    With the type of the outcome, and with notes.
    """
    one, none = nw.lit(1), nw.lit(0)
    count: Callable[[nw.Expr], nw.Expr] = lambda wrong: nw.when(wrong).then(one).otherwise(none)  # noqa: E731
    f, name, notes = sums.f, sums.probability, []
    if relation.kind_of(name) != NUMBER:
        raise InputError(
            f"column {name!r} must hold probabilities, numbers in [0, 1]; it holds {relation.schema[name]}"
        )
    outside = f"column {name!r} must be in [0, 1]; {{}} rows are outside: give probabilities, not percentages or scores"
    wrong = {
        f"column {name!r} has {{}} rows without a probability: fill or leave them out": f.is_null(),
        outside: outside_unit(f),
    }
    outcome_is = NUMBER
    if sums.event is not None:
        y, kind = nw.col(sums.event), relation.schema[sums.event]
        outcome_is = "boolean" if kind == nw.Boolean else NUMBER if kind.is_numeric() else TEXT
        wrong[f"column {sums.event!r} has {{}} rows without an outcome: leave them out"] = y.is_null()
        if sums.positive is not None:
            notes += _other_values(relation, sums, outcome_is)
        elif outcome_is == TEXT:
            raise InputError(
                f"column {sums.event!r} must hold 0 and 1, or false and true; it holds {kind}: say which value is "
                f"the event with {argument('positive', takes='VALUE')}"
            )
        elif outcome_is == NUMBER:
            y = y.cast(nw.Float64)
            wrong[f"column {sums.event!r} must hold 0 or 1; {{}} rows have another value"] = (y != 0) & (y != 1)
    if sums.group is not None:
        if sums.period is not None and relation.kind_of(sums.group) != DATE:
            raise InputError(f"{argument('group')}: column {sums.group!r} holds no dates; it has no {sums.period}s")
        wrong[f"column {sums.group!r} has {{}} rows without a group: fill or leave them out"] = nw.col(
            sums.group
        ).is_null()
    for column in (sums.weight, sums.count, sums.events):
        if column is not None and relation.kind_of(column) != NUMBER:
            raise InputError(f"column {column!r} must hold numbers; it holds {relation.schema[column]}")
    if sums.weight is not None:
        w = nw.col(sums.weight).cast(nw.Float64)
        bad = w.is_null() | (w < 0) | (w > _HEAVIEST) | ((w > 0) & (w < 1 / _HEAVIEST))
        said = f"column {sums.weight!r} must hold weights: 0, or from {1 / _HEAVIEST:g} to {_HEAVIEST:g}"
        wrong[f"{said}; {{}} rows have none"] = bad
    if sums.count is not None:
        n, k = nw.col(sums.count).cast(nw.Float64), nw.col(sums.events or "").cast(nw.Float64)
        for column, values in ((sums.count, n), (sums.events, k)):
            said = f"column {column!r} must hold whole numbers of at least 0; {{}} rows have none"
            wrong[said] = values.is_null() | (values < 0) | (values != values.floor())
        wrong[f"column {sums.events!r} must be at most {sums.count!r}; in {{}} rows it is more"] = k > n
    mass = sums.weight or sums.count
    idle = none if mass is None else count(nw.col(mass) == 0)
    asked = {f"c{place}": count(one) for place, one in enumerate(wrong.values())}
    asked |= {"every": one, "idle": idle, "total": one if sums.count is None else nw.col(sums.count).cast(nw.Float64)}
    seen = relation.ask({}, asked | {"rounded": count((f < 0) | (f > 1))}).row(0, named=True)
    for place, said in enumerate(wrong):
        if (many := int(seen[f"c{place}"] or 0)) > 0:
            raise InputError(said.format(f"{many:,}"))
    if (seen["total"] or 0) > _MOST_COUNTED:
        raise InputError(f"column {sums.count!r} adds up to more than {_MOST_COUNTED:,} rows: count in thousands")
    if seen["every"] == seen["idle"] or not seen["every"]:
        raise InputError(f"{relation.name} has no rows" + (f" with a {mass!r} above 0" if seen["every"] else ""))
    if seen["idle"]:
        notes.append(f"{mass}: {seen['idle']:,} rows have 0, and do not count")
        relation = relation.where(nw.col(mass) > 0)
    if seen["rounded"]:
        notes.append(f"{name}: {seen['rounded']:,} rows were up to {CLIP_TOLERANCE} outside [0, 1] and were clipped")
        frame = relation.frame.with_columns(**{name: f.clip(0.0, 1.0)})
        relation = Relation(frame, relation.name, relation.show, relation.files)
    return relation, outcome_is, tuple(notes)


def _other_values(relation: Relation, sums: Sums, outcome_is: str) -> list[str]:
    """Say what values beside the event count as none; refuse one that is nowhere."""
    hits = relation.frame.select(value=nw.col(sums.event or ""), y=sums.outcome(outcome_is))
    counted = relation.collect(hits.group_by("value").agg(y=nw.col("y").max(), n=nw.len()))
    counted = counted.drop_nulls("value").sort("n", "value", descending=[True, False])
    others = counted.filter(pl.col("y") == 0)["value"].to_list()
    if len(others) == len(counted):
        raise InputError(
            f"{argument('positive')}: column {sums.event!r} nowhere holds {str(sums.positive)!r}; it holds "
            f"{value_list(others[:20])}"
        )
    shown = value_list(others, SHOWN_IN_WARNING)
    said = f"{sums.event}: {str(sums.positive)!r} counts as 1, and every other value as 0: {shown}"
    return [said] if len(others) > 1 else []


def plan_of(
    relation: Relation, sums: Sums, outcome_is: str, columns: Any, least_rows: int
) -> tuple[dict[str, Any], tuple[float, float], str]:
    """Cut the probability into strata and columns into cells, from counts of rows.

    Return what `Counted` says of it, how many rows and events there are, and a digest of the counts.
    """
    terms = sums.terms()
    known = Relation(relation.frame.select(**sums.base(outcome_is)), relation.name, relation.show)
    fine = known.ask({"cell": cell_of(nw.col("risk"))}, {name: terms[name] for name in ("n", "y")}).sort("cell")
    n, events = float(fine["n"].sum()), float(fine["y"].sum())
    if not 0 < events < n:
        raise InputError(f"all {n:,.0f} outcomes are alike: a scan needs rows of either outcome")
    if n < 2 * least_rows:
        raise InputError(f"{argument('least_rows')}: {relation.name} has {n:,.0f} rows, too few for two cells of it")
    begins = _strata(fine["cell"].to_numpy().astype(int), fine["n"].to_numpy().astype(float), least_rows)
    strata, cuts, left_out, sizes = len(begins) + 1, [], [], []
    for name in _names(relation, sums, columns):
        try:
            cut, rows = _cut(relation, sums, name, n, strata, least_rows)
        except NoCells as why:
            left_out.append((name, str(why)))
            continue
        cuts.append(cut)
        sizes.append(rows)
    asked = [(_in_pairs(cut, rows), _typical(rows)) for cut, rows in zip(cuts, sizes, strict=True)]
    # columns of values before those of bins, as in the rows of a run
    crossed = sorted((one for one in asked if one[0].values or one[0].kind != TEXT), key=lambda one: not one[0].values)
    ways = []
    for one, two in islice(combinations(crossed, 2), int(LEDGER_DEFAULTS.pair_work // n)):
        coarser = max(4 if strata >= 64 else 1, _coarser(one[1] * two[1] / n, strata, least_rows))
        ways.append((replace(one[0], coarser=coarser), replace(two[0], coarser=coarser)))
    uncrossed = len(crossed) * (len(crossed) - 1) // 2 - len(ways)
    planned = {"begins": begins, "left_out": left_out, "uncrossed": uncrossed, "plan": CellPlan((*cuts,), (*ways,))}
    return planned, (n, events), sha256(repr([fine.rows(), *(rows.tolist() for rows in sizes)]).encode()).hexdigest()


def _typical(rows: np.ndarray) -> float:
    """Return how many rows the cell of a row has, on average."""
    return float(rows @ rows / rows.sum())


def _coarser(typical: float, strata: int, least: int) -> int:
    """Return how many strata are one so that most parts of a cell within strata have so many rows."""
    coarser = 1
    while least > 1 and strata > 4 * coarser and typical * coarser < 2 * least * strata:
        coarser *= 2
    return coarser


def _in_pairs(cut: Cut, rows: np.ndarray) -> Cut:
    """Return a column as it is cut in pairs: in wide bins, or in the texts that have rows enough for a pair."""
    least = LEDGER_DEFAULTS.pair_rows
    if cut.kind != TEXT:
        return wide(cut)
    kept = tuple(value for value, many in zip(cut.values, rows.tolist(), strict=True) if many >= least)
    pooled = cut.pooled + len(cut.values) - len(kept)
    return replace(cut, values=kept, pooled=pooled, pooled_rows=cut.pooled_rows if pooled == cut.pooled else 0)


def _names(relation: Relation, sums: Sums, columns: Any) -> list[str]:
    others = [name for name in relation.schema if name not in sums.columns]
    if columns is None or columns in ("auto", ("auto",)):
        return others
    names = list(split_names(columns))
    relation.check(names, "columns")
    if twice := [name for name in names if name in sums.columns]:
        raise InputError(f"{argument('columns')}: {value_list(twice)} plays another part: leave it out")
    return names


def _strata(cells: np.ndarray, rows: np.ndarray, least: int) -> tuple[int, ...]:
    """Return cells at which strata of about equal counts begin, but for the first.

    Where hardly fewer strata can be told apart by wider cells, they are: answers are shorter.
    """
    many = int(np.clip(rows.sum() // max(STRATUM_ROWS, 2 * least), 1, STRATA))
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


def _cut(relation: Relation, sums: Sums, name: str, n: float, strata: int, least: int) -> tuple[Cut, np.ndarray]:
    """Cut a column; return about how many rows its cells have, too."""
    kind, of = relation.kind_of(name), relation.schema[name]
    if kind is None:
        raise NoCells(f"holds {of}, which has no cells")
    if kind == TEXT:
        cut, rows = _text(level_counts(relation, sums.rows, name, MOST_LEVELS + 2), name, n, of == nw.Boolean)
    elif kind == DATE:
        if getattr(of, "time_zone", None):
            raise NoCells("holds times with a time zone: cast them to dates")
        cut, rows = _between(name, day_counts(relation, sums.rows, name), DATE, False)
        cut = replace(cut, timed=of != nw.Date)
    else:
        cut, rows = _between(name, number_counts(relation, sums.rows, name, _CELLS), NUMBER, of.is_integer())
    coarser = 1
    if least > 1:
        cut, rows = _enough(relation, sums, cut, least)
        coarser = _coarser(_typical(rows), strata, least)
        if cut.edges:
            rows = np.bincount(np.searchsorted(wide(cut).edges, (-np.inf, *cut.edges), "right"), rows)
    while strata / coarser * cut.count > MOST_CELLS:
        coarser *= 2
    return replace(cut, coarser=coarser), rows


def _enough(relation: Relation, sums: Sums, cut: Cut, least: int) -> tuple[Cut, np.ndarray]:
    """Cut a column anew so that every cell has rows enough; return the rows of its cells, too."""
    counted = relation.ask({"code": cut.code()}, {"n": sums.rows})
    rows = np.zeros(cut.count + 2)
    np.add.at(rows, cut.codes_of(counted["code"]).to_numpy(), counted["n"].cast(pl.Float64).to_numpy())
    *rows, blank, pooled = rows.tolist()
    if 0 < blank < least and cut.kind == TEXT:
        cut, blank, pooled = replace(cut, blank=False, pooled=cut.pooled + 1), 0.0, pooled + blank
    elif 0 < blank < least:
        raise NoCells(f"has fewer than {least} rows without a value: fill them, or leave these rows out")
    if cut.kind == TEXT:
        order = sorted(range(cut.count), key=lambda place: -rows[place])
        while order and (rows[order[-1]] < least or 0 < pooled < least):
            pooled += rows[order.pop()]
        kept = sorted(order)
        gone = cut.pooled + cut.count - len(kept)
        cut = replace(cut, values=tuple(cut.values[k] for k in kept), pooled=gone, pooled_rows=round(pooled))
        rows = [rows[k] for k in kept]
    elif cut.edges or min(rows) < least:
        whole = cut.whole if cut.edges else all(value == int(value) for value in cut.values)
        run = runs(np.array(rows), max(least, min(_PARTS * least, sum(rows) / _PARTS)))
        rows = np.bincount(run, rows).tolist()
        ends = zip(cut.edges or cut.values[1:], np.diff(run), strict=True)
        cut = replace(cut, values=(), edges=tuple(end for end, new in ends if new), whole=whole)
    if len(rows) + (blank > 0) + (pooled > 0) < 2 or not rows:
        raise NoCells(f"has no two values of {least} rows")
    return cut, np.array(rows)


def _text(levels: pl.DataFrame, name: str, n: float, truth: bool) -> tuple[Cut, np.ndarray]:
    """Cut a column of texts or truths by their counts: values with rows enough are cells."""
    if truth:
        levels = levels.with_columns(pl.col("value").str.to_titlecase())
    known = levels.filter(pl.col("value").is_not_null())
    blank = float(levels.filter(pl.col("value").is_null())["n"].sum())
    kept = known.filter(pl.col("n") >= LEDGER_DEFAULTS.min_rows).head(MOST_LEVELS).sort("value")
    rows = float(kept["n"].sum())
    if len(kept) == 0 or rows < (1 - LEDGER_DEFAULTS.identifier_share) * (n - blank):
        raise NoCells(f"names rows, not groups: few of its values have {LEDGER_DEFAULTS.min_rows} rows")
    few, values = n - blank - rows, tuple(kept["value"].to_list())
    if len(values) < 2 and not blank and not few:
        raise NoCells("has one value")
    pooled = {"pooled": len(known) - len(kept), "pooled_rows": round(few)}
    return Cut(name, TEXT, values, truth=truth, **pooled), kept["n"].to_numpy()


def _between(name: str, counted: pl.DataFrame, kind: str, integer: bool) -> tuple[Cut, np.ndarray]:
    """Cut numbers or dates, counted in narrow cells, between edges; few numbers one by one."""
    if len(counted) == 0:
        raise NoCells("has no value")
    rows, low, high = (counted[column].to_numpy().astype(float) for column in ("n", "low", "high"))
    if len(counted) < 2 and low[0] == high[0]:
        raise NoCells("has one value")
    if kind == NUMBER and len(counted) <= LEDGER_DEFAULTS.few_values and (low == high).all():
        return Cut(name, NUMBER, tuple(low.tolist())), rows
    points = np.maximum(1, np.rint(rows / rows.sum() * _POINTS).astype(int))
    values = np.concatenate([np.linspace(*ends, many) for *ends, many in zip(low, high, points, strict=True)])
    bins = bins_of(name, np.rint(values) if integer else values, LEDGER_DEFAULTS.bins, kind == DATE)
    if bins.count < 2:
        raise NoCells("has one value")
    cut = Cut(name, kind, edges=tuple(bins.inner.tolist()), whole=bins.whole and integer)
    return cut, np.bincount(np.searchsorted(np.array(wide(cut).edges), (low + high) / 2, "right"), rows)
