"""Groups of rows that are fixed before any outcome is seen: values, intervals, combinations of them, terms, clusters.

All but the last have a name by themselves; clusters (`clusters`) are described only once they are found (`describe`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, product

import numpy as np
from scipy.sparse import csc_array

from miscal.base.number_wording import percent
from miscal.findings.conditions.column_kinds import Cycle, Missing, Value
from miscal.findings.conditions.condition import Condition, numbers_of, texts_of, written
from miscal.findings.conditions.other_kinds import Both, NoneOf, Term
from miscal.findings.ledger.bins import Bins, Stretches, TrendRows, bins_of, spans, stretches, trend_of
from miscal.findings.ledger.membership import CodedColumns, SideBySide
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

VALUE, TREND, INTERVAL, PAIR, THRESHOLDS, TERM, CLUSTER = range(7)
"""Kinds of groups, the better name first."""

_QUARTERS = 4


@dataclass(frozen=True, eq=False)
class Groups:
    """Candidates for findings.

    `conditions`: what the rows of each group have in common.
    `also`: other conditions that hold for exactly the same rows.
    `kinds`, int (m,): VALUE, TREND, INTERVAL, PAIR, THRESHOLDS, TERM or CLUSTER.
    `member`: m columns: 1 where a row is in a group.
    `trends`: trends by their place among the groups. The rows of such a group are the upper end of its trend.
    `typical`: rows (positions) at the centre of each cluster, by its place.
    `columns`: every column, cut into its values, or into bins where it holds many distinct numbers or dates.
    `not_crossed`: which pairs are no candidates, in a sentence; empty where all are.
    """

    conditions: tuple[Condition, ...]
    also: tuple[tuple[Condition, ...], ...]
    kinds: np.ndarray
    member: SideBySide
    trends: dict[int, TrendRows] = field(default_factory=dict)
    typical: dict[int, tuple[int, ...]] = field(default_factory=dict)
    columns: tuple[ColumnGroups, ...] = ()
    not_crossed: str = ""

    def __len__(self) -> int:
        return len(self.conditions)

    @cached_property
    def places(self) -> dict[Condition, int]:
        """Place of each condition among the groups; of equal rows, several conditions have one place."""
        return {one: k for k, others in enumerate(self.also) for one in (*others, self.conditions[k])}

    def others_than(self, condition: Condition) -> int | None:
        """Place of the rows that do not meet a condition; None where they are no group."""
        return self.places.get(NoneOf((condition,)))

    @cached_property
    def descriptions(self) -> tuple[str, ...]:
        """What the rows of each group have in common, in words: ``"subject = law"``."""
        return tuple(one.words for one in self.conditions)

    @property
    def tested(self) -> SideBySide:
        """What each row adds to the test of each group: 1 if it is in the group, or its score in a trend."""
        if not self.trends:
            return self.member
        scores = csc_array(np.column_stack([one.score for one in self.trends.values()]))
        return self.member.replaced(min(self.trends), CodedColumns(self.member.n, scores))

    @cached_property
    def axes(self) -> np.ndarray:
        """What each group that is an interval is a stretch of, object (m,); None for the others."""
        pairs = zip(self.conditions, self.kinds, strict=True)
        return np.array([one.axis if kind == INTERVAL else None for one, kind in pairs], object)

    def rows(self, group: int) -> np.ndarray:
        """Mask of the rows of a group, bool (n,)."""
        return self.member.dense(group) > 0


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Groups of one column.

    `cells`: values, spans, and the last for rows without a value. `codes`, int (n,): the cell of each row, -1 for none.
    """

    column: str
    cells: tuple[Condition, ...]
    codes: np.ndarray

    @property
    def by_value(self) -> bool:
        """Whether its cells are values, not spans of many numbers or dates."""
        return isinstance(self.cells[0], (Value, Missing))

    def rows(self, cell: int) -> np.ndarray:
        """Mask of the rows of a cell, bool (n,)."""
        return self.codes == cell

    def held(self, cells: Sequence[int]) -> CodedColumns:
        """Return the rows of some cells, as columns."""
        return CodedColumns.unions(self.codes, len(self.cells), [np.array([cell]) for cell in cells])


def column_groups(columns: Mapping[str, np.ndarray]) -> tuple[ColumnGroups, ...]:
    """List the values of columns, and bins of about equal counts where a column holds many numbers or dates.

    `columns`, str (n,): text, numbers, booleans or dates, with missing values. Returns without columns of texts that
    name rows, not groups.

    Examples
    --------
    >>> kind, number = column_groups({"kind": np.array(["b", "a"] * 2, object), "number": np.arange(4.0)})
    >>> [one.words for one in kind.cells], kind.codes.tolist()
    (['kind = a', 'kind = b', 'kind = (missing)'], [1, 0, 1, 0])
    """
    found = (_cells(name, values, LEDGER_DEFAULTS)[0] for name, values in columns.items())
    return tuple(one for one in found if one is not None)


def named_groups(
    columns: Mapping[str, np.ndarray], text: Sequence[str] | None = None, settings: LedgerSettings = LEDGER_DEFAULTS
) -> Groups:
    """List the groups that columns and texts name.

    `columns`, str (n,): metadata and feature columns: text, numbers, booleans or dates, with missing values. `text`:
    texts whose common terms are groups. Returns no group twice, none smaller than ``settings.min_rows``, and none of
    more than half of the rows: the others are listed in place of it.

    Examples
    --------
    >>> year = np.repeat([2001.0, 2002.0, np.nan], [30, 40, 30])
    >>> named_groups({"year": year}).descriptions
    ('year = 2001', 'year = 2002', 'year = (missing)')
    """
    n = len(text) if text is not None else len(next(iter(columns.values()), ()))
    found = FoundGroups(n, settings)
    cells: list[ColumnGroups] = []
    bins: dict[str, Bins] = {}
    # values before intervals: of names for the same rows the first is kept
    for name, values in columns.items():
        part, wide = _cells(name, values, settings)
        if part is None:
            continue
        cells.append(part)
        if wide is not None:
            bins[name] = wide
        found.add_values(part)
    for part in cells:
        if part.column in bins:
            found.add_intervals(bins[part.column])
        texts = [one.value for one in part.cells if isinstance(one, Value)], part.codes
        found.add_stretches(stretches(part.column, columns[part.column], settings.few_values, texts=texts))
    found.columns = cells
    numbers = ((name, *numbers_of(values)) for name, values in columns.items())
    found.add_trends(trend_of(name, known, date) for name, known, date in numbers if known is not None)
    numbers = {name: numbers_of(columns[name])[0] for name, wide in bins.items() if not wide.date}
    found.add_pairs(cells, [bins_of(name, values, _QUARTERS, date=False) for name, values in numbers.items()])
    if text is not None:
        found.add_terms(text)
    return found.groups()


class FoundGroups:
    """Groups gathered so far."""

    def __init__(self, n: int, settings: LedgerSettings, count: np.ndarray | None = None) -> None:
        self.n, self.settings = n, settings
        self.count = np.ones(n) if count is None else count  # rows that each of them is the sum of
        self.every = self.count.sum()
        # equal rows have equal sums of random numbers, and others as good as never; all sums are exact in floats
        self.random = np.random.default_rng(0).integers(0, 2**52 // max(1, n), n)
        self.places: dict[tuple[int, int], int] = {}
        self.also: list[list[Condition]] = []
        self.conditions: list[Condition] = []
        self.kinds: list[int] = []
        self.blocks: list[CodedColumns] = []
        self.columns: list[ColumnGroups] = []
        self.trends: dict[int, TrendRows] = {}
        self.not_crossed = ""

    def add(
        self, kind: int, conditions: Sequence[Condition], own: CodedColumns, *, most: float = 0.5, others: bool = True
    ) -> None:
        """Take groups in; in place of one of more than `most` of the rows, its other rows, or nothing."""
        sizes, keys = (own.sums(values) for values in (self.count, self.random))
        large = sizes > most * self.every
        new = [k for k in np.flatnonzero(~large) if self._is_new(conditions[k], kind, sizes[k], keys[k])]
        self._hold(replace(own, matrix=own.matrix[:, new]))
        # it and the other rows are one question: the fewer are the exception
        rest, keys = self.every - sizes, self.random.sum() - keys
        large = [
            k for k in np.flatnonzero(large & others) if self._is_new(NoneOf((conditions[k],)), kind, rest[k], keys[k])
        ]
        self._hold(replace(own, matrix=csc_array(1 - own.matrix[:, large].toarray())))

    def _hold(self, own: CodedColumns) -> None:
        if len(own):
            self.blocks.append(own)

    def _is_new(self, condition: Condition, kind: int, size: float, key: float) -> bool:
        """Take a group in, unless it is too small or large, or there is one of the same rows: that has two names."""
        if min(size, self.every - size) < self.settings.min_rows:
            return False
        same = round(size), int(key)
        if (place := self.places.get(same)) is not None:
            if kind < self.kinds[place]:
                # the better name comes first, in whatever order columns stand
                self.conditions[place], condition, self.kinds[place] = condition, self.conditions[place], kind
            self.also[place].append(condition)
            return False
        self.places[same] = len(self.conditions)
        self._append(condition, kind)
        return True

    def _append(self, condition: Condition, kind: int) -> None:
        self.also.append([])
        self.conditions.append(condition)
        self.kinds.append(kind)

    def add_values(self, part: ColumnGroups) -> None:
        """Add the values of a column; of one that is cut into bins, the rows without one."""
        sizes = np.bincount(part.codes + 1, self.count, len(part.cells) + 1)[1:]
        filled = np.flatnonzero(sizes).tolist()
        if not part.by_value:
            filled = [len(part.cells) - 1]
        elif len(filled) == 2 and sizes.sum() == self.every:
            # two values are one question: the rarer names the answer, of equals the second (1 of 0 and 1)
            filled = [min(reversed(filled), key=lambda cell: sizes[cell])]
        filled = [cell for cell in filled if sizes[cell] >= self.settings.min_rows]
        self.add(VALUE, [part.cells[cell] for cell in filled], part.held(filled))

    def add_intervals(self, bins: Bins) -> None:
        """Add ranges of bins."""
        ends = np.cumsum(np.bincount(bins.codes + 1, self.count, bins.count + 1))
        every = list(spans(bins.count, self.settings.narrow_interval, self.settings.widest_interval))
        # ends were moved to round numbers
        widest = self.settings.widest_interval + 1 / self.settings.bins
        wide = {span for span in every if ends[span[1] + 1] - ends[span[0]] > widest * self.every}
        # equal numbers may fill a bin with most of the rows: what lies beside it is the exception
        beside = {span for i, j in wide for span in ((0, i - 1), (j + 1, bins.count - 1)) if span[0] <= span[1]}
        kept = sorted(({*every} | beside) - wide)
        own = CodedColumns.unions(bins.codes, bins.count, [np.arange(i, j + 1) for i, j in kept])
        self.add(INTERVAL, [bins.condition(i, j) for i, j in kept], own, most=1.0)

    def add_stretches(self, every: Iterable[Stretches]) -> None:
        """Add stretches of neighbouring values; the complement of one that is no part of a date is one, too."""
        for conditions, own in every:
            self.add(INTERVAL, conditions, own, others=isinstance(conditions[0], Cycle))

    def add_trends(self, trends: Iterable[TrendRows | None]) -> None:
        """Add trends whose ends have rows enough, side by side; an interval may have the same rows as their end."""
        upper = []
        for trend in trends:
            if trend and min(self.count @ trend.upper, self.count @ trend.lower) >= self.settings.min_rows:
                self.trends[len(self.conditions)] = trend
                self._append(trend.condition, TREND)
                upper.append(np.flatnonzero(trend.upper).astype(np.int32))
        self._hold(CodedColumns.of(self.n, upper))

    def add_pairs(self, parts: Sequence[ColumnGroups], quarters: Sequence[Bins] = ()) -> None:
        """Add the pairs of cells of two columns that share rows enough, and what is beyond a quarter of two numbers.

        Time goes with the rows, for each two columns: what is beyond the limit is told, and what is in small cells.
        """
        settings, least = self.settings, max(self.settings.min_rows, self.settings.pair_rows)
        # stable: columns of values before those of bins, and of each kind those named first
        parts = sorted(parts, key=lambda part: not part.by_value)
        common = [one for part in parts if (one := _common(part, self.count, least)).cells]
        every, small, left = list(combinations(common, 2)), [], settings.pair_work
        for one, two in every:
            if (left := left - self.n) < 0:
                break
            many = len(self.conditions)
            small.append(1 - self._add_pairs_of(one, two, least) / max(1.0, self.every))
            left -= settings.pair_cost * (len(self.conditions) - many)
        for one, two in combinations(quarters, 2):
            if (left := left - self.n) < 0:
                break
            self._add_quadrants(one, two)
        self.not_crossed = not_crossed(len(every), len(small), least, float(np.mean(small or 0)))

    def _add_pairs_of(self, one: ColumnGroups, two: ColumnGroups, least: int) -> float:
        """Add the pairs of cells of two columns that have rows enough; return how many rows they have."""
        width = len(two.cells) + 1
        cells, codes = (len(one.cells) + 1) * width, (one.codes, two.codes)
        place = np.arange(cells)
        if cells > max(self.n, 1 << 16):
            place, at = np.unique(one.codes.astype(np.int64) * width + two.codes, return_inverse=True)
            codes, cells = (at.astype(np.int32),), len(place)
        counts = CodedColumns(self.n, csc_array((cells, 0)), codes, width).by_cell(self.count)
        i, j = np.divmod(place, width)
        able = np.flatnonzero((counts >= least) & (i < len(one.cells)) & (j < len(two.cells)))
        conditions = [Both((one.cells[i[cell]], two.cells[j[cell]])) for cell in able]
        pairs = CodedColumns.of(cells, list(able[:, None])).matrix
        self.add(PAIR, conditions, CodedColumns(self.n, pairs, codes, width))
        return float(counts[able].sum())

    def _add_quadrants(self, one: Bins, two: Bins) -> None:
        """Add the rows that are beyond an end of a quarter of one number and beyond one of another."""
        codes = tuple(np.where(bins.codes < 0, bins.count, bins.codes).astype(np.int32) for bins in (one, two))
        sides = list(product(_sides(one), _sides(two)))
        inside = np.array([np.outer(some, others).ravel() for (_, some), (_, others) in sides], np.float64)
        if len(sides):
            conditions = [Both((left, right)) for (left, _), (right, _) in sides]
            self.add(THRESHOLDS, conditions, CodedColumns(self.n, csc_array(inside.T), codes, two.count + 1))

    def add_terms(self, text: Sequence[str]) -> None:
        """Add the common terms of texts."""
        from sklearn.feature_extraction.text import CountVectorizer

        least = max(self.settings.min_rows, int(np.ceil(self.settings.term_share * self.n)))
        if least > self.n // 2:
            return
        counter = CountVectorizer(
            binary=True, stop_words="english", min_df=least, max_df=0.5, max_features=self.settings.max_terms
        )
        try:
            member = csc_array(counter.fit_transform(text).astype(np.float64))
        except ValueError:  # no term is common enough
            return
        self.add(TERM, [Term(str(term)) for term in counter.get_feature_names_out()], CodedColumns(self.n, member))

    def groups(self) -> Groups:
        """Return what was gathered."""
        return Groups(
            tuple(self.conditions),
            tuple(map(tuple, self.also)),
            np.array(self.kinds, int),
            SideBySide(self.n, tuple(self.blocks)),
            self.trends,
            columns=tuple(self.columns),
            not_crossed=self.not_crossed,
        )


def _cells(name: str, values: np.ndarray, settings: LedgerSettings) -> tuple[ColumnGroups | None, Bins | None]:
    """Cells of a column for values and pairs, and its bins if it holds many distinct numbers or dates."""
    numbers, date = numbers_of(values)
    if numbers is None:
        distinct, codes = texts_of(values)
        if len(distinct) > settings.identifier_share * max(1, (codes >= 0).sum()):
            return None, None
        cells = (*(Value(name, value, "text") for value in distinct), Missing(name))
        return ColumnGroups(name, cells, np.where(codes < 0, len(distinct), codes)), None
    known = np.isfinite(numbers)
    distinct = np.unique(numbers[known])
    if len(distinct) <= settings.few_values:
        cells = tuple(
            Value(name, written(value, True), "date") if date else Value(name, float(value), "number")
            for value in distinct
        )
        codes = np.where(known, np.searchsorted(distinct, np.where(known, numbers, 0.0)), len(cells))
        return ColumnGroups(name, (*cells, Missing(name)), codes), None
    bins = bins_of(name, numbers, settings.bins, date)
    wide = bins_of(name, numbers, settings.pair_bins, date)
    cells = tuple(wide.condition(i, i) for i in range(wide.count))
    codes = np.where(wide.codes < 0, len(cells), wide.codes)
    return ColumnGroups(name, (*cells, Missing(name)), codes), bins


def _common(part: ColumnGroups, count: np.ndarray, least: int) -> ColumnGroups:
    """Return the cells of a column that have rows enough; all other rows have the code after the last."""
    kept = np.flatnonzero(np.bincount(part.codes, count, len(part.cells)) >= least)
    place = np.full(len(part.cells), len(kept), np.int32)
    place[kept] = np.arange(len(kept))
    return ColumnGroups(part.column, tuple(part.cells[cell] for cell in kept.tolist()), place[part.codes])


def _sides(bins: Bins) -> list[tuple[Condition, np.ndarray]]:
    """List what lies below and above each end of a bin, with its codes, of which the last is that of no number."""
    codes, last = np.arange(bins.count + 1), bins.count - 1
    below = [(bins.condition(0, end), codes <= end) for end in range(last)]
    return below + [(bins.condition(end, last), (codes >= end) & (codes <= last)) for end in range(1, bins.count)]


def not_crossed(pairs: int, looked_at: int, least: int, small: float) -> str:
    """Say which pairs are no candidates."""
    said = []
    if looked_at < pairs:
        said.append(f"of {pairs:,} pairs of columns {pairs - looked_at:,} were not looked at: name fewer columns")
    if small >= 0.005:
        said.append(
            f"pairs of values of fewer than {least:,} rows were not looked at: {percent(small)} of the rows of two "
            "columns, on average, have such a pair"
        )
    return "; ".join(said)


def error_shares(kinds: np.ndarray, settings: LedgerSettings = LEDGER_DEFAULTS, pairs: int = 0) -> np.ndarray:
    """Share of the family-wise error that each candidate gets, (m,); they sum to 1 with those of pairs not among them.

    `pairs`: how many were looked at, where these are more than there are among the candidates.

    Examples
    --------
    >>> error_shares(np.array([VALUE, VALUE, TERM])).round(2).tolist()
    [0.38, 0.38, 0.23]
    >>> error_shares(np.array([VALUE, TERM, CLUSTER, CLUSTER])).round(2).tolist()
    [0.69, 0.21, 0.05, 0.05]
    >>> error_shares(np.array([TERM, TERM])).tolist()
    [0.5, 0.5]
    >>> error_shares(np.array([VALUE, PAIR]), pairs=3).round(2).tolist()
    [0.77, 0.08]
    """
    # there is one trend of a column: it stands among its values
    clusters, values, crossed = (np.isin(kinds, some) for some in (CLUSTER, (VALUE, TREND), (PAIR, THRESHOLDS)))
    share, left = np.zeros(len(kinds)), 1.0
    parts = [
        (clusters, settings.cluster_share_of_error, 0), (values, settings.value_share, 0),
        (crossed, settings.pair_share, pairs), (~(clusters | values | crossed), 1.0, 0),
    ]  # fmt: skip
    parts = [(some, of_left, max(many, some.sum())) for some, of_left, many in parts if many or some.any()]
    # each gets its share of what is left, and the last all of it
    for place, (some, of_left, many) in enumerate(parts, start=1):
        own = left * (1.0 if place == len(parts) else of_left)
        share[some] = own / many
        left -= own
    return share
