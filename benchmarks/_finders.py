"""Ways to find groups in which the outcome is not what the confidence says: the ledger and what it is measured against.

Each returns segments, the strongest first: the rows of a group and the columns that its description names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from _judge import Judge, holm
from _ledger import Meaning, found_in, ledger_of
from _planted import Planted
from miscal.findings.ledger.document import NAMED

TERMS, LEVEL = 300, 0.05


def ledger(planted: Planted, judge: Judge, seed: int) -> list[Meaning]:
    """The ledger: named findings by their words, clusters by their rows and without columns."""
    nothing = Meaning(frozenset(["?"]), np.zeros(judge.n, bool))
    told = replace(planted.rows, metadata=planted.columns)
    written = ledger_of(planted.rows, seed)
    found = [(one, found_in(one, told, written.clusters) or nothing) for one in written.findings]
    return [meant if one.source == NAMED else Meaning(frozenset(), meant.rows) for one, meant in found]


def tree(planted: Planted, judge: Judge, seed: int) -> list[Meaning]:
    """Regression tree of the residual on half of the rows, its leaves chosen by five folds, tested on the others."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeRegressor

    X, names = _matrix(planted)
    half = np.random.default_rng((seed, 82)).random(judge.n) < 0.5
    least = max(20, int(0.01 * half.sum()))
    grid = {"max_leaf_nodes": [2, 3, 4, 6, 8, 12, 16, 24, 32]}
    search = GridSearchCV(DecisionTreeRegressor(min_samples_leaf=least, random_state=seed), grid, cv=5)
    grown = search.fit(X[half], planted.rows.correct[half] - judge.expected[half]).best_estimator_
    leaf = grown.apply(X)
    other = Judge(planted.rows.correct[~half], planted.rows.confidence[~half], seed)
    numbers = np.unique(leaf)
    p = np.array([other.p_value(leaf[~half] == one) for one in numbers])
    kept = [numbers[i] for i in np.argsort(p) if holm(p, LEVEL)[i]]
    paths = grown.decision_path(X).tocsr()
    feature = grown.tree_.feature
    return [
        Meaning(frozenset(names[f] for f in feature[paths[int(np.argmax(leaf == one))].indices] if f >= 0), leaf == one)
        for one in kept
    ]


def kmeans(planted: Planted, judge: Judge, seed: int) -> list[Meaning]:
    """k-means slices of the standardised columns or the embedded texts, k by silhouette; Holm over slices."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    X = planted.rows.X if planted.rows.text is not None else np.nan_to_num(_standard(_matrix(planted)[0]))
    fits = [KMeans(k, n_init=3, random_state=seed).fit_predict(X) for k in (5, 10, 20, 40)]
    some = np.random.default_rng((seed, 83)).permutation(len(X))[:2_000]
    labels = max(fits, key=lambda one: silhouette_score(X[some], one[some]))
    slices = [labels == one for one in np.unique(labels)]
    p = np.array([judge.p_value(rows) for rows in slices])
    return [Meaning(frozenset(), slices[i]) for i in np.argsort(p) if holm(p, LEVEL)[i]]


FINDERS: dict[str, Callable[[Planted, Judge, int], list[Meaning]]] = {"ledger": ledger, "tree": tree, "kmeans": kmeans}


def _columns(planted: Planted) -> dict[str, np.ndarray]:
    """What a table's method may name; of texts, whether they hold each of the 300 commonest terms."""
    if planted.rows.text is None:
        return planted.columns
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(binary=True, stop_words="english", max_df=0.5, min_df=0.005, max_features=TERMS)
    member = counter.fit_transform(planted.rows.text).toarray()
    return {f"has {t}": np.where(c, "yes", "no").astype(object)
            for t, c in zip(counter.get_feature_names_out(), member.T, strict=True)}  # fmt: skip


def _matrix(planted: Planted) -> tuple[np.ndarray, list[str]]:
    """Numbers and dates as they are, NaN where missing; one column for each other value. And the column of each."""
    blocks, names = [], []
    for name, values in _columns(planted).items():
        if values.dtype.kind == "O":
            cells = sorted({v for v in values if v is not None} - {"no"})
            blocks += [values == v for v in cells]
            names += [name] * len(cells)
            continue
        numbers = values.astype("datetime64[s]").astype(float) if values.dtype.kind == "M" else values
        blocks.append(numbers)
        names.append(name)
    return np.column_stack(blocks).astype(np.float64), names


def _standard(X: np.ndarray) -> np.ndarray:
    spread = np.nanstd(X, 0)
    return (X - np.nanmean(X, 0)) / np.where(spread > 0, spread, 1.0)
