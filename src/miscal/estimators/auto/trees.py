"""Boosted trees on the offset: interactions and edges that smooth kernels miss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

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
        import lightgbm

        booster = lightgbm.Booster(model_str=self.text)
        # LightGBM's predictions leave out init_score, so the raw score is the shift alone
        return booster.predict(tree_columns(at.inputs), raw_score=True, num_threads=1)

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
