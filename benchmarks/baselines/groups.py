"""Groups that multicalibration is asked for: all rows, clusters of the inputs, and values of metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from baselines.protocol import Metadata
from baselines.views import InputView, fit_view

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

MIN_VALUE_ROWS = 20
"""Values of metadata with fewer rows are no group."""

Values = list[tuple[str, NDArray]]
"""Names of columns, with the values that are groups."""
Labels = list[NDArray[np.int64]]
"""For each family of disjoint groups, the group of each row; -1 is none."""


@dataclass(frozen=True)
class Groups:
    """Families of groups, learned from some rows and found again in others.

    Attributes
    ----------
    view : InputView or None
        What is clustered; None without clusters.
    clusters : KMeans or None
    values : list of (str, ndarray)
        Columns of metadata with their values.
    """

    view: InputView | None
    clusters: KMeans | None
    values: Values

    @classmethod
    def fit(cls, X: NDArray, components: int | None, k: int, values: Values, seed: int) -> Groups | None:
        """Cluster the inputs; None where fewer than 2 k of them differ."""
        from sklearn.cluster import KMeans

        view = fit_view(X, components)
        place = view(X)
        if not place.shape[1] or len(np.unique(place, axis=0)) < 2 * k:
            return None
        return cls(view, KMeans(k, n_init=1, random_state=seed).fit(place), values)

    @property
    def sizes(self) -> list[int]:
        """Number of groups of each family."""
        clusters = [] if self.clusters is None else [self.clusters.n_clusters]
        return [1, *clusters, *(len(values) for _, values in self.values)]

    def of(self, X: NDArray, metadata: Metadata) -> Labels:
        """Find the groups of rows: all, their cluster, and their value in each column.

        Examples
        --------
        >>> everything, value = Groups(None, None, [("topic", np.array(["a"]))]).of(
        ...     np.zeros((2, 1)), {"topic": np.array(["a", "b"])}
        ... )
        >>> everything.tolist(), value.tolist()
        ([0, 0], [0, -1])
        """
        labels = [np.zeros(len(X), np.int64)]
        if self.view is not None and self.clusters is not None:
            labels.append(self.clusters.predict(self.view(X)).astype(np.int64))
        return labels + [_codes(metadata.get(name), values, len(X)) for name, values in self.values]


def groupings(
    X: NDArray, metadata: Metadata, seed: int, views: Sequence[int | None], n_clusters: Sequence[int]
) -> dict[tuple[int | None, int], Groups]:
    """Cluster the inputs in several ways; one entry without clusters where the inputs are too much alike.

    Returns
    -------
    dict
        By components and number of clusters.
    """
    values = group_values(metadata)
    found = {(c, k): Groups.fit(X, c, k, values, seed) for c in views for k in n_clusters}
    return {key: groups for key, groups in found.items() if groups} or {(None, 1): Groups(None, None, values)}


def take(labels: Labels, rows: NDArray) -> Labels:
    """Labels of some rows."""
    return [label[rows] for label in labels]


def group_values(metadata: Metadata) -> Values:
    """Values of each column that have rows enough to be a group, sorted.

    Examples
    --------
    >>> [(name, values.tolist()) for name, values in group_values({"topic": np.repeat(["a", "b"], [20, 3])})]
    [('topic', ['a'])]
    """
    found = []
    for name, column in metadata.items():
        values, counts = np.unique(np.asarray(column).astype(str), return_counts=True)
        if (counts >= MIN_VALUE_ROWS).any():
            found.append((name, values[counts >= MIN_VALUE_ROWS]))
    return found


def _codes(column, values: NDArray, n: int) -> NDArray[np.int64]:
    """Position of each row's value among the values; -1 where it is none of them."""
    if column is None:
        return np.full(n, -1)
    column = np.asarray(column).astype(str)
    at = np.minimum(np.searchsorted(values, column), len(values) - 1)
    return np.where(values[at] == column, at, -1).astype(np.int64)
