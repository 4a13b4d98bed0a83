"""Groups of rows that are fixed before any outcome is seen: values, intervals, pairs of them, terms of texts, clusters.

The first four have a name by themselves; clusters (`clusters`) are described only once they are found (`describe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csc_array, hstack

from miscal.findings.enrichment import written_date
from miscal.findings.ledger.settings import LEDGER_DEFAULTS, LedgerSettings

VALUE, INTERVAL, PAIR, TERM, CLUSTER = range(5)
"""Kinds of groups, the better name first."""

TEXT, IN_TEXT = "text", "in the text"
"""Column of a term, and the end of its description."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Candidates for findings.

    Attributes
    ----------
    descriptions : tuple of m str
        What the rows of each group have in common: ``"subject = law"``.
    columns : tuple of m tuples of str
        The columns that define it; ``"text"`` for a term.
    also : tuple of m tuples of str
        Other descriptions of exactly the same rows.
    kinds : int array of shape (m,)
        VALUE, INTERVAL, PAIR, TERM or CLUSTER.
    member : sparse array of shape (n, m), float64
        1 where a row is in a group.
    parts : tuple of Part
        The columns whose values are groups, with the value of each row: what a group is made of.
    typical : tuple of m tuples of int
        Rows (positions) at the centre of a cluster; none for named groups.
    """

    descriptions: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    also: tuple[tuple[str, ...], ...]
    kinds: np.ndarray
    member: csc_array
    parts: tuple[Part, ...] = ()
    typical: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        return len(self.descriptions)

    def rows(self, group: int) -> np.ndarray:
        """Mask of the rows of a group, bool (n,)."""
        return self.member[:, [group]].toarray()[:, 0] > 0


@dataclass(frozen=True, eq=False)
class Part:
    """Groups of one column.

    Attributes
    ----------
    column : str
    labels : tuple of str
        One for each cell: ``"= law"``, ``"below 3"``, ``"= (missing)"``.
    codes : int array of shape (n,)
        The cell of each row, -1 for none.
    """

    column: str
    labels: tuple[str, ...]
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
    cells: list[Part] = []
    for name, values in columns.items():
        part, wide = _cells(name, values, settings)
        if part is None:
            continue
        cells.append(part)
        if wide is None:
            found.parts.append(part)
            found.add_cells(part, VALUE)
        else:
            found.add_intervals(wide)
            found.add_missing(part)
    found.add_pairs(cells)
    if text is not None:
        found.add_terms(text)
    return found.groups()


class _Found:
    """Groups gathered so far."""

    def __init__(self, n: int, settings: LedgerSettings) -> None:
        self.n, self.settings = n, settings
        self.places: dict[bytes, int] = {}
        self.also: list[list[str]] = []
        self.descriptions: list[str] = []
        self.columns: list[tuple[str, ...]] = []
        self.kinds: list[int] = []
        self.members: list[csc_array] = []
        self.parts: list[Part] = []

    def add(self, description: str, columns: tuple[str, ...], kind: int, rows: np.ndarray) -> None:
        size = int(rows.sum())
        if min(size, self.n - size) < self.settings.min_rows:
            return
        key = np.packbits(rows).tobytes()
        if key in self.places:
            self.also[self.places[key]].append(description)
            return
        self.places[key] = len(self.descriptions)
        self.also.append([])
        self.descriptions.append(description)
        self.columns.append(columns)
        self.kinds.append(kind)
        self.members.append(csc_array(rows[:, None].astype(np.float64)))

    def add_cells(self, part: Part, kind: int) -> None:
        sizes = [int(part.rows(cell).sum()) for cell in range(len(part.labels))]
        filled = [cell for cell, size in enumerate(sizes) if size]
        if len(filled) == 2 and sum(sizes) == self.n:
            # two values are one question: the rarer names the answer, of equals the second (1 of 0 and 1)
            filled = [min(reversed(filled), key=lambda cell: sizes[cell])]
        for cell in filled:
            self.add(f"{part.column} {part.labels[cell]}", (part.column,), kind, part.rows(cell))

    def add_missing(self, part: Part) -> None:
        for cell, label in enumerate(part.labels):
            if label == _MISSING:
                self.add(f"{part.column} {label}", (part.column,), VALUE, part.rows(cell))

    def add_intervals(self, bins: _Bins) -> None:
        for first, last in _spans(bins.count, self.settings):
            rows = (bins.codes >= first) & (bins.codes <= last)
            self.add(f"{bins.column} {bins.label(first, last)}", (bins.column,), INTERVAL, rows)

    def add_pairs(self, cells: Sequence[Part]) -> None:
        least = max(self.settings.min_rows, int(np.ceil(self.settings.pair_share * self.n)))
        pairs = [pair for one, two in combinations(cells, 2) for pair in _pairs(one, two, least)]
        pairs.sort(key=lambda pair: -pair[0])
        for _, one, i, two, j in pairs[: self.settings.max_pairs]:
            description = f"{one.column} {one.labels[i]} and {two.column} {two.labels[j]}"
            self.add(description, (one.column, two.column), PAIR, one.rows(i) & two.rows(j))

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
            self.add(f'"{term}" {IN_TEXT}', (TEXT,), TERM, member[:, [place]].toarray()[:, 0] > 0)

    def groups(self) -> Groups:
        member = csc_array(hstack(self.members)) if self.members else csc_array((self.n, 0))
        also = tuple(tuple(names) for names in self.also)
        typical = ((),) * len(also)
        kinds = np.array(self.kinds, int)
        return Groups(tuple(self.descriptions), tuple(self.columns), also, kinds, member, tuple(self.parts), typical)


def with_clusters(groups: Groups, clusters: Sequence[tuple[np.ndarray, tuple[int, ...]]]) -> Groups:
    """Add clusters of similar inputs to named groups.

    Parameters
    ----------
    groups : Groups
    clusters : sequence of (bool array of shape (n,), tuple of int)
        The rows of each cluster, and the rows nearest to its centre (:func:`.clusters.clusters_of`).

    Returns
    -------
    Groups

    Examples
    --------
    >>> kind = np.repeat(["a", "b"], 30)
    >>> with_clusters(named_groups({"kind": kind}), [(np.arange(60) % 2 == 0, (4, 8))]).descriptions
    ('kind = b', 'a cluster of 30 similar inputs')
    """
    if not clusters:
        return groups
    many = len(clusters)
    rows = [csc_array(inside[:, None].astype(np.float64)) for inside, _ in clusters]
    # without any column and text, the named groups are none, of no rows
    named = [groups.member] if len(groups) else []
    return replace(
        groups,
        descriptions=(
            *groups.descriptions,
            *(f"a cluster of {inside.sum():,} similar inputs" for inside, _ in clusters),
        ),
        columns=(*groups.columns, *((),) * many),
        also=(*groups.also, *((),) * many),
        kinds=np.r_[groups.kinds, np.full(many, CLUSTER)],
        member=csc_array(hstack([*named, *rows])),
        typical=(*groups.typical, *(centre for _, centre in clusters)),
    )


_MISSING = "= (missing)"
_OTHER = "(other)"
"""Value of rows of which none of a column's values is true."""


@dataclass(frozen=True, eq=False)
class _Bins:
    """Numbers or dates cut into bins of about equal counts; code -1 is missing."""

    column: str
    edges: np.ndarray  # (count + 1,), of which the outer ones are the extremes
    last: np.ndarray  # (count,), the largest value of each bin
    codes: np.ndarray
    date: bool

    @property
    def count(self) -> int:
        return len(self.edges) - 1

    def label(self, first: int, last: int) -> str:
        low, high = (_written(self.edges[i], self.date) for i in (first, last + 1))
        if self.date:
            # people count both ends of a span of days
            ends = [_written(self.last[i], True) for i in (first - 1, last)]
            if first == 0:
                return f"before {high}"
            return f"after {ends[0]}" if last == self.count - 1 else f"between {low} and {ends[1]}"
        if first == 0:
            return f"below {high}"
        return f"at least {low}" if last == self.count - 1 else f"from {low} to below {high}"


def _written(value: float, date: bool) -> str:
    if date:
        return written_date(np.datetime64(int(value), "s"))
    return f"{value:.6g}"


def _cells(name: str, values: np.ndarray, settings: LedgerSettings) -> tuple[Part | None, _Bins | None]:
    """Cells of a column for values and pairs, and its bins if it holds many distinct numbers or dates."""
    numbers, date = _numbers(values)
    if numbers is None:
        return _text_cells(name, values, settings), None
    known = np.isfinite(numbers)
    distinct = np.unique(numbers[known])
    if len(distinct) <= settings.few_values:
        labels = tuple(f"= {_written(value, date)}" for value in distinct)
        codes = np.where(known, np.searchsorted(distinct, np.where(known, numbers, 0.0)), len(labels))
        return Part(name, (*labels, _MISSING), codes), None
    bins = _bins(name, numbers, settings.bins, date)
    wide = _bins(name, numbers, settings.pair_bins, date)
    labels = tuple(wide.label(i, i) for i in range(wide.count))
    codes = np.where(wide.codes < 0, len(labels), wide.codes)
    return Part(name, (*labels, _MISSING), codes), bins


def _numbers(values: np.ndarray) -> tuple[np.ndarray | None, bool]:
    """Values as float64 with NaN for missing, and whether they are dates (seconds since 1970); None if text."""
    if values.dtype.kind in "iuf":
        return values.astype(np.float64), False
    if values.dtype.kind == "M":
        seconds = values.astype("datetime64[s]")
        return np.where(np.isnat(seconds), np.nan, seconds.astype(np.int64).astype(np.float64)), True
    if values.dtype.kind == "O":
        from datetime import date

        known = [value for value in values if value is not None and value == value]
        if known and all(isinstance(value, date) for value in known):
            plain = [np.datetime64("NaT") if v is None or v != v else np.datetime64(v) for v in values]
            return _numbers(np.array(plain, "datetime64[s]"))
        if known and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in known):
            return np.array([np.nan if v is None else float(v) for v in values]), False
    return None, False


def _text_cells(name: str, values: np.ndarray, settings: LedgerSettings) -> Part | None:
    missing = np.array([value is None or value != value for value in values], bool)
    written = np.where(missing, "", values.astype(str))
    distinct, codes = np.unique(written[~missing], return_inverse=True)
    if len(distinct) > settings.identifier_share * max(1, (~missing).sum()):
        return None
    every = np.full(len(values), len(distinct))
    every[~missing] = codes
    return Part(name, (*(f"= {value}" for value in distinct), _MISSING), every)


def _bins(name: str, numbers: np.ndarray, count: int, date: bool) -> _Bins:
    known = np.isfinite(numbers)
    inner = np.unique(np.quantile(numbers[known], np.arange(1, count) / count, method="inverted_cdf"))
    inner = inner[inner > numbers[known].min()]
    edges = np.r_[numbers[known].min(), inner, numbers[known].max()]
    codes = np.where(known, np.searchsorted(inner, np.where(known, numbers, 0.0), "right"), -1)
    order = np.sort(numbers[known])
    last = order[np.r_[np.searchsorted(order, inner) - 1, len(order) - 1]]
    return _Bins(name, edges, last, codes, date)


def _spans(count: int, settings: LedgerSettings) -> Iterator[tuple[int, int]]:
    narrow, widest = (max(1, int(share * count)) for share in (settings.narrow_interval, settings.widest_interval))
    for first in range(count):
        for after in range(first + 1, min(first + widest, count) + 1):
            if after - first <= narrow or (first % 2 == 0 and (after % 2 == 0 or after == count)):
                yield first, after - 1


def _pairs(one: Part, two: Part, least: int) -> Iterator[tuple[int, Part, int, Part, int]]:
    """Pairs of cells that share enough rows, with their number of rows."""
    width = len(two.labels)
    counts = np.bincount(one.codes * width + two.codes, minlength=len(one.labels) * width)
    for place in np.flatnonzero(counts >= least):
        i, j = divmod(int(place), width)
        yield int(counts[place]), one, i, two, j


def readable(names: Sequence[str] | None, settings: LedgerSettings = LEDGER_DEFAULTS) -> bool:
    """Whether inputs are features that a person reads one by one, not the coordinates of an embedding.

    Parameters
    ----------
    names : sequence of d str, optional
        Names of the inputs, if they have any.
    settings : LedgerSettings, optional

    Returns
    -------
    bool

    Examples
    --------
    >>> readable(["age", "income"]), readable([f"x_{i}" for i in range(384)]), readable(None)
    (True, False, False)
    """
    return names is not None and len(names) <= settings.max_feature_columns


def with_features(
    metadata: Mapping[str, Any], X: np.ndarray, names: Sequence[str] | None, settings: LedgerSettings = LEDGER_DEFAULTS
) -> dict[str, np.ndarray]:
    """Columns that may name a group: metadata, and feature columns where they are few enough to be read.

    Parameters
    ----------
    metadata : mapping of str to array of shape (n,)
    X : array of shape (n, d)
    names : sequence of d str, optional
        Names of the columns of X; None for embeddings. ``"kind=a"`` names the rows of kind a: such columns are one
        column of values again.
    settings : LedgerSettings, optional

    Returns
    -------
    dict of str to array of shape (n,)
        A name that both have is the metadata's.

    Examples
    --------
    >>> sorted(with_features({"year": np.zeros(2)}, np.zeros((2, 1)), ["age"]))
    ['age', 'year']
    >>> with_features({}, np.array([[1.0, 0.0], [0.0, 1.0]]), ["kind=a", "kind=b"])["kind"].tolist()
    ['a', 'b']
    """
    if names is None or not readable(names, settings):
        return dict(metadata)
    columns: dict[str, np.ndarray] = {}
    for name, values in zip(names, X.T, strict=True):
        column, is_value, value = name.rpartition("=")
        if not is_value or not np.isin(values, (0, 1)).all():
            columns[name] = values
            continue
        kinds = columns.setdefault(column, np.full(len(X), _OTHER, dtype=object))
        kinds[values == 1] = value
    return columns | dict(metadata)
