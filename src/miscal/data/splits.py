"""Split triples into training, validation and test rows, draw samples, and keep together what belongs together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from miscal.base.errors import InputError, argument
from miscal.base.folds import linked, row_groups
from miscal.base.precision import chosen_rows
from miscal.base.vocabulary import ANSWER, Kind, vocabulary
from miscal.data.triples import SPLITS, Triples

SHARES = {"train": 0.8, "val": 0.1, "test": 0.1}

MIN_FIT_ROWS = 100
"""The fewest rows a field can be fitted, chosen and tested on."""

MIN_SPLIT = {"train": 50, "val": 5, "test": 5}
"""The fewest rows of each split."""

LARGE_DUPLICATE = 0.01
"""An input repeated in more than this share of the rows does not keep its rows on one side ..."""

FEW_REPEATS = 20
"""... unless it is so few: where rows are few, several answers to each question must not straddle."""


def input_ids(inputs: np.ndarray | Iterable[str]) -> np.ndarray:
    """Give equal inputs equal numbers, in order of appearance.

    `inputs` (n, d): equal means equal bytes; -0.0 counts as 0.0. Numbers count from 0.

    Examples
    --------
    >>> input_ids(np.array([[1.0], [2.0], [1.0]])).tolist(), input_ids(["a", "b", "a"]).tolist()
    ([0, 1, 0], [0, 1, 0])
    """
    if isinstance(inputs, np.ndarray):
        return row_groups(inputs)
    keys = (hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() for text in inputs)
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.int64)


def split_rows(triples: Triples, *, seed: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """Split rows 80/10/10 at random, equal inputs and groups on one side.

    Equal inputs are equal rows of `X`, or equal texts where `X` was made from text. An input that fills more than
    1 % of the rows, and more than 20, would distort the split: its rows are split at random, and a warning says so.
    Groups that the user named always stay together.

    `seed`: fixes the split. Returns `split`: 'train', 'val' or 'test'.

    Examples
    --------
    >>> t = Triples.of(np.arange(10.0)[:, None], confidence=[0.5] * 10, correct=[0, 1] * 5)
    >>> split, warnings = split_rows(t, seed=0)
    >>> sorted(split.tolist()).count("train"), warnings
    (8, ())
    """
    return split_by(_own_inputs(triples), triples.group, seed=seed)


def split_by(inputs: np.ndarray | Iterable[str], group: np.ndarray | None, *, seed: int) -> tuple[np.ndarray, tuple]:
    """Split rows as :func:`split_rows` does, from the inputs (matrix or texts) and groups themselves."""
    ids = input_ids(inputs)
    units, warnings = _units(ids, group)
    return _fill(units, np.random.default_rng(seed)), warnings


def permuted_split(n: int, seed: int) -> np.ndarray:
    """Split rows 80/10/10 by a plain permutation, as in the paper: equal inputs may be on several sides.

    `n`: number of rows; `seed`: fixes the split. Returns str, shape (n,): 'val' and 'test' for n // 10 rows each,
    'train' for the others.

    Examples
    --------
    >>> split = permuted_split(9_999, seed=0)
    >>> [int((split == name).sum()) for name in ("train", "val", "test")]
    [8001, 999, 999]
    """
    if n < MIN_FIT_ROWS:
        raise InputError(f"too few rows to split: got {n}; at least {MIN_FIT_ROWS} are needed")
    tenth = n // 10
    order = np.random.default_rng(seed).permutation(n)
    split = np.full(n, "train")
    split[order[:tenth]] = "test"
    split[order[tenth : 2 * tenth]] = "val"
    return split


def kept_together(triples: Triples) -> tuple[str, ...]:
    """Warn, with a count, of equal inputs and of a large group, which folds keep together.

    Examples
    --------
    >>> kept_together(Triples.of([[0.0], [1.0], [0.0]], confidence=[0.5] * 3, correct=[0, 1, 0]))
    ('2 rows have the same input as another row; rows with equal inputs are kept together',)
    """
    if triples.group is not None:
        sizes = np.unique(triples.group, return_counts=True)[1]
        said = (
            f"the largest of {len(sizes)} groups holds {sizes.max():,} of {len(triples):,} rows. Intervals count "
            "groups, and so few prove little: name a column that tells more groups apart, or name none if rows are "
            "independent"
        )
        return (said,) if sizes.max() > len(triples) / 5 else ()
    if triples.counted_by.cells:
        return ()
    ids = own_ids(triples)
    repeated = int((np.bincount(ids)[ids] > 1).sum())
    said = f"{repeated:,} rows have the same input as another row; rows with equal inputs are kept together"
    return (said,) if repeated else ()


def kept_units(triples: Triples) -> np.ndarray:
    """Give rows that :func:`split_rows` keeps on one side the same number: int64, shape (n,).

    Examples
    --------
    >>> kept_units(Triples.of([[0.0], [1.0], [0.0]], confidence=[0.5] * 3, correct=[0, 1, 0])).tolist()
    [0, 1, 0]
    """
    return _units(own_ids(triples), triples.group)[0]


def own_ids(triples: Triples) -> np.ndarray:
    """Give rows with equal inputs (equal texts, where inputs were made from them) the same number: int64, shape (n,).

    Examples
    --------
    >>> own_ids(Triples.of([[0.0], [1.0], [0.0]], confidence=[0.5] * 3, correct=[0, 1, 0])).tolist()
    [0, 1, 0]
    """
    inputs = _own_inputs(triples)
    return triples.equal_inputs if inputs is triples.X else input_ids(inputs)


def in_canonical_order(triples: Triples) -> tuple[Triples, np.ndarray]:
    """Sort rows by all that they hold: what is dealt and drawn then does not depend on their order.

    Returns `order`: where each row stood before.

    Examples
    --------
    >>> rows = Triples.of([[0.0], [1.0], [2.0]], confidence=[0.5, 0.6, 0.7], correct=[0, 1, 0])
    >>> one, other = (in_canonical_order(some)[0] for some in (rows, rows.take([2, 0, 1])))
    >>> one.row.tolist() == other.row.tolist()
    True
    """
    rows, order = triples, triples.canonical_order
    if triples.judged is None and np.array_equal(order, np.arange(len(triples))):
        return triples, order
    # inputs may be too large for memory
    apart = replace(rows, X=rows.X[:, :0], layout=rows.layout).take(order)
    if rows.judged is not None:
        others = rows.judged.unjudged
        apart = replace(apart, judged=replace(apart.judged, unjudged=others.take(others.canonical_order)))
    placed = replace(apart, X=chosen_rows(rows.X, order))
    # sorting them again would change nothing
    placed.__dict__["canonical_order"] = np.arange(len(placed))
    return placed, order


def straddling(triples: Triples) -> tuple[str, ...]:
    """Warn of inputs that occur on more than one side of the split that the triples carry."""
    return straddling_inputs(_own_inputs(triples), triples.split)


def straddling_inputs(inputs: np.ndarray | Iterable[str], split: np.ndarray | None) -> tuple[str, ...]:
    """Warn, with a count, of inputs (matrix or texts) that occur on more than one side of `split`."""
    if split is None:
        return ()
    ids = input_ids(inputs)
    sides = np.zeros((ids.max() + 1, len(SPLITS)), dtype=bool)
    sides[ids, [SPLITS.index(name) for name in split]] = True
    both = sides.sum(axis=1) > 1
    said = (
        f"{int(both.sum())} inputs ({int(both[ids].sum())} rows) occur in more than one split. The split is used as "
        "it is given, so values on test rows may be too good"
    )
    return (said,) if both.any() else ()


def _own_inputs(triples: Triples) -> np.ndarray | tuple[str, ...]:
    made_from_text = str(triples.source.get("x", {}).get("kind", "")).startswith("text")
    return triples.text if made_from_text and triples.text is not None else triples.X


def _units(ids: np.ndarray, group: np.ndarray | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Give rows that must stay together the same number, and say which could not."""
    n = len(ids)
    size = np.bincount(ids)[ids]
    warnings = []
    large = size > max(LARGE_DUPLICATE * n, FEW_REPEATS)
    repeated = (size > 1) & ~large
    if repeated.any():
        warnings.append(
            f"{int(repeated.sum()):,} rows have the same input as another row; rows with equal inputs are kept in one "
            "split"
        )
    if large.any():
        warnings.append(
            f"{len(np.unique(ids[large]))} inputs each make up more than 1 % of the rows "
            f"({int(large.sum())} rows in all); these rows are split "
            + ("at random; name a group column to keep them together" if group is None else "by their group alone")
        )
        # each of these rows becomes a unit of its own
        ids = np.where(large, ids.max() + 1 + np.arange(n), ids)
    _, ids = np.unique(ids, return_inverse=True)
    if group is None:
        return ids, tuple(warnings)
    # rows hang together that share an input or a group, or do so by way of other rows
    units = linked(ids, np.unique(group, return_inverse=True)[1])[ids]
    largest = np.bincount(units).max()
    if largest > SHARES["test"] * n:
        warnings.append(f"the largest group holds {largest} of {n} rows, so the splits cannot be 80/10/10")
    return units, tuple(warnings)


def _fill(units: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Deal the units out in random order, each to the split that is shortest of its share.

    With single rows this is a uniformly random split of exact sizes; with large units every split gets some as long
    as there are three.
    """
    size = np.bincount(units).tolist()
    targets = [SHARES[name] for name in SPLITS]
    filled = [0.0] * len(SPLITS)  # rows over share: equal for all when the shares are exact
    chosen = np.empty(len(size), dtype=np.int64)
    for unit in rng.permutation(len(size)).tolist():
        # ties go to test, then to val, so that few large units leave neither empty
        side = 2 if filled[2] <= filled[1] else 1
        side = 0 if filled[0] < filled[side] else side
        filled[side] += size[unit] / targets[side]
        chosen[unit] = side
    return np.array(SPLITS)[chosen[units]]


def check_trainable(
    correct: np.ndarray, split: np.ndarray | None, kind: Kind = ANSWER, group: np.ndarray | None = None
) -> None:
    """Refuse what no field can be fitted on.

    `correct` (n,): outcomes, 0 or 1; `split` (n,): 'train', 'val' or 'test'; None where all rows are learned from;
    `kind`: what the outcomes are of; messages take their words from it; `group` (n,): rows with equal values hang
    together.

    Examples
    --------
    >>> check_trainable(np.array([0.0, 1.0]), np.array(["train", "test"]))
    Traceback (most recent call last):
    ...
    miscal.base.errors.InputError: too few rows: got 2; at least 100 are needed; a detailed field takes some thousands
    """
    if len(correct) < MIN_FIT_ROWS:
        least = f"at least {MIN_FIT_ROWS} are needed; a detailed field takes some thousands"
        raise InputError(f"too few rows: got {len(correct)}; {least}")
    parts = {"": correct}
    if split is not None:
        counts = {name: int((split == name).sum()) for name in SPLITS}
        if any(counts[name] < MIN_SPLIT[name] for name in SPLITS):
            got, least = (", ".join(f"{n[name]} {name}" for name in SPLITS) for n in (counts, MIN_SPLIT))
            raise InputError(f"too few rows in a split: got {got}; at least {least} are needed")
        parts["of split 'train' "] = correct[split == "train"]
    for name, part in parts.items():
        if part.min() == part.max():
            said = f"all {len(part)} rows {name}are {int(part[0])}; both 0 and 1 must occur"
            raise InputError(f"{vocabulary(kind).columns[1]} has one class only: {said}")
    if group is not None and (group == group[0]).all():
        raise InputError(
            f"{argument('group')}: all {len(group):,} rows are of one group, {str(group[0])!r}, so none can be judged "
            "by what others teach; name a column that tells groups apart, or leave it out if rows are independent"
        )


SAMPLED_ABOVE = 500_000
"""Rows above which a field is learned from a sample, unless a size is asked for."""

SAMPLE_ROWS = 200_000
"""Rows of that sample: a score has some 500 coefficients, so that more rows would hardly make it better."""

# stream of the draw
_STREAM = 62


def sample_size(n: int, asked: int | None) -> int | None:
    """Say how many of n rows a field is learned from; None for all of them.

    `n`: rows there are; `asked`: rows to learn from; by default all, or 200,000 of more than 500,000.

    Examples
    --------
    >>> sample_size(10_000, None), sample_size(10_000, 2_000), sample_size(10_000, 20_000), sample_size(10**7, None)
    (None, 2000, None, 200000)
    """
    if asked is None:
        return SAMPLE_ROWS if n > SAMPLED_ABOVE else None
    if asked < MIN_FIT_ROWS:
        raise InputError(f"sample must be at least {MIN_FIT_ROWS} rows, which a field needs to be learned; got {asked}")
    return asked if asked < n else None


def draw_rows(groups: np.ndarray, size: int, *, named: bool, seed: int) -> np.ndarray:
    """Draw rows at random, groups whole.

    `groups` (n,): numbers from 0; rows with the same number are all drawn or none; `size`: rows wanted; of groups of
    several rows a few less may be drawn; `named`: whether the user named the groups. Otherwise (equal inputs) one that
    holds over a fifth of the sample is broken up.

    Examples
    --------
    >>> draw_rows(np.arange(10), 4, named=False, seed=0).sum()
    np.int64(4)
    """
    rows = np.bincount(groups)
    if rows.max() > size / 5:
        if named:
            raise InputError(
                f"sample is {size:,} rows, but the largest group alone holds {rows.max():,}, and groups are never "
                f"broken up: learn from at least {5 * rows.max():,} rows"
            )
        broken = (rows > size / 5)[groups]
        groups = np.unique(np.where(broken, len(rows) + np.arange(len(groups)), groups), return_inverse=True)[1]
        rows = np.bincount(groups)
    order = np.random.default_rng((seed, _STREAM)).permutation(len(rows))
    taken = np.zeros(len(rows), dtype=bool)
    taken[order[np.cumsum(rows[order]) <= size]] = True
    return taken[groups]


# --- copies -----------------------------------------------------------------------------------------------------------


LEAST_ROWS = 20
"""Different rows, at least, before their counts say that all were copied: of so many, chance alone gives each an even
count in one table of a million."""


class Copies(NamedTuple):
    """Rows that all occur several times: how many times at least, the greatest common divisor of their counts.

    `row` (n,): number of each row, the same for copies.
    """

    times: int
    row: np.ndarray


def copies(triples: Triples) -> Copies | None:
    """Find out whether a file holds every row several times, as one that was put together from copies of itself does.

    Rows are copies where inputs, confidence, outcome, texts and metadata agree. That some rows agree is usual, in
    tables of few categories above all; that the counts of all of them have a common divisor is not.

    There is none where any row occurs once, or the counts have no common divisor.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rows = Triples.of(rng.normal(size=(40, 2)), confidence=rng.random(40), correct=np.arange(40) % 2)
    >>> copies(rows) is None, copies(rows.take(np.tile(np.arange(40), 3))).times
    (True, 3)
    """
    row = triples.equal_inputs
    beside = (triples.confidence, triples.correct, *triples.metadata.values())
    for values in (*beside, *(() if triples.text is None else (np.array(triples.text, dtype=object),))):
        if np.bincount(row).min() < 2:
            return None
        # as text, numbers and missing values can be told apart side by side
        codes = np.unique(values.astype(str) if values.dtype == object else values, return_inverse=True)[1]
        row = np.unique(row * (codes.max() + 1) + codes, return_inverse=True)[1].astype(np.int64)
    counts = np.bincount(row)
    times = int(np.gcd.reduce(counts))
    return Copies(times, row) if times > 1 and len(counts) >= LEAST_ROWS else None


MOST_NEIGHBOURS = 20
"""Copies of one row that are looked for: neighbours of neighbours are linked, too, so there may be more."""
CHANCE = 0.001
"""Of a row, where there are no copies, to be taken for one, by all numbers of neighbours together."""
FEW_COPIES = 0.01
"""Of the rows of a first few strips, where there are many: no others are looked at."""
CONTINUOUS = 0.9
"""Values of a column, as a share of the different rows, from which it is no lattice."""
MUCH_NEARER = 1 / 3
"""Copies are nearer than this part of the median distance to the last neighbour looked at."""
LARGEST_UNIT, LARGEST_UNIT_ROWS = 0.05, 50
"""Rows that hang together are no more than this share of all rows, or so many: more are a usual input or a cluster."""
_STRIP_ROWS = 4_096
"""Rows within which neighbours are looked for, so that the time grows with the rows: strips across one direction, whose
width is large against the distance of copies."""
_ASKED_STRIPS = 6
"""Strips that are looked at first: where they hold no copies, no others are looked at."""
_MOST_PLACES = 64
"""Wider inputs are projected on so many random directions: copies lie near in all of them."""


def near_copies(places: np.ndarray, *, table: bool = True) -> np.ndarray:
    """Find rows that lie much nearer to each other than independent rows of that density would.

    Of independent rows (r_k / r_{k+1})^{k d} is uniform, r_k the distance to the k-th neighbour and d the dimension: so
    it is of a Poisson process. A row is linked to its k nearest where that is least, if it is below 0.001 / 20 there
    and r_k is far below the usual distance. Equal rows are looked at once. Where fewer than two columns of a table
    take nearly as many values as there are different rows, inputs lie on a lattice, of which nothing can be said in
    this way.

    `places` (n, d): inputs; each column is standardised; `table`: whether they are columns that a person reads, and no
    embedding. Returns the same number for rows that are copies of each other, from 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> asked = np.repeat(rng.normal(size=(200, 4)), 3, axis=0)
    >>> len(np.unique(near_copies(asked + rng.normal(scale=0.001, size=asked.shape))))
    200
    >>> len(np.unique(near_copies(rng.normal(size=(600, 6)))))
    600
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    number = row_groups(places)
    points = places[np.unique(number, return_index=True)[1]].astype(np.float64)
    points = points[:, points.std(0) > 0]
    n, d = points.shape
    # along one such number alone, what heaps at round values looks like copies
    lattice = table and sum(len(np.unique(column)) > CONTINUOUS * n for column in points.T) < min(2, d)
    if n <= 2 * MOST_NEIGHBOURS or lattice:
        return np.arange(len(places))
    points = (points - points.mean(0)) / points.std(0)
    if d > _MOST_PLACES:
        points = points @ np.random.default_rng(0).normal(size=(d, _MOST_PLACES))
    along = np.argsort(points @ np.random.default_rng(1).normal(size=points.shape[1]), kind="stable")
    strips = np.array_split(along, -(-n // _STRIP_ROWS))
    if len(strips) > 2 * _ASKED_STRIPS:
        some = strips[:: len(strips) // _ASKED_STRIPS]
        # so few copies among so many rows would widen no interval
        if len(np.unique(_links(points, some)[0])) <= FEW_COPIES * sum(map(len, some)):
            return np.arange(len(places))
    one, other = _links(points, strips)
    edges = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
    return no_larger_than_a_unit(connected_components(edges, directed=False)[1][number])


def _links(points: np.ndarray, strips: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of some strips that are much nearer to others of theirs than chance has it, and these."""
    distance, neighbour = _neighbours(points, strips)
    with np.errstate(divide="ignore"):
        steps = np.diff(np.log(distance), axis=1)
    # the dimension by the steps to the second neighbour, which are exponential: of the shorter ones, as copies are far
    cut = np.quantile(steps[:, 0], 0.9)
    dimension = min(np.sum(steps[:, 0] <= cut) / np.minimum(steps[:, 0], cut).sum(), points.shape[1])
    k = np.arange(1, MOST_NEIGHBOURS + 1)
    near = distance[:, :-1] < MUCH_NEARER * np.median(distance[:, -2])
    chance = np.where(near, -k * dimension * steps, 0.0)
    linked_to = np.where(chance.min(1) < np.log(CHANCE / MOST_NEIGHBOURS), k[chance.argmin(1)], 0)
    one, other = np.nonzero(k <= linked_to[:, None])
    return np.concatenate(strips)[one], neighbour[one, other]


def no_larger_than_a_unit(number: np.ndarray) -> np.ndarray:
    """Give rows numbers of their own whose unit holds so many that it is a usual input, or a cluster; int64 (n,).

    Examples
    --------
    >>> len(np.unique(no_larger_than_a_unit(np.zeros(60, int)))), no_larger_than_a_unit(np.array([0, 0])).tolist()
    (60, [0, 0])
    """
    n, size = len(number), np.bincount(number)[number]
    large = size > max(LARGEST_UNIT * n, LARGEST_UNIT_ROWS)
    return np.unique(np.where(large, number.max() + 1 + np.arange(n), number), return_inverse=True)[1].astype(np.int64)


def _neighbours(points: np.ndarray, strips: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Distances of the rows of strips to the nearest others of theirs, in rising order, and which they are; (n, 21)."""
    from sklearn.neighbors import NearestNeighbors

    found = [(NearestNeighbors(n_neighbors=MOST_NEIGHBOURS + 1).fit(points[one]).kneighbors(), one) for one in strips]
    return (
        np.concatenate([distance for (distance, _), _ in found]),
        np.concatenate([strip[at] for (_, at), strip in found]),
    )
