"""Gaussian kernel smoothing: averages, mass, nearest neighbours, logit shifts.

The kernel is the paper's (arXiv 2605.13484, equation 1, without a factor 2):

    K(x, x') = exp(-||x - x'||^2 / sigma^2)
    average(x) = sum_i w_i K(x, x_i) v_i / sum_i w_i K(x, x_i)        Nadaraya-Watson
    mass(x) = sum_i w_i K(x, x_i)

Everything is exact and runs tile by tile, so memory is that of one tile and never that of query x bank. Three
things make it about as fast as its matrix product: the squared norms are two further columns of the factors, so
that one product gives the exponent; tiles stay in the cache, where the exponential is taken in place; and the
exponent is held above ``EXPONENT_FLOOR``, below which ``exp`` leaves its fast path and costs ten to a hundred
times as much. A row far from the whole bank therefore gets a mass of about 1e-35 per bank row and the plain mean
of the values: look at the mass before believing an average.

The bank is centred first, and single precision gives way to double where the bank's spread over the bandwidth would
cost digits (``DOUBLE_BEYOND``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import expit

from miscal.base.errors import InputError

Array = np.ndarray

EXPONENT_FLOOR = -80.0
"""exp(-80) = 1.8e-35: nothing beside a weight of 1, and still on the fast path of single precision."""

DOUBLE_BEYOND = 2000.0
"""Squared norm over squared bandwidth, in a centred bank, from which tiles are computed in double precision.
Up to there a single weight is right to about 5e-4 at worst, and to 3e-5 for unit vectors with sigma = 0.05."""

TILE = (1024, 512)
"""Queries and bank rows of one tile: 2 MB in single precision."""

NEAREST_TILE = (256, 8192)
"""Tiles of the neighbour search are wider, because every one costs a selection of the k best."""

# rows of a tile of the logit shift, which holds several tables of tile x bank
_SHIFT_ROWS = 128
# a Newton step in log-odds: where p is near 0 or 1 the curvature all but vanishes, and a whole step would overshoot
_MAX_STEP = 2.0


def smooth(
    query: Array,
    bank: Array,
    values: Array,
    sigma: float,
    *,
    weight: Array | None = None,
    neighbours: int | None = None,
    tile: tuple[int, int] = TILE,
) -> tuple[Array, Array]:
    """Average the bank's values around every query row.

    Takes query (q, d); bank (n, d); values (n,): what is averaged, for instance residuals r = y - f (positive:
    under-confident); sigma: bandwidth, in units of the coordinates; weight (n,): weights of the bank rows, not
    negative; neighbours: average over that many nearest bank rows only (exact search), a truncation of the kernel;
    tile: rows of query and bank handled at once. Returns average : array of shape (q,) or (q, k): Between the
    smallest and the largest of the values; never NaN; mass : array of shape (q,): Sum of kernel weights, in [0, sum
    of weights]: how many neighbours the average rests on.

    Examples
    --------
    >>> bank = np.array([[0.0], [1.0], [9.0]])
    >>> average, mass = smooth(np.array([[0.5]]), bank, np.array([1.0, 0.0, 5.0]), sigma=0.5)
    >>> average.round(3), mass.round(3)
    (array([0.5]), array([0.736]))
    """
    _check(query, bank, sigma)
    columns, scale = _columns(values, weight, len(bank))
    if neighbours is None:
        sums = _smooth_tiles(query, bank, columns, sigma, tile)
    else:
        sums = _smooth_nearest(query, bank, columns, sigma, neighbours)
    # an average lies between the values; rounding must not carry it outside
    each = _floating(values).reshape(len(bank), -1)
    low, high = (limit[:, None].astype(sums.dtype) for limit in (each.min(0), each.max(0)))
    average = np.clip(sums[:-1] / sums[-1], low, high)
    mass = sums[-1] * scale
    return _like(query, average.T if np.ndim(values) == 2 else average[0]), _like(query, mass)


def nearest(query: Array, bank: Array, k: int) -> tuple[Array, Array]:
    """Find the k nearest bank rows of every query row, by exact search.

    Takes query (q, d); bank (n, d); k: from 1 to n. Returns index : int64 array of shape (q, k): Bank rows, nearest
    first; distance : array of shape (q, k): Euclidean distances, ascending.

    Examples
    --------
    >>> index, distance = nearest(np.array([[0.9]]), np.array([[0.0], [1.0], [3.0]]), k=2)
    >>> index, distance.round(3)
    (array([[1, 0]]), array([[0.1, 0.9]]))
    """
    _check(query, bank, 1.0)
    if not 1 <= k <= len(bank):
        raise InputError(f"k must be in 1 to {len(bank)}, the number of rows in the bank; got {k}")
    q, b = _floating(query), _floating(bank)
    left, right = _factors(query, bank, 1.0)
    # the empty array serves a query of no rows, which has no tiles to join
    parts = [_nearest_of_tile(left[start:stop], right, k) for start, stop in _spans(len(left), NEAREST_TILE[0])]
    index = np.concatenate([np.zeros((0, k), np.int64), *parts])
    spans = _spans(len(q), NEAREST_TILE[0])
    distance = np.concatenate([np.zeros((0, k), q.dtype), *(_distances(q, b, index, span) for span in spans)])
    order = np.argsort(distance, axis=1, kind="stable")
    return np.take_along_axis(index, order, 1), _like(query, np.take_along_axis(distance, order, 1))


def median_distance(X: Array, rng: np.random.Generator, *, n_pairs: int = 2_000) -> float:
    """Median distance between two rows, over pairs drawn at random: what a bandwidth is measured in.

    All pairs would cost O(n^2 d). The standard error is about 1.25 / sqrt(n_pairs) of the spread of the distances, 3 %.

    Takes X (n, d). Returns float: Pairs of equal rows are left out.

    Examples
    --------
    >>> median_distance(np.array([[0.0], [3.0]]), np.random.default_rng(0))
    3.0
    """
    first, second = rng.integers(0, len(X), (2, n_pairs))
    distance = np.linalg.norm(_floating(X[first]) - _floating(X[second]), axis=1)
    return float(np.median(distance[distance > 0])) if (distance > 0).any() else 1.0


def logit_shift(
    query: Array, bank: Array, offset: Array, correct: Array, sigma: float, *, ridge: float = 1.0, steps: int = 10
) -> Array:
    """Find the shift in log-odds that makes the neighbours of every query row calibrated.

    Solves sum_i K(x, x_i) (y_i - sigmoid(o_i + D)) = ridge D for D(x) by damped Newton steps.

    Takes query (q, d); bank (n, d); offset (n,): log-odds o of the bank's confidences; correct (n,): outcomes y of
    the bank, 0 or 1; sigma: bandwidth, positive; ridge: pull towards 0, in rows of information. Returns array of
    shape (q,): D.

    Examples
    --------
    >>> bank = np.zeros((400, 1))
    >>> y = np.repeat([1.0, 0.0], [300, 100])  # three quarters right at a confidence of one half
    >>> logit_shift(np.zeros((1, 1)), bank, np.zeros(400), y, sigma=1.0, ridge=1e-6).round(4), np.log(3).round(4)
    (array([1.0986]), np.float64(1.0986))
    """
    _check(query, bank, sigma)
    left, right = _factors(query, bank, sigma)
    o, y = (np.asarray(a, left.dtype) for a in (offset, correct))
    tables = (weights_from_factors(left[start:stop], right.T) for start, stop in _spans(len(left), _SHIFT_ROWS))
    parts = [newton_shifts(table, table @ y, o, ridge, steps)[0] for table in tables]
    return _like(query, np.concatenate([np.zeros(0, left.dtype), *parts]))


def exponent_factors(query: Array, bank: Array, sigma: float) -> tuple[Array, Array]:
    """Return L (q, d + 2) and R (n, d + 2) with L R' = -||query - bank||^2 / sigma^2.

    The squared norms ride along as columns, so that one product gives the exponent.

    Examples
    --------
    >>> left, right = exponent_factors(np.array([[3.0]]), np.array([[1.0]]), sigma=2.0)
    >>> float((left @ right.T)[0, 0])
    -1.0
    """
    precision = 1.0 / sigma**2
    d = query.shape[1]
    left, right = (np.empty((len(rows), d + 2), query.dtype) for rows in (query, bank))
    np.multiply(query, 2 * precision, out=left[:, :d])
    np.multiply(np.einsum("ij,ij->i", query, query), -precision, out=left[:, d])
    left[:, d + 1] = 1.0
    right[:, :d] = bank
    right[:, d] = 1.0
    np.multiply(np.einsum("ij,ij->i", bank, bank), -precision, out=right[:, d + 1])
    return left, right


def weights_from_factors(left: Array, right: Array, out: Array | None = None, floor: float = EXPONENT_FLOOR) -> Array:
    """Kernel weights exp(left @ right), the exponent held in [floor, 0], in one buffer.

    Examples
    --------
    >>> weights_from_factors(np.array([[-1.0], [-1e9]]), np.array([[1.0]])).ravel()
    array([3.67879441e-01, 1.80485139e-35])
    """
    exponent = np.matmul(left, right, out=out)
    # above 0 only by rounding, where two rows are almost equal
    np.clip(exponent, floor, 0.0, out=exponent)
    return np.exp(exponent, out=exponent)


def _smooth_tiles(query: Array, bank: Array, columns: Array, sigma: float, tile: tuple[int, int]) -> Array:
    """Return weighted sums (k + 1, q) of the columns. The tall factor stands left, where the narrow product is fast."""
    left, right = _factors(query, bank, sigma)
    columns = columns.astype(left.dtype, copy=False)
    spans = list(_spans(len(right), tile[1]))
    blocks = [np.ascontiguousarray(columns[:, start:stop]) for start, stop in spans]
    # one buffer for all tiles, so that it stays in the cache
    buffer = np.empty(tile[0] * tile[1], left.dtype)
    sums = np.zeros((len(columns), len(left)), left.dtype)
    for q_start, q_stop in _spans(len(left), tile[0]):
        rows = np.ascontiguousarray(left[q_start:q_stop].T)
        for (b_start, b_stop), block in zip(spans, blocks, strict=True):
            out = buffer[: (b_stop - b_start) * rows.shape[1]].reshape(b_stop - b_start, rows.shape[1])
            sums[:, q_start:q_stop] += block @ weights_from_factors(right[b_start:b_stop], rows, out)
    return sums


def _smooth_nearest(query: Array, bank: Array, columns: Array, sigma: float, neighbours: int) -> Array:
    index, distance = nearest(_floating(query), _floating(bank), neighbours)
    columns = columns.astype(distance.dtype, copy=False)
    weights = np.exp(np.maximum(-np.square(distance / sigma), EXPONENT_FLOOR))
    return np.stack([(weights * column[index]).sum(1) for column in columns])


def _nearest_of_tile(left: Array, right: Array, k: int) -> Array:
    """Return the indices of the k largest exponents of each row, merged over tiles of the bank."""
    best = np.full((len(left), 0), -np.inf, left.dtype)
    index = np.zeros((len(left), 0), np.int64)
    for start, stop in _spans(len(right), NEAREST_TILE[1]):
        closeness = left @ right[start:stop].T
        position = _largest(closeness, k)
        best = np.concatenate([best, np.take_along_axis(closeness, position, 1)], 1)
        index = np.concatenate([index, position + start], 1)
        kept = _largest(best, k)
        best, index = (np.take_along_axis(table, kept, 1) for table in (best, index))
    return index


def _largest(table: Array, k: int) -> Array:
    """Return the columns of the k largest entries of each row, in no order; all columns where there are fewer."""
    n = table.shape[1]
    return np.argpartition(table, n - min(k, n), axis=1)[:, n - min(k, n) :]


def _distances(query: Array, bank: Array, index: Array, span: tuple[int, int]) -> Array:
    """Distances by differences: products lose the digits of near neighbours."""
    rows = slice(*span)
    return np.sqrt(np.square(query[rows, None, :] - bank[index[rows]]).sum(2))


def newton_shifts(
    table: Array, right: Array, offset: Array, ridge: float, steps: int, limit: float = _MAX_STEP
) -> tuple[Array, Array, Array]:
    """Solve right = table @ sigmoid(offset + D) + ridge D for the D of each row of a table, by damped Newton steps.

    Returns D; and, from the last step, the variances of the outcomes and the curvature.
    """
    shift = np.zeros(len(table), table.dtype)
    for _ in range(steps):
        p = expit(offset + shift[:, None])
        variance = p * (1 - p)
        curvature = np.vecdot(table, variance) + ridge
        step = (right - np.vecdot(table, p) - ridge * shift) / curvature
        shift = shift + np.clip(step, -limit, limit)
    return shift, variance, curvature


def _factors(query: Array, bank: Array, sigma: float) -> tuple[Array, Array]:
    """Centre on the bank, choose the precision, and return the factors of the exponent."""
    q = _floating(query)
    b = np.asarray(bank, q.dtype)
    # no distance changes, but norms do: |a|^2 - 2ab + |b|^2 loses digits far from the origin
    centre = b.mean(0)
    q, b = q - centre, b - centre
    if q.dtype == np.float32 and np.einsum("ij,ij->i", b, b).max() > DOUBLE_BEYOND * sigma**2:
        q, b = q.astype(np.float64), b.astype(np.float64)
    return exponent_factors(q, b, sigma)


def _columns(values: Array, weight: Array | None, n: int) -> tuple[Array, float]:
    """Rows w v_1, ..., w v_k, w of shape (k + 1, n), the weights divided by their mean, and that mean."""
    v = _floating(values)
    if len(v) != n or (weight is not None and len(weight) != n):
        raise InputError(f"values and weight must have one entry per row of the bank, {n}; got {len(v)} values")
    v = v.reshape(n, -1).T
    if weight is None:
        return np.concatenate([v, np.ones((1, n), v.dtype)]), 1.0
    w = np.asarray(weight, v.dtype)
    scale = float(w.mean())
    if not scale > 0 or float(w.min()) < 0:
        raise InputError("weight must not be negative anywhere, and positive somewhere")
    # of mean 1: times the smallest kernel weight, 1.8e-35, much smaller ones would leave the range of float32
    w = w / scale
    return np.concatenate([v * w, w[None]]), scale


def _check(query: Array, bank: Array, sigma: float) -> None:
    if not 0 < sigma < float("inf"):
        raise InputError(f"sigma must be a positive finite number; got {sigma}")
    if np.ndim(query) != 2 or np.ndim(bank) != 2 or query.shape[1] != bank.shape[1] or len(bank) == 0:
        raise InputError(
            f"query and bank must be (q, d) and (n, d) with n >= 1; got {tuple(query.shape)} and {tuple(bank.shape)}"
        )


def _spans(n: int, step: int) -> Iterator[tuple[int, int]]:
    return ((start, min(start + step, n)) for start in range(0, n, step))


def _floating(array: Array) -> Array:
    """Return the array in single or double precision, as it is where it has one of them."""
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)


def _like(reference: Array, array: Array) -> Array:
    """Return results in single precision where the reference has it."""
    return array.astype(np.float32, copy=False) if reference.dtype == np.float32 else array
