"""Find columns that tell the outcome nearly perfectly, as only what is known after it does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

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
MOST_LEVELS = 200
"""Levels of a column whose values are compared with another's, row by row."""


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
    some = _looked_at(correct, confidence, seed)
    if some is None:
        return {}
    y = correct[some]
    found = {}
    for name in names:
        told = _told(column_of(frame, name)[some], name, y)
        if told is not None and (area := float(roc_auc_score(y, told))) >= LEAST_AUC:
            found[name] = area
    return found


def _looked_at(correct: np.ndarray, confidence: np.ndarray, seed: int) -> np.ndarray | None:
    """Choose the rows that are looked at; None where nothing can be said, or the confidence itself tells as much."""
    from sklearn.metrics import roc_auc_score

    some = np.random.default_rng((seed, MOST_ROWS)).permutation(len(correct))[:MOST_ROWS]
    y = correct[some]
    few = min(y.sum(), len(y) - y.sum()) < FOLDS
    return None if few or roc_auc_score(y, confidence[some]) >= GOOD_CONFIDENCE else some


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


def equal_pairs(
    frame: pl.DataFrame, names: Sequence[str], correct: np.ndarray, confidence: np.ndarray, seed: int
) -> dict[tuple[str, str], float]:
    """Find two columns whose equality tells the outcome nearly perfectly: the answer given, and the key.

    Parameters
    ----------
    frame : polars.DataFrame
    names : sequence of str
        Columns that may be such a pair: texts, or whole numbers, of up to 200 levels.
    correct : array of shape (n,), 0 or 1
        Of the rows that teach.
    confidence : array of shape (n,), in [0, 1]
    seed : int
        Of the rows that are looked at where there are more than 10,000.

    Returns
    -------
    dict of (str, str) to float
        Area under the ROC curve of each pair, in the order of the names; none where the confidence itself has 0.95 or
        more.

    Examples
    --------
    >>> y = np.arange(200) % 3 == 0
    >>> told = pl.DataFrame({"said": ["A", "B"] * 100, "key": [("A", "B")[(i + (i % 3 > 0)) % 2] for i in range(200)]})
    >>> equal_pairs(told, ["said", "key"], y.astype(float), np.full(200, 0.5), 0)
    {('said', 'key'): 1.0}
    """
    some = _looked_at(correct, confidence, seed)
    if some is None:
        return {}
    right, found = correct[some] > 0, {}
    for columns in (_texts(frame, names), _whole_numbers(frame, names)):
        for one, other in combinations(columns, 2):
            equal = (columns[one] == columns[other])[some]
            # of a yes or no, the mean of the shares that are told among right and among wrong answers
            area = float(equal[right].mean() + 1 - equal[~right].mean()) / 2
            if max(area, 1 - area) >= LEAST_AUC:
                found[one, other] = max(area, 1 - area)
    return found


def _texts(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of texts with levels, as codes that are equal where the texts are, int (n,) each."""
    kinds = (pl.String, pl.Categorical, pl.Enum)
    texts = {name: column_of(frame, name).cast(pl.String) for name in names if column_of(frame, name).dtype in kinds}
    texts = {name: series for name, series in texts.items() if 1 < series.n_unique() <= MOST_LEVELS}
    known = sorted({text for series in texts.values() for text in series.drop_nulls().unique().to_list()})
    codes = dict(zip(known, range(len(known)), strict=True))
    return {
        name: series.replace_strict(codes, default=-1, return_dtype=pl.Int64).fill_null(-1).to_numpy()
        for name, series in texts.items()
    }


def _whole_numbers(frame: pl.DataFrame, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Columns of few whole numbers, int (n,) each; those with blanks are left out."""
    series = {name: column_of(frame, name) for name in names}
    whole = {name: one for name, one in series.items() if one.dtype.is_integer() and one.null_count() == 0}
    return {name: one.to_numpy() for name, one in whole.items() if 1 < one.n_unique() <= MOST_LEVELS}
