"""Whether near neighbours share a category, the sign of their miscalibration, or their outcome.

A learned space that forgets what inputs are about and keeps how wrong the model is has neighbours that share their
category less often than neighbours in the raw inputs do (arXiv 2605.13484, appendix F.6), and their outcome more often,
which the paper does not ask.

Three things keep the comparison fair. The representation phi was learned from the outcomes of other rows: of training
rows, or of the other half where all rows are evaluated. The sign of delta is a function of phi, or nearly, so that
neighbours in the learned space share it by construction; the outcome stands beside it, because no space was made from
the outcomes of these rows. And rows that count as one, or have equal inputs, are asked once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.threads import one_thread
from miscal.estimators.kernel import nearest
from miscal.findings.enrichment import encode
from miscal.study.aggregates import OUTCOME, SIGN
from miscal.study.measures.spaces import unseen_spaces
from miscal.study.pair_result import PairResult, TableRows

NEIGHBOURS = 10
"""Neighbours asked of every row."""

MOST_ROWS = 5_000
"""Rows asked. The search costs their square: about 10 s on one core at 4,096 columns."""

PERMUTATIONS = 999
"""Permutations of the labels; the smallest p-value is 1 / 1,000."""

# stream of the permutations
_STREAM = 72


def measure(result: PairResult) -> TableRows:
    """Measure neighbour purity in both spaces, by metadata, by the sign of delta and by the outcome.

    Returns
    -------
    dict of str to list of dict
        Table ``purity``; no rows where there are not more rows than neighbours. Metadata are grouped as for findings:
        numbers of many values by their quartiles, a missing value is a value, and columns that name every row, or
        have one value, are left out. A metadata column called ``sign`` or ``outcome`` gives way to those two.
    """
    spaces = unseen_spaces(result, MOST_ROWS)
    if len(spaces.at) <= NEIGHBOURS:
        return {"purity": []}
    labels = _labels(result, spaces.at)
    rows = []
    for space, coordinates in spaces.coordinates.items():
        neighbours = nearest_others(coordinates, NEIGHBOURS)
        for by, codes in labels.items():
            # the same permutations in both spaces, so that they differ by the spaces alone
            rng = np.random.default_rng((result.settings.seed, _STREAM))
            asked = {"space": space, "by": by, "neighbours": NEIGHBOURS, "n": len(codes)}
            rows.append({**result.named, **asked, **purity(codes, neighbours, rng)})
    return {"purity": rows}


def purity(
    codes: NDArray[np.int64],
    neighbours: NDArray[np.int64],
    rng: np.random.Generator,
    n_draws: int = PERMUTATIONS,
) -> dict[str, Any]:
    """Share of neighbours with the same label, beside the same share after permuting the labels.

    Parameters
    ----------
    codes : int array of shape (n,)
        Label of every row, from 0.
    neighbours : int array of shape (n, k)
        Rows; none is its own neighbour.
    rng : numpy.random.Generator
        Of the permutations.
    n_draws : int, default 999

    Returns
    -------
    dict
        ``purity`` in [0, 1]; ``null_mean``, its exact mean over all permutations, sum n_c (n_c - 1) / (n (n - 1)) for
        n_c rows of label c; ``null_std``, the standard deviation over the draws; and ``p_value``, the share of draws at
        least as pure, the data counted as one of them.

    Examples
    --------
    >>> ring = np.array([[1], [0], [3], [2]])
    >>> found = purity(np.array([0, 0, 1, 1]), ring, np.random.default_rng(0))
    >>> found["purity"], round(found["null_mean"], 3), round(found["p_value"], 1)
    (1.0, 0.333, 0.3)
    """
    sizes = np.bincount(codes).astype(np.float64)
    shared = _shared(codes, neighbours)
    # whole numbers, so that equal shares compare as equal
    drawn = np.array([_shared(rng.permutation(codes), neighbours) for _ in range(n_draws)])
    return {
        "purity": shared / neighbours.size,
        "null_mean": float(sizes @ (sizes - 1)) / (len(codes) * (len(codes) - 1)),
        "null_std": float(drawn.std(ddof=1)) / neighbours.size,
        "p_value": (1 + int((drawn >= shared).sum())) / (1 + n_draws),
    }


def _shared(codes: NDArray[np.int64], neighbours: NDArray[np.int64]) -> int:
    return int((codes[neighbours] == codes[:, None]).sum())


def nearest_others(points: np.ndarray, k: int) -> NDArray[np.int64]:
    """Find the k nearest other rows of every row, by exact search.

    Parameters
    ----------
    points : float array of shape (n, d)
        More than k rows.
    k : int

    Returns
    -------
    int64 array of shape (n, k)
        Nearest first, by Euclidean distance.

    Examples
    --------
    >>> nearest_others(np.array([[0.0], [1.0], [3.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    with one_thread():
        found = nearest(points, points, k + 1)[0]
    others = found != np.arange(len(points))[:, None]
    # among many rows at one place a row may miss itself: then the farthest goes
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(points), k)


def _labels(result: PairResult, at: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """Return what neighbours may share, as codes of the rows asked."""
    triples = result.triples
    values = {name: column[at] for name, column in triples.metadata.items()}
    values[SIGN] = result.found.table["regime"].to_numpy()[at]
    values[OUTCOME] = triples.correct[at]
    encoded = {name: encode(name, column) for name, column in values.items()}
    return {name: column.codes for name, column in encoded.items() if column is not None}
