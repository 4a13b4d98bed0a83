"""Worlds with a known field that benchmarks alone use, and all worlds by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from miscal.study.synthetic.worlds import RandomState, World, make_world, sinusoid, three_clusters


def planted(n: int = 12_000, d: int = 384, *, shift: float = 1.0, random_state: RandomState = 0) -> World:
    """Draw a wide embedding of twelve topics, a quarter of them over-confident and a quarter under-confident.

    Topic centres are random directions of unit length under noise of unit length in all, whose spectrum falls like that
    of sentence embeddings; the log-odds follow another random direction. `shift` is in log-odds. `regime` is the topic.
    """
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 12, 1.0)
    log_odds = 0.5 + X @ draw_directions(rng, 1, d)[0] * np.sqrt(d) / 2 + 0.8 * rng.standard_normal(n)
    sign = np.repeat([-1.0, 1.0, 0.0], [3, 3, 6])
    return make_world("planted", rng, X, log_odds, shift * sign[topic], regime=topic)


def calibrated(n: int = 10_000, d: int = 32, *, random_state: RandomState = 0) -> World:
    """Draw a perfectly calibrated model: delta is 0 everywhere, though f depends on X."""
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 8, 1.0)
    log_odds = 0.5 * rng.standard_normal(8)[topic] + rng.standard_normal(n)
    return make_world("calibrated", rng, X, log_odds, np.zeros(n), regime=topic)


def visible_only(n: int = 10_000, d: int = 32, *, random_state: RandomState = 0) -> World:
    """Draw miscalibration in f alone: eta = sigmoid(logit f / 2); nothing is hidden, though f depends on X."""
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 8, 1.0)
    log_odds = rng.standard_normal(8)[topic] + 1.5 * rng.standard_normal(n)
    return make_world("visible_only", rng, X, log_odds, -log_odds / 2, regime=topic)


def saturated(n: int = 10_000, d: int = 32, *, random_state: RandomState = 0) -> World:
    """Draw confidences crowded near 1 (median 0.98), half the topics over-confident by 2 in log-odds."""
    rng = np.random.default_rng(random_state)
    X, topic = draw_topics(rng, n, d, 6, 1.0)
    log_odds = 4.0 + 1.5 * rng.standard_normal(n)
    return make_world("saturated", rng, X, log_odds, -2.0 * (topic < 3), regime=topic)


def rare_regime(
    n: int = 10_000, d: int = 32, *, share: float = 0.02, shift: float = -2.0, random_state: RandomState = 0
) -> World:
    """Draw a calibrated world but for one place that holds a small share of the rows (`regime` 1)."""
    rng = np.random.default_rng(random_state)
    regime = (rng.random(n) < share).astype(np.int64)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    X += regime[:, None] * draw_directions(rng, 1, d)
    log_odds = 0.5 + rng.standard_normal(n)
    return make_world("rare_regime", rng, X, log_odds, shift * regime, regime=regime)


def draw_topics(
    rng: np.random.Generator, n: int, d: int, n_topics: int, contrast: float
) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d) around random topic centres, under noise of unit length whose variances fall as 1 / (10 + j)."""
    topic = rng.integers(0, n_topics, n)
    deviation = np.sqrt(1.0 / (10.0 + np.arange(d)))
    noise = rng.standard_normal((n, d)) * (deviation / np.linalg.norm(deviation))
    return contrast * draw_directions(rng, n_topics, d)[topic] + noise, topic


def draw_directions(rng: np.random.Generator, count: int, d: int) -> np.ndarray:
    """Draw unit vectors (count, d)."""
    rows = rng.standard_normal((count, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


WORLDS: dict[str, Callable[..., World]] = {
    maker.__name__: maker
    for maker in (three_clusters, sinusoid, planted, saturated, rare_regime, calibrated, visible_only)
}
"""Makers by name; each takes ``n`` and ``random_state``."""
