"""Worlds with a known field that benchmarks alone use, and all worlds by name."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from miscal.study.synthetic.worlds import (
    RandomState,
    World,
    calibrated,
    draw_directions,
    draw_topics,
    make_world,
    planted,
    sinusoid,
    three_clusters,
    visible_only,
)


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


WORLDS: dict[str, Callable[..., World]] = {
    maker.__name__: maker
    for maker in (three_clusters, sinusoid, planted, saturated, rare_regime, calibrated, visible_only)
}
"""Makers by name; each takes ``n`` and ``random_state``."""
