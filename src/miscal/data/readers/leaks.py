"""Find columns that tell the outcome nearly perfectly, as only what is known after it does."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from miscal.base.arrays import column_of
from miscal.base.precision import LARGEST_SINGLE
from miscal.data.encoders.kinds import CategoryColumn, kind_of

LEAST_AUC = 0.98
"""Area under the ROC curve from which a single column tells too much."""
LEAST_FITTED = 0.95
"""Area that a leak has at least among the rows that it is learned from; lower than needed, to be on the safe side."""
GOOD_CONFIDENCE = 0.95
"""Of a confidence that ranks outcomes as well as this, a column may do so for a good reason."""
MOST_ROWS = 10_000
FOLDS = 5


def leaks(
    frame: pl.DataFrame, names: Sequence[str], correct: np.ndarray, confidence: np.ndarray, seed: int
) -> dict[str, float]:
    """Find the columns by which alone outcomes can be ranked nearly perfectly.

    Each column is asked by itself, out of fold: numbers and dates by a tree of depth 3, categories by the rates of
    their levels. Outcomes that no column tells reach such an area in no table of a hundred rows.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
        Columns that may be leaks.
    correct : array of shape (n,), 0 or 1
        Of the rows that teach.
    confidence : array of shape (n,), in [0, 1]
    seed : int
        Of the folds, and of the rows that are looked at where there are more than 10,000.

    Returns
    -------
    dict of str to float
        Area under the ROC curve of each leak; none where the confidence itself has 0.95 or more.

    Examples
    --------
    >>> y = np.arange(200) % 2
    >>> table = pl.DataFrame({"minutes late": 20.0 * y + np.arange(200) % 7, "hour": np.arange(200) % 24})
    >>> list(leaks(table, table.columns, y, np.full(200, 0.5), 0))
    ['minutes late']
    """
    from sklearn.metrics import roc_auc_score

    if not names:
        return {}
    some = np.random.default_rng((seed, MOST_ROWS)).permutation(len(correct))[:MOST_ROWS]
    y = correct[some]
    if min(y.sum(), len(y) - y.sum()) < FOLDS or roc_auc_score(y, confidence[some]) >= GOOD_CONFIDENCE:
        return {}
    found = {}
    for name in names:
        told = _told(column_of(frame, name)[some], name, y)
        if told is not None and (area := float(roc_auc_score(y, told))) >= LEAST_AUC:
            found[name] = area
    return found


def _told(series: pl.Series, name: str, y: np.ndarray) -> np.ndarray | None:
    """Rates of the outcome that a column tells by itself, each from other folds, (n,)."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.tree import DecisionTreeClassifier

    kind = kind_of(series)
    if kind is None or kind.type == "list":
        return None
    column = kind.fit(series, name)
    folds = StratifiedKFold(FOLDS)
    if isinstance(column, CategoryColumn):
        return _rates(column.codes(series)[:, 0], y, folds.split(y, y))
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5, random_state=0)
    # trees of scikit-learn compare in single precision, beyond whose range nothing is told apart
    numbers = np.clip(column.numbers(series), -LARGEST_SINGLE, LARGEST_SINGLE)
    # one fit instead of five for nearly every column: what is not told of the rows learned from is not told of others
    if roc_auc_score(y, tree.fit(numbers, y).predict_proba(numbers)[:, 1]) < LEAST_FITTED:
        return None
    return cross_val_predict(tree, numbers, y, cv=folds, method="predict_proba")[:, 1]


def _rates(codes: np.ndarray, y: np.ndarray, folds) -> np.ndarray:
    told = np.empty(len(y))
    for learned, asked in folds:
        size, base = codes.max() + 1, y[learned].mean()
        count, right = (np.bincount(codes[learned], values, size) for values in (None, y[learned]))
        # one row at the average rate, so that a level of few rows says little
        told[asked] = ((right + base) / (count + 1))[codes[asked]]
    return told
