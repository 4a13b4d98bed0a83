"""Boosted trees on the offset: interactions and edges that smooth kernels miss."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.process import without_warning
from miscal.estimators.auto.inputs import ScoreInputs
from miscal.estimators.auto.levels import LevelStatistics, level_columns
from miscal.estimators.auto.member import (
    BestOfPath,
    CrossFitted,
    Fit,
    LearningRows,
    Member,
    Query,
    negative_log_likelihood,
)
from miscal.estimators.auto.settings import AUTO

if TYPE_CHECKING:
    from lightgbm import Dataset

# shallow trees of half the columns and most rows at a time: the usual choice for a weak signal; set by hand
_LIGHTGBM = {
    "objective": "binary",
    "num_leaves": 8,
    "max_depth": 3,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    # the offset is the start: raw scores are to be shifts over it, without an average of LightGBM's own
    "boost_from_average": False,
    # these three together give the same trees on any number of cores
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


# columns of a table are few and each may matter: a tree that sees half of them misses what two say together
_OF_COLUMNS = {"feature_fraction": 1.0}

ALL, TABLE, NUMBERS = "all", "table", "numbers"
"""What trees may see: all inputs, the columns of a table alone, or its columns beside an embedding alone."""


def tree_columns(inputs: ScoreInputs, of: str = ALL) -> NDArray[np.float32]:
    """Columns the trees may split, but for the levels of columns.

    These are the inputs (their leading components where there are many), the logit of the confidence, and the numbers
    of a table beside an embedding; or the confidence with the columns of the table alone.

    Returns ndarray of shape (n, q + 1 + m), float32.
    """
    place = inputs.components if of == ALL and inputs.x.shape[1] > inputs.components.shape[1] else inputs.x
    return np.concatenate([place[:, : 0 if of == NUMBERS else None], inputs.level[:, None], inputs.numbers], 1)


MOST_LEAVES = 8
"""Of a tree: a byte has a bit for each."""

_SPLITS = MOST_LEAVES - 1

_LOWEST = np.array([max((bits & -bits).bit_length() - 1, 0) for bits in range(1 << MOST_LEAVES)], dtype=np.intp)
"""Place of the lowest bit that is set, by the byte."""

_VALUES = 1 << 19
"""Rows times trees that are looked at in one go: arrays of a few MB."""


@dataclass(frozen=True, eq=False)
class ShallowTrees:
    """Boosted trees of at most eight leaves as arrays: T trees, those of each class K places apart.

    A row's leaf is found without walking down the tree (Lucchese et al., QuickScorer, SIGIR 2015): every split that
    sends the row to the right strikes out the leaves on its left, and of the leaves that remain the leftmost is it.

    Attributes
    ----------
    n_classes : int
    feature : (T, 7) int64
        Column of each split.
    threshold : (T, 7) float64
        Rows at most so large go left; infinite of splits that a tree does not have.
    remaining : (T, 7) uint8
        Leaves that are not to the left of the split: a bit for each, that of the leftmost leaf the lowest.
    value : (T, 8) float64
        Of the leaves from left to right.
    """

    n_classes: int
    feature: NDArray[np.int64]
    threshold: NDArray[np.float64]
    remaining: NDArray[np.uint8]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, text: str, n_classes: int = 1) -> Self:
        """Read LightGBM's text form; an empty text is no tree."""
        trees = [_arrays(tree) for tree in _written_trees(text)]
        shape = ((-1, _SPLITS), (-1, _SPLITS), (-1, _SPLITS), (-1, MOST_LEAVES))
        types = (np.int64, np.float64, np.uint8, np.float64)
        parts = zip(*trees, strict=True) if trees else ((),) * 4
        return cls(n_classes, *(np.array(one, t).reshape(s) for one, t, s in zip(parts, types, shape, strict=True)))

    def __call__(self, columns: NDArray[np.floating]) -> NDArray[np.float64]:
        """Sum the leaves that rows of columns (n, q) fall into, (n, K)."""
        found = np.zeros((len(columns), self.n_classes))
        trees = len(self.value) // self.n_classes
        step = max(_VALUES // max(trees, 1), 1)
        for start in range(0, len(columns) if trees else 0, step):
            some = np.ascontiguousarray(columns[start : start + step].T, dtype=np.float64)
            for k in range(self.n_classes):
                found[start : start + step, k] = self._sums(some, slice(k, None, self.n_classes))
        return found

    def _sums(self, columns: NDArray[np.float64], trees: slice) -> NDArray[np.float64]:
        """Sum the leaves of some trees that rows fall into, from columns (d, n)."""
        feature, threshold, remaining, value = (
            one[trees] for one in (self.feature, self.threshold, self.remaining, self.value)
        )
        left = np.full((len(value), columns.shape[1]), (1 << MOST_LEAVES) - 1, np.uint8)
        for split in range(_SPLITS):
            goes_left = columns[feature[:, split]] <= threshold[:, split, None]
            left &= np.where(goes_left, np.uint8((1 << MOST_LEAVES) - 1), remaining[:, split, None])
        return np.take_along_axis(value, _LOWEST[left], axis=1).sum(axis=0)


_WRITTEN = {"split_feature": int, "threshold": float, "left_child": int, "right_child": int, "leaf_value": float}


def _written_trees(text: str) -> list[dict[str, list]]:
    """Return what each tree of LightGBM's text form consists of, by LightGBM's own names."""
    parts = re.split(r"^Tree=", text.split("\nend of trees")[0], flags=re.M)[1:]
    trees = [dict(line.split("=", 1) for line in part.splitlines() if "=" in line) for part in parts]
    return [{name: [*map(kind, tree.get(name, "").split())] for name, kind in _WRITTEN.items()} for tree in trees]


def _arrays(tree: dict[str, list]) -> tuple[list[int], list[float], list[int], list[float]]:
    """Return splits and leaves of a tree as LightGBM writes it."""
    feature, threshold = tree["split_feature"], tree["threshold"]
    children = list(zip(tree["left_child"], tree["right_child"], strict=True))
    leaves, remaining = tree["leaf_value"], [0] * len(children)
    order: list[int] = []

    def walk(node: int) -> None:
        # a node is the number of a split, or -1 less that of a leaf
        if node < 0:
            order.append(-1 - node)
            return
        before = len(order)
        walk(children[node][0])
        struck = (1 << len(order)) - (1 << before)
        remaining[node] = (1 << MOST_LEAVES) - 1 - struck
        walk(children[node][1])

    walk(0 if children else -1)
    absent = _SPLITS - len(children)
    return (
        feature + [0] * absent,
        threshold + [np.inf] * absent,
        remaining + [0] * absent,
        [leaves[leaf] for leaf in order] + [0.0] * (MOST_LEAVES - len(order)),
    )


@dataclass(frozen=True)
class TreeMember(Member):
    """A fitted boosted score: LightGBM's predictor, for so few leaves no faster, takes a second to import.

    Attributes
    ----------
    trees : ShallowTrees
    levels : tuple of ndarray of shape (size,), float64
        What stands for each level of the columns that have levels.
    of : {"all", "table", "numbers"}
        The inputs that it sees.
    from_raw : bool
        Whether it starts from the log-odds of the confidence itself, not from those of the global map.
    """

    trees: ShallowTrees
    levels: tuple[NDArray[np.float64], ...] = ()
    of: str = ALL
    from_raw: bool = False

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        shift = self.trees(_with_levels(tree_columns(at.inputs, self.of), self.levels, at.inputs.codes))[:, 0]
        return shift + at.start(self.from_raw) - at.offset


def crossfit_trees(rows: LearningRows, of: str = ALL, *, from_raw: bool = False) -> CrossFitted:
    """Boost trees out of fold, their number chosen by the log loss, and on all rows.

    Takes of: what they see; from_raw: whether they start from the confidence itself, not from the global map.
    """
    fold, start = np.unique(rows.folds, return_inverse=True)[1], rows.at.start(from_raw)
    leaf = int(np.clip(len(rows) // AUTO.leaf_share, *AUTO.leaf_rows))
    fast = int(of == ALL and len(rows) >= AUTO.fast_tree_rows)
    settings = {**_LIGHTGBM, "learning_rate": AUTO.tree_rates[fast], "seed": rows.seed, "min_data_in_leaf": leaf}
    settings |= {} if of == ALL else _OF_COLUMNS
    seen = _Columns(rows, fold, start, tree_columns(rows.at.inputs, of), settings)
    folds = [fold == k for k in range(fold.max() + 1)]
    boosters = [_Boosting(settings, seen.learned(k), np.flatnonzero(~inside)) for k, inside in enumerate(folds)]
    told = [seen.left_out(k)[inside] for k, inside in enumerate(folds)]
    path, shift = BestOfPath(), np.zeros(len(rows))
    for rounds in AUTO.tree_rounds[fast]:
        for inside, booster, columns in zip(folds, boosters, told, strict=True):
            shift[inside] += booster.grow(rounds, columns)
        loss = np.average(negative_log_likelihood(rows.correct, start + shift), weights=rows.weight)
        if path.ends(float(loss), (rounds, shift.copy())):
            break
    rounds, shift = path.best
    final = _Boosting(settings, seen.learned(), np.arange(len(rows)))
    final.grow(rounds, told[0][:0])
    member = TreeMember(ShallowTrees.of(final.booster.model_to_string()), seen.levels, of, from_raw)
    return CrossFitted(member, start - rows.at.offset + shift, {"rounds": rounds})


class _Columns:
    """Columns of the rows learned from: what stands for a level is never told by the row's own fold."""

    def __init__(
        self,
        rows: LearningRows,
        fold: NDArray[np.integer],
        start: NDArray[np.floating],
        plain: NDArray[np.float32],
        settings: dict[str, Any],
    ) -> None:
        self._rows, self._fold, self._start, self._plain, self._settings = rows, fold, start, plain, settings
        self._statistics = LevelStatistics.of(rows, fold, start) if rows.at.inputs.codes.shape[1] else None
        # columns without levels hold no outcomes, and are cut into bins once for all folds
        self._binned = self._cut(plain)

    def _cut(self, columns: NDArray[np.float32]) -> Dataset:
        """Cut columns into bins."""
        import lightgbm

        known = {"weight": self._rows.weight, "init_score": self._start, "params": self._settings}
        return lightgbm.Dataset(columns, self._rows.correct, **known).construct()

    def learned(self, left_out: int | None = None) -> Dataset:
        """Rows to boost on while a fold is left out: each row's levels are told by neither that fold nor its own."""
        if self._statistics is None:
            return self._binned
        codes = self._rows.at.inputs.codes
        levels = np.empty(codes.shape, np.float32)
        for k in range(self._fold.max() + 1):
            inside = self._fold == k
            without = self._statistics.without(*{k, k if left_out is None else left_out})
            levels[inside] = level_columns(without, codes[inside])
        # the trees are those of all columns binned together
        both = self._binned.subset(np.arange(self._binned.num_data())).construct()
        # it says that the numbers themselves are not kept, which nothing asks for
        with without_warning(UserWarning):
            return both.add_features_from(self._cut(levels))

    def left_out(self, fold: int) -> NDArray[np.float32]:
        """Rows as a fit without a fold sees new ones."""
        levels = () if self._statistics is None else self._statistics.without(fold)
        return _with_levels(self._plain, levels, self._rows.at.inputs.codes)

    @property
    def levels(self) -> tuple[NDArray[np.float64], ...]:
        """What stands for each level in new rows."""
        return () if self._statistics is None else tuple(self._statistics.without())


def _with_levels(
    columns: NDArray[np.float32], levels: Sequence[NDArray[np.float64]], codes: NDArray[np.integer]
) -> NDArray[np.float32]:
    return np.concatenate([columns, level_columns(levels, codes)], 1) if levels else columns


class _Boosting:
    """Trees on some rows, grown a few rounds at a time."""

    def __init__(self, settings: dict[str, Any], data: Dataset, some: NDArray[np.integer]) -> None:
        import lightgbm

        own = data if len(some) == data.num_data() else data.subset(some)
        self.booster, self._rounds = lightgbm.Booster(settings, own), 0

    def grow(self, rounds: int, columns: NDArray[np.float32]) -> NDArray[np.float64]:
        """Boost on to a number of rounds, and tell what the new ones add to the shift of rows."""
        before, self._rounds = self._rounds, rounds
        for _ in range(before, rounds):
            self.booster.update()
        if not len(columns):
            return np.zeros(0)
        return self.booster.predict(
            columns, raw_score=True, start_iteration=before, num_iteration=rounds - before, num_threads=1
        )


def scores(rows: LearningRows) -> dict[str, Fit]:
    """Trees, where there are enough rows for them; and trees of a table's columns, where any has levels.

    Beside an embedding, whose components say little once the columns are known, the latter do without it. They start
    from the confidence itself: the other trees start from the global map, and a stack gains by scores that err
    differently. In a long table, of which both would see the same columns, the latter alone leave the log loss as it
    is (`benchmarks/notes/answered.md`, flights and census).
    """
    if len(rows) < AUTO.least_tree_rows:
        return {}
    of_columns = partial(crossfit_trees, of=TABLE if rows.table else NUMBERS, from_raw=True)
    beside: dict[str, Fit] = {"boosted trees of columns": of_columns} if rows.at.inputs.codes.shape[1] else {}
    return beside if rows.long_table else {"boosted trees": crossfit_trees, **beside}
