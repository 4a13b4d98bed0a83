"""Rows on a plane, by their inputs and by the learned geometry: for the eye only, nothing is computed from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from miscal.base.extras import installed
from miscal.discovery.estimating import testifying
from miscal.discovery.layout import LEAST_ROWS, Layout, MapMethod, lay_out, shown_rows
from miscal.findings.enrichment import clean_label
from miscal.study.studied import Rows, Studied

MOST_ROWS = 3_000
"""Rows of a layout: more cover each other, and UMAP costs time in proportion."""


def measure(studied: Studied) -> Rows:
    """Lay out a sample of the rows that testify, in raw inputs and in the pair's own learned geometry.

    UMAP draws them where it is installed (the extra ``miscal[interpret]``) and 50 rows differ; otherwise t-SNE, or
    principal components of fewer rows. Where all rows testify, the learned geometry has seen the outcomes of the rows
    that are drawn; delta, which colours them, has not.

    Parameters
    ----------
    studied : Studied

    Returns
    -------
    dict of str to list of dict
        Table ``layouts``.
    """
    triples, seed = studied.triples, studied.settings.seed
    candidates = np.flatnonzero(testifying(triples))
    at = candidates[shown_rows(len(candidates), seed=seed, limit=MOST_ROWS)]
    X = triples.X[at]
    spaces = {"raw": X, "learned": studied.found.model.transform(X)}
    shown = {
        "row": triples.row[at].tolist(),
        "category": _categories(studied, at),
        "delta": studied.found.table["delta"].to_numpy()[at].tolist(),
    }
    rows = [
        row for space, points in spaces.items() for row in _rows(studied, space, laid_out(points, seed=seed), shown)
    ]
    return {"layouts": rows}


def laid_out(points: np.ndarray, *, seed: int) -> Layout:
    """Lay points out by UMAP where it is installed and enough of them differ.

    Parameters
    ----------
    points : float array of shape (n, d)
    seed : int

    Returns
    -------
    Layout

    Examples
    --------
    >>> laid_out(np.ones((60, 3)), seed=0).method
    'pca'
    """
    enough = len(np.unique(points, axis=0)) >= LEAST_ROWS
    method: MapMethod = "umap" if enough and installed("umap-learn") else "auto"
    return lay_out(points, method=method, seed=seed)


def _categories(studied: Studied, at: np.ndarray) -> list[str | None]:
    """Return values of the first metadata column; null where one is missing, or there is no such column."""
    column = next(iter(studied.triples.metadata.values()), None)
    if column is None:
        return [None] * len(at)
    return [None if value is None or value != value else clean_label(value) for value in column[at].tolist()]


def _rows(studied: Studied, space: str, layout: Layout, shown: dict[str, list]) -> list[dict[str, Any]]:
    x, y = layout.positions.T.tolist()
    return [
        {
            **studied.named,
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
