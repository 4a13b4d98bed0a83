"""Models side by side: means over the questions that they share, and what each question adds to their errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from miscal.study.pairs_together import ModelRows

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_COMMON = 0.5
"""Least share of each model's rows whose questions all have answered, from which only these are compared."""


@dataclass(frozen=True, eq=False)
class PairedModels:
    """The rows of several models that are compared.

    Attributes
    ----------
    models : sequence of ModelRows
    at : tuple of int64 array
        Rows of each model that are compared.
    cluster : tuple of int64 array
        Number of the question of each of these rows, which count as one; rows of a named group are of one question.
    n_clusters : int
    common : bool
        Whether the rows are those of the questions that all models answered. Otherwise they are all rows, since for
        some model these questions are less than half.
    """

    models: Sequence[ModelRows]
    at: tuple[Ints, ...]
    cluster: tuple[Ints, ...]
    n_clusters: int
    common: bool

    @classmethod
    def of(cls, models: Sequence[ModelRows]) -> PairedModels:
        """Take the questions that all have answered, where they are most of each model's.

        A model that answers the easy questions alone would come out ahead if each were measured on its own.
        """
        every, code = np.unique(np.concatenate([one.question for one in models]), return_inverse=True)
        cluster = np.split(code, np.cumsum([len(one) for one in models])[:-1])
        answered = np.bincount(np.concatenate([np.unique(own) for own in cluster]))
        by_all = [np.flatnonzero(answered[own] == len(models)) for own in cluster]
        common = all(len(at) >= LEAST_COMMON * len(one) for at, one in zip(by_all, models, strict=True))
        at = by_all if common else [np.arange(len(one)) for one in models]
        own = [number[rows] for number, rows in zip(cluster, at, strict=True)]
        return cls(models, tuple(at), tuple(own), len(every), common)

    def means(self, values: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the mean of each model, (m,), and the influence of each cluster on it, (n_clusters, m).

        Parameters
        ----------
        values : sequence of m float64 arrays
            A value for each row of each model, compared or not.
        """
        found = [self.mean_of(k, value[self.at[k]]) for k, value in enumerate(values)]
        return np.array([mean for mean, _ in found]), np.stack([part for _, part in found], axis=1)

    def mean_of(self, k: int, values: Floats, inside: NDArray | None = None) -> tuple[float, Floats]:
        """Return the mean of one model and the influence of each cluster on it, (n_clusters,).

        Parameters
        ----------
        k : int
            Number of the model.
        values : float64 array
            Of the rows in question.
        inside : int64 array, optional
            Places of these rows among those compared; by default they are all of these.
        """
        at, cluster = (part[k] if inside is None else part[k][inside] for part in (self.at, self.cluster))
        mass = self.models[k].rows.mass[at]
        total = mass.sum()
        mean = float(mass @ values / total)
        return mean, np.bincount(cluster, mass * (values - mean) / total, self.n_clusters)
