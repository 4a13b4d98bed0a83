"""The table ``group_rankings``: which model keeps best what it promises in each group, on the same questions.

With r the mean of outcome less confidence of a model in a group, model i is shown to be ahead of model j if |r_i| <
|r_j| beyond chance: if r_j - r_i and r_j + r_i lie on one side of 0, both by their intervals. Intervals of all these
differences and sums, of all pairs of models in all groups of a data set, hold at once in 95 % of studies: this is the
family. So in 95 % of studies no group names a model as ahead that is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from miscal.evidence.simultaneous import DRAWS, critical_value, error_draws, standard_errors, student
from miscal.findings.ledger import LEDGER_DEFAULTS
from miscal.study.measures.paired import PairedModels
from miscal.study.pair_result import TableRows
from miscal.study.pairs_together import ModelRows, common_groups

Floats = NDArray[np.float64]

MOST_MODELS = 100
"""Models of a data set up to which groups are compared: the comparisons grow with the square of their number."""


class _Group:
    """A group, the models that have rows enough in it, and the errors of their differences and sums."""

    def __init__(self, key: tuple[str, str], paired: PairedModels, inside: dict[int, NDArray[np.int64]]) -> None:
        self.key, self.inside, m = key, inside, len(inside)
        known = [paired.mean_of(k, _residual(paired, k)[rows], rows) for k, rows in inside.items()]
        self.value = np.array([mean for mean, _ in known])
        # rows that all agree do not prove that the next one would: each model has one more, which is off by 1
        spare = np.zeros((len(paired.models), m))
        spare[list(inside), np.arange(m)] = [1 / len(rows) for rows in inside.values()]
        influence = np.concatenate([np.stack([part for _, part in known], axis=1), spare])
        self.influence = csr_array(influence)
        self.first, self.second = np.triu_indices(m, 1)
        self.contrasts = [sign * self.value[self.first] + self.value[self.second] for sign in (-1, 1)]
        seen = influence[influence.any(axis=1)]
        parts = [sign * seen[:, self.first] + seen[:, self.second] for sign in (-1, 1)]
        self.errors = [standard_errors(part) for part in parts]

    def largest(self, drawn: Floats) -> Floats:
        """Return the largest absolute t value of each draw of the errors, (draws, m)."""
        two = [sign * drawn[:, self.first] + drawn[:, self.second] for sign in (-1, 1)]
        return np.max([np.abs(one) / error for one, (error, _) in zip(two, self.errors, strict=True)], axis=(0, 2))

    def ahead(self, critical: float) -> NDArray[np.bool_]:
        """Whether the row's model is shown to be ahead of the column's."""
        m = len(self.value)
        side = [
            np.sign(one) * (np.abs(one) > student(critical, clusters) * error)
            for one, (error, clusters) in zip(self.contrasts, self.errors, strict=True)
        ]
        found = np.zeros((m, m), dtype=bool)
        found[self.first, self.second] = (side[0] == side[1]) & (side[0] != 0)
        found[self.second, self.first] = (side[0] == -side[1]) & (side[0] != 0)
        return found


def measure_group_rankings(models: Sequence[ModelRows]) -> TableRows:
    """Rank the models in each group by the absolute mean of outcome less confidence.

    Parameters
    ----------
    models : sequence of at least two ModelRows

    Returns
    -------
    TableRows
        Table ``group_rankings``, a row for each group and model with at least 20 rows there, in groups that two models
        have; none where the models are more than 100.
    """
    paired = PairedModels.of(models)
    groups = list(_groups(paired)) if len(models) <= MOST_MODELS else []
    if not groups:
        return {"group_rankings": []}
    critical = _critical(groups)
    return {"group_rankings": [row for group in groups for row in _rows(paired, group, critical)]}


def _groups(paired: PairedModels) -> Iterator[_Group]:
    for group in common_groups(paired.models):
        compared = [np.flatnonzero(np.isin(at, rows)) for at, rows in zip(paired.at, group.rows, strict=True)]
        inside = {k: rows for k, rows in enumerate(compared) if len(rows) >= LEDGER_DEFAULTS.min_rows}
        if len(inside) > 1:
            yield _Group((group.column, group.value), paired, inside)


def _residual(paired: PairedModels, k: int) -> Floats:
    rows = paired.models[k].rows
    return (rows.correct - rows.confidence)[paired.at[k]]


def _critical(groups: Sequence[_Group]) -> float:
    """Critical value of all differences and sums of all groups."""
    ends = np.cumsum([len(group.value) for group in groups])[:-1]
    together = csr_array(hstack([group.influence for group in groups]))
    width = sum(2 * len(group.first) for group in groups)
    largest = [
        np.max([group.largest(own) for group, own in zip(groups, np.split(drawn, ends, axis=1), strict=True)], axis=0)
        for drawn in error_draws(together, DRAWS, np.random.default_rng(0), width)
    ]
    return critical_value(largest)


def _rows(paired: PairedModels, group: _Group, critical: float) -> list[dict[str, Any]]:
    ahead = group.ahead(critical)
    column, value = group.key
    return [
        {
            **paired.models[k].named,
            "column": column,
            "value": value,
            "n": len(rows),
            "residual": float(group.value[i]),
            "best_rank": 1 + int(ahead[:, i].sum()),
            "worst_rank": len(group.value) - int(ahead[i].sum()),
        }
        for i, (k, rows) in enumerate(group.inside.items())
    ]
