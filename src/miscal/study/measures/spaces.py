"""Rows in the raw inputs and in the learned geometry: layouts on a plane, and whether near neighbours are alike.

Layouts are for the eye only: nothing is computed from them. A learned space that forgets what inputs are about and
keeps how wrong the model is has neighbours that share their category less often than neighbours in the raw inputs do
(arXiv 2605.13484, appendix F.6), and their outcome more often, which the paper does not ask.

Three things keep the comparison fair. The representation phi was learned from the outcomes of other rows: of training
rows, or of the other half where all rows are evaluated. The sign of delta is a function of phi, or nearly, so that
neighbours in the learned space share it by construction; the outcome stands beside it, because no space was made from
the outcomes of these rows. And rows that count as one, or have equal inputs, are asked once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from miscal.base.folds import row_groups
from miscal.base.process import installed, one_thread
from miscal.data.splits import SAMPLE_ROWS, draw_rows
from miscal.discovery.fitted_rows import evaluated_rows
from miscal.discovery.layout import MapMethod, lay_out, shown_rows
from miscal.estimators.field import MiscalibrationField
from miscal.estimators.kernel import nearest
from miscal.findings.enrichment import clean_label, encode
from miscal.study.aggregates import OUTCOME, SIGN
from miscal.study.pair_result import PairResult, TableRows

NEIGHBOURS = 10
"""Neighbours asked of every row."""

MOST_ASKED = 5_000
"""Rows asked. The search costs their square: about 10 s on one core at 4,096 columns."""

PERMUTATIONS = 999
"""Permutations of the labels; the smallest p-value is 1 / 1,000."""

LEAST_FOR_UMAP = 50
MOST_LAID_OUT = 3_000
"""Rows of a layout: more cover each other, and UMAP costs time in proportion."""

# streams of the rows asked, and of the permutations
_ROWS_STREAM, _PERMUTATIONS_STREAM = 71, 72


def measure_purity(result: PairResult) -> TableRows:
    """Fill the table ``purity``, in both spaces, by metadata, by the sign of delta and by the outcome.

    There are no rows where there are not more rows than neighbours. Metadata are grouped as for findings: numbers of
    many values by their quartiles, a missing value is a value, and columns that name every row, or have one value, are
    left out. A metadata column called ``sign`` or ``outcome`` gives way to those two.
    """
    at, spaces = unseen_spaces(result, MOST_ASKED)
    if len(at) <= NEIGHBOURS:
        return {"purity": []}
    triples, rows = result.triples, []
    values = {name: column[at] for name, column in triples.metadata.items()}
    values |= {SIGN: result.found.table["regime"].to_numpy()[at], OUTCOME: triples.correct[at]}
    labels = {by: column.codes for by in values if (column := encode(by, values[by])) is not None}
    for space, coordinates in spaces.items():
        neighbours = nearest_others(coordinates, NEIGHBOURS)
        for by, codes in labels.items():
            # the same permutations in both spaces, so that they differ by the spaces alone
            rng = np.random.default_rng((result.pair.seed, _PERMUTATIONS_STREAM))
            asked = {"space": space, "by": by, "neighbours": NEIGHBOURS, "n": len(codes)}
            rows.append({**result.named, **asked, **purity(codes, neighbours, rng)})
    return {"purity": rows}


def unseen_spaces(result: PairResult, limit: int) -> tuple[NDArray[np.int64], dict[str, np.ndarray]]:
    """Draw rows whose outcomes the learned geometry has not seen, one of each group, and place them in both spaces.

    Rows of one group, or with equal inputs, would be each other's nearest neighbours in any space. Therefore one of
    each is drawn. With a split the rows are test rows and the geometry is that of the saved field. Where all rows
    evaluated, the saved field has learned from every outcome; a field learned from half of the rows then places those
    of the other half, which costs about half as much as the fit of the pair.

    Returns
    -------
    at : int64 array of shape (m,)
        Positions of the rows in the pair's triples, at most `limit`, in random order.
    spaces : dict of str to float array of shape (m, k)
        ``"raw"``: the inputs, neither centred nor scaled; ``"learned"``: phi of them.

    Raises
    ------
    InputError
        If all rows are evaluated and half of them are too few to learn from.
    """
    triples, seed = result.triples, result.pair.seed
    groups = row_groups(triples.X, triples.group)
    if triples.split is None:
        taught = draw_rows(groups, min(len(triples) // 2, SAMPLE_ROWS), named=triples.group is not None, seed=seed)
        # a field read back from a run knows neither its seed nor its options
        options = result.found.summary.settings.get("options")
        model = MiscalibrationField(result.method, random_state=seed, options=options).fit_triples(triples.take(taught))
        asked = ~taught
    else:
        model, asked = result.found.model.field, evaluated_rows(triples)
    at = one_of_each(groups, np.flatnonzero(asked), limit, np.random.default_rng((seed, _ROWS_STREAM)))
    return at, {"raw": triples.X[at], "learned": model.transform(triples.X[at])}


def one_of_each(
    groups: NDArray[np.int64], rows: NDArray[np.int64], limit: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw one row of each group, (n,), from positions (m,), at most `limit`, in random order.

    >>> one_of_each(np.array([0, 0, 1, 1]), np.array([0, 2, 3]), 10, np.random.default_rng(0)).tolist()
    [3, 0]
    """
    shuffled = rng.permutation(rows)
    first = np.unique(groups[shuffled], return_index=True)[1]
    # the order stays random, so that among neighbours at one distance none is favoured by its place in the data
    return shuffled[np.sort(first)][:limit]


def purity(
    codes: NDArray[np.int64], neighbours: NDArray[np.int64], rng: np.random.Generator, n_draws: int = PERMUTATIONS
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
    sizes, n = np.bincount(codes).astype(np.float64), len(codes)
    # whole numbers, so that equal shares compare as equal
    shared, *drawn = (
        int((labels[neighbours] == labels[:, None]).sum())
        for labels in (codes, *(rng.permutation(codes) for _ in range(n_draws)))
    )
    return {
        "purity": shared / neighbours.size,
        "null_mean": float(sizes @ (sizes - 1)) / (n * (n - 1)),
        "null_std": float(np.std(drawn, ddof=1)) / neighbours.size,
        "p_value": (1 + int((np.array(drawn) >= shared).sum())) / (1 + n_draws),
    }


def nearest_others(points: np.ndarray, k: int) -> NDArray[np.int64]:
    """Find the k nearest other rows of every row of (n, d), n > k, by Euclidean distance: (n, k), nearest first.

    >>> nearest_others(np.array([[0.0], [1.0], [3.0]]), 1).ravel().tolist()
    [1, 0, 1]
    """
    with one_thread():
        found = nearest(points, points, k + 1)[0]
    others = found != np.arange(len(points))[:, None]
    # among many rows at one place a row may miss itself: then the farthest goes
    others[others.all(axis=1), -1] = False
    return found[others].reshape(len(points), k)


def measure_layouts(result: PairResult) -> TableRows:
    """Fill the table ``layouts``: a sample of the evaluation rows, in raw inputs and in the learned geometry.

    Where all rows are evaluated, the learned geometry has seen the outcomes of the rows that are drawn; delta, which
    colours them, has not. The category is the value of the first metadata column.
    """
    triples, seed = result.triples, result.pair.seed
    candidates = np.flatnonzero(evaluated_rows(triples))
    at = candidates[shown_rows(len(candidates), seed=seed, limit=MOST_LAID_OUT)]
    X, delta = triples.X[at], result.found.table["delta"].to_numpy()[at].tolist()
    column = next(iter(triples.metadata.values()), np.full(len(triples), None))[at].tolist()
    category = [None if value is None or value != value else clean_label(value) for value in column]
    # UMAP needs more rows than neighbours
    layout: MapMethod = "umap" if installed("umap-learn") and len(np.unique(X, axis=0)) >= LEAST_FOR_UMAP else "tsne"
    rows = []
    for space, points in (("raw", X), ("learned", result.found.model.field.transform(X))):
        x, y = lay_out(points, method=layout, seed=seed).T.tolist()
        places = zip(triples.row[at].tolist(), x, y, category, delta, strict=True)
        named = {**result.named, "space": space, "layout": layout}
        rows += [named | dict(zip(("row", "x", "y", "category", "delta"), place, strict=True)) for place in places]
    return {"layouts": rows}
