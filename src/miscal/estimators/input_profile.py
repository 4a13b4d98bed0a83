"""Describe the inputs of a fit, so that inputs of another model are noticed before they are used.

Half of a sample of the rows tells their means, scales and leading directions. The other half, which had no part in
that, is measured along them, and its measures are kept. New rows are measured alike, and the two distributions of each
measure are compared. Where the new rows are drawn like the old ones, both are samples of one distribution, whatever it
is and however many columns there are, and each strays from it as Dvoretzky, Kiefer, Wolfowitz and Massart say (1990).
The measures of the first half are kept as well: the rows of the fit may be asked for again, and a value between those
of the two halves is not told.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.arrays import leading_eigenvectors, oriented
from miscal.base.folds import row_groups

Array = NDArray[np.floating]

FALSE_ALARM = 1e-3
"""Largest chance that rows drawn like those of the fit are told to be unlike them, over all measures together."""

MOST_ROWS = 4_000
"""Rows whose measures are kept, and new rows that are looked at."""

# rows that tell directions, and the numbers in them: their error is below what is told long before
_LEARNING_ROWS, _LEARNING_VALUES = 10_000, 1 << 25
_LEAST_ROWS = 8
# columns up to which every direction is kept; of more the leading ones, and the rest as one
_ALL_DIRECTIONS, _SOME_DIRECTIONS = 768, 64
# share of the mean variance that every direction has at least, against directions that few rows seem to lack
_SHRINKAGE = 0.1
# columns whose deviation is at most this many times the usual one are in one unit
_ALIKE = 10.0
_PROJECTIONS = 10
# rows kept of all new ones, of which those that meet a condition are looked at
_KEPT_ROWS = 4 * MOST_ROWS
# a group of more rows than this share is no repeated question, but a value that few-valued columns often have
_LARGEST_COPY = 0.01
_STREAM = 83

_MEASURES = (
    ("their length", 0.02),
    ("the distance from their mean", 0.05),
    ("the distance from their mean, in units of each direction's spread", 0.05),
    ("the share of that distance along their leading directions", 0.02),
    ("the angle to their mean", 0.02),
)
_PROJECTION = ("their place along direction {} of their spread", 0.03)
"""What is measured, and how much less or more of it is the same: rounding, another precision, another batch."""

# another encoder's rows lie as far out as rows of a random direction do, about 1; other texts of the same one do not,
# if the rows of the fit spread over many directions (benchmarks/notes/answered.md)
_RANDOM_SHARE, _OWN_SHARE = 0.65, 0.55
_LEAST_COLUMNS, _LEAST_SPREAD, _SPREAD_SHARE = 64, 20.0, 0.1


@dataclass(frozen=True)
class Likeness:
    """How new rows compare with those of a fit.

    Attributes
    ----------
    n : int
        New rows that were looked at.
    distance, allowed : float
        The largest Kolmogorov-Smirnov distance of a measure, and the one that chance exceeds in at most 1 of 1,000
        sets of rows drawn like those of the fit, over all measures together.
    measure : str
        In words, the measure that it is of.
    impossible : str or None
        Why no row is plausible; None where any is.
    """

    n: int
    distance: float
    allowed: float
    measure: str
    impossible: str | None = None

    @property
    def unlike(self) -> bool:
        """Whether the rows are told to be unlike those of the fit."""
        return self.distance > self.allowed


@dataclass(frozen=True, eq=False)
class InputProfile:
    """Moments and measures of the inputs of a fit.

    Attributes
    ----------
    mean, scale : float64 array of shape (d,)
        Of the columns; the scale of a column that was constant is that of the others.
    directions : float32 array of shape (d, k)
        Leading directions of the scaled columns, orthonormal.
    variances : float64 array of shape (k + 1,)
        Along them, and the mean variance along each direction outside them.
    reference : float32 array of shape (m, K)
        Measures of rows that had no part in all of the above, each column sorted.
    learned : float32 array of shape (l, K)
        The same of rows that all of the above was learned from.
    size : float
        Number of independent rows that the reference is worth.
    copies : float
        Rows that come together: 1 where rows are independent, 4 where each question was answered by four models.
    wide : bool
        Whether the rows spread over so many directions that other rows of the same encoder share them.
    nonzero : bool
        Whether no row held zeros alone.
    unseen : tuple of int
        Columns that the fit did not see, and that are therefore not looked at.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    directions: NDArray[np.float32]
    variances: NDArray[np.float64]
    reference: NDArray[np.float32]
    learned: NDArray[np.float32]
    size: float
    copies: float
    wide: bool
    nonzero: bool
    unseen: tuple[int, ...] = ()

    def measures(self, X: Array) -> NDArray[np.float32]:
        """Measure rows; the last two columns serve :meth:`compare` alone.

        Takes X (n, d). Returns ndarray of shape (n, K + 2), float32: Measures, the distance over that of a random
        direction, and the number of columns that are not 0.
        """
        # of mixed inputs the profile is of those that place rows
        X = _seen(X[:, : len(self.mean)], self.unseen)
        z = (X - self.mean) / self.scale
        along = z @ self.directions
        d, k = self.directions.shape
        square = np.einsum("ij,ij->i", z, z)
        inside = np.einsum("ij,ij->i", along, along)
        outside = np.maximum(square - inside, 0.0) if d > k else 0.0 * square
        far = ((along**2) @ (1 / self.variances[:-1]) + outside / self.variances[-1]) / d
        # what it would be if the row lay in a random direction from the mean
        random = square / d * ((1 / self.variances[:-1]).sum() + (d - k) / self.variances[-1]) / d
        length = np.linalg.norm(X, axis=1)
        least = 1e-6 * max(float(np.linalg.norm(self.mean)), float(np.linalg.norm(self.scale)))
        leading = (along[:, : max(k // 4, 1)] ** 2).sum(1)
        angle = X @ self.mean / np.maximum(length, least) / max(float(np.linalg.norm(self.mean)), least)
        places = along[:, :_PROJECTIONS] / np.sqrt(self.variances[:-1][:_PROJECTIONS])
        logs = [np.log(np.maximum(length, least)), np.log(np.maximum(square / d, 1e-12)) / 2,
                np.log(np.maximum(far, 1e-12)) / 2]  # fmt: skip
        shares = [leading / np.maximum(square, 1e-12), angle]
        last = [far / np.maximum(random, 1e-12), (X != 0).sum(1)]
        return np.column_stack([*logs, *shares, places, *last]).astype(np.float32)

    def compare(self, measures: NDArray[np.float32]) -> Likeness:
        """Compare the measures of new rows, from :meth:`measures`, with those of the fit.

        Takes measures (n, K + 2): of rows drawn at random from all new ones, n of at least 1.
        """
        kinds = self.reference.shape[1]
        names = [*_MEASURES, *((_PROJECTION[0].format(i + 1), _PROJECTION[1]) for i in range(kinds - len(_MEASURES)))]
        found = [
            _distance(np.sort(measures[:, i]), (self.reference[:, i], self.learned[:, i]), tolerance)
            for i, (_, tolerance) in enumerate(names)
        ]
        most = int(np.argmax(found))
        likeness = Likeness(len(measures), found[most], self.allowed(len(measures)), names[most][0])
        return replace(likeness, impossible=self._impossible(measures)) if likeness.unlike else likeness

    def allowed(self, n: int) -> float:
        """Distance that chance alone exceeds, for any measure of n new rows, in at most one of 1,000 sets of rows."""
        # two samples and two sides of each measure; copies of a row tell nothing new
        least = math.log(4 * self.reference.shape[1] / FALSE_ALARM) / 2
        return math.sqrt(least / self.size) + math.sqrt(least * self.copies / max(n, 1))

    def _impossible(self, measures: NDArray[np.float32]) -> str | None:
        """Say why no row is plausible, whatever population it is from; None where that cannot be said."""
        if self.nonzero and not measures[:, -1].any():
            return "all of them are zeros, and no input of the fit was"
        if self.wide and (measures[:, -2] > _RANDOM_SHARE).all():
            return "they differ from the mean in directions in which the fit's inputs hardly differ from each other"
        return None


def learn_profile(
    X: Array, *, weight: Array | None = None, groups: Any = None, seed: int = 0, unseen: tuple[int, ...] = ()
) -> InputProfile | None:
    """Describe the inputs of a fit.

    Takes X (n, d); weight (n,): numbers of rows; groups (n,): rows that hang together; seed: draws the rows and the
    halves; unseen: columns that the fit does not see. Returns: InputProfile or None: None for fewer than 16 rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(1, 1, (2_000, 5)) * [1, 2, 3, 4, 5]
    >>> profile = learn_profile(X[:1_000])
    >>> [profile.compare(profile.measures(new)).unlike for new in (X[1_000:], -X[1_000:])]
    [False, True]
    """
    rng = np.random.default_rng((seed, _STREAM))
    rows = np.arange(len(X)) if weight is None else np.flatnonzero(np.asarray(weight) > 0)
    learning = int(np.clip(_LEARNING_VALUES // X.shape[1], 500, _LEARNING_ROWS))
    if len(rows) > 2 * learning:
        rows = np.sort(rng.choice(rows, 2 * learning, replace=False))
    if len(rows) < 2 * _LEAST_ROWS:
        return None
    group = row_groups(X[rows], None if groups is None else np.asarray(groups)[rows])
    counts = np.bincount(group)
    if groups is None and counts.max() > _LARGEST_COPY * len(rows):
        group = np.arange(len(rows))
        counts = np.ones(len(rows), int)
    first = rng.permutation(np.arange(len(counts)) < len(counts) // 2)[group]
    if first.all() or not first.any():
        return None
    learned, kept = rows[first], rows[~first]
    own = np.ones(len(X)) if weight is None else np.asarray(weight, float)
    size = min(_worth(np.bincount(group[~first], own[kept])), _worth(counts), float(MOST_ROWS))
    described = replace(_described(_seen(X[learned], unseen)), unseen=unseen)
    own_half, other_half = (described.measures(X[_drawn(some, own[some], rng)]) for some in (learned, kept))
    usual = float(np.quantile(other_half[:, -2], 0.99))
    return replace(
        described,
        reference=np.sort(other_half[:, :-2], axis=0),
        learned=np.sort(own_half[:, :-2], axis=0),
        size=size,
        copies=len(rows) / _worth(counts),
        wide=described.wide and usual <= _OWN_SHARE,
        nonzero=bool(own_half[:, -1].all() and other_half[:, -1].all()),
    )


def _drawn(rows: NDArray[np.integer], weight: Array, rng: np.random.Generator) -> NDArray[np.integer]:
    """Rows whose measures are kept; one of weight 2 is there twice."""
    weighted = bool((weight != weight[0]).any())
    if len(rows) <= MOST_ROWS and not weighted:
        return rows
    return rng.choice(rows, min(len(rows), MOST_ROWS), replace=weighted, p=weight / weight.sum())


def _worth(counts: Array) -> float:
    """Count the independent rows that groups of rows are worth (Kish, 1965)."""
    return float(counts.sum() ** 2 / np.square(counts, dtype=np.float64).sum())


def _seen(X: Array, unseen: tuple[int, ...]) -> NDArray[np.float64]:
    """Rows in double precision, 0 in columns that are not seen."""
    X = np.asarray(X, np.float64)
    return np.where(np.isin(np.arange(X.shape[1]), unseen), 0.0, X) if unseen else X


def _described(X: Array) -> InputProfile:
    """Mean, scales and directions of rows, (n, d), without measures."""
    n, d = X.shape
    mean, deviation = X.mean(0), X.std(0)
    constant = deviation <= 1e-6 * np.abs(mean)
    usual = float(np.median(deviation[~constant])) if not constant.all() else 1.0
    # proportions of embeddings are kept, as they tell directions apart; columns in units of their own have none
    own = np.full(d, usual) if deviation.max() <= _ALIKE * usual else deviation
    # a constant column has no spread of its own, and rounding is none
    scale = np.where(constant, np.maximum(usual, 1e-3 * np.abs(mean)), own)
    z = (X - mean) / scale
    directions, values = _leading_directions(z, _ALL_DIRECTIONS if d <= _ALL_DIRECTIONS else _SOME_DIRECTIONS)
    total, k = float(np.einsum("ij,ij->", z, z)) / n, len(values)
    rest = max(total - float(values.sum()), 0.0) / max(d - k, 1)
    variances = (1 - _SHRINKAGE) * np.append(values, rest) + _SHRINKAGE * max(total / d, 1e-12)
    spread = total**2 / max(float((values**2).sum() + (d - k) * rest**2), 1e-30)
    wide = d >= _LEAST_COLUMNS and k == d and spread >= max(_LEAST_SPREAD, _SPREAD_SHARE * d)
    none = np.empty((0, 0), np.float32)
    return InputProfile(mean, scale, directions, variances, none, none, 1.0, 1.0, wide, False)


def _leading_directions(z: Array, most: int) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """At most so many leading directions of centred rows, (d, k), and the variances along them."""
    n, d = z.shape
    k = min(d, n - 1, most)
    if d <= most:
        values, vectors = leading_eigenvectors(z.T @ z / n, k)
    else:
        from sklearn.utils.extmath import randomized_svd

        _, singular, right = randomized_svd(z, k, n_iter=4, random_state=0)
        values, vectors = singular**2 / n, right.T
    return oriented(vectors).astype(np.float32), np.maximum(values, 0.0)


def _distance(new: Array, known: tuple[Array, Array], tolerance: float) -> float:
    """Largest distance of a distribution function from both others and all between them; all are sorted values.

    A difference that vanishes where values are moved by the tolerance does not count.

    Examples
    --------
    >>> old = np.array([0.0, 1.0])
    >>> [_distance(new, (old, old), 0.1) for new in (np.array([0.05, 1.05]), np.array([2.0]))]
    [0.0, 1.0]
    """
    step = np.float32(tolerance)
    above = _share(new, new) - np.maximum(*(_share(values, new + step) for values in known))
    places = np.concatenate(known)
    below = np.minimum(*(_share(values, places) for values in known)) - _share(new, places + step)
    return max(float(above.max()), float(below.max()), 0.0)


def _share(values: Array, at: Array) -> Array:
    """Share of sorted values that are at most so large."""
    return np.searchsorted(values, at, "right") / len(values)


def rows_to_look_at(row: NDArray[np.integer], n: int) -> tuple[NDArray[np.integer], NDArray[np.uint64]]:
    """Choose rows by their numbers alone, so that the choice is the same in pieces of any size, and in any order.

    Takes row (k,): numbers of rows at hand; n: rows in all. Returns at : int array of shape (j,): Positions of the
    rows to keep; order : uint64 array of shape (j,): Their random order: the first ``MOST_ROWS`` of all rows are
    looked at.

    Examples
    --------
    >>> rows_to_look_at(np.arange(5), 5)[0].tolist()
    [0, 1, 2, 3, 4]
    >>> 10_000 < len(rows_to_look_at(np.arange(10**6), 10**6)[0]) < 22_000
    True
    """
    # splitmix64 (Steele, Lea & Flood, 2014); 53 bits, which JSON keeps
    z = row.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    order = (z ^ (z >> np.uint64(31))) >> np.uint64(11)
    at = np.flatnonzero(order < min(1.0, _KEPT_ROWS / max(n, 1)) * 2.0**53)
    return at, order[at]


def look(profile: InputProfile, X: Array) -> Likeness | None:
    """Compare new rows with those of the fit.

    Takes X (n, d). Returns: Likeness or None: None where the rows are so few that nothing could be told.
    """
    at, order = rows_to_look_at(np.arange(len(X)), len(X))
    if profile.allowed(min(len(at), MOST_ROWS)) >= 1:
        return None
    return profile.compare(profile.measures(X[at[np.argsort(order)[:MOST_ROWS]]]))


def warning(likeness: Likeness, *, columns: bool) -> str:
    """Say that rows are unlike those of the fit, in a sentence: columns of a table, or embeddings."""
    made = (
        "columns in other units, or coded in another way"
        if columns
        else "embeddings made by another model, or by the same one in another way"
    )
    return (
        f"the inputs are unlike those that the model was fitted on, most of all in {likeness.measure} (the "
        f"distributions are {likeness.distance:.2f} apart, and chance alone puts them more than {likeness.allowed:.2f} "
        f"apart in at most 1 of 1,000 files): another population of rows looks like this, but so do {made}, and "
        "corrections from those are worse than none"
    )


def refusal(likeness: Likeness, name: str, *, columns: bool) -> str:
    """Say that no row is plausible, and what to do, in a sentence: columns of a table, or embeddings."""
    cause = (
        "The columns are probably in other units, or coded in another way; give them as they were in the fit"
        if columns
        else "They were probably made by another model; make them with the one that the fit's embeddings are from, in "
        "the same way, or fit again with `miscal discover` on embeddings of this one"
    )
    return (
        f"{name}: none of the {likeness.n:,} rows looked at is plausible as an input of this model: "
        f"{likeness.impossible}. {cause}"
    )
