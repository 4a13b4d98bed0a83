"""Calibrated models: nearly every one has a gap above 0, and few are counted as beyond chance."""

import numpy as np
import polars as pl
import pytest

from miscal.calibration.metrics.gap import measure_gap
from miscal.evidence.stability import slice_bootstrap
from miscal.study.aggregates import verdict

N_PAIRS, N_ROWS = 100, 600
SAVED = [f"log_loss_saved{local}_{end}" for local in ("", "_local") for end in ("low", "high")]


def calibrated(k: int) -> dict:
    """One pair: outcomes are drawn from the confidences, and slices say nothing about them."""
    rng = np.random.default_rng((31, k))
    f = rng.uniform(0.3, 0.95, N_ROWS)
    y = (rng.random(N_ROWS) < f).astype(float)
    regime = rng.choice(["over", "good", "under"], N_ROWS)
    gap = measure_gap(y, f, regime, n_draws=100, random_state=k)
    drawn = slice_bootstrap(y, f, regime, n_draws=100, random_state=k).gap
    return {
        "gap_clipped": max(0.0, gap.value),
        "gap_interval_low": gap.interval[0],
        "gap_boot_mean_clipped": drawn.mean_clipped,
        "gap_low": drawn.low,
        "share_worst": float(np.mean(regime == gap.worst)),
    }


@pytest.mark.slow
def test_calibrated_pairs_are_seldom_beyond_chance():
    named = {"pair": "p", "dataset": "noise", "method": "auto", "geometry": "learned"}
    pairs = pl.DataFrame([named | calibrated(k) for k in range(N_PAIRS)])
    [found] = verdict(pairs.with_columns(p_hidden=0.5, **dict.fromkeys(SAVED, 0.0)), "auto").to_dicts()
    # 5 % of 100, and three standard errors
    assert found["n_gap_beyond_chance"] <= 11
    # neither the sign of the gap nor the bootstrap's percentiles are a test
    assert found["n_gap_above_zero"] > 0.9 * N_PAIRS
    assert (pairs["gap_low"] > 0).sum() > 0.25 * N_PAIRS
