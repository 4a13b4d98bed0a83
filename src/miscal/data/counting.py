"""Rows counted in cells: how columns are cut, what is summed of a row, and the answers to such questions.

Every question is a `group_by` with sums, written with the lazy interface of narwhals alone, so that polars, DuckDB and
whatever else narwhals knows answer it. Cells of the probability are of equal width in log-odds: one expression serves
all of them, where to ask for the stratum of a row by comparing it with edges takes most of the time of a question.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import reduce
from hashlib import sha256
from math import gcd
from operator import or_
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any
from weakref import finalize

import narwhals as nw
import numpy as np
import polars as pl
from scipy.special import expit

from miscal.base.errors import InputError, argument
from miscal.base.folders import CellStore
from miscal.base.frames import read_parquet
from miscal.data.relations import DATE, NUMBER, TEXT, Relation, joined_along, pooled, staged

PERIODS = {"hour": "1h", "day": "1d", "week": "1w", "month": "1mo", "year": "1y"}
MOST_UNITS = 100_000
POOLED = -1
_PER_UNIT, _RAREST = 256, 2.0**-23
"""Cells of a unit of log-odds; probabilities nearer to 0 or 1 than this are in the first and the last cell."""
_MIDDLE = 4096.5
"""Cell of even odds, and a half: edges lie between round probabilities, which engines may round to either side."""
_FEW_EDGES = 32
"""Up to so many, strata are asked for by comparing with edges, and answers have fewer cells to join."""
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Cut:
    """How a column is cut into cells: into values, of which the last cell has what is missing, or between edges.

    `values`: texts or numbers that are cells each; `edges`: where one bin ends and the next begins, dates as seconds
    since 1970. `pooled`: values that are in no cell, and `pooled_rows` their rows; `blank`: whether what is missing has
    a cell, and is not pooled. `coarser`: how many strata of the
    probability are one where this column is counted. `whole`: whether all numbers are whole and near each other.
    `truth`: whether values are True and False, which engines write as texts of their own.
    """

    column: str
    kind: str
    values: tuple[Any, ...] = ()
    edges: tuple[float, ...] = ()
    pooled: int = 0
    pooled_rows: int = 0
    coarser: int = 1
    whole: bool = False
    timed: bool = False
    truth: bool = False
    blank: bool = True

    @property
    def marks(self) -> tuple[str, str]:
        """Texts that stand for what is missing and for what is pooled: no values."""
        missing, pooled, *_ = (
            mark for mark in map("?".__mul__, range(len(self.values) + 2)) if mark not in self.values
        )
        return missing, pooled

    @property
    def count(self) -> int:
        """Number of cells without the one of missing values."""
        return len(self.values) if self.values else len(self.edges) + 1

    def code(self) -> nw.Expr:
        """Return the cell of each row; of texts the text itself."""
        column = nw.col(self.column)
        if self.kind == TEXT:
            text, (missing, pooled) = column.cast(nw.String), self.marks
            if self.truth:
                text = nw.when(text.is_in(["true", "True"])).then(nw.lit("True")).otherwise(nw.lit("False"))
            kept = nw.when(text.is_in(list(self.values))).then(text).otherwise(nw.lit(pooled)) if self.pooled else text
            return nw.when(column.is_null()).then(nw.lit(missing if self.blank else pooled)).otherwise(kept)
        ends = [(_EPOCH + timedelta(seconds=edge)) if self.kind == DATE else edge for edge in self.edges]
        if self.kind == DATE and not self.timed:
            ends = [end.date() for end in ends]
        known = column if self.kind == DATE else column.cast(nw.Float64)
        lacking = known.is_null() if self.kind == DATE else known.is_null() | known.is_nan() | ~known.is_finite()
        inner = _place(known, self.values[1:] if self.values else ends)
        return nw.when(lacking).then(nw.lit(self.count)).otherwise(inner)

    def codes_of(self, values: pl.Series) -> pl.Series:
        """Return what was asked as the numbers of cells."""
        if self.kind != TEXT:
            return values.cast(pl.Int64)
        places = {value: place for place, value in enumerate((*self.values, self.marks[0]))}
        return values.replace_strict(places, default=POOLED, return_dtype=pl.Int64)


def _place(column: nw.Expr, edges: Sequence[Any], first: int = 0, values: Sequence[float] | None = None) -> nw.Expr:
    """Count the edges that are at most the value, by halving; or return the value of each place."""
    if not edges:
        return nw.lit(first if values is None else values[first])
    half = len(edges) // 2
    above = _place(column, edges[half + 1 :], first + half + 1, values)
    below = _place(column, edges[:half], first, values)
    return nw.when(column >= nw.lit(edges[half])).then(above).otherwise(below)


@dataclass(frozen=True)
class Member:
    """Which rows belong to a group: those of some cells of one or two columns, or all others.

    `cells`: numbers of cells, one of each column. `apart`: the cells are told apart, not only from others.
    """

    cuts: tuple[Cut, ...]
    cells: tuple[tuple[int, ...], ...]
    others: bool = False
    apart: bool = False

    def code(self, coded: Callable[[Cut], nw.Expr]) -> nw.Expr:
        """Return 1 where a row belongs to it, 0 where not; the cell where they are told apart."""
        if self.apart:
            return coded(self.cuts[0])
        return nw.when(self.has(coded)).then(nw.lit(1)).otherwise(nw.lit(0))

    def has(self, coded: Callable[[Cut], nw.Expr]) -> nw.Expr:
        """Return whether a row belongs to it."""

        def is_in(cut: Cut, cells: Sequence[int]) -> nw.Expr:
            known = [(*cut.values, *cut.marks)[cell] for cell in cells] if cut.kind == TEXT else list(cells)
            return coded(cut).is_in(known)

        if len(self.cuts) == 1:
            inside = is_in(self.cuts[0], [cell for (cell,) in self.cells])
        else:
            first, second = self.cuts
            inside = reduce(or_, (is_in(first, [one]) & is_in(second, [two]) for one, two in self.cells))
        return ~inside if self.others else inside


@dataclass(frozen=True)
class Question:
    """Rows counted by stratum, by cells of up to two columns, and by membership of groups.

    `coarser`: how many neighbouring strata are one. `units`: whether rows are summed by unit, not by stratum. `only`:
    rows are counted, without their outcomes, that are in the group (1) or not (0): all others are what is left.
    `residuals`: of all strata together, what outcomes differ by from the rate of their stratum is summed.
    """

    cuts: tuple[Cut, ...] = ()
    members: tuple[Member, ...] = ()
    coarser: int = 1
    units: bool = False
    only: int | None = None
    residuals: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of what it tells apart."""
        cells = tuple(f"cell{k}" for k in range(len(self.cuts)))
        within = () if self.residuals else ("unit" if self.units else "stratum",)
        return (*within, *cells, *(f"member{k}" for k in range(len(self.members))))


@dataclass(frozen=True)
class Sums:
    """What is summed of a row: which columns are probability and outcome, weight, or counts of rows and of events."""

    probability: str
    event: str | None
    positive: Any = None
    weight: str | None = None
    count: str | None = None
    events: str | None = None
    group: str | None = None
    period: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that play a part; of dates whose periods are units, the column may name findings, too."""
        group = None if self.period else self.group
        parts = (self.probability, self.event, self.weight, self.count, self.events, group)
        return tuple(c for c in parts if c is not None)

    @property
    def unit(self) -> nw.Expr:
        """What is counted once."""
        column = nw.col(self.group or "")
        if self.period == "week":  # from Monday on, by days since the first Monday of the calendar
            years = column.dt.year() - 1
            days = 365 * years + years // 4 - years // 100 + years // 400 + column.dt.ordinal_day() - 1
            return days // 7
        return column if self.period is None else column.dt.truncate(PERIODS[self.period])

    @property
    def rows(self) -> nw.Expr:
        """How many rows each stands for."""
        return nw.lit(1) if self.count is None else nw.col(self.count)

    @property
    def f(self) -> nw.Expr:
        """The probability."""
        return nw.col(self.probability).cast(nw.Float64)

    def base(self, outcome_is: str = NUMBER) -> dict[str, nw.Expr]:
        """Return what is needed of a row, by name."""
        known = {"risk": self.f}
        if self.count is not None:
            known |= {"n": nw.col(self.count).cast(nw.Float64), "y": nw.col(self.events or "").cast(nw.Float64)}
        else:
            known |= {"y": self.outcome(outcome_is)}
        return known if self.weight is None else known | {"w": nw.col(self.weight).cast(nw.Float64)}

    def terms(self) -> dict[str, nw.Expr]:
        """Return what is summed of these, by name."""
        n, y, f = nw.lit(1.0) if self.count is None else nw.col("n"), nw.col("y"), nw.col("risk")
        found = {"n": n, "y": y, "f": n * f, "fy": y * f}
        if self.weight is not None:
            w = nw.col("w")
            found |= {"w": w, "wy": w * y, "ww": w * w, "wwy": w * w * y, "wf": w * f, "wfy": w * y * f}
        return found

    def outcome(self, is_a: str) -> nw.Expr:
        """Return the outcome as 0 or 1; `is_a`: boolean, number or text."""
        column, asked = nw.col(self.event or ""), str(self.positive)
        if is_a == "boolean":
            truth = "true" if self.positive is None else asked.lower()
            hit = column.cast(nw.String).is_in([truth, truth.title()])
        elif self.positive is None:
            return column.cast(nw.Float64)
        elif is_a == NUMBER:
            try:
                hit = column.cast(nw.Float64) == float(asked)
            except ValueError:
                hit = column.is_null()
        else:
            hit = column.cast(nw.String) == nw.lit(asked)
        return nw.when(hit).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def cell_of(f: nw.Expr, together: int = 1) -> nw.Expr:
    """Return the cell of a probability, 0 to 8,191, rising with it; `together`, a power of two: cells that are one."""
    known = f.clip(_RAREST, 1 - _RAREST)
    return ((known / (1 - known)).log() * (_PER_UNIT / together) + _MIDDLE / together).floor()


def lower_end(cell: int) -> float:
    """Return the least probability of a cell.

    Examples
    --------
    >>> lower_end(4096) < 0.5 < lower_end(4097), 0 < lower_end(32) < 1e-6, lower_end(4096) + lower_end(4097)
    (True, True, 1.0)
    """
    return float(expit((cell - _MIDDLE) / _PER_UNIT))


class Answers(CellStore):
    """Answers to questions, kept in a folder until a scan is done: one that was cut off goes on with them.

    `about`: of what they are; answers about something else are thrown away.
    """

    def __init__(self, folder: Path, about: str) -> None:
        super().__init__(folder / sha256(about.encode()).hexdigest()[:24], [".parquet"])
        if folder.is_dir() and not self.folder.is_dir():
            rmtree(folder)

    def get(self, question: Question) -> pl.DataFrame | None:
        """Return an answer that was given before."""
        name = sha256(repr(question).encode()).hexdigest()[:24]
        return None if self.find(name) is None else read_parquet(self.path(name, ".parquet"))

    def put(self, question: Question, answer: pl.DataFrame) -> None:
        """Keep an answer, whole or not at all."""
        self.save(sha256(repr(question).encode()).hexdigest()[:24], {}, {".parquet": answer.write_parquet})


class CellSource:
    """Counts the rows of a relation in cells, and keeps what was counted.

    `begins`: cells at which strata of the probability begin, but for the first. `cuts`: those that are asked for.
    `outcome_is`: type of the outcome. `rows`: how many rows there are, and how many events: a count that has others is
    refused. `least`: cells of fewer rows are merged. `stage`: whether coded columns are first written into a file,
    beside `answers`, where these are kept, or in a folder that goes when this source does.
    """

    def __init__(
        self,
        relation: Relation,
        sums: Sums,
        begins: Sequence[int],
        cuts: Sequence[Cut],
        outcome_is: str,
        rows: tuple[float, float],
        least: int = 1,
        stage: bool = False,
        answers: Answers | None = None,
    ) -> None:
        self.sums, self.begins, self.rows, self.least = sums, tuple(begins), rows, least
        self.together = max(1, gcd(*self.begins))
        self.terms, self.answers = sums.terms(), answers
        self.asked: dict[Question, pl.DataFrame] = {}
        self.members: dict[tuple[tuple[Member, ...], int], float] = {}
        # expressions are made once: to make them takes longer than to count some thousand rows
        self.strata = {coarser: f"stratum{coarser}" for coarser in sorted({1, *(cut.coarser for cut in cuts)})}
        self.codes = {cut: f"code{place}" for place, cut in enumerate(dict.fromkeys(map(_counted_as, cuts)))}
        strata = {name: self._stratum(k).cast(nw.Int16) for k, name in self.strata.items()}
        codes = {
            name: cut.code() if cut.kind == TEXT else cut.code().cast(nw.Int16) for cut, name in self.codes.items()
        }
        units = {} if sums.group is None else {"unit": sums.unit}
        frame = relation.frame.select(**strata, **codes, **sums.base(outcome_is), **units)
        self.relation = relation.holding(frame)
        self.relation = relation.holding(frame.with_columns(**self._rates()))
        if stage:
            folder = answers.folder if answers else Path(mkdtemp(prefix="miscal-scan-"))
            if not answers:
                finalize(self, rmtree, folder, ignore_errors=True)
            self.relation = staged(self.relation, folder / "coded.parquet")

    def _code(self, cut: Cut) -> nw.Expr:
        """Return the cell of each row in a column."""
        return nw.col(self.codes[_counted_as(cut)])

    def _rates(self) -> dict[str, nw.Expr]:
        """Return the rate of the stratum of each row, in strata of each width."""
        known = self(Question())
        right, every = ("wy", "w") if "w" in known.columns else ("y", "n")
        found = {}
        for coarser in self.strata:
            begins = self.begins[coarser - 1 :: coarser]
            at, many = known["stratum"].to_numpy() // coarser, len(begins) + 1
            total, events = (np.bincount(at, known[name].to_numpy(), many) for name in (every, right))
            rates = np.divide(events, total, out=np.zeros(many), where=total > 0)
            found[f"rate{coarser}"] = _place(nw.col("risk"), list(map(lower_end, begins)), values=rates.tolist())
        return found

    def _stratum(self, coarser: int) -> nw.Expr:
        """Return the stratum of each row, or where these are many the cell, of which `_joined` finds the stratum."""
        begins = self.begins[coarser - 1 :: coarser]
        if len(begins) > _FEW_EDGES:
            return cell_of(self.sums.f, self.together)
        return _place(self.sums.f, list(map(lower_end, begins)))

    def _joined(self, cells: pl.Series, coarser: int) -> pl.Series:
        begins = np.array(self.begins[coarser - 1 :: coarser])
        if len(begins) <= _FEW_EDGES:
            return cells.cast(pl.Int64)
        return pl.Series(np.searchsorted(begins // self.together, cells.to_numpy(), "right"), dtype=pl.Int64)

    def __call__(self, question: Question) -> pl.DataFrame:
        """Count rows by the keys of a question, in their order."""
        if question not in self.asked:
            found = self.answers.get(question) if self.answers else None
            if found is None:
                found = self._counted(question)
                if self.answers:
                    self.answers.put(question, found)
            self.asked[question] = found
        return self.asked[question]

    def _check(self, found: pl.DataFrame, question: Question) -> None:
        """Refuse counts that are not of the rows that were counted first."""
        n, y, rows, events = float(found["n"].sum()), None, *self.rows
        if question.only is None:
            y = float(found["y"].sum())
        elif found[question.keys[-1]].n_unique() == 1:
            rows = self.members.setdefault((question.members, question.only), n)
        if n != rows or y not in (None, events):
            raise InputError(
                f"{self.relation.name} changed while it was read: where it had {rows:,.0f} rows, it had {n:,.0f} later"
                + (f", and {y:,.0f} events in place of {events:,.0f}" if y not in (None, events) else "")
                + "; nothing was written: scan a copy, or a table that nobody writes to"
            )

    def _counted(self, question: Question) -> pl.DataFrame:
        codes = [*map(self._code, question.cuts), *(member.code(self._code) for member in question.members)]
        relation, terms, within = self.relation, self.terms, [nw.col(self.strata[question.coarser])]
        p, w = nw.col(f"rate{question.coarser}"), nw.col("w") if "w" in terms else nw.lit(1.0)
        n, y = terms["n"], terms["y"]
        if question.residuals:
            within, terms = [], {"n": n, "y": y, "e": w * (y - n * p), "v": w * w * n * p * (1 - p)}
        elif question.units:
            # what design effects are made of
            v, e = p * (1 - p), y - p
            s = v.sqrt()
            weighted = {"uw": w, "we": w * e, "ws": w * s, "wwv": w * w * v} if "w" in terms else {}
            within, terms = [nw.col("unit")], {"n": nw.lit(1.0), "y": y, "e": e, "s": s, "v": v} | weighted
        keys = dict(zip(question.keys, [*within, *codes], strict=True))
        if question.only is not None:
            terms = {name: terms[name] for name in ("n", "w", "ww") if name in terms}
            # of cells that are merged, what is left of them must not be fewer rows either: all are counted
            if self.least == 1 and not question.members[0].apart:
                inside = question.members[0].has(self._code)
                relation = relation.where(inside if question.only else ~inside)
        found = relation.ask(keys, terms)
        if question.units:
            if (many := found["unit"].n_unique()) > MOST_UNITS:
                most = f"{self.sums.group!r} has {many:,} units; at most {MOST_UNITS:,} are summed"
                raise InputError(f"{argument('group')}: {most}: give a period of its dates, such as COL:day")
            # units are numbered in an order of their own
            found = found.with_columns(unit=found["unit"].rank("dense") - 1)
        cuts = {f"cell{k}": cut for k, cut in enumerate(question.cuts)}
        numbers = [
            self._joined(found[name], question.coarser)
            if name == "stratum"
            else cuts[name].codes_of(found[name])
            if name in cuts
            else found[name].cast(pl.Int64)
            for name in keys
        ]
        found = found.select(
            *(one.alias(name) for one, name in zip(numbers, keys, strict=True)),
            *(pl.col(name).cast(pl.Float64) for name in terms),
        )
        found = found.group_by(list(keys)).sum().sort(list(keys))
        self._check(found, question)
        return found if question.units else merged(found, question, self.least)


def _counted_as(cut: Cut) -> Cut:
    """Return a column as its cells are told apart, in whatever strata."""
    return replace(cut, coarser=1, pooled=min(cut.pooled, 1), pooled_rows=0)


def merged(cells: pl.DataFrame, question: Question, least: int) -> pl.DataFrame:
    """Merge cells of fewer rows with strata beside them, and never one value with another.

    What two values have in common, if it is too few rows in all, is pooled. Where too few rows are in the same groups,
    they are left out of the last of these; of what a group tells of a value, the smaller part is with the larger.

    Examples
    --------
    >>> cells = pl.DataFrame({"stratum": [0, 2, 5], "n": [30.0, 3.0, 5.0]})
    >>> merged(cells, Question(), 5).rows(), merged(cells, Question(), 20).rows()
    ([(0, 30.0), (4, 8.0)], [(1, 38.0)])
    """
    if (cells["n"] >= least).all():
        return cells
    values, members = ([name for name in question.keys if name.startswith(part)] for part in ("cell", "member"))
    if len(values) > 1:
        cells = pooled(cells, dict.fromkeys(values, POOLED), least)
    if question.only is not None:
        cells = joined_along(cells, members[0], values, least)
    elif members:
        none = {name: POOLED if one.apart else 0 for name, one in zip(members, question.members, strict=True)}
        for name in (name for name, other in none.items() if other == POOLED):
            cells = joined_along(cells, name, [other for other in members if other != name], least)
        for name, other in reversed(none.items()):
            few = pl.col("n").sum().over(members) < least
            cells = cells.with_columns(pl.when(few).then(other).otherwise(name).alias(name))
        cells = pooled(cells, none, least)
    if question.residuals:
        return cells.group_by(values).sum().sort(values)
    return joined_along(cells, "stratum", [*values, *members], least)
