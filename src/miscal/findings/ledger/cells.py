"""Cells: rows of one stratum, one value of a column and one outcome, counted where they lie, and tested as rows are.

A column has a block of its own, with the candidates that its values name. What two columns have in common is asked for
once a candidate has been chosen, by membership of it. Rows are cells of one row, and every test is that of the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from scipy.special import ndtri

from miscal.base.process import with_progress
from miscal.calibration.labelled_rows import LabelledRows
from miscal.calibration.survey_design import PAIRS_SEEN, SurveyDesign, equal_parts, pair_scores
from miscal.data.counting import Cut, Member, Question
from miscal.data.relations import DATE, NUMBER, TEXT
from miscal.findings.conditions.column_kinds import Missing, Trend, Value
from miscal.findings.conditions.condition import Condition, written
from miscal.findings.conditions.other_kinds import Both
from miscal.findings.ledger.bins import Bins, TrendRows, stretches
from miscal.findings.ledger.blocks import Split, Table
from miscal.findings.ledger.groups import PAIR, ColumnGroups, FoundGroups, Groups
from miscal.findings.ledger.membership import CodedColumns, SideBySide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

Ask = Callable[[Question], pl.DataFrame]
"""Counts rows: a row for each combination of the keys of a question, with sums."""
MOST_PAIRS = 8
"""Pairs of columns at most, those that differ most, that are counted with their strata: each finding asks for them."""
_WIDE = 4
"""Bins that are one in the table of a column and in pairs."""


@dataclass(frozen=True)
class CellPlan:
    """What is counted: columns cut into cells, and pairs of columns, cut as they are in pairs."""

    cuts: tuple[Cut, ...]
    pairs: tuple[tuple[Cut, Cut], ...] = ()


def wide(cut: Cut) -> Cut:
    """Return a column in fewer bins, where it has many."""
    return replace(cut, edges=cut.edges[_WIDE - 1 :: _WIDE]) if len(cut.edges) > 2 * _WIDE else cut


@dataclass(frozen=True, eq=False)
class _Block:
    """Columns that are counted together, and the groups that their cells make.

    `keys`, int (k, columns): the cells that there are. `groups`: of these as if each were a row.
    """

    cuts: tuple[Cut, ...]
    coarser: int
    keys: np.ndarray
    groups: Groups

    def places(self, codes: np.ndarray) -> np.ndarray:
        """Return the place of each row's cell among the keys."""
        width = 2 + int(max(self.keys.max(initial=0), codes.max(initial=0)))
        known, asked = (np.zeros(len(some), np.int64) for some in (self.keys, codes))
        for j in range(self.keys.shape[1]):
            known, asked = known * width + self.keys[:, j] + 1, asked * width + codes[:, j] + 1
        order = np.argsort(known)
        return order[np.searchsorted(known, asked, sorter=order)]

    def expanded(self, codes: np.ndarray) -> Groups:
        """Return the groups among rows with cells (n, columns)."""
        at, groups = self.places(codes), self.groups
        trends = {k: TrendRows(t.condition, t.upper[at], t.lower[at], t.score[at]) for k, t in groups.trends.items()}
        columns = tuple(replace(one, codes=one.codes[at]) for one in groups.columns)
        return replace(groups, member=groups.member.chosen(at), trends=trends, columns=columns)


@dataclass(frozen=True, kw_only=True)
class UnitDesign(SurveyDesign):
    """Rows in groups that were summed by unit and cell where they lie.

    `n`: how many rows there are. `cell`, int (n,): of each row. `unit, cells`, int (k,): of each sum. `mass, residual,
    spread, own_variance`, float64 (k,): sums of the weight, and of the residual, its standard deviation and its
    variance times the weight (squared). `columns`: the groups among these sums.
    """

    n: int
    cell: np.ndarray
    unit: np.ndarray
    cells: np.ndarray
    mass: np.ndarray
    residual: np.ndarray
    spread: np.ndarray
    own_variance: np.ndarray
    columns: SideBySide

    def take(self, rows: np.ndarray) -> UnitDesign:
        """Return the design of some rows: of whole cells."""
        return replace(self, cell=self.cell[rows], weight=self.weight[rows])

    def design_effect(self, weight: np.ndarray, residual: np.ndarray, variance: np.ndarray, **_: float) -> float:
        """Return that of the mean of the cells that the rows are of."""
        inside = np.isin(self.cells, np.unique(self.cell))
        unit, (mass, seen, spread, own) = (
            self.unit[inside],
            (some[inside] for some in (self.mass, self.residual, self.spread, self.own_variance)),
        )
        total = mass.sum()
        if total <= 0 or own.sum() <= 0:
            return 1.0
        left = (seen - seen.sum() / total * mass) / total
        parts = np.bincount(unit, own / total**2)
        together, seen = (float(np.sum(np.bincount(unit, some) ** 2)) for some in (spread / total, left))
        base = float(own.sum() / total**2)
        return float(self._effect(base, together, seen, base, float(equal_parts(parts))))

    def design_effects(self, columns: SideBySide, residual: np.ndarray, variance: np.ndarray) -> np.ndarray:
        """Return those of the groups, by the sums of their units; `variance` is of the rows."""
        scale = self.n / self.mass.sum()
        sums = self.own_variance * scale**2, self.spread * scale, self.residual * scale
        return self.effects_of(self.columns, self.unit, columns.squared_sums(variance), *sums)


class CellTable(Table):
    """Candidates of columns that are counted where they lie.

    Of pairs of columns it is first counted, over all strata, how much their cells differ. Those that no finding can
    come of are asked for no more; `pairs` is how many pairs of values were looked at.
    """

    joined = False

    def __init__(
        self, plan: CellPlan, ask: Ask, settings: LedgerSettings = LEDGER_DEFAULTS, *, units: bool = False
    ) -> None:
        self.ask, self.settings, self.units = ask, settings, units
        self.blocks: list[_Block] = []
        parts: list[tuple[LabelledRows, Groups]] = []
        for cut in plan.cuts:
            self._add(parts, (cut,), cut.coarser)
        self.pairs, self.small = 0, []
        looked_at = ((*self._promising(way), way) for way in plan.pairs)
        asked = [*with_progress(looked_at, [1] * len(plan.pairs))]
        least = -ndtri(settings.significance * (1 - settings.value_share) / max(1, self.pairs) / 2) - 1
        promising = sorted((one for one in asked if one[0] >= least), key=lambda one: -one[0])
        for _, z, way in promising[:MOST_PAIRS]:
            self._add(parts, way, way[0].coarser, z >= least)
        self.left = tuple(tuple(cut.column for cut in way) for *_, way in promising[MOST_PAIRS:])
        self.parts = tuple(parts)
        self.first = np.cumsum([0, *(len(groups) for _, groups in parts)])
        self.groups = self._merged()
        self._known: tuple[int, ...] = ()
        self._last: tuple[int, list[tuple[LabelledRows, Groups, Split]]] = (-1, [])

    def _promising(self, cuts: tuple[Cut, Cut]) -> tuple[float, np.ndarray]:
        """Return the largest standard score of a pair of cells by itself, and all, (cells + 2, cells + 2)."""
        frame = self.ask(Question(cuts, (), cuts[0].coarser, residuals=True))
        # of each column, cells after the one of what is pooled
        shape = cuts[0].count + 2, cuts[1].count + 2
        at = np.ravel_multi_index([frame[f"cell{k}"].to_numpy() + 1 for k in range(2)], shape)
        rows, total, known = (
            np.bincount(at, frame[name].to_numpy(), shape[0] * shape[1]).reshape(shape) for name in ("n", "e", "v")
        )
        # a pair of all rows of a value is that value
        able = (rows >= self.settings.pair_rows) & (rows < rows.sum(0)) & (rows < rows.sum(1, keepdims=True))
        able[0] = able[:, 0] = False
        self.pairs += int(able.sum())
        self.small.append(1 - float(rows[rows >= self.settings.pair_rows].sum() / rows.sum()))
        z = np.where(able, np.abs(pair_scores(total, known)), 0.0)
        return float(z.max()), z

    def _add(self, parts: list, cuts: tuple[Cut, ...], coarser: int, able: np.ndarray | None = None) -> None:
        question = Question(cuts, (), coarser)
        rows, codes, _ = labelled(self.ask(question), question)
        keys, at = np.unique(codes, axis=0, return_inverse=True)
        count = np.bincount(at.ravel(), rows.counts)
        groups = _groups(cuts, keys, count, self.settings, able)
        if len(groups) or groups.columns:
            block = _Block(cuts, coarser, keys, groups)
            self.blocks.append(block)
            if self.units:
                rows = in_units(rows, self.ask(Question(cuts, (), coarser, units=True)), block, at.ravel())
            parts.append((rows, block.expanded(codes)))

    def _merged(self) -> Groups:
        """Return all candidates one block after the other."""
        every = [groups for _, groups in self.parts]
        trends = {
            int(start) + k: trend
            for start, one in zip(self.first, every, strict=False)
            for k, trend in one.trends.items()
        }
        return Groups(
            tuple(c for one in every for c in one.conditions),
            tuple(c for one in every for c in one.also),
            np.concatenate([np.zeros(0, int), *(one.kinds for one in every)]),
            SideBySide(0),
            trends,
            columns=tuple(c for one in every for c in one.columns),
        )

    def _at(self, group: int) -> tuple[int, int]:
        block = int(np.searchsorted(self.first, group, "right")) - 1
        return block, group - int(self.first[block])

    def own(self, group: int) -> tuple[LabelledRows, np.ndarray]:
        """Return the cells of the block of a group, and which of them are in it."""
        block, place = self._at(group)
        rows, groups = self.parts[block]
        return rows, groups.rows(place)

    def member(self, group: int) -> Member:
        """Say which rows are in a group."""
        at, place = self._at(group)
        block = self.blocks[at]
        if place in block.groups.trends:
            return Member(block.cuts, (), apart=True)
        inside, pooled = block.groups.rows(place), (block.keys < 0).any(1)
        # what is pooled has no name: it is among others
        others = bool(inside[pooled].any() if len(block.cuts) == 1 and pooled.any() else 2 * inside.sum() > len(inside))
        cells = block.keys[~inside if others else inside]
        return Member(block.cuts, tuple(map(tuple, cells.tolist())), others)

    def scores(self, group: int) -> list[float]:
        """Return the scores of the bins of a trend; none of another group."""
        at, place = self._at(group)
        block = self.blocks[at]
        if (trend := block.groups.trends.get(place)) is None:
            return []
        known = dict(zip(block.keys[:, 0].tolist(), trend.score.tolist(), strict=True))
        return [known.get(code, 0.0) for code in range(block.cuts[0].count)]

    def _split(self, group: int, codes: np.ndarray) -> Split:
        """Return a group among rows of which its codes are known."""
        at, place = self._at(group)
        block = self.blocks[at]
        if (trend := block.groups.trends.get(place)) is None:
            inside = codes == 1
            return Split(inside, inside.astype(np.float64))
        order = np.argsort(block.keys[:, 0])
        cell = order[np.searchsorted(block.keys[:, 0], codes, sorter=order)]
        known = codes >= 0
        return Split(known & trend.upper[cell], known * trend.score[cell], known & trend.lower[cell])

    def beside(self, group: int) -> Sequence[tuple[LabelledRows, Groups, Split]]:
        """Ask for every block with the rows of one group told from others."""
        if self._last[0] != group:
            rows, inside = self.own(group)
            # the fewer are asked for; all others are what is left
            only = int(2 * rows.counts[inside].sum() <= rows.n)
            member = self.member(group)
            pairs = zip(self.blocks, self.parts, strict=True)
            self._last = group, [self._told(block, rows, member, only, group) for block, (rows, _) in pairs]
        return self._last[1]

    def _told(
        self, block: _Block, own: LabelledRows, member: Member, only: int, group: int
    ) -> tuple[LabelledRows, Groups, Split]:
        """Return the cells of a block, without outcomes, with the rows of a group told from others."""
        question = Question(block.cuts, (member,), block.coarser, only=only)
        frame = told = self.ask(question)
        *keys, last = question.keys
        if told["n"].sum() < own.n:
            numbers = [name for name in told.columns if name not in question.keys]
            left = self.ask(Question(block.cuts, (), block.coarser)).join(told, on=keys, how="left", suffix="_told")
            left = left.with_columns(pl.col(name) - pl.col(f"{name}_told").fill_null(0.0) for name in numbers)
            left = left.with_columns(pl.lit(1 - only, pl.Int64).alias(last)).filter(pl.col("n") > 0)
            frame = pl.concat([told, left.select(told.columns)])
        values = {one.name: one.to_numpy().astype(np.float64) for one in frame.drop(question.keys)}
        # where cells were merged, one may lie between strata of the block
        known = np.unique(self.ask(Question(block.cuts, (), block.coarser))["stratum"].to_numpy())
        stratum = np.searchsorted((known[1:] + known[:-1]) / 2, frame["stratum"].to_numpy(), "right")
        rates = np.zeros(len(known))
        rates[own.stratum] = own.expected
        rate, count = rates[stratum], values["n"]
        # what is left of a weight may be nothing but rounding
        weight = np.maximum(values.get("w", count), np.finfo(float).tiny)
        rows = LabelledRows(
            rate, rate, rate, stratum=stratum, count=count, squares=values.get("ww", count),
            design=SurveyDesign(None, 0.0, weight),
        )  # fmt: skip
        codes = frame.select(keys[1:]).to_numpy().astype(np.int64)
        return rows, block.expanded(codes), self._split(group, frame[last].to_numpy().astype(np.int64))

    def together(self, groups: Sequence[int]) -> tuple[LabelledRows, list[Split]]:
        """Ask for the membership of several groups; not again, if it is known of all of them."""
        if not set(groups) <= set(self._known):
            self._known = tuple(dict.fromkeys(groups))
            question = Question((), tuple(map(self.member, self._known)))
            rows, _, members = labelled(self.ask(question), question)
            self._joint = rows, [self._split(group, members[:, k]) for k, group in enumerate(self._known)]
        rows, splits = self._joint
        return rows, [splits[self._known.index(group)] for group in groups]


def labelled(frame: pl.DataFrame, question: Question) -> tuple[LabelledRows, np.ndarray, np.ndarray]:
    """Make two cells of each row of counts, one for either outcome.

    Returns them, their cells (n, columns) and their memberships (n, groups).
    """
    values = {name: frame[name].to_numpy().astype(np.float64) for name in frame.columns if name not in question.keys}
    # how many rows, their weight and its square, and the sum of their confidences: of all, and of those that are right
    names = ("n y", "w wy", "ww wwy", "wf wfy") if "w" in values else ("n y", "n y", "n y", "f fy")
    sides = ([values[name] for name in both.split()] for both in names)
    halves = [np.r_[right, np.maximum(every - right, 0.0)] for every, right in sides]
    kept = np.flatnonzero((np.rint(halves[0]) > 0) & (halves[1] > 0))
    rows, mass, squares, sums = (half[kept] for half in halves)
    rows = np.rint(rows)
    stratum = np.tile(frame["stratum"].to_numpy().astype(np.int64), 2)[kept]
    stratum = np.unique(stratum, return_inverse=True)[1]
    correct = np.repeat([1.0, 0.0], len(frame))[kept]
    rate = np.bincount(stratum, mass * correct) / np.bincount(stratum, mass)
    labels = LabelledRows(
        correct, np.clip(sums / mass, 0.0, 1.0), rate[stratum], stratum=stratum, count=rows, squares=squares,
        design=SurveyDesign(None, 0.0, mass),
    )  # fmt: skip
    asked = (("cell", question.cuts), ("member", question.members))
    codes, members = (
        frame.select(f"{name}{k}" for k in range(len(some))).to_numpy().astype(np.int64).reshape(len(frame), len(some))
        for name, some in asked
    )
    return labels, np.tile(codes, (2, 1))[kept], np.tile(members, (2, 1))[kept]


def in_units(rows: LabelledRows, sums: pl.DataFrame, block: _Block | None, cell: np.ndarray) -> LabelledRows:
    """Give cells the sums of their units: how strongly outcomes hang together, and what that adds to each variance."""
    values = {name: sums[name].to_numpy().astype(np.float64) for name in sums.columns}
    unit, every = sums["unit"].to_numpy().astype(np.int64), np.zeros(len(sums), np.int64)
    if int(unit.max()) + 1 >= rows.n:
        return rows
    squares = float(rows.counts @ rows.residual**2)
    pairs, most = (
        float(np.sum(np.bincount(unit, values[name]) ** 2)) - alone
        for name, alone in (("e", squares), ("s", float(values["v"].sum())))
    )
    correlation = float(np.clip((pairs + PAIRS_SEEN) / (most + PAIRS_SEEN), 0.0, 1.0))
    columns = SideBySide(len(sums))
    if block is not None:
        codes = sums.select(f"cell{k}" for k in range(len(block.cuts))).to_numpy().astype(np.int64)
        columns, every = block.expanded(codes).tested, block.places(codes)
    names = ("uw", "we", "ws", "wwv") if "uw" in values else ("n", "e", "s", "v")
    mass, residual, spread, variance = (values[name] for name in names)
    design = UnitDesign(
        None, correlation, rows.weight, n=rows.n, cell=cell, unit=unit, cells=every, columns=columns,
        mass=mass, residual=residual, spread=spread, own_variance=variance,
    )  # fmt: skip
    return replace(rows, design=design)


def _groups(
    cuts: tuple[Cut, ...], keys: np.ndarray, count: np.ndarray, settings: LedgerSettings, able: np.ndarray | None
) -> Groups:
    """Find the candidates among cells, of which each has so many rows; of pairs those that are `able`."""
    found = FoundGroups(len(keys), settings, count)
    parts = [_part(cut, keys[:, j], wide(cut) if len(cuts) == 1 else cut) for j, cut in enumerate(cuts)]
    if able is not None:
        cells = np.flatnonzero(able[tuple(keys.T + 1)])
        named = [Both(tuple(part.cells[part.codes[cell]] for part in parts)) for cell in cells]
        found.add(PAIR, named, CodedColumns.of(len(keys), list(cells[:, None])))
        return found.groups()
    [cut], [part], codes = cuts, parts, keys[:, 0]
    found.columns = [part]
    found.add_values(part)
    if cut.values:
        if not cut.pooled:
            values = np.array([*cut.values, np.nan if cut.kind == NUMBER else None], object)[codes]
            values = values.astype(np.float64) if cut.kind == NUMBER else values
            found.add_stretches(stretches(cut.column, values, settings.few_values))
        return found.groups()
    known = np.where(codes == cut.count, -1, codes)
    bins = Bins(cut.column, np.array(cut.edges), known, cut.kind == DATE, cut.whole)
    found.add_intervals(bins)
    found.add_trends([_trend(bins, count)])
    return found.groups()


def _part(cut: Cut, codes: np.ndarray, wider: Cut) -> ColumnGroups:
    """Return the cells of a column, of its bins those of `wider`; `codes` are those of the cut."""
    if cut.values:
        of = TEXT if cut.kind == TEXT else NUMBER
        cells: tuple[Condition, ...] = tuple(Value(cut.column, value, of) for value in cut.values)
    else:
        inner, missing = np.array(wider.edges), codes == cut.count
        starts = np.r_[-np.inf, cut.edges][np.where(missing, 0, codes)]
        codes = np.where(missing, len(inner) + 1, np.searchsorted(inner, starts, "right"))
        bins = Bins(cut.column, inner, codes, cut.kind == DATE, cut.whole)
        cells = tuple(bins.condition(k, k) for k in range(bins.count))
    return ColumnGroups(cut.column, (*cells, Missing(cut.column)), codes)


def _trend(bins: Bins, count: np.ndarray) -> TrendRows | None:
    """Return the trend along the bins of a column; None where they are too few."""
    known = bins.codes >= 0
    rows = np.bincount(bins.codes[known], count[known], bins.count)
    below = np.cumsum(rows)[:-1] / max(rows.sum(), 1.0)
    if bins.count < 5:
        return None
    low, high = (int(np.argmin(np.abs(below - share))) for share in (1 / 3, 2 / 3))
    score = np.zeros(len(count))
    midranks = (np.cumsum(rows) - rows / 2) / rows.sum()
    score[known] = midranks[bins.codes[known]] - 0.5
    ends = [written(float(bins.inner[k]), True) if bins.date else float(bins.inner[k]) for k in (high, low)]
    condition = Trend(bins.column, ends[0], ends[1], bins.whole)
    return TrendRows(condition, bins.codes > high, known & (bins.codes <= low), score)
