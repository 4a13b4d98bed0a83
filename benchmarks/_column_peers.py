"""What a careful user fits to the columns of a table otherwise: LightGBM and MCGrad, with categories as categories.

Both start from the confidence or an isotonic map of it, may see leading components of an embedding beside the columns,
and take the settings with the lowest log loss on a fifth of the rows to learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from baselines.choosing import BASES, base_offset, best, fit_base
from baselines.methods.mcgrad import LEAF_ROWS
from baselines.methods.trees import FRACTIONS, LEARNING, LEAVES, ROUNDS
from baselines.views import fit_view
from miscal.calibration.calibrators import LOGIT_CLIP, logit
from miscal.calibration.metrics.scores import log_losses

HELD_OUT = 0.2
VIEWS = (32, 64)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows as peers take them.

    Attributes
    ----------
    columns : dict of str to array of shape (n,)
        Numbers with NaN where blank, dates, and objects with None where blank.
    confidence, correct : ndarray of shape (n,)
    embedding : ndarray of shape (n, d), optional
    """

    columns: Mapping[str, NDArray]
    confidence: NDArray
    correct: NDArray
    embedding: NDArray | None = None
    numbers: dict[str, NDArray] = field(init=False)
    categories: dict[str, NDArray] = field(init=False)

    def __post_init__(self) -> None:
        numbers, categories = {}, {}
        for name, values in self.columns.items():
            if values.dtype.kind == "M":
                numbers[name] = np.where(np.isnat(values), np.nan, values.astype(np.int64))
            elif values.dtype == object:
                categories[name] = np.array(["" if one is None else str(one) for one in values])
            else:
                numbers[name] = values.astype(np.float64)
        object.__setattr__(self, "numbers", numbers)
        object.__setattr__(self, "categories", categories)


Told = Callable[[NDArray], NDArray]


def lightgbm(table: Table, learned: NDArray, judged: NDArray, seed: int) -> NDArray:
    """Corrected confidences of the rows judged, by isotonic regression (or none) and boosted trees."""
    fit, score = _parts(learned, seed)
    fold = np.random.default_rng((seed, 11)).integers(5, size=len(table.correct))
    tried = []
    for view, base, leaves, share in product(_views(table), BASES, LEAVES, FRACTIONS):
        shape = {"num_leaves": leaves, "feature_fraction": share}
        told = _boosted(table, fit, fold, view, base, shape, ROUNDS[-1], seed)
        for rounds in ROUNDS:
            loss = log_losses(table.correct[score], told(score, rounds)).sum()
            tried.append(({"view": view, "base": base, "shape": shape, "rounds": rounds}, loss))
    chosen, _ = best(tried)
    told = _boosted(table, learned, fold, chosen["view"], chosen["base"], chosen["shape"], chosen["rounds"], seed)
    return told(judged, chosen["rounds"])


def mcgrad(table: Table, learned: NDArray, judged: NDArray, seed: int) -> NDArray:
    """Corrected confidences of the rows judged, by MCGrad; the number of rounds is its own choice."""
    fit, score = _parts(learned, seed)
    tried = []
    for view, base, leaf in product(_views(table), BASES, LEAF_ROWS):
        told = _multicalibrated(table, fit, view, base, leaf, seed)
        tried.append(({"view": view, "base": base, "leaf": leaf}, log_losses(table.correct[score], told(score)).sum()))
    chosen, _ = best(tried)
    return _multicalibrated(table, learned, chosen["view"], chosen["base"], chosen["leaf"], seed)(judged)


def _parts(learned: NDArray, seed: int) -> tuple[NDArray, NDArray]:
    held = np.random.default_rng((seed, 12)).random(len(learned)) < HELD_OUT
    return learned[~held], learned[held]


def _views(table: Table) -> tuple[int | None, ...]:
    return (None,) if table.embedding is None else VIEWS


def _components(table: Table, rows: NDArray, view: int | None) -> NDArray:
    if view is None:
        return np.zeros((len(table.correct), 0))
    return fit_view(table.embedding[rows], view)(table.embedding)


def _boosted(
    table: Table, rows: NDArray, fold: NDArray, view: int | None, base: str, shape: dict, rounds: int, seed: int
) -> Callable[[NDArray, int], NDArray]:
    import lightgbm

    y, f = table.correct, table.confidence
    codes = [np.unique(values, return_inverse=True)[1] for values in table.categories.values()]
    X = np.column_stack([*codes, *table.numbers.values(), _components(table, rows, view), logit(f)])
    least = int(np.clip(len(rows) // 100, 5, 30))
    settings = {**LEARNING, **shape, "seed": seed, "min_data_in_leaf": least}
    offset = base_offset(base, y[rows], f[rows], fold[rows])
    data = lightgbm.Dataset(
        X[rows], y[rows], init_score=offset, categorical_feature=list(range(len(codes))), params=settings
    )
    model, start = lightgbm.train(settings, data, rounds), logit(fit_base(base, y[rows], f[rows]).apply(f))
    return lambda some, upto: expit(start[some] + model.predict(X[some], raw_score=True, num_iteration=upto))


def _multicalibrated(table: Table, rows: NDArray, view: int | None, base: str, leaf: int, seed: int) -> Told:
    import logging

    import pandas
    from mcgrad import methods

    logging.getLogger("mcgrad").setLevel(logging.ERROR)
    place = _components(table, rows, view)
    numbers = table.numbers | {f"component_{j}": place[:, j] for j in range(place.shape[1])}
    base_map = fit_base(base, table.correct[rows], table.confidence[rows])
    frame = pandas.DataFrame(table.categories | numbers | {"confidence": table.confidence})
    frame["score"] = np.clip(base_map.apply(table.confidence), LOGIT_CLIP, 1 - LOGIT_CLIP)
    frame["outcome"] = table.correct.astype(int)
    names = {
        "categorical_feature_column_names": list(table.categories),
        "numerical_feature_column_names": [*numbers, "confidence"],
    }
    model = methods.MCGrad(lightgbm_params={"min_child_samples": leaf, "num_threads": 1}, random_state=seed)
    model.fit(frame.iloc[rows], "score", "outcome", **names)
    return lambda some: np.asarray(model.predict(frame.iloc[some], "score", **names), np.float64)
