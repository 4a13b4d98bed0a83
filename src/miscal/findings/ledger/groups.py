"""Groups of rows that are fixed before any outcome is seen: values, intervals, combinations of them, terms, clusters.

All but the last have a name by themselves; clusters (`clusters`) are described only once they are found (`describe`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csc_array, hstack

from miscal.findings.conditions import Condition
from miscal.findings.conditions.frame import numbers_of, written
from miscal.findings.conditions.kinds.both import Both
from miscal.findings.conditions.kinds.missing import Missing
from miscal.findings.conditions.kinds.term import Term
from miscal.findings.conditions.kinds.value import Value
from miscal.findings.ledger.bins import Bins, bins_of, number_of_bins, spans
from miscal.findings.ledger.clusters import Clusters
from miscal.findings.ledger.combinations import slanted, triples, two_thresholds
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings
from miscal.findings.ledger.stretches import stretches
from miscal.findings.ledger.trends import TrendRows, trend_of

VALUE, TREND, INTERVAL, PAIR, THRESHOLDS, TRIPLE, SLANTED, TERM, CLUSTER = range(9)
"""Kinds of groups, the better name first."""

COMBINED = (THRESHOLDS, TRIPLE, SLANTED)
"""Kinds that several columns make together, of which there are many."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Candidates for findings.

    Attributes
    ----------
    conditions : tuple of m Condition
        What the rows of each group have in common.
    also : tuple of m tuples of Condition
        Other conditions that hold for exactly the same rows.
    kinds : int array of shape (m,)
        VALUE, TREND, INTERVAL, PAIR, THRESHOLDS, TRIPLE, SLANTED, TERM or CLUSTER.
    member : sparse array of shape (n, m), float64
        1 where a row is in a group.
    trends : dict of int to TrendRows
        Trends by their place among the groups. The rows of such a group are the upper end of its trend.
    parts : tuple of ColumnGroups
        The columns whose values are groups, with the value of each row: what a group is made of.
    typical : tuple of m tuples of int
        Rows (positions) at the centre of a cluster; none for named groups.
    columns : tuple of ColumnGroups
        Every column, cut into its values, or into bins where it holds many distinct numbers or dates.
    """

    conditions: tuple[Condition, ...]
    also: tuple[tuple[Condition, ...], ...]
    kinds: np.ndarray
    member: csc_array
    trends: dict[int, TrendRows] = field(default_factory=dict)
    parts: tuple[ColumnGroups, ...] = ()
    typical: tuple[tuple[int, ...], ...] = ()
    columns: tuple[ColumnGroups, ...] = ()

    def __len__(self) -> int:
        return len(self.conditions)

    @cached_property
    def places(self) -> dict[Condition, int]:
        """Place of each condition among the groups; of equal rows, several conditions have one place."""
        return {one: k for k, others in enumerate(self.also) for one in (*others, self.conditions[k])}

    @cached_property
    def descriptions(self) -> tuple[str, ...]:
        """What the rows of each group have in common, in words: ``"subject = law"``."""
        return tuple(one.words for one in self.conditions)

    @property
    def tested(self) -> list[csc_array]:
        """What each row adds to the test of each group, sparse, (n, m) side by side: membership, or a trend's score."""
        if not self.trends:
            return [self.member]
        first, last = min(self.trends), max(self.trends) + 1
        scores = csc_array(np.column_stack([self.trends[place].score for place in range(first, last)]))
        return [_block(self.member, 0, first), scores, _block(self.member, last, len(self))]

    @cached_property
    def axes(self) -> np.ndarray:
        """What each group that is an interval is a stretch of, object (m,); None for the others."""
        pairs = zip(self.conditions, self.kinds, strict=True)
        return np.array([one.axis if kind == INTERVAL else None for one, kind in pairs], object)

    def rows(self, group: int) -> np.ndarray:
        """Mask of the rows of a group, bool (n,)."""
        return self.member[:, [group]].toarray()[:, 0] > 0


@dataclass(frozen=True, eq=False)
class ColumnGroups:
    """Groups of one column.

    Attributes
    ----------
    column : str
    cells : tuple of Condition
        Values, spans, and the last for rows without a value.
    codes : int array of shape (n,)
        The cell of each row, -1 for none.
    """

    column: str
    cells: tuple[Condition, ...]
    codes: np.ndarray

    def rows(self, cell: int) -> np.ndarray:
        """Mask of the rows of a cell, bool (n,)."""
        return self.codes == cell


def named_groups(
    columns: Mapping[str, np.ndarray],
    text: Sequence[str] | None = None,
    settings: LedgerSettings = LEDGER_DEFAULTS,
) -> Groups:
    """List the groups that columns and texts name.

    Parameters
    ----------
    columns : mapping of str to array of shape (n,)
        Metadata and feature columns: text, numbers, booleans or dates, with missing values.
    text : sequence of n str, optional
        Texts whose common terms are groups.
    settings : LedgerSettings, optional

    Returns
    -------
    Groups
        No group twice, none smaller than ``settings.min_rows`` and none that leaves fewer rows outside.

    Examples
    --------
    >>> year = np.repeat([2001.0, 2002.0, np.nan], [30, 40, 30])
    >>> named_groups({"year": year}).descriptions
    ('year = 2001', 'year = 2002', 'year = (missing)')
    """
    n = len(text) if text is not None else len(next(iter(columns.values()), ()))
    found = _Found(n, settings)
    cells: list[ColumnGroups] = []
    bins: dict[str, Bins] = {}
    # values before intervals: of names for the same rows the first is kept
    for name, values in columns.items():
        part, wide = _cells(name, values, settings)
        if part is None:
            continue
        cells.append(part)
        if wide is None:
            found.parts.append(part)
            found.add_cells(part, VALUE)
        else:
            bins[name] = wide
            found.add(part.cells[-1], VALUE, part.rows(len(part.cells) - 1))
    count = number_of_bins(n, len(bins), settings)
    for part in cells:
        if part.column in bins:
            wide = bins[part.column]
            if count < settings.bins:
                wide = bins_of(part.column, numbers_of(columns[part.column])[0], count, wide.date)
            found.add_intervals(wide)
        found.add_all(INTERVAL, stretches(part.column, columns[part.column], settings.few_values))
    numbers = {name: numbers_of(columns[name])[0] for name, wide in bins.items() if not wide.date}
    found.columns = cells
    found.add_trends(columns)
    found.add_pairs(cells)
    found.add_triples(cells)
    found.add_all(THRESHOLDS, two_thresholds(numbers, settings))
    found.add_all(SLANTED, slanted(numbers, settings))
    if text is not None:
        found.add_terms(text)
    return found.groups()


class _Found:
    """Groups gathered so far."""

    def __init__(self, n: int, settings: LedgerSettings) -> None:
        self.n, self.settings = n, settings
        self.places: dict[bytes, int] = {}
        self.also: list[list[Condition]] = []
        self.conditions: list[Condition] = []
        self.kinds: list[int] = []
        self.members: list[np.ndarray] = []  # rows of each group
        self.parts: list[ColumnGroups] = []
        self.columns: list[ColumnGroups] = []
        self.trends: dict[int, TrendRows] = {}

    def add(self, condition: Condition, kind: int, rows: np.ndarray) -> None:
        size = int(rows.sum())
        if min(size, self.n - size) < self.settings.min_rows:
            return
        key = np.packbits(rows).tobytes()
        if key in self.places:
            place = self.places[key]
            if kind < self.kinds[place]:
                # the better name comes first, in whatever order columns stand
                self.conditions[place], condition, self.kinds[place] = condition, self.conditions[place], kind
            self.also[place].append(condition)
            return
        self.places[key] = len(self.conditions)
        self._append(condition, kind, rows)

    def _append(self, condition: Condition, kind: int, rows: np.ndarray) -> None:
        self.also.append([])
        self.conditions.append(condition)
        self.kinds.append(kind)
        self.members.append(np.flatnonzero(rows).astype(np.int32))

    def add_cells(self, part: ColumnGroups, kind: int) -> None:
        sizes = [int(part.rows(cell).sum()) for cell in range(len(part.cells))]
        filled = [cell for cell, size in enumerate(sizes) if size]
        if len(filled) == 2 and sum(sizes) == self.n:
            # two values are one question: the rarer names the answer, of equals the second (1 of 0 and 1)
            filled = [min(reversed(filled), key=lambda cell: sizes[cell])]
        for cell in filled:
            self.add(part.cells[cell], kind, part.rows(cell))

    def add_intervals(self, bins: Bins) -> None:
        for first, last in spans(bins.count, self.settings.narrow_interval, self.settings.widest_interval):
            rows = (bins.codes >= first) & (bins.codes <= last)
            self.add(bins.condition(first, last), INTERVAL, rows)

    def add_trends(self, columns: Mapping[str, np.ndarray]) -> None:
        """Add the trends in one go, so that they lie side by side; an interval may have the same rows as their end."""
        for name, values in columns.items():
            numbers, date = numbers_of(values)
            trend = None if numbers is None else trend_of(name, numbers, date)
            if trend is not None and min(trend.upper.sum(), trend.lower.sum()) >= self.settings.min_rows:
                self.trends[len(self.conditions)] = trend
                self._append(trend.condition, TREND, trend.upper)

    def add_pairs(self, cells: Sequence[ColumnGroups]) -> None:
        least = max(self.settings.min_rows, int(np.ceil(self.settings.pair_share * self.n)))
        pairs = [pair for one, two in combinations(cells, 2) for pair in _pairs(one, two, least)]
        pairs.sort(key=lambda pair: -pair[0])
        for _, one, i, two, j in pairs[: self.settings.max_pairs]:
            self.add(Both((one.cells[i], two.cells[j])), PAIR, one.rows(i) & two.rows(j))

    def add_all(self, kind: int, groups: Iterable[tuple[Condition, np.ndarray]]) -> None:
        for condition, rows in groups:
            self.add(condition, kind, rows)

    def add_triples(self, cells: Sequence[ColumnGroups]) -> None:
        some = cells[: self.settings.combined_columns]
        least = max(self.settings.min_rows, int(np.ceil(self.settings.triple_share * self.n)))
        codes, widths = [part.codes for part in some], [len(part.cells) for part in some]
        for _, three in triples(codes, widths, least, self.settings.max_triples):
            conditions = tuple(some[place].cells[cell] for place, cell in three)
            rows = np.logical_and.reduce([some[place].rows(cell) for place, cell in three])
            self.add(Both(conditions), TRIPLE, rows)

    def add_terms(self, text: Sequence[str]) -> None:
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
        for place, term in enumerate(counter.get_feature_names_out()):
            self.add(Term(str(term)), TERM, member[:, [place]].toarray()[:, 0] > 0)

    def groups(self) -> Groups:
        first = np.r_[0, np.cumsum([len(rows) for rows in self.members], dtype=np.int64)]
        inside = np.concatenate(self.members) if self.members else np.zeros(0, np.int32)
        # 12 bytes for each row of each group, of which there can be hundreds of millions
        index = np.int32 if first[-1] <= np.iinfo(np.int32).max else np.int64
        places = (inside.astype(index, copy=False), first.astype(index))
        member = csc_array((np.ones(len(inside)), *places), shape=(self.n, len(self.members)))
        also = tuple(map(tuple, self.also))
        typical = ((),) * len(also)
        kinds = np.array(self.kinds, int)
        parts, columns = tuple(self.parts), tuple(self.columns)
        return Groups(tuple(self.conditions), also, kinds, member, self.trends, parts, typical, columns)


def with_clusters(groups: Groups, clusters: Clusters) -> Groups:
    """Add clusters of similar inputs to named groups.

    Parameters
    ----------
    groups : Groups
    clusters : Clusters
        Of inputs of the same rows (:func:`.clusters.clusters_of`).

    Examples
    --------
    >>> from miscal.findings.ledger import clusters_of
    >>> kind = np.repeat(["a", "b"], 30)
    >>> with_clusters(named_groups({"kind": kind}), clusters_of(np.tile([[0.0], [1.0]], (30, 1)))).descriptions
    ('kind = b', 'a cluster of 30 similar inputs', 'a cluster of 30 similar inputs')
    """
    if not clusters.found:
        return groups
    many = len(clusters.found)
    rows = [csc_array(one.rows[:, None].astype(np.float64)) for one in clusters.found]
    # without any column and text, the named groups are none, of no rows
    named = [groups.member] if len(groups) else []
    return replace(
        groups,
        conditions=(*groups.conditions, *(one.condition for one in clusters.found)),
        also=(*groups.also, *((),) * many),
        kinds=np.r_[groups.kinds, np.full(many, CLUSTER)],
        member=csc_array(hstack([*named, *rows])),
        typical=(*groups.typical, *(one.typical for one in clusters.found)),
    )


def _cells(name: str, values: np.ndarray, settings: LedgerSettings) -> tuple[ColumnGroups | None, Bins | None]:
    """Cells of a column for values and pairs, and its bins if it holds many distinct numbers or dates."""
    numbers, date = numbers_of(values)
    if numbers is None:
        return _text_cells(name, values, settings), None
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


def _text_cells(name: str, values: np.ndarray, settings: LedgerSettings) -> ColumnGroups | None:
    missing = np.array([value is None or value != value for value in values], bool)
    written = np.where(missing, "", values.astype(str))
    distinct, codes = np.unique(written[~missing], return_inverse=True)
    if len(distinct) > settings.identifier_share * max(1, (~missing).sum()):
        return None
    every = np.full(len(values), len(distinct))
    every[~missing] = codes
    return ColumnGroups(name, (*(Value(name, str(value), "text") for value in distinct), Missing(name)), every)


def _pairs(
    one: ColumnGroups, two: ColumnGroups, least: int
) -> Iterator[tuple[int, ColumnGroups, int, ColumnGroups, int]]:
    """Pairs of cells that share enough rows, with their number of rows."""
    width = len(two.cells)
    counts = np.bincount(one.codes * width + two.codes, minlength=len(one.cells) * width)
    for place in np.flatnonzero(counts >= least):
        i, j = divmod(int(place), width)
        yield int(counts[place]), one, i, two, j


def _block(member: csc_array, first: int, last: int) -> csc_array:
    """Return neighbouring columns without a copy: of many rows and groups, membership is the largest array of a run."""
    begin, end = member.indptr[first], member.indptr[last]
    arrays = member.data[begin:end], member.indices[begin:end], member.indptr[first : last + 1] - begin
    block = csc_array((member.shape[0], last - first))
    # given to the constructor, they would be copied: they are small parts of long arrays
    block.data, block.indices, block.indptr = arrays
    return block


class ReadsColumns(Protocol):
    """What makes inputs of the columns of a table, and tells these again from them."""

    def columns_of(self, X: np.ndarray) -> dict[str, np.ndarray]:
        """Return the columns that a person reads, (n,) each."""
        ...


def readable(encoder: ReadsColumns | None, X: np.ndarray) -> bool:
    """Whether inputs are columns that a person reads one by one, not the coordinates of an embedding.

    Examples
    --------
    >>> readable(None, np.zeros((1, 384)))
    False
    """
    return encoder is not None and bool(encoder.columns_of(X[:1]))


def with_features(metadata: Mapping[str, Any], X: np.ndarray, encoder: ReadsColumns | None) -> dict[str, np.ndarray]:
    """Columns that may name a group: metadata, and the columns of the table that inputs are made of.

    Parameters
    ----------
    metadata : mapping of str to array of shape (n,)
    X : array of shape (n, d)
    encoder : ReadsColumns, optional
        What made X; None for arrays.

    Returns
    -------
    dict of str to array of shape (n,)
        A name that both have is the metadata's.

    Examples
    --------
    >>> from miscal.data.encoders import FeatureColumns
    >>> import polars as pl
    >>> table = pl.DataFrame({"age": [20, 30], "kind": ["b", "a"]})
    >>> encoder = FeatureColumns(table.columns).fit(table)
    >>> columns = with_features({"year": np.zeros(2)}, encoder.transform(table), encoder)
    >>> sorted(columns), columns["kind"].tolist()
    (['age', 'kind', 'year'], ['b', 'a'])
    """
    return (encoder.columns_of(X) if encoder is not None else {}) | dict(metadata)
