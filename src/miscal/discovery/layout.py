"""Two-dimensional maps of the rows for the report; nothing else is computed from them.

They are drawn on principal components, which take no time. t-SNE and UMAP, which keep neighbours together, are drawn on
request. Seconds of processor time, on made embeddings of 384 columns, for the two maps of a run together
(numba's cache filled):

======  =====  =====  =====  =====
rows      fit   UMAP  t-SNE    PCA
======  =====  =====  =====  =====
   300    3.4    8.7    0.4    0.0
   500    9.5    9.4    0.7    0.0
 1,000   14.4   10.5    1.4    0.0
 5,000   15.5   38.1    1.8    0.1
14,000   39.5   39.4    2.0    0.1
======  =====  =====  =====  =====

UMAP spends 8 s on importing and compiling (28 s from 4,096 rows on, 20 s more where numba's cache is empty).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl
from pydantic import NonNegativeInt

from miscal.base.arrays import oriented, row_blocks
from miscal.base.document import Part, clean_text
from miscal.base.errors import InputError, argument
from miscal.base.process import global_random_kept, need, one_thread
from miscal.data.triples import Triples
from miscal.findings.conditions.condition import with_features
from miscal.findings.enrichment import written_date

if TYPE_CHECKING:
    from miscal.discovery.fitted_rows import FittedRows
    from miscal.estimators.field import MiscalibrationField

MAP_FILE = "map.parquet"
TEXT_LENGTH = 400
"""Characters of a text or of a metadata value that the map keeps; the page has to stay below 10 MB."""

MAP_COLUMNS = (
    *("row", "split", "fold", "delta", "visible", "hidden", "mass", "regime"),
    *("hidden_regime", "confidence", "correct", "corrected"),
)
"""Columns of the field that the map keeps."""


MAX_ROWS = 20_000
"""Rows that a map shows at most; the page has to stay below 10 MB."""

LANDMARKS = 1_000
"""Distinct rows that t-SNE lays out itself; the others are placed between their nearest landmarks. More make a finer
map and cost more. Chosen on 5,000 texts of 384 dimensions, by trustworthiness (ten neighbours) and seconds for one map:
500 rows 0.87 in 0.4 s, 1,000 rows 0.91 in 0.7 s; principal components 0.79 in no time."""

_ITERATIONS = 300  # of t-SNE; 500 raise the trustworthiness by at most 0.02, and cost two thirds more
_PERPLEXITY = 30.0  # of t-SNE, scikit-learn's default; at most a third of the rows
_NEAREST = 5  # landmarks that place another row
_FIT_VALUES = 1 << 26  # 256 MB of float32: what fitting may copy
_DIMENSIONS = 30  # principal components that t-SNE and UMAP see

MapMethod = Literal["pca", "tsne", "umap"]


HEAD = 100
"""Characters that are kept of a beginning that other texts share."""
GAP = " … "
"""What stands for a part that was left out."""
BACK = 30
"""Characters that are kept of what comes before the difference, so that the sentence can be read."""


class MapInfo(Part):
    """The 2-D maps stored beside the summary.

    `file`: the table beside the summary. `method`: pca, tsne or umap. `n_shown, n_total`: rows drawn, of so many.
    """

    file: str
    method: str
    n_shown: NonNegativeInt
    n_total: NonNegativeInt


def shown_rows(n: int, *, seed: int, limit: int = MAX_ROWS) -> np.ndarray:
    """Choose the rows a map shows.

    `n`: rows there are. `seed`: of the sample. `limit`: rows to show at most. Returns int64 (min(n, limit): row
    positions, ascending: all of them, or a uniform sample.

    Examples
    --------
    >>> shown_rows(4, seed=0), len(shown_rows(100, seed=0, limit=10))
    (array([0, 1, 2, 3]), 10)
    """
    if n <= limit:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size=limit, replace=False))


def lay_out(X: np.ndarray, *, method: MapMethod = "pca", seed: int = 0) -> np.ndarray:
    """Lay rows out on a plane.

    `X`, float (n, d): rows, finite. `method`: above 1,000 distinct rows, t-SNE places the others between those that it
    laid out. UMAP needs the extra ``miscal[interpret]``, and can take longer than the fit. `seed`: of t-SNE, of UMAP,
    and of the samples that they and PCA learn from. Returns the positions, float64 (n, 2), without a unit; the same for
    the same input and seed, and 0 along a direction without variance.

    Examples
    --------
    >>> lay_out(np.array([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])).round(6) + 0.0
    array([[-2.,  0.],
           [ 0.,  0.],
           [ 2.,  0.]])
    """
    if method == "umap":
        return _umap(X, seed)
    return _tsne(X, seed) if method == "tsne" else principal_components(X, 2, seed=seed)


def _tsne(X: np.ndarray, seed: int) -> np.ndarray:
    """Lay landmarks out by t-SNE (van der Maaten and Hinton, 2008), and place every other row between its nearest."""
    from sklearn.manifold import TSNE
    from sklearn.neighbors import KNeighborsRegressor

    reduced = principal_components(X, min(_DIMENSIONS, X.shape[1]), seed=seed)
    distinct = np.unique(reduced, axis=0, return_index=True)[1]
    if len(distinct) < 3:  # too few to have neighbours
        return reduced[:, :2] if reduced.shape[1] > 1 else np.c_[reduced, np.zeros(len(reduced))]
    landmarks = np.sort(distinct)[shown_rows(len(distinct), seed=seed, limit=LANDMARKS)]
    # t-SNE knows no scale; this keeps the squares of very large and very small inputs finite
    scaled = reduced / np.abs(reduced).max()
    perplexity = min(_PERPLEXITY, (len(landmarks) - 1) / 3)
    start = "pca" if scaled.shape[1] > 1 else "random"
    model = TSNE(perplexity=perplexity, max_iter=_ITERATIONS, init=start, random_state=seed, n_jobs=1)
    places = model.fit_transform(scaled[landmarks]).astype(np.float64)
    nearest = min(_NEAREST, len(landmarks))
    between = KNeighborsRegressor(nearest, weights="distance", n_jobs=1).fit(scaled[landmarks], places).predict(scaled)
    # a landmark stays where it is, even where another one lies within rounding of it
    between[landmarks] = places
    return between


def check_layout(method: MapMethod) -> None:
    """Refuse a layout that there is not, and one whose package is not installed."""
    if method not in get_args(MapMethod):
        raise InputError(f"{argument('map')} must be one of {', '.join(get_args(MapMethod))}; got {method!r}")
    if method == "umap":
        need("interpret", argument("map", "umap"), otherwise=', or take "tsne"')


def _umap(X: np.ndarray, seed: int) -> np.ndarray:
    check_layout("umap")
    import umap

    reduced = principal_components(X, min(_DIMENSIONS, X.shape[1]), seed=seed)
    # a seed makes UMAP use one job; asked for outright, that brings no warning
    return umap.UMAP(random_state=seed, n_jobs=1).fit_transform(reduced).astype(np.float64)


def principal_components(X: np.ndarray, k: int, *, seed: int = 0) -> np.ndarray:
    """Project rows on their first principal components.

    `X`, float (n, d): rows, finite. Columns are centred, not scaled. `k`: components wanted; those that X does not have
    are 0. `seed`: of the solver, and of the sample that fits the components when there are over 20,000 rows (fewer if
    wide). Returns float64 (n, k): scores. Each component's largest loading is positive, so that the picture does not
    flip.
    """
    from sklearn.decomposition import PCA

    scores = np.zeros((len(X), k))
    if not np.ptp(X, axis=0).any():
        return scores
    rows = shown_rows(len(X), seed=seed, limit=min(MAX_ROWS, max(1, _FIT_VALUES // X.shape[1])))
    possible = min(k, X.shape[1], len(rows))
    solver = "randomized" if min(X.shape[1], len(rows)) > 50 else "full"
    model = PCA(possible, svd_solver=solver, random_state=seed).fit(X[rows])
    loadings = oriented(model.components_.T)
    for rows in row_blocks(*X.shape):
        scores[rows, :possible] = (X[rows] - model.mean_) @ loadings
    return scores


@dataclass(frozen=True, eq=False)
class Picture:
    """The rows that a map shows. The map is drawn when somebody asks for it, as nothing else is computed from it.

    `rows`: those shown. `field`: their values in ``map.parquet``. `coordinates`, float64 (n, k): in the learned
    geometry; None where `model` has to place them. `method`: as for :func:`lay_out`. `seed`: of the layout. `n_total`:
    rows that there are.
    """

    rows: Triples
    field: pl.DataFrame
    coordinates: np.ndarray | None
    model: MiscalibrationField
    method: MapMethod
    seed: int
    n_total: int

    @classmethod
    def of(
        cls, rows: FittedRows, table: pl.DataFrame, method: MapMethod, *, seed: int, examples: Sequence[int] = ()
    ) -> Picture:
        """Choose what is shown of all rows of a run and of their `table`, by :func:`field_table`.

        `examples`: numbers of rows that the page shows beside those of findings.
        """
        triples = rows.triples
        # the report takes the texts of examples from the map
        examples = [*examples, *(row for finding in rows.ledger.findings for row in finding.rows)]
        shown = np.union1d(shown_rows(len(triples), seed=seed), np.flatnonzero(np.isin(triples.row, examples)))
        return cls(
            rows=triples if len(shown) == len(triples) else triples.take(shown),
            field=table[shown].select(MAP_COLUMNS),
            # of very many rows no coordinates are kept
            coordinates=rows.estimate.coordinates[shown] if rows.sample is None else None,
            model=rows.model,
            method=method,
            seed=seed,
            n_total=len(triples),
        )

    @cached_property
    def drawn(self) -> tuple[pl.DataFrame, MapInfo, float]:
        """The rows on a plane, by their inputs and by their learned coordinates.

        That is the content of ``map.parquet``: positions, field, text, metadata and named inputs; how it was made; and
        the seconds that it took.
        """
        start = time.monotonic()
        with global_random_kept(), one_thread():
            coordinates = self.model.transform(self.rows.X) if self.coordinates is None else self.coordinates
            places = np.ascontiguousarray(self.rows.places)
            positions = np.hstack([lay_out(each, method=self.method, seed=self.seed) for each in (places, coordinates)])
            names = ("raw_1", "raw_2", "learned_1", "learned_2")
            beside = (*map(pl.Series, names, positions.T), *_explaining(self.rows))
            # in the order that the rows came in
            table = self.field.with_columns(*beside).sort("row", maintain_order=True)
        info = MapInfo(file=MAP_FILE, method=self.method, n_shown=len(self.rows), n_total=self.n_total)
        return table, info, round(time.monotonic() - start, 3)


def _explaining(some: Triples) -> list[pl.Series]:
    """Text and metadata of the rows shown, and their inputs where these have names, as text or numbers."""
    named = with_features({}, some.X, some.encoder)
    inputs = {name: values for name, values in named.items() if name not in some.metadata}
    return [
        _texts(some),
        *(
            _column(f"{kind}.{clean_text(name)}", values)
            for kind, columns in (("answer", some.answers), ("meta", some.metadata), ("feature", inputs))
            for name, values in columns.items()
        ),
    ]


def _texts(some: Triples) -> pl.Series:
    texts = [None] * len(some) if some.text is None else [_text(text) for text in some.text]
    cut = iter(shortened_texts([text for text in texts if text is not None], TEXT_LENGTH))
    return pl.Series("text", [None if text is None else next(cut) for text in texts], dtype=pl.String)


def _column(name: str, values: np.ndarray) -> pl.Series:
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    if values.dtype.kind == "M":
        values = np.array([None if np.isnat(value) else written_date(value) for value in values], dtype=object)
    return pl.Series(name, [_text(value, TEXT_LENGTH) for value in values], dtype=pl.String)


def _text(value: Any, limit: int | None = None) -> str | None:
    if value is None or value != value:
        return None
    text = clean_text(str(value)[:limit])
    return text if limit is None or len(str(value)) <= limit else text + "…"


def shared_beginnings(texts: Sequence[str]) -> list[int]:
    """Count the characters that each text shares with the beginning of another one.

    Returns the length of the longest common beginning, 0 for a text that is alone.

    Examples
    --------
    >>> shared_beginnings(["abcd", "abx", "q", "abcd"])
    [2, 2, 0, 2]
    """
    # the longest beginning that a text shares with any other, it shares with a neighbour in their order
    order = sorted(set(texts))
    beside = [0, *(_common(a, b) for a, b in pairwise(order)), 0]
    shared = {text: max(beside[place : place + 2]) for place, text in enumerate(order)}
    return [shared[text] for text in texts]


def _common(a: str, b: str) -> int:
    """Length of the common beginning, by halving: comparing slices is far cheaper than comparing characters."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if a[low:middle] == b[low:middle] else (low, middle - 1)
    return low


def shortened_texts(texts: Sequence[str], limit: int) -> list[str]:
    """Cut texts to a length, leaving out the middle of a long beginning that they share with others.

    `limit`: characters that are kept, ellipses not counted; at least 200. Returns a text that is short enough stays
    whole. Of a longer one the beginning is kept; where it shares more than half of what would be kept with another
    text, its first 100 characters and then the text from where they differ.

    Examples
    --------
    >>> rules = "Answer with a letter. " + "Rules. " * 40
    >>> shortened_texts([rules + "Who?" + 90 * " x", rules + "Where?" + 90 * " x"], 200)[1][120:160]
    'es. Rules. Where? x x x x x x x x x x x '
    """
    return [
        text if len(text) <= limit else _cut(text, shared, limit)
        for text, shared in zip(texts, shared_beginnings(texts), strict=True)
    ]


def _cut(text: str, shared: int, limit: int) -> str:
    if shared <= limit // 2 or shared >= len(text):
        return text[:limit] + "…"
    start = shared - BACK
    rest = text[start : start + limit - HEAD]
    return f"{text[:HEAD]}{GAP}{rest}" + ("…" if start + len(rest) < len(text) else "")
