"""Boosted trees on the offset: interactions and edges that smooth kernels miss."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from miscal.base.errors import InternalError
from miscal.estimators.auto.inputs import ScoreInputs
from miscal.estimators.auto.member import CrossFitted, Family, LearningRows, Query, State
from miscal.estimators.auto.ridge import negative_log_likelihood
from miscal.estimators.auto.settings import AUTO

# shallow trees, slow steps, half the columns and two thirds of the rows at a time: the usual choice for a weak signal;
# set by hand
_LIGHTGBM = {
    "objective": "binary",
    "learning_rate": 0.05,
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
    "force_row_wise": True,
    "num_threads": 1,
    "verbose": -1,
}


def tree_columns(inputs: ScoreInputs) -> NDArray[np.float32]:
    """Columns the trees may split: inputs (their leading components where there are many), logit of the confidence.

    Parameters
    ----------
    inputs : ScoreInputs

    Returns
    -------
    ndarray of shape (n, q + 1), float32
    """
    place = inputs.components if inputs.x.shape[1] > inputs.components.shape[1] else inputs.x
    return np.concatenate([place, inputs.level[:, None]], 1)


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees of depth 3, completed: a leaf further up stands for all leaves below it.

    Attributes
    ----------
    feature : ndarray of shape (7 T,), int
        Column of each split: the first of every tree, the two below them, the four below those.
    threshold : ndarray of shape (7 T,), float32
        Rows at most so large go left.
    value : ndarray of shape (T, 8), float64
        Of the leaves, from left to right.
    """

    feature: NDArray[np.intp]
    threshold: NDArray[np.float32]
    value: NDArray[np.float64]

    @classmethod
    def of(cls, text: str) -> Self:
        """Read LightGBM's text form."""
        trees = [_complete(dict(line.split("=", 1) for line in part.splitlines() if "=" in line))
                 for part in re.split(r"^Tree=", text.split("\nend of trees")[0], flags=re.M)[1:]]  # fmt: skip
        feature, threshold, value = (np.array(values) for values in zip(*trees, strict=True))
        by_level = [feature[:, part].ravel() for part in _LEVELS], [threshold[:, part].ravel() for part in _LEVELS]
        return cls(np.concatenate(by_level[0]).astype(np.intp), _rounded_down(np.concatenate(by_level[1])), value)

    def __call__(self, columns: NDArray[np.float32]) -> NDArray[np.float64]:
        """Sum the leaves that rows of columns (n, q) fall into, (n,)."""
        n, m = len(columns), len(self.value)
        left = columns[:, self.feature] <= self.threshold
        one, two = left[:, :m], left[:, m : 3 * m].reshape(n, m, 2)
        three = left[:, 3 * m :].reshape(n, m, 4)
        two = np.where(one, two[:, :, 0], two[:, :, 1])
        # of the four last splits, the one that the first two lead to
        three = np.where(
            one,
            np.where(two, three[:, :, 0], three[:, :, 1]),
            np.where(two, three[:, :, 2], three[:, :, 3]),
        )
        leaf = (~one).astype(np.intp) * 4 + (~two) * 2 + (~three)
        return self.value.ravel()[leaf + 8 * np.arange(m)].sum(1)


_LEVELS = (slice(0, 1), slice(1, 3), slice(3, 7))


def _complete(tree: dict[str, str]) -> tuple[list[int], list[float], list[float]]:
    """Features and thresholds of seven splits and values of eight leaves, of a tree as LightGBM writes it."""

    def numbers(name: str, kind: type) -> list:
        return [kind(word) for word in tree.get(name, "").split()]

    features, thresholds, leaves = (
        numbers("split_feature", int),
        numbers("threshold", float),
        numbers("leaf_value", float),
    )
    children = numbers("left_child", int), numbers("right_child", int)
    # a node is the number of a split, or -1 less that of a leaf; a tree without a split is a leaf
    level, feature, threshold = [0 if features else -1], [], []
    for _ in _LEVELS:
        feature += [features[node] if node >= 0 else 0 for node in level]
        threshold += [thresholds[node] if node >= 0 else np.inf for node in level]
        level = [side[node] if node >= 0 else node for node in level for side in children]
    if any(node >= 0 for node in level):
        raise InternalError("a boosted tree is deeper than its settings allow")
    return feature, threshold, [leaves[-1 - node] for node in level]


def _rounded_down(threshold: NDArray[np.float64]) -> NDArray[np.float32]:
    """Round to the largest single-precision numbers that are not larger: they part such numbers alike."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


@dataclass(frozen=True)
class TreeMember:
    """A fitted boosted score, kept as LightGBM's text form (no pickle).

    Attributes
    ----------
    text : str
    """

    kind: ClassVar[str] = "trees"

    text: str

    def shift(self, at: Query) -> NDArray[np.float64]:
        """Logit shift of rows over the offset, (n,); positive raises the confidence."""
        return self.forest(tree_columns(at.inputs))

    @cached_property
    def forest(self) -> Forest:
        """The trees as arrays: LightGBM's predictor, for so few leaves no faster, takes a second to import."""
        return Forest.of(self.text)

    def state(self) -> State:
        """Return the text as bytes."""
        return {}, {"text": np.frombuffer(self.text.encode(), np.uint8)}

    @classmethod
    def from_state(cls, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Self:
        """Rebuild from `state`."""
        return cls(arrays["text"].tobytes().decode())


@dataclass(frozen=True)
class TreeRecipe:
    """Trees boosted on the offset, their number chosen by out-of-fold log loss."""

    name: str = "boosted trees"

    def crossfit(self, rows: LearningRows) -> CrossFitted:
        """Boost out of fold, and on all rows."""
        columns, stops = tree_columns(rows.at.inputs), AUTO.tree_rounds
        shifts = np.zeros((len(rows), len(stops)))
        for k in np.unique(rows.folds):
            inside = np.flatnonzero(rows.folds == k)
            booster = _boost(rows, columns, np.flatnonzero(rows.folds != k), stops[-1])
            # one booster serves every number of rounds: its first rounds are those of a shorter fit
            for j, rounds in enumerate(stops):
                shifts[inside, j] = booster.predict(
                    columns[inside], raw_score=True, num_iteration=rounds, num_threads=1
                )
        losses = negative_log_likelihood(rows.correct, rows.at.offset[:, None] + shifts)
        best = int(np.average(losses, axis=0, weights=rows.weight).argmin())
        final = _boost(rows, columns, np.arange(len(rows)), stops[best])
        return CrossFitted(TreeMember(final.model_to_string()), shifts[:, best], {"rounds": stops[best]})


def _boost(rows: LearningRows, columns: NDArray[np.float32], some: NDArray[np.integer], rounds: int):
    import lightgbm

    leaf = int(np.clip(len(rows) // AUTO.leaf_share, *AUTO.leaf_rows))
    settings = {**_LIGHTGBM, "seed": rows.seed, "min_data_in_leaf": leaf}
    data = lightgbm.Dataset(
        columns[some], rows.correct[some], weight=rows.weight_of(some), init_score=rows.at.offset[some]
    )
    return lightgbm.train(settings, data, rounds)


def recipes(rows: LearningRows) -> tuple[TreeRecipe, ...]:
    """Trees, where there are enough rows for them."""
    return (TreeRecipe(),) if len(rows) >= AUTO.least_tree_rows else ()


FAMILY = Family(TreeMember, recipes)
