"""Rows in the raw inputs and in the learned geometry, and the table ``layouts``, which places them on a plane.

Interpretation compares these two spaces. Layouts are for the eye only: nothing is computed from them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.extras import installed
from miscal.base.folds import row_groups
from miscal.data.sampling import SAMPLE_ROWS, draw_rows
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.discovery.layout import LEAST_ROWS, Layout, MapMethod, lay_out, shown_rows
from miscal.estimators.field import MiscalibrationField
from miscal.findings.enrichment import clean_label
from miscal.study.pair_result import PairResult, TableRows

SPACES = ("raw", "learned")

# stream of the rows asked, and of their order
_STREAM = 71


@dataclass(frozen=True, eq=False)
class Spaces:
    """Rows in both spaces.

    Attributes
    ----------
    at : int64 array of shape (m,)
        Positions of the rows in the pair's triples, in random order.
    coordinates : dict of str to float array of shape (m, k)
        ``"raw"``: the inputs, neither centred nor scaled; ``"learned"``: phi of them.
    """

    at: NDArray[np.int64]
    coordinates: Mapping[str, np.ndarray]


def unseen_spaces(result: PairResult, limit: int) -> Spaces:
    """Draw rows whose outcomes the learned geometry has not seen, one of each group, and place them in both spaces.

    Rows of one group, or with equal inputs, would be each other's nearest neighbours in any space. Therefore one of
    each is drawn. With a split the rows are test rows and the geometry is that of the saved field. Where all rows
    evaluated, the saved field has learned from every outcome; a field learned from half of the rows then places those
    of the other half, which costs about half as much as the fit of the pair.

    Parameters
    ----------
    result : PairResult
    limit : int
        Most rows.

    Raises
    ------
    InputError
        If all rows are evaluated and half of them are too few to learn from.
    """
    triples = result.triples
    groups = row_groups(triples.X, triples.group)
    seed = result.settings.seed
    if triples.split is None:
        taught = draw_rows(groups, min(len(triples) // 2, SAMPLE_ROWS), named=triples.group is not None, seed=seed)
        # a field read back from a run knows neither its seed nor its options
        options = result.found.summary.settings.get("options")
        model = MiscalibrationField(result.method, random_state=seed, options=options).fit_triples(triples.take(taught))
        asked = ~taught
    else:
        model, asked = result.found.model.field, evaluated_rows(triples)
    at = one_of_each(groups, np.flatnonzero(asked), limit, np.random.default_rng((seed, _STREAM)))
    return Spaces(at, dict(zip(SPACES, (triples.X[at], model.transform(triples.X[at])), strict=True)))


def one_of_each(
    groups: NDArray[np.int64], rows: NDArray[np.int64], limit: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one row of each group, at most `limit`, in random order.

    Parameters
    ----------
    groups : int64 array of shape (n,)
        Number of each row's group.
    rows : int64 array of shape (m,)
        Positions to draw from.
    limit : int
    rng : numpy.random.Generator

    Returns
    -------
    int64 array of shape (min(number of groups, limit),)

    Examples
    --------
    >>> one_of_each(np.array([0, 0, 1, 1]), np.array([0, 2, 3]), 10, np.random.default_rng(0)).tolist()
    [3, 0]
    """
    shuffled = rng.permutation(rows)
    first = np.unique(groups[shuffled], return_index=True)[1]
    # the order stays random, so that among neighbours at one distance none is favoured by its place in the data
    return shuffled[np.sort(first)][:limit]


MOST_ROWS = 3_000
"""Rows of a layout: more cover each other, and UMAP costs time in proportion."""


def measure_layouts(result: PairResult) -> TableRows:
    """Lay out a sample of the evaluation rows, in raw inputs and in the pair's own learned geometry.

    UMAP draws them where it is installed (the extra ``miscal[interpret]``) and 50 rows differ; otherwise t-SNE, or
    principal components of fewer rows. Where all rows are evaluated, the learned geometry has seen the outcomes of the
    rows that are drawn; delta, which colours them, has not.

    Returns
    -------
    dict of str to list of dict
        Table ``layouts``.
    """
    triples, seed = result.triples, result.settings.seed
    candidates = np.flatnonzero(evaluated_rows(triples))
    at = candidates[shown_rows(len(candidates), seed=seed, limit=MOST_ROWS)]
    X = triples.X[at]
    spaces = {"raw": X, "learned": result.found.model.field.transform(X)}
    shown = {
        "row": triples.row[at].tolist(),
        "category": _categories(result, at),
        "delta": result.found.table["delta"].to_numpy()[at].tolist(),
    }
    rows = [row for space, points in spaces.items() for row in _rows(result, space, laid_out(points, seed=seed), shown)]
    return {"layouts": rows}


def laid_out(points: np.ndarray, *, seed: int) -> Layout:
    """Lay points out by UMAP where it is installed and enough of them differ.

    Parameters
    ----------
    points : float array of shape (n, d)
    seed : int

    Examples
    --------
    >>> laid_out(np.ones((60, 3)), seed=0).method
    'pca'
    """
    enough = len(np.unique(points, axis=0)) >= LEAST_ROWS
    method: MapMethod = "umap" if enough and installed("umap-learn") else "auto"
    return lay_out(points, method=method, seed=seed)


def _categories(result: PairResult, at: np.ndarray) -> list[str | None]:
    """Return values of the first metadata column; null where one is missing, or there is no such column."""
    column = next(iter(result.triples.metadata.values()), None)
    if column is None:
        return [None] * len(at)
    return [None if value is None or value != value else clean_label(value) for value in column[at].tolist()]


def _rows(result: PairResult, space: str, layout: Layout, shown: dict[str, list]) -> list[dict[str, Any]]:
    x, y = layout.positions.T.tolist()
    return [
        {
            **result.named,
            "space": space,
            "layout": layout.method,
            "row": row,
            "x": i,
            "y": j,
            "category": value,
            "delta": delta,
        }
        for row, i, j, value, delta in zip(shown["row"], x, y, shown["category"], shown["delta"], strict=True)
    ]
