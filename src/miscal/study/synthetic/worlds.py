"""Made-up data whose miscalibration field is known.

In each, log-odds l give the confidence f = sigmoid(l), a shift D gives the true probability
eta = sigmoid(l + D), outcomes are Bernoulli(eta), and the field is delta = eta - f: negative where the shift is
negative (over-confident). :func:`three_clusters` and :func:`sinusoid` are the paper's (arXiv 2605.13484,
appendix E); the others try what an estimator must also survive. Further ones are in ``benchmarks/_worlds.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from miscal.base.errors import InputError
from miscal.calibration.survey_design import correlation
from miscal.estimators.kernel import logit_shift

RandomState = int | np.random.Generator

CONFIDENCE_CLIP = 1e-6
"""Confidences are held this far from 0 and 1 where their logit is taken."""

_NOISE = 0.5
"""Standard deviation of what the paper adds to its log-odds, and X does not carry (appendix E)."""

_SPLIT = 1


@dataclass(frozen=True)
class World:
    """Rows with their true field.

    Attributes
    ----------
    name : str
    X : float32 array of shape (n, d)
    confidence : float64 array of shape (n,), in (0, 1)
        f, what the model says.
    correct : float64 array of shape (n,), 0 or 1
        y, drawn with probability f + delta.
    delta : float64 array of shape (n,)
        E[Y - f | X, f], negative where over-confident; in [-f, 1 - f].
    shift : float64 array of shape (n,)
        D, in log-odds; of the sign of delta.
    coordinate : float64 array of shape (n, k), optional
        Coordinates that the shift is a function of, where they are known.
    regime : int64 array of shape (n,), optional
        Planted group of each row.
    """

    name: str
    X: np.ndarray
    confidence: np.ndarray
    correct: np.ndarray
    delta: np.ndarray
    shift: np.ndarray
    coordinate: np.ndarray | None = None
    regime: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.confidence)

    @property
    def residual(self) -> np.ndarray:
        """The residual r = y - f, float64 (n,); positive means under-confident."""
        return self.correct - self.confidence


def three_clusters(n: int = 10_000, *, random_state: RandomState = 0) -> World:
    """Draw three Gaussian clusters at (-2, 0), (0, 2), (2, 0), one over-confident, one calibrated, one under-confident.

    Their standard deviation is 0.6, their shifts are -1, 0 and 1 in log-odds, and the log-odds are (x_0 + x_1) / 2 and
    noise.

    Examples
    --------
    >>> world = three_clusters(300)
    >>> world.X.shape, bool(world.delta[world.regime == 0].max() < 0)
    ((300, 2), True)
    """
    rng = np.random.default_rng(random_state)
    regime = rng.integers(0, 3, _checked(n))
    X = np.array([(-2.0, 0.0), (0.0, 2.0), (2.0, 0.0)])[regime] + 0.6 * rng.standard_normal((n, 2))
    log_odds = X @ np.array([0.5, 0.5]) + _NOISE * rng.standard_normal(n)
    return make_world("three_clusters", rng, X, log_odds, np.array([-1.0, 0.0, 1.0])[regime], regime=regime)


def sinusoid(n: int = 10_000, *, amplitude: float = 0.6, frequency: float = 3, random_state: RandomState = 0) -> World:
    """Draw the unit square with the shift A sin(2 pi k u'x), u = (1, 1) / sqrt 2; `coordinate` is u'x.

    The amplitude A is in log-odds, the frequency k in periods per unit of u'x. The log-odds are x_0 - x_1 and noise.

    Examples
    --------
    >>> world = sinusoid(200, amplitude=1.0, frequency=1)
    >>> bool(np.abs(world.shift).max() <= 1.0)
    True
    """
    rng = np.random.default_rng(random_state)
    X = rng.random((_checked(n), 2))
    log_odds = X @ np.array([1.0, -1.0]) + _NOISE * rng.standard_normal(n)
    along = X.sum(1) / np.sqrt(2)
    shift = amplitude * np.sin(2 * np.pi * frequency * along)
    return make_world("sinusoid", rng, X, log_odds, shift, coordinate=along[:, None])


def planted(n: int = 12_000, d: int = 384, *, shift: float = 1.0, random_state: RandomState = 0) -> World:
    """Draw a wide embedding of twelve topics, a quarter of them over-confident and a quarter under-confident.

    Topic centres are random directions of unit length under noise of unit length in all, whose spectrum falls like that
    of sentence embeddings; the log-odds follow another random direction. `shift` is in log-odds. `regime` is the topic.

    Examples
    --------
    >>> world = planted(400, 32)
    >>> sorted(set(world.shift.tolist()))
    [-1.0, 0.0, 1.0]
    """
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 12, 1.0)
    log_odds = 0.5 + X @ draw_directions(rng, 1, d)[0] * np.sqrt(d) / 2 + 0.8 * rng.standard_normal(n)
    sign = np.repeat([-1.0, 1.0, 0.0], [3, 3, 6])
    return make_world("planted", rng, X, log_odds, shift * sign[topic], regime=topic)


def calibrated(n: int = 10_000, d: int = 32, *, random_state: RandomState = 0) -> World:
    """Draw a perfectly calibrated model: delta is 0 everywhere, though f depends on X.

    Examples
    --------
    >>> bool(calibrated(100).delta.any())
    False
    """
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 8, 1.0)
    log_odds = 0.5 * rng.standard_normal(8)[topic] + rng.standard_normal(n)
    return make_world("calibrated", rng, X, log_odds, np.zeros(n), regime=topic)


def visible_only(n: int = 10_000, d: int = 32, *, random_state: RandomState = 0) -> World:
    """Draw miscalibration in f alone: eta = sigmoid(logit f / 2); nothing is hidden, though f depends on X.

    Examples
    --------
    >>> world = visible_only(500)
    >>> bool(np.allclose(world.shift, -logit(world.confidence) / 2))
    True
    """
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 8, 1.0)
    log_odds = rng.standard_normal(8)[topic] + 1.5 * rng.standard_normal(n)
    return make_world("visible_only", rng, X, log_odds, -log_odds / 2, regime=topic)


def random_split(n: int, *, random_state: RandomState = 0) -> np.ndarray:
    """Return the paper's split: 'train', 'val' or 'test' per row, 80/10/10 by random permutation.

    Its stream of random numbers is not that of :func:`miscal.data.splits.permuted_split`: the published numbers of the
    experiments rest on it.

    Examples
    --------
    >>> names, counts = np.unique(random_split(100), return_counts=True)
    >>> dict(zip(names.tolist(), counts.tolist()))
    {'test': 10, 'train': 80, 'val': 10}
    """
    names = np.repeat(["train", "val", "test"], [n - 2 * (n // 10), n // 10, n // 10])
    if not isinstance(random_state, np.random.Generator):
        random_state = np.random.default_rng([random_state, _SPLIT])  # apart from the stream of a world of that seed
    return random_state.permutation(names)


def known_coordinate_limit(
    world: World,
    bank: np.ndarray,
    query: np.ndarray,
    *,
    bandwidths: Sequence[float] = tuple(np.geomspace(0.004, 0.4, 15)),
) -> tuple[float, float]:
    """Return the best correlation with delta of smoothing along the true coordinate, and the bandwidth that reached it.

    No estimator can know either, so it bounds from above what can be expected of one with the same rows. `bank` and
    `query` (indexes or masks) are rows whose labels are used, and rows on which recovery is measured; bandwidths are in
    units of the coordinate.

    Raises
    ------
    InputError
        If the world has no coordinate.

    Examples
    --------
    >>> world = sinusoid(2000, amplitude=1.0, frequency=1)
    >>> rows = np.arange(2000)
    >>> known_coordinate_limit(world, rows[:1800], rows[1800:], bandwidths=[0.05, 0.1])[0] > 0.9
    True
    """
    if world.coordinate is None:
        raise InputError(f"the world {world.name!r} has no known coordinate; worlds with one: sinusoid")
    z = np.ascontiguousarray(world.coordinate, dtype=np.float32)
    odds = logit(np.clip(world.confidence, CONFIDENCE_CLIP, 1 - CONFIDENCE_CLIP))
    found = []
    for bandwidth in bandwidths:
        shift = logit_shift(z[query], z[bank], odds[bank], world.correct[bank], float(bandwidth), steps=5)
        delta = expit(odds[query] + shift) - world.confidence[query]
        # a constant estimate ranks nothing
        found.append((correlation(delta, world.delta[query]) or 0.0, float(bandwidth)))
    return max(found, key=lambda limit: limit[0])


def make_world(
    name: str,
    rng: np.random.Generator,
    X: np.ndarray,
    log_odds: np.ndarray,
    shift: np.ndarray,
    *,
    coordinate: np.ndarray | None = None,
    regime: np.ndarray | None = None,
) -> World:
    """Draw outcomes for rows with these log-odds and shifts."""
    f, eta = expit(log_odds), expit(log_odds + shift)
    y = (rng.random(len(f)) < eta).astype(np.float64)
    return World(name, X.astype(np.float32), f, y, eta - f, shift, coordinate, regime)


def draw_topics(
    rng: np.random.Generator, n: int, d: int, n_topics: int, contrast: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) around random topic centres, under noise of unit length whose variances fall as 1 / (10 + j)."""
    topic = rng.integers(0, n_topics, _checked(n))
    deviation = np.sqrt(1.0 / (10.0 + np.arange(d)))
    noise = rng.standard_normal((n, d)) * (deviation / np.linalg.norm(deviation))
    return contrast * draw_directions(rng, n_topics, d)[topic] + noise, topic


def draw_directions(rng: np.random.Generator, count: int, d: int) -> np.ndarray:
    """Draw unit vectors (count, d)."""
    rows = rng.standard_normal((count, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _checked(n: int) -> int:
    if n < 1:
        raise InputError(f"n must be at least 1; got {n}")
    return n
